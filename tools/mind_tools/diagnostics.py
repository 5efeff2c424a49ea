"""
Print errors: code and message, the location, the line with a caret, a note.

    error[E3001]: Add %2: shapes [2, 3] and [4, 5] do not broadcast at dimension 0: extents 2 and 4
      --> model.mlir:3:8
       |
     3 |   %2 = mind.add %0, %1 : tensor<2x3xf32>
       |        ^^^^^^^^
       = note: ShapeError; mind-opt --explain E3001, error-codes.md#e3001
"""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import FileLineColLoc
from xdsl.utils.exceptions import (
    ArgSpecParseError,
    DiagnosticException,
    ParseError,
    UnregisteredConstructException,
    VerifyException,
)

from mind_dialect.error_cures import CURES
from mind_dialect.errors import CATALOGUE, MindError, MindParseError, brief, error
from mind_dialect.locations import file_location
from mind_dialect.mlir_parser import syntax_error

from .flags import unknown

MAX_LINE = 160
"""Longer source lines are shown around the caret only."""
MAX_MESSAGE = 4000
_WORD = re.compile(r'"[^"\n]*"|[\w.$%@#!]+')


@dataclass(frozen=True)
class Place:
    """A place in a text: where it is, the source line if known, and how many characters are meant."""

    file: str
    line: int = 0
    column: int = 0
    text: str | None = None
    width: int = 1


@dataclass(frozen=True)
class Source:
    """The text that a tool reads, to show lines of; `line_offset` lines stand above it in the file."""

    name: str
    text: str
    line_offset: int = 0

    def line(self, number: int) -> str | None:
        """Line `number` of the file, if the text holds it."""
        start = 0
        for _ in range(number - 1 - self.line_offset):
            start = self.text.find("\n", start) + 1
            if not start:
                return None
        return self.text[start:].partition("\n")[0] if number > self.line_offset else None


def as_coded(e: BaseException, stage: str) -> MindError:
    """Whatever was raised while `stage` ran, as a coded error."""
    message = _first_line(e)
    match e:
        case MindError():
            return e
        case MindParseError():
            return e.error
        case ParseError():
            return syntax_error(e.msg)
        case ArgSpecParseError():
            return _pipeline_error(e)
        case VerifyException():
            return error("E4016", f"{stage}: {message}", issue=message)
        case DiagnosticException():
            return error("E7004", f"{stage}: {message}", stage=stage, issue=message)
        case UnregisteredConstructException():
            return error("E4000", f"{stage}: {message}", given=message, expected="a registered name")
        case RecursionError():
            return error("E1007", f"{stage}: nested too deeply")
        case MemoryError():
            return error("E6004", f"{stage}: not enough memory", shape=None, dtype=None, backend=stage)
        case OSError():
            path = brief(e.filename if e.filename is not None else stage)
            return error("E7002", f"{path}: {e.strerror or message}", path=path)
        case _:
            return error("E7004", f"{stage}: {type(e).__name__}: {message}", stage=stage, issue=message)


def _pipeline_error(e: ArgSpecParseError) -> MindError:
    """From `Error...:\npass-pipeline:1:6\ncse{a\n     ^\n     message`."""
    lines = str(e).splitlines()
    where, text, message = lines[1], lines[2], lines[-1].strip()
    if "(" in text:
        message = "there is no nesting here: a pass runs on the whole module, a,b{x=1 y=2}, in builtin.module(...) or without"
    return error("E7001", f"cannot read {text!r} at column {where.rpartition(':')[2]}: {message}", option=text)


def _first_line(e: BaseException) -> str:
    lines = [line for line in str(e).splitlines() if line.strip()]
    return lines[0] if lines else type(e).__name__


def place_of(e: BaseException, source: Source | None) -> Place | None:
    """Return the location of an error: the span of a parse error, the op of a coded one, else the whole file."""
    if isinstance(e, ParseError):
        where = e.span.get_location()
        content: Any = e.span.input.content
        start, end = e.span.input.get_start_of_line(e.span.start), e.span.input.get_end_of_line(e.span.start)
        line = content[start:end]
        text = line.decode("utf-8", "replace") if isinstance(line, bytes) else line
        return Place(where.file, where.line, where.col, text, max(1, min(e.span.end, end) - e.span.start))
    op = e.op if isinstance(e, MindError) else None
    while op is not None:
        if (location := file_location(op.location)) is not None:
            return _op_place(location, source)
        op = op.parent_op()
    return None if source is None else Place(source.name)


def _op_place(location: FileLineColLoc, source: Source | None) -> Place:
    file, line, column = location.filename.data, int(location.line.data), int(location.column.data)
    text = source.line(line) if source is not None and source.name == file else None
    word = None if text is None else _WORD.match(text, column - 1)
    return Place(file, line, column, text, 1 if word is None else len(word[0]))


def render(err: MindError, place: Place | None, notes: tuple[str, ...] = ()) -> str:
    """The diagnostic as text, ending in a newline; control characters of the input are shown as spaces."""
    message = err.message if len(err.message) <= MAX_MESSAGE else err.message[:MAX_MESSAGE] + "..."
    lines = f"error[{err.code}]: {message}".split("\n") if err.code == "E8008" else [f"error[{err.code}]: {message}"]
    gutter = " " * (len(str(place.line)) if place is not None and place.line else 1)
    if place is not None:
        at = f":{place.line}:{place.column}" if place.line else ""
        lines.append(f"{gutter}--> {place.file}{at}")
        if place.text is not None:
            text, column, width = _window(place.text, place.column - 1, place.width)
            lines.append(f"{gutter} |")
            lines.append(f"{place.line} | {text}".rstrip())
            lines.append(f"{gutter} | {' ' * column}{'^' * width}")
    category = f"{err.category}; mind-opt --explain {err.code}, {anchor(err.code)}"
    lines.extend(f"{gutter} = note: {note}" for note in (category, *notes))
    return "".join(_printable(line) + "\n" for line in lines)


def anchor(code: str) -> str:
    """
    Return where the documentation describes an error.

    >>> anchor("E3001")
    'error-codes.md#e3001'
    """
    return f"error-codes.md#{code.lower()}"


def explanation(text: str) -> str:
    """Return what an error means and how to cure it; E7003 for a code that is none."""
    code = text.upper()
    if (entry := CATALOGUE.get(code)) is None:
        raise unknown("error code", text, CATALOGUE)
    context = ", ".join(entry.context) or "nothing"
    lines = [f"{code}: {entry.name} ({entry.category})", "", *textwrap.wrap(CURES[code], 100), ""]
    return "\n".join([*lines, f"In Python, `error.context` has {context}. An example is at {anchor(code)}.", ""])


def _window(text: str, column: int, width: int) -> tuple[str, int, int]:
    """At most `MAX_LINE` characters of a line around the caret, tabs as spaces."""
    text = text.rstrip("\r").replace("\t", " ")
    column = min(column, len(text))
    width = max(1, min(width, len(text) - column))
    if len(text) <= MAX_LINE:
        return text, column, width
    start = max(0, column - MAX_LINE // 2)
    shown, ahead = text[start : start + MAX_LINE], "..." if start else ""
    behind = "..." if start + MAX_LINE < len(text) else ""
    column -= start
    return ahead + shown + behind, column + len(ahead), min(width, MAX_LINE - column)


def _printable(line: str) -> str:
    return "".join(c if c.isprintable() or c == " " else " " for c in line)
