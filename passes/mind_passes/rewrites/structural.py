"""
Rewrites of ops that move elements and compute nothing: true for every dtype and every bit pattern.

A view is an op that keeps the row-major order of the elements (reshape, expand_dims, squeeze): two of them are one.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import SSAValue

from mind_dialect import core

from .building import in_place_of, is_integer, same_type, shape_of
from .normal_forms import slice_normal

VIEWS = (core.ReshapeOp, core.ExpandDimsOp, core.SqueezeOp)


def unchanged(op: core.CoreOp) -> SSAValue | None:
    """
    `f(x) = x`, for what keeps the type and moves no element: views, broadcast_to, slice, slice_scatter.

    A slice of the input's shape takes every element, as its bounds lie within the input; a slice_scatter likewise overwrites all.
    """
    x = op.operands[0]
    return x if same_type(x.type, op.results[0].type) else None


def view_of_view(op: core.CoreOp) -> SSAValue | core.CoreOp | None:
    """
    `view(view(x))` is x where it has x's type, else one view of x.

    Nested expand_dims, and nested squeezes, stay what they are; a squeeze of an expand_dims is what is left of either where one
    undoes the other; all else is a reshape, whose extents must be positive.
    """
    inner = op.operands[0].owner
    if not isinstance(inner, VIEWS):
        return None
    x = inner.operands[0]
    if same_type(x.type, op.results[0].type):
        return x
    merged = _merged_axes(op, inner)
    if merged is not None:
        cls, axes = merged
        return in_place_of(op, cls, x, axes=axes)
    shape = shape_of(op.results[0])
    return in_place_of(op, core.ReshapeOp, x, new_shape=shape) if prod(shape) else None


def _merged_axes(op: core.CoreOp, inner: core.CoreOp) -> tuple[type[core.ExpandDimsOp | core.SqueezeOp], list[int]] | None:
    """The one expand_dims or squeeze that does what `op` after `inner` does, if there is one."""
    if isinstance(op, core.ReshapeOp) or isinstance(inner, core.ReshapeOp):
        return None
    outer_axes: Sequence[int] = op.values()["axes"]
    inner_axes: Sequence[int] = inner.values()["axes"]
    if isinstance(op, core.ExpandDimsOp) and isinstance(inner, core.ExpandDimsOp):
        kept = _others(outer_axes, len(shape_of(op.results[0])))
        return core.ExpandDimsOp, sorted([*outer_axes, *(kept[a] for a in inner_axes)])
    if isinstance(op, core.SqueezeOp) and isinstance(inner, core.SqueezeOp):
        kept = _others(inner_axes, len(shape_of(inner.operands[0])))
        return core.SqueezeOp, sorted([*inner_axes, *(kept[a] for a in outer_axes)])
    if isinstance(op, core.SqueezeOp):
        if set(outer_axes) <= set(inner_axes):
            return core.ExpandDimsOp, _without(inner_axes, outer_axes)
        if set(inner_axes) <= set(outer_axes):
            return core.SqueezeOp, _without(outer_axes, inner_axes)
    return None


def _others(axes: Sequence[int], rank: int) -> list[int]:
    return [a for a in range(rank) if a not in axes]


def _without(axes: Sequence[int], gone: Sequence[int]) -> list[int]:
    """`axes` that are not `gone`, counted in what is left when `gone` are taken out."""
    return [a - sum(g < a for g in gone) for a in axes if a not in gone]


def transpose_identity(op: core.TransposeOp) -> SSAValue | None:
    """`transpose(x, [0, 1, ...]) = x`. The permutation decides, not the shape: a transposed square is another matrix."""
    permutation = op.values()["permutation"]
    return op.operands[0] if permutation == tuple(range(len(permutation))) else None


def transpose_of_transpose(op: core.TransposeOp) -> core.CoreOp | None:
    """`transpose(transpose(x, p), q) = transpose(x, p[q])`. Always."""
    inner = op.operands[0].owner
    if not isinstance(inner, core.TransposeOp):
        return None
    p, q = inner.values()["permutation"], op.values()["permutation"]
    return in_place_of(op, core.TransposeOp, inner.operands[0], permutation=[p[i] for i in q])


def broadcast_of_broadcast(op: core.BroadcastToOp) -> core.CoreOp | None:
    """`broadcast_to(broadcast_to(x, s), t) = broadcast_to(x, t)`. Always."""
    inner = op.operands[0].owner
    if not isinstance(inner, core.BroadcastToOp):
        return None
    return in_place_of(op, core.BroadcastToOp, inner.operands[0], shape=shape_of(op.results[0]))


def slice_of_slice(op: core.SliceOp) -> core.CoreOp | None:
    """
    `x[s1::t1][s2::t2] = x[s1 + s2 t1 :: t1 t2]`, per dimension, with as many elements. Always: what is left lies within x.
    """
    inner = op.operands[0].owner
    if not isinstance(inner, core.SliceOp):
        return None
    outer_values, inner_values, extents = op.values(), inner.values(), shape_of(op.results[0])
    pairs = list(zip(inner_values["starts"], inner_values["steps"], strict=True))
    starts = [s1 + s2 * t1 for (s1, t1), s2 in zip(pairs, outer_values["starts"], strict=True)]
    steps = [t1 * t2 for (_, t1), t2 in zip(pairs, outer_values["steps"], strict=True)]
    return in_place_of(op, core.SliceOp, inner.operands[0], **slice_normal(starts, steps, extents))


def index_of_slice(op: core.IndexOp) -> core.CoreOp | None:
    """`x[s::t][i] = x[s + i t]`, where i lies within the slice: outside it is an error at run time, which must stay one."""
    inner = op.operands[0].owner
    if not isinstance(inner, core.SliceOp):
        return None
    indices, values = op.values()["indices"], inner.values()
    if not all(0 <= i < n for i, n in zip(indices, shape_of(op.operands[0]), strict=True)):
        return None
    places = zip(indices, values["starts"], values["steps"], strict=True)
    return in_place_of(op, core.IndexOp, inner.operands[0], indices=[s + i * t for i, s, t in places])


def reduction_of_one(op: core.ReductionOp) -> SSAValue | core.CoreOp | None:
    """
    `sum(x) = x` and `mean(x) = x`, or a squeeze of x, for integers, where every reduced axis has extent 1.

    Not for floats: a sum that starts from +0, as NumPy's does, turns -0 into +0.
    """
    x, values = op.operands[0], op.values()
    shape = shape_of(x)
    axes = values["axes"] or tuple(range(len(shape)))
    if any(shape[a] != 1 for a in axes) or not is_integer(op):
        return None
    return x if same_type(x.type, op.results[0].type) else in_place_of(op, core.SqueezeOp, x, axes=axes)
