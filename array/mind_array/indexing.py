"""
Indexing: a key is read into a plan, the plan becomes ops.

The rules are NumPy's: integers and slices select along axes, None adds one, index arrays broadcast together, and their axes stand
where the first of them stood if all of them are adjacent, else they lead. `x.at[key]` uses the same plan backwards.

A slice along a dimension with a name, or with a name as a bound, has the size that its bounds say: a call in which it does not
fit is E4012, where NumPy cuts it off.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from math import prod
from types import EllipsisType
from typing import Any

import numpy as np

from mind_dialect import ptir
from mind_dialect.errors import MindError
from mind_dialect.extents.dims import UNKNOWN, add_dims, are_related, ceildiv_dims, sub_dims

from .array import Array, wrap, wrap_shared
from .dim import Dim
from .dim_values import dim_value
from .dtypes import int64, kind_of
from .emit import constant, emit
from .faults import fault
from .keys import Key, bound, concrete_key, index_error
from .kinds import is_numpy, is_slice, is_tuple
from .operands import array_of, broadcast, broadcast_shapes, cast
from .trace import ACTIVE, TracedArray

_BASIC = (int, slice, EllipsisType, type(None), np.integer)


def getitem(x: Array, key: Key) -> Array:
    """Return the elements of `x` at a key; E6001 for an index out of range, E1108 for a traced mask."""
    if type(x) is Array and ACTIVE.get() is None:
        return concrete_item(x, key)
    return Plan.of(x, key).gather(x)


def concrete_item(x: Array, key: Key) -> Array:
    array = x.ndarray
    try:
        found = array[concrete_key(key)]
    except (IndexError, ValueError) as e:
        raise index_error(key, array.shape, str(e)) from None
    basic = type(key) in _BASIC or (is_tuple(key) and all(type(k) in _BASIC for k in key))
    if basic and type(found) is np.ndarray:
        x.shared = True
        return wrap_shared(found)
    return wrap(found)


def _from_front(bound: Any, n: Any, default: Any) -> Any:
    """
    A bound of a slice along an axis of extent `n`, counted from the front; unknown where `n` has no name.

    E1109 for a size that is counted from the end unless it is 0, as `-T` is.
    """
    if bound is None:
        return default
    i = str(bound) if isinstance(bound, Dim) else operator.index(bound)
    if are_related(i, "<", 0):
        return add_dims(n, i)
    if isinstance(i, str) and are_related(i, "<=", 0):
        message = f"bound {i}: 0 is counted from the front, smaller ones from the end; expected {sub_dims(n, sub_dims(0, i))}"
        raise fault("E1109", message, name=i)
    return i


@dataclass
class Plan:
    """Selection by a key: a window along each axis, then index arrays along some axes, then new axes."""

    shape: tuple[Any, ...]
    starts: list[Any] = field(default_factory=list[Any])
    """The first element along each axis: a number, or an expression of names as sizes are."""
    sizes: list[Any] = field(default_factory=list[Any])
    limits: list[Any] = field(default_factory=list[Any])
    """The end of each window."""
    steps: list[int] = field(default_factory=list[int])
    flipped: list[int] = field(default_factory=list[int])
    strides: dict[int, int] = field(default_factory=dict[int, int])
    """The steps along flipped axes of open size, taken after the flip: where they end depends on the size."""
    dropped: list[int] = field(default_factory=list[int])
    """Axes selected by an integer."""
    indexed: list[int] = field(default_factory=list[int])
    indices: list[Array] = field(default_factory=list[Array])
    """Index arrays, one per axis of `indexed`."""
    layout: list[str] = field(default_factory=list[str])
    """The kinds of the entries in their order: axis, new, drop, index, truth (True or False)."""
    truth: bool | None = None
    """True if all of True and False in the key are True; together they are one index array of extent 1 or 0 along no axis."""

    @staticmethod
    def of(x: Array, key: Key) -> Plan:
        """Read a key for an array; E6001 for too many entries or a static index out of range."""
        entries = _expanded(key, x)
        plan = Plan(x.shape)
        for k in entries:
            plan._add(k, key)
        return plan

    def _add(self, k: Any, key: Key) -> None:
        if isinstance(k, bool):
            self.truth = k if self.truth is None else self.truth and k
        if k is None or isinstance(k, bool):
            self.layout.append("new" if k is None else "truth")
            return
        axis = len(self.starts)
        n = self.shape[axis]
        if is_slice(k):
            self._slice(axis, n, slice(*(bound(v) for v in (k.start, k.stop, k.step))))
        elif isinstance(k, Array):
            self._window(0, n, 1)
            self.layout.append("index")
            self.indexed.append(axis)
            self.indices.append(k)
        elif isinstance(n, str) or isinstance(k, Dim):
            self._window(_from_front(k, n, 0), 1, 1)
            self.layout.append("drop")
            self.dropped.append(axis)
        else:
            i = k.__index__()
            if not -n <= i < n:
                raise index_error(key, self.shape, f"{i} is out of range for axis {axis} of extent {n}")
            self._window(i % n, 1, 1)
            self.layout.append("drop")
            self.dropped.append(axis)

    def _slice(self, axis: int, n: Any, k: Any) -> None:
        self.layout.append("axis")
        if isinstance(n, str) or isinstance(k.start, Dim) or isinstance(k.stop, Dim):
            self._symbolic(axis, n, k)
            return
        try:
            start, stop, step = k.indices(n)
        except (TypeError, ValueError) as e:
            raise index_error(k, self.shape, str(e)) from None
        count = len(range(start, stop, step))
        if count == 0:
            self._window(0, 0, 1)
        elif step > 0:
            self._window(start, count, step, stop)
        else:
            self._window(start + (count - 1) * step, count, -step, start + 1)
            self.flipped.append(axis)

    def _symbolic(self, axis: int, n: Any, k: Any) -> None:
        """A slice with a name in its extent or its bounds, which are to be inside; they are not moved there."""
        try:
            step = 1 if k.step is None else operator.index(k.step)
            bounds = [_from_front(b, n, None) for b in (k.start, k.stop)]
        except MindError:
            raise
        except TypeError as e:
            raise index_error(k, self.shape, str(e)) from None
        if step == 0:
            raise index_error(k, self.shape, "slice step cannot be zero")
        if step < 0:
            bounds = [None if b is None else add_dims(b, 1) for b in reversed(bounds)]
        start, stop = (default if b is None else b for b, default in zip(bounds, (0, n), strict=True))
        size = sub_dims(stop, start)
        if isinstance(size, int) and size <= 0:
            self._window(0, 0, 1)
        elif step > 0:
            self._window(start, ceildiv_dims(size, step), step, stop)
        else:
            self._window(start, size, 1)
            self.flipped.append(axis)
            self.strides.update({axis: -step} if step < -1 else {})

    def _window(self, start: Any, count: Any, step: int, limit: Any = None) -> None:
        self.starts.append(start)
        self.sizes.append(count)
        self.steps.append(step if count != 1 else 1)
        self.limits.append(add_dims(start, count) if self.steps[-1] == 1 else limit)

    # Reading

    def gather(self, x: Array) -> Array:
        """The selected elements."""
        from .rows.manipulation import reshaped, transposed

        x = self.sliced(x)
        if self.flipped:
            x = emit(ptir.ReverseOp, x, axes=tuple(self.flipped))
        if self.strides:
            strides = tuple([self.strides.get(a, 1) for a in range(x.ndim)])
            x = emit(ptir.StridedSliceOp, x, starts=(0,) * x.ndim, limits=x.shape, strides=strides)
        kept = [a for a in range(len(self.shape)) if a not in self.dropped]
        if not self.indexed:
            shape = self.final([x.shape[a] for a in kept])
            return constant(0, x.dtype, shape) if self.truth is False else reshaped(x, shape)
        x = reshaped(x, tuple([x.shape[a] for a in kept]))
        axes = [kept.index(a) for a in self.indexed]
        rest = [a for a in range(len(kept)) if a not in axes]
        extents = [x.shape[a] for a in axes]
        x = transposed(x, tuple([*axes, *rest]))
        shape = tuple([x.shape[len(axes) + i] for i in range(len(rest))])
        if len(axes) > 1:
            x = reshaped(x, (prod(extents), *shape))
        flat = self.joint(self.indices, extents)
        found = emit(ptir.TakeOp, x, flat)
        place = self.place(only_axes=True)
        block = list(range(flat.ndim))
        others = [flat.ndim + i for i in range(len(rest))]
        found = transposed(found, tuple([*others[:place], *block, *others[place:]]))
        return reshaped(found, self.final(list(shape), flat.shape))

    def positions(self) -> Array:
        """The positions of the selected elements in row-major order."""
        from .rows.creation import iota
        from .rows.manipulation import reshaped

        return self.gather(reshaped(iota((prod(self.shape),), 0, int64), self.shape))

    def sliced(self, x: Array) -> Array:
        """The window along every axis, in one op."""
        starts, sizes, steps = tuple(self.starts), tuple(self.sizes), tuple(self.steps)
        if sizes == self.shape and not any(starts):
            return x
        if UNKNOWN in starts + sizes:
            message = f"a part of an array of shape {list(self.shape)}, expected names or sizes for all dimensions"
            raise fault("E1109", message, name=UNKNOWN)
        if all(s == 1 for s in steps):
            return emit(ptir.SliceOp, x, starts=starts, sizes=sizes)
        return emit(ptir.StridedSliceOp, x, starts=starts, limits=tuple(self.limits), strides=steps)

    def joint(self, indices: list[Array], extents: list[Any]) -> Array:
        """One index for the joint axis of axes with an index; negative ones count from the end, one out of range stays so."""
        from .rows import elementwise as e
        from .rows.parts import select

        shape = broadcast_shapes(*(i.shape for i in indices), *self._truth_shape())
        flat: Array | None = None
        for index, n in zip(indices, extents, strict=True):
            wide = broadcast(index if index.dtype.name in ("int32", "int64") else cast(index, int64), shape)
            if kind_of(index.dtype) == "i":
                wide = select(e.less(wide, constant(0, wide.dtype, shape)), e.add(wide, _extent(n, wide.dtype, shape)), wide)
            if len(extents) > 1:
                wide = _checked(cast(wide, int64), n, shape)
            flat = wide if flat is None else e.add(e.multiply(flat, _extent(n, flat.dtype, shape)), wide)
        assert flat is not None
        return flat

    def place(self, *, only_axes: bool) -> int:
        """Before which of the other axes of the result those of the index arrays stand."""
        advanced = [i for i, kind in enumerate(self.layout) if kind in ("index", "drop", "truth")]
        first = advanced[0] if advanced == list(range(advanced[0], advanced[-1] + 1)) else 0
        counted = ("axis",) if only_axes else ("axis", "new")
        return sum(kind in counted for kind in self.layout[:first])

    def final(self, extents: list[Any], block: tuple[Any, ...] = ()) -> tuple[Any, ...]:
        """The shape of the result: that of sliced axes and new ones, with `block` where index arrays stand."""
        rest = iter(extents)
        shape = [next(rest) if kind == "axis" else 1 for kind in self.layout if kind in ("axis", "new")]
        if self.indexed or self.truth is not None:
            place = self.place(only_axes=False)
            shape[place:place] = block if self.indexed else self._truth_shape()[0]
        return tuple(shape)

    def _truth_shape(self) -> list[tuple[int, ...]]:
        """The shape of the index array that True and False in the key stand for; none without them."""
        return [] if self.truth is None else [(int(self.truth),)]


def _extent(n: Any, dtype: Any, shape: tuple[Any, ...]) -> Array:
    """Return the extent of a dimension, a number or a name, as an array."""
    return broadcast(cast(dim_value(n), dtype), shape) if isinstance(n, str) else constant(n, dtype, shape)


def _checked(index: Array, n: Any, shape: tuple[Any, ...]) -> Array:
    """
    An index among several, replaced by one beyond all where it is out of range.

    A joint index could be in range although one of its parts is not.
    """
    from .rows import elementwise as e
    from .rows.parts import select

    low, high = constant(0, int64, shape), _extent(n, int64, shape)
    inside = e.logical_and(e.greater_equal(index, low), e.less(index, high))
    return select(inside, index, constant(-(1 << 40), int64, shape))


MODES = ("clip", "wrap", "fill")
"""Modes of `x.at[k].get` for integers out of range, other than an error."""


def bounded(x: Array, key: Key, mode: Any, fill: Array | None) -> tuple[Array, Key]:
    """
    Return an array and a key in range for it, whose elements are what a mode of `MODES` selects; E7003 for another mode.

    To fill, the array gets one element more along each indexed axis, to which what is out of range refers.
    """
    from .rows.manipulation import concat

    if not isinstance(mode, str) or mode not in MODES:
        raise fault("E7003", f"at: mode {mode!r}, expected one of {list(MODES)}", name=mode, known=list(MODES))
    entries = _expanded(key, x)
    made: list[Any] = []
    axis = 0
    for k in entries:
        if k is None or isinstance(k, bool):
            made.append(k)
            continue
        n = x.shape[axis]
        if not is_slice(k):
            if fill is not None:
                x = concat([x, broadcast(fill, (*x.shape[:axis], 1, *x.shape[axis + 1 :]))], axis=axis)
            k = _within(array_of(k, "at"), n, mode)
        made.append(k)
        axis += 1
    return x, tuple(made)


def _within(k: Array, extent: Any, mode: str) -> Array:
    """Indices from 0 to the extent; to fill, the extent stands for what is out of range."""
    from .rows import elementwise as e
    from .rows.mathematics import clip, remainder, where

    wide = cast(k, int64)
    n = dim_value(extent) if isinstance(extent, str) else extent
    if mode == "wrap":
        return wide if extent == 0 else remainder(wide, n)
    counted = where(e.less(wide, 0), e.add(wide, n), wide)
    if mode == "clip":
        return clip(counted, 0, n - 1)
    inside = e.logical_and(e.greater_equal(counted, 0), e.less(counted, n))
    return where(inside, counted, n)


def _expanded(key: Key, x: Array) -> list[Any]:
    """The entries of a key: `...` replaced by slices, masks by index arrays, lists by arrays, missing ones added."""
    entries: list[Any] = []
    given = [_listed(k, key, x) if isinstance(k, list | range) else k for k in (key if is_tuple(key) else (key,))]
    for i, k in enumerate(given):
        entries += _converted(k, key, x, _first_axis(given, i, x))
    if sum(k is Ellipsis for k in entries) > 1:
        raise index_error(key, x.shape, "`...` is given twice")
    used = sum(k is not None and k is not Ellipsis and not isinstance(k, bool) for k in entries)
    if used > x.ndim:
        raise index_error(key, x.shape, f"{used} entries for {x.ndim} axes")
    if not any(k is Ellipsis for k in entries):
        entries.append(Ellipsis)
    place = next(i for i, k in enumerate(entries) if k is Ellipsis)
    entries[place : place + 1] = [slice(None)] * (x.ndim - used)
    return entries


def _first_axis(given: list[Any], i: int, x: Array) -> int:
    """Return the first axis that an entry selects along, counted from the end after `...`."""
    if any(k is Ellipsis for k in given[:i]):
        return max(x.ndim - sum(map(_axes_of_entry, given[i:])), 0)
    return sum(map(_axes_of_entry, given[:i]))


def _axes_of_entry(k: Any) -> int:
    """Return along how many axes an entry of a key selects: a mask along each of its own."""
    if k is None or k is Ellipsis or isinstance(k, bool):
        return 0
    return k.ndim if (isinstance(k, Array) or is_numpy(k)) and k.dtype == np.bool_ else 1


def _listed(k: Any, key: Key, x: Array) -> Any:
    """A list in a key as an array; E6001 for an uneven one."""
    try:
        return np.asarray(k, dtype=None if len(k) else int64)
    except ValueError as e:
        raise index_error(key, x.shape, str(e)) from None


def _converted(k: Any, key: Key, x: Array, axis: int) -> list[Any]:
    if k is None or k is Ellipsis or isinstance(k, bool | slice | Dim) or (isinstance(k, int | np.integer)):
        return [k]
    if isinstance(k, np.bool_):
        return [k.item()]
    if not (isinstance(k, Array) or is_numpy(k)):
        raise index_error(key, x.shape, f"{type(k).__name__} is not an index; expected integers, slices, arrays, ... or None")
    array = array_of(k, "index")
    kind = kind_of(array.dtype)
    if kind not in "biu":
        raise index_error(key, x.shape, f"an index array of {array.dtype}, expected integers or bool")
    if kind != "b":
        return [int(array.ndarray)] if type(array) is Array and array.ndim == 0 else [array]
    if type(array) is TracedArray:
        message = "a traced mask selects a number of elements that depends on data; write ma.where(mask, x, 0), or"
        raise fault("E1108", f"{message} x.at[mask].set(value) to change the selected elements", function="__getitem__")
    if array.ndim == 0:
        return [bool(array.ndarray)]
    nothing = array.shape == (0,)  # it selects nothing along an axis of any extent, as in NumPy
    if not nothing and any(m != n for m, n in zip(array.shape, x.shape[axis:], strict=False)):
        message = f"a mask of shape {list(array.shape)} from axis {axis} on, expected the extents of the array there"
        raise index_error(key, x.shape, message)
    return [wrap(i) for i in array.ndarray.nonzero()]
