"""
`shape-fn-report`: which ops of a module have shape functions, as an attribute of the module.

    mind.shape_report = {
      mapped = {test.exp = @lib::@same}    ops that the libraries of `shape.lib` map, and their functions
      missing = ["test.new"]               ops whose results have unknown extents, and that have neither a function nor a rule
      unused = ["test.log"]                ops that are mapped and that the module does not have
    }

Rules are what the toolkit knows of Core IR, PTIR, the shape dialect and casts of tensors. Shape functions and libraries are not
searched.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects import tensor
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    ModuleOp,
    ShapedType,
    StringAttr,
    SymbolRefAttr,
    UnrankedMemRefType,
    UnrankedTensorType,
)
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass

from mind_dialect import register
from mind_dialect.shape import FuncOp, FunctionLibraryOp, libraries
from mind_dialect.shape.dataflow import name_of
from mind_dialect.shape.evaluate import EVALUATE
from mind_dialect.shape.types import ValueShapeType

from .rules import EXEMPT, SHAPE_RULES

REPORT_ATTRIBUTE = "mind.shape_report"


def report(module: ModuleOp) -> DictionaryAttr:
    """Return which ops of a verified module have shape functions, sorted by the names of ops."""
    mapped: dict[str, Attribute] = {}
    for library in libraries(module):
        for op, function in cast(DictionaryAttr, library.mapping).data.items():
            name = cast(SymbolRefAttr, function).root_reference
            mapped[op] = SymbolRefAttr(library.sym_name, [name])
    used: set[str] = set()
    missing: set[str] = set()
    for op in _searched(module):
        name = name_of(op)
        if name in mapped:
            used.add(name)
        elif not _has_rule(op) and any(_is_open(type) for type in op.result_types):
            missing.add(name)
    return DictionaryAttr(
        {
            "mapped": DictionaryAttr({op: mapped[op] for op in sorted(mapped)}),
            "missing": _texts(missing),
            "unused": _texts(mapped.keys() - used),
        }
    )


def _searched(op: Operation) -> Iterator[Operation]:
    """The ops inside of `op` that are not part of shape functions."""
    pending = [op]
    while pending:
        for region in pending.pop().regions:
            for block in region.blocks:
                for inner in block.ops:
                    if not isinstance(inner, FuncOp | FunctionLibraryOp):
                        yield inner
                        pending.append(inner)


def _has_rule(op: Operation) -> bool:
    return type(op) in SHAPE_RULES or type(op) in EXEMPT or type(op) in EVALUATE or isinstance(op, tensor.CastOp)


def _is_open(type: Attribute) -> bool:
    """Return whether a type leaves the rank or an extent of its values open."""
    if isinstance(type, ShapedType):
        return not type.has_static_shape()
    return isinstance(type, UnrankedTensorType | UnrankedMemRefType | ValueShapeType)


def _texts(names: set[str]) -> ArrayAttr[StringAttr]:
    return ArrayAttr([StringAttr(name) for name in sorted(names)])


@dataclass(frozen=True)
class ShapeFnReportPass(ModulePass):
    """List in `mind.shape_report` which ops of the module have shape functions, and which have none."""

    name = "mind-shape-fn-report"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        register(ctx)
        op.attributes[REPORT_ATTRIBUTE] = report(op)
