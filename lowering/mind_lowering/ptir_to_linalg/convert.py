"""The driver: legality of all functions first, then one function after the other; the pass and the conversion target."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects import arith, math, scf, tensor
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.dialects.linalg import Linalg
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.printer import Printer

from mind_dialect import register
from mind_dialect.dominance import walk
from mind_dialect.program import functions, input_names, ssa_name, stated_attributes
from mind_dialect.ptir import PtirOp

from ..conversion import (
    ConversionOptions,
    ConversionTarget,
    ConvertedIR,
    LegalityReport,
    check_program_legality,
)
from ..conversion.in_place import replace_functions, without_ours
from ..conversion.inline import inlined_region
from ..conversion.registry import entrypoints, rename_functions
from . import control, reductions, structural
from .builder import LinalgBuilder, converted_type
from .legal import specification

TARGET = "linalg"


def legality(module: ModuleOp, *, in_range: bool = False) -> LegalityReport:
    """All of the functions with PTIR ops that cannot be converted."""
    return check_program_legality(module, specification(in_range), only=_with_ptir(module))


def convert_module(module: ModuleOp, *, in_range: bool = False) -> None:
    """
    Convert every function of a verified module that holds PTIR; the others stay as they are.

    `in_range` is the caller's promise that no index is out of range and no integer divisor is 0. Raises E8008, with everything
    that cannot be said, before anything is changed.
    """
    report = legality(module, in_range=in_range)
    if not report.is_legal:
        raise report.error(TARGET)
    replace_functions(module, ((func, converted(func)) for func in _with_ptir(module)))


def _with_ptir(module: ModuleOp) -> list[FuncOp]:
    return [func for func in functions(module) if any(isinstance(op, PtirOp) for op in walk(func))]


def converted(func: FuncOp) -> FuncOp:
    """A legal function as a new one of the target's dialects, which stands in no module; names of values are kept."""
    old = func.body.block
    block = Block(arg_types=[converted_type(t) for t in old.arg_types])
    for before, after, name in zip(old.args, block.args, input_names(func), strict=True):
        after.name_hint = before.name_hint or ssa_name(name)  # the attribute goes with all of ours
    b = LinalgBuilder(func)
    returned = inline(b, func.body, block.args)
    ending = b.add(ReturnOp(*returned))
    block.add_ops(b.ops)
    properties = dict(func.properties)
    properties["function_type"] = FunctionType.from_lists(block.arg_types, ending.operand_types)
    for name in ("arg_attrs", "res_attrs"):
        if isinstance(given := properties.pop(name, None), ArrayAttr):
            dictionaries = cast("ArrayAttr[DictionaryAttr]", given).data
            if (kept := stated_attributes(DictionaryAttr(without_ours(dict(d.data))) for d in dictionaries)) is not None:
                properties[name] = kept
    made = FuncOp.create(properties=properties, attributes=without_ours(func.attributes), regions=[Region(block)])
    made.location = func.location
    return made


def inline(b: LinalgBuilder, region: Region, arguments: Sequence[SSAValue]) -> list[SSAValue]:
    """Convert the ops of a region of one block, and return what stands for the operands of its terminator."""

    def convert(op: Operation, operands: list[SSAValue]) -> Sequence[SSAValue]:
        origin, b.origin = b.origin, op
        found = _convert(b, op, operands)
        b.origin = origin
        return found

    return inlined_region(region, arguments, convert)


def _convert(b: LinalgBuilder, op: Operation, operands: list[SSAValue]) -> list[SSAValue]:
    kind: Any = type(op)
    if kind in control.RULES:
        return control.RULES[kind](b, op, operands, inline)
    rule = structural.RULES.get(kind) or reductions.RULES[kind]
    return rule(b, op, operands)


@dataclass(frozen=True)
class ConvertPtirToLinalgPass(ModulePass):
    """
    Convert PTIR to tensor, linalg, arith, math and scf with signless integers; drop our attributes.

    One error lists all that has no form there. `assume-in-range=true` promises that every index is in range and no integer
    divisor is 0, both of which PTIR makes errors at run time.
    """

    name = "mind-convert-ptir-to-linalg"

    assume_in_range: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        register(ctx)
        for dialect in (arith.Arith, Linalg, math.Math, scf.Scf, tensor.Tensor):
            if ctx.get_optional_dialect(dialect.name) is None:
                ctx.load_dialect(dialect)
        convert_module(op, in_range=self.assume_in_range)


class LinalgTarget(ConversionTarget):
    """Generic MLIR text of tensor, linalg, arith, math and scf."""

    name = TARGET
    file_extension = "mlir"
    version = 1

    def check(self, module: ModuleOp, options: ConversionOptions) -> None:
        if not (report := legality(module)).is_legal:
            raise report.error(TARGET)
        entrypoints(module, options)

    def convert(self, module: ModuleOp, options: ConversionOptions) -> ConvertedIR:
        points = entrypoints(module, options)
        work = module.clone()
        convert_module(work)
        rename_functions(work, points)
        stream = io.StringIO()
        Printer(stream, print_generic_format=True).print_op(work)
        return ConvertedIR(f"{stream.getvalue()}\n", points)
