"""
Rewrites of ops that move, repeat or pick elements and compute nothing: true for every dtype and every bit pattern.

Dimensions may be names. A rule that drops an op must not drop a check that the run would make with it, so it applies only where
sizes and names already say that the check holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import cast

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.extents.dims import add_dims, sub_dims
from mind_dialect.ptir.types import Kind, tensor_type
from mind_dialect.ptir_shapes import UNKNOWN, Dim, Dims, holds

from ..building import Found, in_place_of, is_exact, literal_of, only_units, spec_of, stands_for

SMALL_VECTOR = 64
"""Start vectors of dynamic slices have one entry per dimension; longer ones are not read."""
MOST_COLUMNS = 8
"""Operands of a concat along another axis, at most: more columns are written in less time as rows that are transposed."""


def _shape(value: SSAValue) -> Dims:
    return spec_of(value).shape


def _sizes(value: SSAValue) -> tuple[int, ...] | None:
    """The shape of a value of static shape."""
    dtype_and_shape = spec_of(value)
    return cast(tuple[int, ...], dtype_and_shape.shape) if dtype_and_shape.is_static else None


def _same_count(a: Dims, b: Dims) -> bool:
    """Return whether two shapes have equally many elements whatever their names stand for."""
    names = [sorted(d for d in shape if isinstance(d, str)) for shape in (a, b)]
    return names[0] == names[1] and prod(d for d in a if isinstance(d, int)) == prod(d for d in b if isinstance(d, int))


def unchanged(op: ptir.PtirOp) -> Found:
    """`f(x) = x`, for broadcast_to and reshape that keep the type. Always: a name is one size."""
    return stands_for(op.operands[0], op)


# Broadcast, reshape, transpose


def broadcast_of_broadcast(op: ptir.BroadcastToOp) -> Found:
    """`broadcast_to(broadcast_to(x, s), t) = broadcast_to(x, t)`, where each extent of x is 1 or is kept by name or size."""
    inner = op.x.owner
    if not isinstance(inner, ptir.BroadcastToOp) or not _stretches(_shape(inner.x), _shape(op.x)):
        return None
    return in_place_of(op, ptir.BroadcastToOp, inner.x, result_shape=op.values()["result_shape"])


def _stretches(x: Dims, result: Dims) -> bool:
    """Return whether a broadcast of `x` to `result` cannot fail."""
    return all(m == 1 or m == n for m, n in zip(x, result[len(result) - len(x) :], strict=True))


def reshape_of_reshape(op: ptir.ReshapeOp) -> Found:
    """`reshape(reshape(x, s), t) = reshape(x, t)`, where x, s and t have equally many elements whatever the names stand for."""
    inner = op.x.owner
    if not isinstance(inner, ptir.ReshapeOp):
        return None
    x, middle, result = _shape(inner.x), _shape(op.x), _shape(op.result)
    if not (_same_count(x, middle) and _same_count(middle, result)):
        return None
    return in_place_of(op, ptir.ReshapeOp, inner.x, new_shape=result)


def reshape_of_iota(op: ptir.ReshapeOp) -> Found:
    """`reshape(iota) = iota`, where extents of 1 are added or dropped, but for the axis that is counted, and sizes are static."""
    inner = op.x.owner
    if not isinstance(inner, ptir.IotaOp):
        return None
    x, result, axis = _sizes(op.x), _sizes(op.result), inner.values()["axis"]
    if x is None or result is None or x[axis] == 1 or not only_units(op):
        return None
    before = sum(n != 1 for n in x[:axis])
    places = [place for place, n in enumerate(result) if n != 1]
    return in_place_of(op, ptir.IotaOp, shape=result, dtype=spec_of(op.result).dtype, axis=places[before])


def transpose_identity(op: ptir.TransposeOp) -> Found:
    """`transpose(x, [0, 1, ...]) = x`. The permutation decides, not the shape: a transposed square is another matrix."""
    perm = op.values()["perm"]
    return stands_for(op.x, op) if perm == tuple(range(len(perm))) else None


def transpose_of_transpose(op: ptir.TransposeOp) -> Found:
    """`transpose(transpose(x, p), q) = transpose(x, p[q])`. Always."""
    inner = op.x.owner
    if not isinstance(inner, ptir.TransposeOp):
        return None
    p, q = inner.values()["perm"], op.values()["perm"]
    return in_place_of(op, ptir.TransposeOp, inner.x, perm=[p[i] for i in q])


def reshape_of_broadcast(op: ptir.ReshapeOp) -> Found:
    """`reshape(broadcast_to(x, s), t) = reshape(x, t)`, where the broadcast only adds extents of 1. Static sizes only."""
    inner = op.x.owner
    if not isinstance(inner, ptir.BroadcastToOp) or _sizes(inner.x) is None or not only_units(inner):
        return None
    return in_place_of(op, ptir.ReshapeOp, inner.x, new_shape=_shape(op.result))


def transpose_of_concat(op: ptir.TransposeOp) -> Found:
    """
    `transpose(concat(x, y), p) = concat(reshape(x), reshape(y))`, where only axes of extent 1 of the operands change places.

    The transpose must be the only use of the concat, which has at most `MOST_COLUMNS` operands. Static sizes only.
    """
    inner = op.x.owner
    if not isinstance(inner, ptir.ConcatOp) or len(inner.operands) > MOST_COLUMNS or not op.x.has_one_use():
        return None
    perm, shapes = cast(Sequence[int], op.values()["perm"]), [_sizes(x) for x in inner.operands]
    axis: int = inner.values()["axis"] % len(perm)
    parts: list[SSAValue] = []
    for x, shape in zip(inner.operands, shapes, strict=True):
        moved = None if shape is None else [a for a in perm if shape[a] != 1]
        if shape is None or moved is None or moved != sorted(moved):
            return None
        turned = tuple([shape[a] for a in perm])
        parts.append(in_place_of(op, ptir.ReshapeOp, x, type=tensor_type(spec_of(x).dtype, turned), new_shape=turned).result)
    return in_place_of(op, ptir.ConcatOp, *parts, axis=perm.index(axis))


# Slices


def _holds(op: ptir.SliceOp) -> bool:
    """Return whether a slice is in range for all sizes of names."""
    values = op.values()
    return all(map(holds, values["starts"], values["sizes"], _shape(op.x)))


def slice_everything(op: ptir.SliceOp) -> Found:
    """`slice(x, [0, ...], shape of x) = x`."""
    values = op.values()
    return stands_for(op.x, op) if not any(values["starts"]) and values["sizes"] == _shape(op.x) else None


def slice_of_slice(op: ptir.SliceOp) -> Found:
    """`x[a : a + s][b : b + t] = x[a + b : a + b + t]`, where both slices are in range for all sizes of names."""
    inner = op.x.owner
    if not isinstance(inner, ptir.SliceOp) or not _holds(inner) or not _holds(op):
        return None
    outer, values = op.values(), inner.values()
    starts = list(map(add_dims, values["starts"], outer["starts"]))
    return None if UNKNOWN in starts else in_place_of(op, ptir.SliceOp, inner.x, starts=starts, sizes=outer["sizes"])


def slice_of_unit_stride(op: ptir.StridedSliceOp) -> Found:
    """`x[a : b : 1] = slice(x, a, b - a)`; of a static shape, a stride does not matter where one element or none is taken."""
    values, sizes = op.values(), _sizes(op.x) and _sizes(op.result)
    spans = list(map(sub_dims, values["limits"], values["starts"]))
    if sizes is not None and all(stride == 1 or n < 2 for stride, n in zip(values["strides"], sizes, strict=True)):
        spans = list(sizes)
    elif set(values["strides"]) != {1} or UNKNOWN in spans:
        return None
    return in_place_of(op, ptir.SliceOp, op.x, starts=values["starts"], sizes=spans)


def slice_of_concat(op: ptir.SliceOp) -> Found:
    """A slice that lies within one operand of a concat, for all sizes of names, is a slice of that operand."""
    inner = op.x.owner
    if not isinstance(inner, ptir.ConcatOp) or len(inner.operands) > SMALL_VECTOR or not _holds(op):
        return None
    axis: int = inner.values()["axis"]
    shapes = [_shape(x) for x in inner.operands]
    if len({(*shape[:axis], *shape[axis + 1 :]) for shape in shapes}) > 1 or any(UNKNOWN in shape for shape in shapes):
        return None
    values, before = op.values(), cast(Dim, 0)
    for x, shape in zip(inner.operands, shapes, strict=True):
        starts = [sub_dims(a, before) if i == axis else a for i, a in enumerate(values["starts"])]
        if holds(starts[axis], values["sizes"][axis], shape[axis]):
            return in_place_of(op, ptir.SliceOp, x, starts=starts, sizes=values["sizes"])
        before = add_dims(before, shape[axis])
    return None


def dynamic_slice_everything(op: ptir.DynamicSliceOp) -> Found:
    """`dynamic_slice(x, start, shape of x) = x`, whatever the start: it is clamped to 0. Static sizes only."""
    return stands_for(op.x, op) if _sizes(op.x) is not None and not op.stated_dims() else None


def dynamic_slice_known(op: ptir.DynamicSliceOp) -> Found:
    """`dynamic_slice(x, c, sizes) = slice(x, clamp(c), sizes)`, for a constant c and static sizes."""
    extents, starts, sizes = _sizes(op.x), _known_starts(op.start), op.values()["sizes"]
    if extents is None or starts is None or not all(isinstance(size, int) for size in sizes):
        return None
    clamped = [min(max(a, 0), n - size) for a, n, size in zip(starts, extents, sizes, strict=True)]
    return in_place_of(op, ptir.SliceOp, op.x, starts=clamped, sizes=sizes)


def _known_starts(value: SSAValue) -> Sequence[int] | None:
    literal = literal_of(value)
    if literal is None or prod(literal.spec[1]) > SMALL_VECTOR:
        return None
    values = cast(tuple[int, ...], literal.values())
    return values * literal.spec[1][0] if literal.is_fill else values


def update_everything(op: ptir.DynamicUpdateSliceOp) -> Found:
    """`dynamic_update_slice(x, u, start) = u`, where u has the type of x, whatever the start. Static sizes only."""
    return stands_for(op.update, op) if _sizes(op.x) is not None and not op.stated_dims() else None


# Ops that do nothing


def concat_of_one(op: ptir.ConcatOp) -> Found:
    """`concat(x) = x`, and operands with nothing along the axis are left out while another remains."""
    axis = op.values()["axis"]
    full = [x for x in op.operands if _shape(x)[axis] != 0] or [op.operands[0]]
    if len(full) == 1:
        return stands_for(full[0], op)
    return in_place_of(op, ptir.ConcatOp, *full, axis=axis) if len(full) < len(op.operands) else None


def pad_nothing(op: ptir.PadOp) -> Found:
    """`pad(x, 0, 0, 0) = x`, and holes between fewer than two elements are none."""
    values, shape = op.values(), _shape(op.x)
    interior: Sequence[int] = values["interior"]
    holes = any(gap > 0 and not (isinstance(n, int) and n < 2) for gap, n in zip(interior, shape, strict=True))
    outer: Sequence[int] = [*values["low"], *values["high"]]
    return stands_for(op.x, op) if not any(outer) and not holes else None


def tile_once(op: ptir.TileOp) -> Found:
    """`tile(x, [1, ...]) = x`. Always."""
    return stands_for(op.x, op) if set(op.values()["repeats"]) <= {1} else None


def reverse_nothing(op: ptir.ReverseOp) -> Found:
    """`reverse(x, axes) = x`, where each axis has at most one element."""
    shape = _shape(op.x)
    return stands_for(op.x, op) if all(shape[a] in (0, 1) for a in op.values()["axes"]) else None


def reverse_of_reverse(op: ptir.ReverseOp) -> Found:
    """`reverse(reverse(x, a), b) = reverse(x, a xor b)`. Always."""
    inner = op.x.owner
    if not isinstance(inner, ptir.ReverseOp):
        return None
    axes = set(inner.values()["axes"]) ^ set(op.values()["axes"])
    return in_place_of(op, ptir.ReverseOp, inner.x, axes=sorted(axes))


def reduction_of_one(op: ptir.ReduceOp) -> Found:
    """
    `reduce(x) = reshape(x)`, where every reduced axis has extent 1 and the result has the dtype of x.

    Accumulators are no narrower than x. Not for sums and products of floats and complex numbers over some axes: a sum that starts
    from +0 turns -0 into +0.
    """
    values, (dtype, shape), result = op.values(), spec_of(op.x), spec_of(op.result)
    axes: Sequence[int] = values["axes"]
    inexact = len(axes) > 0 and values["kind"] in ("sum", "prod") and dtype.kind in (Kind.FLOAT, Kind.COMPLEX)
    if result.dtype is not dtype or any(shape[a] != 1 for a in axes) or inexact:
        return None
    if (x := stands_for(op.x, op)) is not None:
        return x
    return in_place_of(op, ptir.ReshapeOp, op.x, new_shape=result.shape)


def reduce_of_reduce(op: ptir.ReduceOp) -> Found:
    """
    `reduce(reduce(x, a), b) = reduce(x, a and b)`.

    For what chooses elements or joins bits, in one dtype, and for sums and products of integers.
    """
    inner = op.x.owner
    if not isinstance(inner, ptir.ReduceOp):
        return None
    values, first = op.values(), inner.values()
    dtypes = {spec_of(v).dtype for v in (inner.x, inner.result, op.result)}
    plain = {(v["accum_dtype"], v["out_dtype"], v["kind"], v["keepdims"]) for v in (values, first)}
    if not is_exact(op) or len(dtypes) > 1 or plain != {(None, None, values["kind"], values["keepdims"])}:
        return None
    done: Sequence[int] = first["axes"]
    left = [a for a in range(len(_shape(inner.x))) if values["keepdims"] or a not in done]
    axes = sorted({*done, *(left[a] for a in cast(Sequence[int], values["axes"]))})
    return in_place_of(op, ptir.ReduceOp, inner.x, kind=values["kind"], axes=axes, keepdims=values["keepdims"])
