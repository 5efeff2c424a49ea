"""Shapes of ops that move, repeat or rename elements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import prod

from xdsl.ir import SSAValue

from mind_dialect import core, ptir, ptir_shapes
from mind_dialect.core import CoreOp
from mind_dialect.extents.dims import add_dims, ceildiv_dims, is_nonnegative, sub_dims
from mind_dialect.ptir import PtirOp
from mind_dialect.shape.lattice import UNKNOWN, Extent
from mind_dialect.shapes import normalize_axes

from ..emitter import Emitter, Shape
from .row import Row

SQUEEZED = "cannot select an axis to squeeze out which has size not equal to one: {lhs}"
CONCATENATED = (
    "all the input array dimensions except for the concatenation axis must match exactly, but along dimension {axis}, "
    "the array at index 0 has size {{lhs}} and the array at index {i} has size {{rhs}}"
)
_SLICED = "slice up to {{lhs}} along dimension {i} of size {{rhs}}"
_NEGATIVE = "{what} {{lhs}} at dimension {i}, expected at least 0"


def numpy_tuple(dims: Sequence[Extent]) -> str:
    """As NumPy's messages write a shape."""
    return f"({dims[0]},)" if len(dims) == 1 else f"({','.join(map(str, dims))})"


def _core_transpose(e: Emitter, op: core.TransposeOp, x: Shape) -> Shape:
    return _permuted(e, x, op.values()["permutation"])


def _transpose(e: Emitter, op: ptir.TransposeOp, x: Shape) -> Shape:
    return _permuted(e, x, ptir_shapes.axes(op.values()["perm"], x.rank))


def _permuted(e: Emitter, x: Shape, permutation: Sequence[int]) -> Shape:
    return e.shape([e.extent(x, a) for a in permutation])


def _expand_dims(e: Emitter, op: core.ExpandDimsOp, x: Shape) -> Shape:
    axes = op.values()["axes"]
    rank = x.rank + len(axes)
    found = normalize_axes(axes, rank, negative=True)
    rest = iter(e.extents(x))
    return e.shape([1 if i in found else next(rest) for i in range(rank)])


def _squeeze(e: Emitter, op: core.SqueezeOp, x: Shape) -> Shape:
    found = normalize_axes(op.values()["axes"], x.rank, negative=True)
    for a in found:
        e.require(e.extent(x, a), "eq", 1, "E3009", SQUEEZED)
    return e.shape([e.extent(x, i) for i in range(x.rank) if i not in found])


# Reshape


def _core_reshape(e: Emitter, op: core.ReshapeOp, x: Shape) -> Shape:
    return _reshaped(e, x, op.values()["new_shape"], of_none=False)


def _reshape(e: Emitter, op: ptir.ReshapeOp, x: Shape) -> Shape:
    return _reshaped(e, x, op.values()["new_shape"], of_none=True)


def _reshaped(e: Emitter, x: Shape, dims: Sequence[Extent], of_none: bool) -> Shape:
    """`of_none`: whether -1 may stand where there are no elements."""
    wording = f"cannot reshape array of size {{lhs}} into shape {numpy_tuple(dims)}"
    given = [None if d == ptir_shapes.INFER else e.dim(d) for d in dims]
    stated = [v for v in given if v is not None]
    old, new = _left(e, e.extents(x), stated, len(stated) < len(given))
    count, wanted = e.product(old), e.product(new)
    if len(stated) == len(given):
        e.require(count, "eq", wanted, "E3007", wording)
        return e.shape(stated)
    e.require(e.product(stated), "gt", 0, "E3007", f"cannot reshape array into shape {numpy_tuple(dims)}, which has no elements")
    if not of_none:
        e.require(e.count(x), "gt", 0, "E3007", wording)
    hole = old[0] if len(old) == 1 and not new else e.div(count, wanted)
    e.require(count, "eq", e.mul(hole, wanted), "E3007", wording)
    return e.shape([hole if v is None else v for v in given])


def _left(
    e: Emitter, old: Sequence[SSAValue], new: Sequence[SSAValue], hole: bool
) -> tuple[Sequence[SSAValue], Sequence[SSAValue]]:
    """
    The extents whose products decide whether the one shape has as many elements as the other, or a multiple of them.

    Names on both sides cancel if then no more than sizes are left, or a hole for one name; they may stand for 0, so that all
    extents count otherwise.
    """
    known_old, known_new = list(map(e.extent_known, old)), list(map(e.extent_known, new))
    names_old, names_new = (
        Counter(n for n in known_old if isinstance(n, str)),
        Counter(n for n in known_new if isinstance(n, str)),
    )
    left = names_old - names_new
    if UNKNOWN in names_old or UNKNOWN in names_new or names_new - names_old or left.total() > hole:
        return old, new
    sizes_old = [v for v, n in zip(old, known_old, strict=True) if isinstance(n, int)]
    sizes_new = [v for v, n in zip(new, known_new, strict=True) if isinstance(n, int)]
    if not left:
        return sizes_old, sizes_new
    count, known = (prod(n for n in known if isinstance(n, int)) for known in (known_old, known_new))
    (name,) = left
    return ([next(v for v, n in zip(old, known_old, strict=True) if n == name)], []) if count == known else (old, new)


# Broadcasting, slices, concatenation


def _core_broadcast_to(e: Emitter, op: core.BroadcastToOp, x: Shape) -> Shape:
    return e.broadcast_to(x, e.shape(op.values()["shape"]))


def _broadcast_to(e: Emitter, op: ptir.BroadcastToOp, x: Shape) -> Shape:
    return e.broadcast_to(x, e.stated(op.values()["result_shape"]))


def reaches(e: Emitter, x: Shape, ends: Sequence[Extent]) -> None:
    """Demand that every dimension reaches as far as a slice of it, where that is not so for all sizes of names."""
    for i, end in enumerate(ends):
        extent = e.extent(x, i)
        if isinstance(end, int) or (end != UNKNOWN and not is_nonnegative(sub_dims(e.extent_known(extent), end))):
            e.require(e.dim(end), "le", extent, "E4012", _SLICED.format(i=i))


def _not_negative(e: Emitter, code: str, what: str, dims: Sequence[Extent]) -> None:
    """Demand of each dimension that is not at least 0 for all sizes of names that it is."""
    for i, dim in enumerate(dims):
        if dim != UNKNOWN and not is_nonnegative(dim):
            e.require(e.dim(dim), "ge", 0, code, _NEGATIVE.format(what=what, i=i))


def _slice(e: Emitter, op: ptir.SliceOp, x: Shape) -> Shape:
    given = op.values()
    return window(e, x, given["starts"], given["sizes"])


def window(e: Emitter, x: Shape, starts: Sequence[Extent], sizes: Sequence[Extent]) -> Shape:
    """The shape of a part, which must be inside of `x`."""
    _not_negative(e, "E4012", "start", starts)
    _not_negative(e, "E4012", "size", sizes)
    reaches(e, x, list(map(add_dims, starts, sizes)))
    return _extents(e, sizes)


def _extents(e: Emitter, dims: Sequence[Extent]) -> Shape:
    """The shape of these dimensions, which are known not to be negative."""
    return e.unknown(dims) if UNKNOWN in dims else e.shape([e.dim(d) for d in dims])


def _strided_slice(e: Emitter, op: ptir.StridedSliceOp, x: Shape) -> Shape:
    given = op.values()
    starts, limits = given["starts"], given["limits"]
    spans = [sub_dims(limit, start) for start, limit in zip(starts, limits, strict=True)]
    window(e, x, starts, spans)
    return _extents(e, list(map(ceildiv_dims, spans, given["strides"])))


def _core_slice(e: Emitter, op: core.SliceOp, x: Shape) -> Shape:
    given = op.values()
    starts, ends = ([max(0, n) for n in given[name]] for name in ("starts", "ends"))
    reaches(e, x, ends)
    return e.shape([max(0, -((start - end) // step)) for start, end, step in zip(starts, ends, given["steps"], strict=True)])


def _concat(e: Emitter, op: ptir.ConcatOp, first: Shape, *others: Shape) -> Shape:
    axis = ptir_shapes.axis(op.values()["axis"], first.rank)
    found = e.extents(first)
    for i, x in enumerate(others, 1):
        for d in range(first.rank):
            extent = e.extent(x, d)
            if d == axis:
                found[d] = e.add(found[d], extent)
            else:
                found[d] = e.equal(found[d], extent, "E3003", CONCATENATED.format(axis=d, i=i))
    return e.shape(found)


def _pad(e: Emitter, op: ptir.PadOp, x: Shape) -> Shape:
    given = op.values()
    found: list[SSAValue | int] = []
    for name in ("low", "high"):
        _not_negative(e, "E8002", name, given[name])
    for n, low, high, inner in zip(e.extents(x), given["low"], given["high"], given["interior"], strict=True):
        holes = e.max(e.mul(e.add(n, -1), inner), 0) if inner else 0
        outer = add_dims(low, high)
        found.append(e.add(e.add(n, outer if isinstance(outer, int) else e.dim(outer)), holes))
    return e.shape(found)


def _tile(e: Emitter, op: ptir.TileOp, x: Shape) -> Shape:
    repeats = op.values()["repeats"]
    _not_negative(e, "E8002", "repeats", repeats)
    times = [e.dim(r) if isinstance(r, str) else r for r in repeats]
    return e.shape([e.mul(n, r) if r else 0 for n, r in zip(e.extents(x), times, strict=True)])


def _dimension_size(e: Emitter, op: ptir.DimensionSizeOp, x: Shape) -> Shape:
    return e.shape([])


CORE: Mapping[type[CoreOp], Row] = {
    core.ReshapeOp: _core_reshape,
    core.TransposeOp: _core_transpose,
    core.ExpandDimsOp: _expand_dims,
    core.SqueezeOp: _squeeze,
    core.SliceOp: _core_slice,
    core.BroadcastToOp: _core_broadcast_to,
}

PTIR: Mapping[type[PtirOp], Row] = {
    ptir.ReshapeOp: _reshape,
    ptir.TransposeOp: _transpose,
    ptir.BroadcastToOp: _broadcast_to,
    ptir.SliceOp: _slice,
    ptir.StridedSliceOp: _strided_slice,
    ptir.ConcatOp: _concat,
    ptir.PadOp: _pad,
    ptir.TileOp: _tile,
    ptir.DimensionSizeOp: _dimension_size,
}
