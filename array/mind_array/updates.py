"""
Changes of elements: `x[k] = v` on concrete arrays, and `x.at[k]`, whose methods return a new array.

A window of a step of 1 is an update at constant places, a mask is a selection, index arrays scatter rows, and everything else
scatters into the elements in row-major order.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from mind_dialect import ptir
from mind_dialect.extents.dims import UNKNOWN, add_dims, are_related, sub_dims
from mind_dialect.ptir import PtirLiteralAttr
from mind_dialect.ptir.types import SI64

from .array import Array, may_share
from .dim_values import dim_value
from .dtypes import bool_, int64, kind_of, promote, promote_scalar
from .emit import constant, emit
from .faults import fault
from .indexing import Plan, bounded, getitem
from .keys import Key, concrete_key, index_error, shown_key
from .kinds import is_numpy, number_type
from .operands import array_of, broadcast, cast, is_number
from .row_updates import combined_rows, scattered_rows, selects_rows
from .trace import ACTIVE, TracedArray


def setitem(x: Array, key: Key, value: Any) -> None:
    """
    Assign to elements of a concrete array, after a copy if other arrays have its memory.

    E1103 for a traced array, whose text says what to write; E1107 for a value whose dtype is not that of the array.
    """
    if type(x) is TracedArray or isinstance(value, TracedArray) or ACTIVE.get() is not None:
        shown = f"x = x.at{shown_key(key)}.set(value)"
        raise fault("E1103", f"an array is not assigned to while a function is traced; write {shown}", expected=shown)
    if is_number(value):
        _same(x, promote_scalar(x.dtype, number_type(value)))
        given: Any = value
    else:
        other = array_of(value, "assignment", "value")
        _same(x, promote(x.dtype, other.dtype))
        given = other.ndarray
    if may_share(x):
        x.ndarray = x.ndarray.copy()
        x.shared = False
    try:
        x.ndarray[concrete_key(key)] = given
    except IndexError as e:
        raise index_error(key, x.shape, str(e)) from None
    except ValueError as e:
        raise fault("E3001", f"assignment to {shown_key(key)}: {e}", shapes=(x.shape,), dimension=0, extents=()) from None
    except OverflowError as e:
        from .faults import ArrayOverflowError

        raise fault("E4005", str(e), kind=ArrayOverflowError, dtype=str(x.dtype), issue=str(e)) from None


def _same(x: Array, dtype: Any) -> None:
    if dtype != x.dtype:
        message = f"a value of {dtype} assigned to an array of {x.dtype}; cast it with ma.astype(value, ma.{x.dtype})"
        raise fault("E1107", message, dtypes=[str(x.dtype), str(dtype)])


class At:
    """`x.at`: index it, then call `set`, `add`, `multiply`, `min`, `max` or `get` for a new array."""

    __slots__ = ("_x",)

    def __init__(self, x: Array):
        self._x = x

    def __getitem__(self, key: Key) -> Update:
        return Update(self._x, key)

    def __repr__(self) -> str:
        return f"{self._x!r}.at"


class Update:
    """`x.at[key]`: each method returns `x` with the elements at the key changed; `x` stays as it is."""

    __slots__ = ("_key", "_x")

    def __init__(self, x: Array, key: Key):
        self._x, self._key = x, key

    def get(self, *, mode: str | None = None, fill_value: Any = 0) -> Array:
        """
        Return the elements at the key.

        `mode` says what an integer out of range selects: None raises E6001, `clip` takes the nearest element, `wrap` counts on
        from the start, `fill` gives `fill_value`.
        """
        x, key = self._x, self._key
        if isinstance(mode, str) and mode == "fill":
            array = self._value(fill_value)
            if array.ndim:
                message = f"at: fill_value of shape {list(array.shape)}, expected a number"
                raise fault("E1110", message, argument="fill_value", value=str(array.shape))
            x, key = bounded(x, key, mode, array)
        elif mode is not None:
            x, key = bounded(x, key, mode, None)
        return getitem(x, key)

    def set(self, value: Any) -> Array:
        """Return `x` with `value` at the key; of repeated indices the last counts."""
        return self._changed("replace", value)

    def add(self, value: Any) -> Array:
        """Return `x` with `value` added at the key, as often as an index is repeated."""
        return self._changed("add", value)

    def multiply(self, value: Any, *, unique_indices: bool = False) -> Array:
        """
        Return `x` with the elements at the key multiplied, as often as an index is repeated.

        `unique_indices` promises that no element is selected twice, for cheaper derivatives; a broken promise lets the last one
        count.
        """
        from .rows import elementwise as e

        if self._is_mask():
            return self._masked(e.multiply(self._x, self._value(value)))
        if unique_indices or not Plan.of(self._x, self._key).indexed:
            return self._changed("replace", e.multiply(self.get(), self._value(value)))
        return self._changed("mul", value)

    def min(self, value: Any) -> Array:
        """Return `x` with the least of the elements at the key and `value`."""
        return self._changed("min", value)

    def max(self, value: Any) -> Array:
        """Return `x` with the greatest of the elements at the key and `value`."""
        return self._changed("max", value)

    def _value(self, value: Any) -> Array:
        x = self._x
        if is_number(value):
            _same(x, promote_scalar(x.dtype, number_type(value)))
            return constant(value, x.dtype)
        other = array_of(value, "at", "value")
        _same(x, promote(x.dtype, other.dtype) if not other.weak else x.dtype)
        return cast(other, x.dtype)

    def _is_mask(self) -> bool:
        key = self._key
        return (isinstance(key, Array) or is_numpy(key)) and key.dtype == np.bool_

    def _masked(self, new: Array) -> Array:
        from .rows.mathematics import where

        mask = array_of(self._key, "at")
        if mask.shape == (0,) and self._x.ndim:  # selects nothing of any array
            return self._x
        if mask.shape != self._x.shape[: mask.ndim]:
            raise index_error(self._key, self._x.shape, f"a mask of shape {list(mask.shape)}")
        from .rows.manipulation import reshaped

        wide = reshaped(mask, mask.shape + (1,) * (self._x.ndim - mask.ndim))
        return where(broadcast(wide, self._x.shape), new, self._x)

    def _changed(self, kind: str, value: Any) -> Array:
        x, new = self._x, self._value(value)
        if self._is_mask() and 0 in (new.ndim, self._key.ndim):  # a mask of rank 0 selects all elements or none
            return self._masked(_combined(kind, x, broadcast(new, x.shape)))
        if self._is_mask() and isinstance(self._key, TracedArray):
            message = "a traced mask selects a number of elements that depends on data; the value must be a number, or write"
            raise fault("E1108", f"{message} ma.where(mask, values, x)", function="at")
        plan = Plan.of(x, self._key)
        if UNKNOWN in (*plan.shape, *plan.starts, *plan.sizes):
            message = f"at: a part of an array of shape {list(plan.shape)}, expected names or sizes for all dimensions"
            raise fault("E1109", message, name=UNKNOWN)
        if not plan.indexed and not plan.flipped and all(s == 1 for s in plan.steps):
            return self._window(plan, kind, new)
        return self._scattered(plan, kind, new)

    def _window(self, plan: Plan, kind: str, new: Array) -> Array:
        """A window along each axis, at constant places."""
        from .rows.manipulation import reshaped

        x, sizes = self._x, tuple(plan.sizes)
        kept = [n for a, n in enumerate(sizes) if a not in plan.dropped]
        wide = broadcast(new, plan.final(kept))
        if plan.truth is False:
            return x
        update = reshaped(wide, sizes)
        if kind != "replace":
            update = _combined(kind, plan.sliced(x), update)
        if sizes == x.shape:
            return update
        if not all(map(_is_inside, plan.starts, sizes, x.shape)):
            return self._covered(plan, update)
        return emit(ptir.DynamicUpdateSliceOp, x, update, _vector(plan.starts), sizes=sizes)

    def _covered(self, plan: Plan, update: Array) -> Array:
        """A window that may not be inside of `x`, for which the edges around it are checked; an update would be moved inside."""
        from .rows.mathematics import where

        low = tuple(plan.starts)
        high = tuple(sub_dims(n, add_dims(start, m)) for n, start, m in zip(plan.shape, low, plan.sizes, strict=True))
        around: dict[str, Any] = {"low": low, "high": high, "interior": (0,) * len(low)}
        inside = emit(ptir.PadOp, constant(True, bool_, update.shape), pad_value=False, **around)
        return where(inside, emit(ptir.PadOp, update, pad_value=_zero(update.dtype), **around), self._x)

    def _scattered(self, plan: Plan, kind: str, new: Array) -> Array:
        """Rows where the key selects whole ones, else elements by their place in row-major order."""
        from .rows.manipulation import reshaped

        x = self._x
        if selects_rows(plan):
            return scattered_rows(x, plan, kind, new)
        places = plan.positions()
        count, updated = prod(x.shape), prod(places.shape)
        updates = reshaped(broadcast(new, places.shape), (updated,))
        return reshaped(combined_rows(kind, reshaped(x, (count,)), reshaped(places, (updated,)), updates, 0), x.shape)


def _is_inside(start: Any, size: Any, n: Any) -> bool:
    """Return whether a window is within an extent for all sizes for which its own is not negative."""
    return are_related(start, ">=", 0) is True and are_related(add_dims(start, size), "<=", n) is True


def _zero(dtype: Any) -> Any:
    return False if kind_of(dtype) == "b" else 0


def _vector(starts: list[Any]) -> Array:
    from .rows.manipulation import stack

    if any(isinstance(n, str) for n in starts):
        return stack([dim_value(n) if isinstance(n, str) else constant(n, int64) for n in starts])
    return emit(ptir.ConstantOp, value=PtirLiteralAttr.from_values(SI64, (len(starts),), starts))


def _combined(kind: str, old: Array, new: Array) -> Array:
    if kind == "replace":
        return new
    return emit({"add": ptir.AddOp, "min": ptir.MinimumOp, "max": ptir.MaximumOp}[kind], old, new)
