"""
Rewrites of shape ops, as MLIR's own dialect has them. Each says what becomes of what, and when.

A rewrite gives the values for the op's results. None says that it does not apply, or that it changed the op in place, which the
rewriter knows. New ops go before the op. `error` and discardable attributes stay. A result becomes a value of its own type only:
MLIR leaves out that check here and there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from xdsl.dialects import tensor, ub
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, TensorType, UnrankedTensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from mind_dialect import shape as sh
from mind_dialect.errors import MindError
from mind_dialect.shape.types import ShapeType, extents_type, is_extents, shaped_extents, static_length

from .constants import Constant, extents, number
from .folds import broadcast
from .rewriting import Rewrite, Values, as_constant, as_type, insert, is_empty, set_operands
from .witness_rewrites import (
    all_of_all,
    all_of_broadcastable,
    all_of_constants,
    all_of_equal,
    all_of_one,
    assuming_true,
    assuming_used,
    broadcastable,
    equal,
)


def _static_extents(type: Attribute) -> tuple[int, ...] | None:
    found = shaped_extents(type)
    return None if found is None or DYNAMIC_INDEX in found else found


# Sizes


def add_zero(op: sh.AddOp, rewriter: PatternRewriter) -> Values | None:
    """x + 0 -> x, for the index 0: MLIR does not look into `const_size` here."""
    zero = isinstance(op.rhs.type, IndexType) and number(op.rhs) == 0
    return [op.lhs] if zero and op.lhs.type == op.result.type else None


def add_poison(op: sh.AddOp, rewriter: PatternRewriter) -> Values | None:
    """poison + x -> poison, of the type of the result; other ops of poison stay, as in MLIR."""
    poisoned = next((x for x in op.operands if isinstance(x.owner, ub.PoisonOp)), None)
    if poisoned is None:
        return None
    return [poisoned] if poisoned.type == op.result.type else insert(ub.PoisonOp(op.result.type), rewriter)


def extremum_of_one(op: sh.MaxOp | sh.MinOp, rewriter: PatternRewriter) -> Values | None:
    """max(x, x) -> x."""
    return [op.lhs] if op.lhs is op.rhs and op.lhs.type == op.result.type else None


def index_of_size(op: sh.SizeToIndexOp, rewriter: PatternRewriter) -> Values | None:
    """size_to_index(index_to_size(x)) -> x; of an index x -> x."""
    if isinstance(op.arg.type, IndexType):
        return [op.arg]
    return [op.arg.owner.arg] if isinstance(op.arg.owner, sh.IndexToSizeOp) else None


def size_of_index(op: sh.IndexToSizeOp, rewriter: PatternRewriter) -> Values | None:
    """index_to_size(size_to_index(x)) -> x."""
    owner = op.arg.owner
    return [owner.arg] if isinstance(owner, sh.SizeToIndexOp) and owner.arg.type == op.result.type else None


def early_constant(op: sh.ConstantOp | sh.ConstantDimOp, rewriter: PatternRewriter) -> Values | None:
    """A known size or ranked shape without unknown extents: const_size, const_shape."""
    try:
        found = op.lattice()
    except MindError:
        return None
    known = isinstance(found, int) or (isinstance(found, tuple) and all(isinstance(n, int) for n in found))
    return as_constant(cast(Constant, found), op.result.type, rewriter) if known else None


# What is read from shapes and types


def dim_of_static(op: sh.DimOp, rewriter: PatternRewriter) -> Values | None:
    """dim(x, i) -> the extent, where x has a static one there."""
    shape, i = shaped_extents(op.value.type), number(op.index)
    if shape is None or i is None or not 0 <= i < len(shape) or shape[i] == DYNAMIC_INDEX:
        return None
    return as_constant(shape[i], op.extent.type, rewriter)


def shape_of_static(op: sh.ShapeOfOp, rewriter: PatternRewriter) -> Values | None:
    """shape_of(x) -> the constant, where all extents of x are static."""
    shape = _static_extents(op.arg.type)
    if shape is None:
        return None
    if isinstance(op.result.type, ShapeType):
        return as_constant(shape, op.result.type, rewriter)
    made = as_constant(shape, extents_type(len(shape)), rewriter)
    return None if made is None else as_type(made[0], op.result.type, rewriter)


def shape_of_reshape(op: sh.ShapeOfOp, rewriter: PatternRewriter) -> Values | None:
    """
    shape_of(tensor.reshape(x, s)) -> s, as an extent tensor, where s holds indices.

    Of other integers MLIR makes an `arith.index_cast` of tensors, which xDSL's verifier refuses.
    """
    owner = op.arg.owner
    if not isinstance(owner, tensor.ReshapeOp) or not is_extents(op.result.type):
        return None
    return as_type(owner.shape, op.result.type, rewriter) if is_extents(owner.shape.type) else None


def extents_of_extents(op: sh.ToExtentTensorOp, rewriter: PatternRewriter) -> Values | None:
    """to_extent_tensor(x) to the type of x -> x."""
    return [op.input] if op.input.type == op.result.type else None


def rank_of_ranked(op: sh.RankOp, rewriter: PatternRewriter) -> Values | None:
    """rank(shape_of(x)) -> the constant, where x is a ranked tensor."""
    owner = op.shape.owner
    if not isinstance(owner, sh.ShapeOfOp) or not isinstance(owner.arg.type, TensorType):
        return None
    return as_constant(len(cast(Any, owner.arg.type).shape), op.rank.type, rewriter)


def extract_of_shape(op: tensor.ExtractOp, rewriter: PatternRewriter) -> Values | None:
    """tensor.extract(shape_of(x), i) -> tensor.dim(x, i), where x is a tensor that has dimensions."""
    owner = op.tensor.owner
    if not isinstance(owner, sh.ShapeOfOp) or len(op.indices) != 1 or not is_extents(op.tensor.type):
        return None
    type: Attribute = owner.arg.type
    if not isinstance(type, TensorType | UnrankedTensorType) or shaped_extents(cast(Attribute, type)) == ():
        return None
    return insert(tensor.DimOp(owner.arg, op.indices[0]), rewriter)


def cast_of_shape(op: tensor.CastOp, rewriter: PatternRewriter) -> Values | None:
    """tensor.cast(shape_of(x)) -> shape_of(x) of the other type, where x is ranked and the type allows its rank."""
    owner, type = op.source.owner, op.dest.type
    if not isinstance(owner, sh.ShapeOfOp) or not is_extents(type) or not isinstance(owner.arg.type, TensorType):
        return None
    if static_length(type) not in (None, len(cast(Any, owner.arg.type).shape)):
        return None
    return insert(sh.ShapeOfOp(owner.arg, result_types=[type]), rewriter)


def cast_of_extents(op: tensor.CastOp, rewriter: PatternRewriter) -> Values | None:
    """tensor.cast(x) to the type of x -> x; tensor.cast(tensor.cast(x)) -> tensor.cast(x), where the first forgets the length."""
    if not is_extents(op.dest.type):
        return None
    if op.source.type == op.dest.type:
        return [op.source]
    inner = op.source.owner
    if not isinstance(inner, tensor.CastOp) or static_length(op.source.type) is not None:
        return None
    return as_type(inner.source, op.dest.type, rewriter)


# Several shapes


def without_duplicates(op: Operation, rewriter: PatternRewriter) -> None:
    """f(x, y, x) -> f(x, y)."""
    unique = list(dict.fromkeys(op.operands))
    if 0 < len(unique) < len(op.operands):
        set_operands(op, unique, rewriter)


def without_empty(op: sh.BroadcastOp | sh.CstrBroadcastableOp, rewriter: PatternRewriter) -> Values | None:
    """f(x, []) -> f(x), broadcast([]) -> []: shapes of rank 0 broadcast to all."""
    kept = [shape for shape in op.operands if not is_empty(shape)]
    if not kept and isinstance(op, sh.BroadcastOp):
        return as_constant((), op.result.type, rewriter)
    if 0 < len(kept) < len(op.operands):
        set_operands(op, kept, rewriter)
    return None


def without_casts(op: Operation, rewriter: PatternRewriter) -> None:
    """f(tensor.cast(x)) -> f(x), where the cast forgets the length."""

    def source(value: SSAValue) -> SSAValue:
        owner = value.owner
        if not isinstance(owner, tensor.CastOp) or static_length(value.type) is not None:
            return value
        return owner.source if is_extents(owner.source.type) else value

    operands = [source(value) for value in op.operands]
    if operands != list(op.operands):
        set_operands(op, operands, rewriter)


def broadcast_of_one(op: sh.BroadcastOp, rewriter: PatternRewriter) -> Values | None:
    """broadcast(x) -> x, converted to the type of the result."""
    return as_type(op.operands[0], op.result.type, rewriter) if len(op.operands) == 1 else None


def broadcast_of_constants(op: sh.BroadcastOp, rewriter: PatternRewriter) -> None:
    """broadcast(x, [2], [1]) -> broadcast(x, [2]): two or more constants that broadcast become one, the last."""
    merged: tuple[int, ...] = ()
    others: list[SSAValue] = []
    for shape in op.operands:
        known = extents(shape) if isinstance(shape.owner, sh.ConstShapeOp) else None
        together = None if known is None else broadcast(merged, known)
        if together is None:
            others.append(shape)
        else:
            merged = together
    if len(op.operands) - len(others) < 2:
        return
    made = as_constant(merged, extents_type(len(merged)), rewriter)
    if made is not None:
        set_operands(op, [*others, *made], rewriter)


def broadcast_of_lengths(op: sh.BroadcastOp, rewriter: PatternRewriter) -> Values | None:
    """A result of type tensor<?xindex> gets its length, the greatest of the operands', where these are known."""
    if not is_extents(op.result.type) or static_length(op.result.type) is not None or not op.operands:
        return None
    lengths = [static_length(shape.type) for shape in op.operands]
    if None in lengths:
        return None
    longest = max(n for n in lengths if n is not None)
    made = sh.BroadcastOp.create(
        operands=op.operands,
        result_types=[extents_type(longest)],
        properties=dict(op.properties),
        attributes=dict(op.attributes),
    )
    made.location = op.location
    return as_type(insert(made, rewriter)[0], op.result.type, rewriter)


def any_of_constant(op: sh.AnyOp, rewriter: PatternRewriter) -> Values | None:
    """any(x, [2]) -> [2]: the last operand, if it is constant."""
    known = extents(op.operands[-1]) if op.operands else None
    return None if known is None else as_constant(known, op.result.type, rewriter)


def is_broadcastable_alone(op: sh.IsBroadcastableOp, rewriter: PatternRewriter) -> Values | None:
    """is_broadcastable(x) -> true."""
    return as_constant(True, op.result.type, rewriter) if len(op.operands) < 2 else None


REWRITES: Mapping[type[Operation], tuple[Rewrite, ...]] = {
    sh.ConstantOp: (early_constant,),
    sh.ConstantDimOp: (early_constant,),
    sh.AddOp: (add_poison, add_zero),
    sh.MaxOp: (extremum_of_one,),
    sh.MinOp: (extremum_of_one,),
    sh.IndexToSizeOp: (size_of_index,),
    sh.SizeToIndexOp: (index_of_size,),
    sh.DimOp: (dim_of_static,),
    sh.ShapeOfOp: (shape_of_static, shape_of_reshape),
    sh.ToExtentTensorOp: (extents_of_extents,),
    sh.RankOp: (rank_of_ranked,),
    tensor.ExtractOp: (extract_of_shape,),
    tensor.CastOp: (cast_of_shape, cast_of_extents),
    sh.BroadcastOp: (
        *(broadcast_of_lengths, broadcast_of_constants, broadcast_of_one),
        *(without_casts, without_duplicates, without_empty),
    ),
    sh.AnyOp: (any_of_constant,),
    sh.IsBroadcastableOp: (is_broadcastable_alone, without_duplicates),
    sh.CstrBroadcastableOp: (broadcastable, without_casts, without_duplicates, without_empty),
    sh.CstrEqOp: (equal,),
    sh.AssumingAllOp: (all_of_constants, all_of_one, without_duplicates, all_of_all, all_of_broadcastable, all_of_equal),
    sh.AssumingOp: (assuming_true, assuming_used),
}
"""In the order in which they are tried."""
