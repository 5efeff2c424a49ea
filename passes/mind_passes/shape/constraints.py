"""
Constraints that are trusted, or checked when the program runs; ops of the dialect as other ops of it.

    remove-shape-constraints     cstr_broadcastable, cstr_eq  ->  const_witness true
    convert-shape-constraints    and cstr_require  ->  cf.assert, const_witness true
    shape-to-shape-lowering      num_elements  ->  reduce of mul

As upstream: `cstr_require` stays where constraints are removed, and `assuming` stays, which `canonicalize-shape` puts in place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects import arith, cf
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter
from xdsl.transforms.dead_code_elimination import region_dce

from mind_dialect import register, shape
from mind_dialect.dominance import walk
from mind_dialect.shape.types import SizeType, index, is_extents, size

QUESTIONS: Mapping[type[Operation], tuple[type[shape.ShapeOp], str]] = {
    shape.CstrBroadcastableOp: (shape.IsBroadcastableOp, "required broadcastable shapes"),
    shape.CstrEqOp: (shape.ShapeEqOp, "required equal shapes"),
}
"""The condition of a constraint, and the message for one that does not hold."""


def remove_constraints(module: ModuleOp) -> None:
    """Take the constraints on shapes of a verified module for granted, in place."""
    for op in list(walk(module)):
        if type(op) in QUESTIONS:
            _replace(op, shape.ConstWitnessOp(passing=True))
    _settle(module)


def convert_constraints(module: ModuleOp) -> None:
    """Assert every constraint of a verified module where it stands, in place; an assertion keeps the constraint's attributes."""
    for op in list(walk(module)):
        if isinstance(op, shape.CstrRequireOp):
            _assert(op, op.pred, op.message)
        elif (question := QUESTIONS.get(type(op))) is not None:
            kind, message = question
            asked = kind(*op.operands)
            _before(op, asked)
            _assert(op, asked.results[0], message)
    _settle(module)


def _assert(op: Operation, holds: SSAValue, message: str) -> None:
    made = cf.AssertOp.create(operands=[holds], properties={"msg": StringAttr(message)}, attributes=dict(op.attributes))
    _before(op, made)
    _replace(op, shape.ConstWitnessOp(passing=True))


def _before(op: Operation, made: Operation) -> None:
    made.location = op.location
    cast(Block, op.parent).insert_op_before(made, op)


def _replace(op: Operation, made: Operation) -> None:
    _before(op, made)
    for old, new in zip(op.results, made.results, strict=True):
        new.name_hint = old.name_hint
    Rewriter.replace_op(op, [], list(made.results))


def _settle(module: ModuleOp) -> None:
    """Leave out what holds from `assuming_all`, and what is no longer used."""
    for op in list(walk(module)):
        if isinstance(op, shape.AssumingAllOp):
            rest = [v for v in op.operands if not (isinstance(v.owner, shape.ConstWitnessOp) and v.owner.passes)]
            if not rest:
                _replace(op, shape.ConstWitnessOp(passing=True))
            elif len(rest) < len(op.operands):
                op.operands = rest
    region_dce(module.body)


def products_as_loops(module: ModuleOp) -> None:
    """The number of elements of every shape of a verified module as a product over its extents, in place."""
    for op in list(walk(module)):
        if isinstance(op, shape.NumElementsOp):
            _product(op)


def _product(op: shape.NumElementsOp) -> None:
    result = op.result.type
    one = shape.ConstSizeOp(value=1) if isinstance(result, SizeType) else arith.ConstantOp(IntegerAttr(1, index))
    _before(op, one)
    extent = index if is_extents(op.shape.type) else size
    block = Block(arg_types=[index, extent, result])
    product = shape.MulOp.create(operands=block.args[1:], result_types=[result])
    ending = shape.YieldOp.create(operands=product.results)
    block.add_ops([product, ending])
    for inner in (product, ending):
        inner.location = op.location
    loop = shape.ReduceOp.create(operands=[op.shape, one.results[0]], result_types=[result], regions=[Region(block)])
    loop.attributes = dict(op.attributes)
    _replace(op, loop)


def _load(ctx: Context) -> None:
    register(ctx)
    for dialect in (arith.Arith, cf.Cf):
        if ctx.get_optional_dialect(dialect.name) is None:
            ctx.load_dialect(dialect)


@dataclass(frozen=True)
class RemoveShapeConstraintsPass(ModulePass):
    """Assume that constraints on shapes hold: replace each by a witness that passes."""

    name = "mind-remove-shape-constraints"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        _load(ctx)
        remove_constraints(op)


@dataclass(frozen=True)
class ConvertShapeConstraintsPass(ModulePass):
    """Check constraints on shapes when the program runs: each becomes an assertion."""

    name = "mind-convert-shape-constraints"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        _load(ctx)
        convert_constraints(op)


@dataclass(frozen=True)
class ShapeToShapeLoweringPass(ModulePass):
    """Rewrite ops of the shape dialect in terms of others: the number of elements as a reduction."""

    name = "mind-shape-to-shape-lowering"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        _load(ctx)
        products_as_loops(op)
