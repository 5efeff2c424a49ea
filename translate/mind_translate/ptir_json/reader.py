"""
The JSON form, read: the standard library's parser under guards, then objects to records, each error with its path and its place.

    functions[0].body[3].op.Reduce.axes: expected a list, found 7

Guards: the size of the text, the number of its objects and lists, their depth, keys that stand twice, numbers without end.
What is declared is checked before anything of its size is made.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import IO, Any, NoReturn, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.lexer import Input, Span

from mind_dialect.errors import MindError, MindParseError, error
from mind_dialect.ptir_program import SPEC_VERSION
from mind_dialect.source_text import decode

from ..ptir.importer import to_module
from ..ptir.kinds import SIZE
from ..ptir.misplaced import Misplaced, misplaced, shown_path
from ..ptir.nodes import Node, fields, items, shown, tagged, text, under, unexpected
from ..ptir.records import FunctionRecord, Instruction, Operand, Program, RegionRecord
from ..ptir.rows import read_op
from ..ptir.tensor_kinds import LITERAL, value_type
from .faults import first_fault, locate

MAX_TEXT = 1 << 26
"""Texts of more characters are refused: weights belong in files of their own."""
MAX_CONTAINERS = 1 << 22
"""Texts of more objects and lists are refused."""
MAX_ID = (1 << 32) - 1
_FUNCTION = ("name", "parameters", "parameter_ids", "results", "body", "result_ids")
_SURROGATE = re.compile("[\ud800-\udfff]")


def parse_ptir_json(source: str | bytes, name: str = "<input>", *, strict: bool = False, lenient: bool = False) -> ModuleOp:
    """
    Read the JSON form of a program into a module, every op of it checked.

    Raises `MindParseError`, whose message starts with the path: E8006 without our `spec_version` (`lenient` lets a missing one
    pass), E4000 for fields, E4001 and E4002 for values, and whatever a verifier of an op raises. With `strict`, E4000 for ops,
    expressions of names and declarations of sizes, which the public form lacks.
    """
    source = decode(source, name)
    reader = _JsonReader(source, name)
    try:
        program = _program(reader.load(), lenient)
    except Misplaced as e:
        raise reader.failure(e.path, e.error) from None
    return to_module(program, lambda place, keys, e: reader.failure([*place, *keys], e), strict=strict, extended=True)


def read_ptir_json(io: IO[bytes]) -> ModuleOp:
    """The tools' frontend for `.json`."""
    return parse_ptir_json(io.read(), str(getattr(io, "name", "<input>")))


class _Fault(Exception):
    """Something in the text that `first_fault` finds."""


class _JsonReader:
    """The text, which errors point into."""

    def __init__(self, source: str, name: str):
        self.source, self.name = source, name

    def load(self) -> Node:
        """The text as nodes; coded errors for what is no JSON, or too much of it."""
        source = self.source
        containers = source.count("{") + source.count("[")
        if len(source) > MAX_TEXT or containers > MAX_CONTAINERS:
            found = f"{len(source)} characters, {containers} objects and lists"
            raise self._error(0, 1, error("E1007", f"{found}, expected at most {MAX_TEXT} and {MAX_CONTAINERS}"))
        if (half := _SURROGATE.search(source)) is not None:
            escape = ascii(half[0])[1:-1]
            err = error("E1004", f"{escape} is half of a surrogate pair", escape=escape)
            raise self._error(half.start(), half.end(), err)
        try:
            return json.loads(source, object_pairs_hook=_object, parse_float=_real, parse_constant=_constant)
        except json.JSONDecodeError as e:
            raise self._error(e.pos, e.pos + 1, error("E1007", f"invalid JSON: {e.msg[0].lower()}{e.msg[1:]}")) from None
        except RecursionError:
            raise self._error(0, 1, error("E1007", "objects and lists are nested too deeply")) from None
        except (_Fault, ValueError):
            if (found := first_fault(source)) is None:
                raise self._error(0, 1, error("E1007", "no JSON")) from None
            (start, end), err = found
            raise self._error(start, end, err) from None

    def failure(self, path: Sequence[str | int], err: MindError) -> MindParseError:
        """The error of the value at `path`."""
        start, end = locate(self.source, path)
        where = shown_path(path)
        message = f"{where}: {err.message}" if where else err.message
        return self._error(start, end, MindError(err.code, message, {"path": where, **err.context}, err.op, err.category))

    def _error(self, start: int, end: int, err: MindError) -> MindParseError:
        content = _SURROGATE.sub("\ufffd", self.source[: MAX_TEXT + 1])
        return MindParseError(Span(start, min(end, start + 200), Input(content, self.name)), err)


def _object(pairs: list[tuple[str, Node]]) -> dict[str, Node]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _Fault
    return found


def _real(token: str) -> float:
    if math.isinf(value := float(token)):
        raise _Fault
    return value


def _constant(token: str) -> NoReturn:
    raise _Fault(token)


def _program(node: Node, lenient: bool) -> Program:
    found = fields(node, ("entry", "functions", "regions"), ("spec_version",))
    version = found.get("spec_version")
    if version != SPEC_VERSION and ("spec_version" in found or not lenient):
        given = shown(version) if "spec_version" in found else "nothing"
        wrong = misplaced("E8006", f"spec_version is {given}, expected {SPEC_VERSION!r}", given=given, expected=SPEC_VERSION)
        raise wrong.under("spec_version") if "spec_version" in found else wrong
    entry = under("entry", text, found["entry"])
    functions = _placed(found["functions"], "functions", (), _function)
    regions = _placed(found["regions"], "regions", (), _region)
    return Program(entry, functions, regions, ())


def _placed(node: Node, key: str, place: tuple[str | int, ...], read: Any) -> list[Any]:
    """Records of a list; each knows its place."""
    if not isinstance(node, list):
        raise unexpected("a list", node).under(key)
    found: list[Any] = []
    try:
        for i, item in enumerate(cast(list[Node], node)):
            found.append(read(item, (*place, key, i)))
    except Misplaced as e:
        raise e.under(key, len(found)) from None
    return found


def _function(node: Node, place: tuple[str | int, ...]) -> FunctionRecord:
    found = fields(node, _FUNCTION, ("hints", "dims"))
    hints = found.get("hints", [])
    if not isinstance(hints, list):
        raise unexpected("a list", hints).under("hints")
    return FunctionRecord(
        under("name", text, found["name"]),
        _types(found, "parameters"),
        under("parameter_ids", _ids, found["parameter_ids"]),
        _types(found, "results"),
        _placed(found["body"], "body", place, _instruction),
        under("result_ids", _ids, found["result_ids"]),
        json.dumps(hints) if hints else None,
        place,
        under("dims", lambda n: items(n, text), found.get("dims", [])),
    )


def _region(node: Node, place: tuple[str | int, ...]) -> RegionRecord:
    found = fields(node, ("id", "parameters", "body", "results"))
    number = under("id", SIZE.read, found["id"])
    parameters = _types(found, "parameters")
    body = _placed(found["body"], "body", place, _instruction)
    return RegionRecord(number, parameters, body, _types(found, "results"), place)


def _types(found: Any, key: str) -> list[Any]:
    return under(key, lambda node: items(node, value_type), found[key])


def _ids(node: Node) -> list[int]:
    return items(node, _id)


def _id(node: Node) -> int:
    if not isinstance(node, int) or isinstance(node, bool):
        raise unexpected("the number of a value", node)
    if not 0 <= node <= MAX_ID:
        message = f"the value number {shown(node)}, expected 0 to 2^32 - 1"
        raise misplaced("E8002", message, attribute="id", value=shown(node))
    return node


def _instruction(node: Node, place: tuple[str | int, ...]) -> Instruction:
    found = fields(node, ("id", "op", "operands", "output"))
    row, values = under("op", read_op, found["op"])
    operands = under("operands", _operands, found["operands"])
    output = under("output", value_type, found["output"])
    return Instruction(under("id", _id, found["id"]), row, values, operands, output, place)


def _operands(node: Node) -> list[Operand]:
    return items(node, _operand)


def _operand(node: Node) -> Operand:
    tag, payload = tagged(node, "an operand, one of Value, TupleElement, Literal")
    if tag == "Value":
        return under(tag, _id, payload)
    if tag == "TupleElement":
        return under(tag, _element, payload)
    if tag == "Literal":
        return under(tag, LITERAL.read, payload)
    raise unexpected("one of Value, TupleElement, Literal", tag)


def _element(node: Node) -> tuple[int, int]:
    found = fields(node, ("tuple", "index"))
    return under("tuple", _id, found["tuple"]), under("index", SIZE.read, found["index"])
