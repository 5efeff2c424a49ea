"""The place of a reader in a text: the tokens of one stretch of it, found at C speed; where a token stands only errors ask."""

from __future__ import annotations

import re

from xdsl.utils.lexer import Input, Span

from mind_dialect.errors import MindError, MindParseError, brief, error

from ..ptir.misplaced import Misplaced, shown_path

MAX_TEXT = 1 << 26
"""Texts of more characters are refused."""
_TOKEN = re.compile(
    r"""
      (?:tensor|Tensor)[ \t]*<[^<>"\n]*>                                # a type
    | "(?:[^"\\\n]|\\[^\n])*"?                                          # a string, ended or not
    | %\w+                                                              # a value
    | ->
    | -?(?:[0-9][\w.]*(?:(?<=[eE])[-+][\w.]*)?|inf\b)                   # a number, well-formed or not
    | [A-Za-z_][\w.]*                                                   # a word
    | [^ \t\r\n]                                                        # anything else, one character
    """,
    re.ASCII | re.VERBOSE,
)
_SURROGATE = re.compile("[\ud800-\udfff]")


class PtirTextCursor:
    """Token `i` of the stretch from `start` to `end`; the last token is empty."""

    def __init__(self, text: str, name: str):
        self.text, self.name = text, name
        self.start = self.end = self.i = 0
        self.tokens: list[str] = [""]
        if len(text) > MAX_TEXT:
            raise self.fail(0, 1, error("E1007", f"{len(text)} characters, expected at most {MAX_TEXT}"))
        if (half := _SURROGATE.search(text)) is not None:
            escape = ascii(half[0])[1:-1]
            err = error("E1004", f"{escape} is half of a surrogate pair", escape=escape)
            raise self.fail(half.start(), half.end(), err)

    def enter(self, start: int, end: int) -> None:
        """Go to the stretch of text from `start` to `end`."""
        self.start, self.end, self.i = start, end, 0
        self.tokens = [*_TOKEN.findall(self.text, start, end), ""]

    # Errors

    def fail(self, start: int, end: int, err: MindError) -> MindParseError:
        """`err` at characters of the text."""
        content = _SURROGATE.sub("\ufffd", self.text[: MAX_TEXT + 1])
        return MindParseError(Span(start, max(start, min(end, start + 200)), Input(content, self.name)), err)

    def here(self, first: int, err: MindError) -> MindParseError:
        """`err` at the tokens from `first` to the cursor."""
        spans = [m.span() for m in _TOKEN.finditer(self.text, self.start, self.end)]
        if first >= len(spans):
            last = spans[-1][1] if spans else self.start
            return self.fail(last, last + 1, err)
        return self.fail(spans[first][0], spans[max(first, min(self.i, len(spans)) - 1)][1], err)

    def line(self, start: int, err: MindError) -> MindParseError:
        """`err` at the line that starts at `start`."""
        end = self.text.find("\n", start)
        line = self.text[start : end if end >= 0 else None]
        indent = len(line) - len(line.lstrip())
        return self.fail(start + indent, start + len(line.rstrip()), err)

    def unexpected(self, expected: str) -> MindParseError:
        """The token at the cursor is not what the grammar wants."""
        token = self.tokens[self.i]
        first, self.i = self.i, self.i + 1
        if token[:1] == '"' and (len(token) < 2 or token[-1] != '"'):
            return self.here(first, error("E1003", "unterminated string", start=self.start))
        found = ascii(brief(token))[1:-1] if token else "the end"
        return self.here(first, error("E1007", f"expected {expected}, found {found}"))

    def part(self, first: int, e: Misplaced) -> MindParseError:
        """An error of a part of what stands from token `first` to the cursor."""
        where = shown_path(e.path)
        message = f"{where}: {e.error.message}" if where else e.error.message
        err = MindError(e.error.code, message, {"path": where, **e.error.context}, None, e.error.category)
        return self.here(first, err)

    # Tokens

    def accept(self, token: str) -> bool:
        """Step over `token` if it is next."""
        if self.tokens[self.i] == token:
            self.i += 1
            return True
        return False

    def expect(self, token: str) -> None:
        """Step over `token`, or E1007."""
        if self.tokens[self.i] != token:
            raise self.unexpected(f"`{token}`")
        self.i += 1

    def done(self) -> None:
        """E1007 unless the stretch is at its end."""
        if self.tokens[self.i]:
            raise self.unexpected("the end of the line")

    def word(self, expected: str) -> str:
        """A word: letters, digits, `_` and `.`."""
        token = self.tokens[self.i]
        if not token or not (token[0].isalpha() or token[0] == "_") or "<" in token:
            raise self.unexpected(expected)
        self.i += 1
        return token

    def value(self) -> str:
        """Return the name that follows the `%` of a value."""
        token = self.tokens[self.i]
        if token[:1] != "%" or len(token) < 2:
            raise self.unexpected("a value %name")
        self.i += 1
        return token[1:]

    def integer(self) -> int:
        """A number without point and exponent."""
        token = self.tokens[self.i]
        if not token.removeprefix("-").isdecimal():
            raise self.unexpected("an integer")
        self.i += 1
        return self.digits(token)

    def digits(self, token: str) -> int:
        """The integer of the token before the cursor."""
        try:
            return int(token)
        except ValueError:
            err = error("E1005", f"a number of {len(token)} digits, expected at most 4300", text=brief(token))
            raise self.here(self.i - 1, err) from None
