"""Rows of embeddings in bags, of embeddings of bounded norm, and of repeats by counts that are data."""

from __future__ import annotations

import math
from typing import Any

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.ptir.types import I1, SI64

from ..unsupported import Refused
from .converter import AtenConverter, Call, Results, Table
from .indexing import scattered, spread_index
from .norms import p_norm

_SUM, _MEAN, _MAX = range(3)
"""The codes of modes in torch."""


def _tally(to: AtenConverter, places: SSAValue, size: int, is_counted: SSAValue | None = None) -> SSAValue:
    """Return for each number below `size` how many places, of those that count, are that."""
    ones = to.like(1, to.cast(places, SI64)) if is_counted is None else to.cast(is_counted, SI64)
    return scattered(to, "add", to.fill(0, SI64, (size,)), 0, places, ones)


def _counted(to: AtenConverter, places: SSAValue, size: int) -> SSAValue:
    """Return for each number below `size` how many places are at most that; places are from 0 to `size`."""
    marks = _tally(to, places, size + 1)
    found = to.emit(ptir.CumulativeSumOp, marks, axis=0, exclusive=False, reverse=False)
    return to.part(found, 0, 0, size)


def _embedding_bag(
    to: AtenConverter,
    call: Call,
    weight: SSAValue,
    indices: SSAValue,
    offsets: SSAValue,
    scale_grad_by_freq: bool = False,
    mode: int = _SUM,
    sparse: bool = False,
    factors: SSAValue | None = None,
    include_last_offset: bool = False,
    padding_idx: int = -1,
) -> Results:
    """
    Sums, means or maxima of rows of `weight`; a bag begins at each of `offsets`, and an empty one is 0.

    The index `padding_idx` does not count. With `include_last_offset`, the last offset is the end of the last bag.
    """
    if scale_grad_by_freq:
        raise Refused("gradients of an embedding scaled by frequency", "leave out scale_grad_by_freq=True")
    (count,), (starts,), bags = to.sizes(indices), to.sizes(offsets), call.shape[0]
    assert isinstance(bags, int)
    bag = to.math(ptir.SubOp, _counted(to, offsets, count), 1)
    rows = to.emit(ptir.TakeOp, weight, to.index(indices))
    if factors is not None:
        rows = to.emit(ptir.MulOp, rows, to.place(to.cast(factors, call.dtype), [0], to.shape(rows)))
    is_counted = to.fill(True, I1, (count,)) if padding_idx < 0 else to.compare("not_equal", indices, padding_idx)
    nothing = to.like(-math.inf if mode == _MAX else 0.0, rows)
    rows = to.select(to.place(is_counted, [0], to.shape(rows)), rows, nothing)
    start = to.number(-math.inf if mode == _MAX else 0.0, call.dtype, (starts, *call.shape[1:]))
    kind = "max" if mode == _MAX else "add"
    found = to.part(scattered(to, kind, start, 0, spread_index(to, bag, 0, rows), rows), 0, 0, bags)
    if mode == _SUM:
        return [found, None, None, None]
    sizes = to.part(_tally(to, bag, starts, is_counted), 0, 0, bags)
    if mode == _MEAN:
        divisors = to.cast(to.math(ptir.MaximumOp, sizes, 1), call.dtype)
        found = to.emit(ptir.DivOp, found, to.place(divisors, [0], call.shape))
    else:
        is_empty = to.place(to.compare("equal", sizes, 0), [0], call.shape)
        found = to.select(is_empty, to.like(0.0, found), found)
    return [found, None, None, None]


def _embedding_renorm(
    to: AtenConverter, call: Call, weight: SSAValue, indices: SSAValue, bound: float, p: float = 2.0
) -> SSAValue:
    """`weight`, of whose rows with an index those of a greater norm are scaled to it. Its derivative is that of `weight`."""
    (rows, _), count = to.sizes(weight), math.prod(to.sizes(indices))
    fixed = to.emit(ptir.StopGradientOp, weight)
    norms = p_norm(to, fixed, float(p), 1)
    uses = _tally(to, to.reshape(indices, (count,)), rows)
    is_long = to.emit(ptir.AndOp, to.compare("greater", uses, 0), to.compare("greater", norms, bound))
    factors = to.emit(ptir.DivOp, to.like(bound, norms), to.math(ptir.AddOp, norms, 1e-7))
    scaled = to.emit(ptir.MulOp, fixed, to.place(factors, [0], call.shape))
    moved = to.select(to.place(is_long, [0], call.shape), scaled, fixed)
    return to.emit(ptir.AddOp, moved, to.emit(ptir.SubOp, weight, fixed))


def _repeat_interleave(to: AtenConverter, call: Call, repeats: SSAValue, output_size: Any = None) -> SSAValue:
    """The number of each element as often as it repeats: where the size of the result is stated."""
    if not isinstance(call.shape[0], int) or output_size is None:
        raise Refused("repeats by a tensor, where the size of the result depends on data", "state output_size=")
    ends = to.emit(ptir.CumulativeSumOp, to.cast(repeats, SI64), axis=0, exclusive=False, reverse=False)
    return to.cast(_counted(to, ends, call.shape[0]), call.dtype)


BAGS: Table = {
    **dict.fromkeys(("_embedding_bag.default", "_embedding_bag_forward_only.default"), _embedding_bag),
    "embedding_renorm.default": _embedding_renorm,
    "repeat_interleave.Tensor": _repeat_interleave,
}
