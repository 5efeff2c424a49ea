"""
Check comments that state the expected diagnostics of a text (`--verify-diagnostics`), in the syntax of mlir-opt.

    // expected-error {{does not broadcast}}            on the line of the comment
    // expected-error@+1 {{E3001}}                      so many lines below, or above with -1
    // expected-error@below {{...}}                     on the next line without such a comment; @above: on the last one
    // expected-error@unknown {{...}}                   at no line
    // expected-error-re {{Add %{{[0-9]+}}: .*}}         with regular expressions in inner braces
    // expected-note {{ShapeError}}                     a note of an error on that line; notes need not be expected

A text between braces must occur in `CODE: message`. Every comment must be met once, and every error must be expected.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.utils.lexer import Input, Span

from mind_dialect.errors import MindError, MindParseError, brief, error

from .diagnostics import Place

UNKNOWN = 0
"""The line of what has no place."""
_COMMENT = re.compile(r"expected-(error|warning|note|remark)(-re)? *(?:@([+-][0-9]+|above|below|unknown))? *\{\{(.*)\}\}$")
_BEGIN = re.compile(r"expected-(?:error|warning|note|remark)\b")
_INNER = re.compile(r"\{\{(.*?)\}\}")


@dataclass(frozen=True)
class Expected:
    """A comment: the kind of diagnostic, its line in the file (`UNKNOWN` for none), what its text holds, where the comment is."""

    kind: str
    line: int
    pattern: re.Pattern[str]
    shown: str
    place: Span[str]

    def matches(self, kind: str, line: int, text: str) -> bool:
        """Return whether a diagnostic is of this kind, on this line, and contains this text."""
        return (self.kind, self.line) == (kind, line) and self.pattern.search(text) is not None


def expectations(text: str, name: str, line_offset: int = 0) -> list[Expected]:
    """
    Return the comments of `text`, which follows `line_offset` lines of the file `name`.

    Raises E7005 for a comment that begins like one and cannot be read.
    """
    source = Input(text, name)
    found: list[Expected] = []
    below: list[tuple[re.Match[str], int]] = []
    last, start = line_offset, 0
    for number, line in enumerate(text.split("\n"), line_offset + 1):
        match = _COMMENT.search(stripped := line.rstrip())
        if match is None:
            if (begin := _BEGIN.search(stripped)) is not None:
                raise _unreadable(Span(start + begin.start(), start + len(stripped), source), stripped[begin.start() :])
            found.extend(_expected(m, number, Span(at, at + len(m[0]), source)) for m, at in below)
            below, last = [], number
        elif match[3] == "below":
            below.append((match, start + match.start()))
        else:
            place = Span(start + match.start(), start + len(stripped), source)
            found.append(_expected(match, _line(match[3], number, last), place))
        start += len(line) + 1
    found.extend(_expected(m, UNKNOWN, Span(at, at + len(m[0]), source)) for m, at in below)
    return found


def _line(where: str | None, number: int, last: int) -> int:
    named = {None: number, "above": last, "unknown": UNKNOWN}
    return named[where] if where in named else number + int(where or 0)


def _expected(match: re.Match[str], line: int, place: Span[str]) -> Expected:
    shown = match[4]
    parts = _INNER.split(shown) if match[2] else [shown]
    try:
        pattern = re.compile("".join(part if i % 2 else re.escape(part) for i, part in enumerate(parts)))
    except re.error as e:
        raise _unreadable(place, f"{shown}: {e}") from None
    return Expected(match[1], line, pattern, shown, place)


def _unreadable(place: Span[str], given: str) -> MindParseError:
    form = "expected-error@+1 {{text}}, the braces ending the line"
    return MindParseError(place, error("E7005", f"cannot read {brief(given)}, expected {form}", issue="unreadable"))


Found = tuple[MindError, Place | None]
"""An error and where it belongs."""
Difference = tuple[MindError, Place | None, str]
"""An error, where it belongs, and a note."""


def differences(found: Sequence[Found], text: str, name: str, line_offset: int = 0) -> Iterator[Difference]:
    """
    Compare the errors that a text led to with its comments; give each that differs, its place and a note.

    An error of the text that no comment expects, an E7005 for a comment that nothing met, or that cannot be read.
    """
    try:
        left = expectations(text, name, line_offset)
    except MindParseError as e:
        yield e.error, _place(cast("Span[str]", e.span), line_offset), "no comment was compared"
        return
    for err, place in found:
        line = UNKNOWN if place is None else place.line
        met = next((e for e in left if e.matches("error", line, str(err))), None)
        if met is None:
            yield err, place, "unexpected: no comment expects it on that line"
        else:
            left.remove(met)
        if (note := next((e for e in left if e.matches("note", line, err.category)), None)) is not None:
            left.remove(note)
    for expected in left:
        where = "without a line" if expected.line == UNKNOWN else f"on line {expected.line}"
        message = f"the expected {expected.kind} {brief(expected.shown)!r} {where} was not produced"
        yield error("E7005", message, issue="not produced"), _place(expected.place, line_offset), "expected here"


def _place(span: Span[str], line_offset: int) -> Place:
    where, source = span.get_location(), span.input
    line = source.content[source.get_start_of_line(span.start) : source.get_end_of_line(span.start)]
    return Place(where.file, where.line + line_offset, where.col, line, span.end - span.start)
