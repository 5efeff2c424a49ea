"""Functions that make numbers at equal distances."""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np

from ..array import Array, check_device, wrap
from ..dim import Dim
from ..dim_values import dim_value
from ..dtypes import DEFAULTS, DType, float64, int64, kind_of
from ..emit import check_memory, constant
from ..faults import fault
from ..kinds import is_numpy
from ..operands import (
    broadcast,
    broadcast_shapes,
    dtype_or,
    floats_of,
    is_number,
    promoted,
)
from ..operands import cast as cast_to
from ..table import row
from ..trace import ACTIVE
from . import elementwise as e
from .creation import iota
from .parts import select


@row("arange", arrays=0)
def arange(start: Any, /, stop: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None) -> Array:
    """Return `start`, `start + step` and on, up to but not including `stop`."""
    check_device(device)
    if stop is None:
        start, stop = 0, start
    if isinstance(start, Dim) or isinstance(stop, Dim):
        return _arange_of_dims(start, stop, step, dtype_or(dtype, int64))
    given = [_number(v, "arange") for v in (start, stop, step)]
    wanted = dtype_or(dtype, float64 if any(isinstance(v, float) for v in given) else int64)
    first, last, each = given
    if each == 0:
        raise fault("E1110", "arange: step is 0, expected another number", argument="step", value=0)
    try:
        count = max(0, ceil((last - first) / each))
    except (OverflowError, ValueError):
        message = f"arange: from {first} to {last} by {each}, expected a finite number of steps"
        raise fault("E1110", message, argument="stop", value=str(last)) from None
    check_memory((count,), wanted)
    if ACTIVE.get() is None and first == 0 and each == 1:
        return cast_to(wrap(np.arange(count, dtype=int64)), wanted)
    places = iota((count,), 0, wanted)
    return e.add(e.multiply(places, constant(each, wanted, (count,))), constant(first, wanted, (count,)))


def _arange_of_dims(start: Any, stop: Any, step: Any, dtype: DType) -> Array:
    """Numbers between sizes; E1109 for a step that is no positive number."""
    if not isinstance(step, int) or step <= 0:
        raise fault("E1109", f"arange: step {step} between sizes {start} and {stop}, expected a number from 1 up", name=str(stop))
    for value in (start, stop):
        if not isinstance(value, int | Dim):
            raise fault("E1110", f"arange: {value!r} beside a size, expected a whole number", argument="stop", value=str(value))
    count = Dim.max(-((start - stop) // step), 0)
    places = iota((count,), 0, dtype)
    if step != 1:
        places = e.multiply(places, constant(step, dtype, (count,)))
    return e.add(places, dim_value(start) if isinstance(start, Dim) else start) if start != 0 else places


def _number(value: Any, function: str) -> Any:
    if isinstance(value, bool | int | float):
        return value
    if isinstance(value, Array) or is_numpy(value):
        array: Any = value.concrete(function, "pass a static number") if isinstance(value, Array) else np.asarray(value)
        if array.size == 1 and kind_of(array.dtype) in "biuf":
            return array.item()
        given = f"{array.dtype}{list(array.shape)}"
        raise fault("E2001", f"{function}: found {given}, expected a real number", expected="a real number", actual=given)
    actual = type(value).__name__
    raise fault("E2001", f"{function}: found a {actual}, expected a number", expected="a number", actual=actual)


@row("linspace", arrays=0)
def linspace(start: Any, stop: Any, /, num: int = 50, endpoint: bool = True, *, dtype: Any = None, device: Any = None) -> Array:
    """
    Return `num` numbers at equal distances from `start` to `stop`, which is the last one unless `endpoint` is False.

    Ends that are arrays give their results along a first axis.
    """
    check_device(device)
    ends, joint = _ends(start, stop)
    wanted = dtype_or(dtype, joint)
    count = int(num)
    if count < 0:
        raise fault("E1110", f"linspace: num is {count}, expected 0 or more", argument="num", value=count)
    work = wanted if kind_of(wanted) in "fc" else float64
    shape = (count, *broadcast_shapes(*(x.shape for x in ends)))
    first, last = (broadcast(cast_to(x, work), shape) for x in ends)
    places = iota(shape, 0, float64 if kind_of(work) == "c" else work)
    between = count - 1 if endpoint else count
    if kind_of(wanted) in "iu":
        distance = e.divide(e.subtract(last, first), constant(max(between, 1), work, shape))
        return _whole_steps(first, last, distance, places, wanted, endpoint)
    share = e.divide(cast_to(places, work), constant(max(between, 1), work, shape))
    along = e.add(e.multiply(first, e.subtract(constant(1, work, shape), share)), e.multiply(last, share))
    along = select(e.equal(first, last), first, along)
    if endpoint and count > 1:
        along = select(e.equal(iota(shape, 0, int64), constant(count - 1, int64, shape)), last, along)
    return cast_to(select(e.equal(iota(shape, 0, int64), constant(0, int64, shape)), first, along), wanted)


def _whole_steps(first: Array, last: Array, step: Array, places: Array, dtype: DType, endpoint: bool) -> Array:
    """Numbers at equal distances, rounded down to whole ones, by the formula of NumPy: its last bits decide about them."""
    along = e.add(e.multiply(places, step), first)
    count = places.shape[0]
    if endpoint and count > 1:
        along = select(e.equal(places, constant(count - 1, places.dtype, places.shape)), last, along)
    return cast_to(e.floor(along), dtype)


def _ends(start: Any, stop: Any) -> tuple[list[Array], DType]:
    """The ends of a sequence as floats or complex numbers, and the dtype of both."""
    if is_number(start) and is_number(stop):
        dtype = DEFAULTS[complex if isinstance(start, complex) or isinstance(stop, complex) else float]
        return [constant(x, dtype, ()) for x in (start, stop)], dtype
    ends, dtype = promoted("linspace", "floating", *(x if is_number(x) else floats_of(x, "linspace") for x in (start, stop)))
    return [constant(x, dtype, ()) if is_number(x) else x for x in ends], dtype
