"""
Values as Rust's `{:?}` shows them, read into JSON nodes, without recursion.

    ReduceSpec { kind: Sum, axes: [1], accum_dtype: None, out_dtype: Some(F32) }

The name of a struct is dropped, one before parentheses tags what is in them as serde would, `Some` and names of numbered things
vanish, `None` is null. An attribute of a custom call becomes its kind and value.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

from mind_dialect.errors import brief, error

from ..ptir.nodes import Node
from .cursor import PtirTextCursor

TRANSPARENT = frozenset({"Some", "RegionId", "ValueId", "DimSymbol"})
CALL_KINDS = frozenset(name + array for name in ("I64", "F64", "Bool", "String") for array in ("", "Array"))
TAGGED_STRUCTS = frozenset({"Complex"})
"""Variants of enums whose payload has named fields."""
MAX_DEPTH = 100
_ATOMS: dict[str, Node] = {"None": None, "true": True, "false": False, "inf": "Infinity", "-inf": "-Infinity", "NaN": "NaN"}
_CLOSERS = {"[": "]", "(": ")", "{": "}"}
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?")
_ESCAPE = re.compile(r"""\\(?:u\{([0-9a-fA-F]{1,6})\}|(.))""", re.DOTALL)
_ESCAPED = {'"': '"', "'": "'", "\\": "\\", "n": "\n", "r": "\r", "t": "\t", "0": "\0"}


@dataclass
class _Frame:
    """A bracket that is open: what stood before it, and what it holds so far."""

    name: str
    bracket: str
    key: str = ""
    items: list[Node] = field(default_factory=list)
    entries: dict[str, Node] = field(default_factory=dict)

    def add(self, node: Node) -> None:
        if self.bracket == "{":
            self.entries[self.key] = node
        else:
            self.items.append(node)


def read_rust(cursor: PtirTextCursor) -> Node:
    """The node of the value at the cursor, which moves behind it."""
    stack: list[_Frame] = []
    while True:
        node, opened = _start(cursor, stack)
        if opened:
            if not cursor.accept(_CLOSERS[stack[-1].bracket]):
                _key(cursor, stack[-1])
                continue
            node = _finish(cursor, stack.pop())
        while stack:
            frame = stack[-1]
            frame.add(node)
            if cursor.accept(","):
                if not cursor.accept(_CLOSERS[frame.bracket]):
                    _key(cursor, frame)
                    break
            else:
                cursor.expect(_CLOSERS[frame.bracket])
            node = _finish(cursor, stack.pop())
        else:
            return node


def _start(cursor: PtirTextCursor, stack: list[_Frame]) -> tuple[Node, bool]:
    """A value that is one token, or the opening of a bracket."""
    token = cursor.tokens[cursor.i]
    following = cursor.tokens[cursor.i + 1] if token else ""
    if token and (token[0].isalpha() or token[0] == "_") and "<" not in token:
        if following not in ("(", "{"):
            cursor.i += 1
            return _ATOMS.get(token, token), False
        cursor.i += 2
        name, bracket = token, following
    elif token and token in "[({":
        cursor.i += 1
        name, bracket = "", token
    else:
        return _atom(cursor, token), False
    if len(stack) == MAX_DEPTH:
        raise cursor.here(cursor.i - 1, error("E1007", f"brackets are nested more than {MAX_DEPTH} deep"))
    stack.append(_Frame(name, bracket))
    return None, True


def _atom(cursor: PtirTextCursor, token: str) -> Node:
    if token[:1] == '"' and len(token) > 1 and token[-1] == '"':
        cursor.i += 1
        return _string(cursor, token)
    if token in _ATOMS:
        cursor.i += 1
        return _ATOMS[token]
    if _NUMBER.fullmatch(token) is None:
        raise cursor.unexpected("a value")
    cursor.i += 1
    if token.removeprefix("-").isdecimal():
        return cursor.digits(token)
    if math.isinf(number := float(token)):
        issue = "is beyond the range of f64; write inf for infinity"
        raise cursor.here(cursor.i - 1, error("E4005", f"{brief(token)} {issue}", dtype="f64", issue=issue))
    return number


def _string(cursor: PtirTextCursor, token: str) -> str:
    """The text of a quoted token; E1004 for an escape that Rust does not know."""

    def unescaped(match: re.Match[str]) -> str:
        code = int(match[1], 16) if match[1] else None
        if code is not None and code < 0x110000 and not 0xD800 <= code < 0xE000:
            return chr(code)
        if code is None and match[2] in _ESCAPED:
            return _ESCAPED[match[2]]
        err = error("E1004", f"unknown escape {ascii(match[0])[1:-1]}", escape=match[0])
        raise cursor.here(cursor.i - 1, err)

    return _ESCAPE.sub(unescaped, token[1:-1])


def _key(cursor: PtirTextCursor, frame: _Frame) -> None:
    """Step over the name of a field or the key of a map."""
    if frame.bracket != "{":
        return
    token = cursor.tokens[cursor.i]
    if frame.name:
        frame.key = cursor.word("the name of a field")
    elif token[:1] == '"' and len(token) > 1 and token[-1] == '"':
        cursor.i += 1
        frame.key = _string(cursor, token)
    else:
        raise cursor.unexpected("a key in quotes")
    if frame.key in frame.entries:
        err = error("E4000", f"{frame.key[:60]!a} is given twice", given=frame.key[:60], expected="each once")
        raise cursor.here(cursor.i - 1, err)
    cursor.expect(":")


def _finish(cursor: PtirTextCursor, frame: _Frame) -> Node:
    if frame.bracket == "{":
        return {frame.name: frame.entries} if frame.name in TAGGED_STRUCTS else frame.entries
    if not frame.name:
        return frame.items
    if len(frame.items) != 1:
        err = error("E1007", f"{frame.name[:60]} holds {len(frame.items)} values, expected one")
        raise cursor.here(cursor.i - 1, err)
    (item,) = frame.items
    if frame.name in TRANSPARENT:
        return item
    return {"kind": frame.name, "value": item} if frame.name in CALL_KINDS else {frame.name: item}
