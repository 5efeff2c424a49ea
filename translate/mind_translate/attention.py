"""
Attention, as all importers emit it: the ops that `mind-ptir-recognize` knows as one `ptir.fusion` of the pattern `attention`.

The ops are the meaning: `softmax(cap(scale q k^T) + bias) v`. Groups of queries that share keys have an axis of their own, along
which keys and values are repeated without a copy.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.ptir.types import I1, SI64
from mind_dialect.ptir_shapes import Dim, Dims

from .landing import Lander


def attention(
    to: Lander,
    query: SSAValue,
    key: SSAValue,
    value: SSAValue,
    *,
    scale: float,
    masks: Sequence[SSAValue | None] = (),
    cap: float = 0.0,
    guarded: bool = False,
) -> SSAValue:
    """
    Return what each query gathers from the values whose keys it resembles, in the dtype of the operands.

    `query` is `[..., H, T, d]`, `key` `[..., G, S, d]` and `value` `[..., G, S, e]`, with the same leading dimensions; H is a
    multiple of G, or equal to it without a size. Each of `masks` is broadcast to `[..., H, T, S]`: one of i1 says which keys
    take part, another is added. `cap` bounds scores smoothly, before masks. Where `guarded`, queries without keys get 0.
    """
    query = query if scale == 1 else to.emit(ptir.MulOp, query, to.like(scale, query))
    heads, shared = (to.shape(v)[-3] if len(to.shape(v)) > 2 else 1 for v in (query, key))
    whole = to.shape(query)
    if heads != shared and isinstance(heads, int) and isinstance(shared, int):
        query = to.reshape(query, (*whole[:-3], shared, heads // shared, *whole[-2:]))
        key, value = (_repeated(to, x, heads // shared) for x in (key, value))
        masks = [None if mask is None else _split(to, mask, shared) for mask in masks]
    lead = len(to.shape(query)) - 2
    scores = _product(to, query, key, lead, lead + 1)
    if cap:
        scores = to.emit(ptir.DivOp, scores, to.like(cap, scores))
        scores = to.emit(ptir.MulOp, to.emit(ptir.TanhOp, scores), to.like(cap, scores))
    shape = to.shape(scores)
    for mask in masks:
        if mask is not None and to.is_truth(mask):
            scores = to.select(to.broadcast(mask, shape), scores, to.like(-math.inf, scores))
        elif mask is not None:
            scores = to.emit(ptir.AddOp, scores, to.broadcast(to.cast(mask, to.dtype(scores)), shape))
    found = _product(to, softmax(to, scores, lead + 1, guarded=guarded), value, lead, lead)
    return to.reshape(found, (*whole[:-1], to.shape(value)[-1]))


def band(to: Lander, rows: Dim, columns: Dim, *, before: int | None = None, after: int | None = None, first: int = 0) -> SSAValue:
    """
    Return which of `columns` each of `rows` sees, as i1: at most so many before its own and after it; None for all of them.

    The column of the first row is `first`. So `after=0` is a causal mask, and with `before=w` a sliding window.
    """
    shape = (rows, columns)
    row, column = (to.emit(ptir.IotaOp, shape=shape, dtype=SI64, axis=axis) for axis in (0, 1))
    own = to.emit(ptir.AddOp, row, to.like(first, row)) if first else row

    def moved(by: int) -> SSAValue:
        return to.emit(ptir.AddOp, own, to.like(by, own)) if by else own

    late = None if after is None else to.compare("less_equal", column, moved(after))
    early = None if before is None else to.compare("greater_equal", column, moved(-before))
    return to.logical(ptir.AndOp, late, early) or to.fill(True, I1, shape)


def softmax(to: Lander, x: SSAValue, axis: int, *, guarded: bool = False, log: bool = False) -> SSAValue:
    """Return `exp(x - max) / sum`, or its logarithm, along an axis; where `guarded`, 0 for rows that are -inf throughout."""
    shape = to.shape(x)
    top = to.emit(ptir.StopGradientOp, to.emit(ptir.ReduceOp, x, kind="max", axes=(axis,), keepdims=True))
    if guarded:
        top = to.select(to.compare("equal", top, -math.inf), to.like(0.0, top), top)
    centred = to.emit(ptir.SubOp, x, to.broadcast(top, shape))
    powers = to.emit(ptir.ExpOp, centred)
    total = to.emit(ptir.ReduceOp, powers, kind="sum", axes=(axis,), keepdims=True)
    if guarded:
        total = to.select(to.compare("equal", total, 0.0), to.like(1.0, total), total)
    if log:
        return to.emit(ptir.SubOp, centred, to.broadcast(to.emit(ptir.LogOp, total), shape))
    return to.emit(ptir.DivOp, powers, to.broadcast(total, shape))


def _product(to: Lander, x: SSAValue, y: SSAValue, lead: int, axis: int) -> SSAValue:
    """The products of rows of matrices with those of others, which have them along `axis`."""
    batch = tuple(range(lead))
    dims = {"batch_lhs": batch, "batch_rhs": batch, "contract_lhs": (lead + 1,), "contract_rhs": (axis,)}
    return to.emit(ptir.DotGeneralOp, x, y, **dims)


def _repeated(to: Lander, x: SSAValue, times: int) -> SSAValue:
    """Each head for a group of queries, on an axis after it."""
    shape = to.shape(x)
    spread: Dims = (*shape[:-2], times, *shape[-2:])
    return to.broadcast(to.reshape(x, (*shape[:-2], 1, *shape[-2:])), spread)


def _split(to: Lander, mask: SSAValue, shared: int) -> SSAValue:
    """A mask of heads as one of groups of heads."""
    shape = to.shape(mask)
    if len(shape) < 3:
        return mask
    heads = shape[-3]
    assert isinstance(heads, int)
    groups = (1, 1) if heads == 1 else (shared, heads // shared)
    return to.reshape(mask, (*shape[:-3], *groups, *shape[-2:]))
