"""From the bytes of a file to its text, for every form that is read."""

from __future__ import annotations

from xdsl.utils.lexer import Input, Span

from .errors import MindParseError, error

BYTE_ORDER_MARK = "\ufeff"


def decode(source: bytes | str, name: str, byte_offset: int = 0) -> str:
    """
    Return the text of `source` without a byte order mark.

    E1001 at the first byte that is not UTF-8, its offset counted from `byte_offset`, which is where `source` begins in its file.

    >>> decode(b"\\xef\\xbb\\xbfa", "f"), decode("\\ufeffa", "f")
    ('a', 'a')
    """
    if isinstance(source, str):
        return source.removeprefix(BYTE_ORDER_MARK)
    try:
        return source.decode().removeprefix(BYTE_ORDER_MARK)
    except UnicodeDecodeError as e:
        head = source[e.start : e.start + 4]
        offset, shown = byte_offset + e.start, ", ".join(f"0x{b:02X}" for b in head)
        err = error("E1001", f"invalid UTF-8 at offset {offset}: [{shown}]", offset=offset, bytes=head)
        place = len(source[: e.start].decode())
        raise MindParseError(Span(place, place + 1, Input(source.decode(errors="replace"), name)), err) from None
