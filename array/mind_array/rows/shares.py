"""Elements of an ordered axis by the share of elements that lie below: quantiles, whose places are computed for an open size."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mind_dialect import ptir

from ..array import Array
from ..dim_values import dim_value
from ..dtypes import float64, int64
from ..emit import emit
from ..faults import fault
from ..operands import broadcast, cast
from . import elementwise as e
from .manipulation import moveaxis, reshape
from .parts import isnan, select


def shares_of(q: Any) -> float | list[float]:
    """Return the shares of a quantile as numbers: one, or a list; E1101 for a traced array, E1110 for more axes."""
    advice = "pass numbers, a list of them, or an array of NumPy"
    given = q.concrete("the shares of a quantile", advice) if isinstance(q, Array) else q
    if np.iscomplexobj(given):
        raise fault("E1110", f"quantile: q is {given}, expected real numbers", argument="q", value=str(given))
    numbers = np.asarray(given, dtype=np.float64)
    if numbers.ndim > 1:
        raise fault("E1110", f"quantile: q has {numbers.ndim} axes, expected one at most", argument="q", value=str(numbers.shape))
    found: float | list[float] = numbers.tolist()
    return found


def at_share(ordered: Array, q: float, place: int) -> Array:
    """The element of an ordered axis that a share `q` lies below, the axis kept with extent 1."""
    if not 0 <= q <= 1:
        raise fault("E1110", f"quantile: q is {q}, expected 0 to 1", argument="q", value=q)
    n = ordered.shape[place]
    if isinstance(n, str):
        return _at_open_share(ordered, q, place, e.subtract(dim_value(n), 1))
    where = q * (n - 1)
    low = math.floor(where)
    before: tuple[Any, ...] = (slice(None),) * place
    found, last = (ordered[(*before, slice(i, i + 1))] for i in (low, n - 1))
    if share := where - low:  # a share of 0 of infinity would be NaN
        above = ordered[(*before, slice(low + 1, low + 2))]
        found = e.add(e.multiply(found, 1 - share), e.multiply(above, share))
    return select(isnan(last), last, found)  # NaN is last in order


def _at_open_share(ordered: Array, q: float, place: int, last: Array) -> Array:
    """As `at_share`, of as many elements as a call has, the last of which is at an index."""
    where = e.multiply(cast(last, float64), q)
    low = e.floor(where)
    first, share = cast(low, int64), e.subtract(where, low)
    places = [reshape(i, (1,)) for i in (first, e.minimum(e.add(first, 1), last), last)]
    below, above, greatest = (moveaxis(emit(ptir.TakeOp, moveaxis(ordered, place, 0), i), 0, place) for i in places)
    weights = (cast(part, ordered.dtype) for part in (e.subtract(1, share), share))
    between = e.add(*(e.multiply(x, weight) for x, weight in zip((below, above), weights, strict=True)))
    found = select(broadcast(e.greater(share, 0), below.shape), between, below)
    return select(isnan(greatest), greatest, found)
