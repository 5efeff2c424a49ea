"""The display form, written: what the public implementation shows of a program, dumps included."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.target import Target

from mind_dialect.errors import error
from mind_dialect.ptir.literal import PtirLiteralAttr
from mind_dialect.ptir_program import SPEC_VERSION

from ..ptir.exporter import to_program
from ..ptir.records import Instruction, Operand, Program
from ..ptir.tensor_kinds import shown_type
from ..ptir.value_types import ValueType, leaves

SYMBOL = re.compile(r"[^\s{}()@\"]+")
"""Pattern of a function's name in the public form; any other name is quoted, as JSON, which is an extension."""
_AMBIGUOUS = re.compile(r"x[0-9]")


def print_ptir_text(module: ModuleOp, *, strict: bool = False, lenient: bool = False) -> str:
    """
    The display form of a module of functions of ptir ops.

    Errors are those of `to_program`, and E4000 for what this form cannot say: a name of a dimension that reads as two
    dimensions and, if `strict`, a name of a function with blanks, brackets or quotes.
    """
    program = to_program(module, strict=strict, lenient=lenient)
    if strict:
        for name in (program.entry, *(f.name for f in program.functions)):
            _check_public(name)
    return render(program)


def render(program: Program) -> str:
    """Return the display form of a program."""
    return "\n".join(_program(program)) + "\n"


def _program(program: Program) -> Iterator[str]:
    yield f"program @{_symbol(program.entry)} (spec_version = {SPEC_VERSION}) {{"
    for f in program.functions:
        yield f"  func @{_symbol(f.name)} {{"
        yield from _section("params", [f"%{i}" for i in f.parameter_ids], f.parameters)
        yield from _body(f.body)
        yield from _section("results", [f"%{i}" for i in f.result_ids], f.results)
        yield "  }"
    for r in program.regions:
        yield f"  region ^r{r.id} {{"
        yield from _section("params", [f"%arg{i}" for i in range(len(r.parameters))], r.parameters)
        yield from _body(r.body)
        yield from _section("results", [f"%res{i}" for i in range(len(r.results))], r.results)
        yield "  }"
    yield "}"


def _symbol(name: str) -> str:
    return json.dumps(name) if SYMBOL.fullmatch(name) is None else name


def _check_public(name: str) -> None:
    if SYMBOL.fullmatch(name) is None:
        expected = "a name without blanks, brackets and quotes, because strict allows no quoted names"
        raise error("E4000", f"the function name {name[:60]!a}, expected {expected}", given=name[:60], expected=expected)


def _section(name: str, values: Sequence[str], types: Sequence[ValueType]) -> Iterator[str]:
    if values:
        yield f"    {name}:"
    for value, type in zip(values, types, strict=True):
        yield f"      {value} : {_type(type)}"


def _body(body: Sequence[Instruction]) -> Iterator[str]:
    if body:
        yield "    body:"
    for i in body:
        operands = f"({', '.join(map(_operand, i.operands))})" if i.operands else ""
        yield f"      %{i.id} = {i.row.rust(i.values)}{operands} -> {_type(i.output)}"


def _operand(operand: Operand) -> str:
    if isinstance(operand, PtirLiteralAttr):
        raise error("E4000", "a literal operand, whose value this form cannot express", given="a literal", expected="a value")
    return f"%{operand}" if isinstance(operand, int) else f"%{operand[0]}[{operand[1]}]"


def _type(type: ValueType) -> str:
    for spec in leaves(type):
        for dim in spec.shape:
            if isinstance(dim, str) and _AMBIGUOUS.search(dim) is not None:
                expected = "no digit after an x"
                message = f"the dimension name {dim}, which this form would read as two dimensions; expected {expected}"
                raise error("E4000", message, given=dim, expected=expected)
    return shown_type(type)


@dataclass(frozen=True)
class PtirTextTarget(Target):
    """Print a module in the display form; with `strict`, only what the public form has."""

    name = "mind-ptir-text"
    strict: bool = False

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        output.write(print_ptir_text(module, strict=self.strict))
