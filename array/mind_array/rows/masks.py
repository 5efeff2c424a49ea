"""The arguments `where=` and `initial=` of reductions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mind_dialect import ptir

from ..array import Array
from ..dtypes import DType, check_category, kind_of
from ..emit import constant, emit
from ..operands import array_of, broadcast, broadcast_shapes, cast, together
from .parts import select

_COMBINED = {"sum": ptir.AddOp, "prod": ptir.MulOp, "max": ptir.MaximumOp, "min": ptir.MinimumOp}


def identity(kind: str, dtype: DType) -> Any:
    """Return the number that changes no sum, product, greatest or least element."""
    if kind in ("sum", "prod"):
        return int(kind == "prod")
    if kind_of(dtype) == "b":
        return kind == "min"
    if kind_of(dtype) == "f":
        return -math.inf if kind == "max" else math.inf
    return int(np.iinfo(dtype).min if kind == "max" else np.iinfo(dtype).max)


def mask_of(where: Any, x: Array, function: str) -> Array:
    """Return an argument `where` in the shape of the array that it selects from."""
    mask = array_of(where, function, "where")
    check_category(function, mask.dtype, "bool")
    return broadcast(mask, x.shape)


def selected(kind: str, x: Array, where: Any, function: str) -> Array:
    """Return an array with the identity of a reduction in place of the elements that `where` leaves out."""
    if where is None:
        return x
    return select(mask_of(where, x, function), x, constant(identity(kind, x.dtype), x.dtype, x.shape))


def started(kind: str, found: Array, initial: Any) -> Array:
    """Return the results of a reduction combined with the element that it starts from."""
    if initial is None:
        return found
    first = cast(together(kind, "all", found, initial)[1], found.dtype)
    shape = broadcast_shapes(found.shape, first.shape)
    return emit(_COMBINED[kind], broadcast(found, shape), broadcast(first, shape))
