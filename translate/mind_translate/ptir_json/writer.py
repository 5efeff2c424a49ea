"""The JSON form, written: one instruction a line. The same module gives the same text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import IO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.target import Target

from mind_dialect.ptir.literal import PtirLiteralAttr
from mind_dialect.ptir_program import SPEC_VERSION

from ..ptir.exporter import to_program
from ..ptir.nodes import Node
from ..ptir.records import FunctionRecord, Instruction, Operand, Program, RegionRecord
from ..ptir.tensor_kinds import LITERAL, value_type_node
from ..ptir.value_types import ValueType


def print_ptir_json(module: ModuleOp, *, strict: bool = False, lenient: bool = False) -> str:
    """
    The JSON form of a module of functions of ptir ops.

    It is the extended form, which has expressions of names as dimensions and declarations of sizes; with `strict` the public one.
    Errors are those of `to_program`: E8006 for the version, E4000 for what the form lacks, E8001 for dimensions without name.
    """
    return render(to_program(module, strict=strict, lenient=lenient, extended=True))


def render(program: Program) -> str:
    """The JSON form of a program."""
    functions = ",".join([_function(f) for f in program.functions])
    regions = _lines([_region(r) for r in program.regions], "  ")
    head = f'{{\n  "spec_version": {_text(SPEC_VERSION)},\n  "entry": {_text(program.entry)},\n'
    return f'{head}  "functions": [{functions}\n  ],\n  "regions": {regions}\n}}\n'


def _text(node: Node) -> str:
    return json.dumps(node, allow_nan=False)


def _lines(texts: Sequence[str], indent: str) -> str:
    inner = f",\n{indent}  ".join(texts)
    return f"[\n{indent}  {inner}\n{indent}]" if texts else "[]"


def _object(parts: Iterable[tuple[str, str]], indent: str) -> str:
    inner = f",\n{indent}  ".join([f'"{key}": {value}' for key, value in parts])
    return f"{{\n{indent}  {inner}\n{indent}}}"


def _types(types: Sequence[ValueType]) -> str:
    return _lines([_text(value_type_node(t)) for t in types], " " * 6)


def _body(body: Sequence[Instruction]) -> str:
    return _lines([_text(_instruction(i)) for i in body], " " * 6)


def _function(f: FunctionRecord) -> str:
    parts = (
        ("name", _text(f.name)),
        ("parameters", _types(f.parameters)),
        ("parameter_ids", _text(list(f.parameter_ids))),
        ("results", _types(f.results)),
        ("body", _body(f.body)),
        ("hints", "[]"),
        ("result_ids", _text(list(f.result_ids))),
        *([("dims", _text(list(f.dims)))] if f.dims else []),
    )
    return f"\n    {_object(parts, '    ')}"


def _region(r: RegionRecord) -> str:
    parts = (
        ("id", _text(r.id)),
        ("parameters", _types(r.parameters)),
        ("body", _body(r.body)),
        ("results", _types(r.results)),
    )
    return _object(parts, "    ")


def _instruction(i: Instruction) -> Node:
    operands = [_operand(o) for o in i.operands]
    return {"id": i.id, "op": i.row.write(i.values), "operands": operands, "output": value_type_node(i.output)}


def _operand(operand: Operand) -> Node:
    if isinstance(operand, int):
        return {"Value": operand}
    if isinstance(operand, PtirLiteralAttr):
        return {"Literal": LITERAL.write(operand)}
    return {"TupleElement": {"tuple": operand[0], "index": operand[1]}}


@dataclass(frozen=True)
class PtirJsonTarget(Target):
    """Print a module as a JSON program; with `strict`, only what the public form has."""

    name = "mind-ptir-json"
    strict: bool = False

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        output.write(print_ptir_json(module, strict=self.strict))
