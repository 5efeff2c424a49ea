"""Rows of p-norms: of vectors, and of the differences of points."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.ptir.types import Kind

from .converter import AtenConverter, Call, Table, wide


def p_norm(to: AtenConverter, x: SSAValue, p: float, axes: int | Sequence[int] | None, keep: bool = False) -> SSAValue:
    """
    Return the p-norm over axes (None or an empty list: all of them), whose derivative at 0 is 0 where torch's is.

    With `p = 0` the count of what is not 0, with infinities the extremes of magnitudes, as `torch.linalg.vector_norm`.
    """
    size = to.emit(ptir.AbsOp, x)
    if p == 0:
        return to.reduce("sum", to.cast(to.compare("not_equal", size, 0.0), to.dtype(size)), axes, keep)
    if p in (1, math.inf, -math.inf):
        return to.reduce({1: "sum", math.inf: "max"}.get(p, "min"), size, axes, keep)
    if p < 0:
        is_zero = to.compare("equal", to.reduce("min", size, axes, keep), 0.0)
        powers = to.math(ptir.PowOp, to.select(to.compare("equal", size, 0.0), to.like(1.0, size), size), p)
        root = to.math(ptir.PowOp, to.reduce("sum", powers, axes, keep), 1 / p)
        return to.select(is_zero, to.like(0.0, root), root)
    is_number = to.compare("not_equal", size, 0.0)  # NaN is not 0, and stays
    powers = to.emit(ptir.MulOp, size, size) if p == 2 else to.math(ptir.PowOp, to.select(is_number, size, to.like(1.0, size)), p)
    total = to.reduce("sum", powers if p == 2 else to.select(is_number, powers, to.like(0.0, size)), axes, keep)
    is_root = to.compare("not_equal", total, 0.0)
    safe = to.select(is_root, total, to.like(1.0, total))
    root = to.emit(ptir.SqrtOp, safe) if p == 2 else to.math(ptir.PowOp, safe, 1 / p)
    return to.select(is_root, root, to.like(0.0, root))


def _vector_norm(
    to: AtenConverter,
    call: Call,
    x: SSAValue,
    p: Any = 2,
    dims: int | Sequence[int] | None = None,
    keep: bool = False,
    dtype: Any = None,
) -> SSAValue:
    """In the dtype that torch states; a rank of 0 is a vector of one element."""
    if to.dtype(x).kind is not Kind.COMPLEX:
        x = to.cast(x, wide(call.dtype))
    rank_0 = not to.shape(x)
    found = p_norm(to, to.reshape(x, (1,)) if rank_0 else x, float(p), None if rank_0 else dims, keep and not rank_0)
    return to.cast(to.shaped(found, call.shape), call.dtype)


def _cdist(to: AtenConverter, call: Call, x: SSAValue, y: SSAValue, p: float, *_: Any) -> SSAValue:
    lead, (m, n), k = call.shape[:-2], call.shape[-2:], to.shape(x)[-1]
    x = to.broadcast(x, (*lead, m, k))
    y = to.broadcast(y, (*lead, n, k))
    rank = len(lead)
    whole = (*lead, m, n, k)
    left = to.place(x, [*range(rank + 1), rank + 2], whole)
    right = to.place(y, [*range(rank), rank + 1, rank + 2], whole)
    return p_norm(to, to.emit(ptir.SubOp, left, right), p, rank + 2)


def _pdist(to: AtenConverter, call: Call, x: SSAValue, p: float = 2.0) -> SSAValue:
    rows = to.sizes(x)[0]
    pairs = [(i, j) for i in range(rows) for j in range(i + 1, rows)]
    first, second = (to.emit(ptir.TakeOp, x, to.integers([pair[side] for pair in pairs])) for side in (0, 1))
    return p_norm(to, to.emit(ptir.SubOp, first, second), p, 1)


NORMS: Table = {
    "_cdist_forward.default": _cdist,
    "_pdist_forward.default": _pdist,
    "linalg_vector_norm.default": _vector_norm,
}
