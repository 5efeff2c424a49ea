"""Functions that move, join and repeat elements."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from math import prod
from typing import Any, cast

import numpy as np

from mind_dialect import ptir
from mind_dialect.ptir.types import SI64

from ..array import Array, wrap
from ..checks import whole
from ..dim_values import dim_value
from ..dtypes import int64, kind_of
from ..emit import check_memory, constant, emit
from ..faults import fault
from ..kinds import is_numpy, is_sequence
from ..operands import (
    array_of,
    axes_of,
    axis_of,
    broadcast,
    broadcast_shapes,
    is_dynamic,
    joint_dtype,
    shape_of,
    static_size,
)
from ..operands import (
    cast as cast_to,
)
from ..table import SMOOTH, row
from ..trace import TracedArray


def reshaped(x: Array, shape: tuple[Any, ...]) -> Array:
    """`x` under another shape; `x` itself if it has that shape."""
    return (
        x if x.shape == shape else emit(ptir.ReshapeOp, x, new_shape=tuple([str(d) if isinstance(d, str) else d for d in shape]))
    )


def transposed(x: Array, perm: tuple[int, ...]) -> Array:
    """`x` with its axes in another order; `x` itself if nothing moves."""
    return x if perm == tuple(range(x.ndim)) else emit(ptir.TransposeOp, x, perm=perm)


@row("reshape", derivative=SMOOTH)
def reshape(x: Any, /, shape: Any, *, copy: bool | None = None) -> Array:
    """Return the same elements in row-major order under another shape, in which one extent may be -1."""
    array = array_of(x, "reshape")
    given = tuple(shape) if is_sequence(shape) else (shape,)
    extents: tuple[Any, ...] = tuple([n if isinstance(n, str) else whole(n, "reshape", "shape") for n in given])
    holes = [i for i, n in enumerate(extents) if not isinstance(n, str) and n == -1]
    if len(holes) == 1 and not is_dynamic(extents) and not is_dynamic(array.shape):
        rest: int = prod(n for i, n in enumerate(extents) if i not in holes)
        count = prod(array.shape)
        if rest > 0 and count % rest == 0:
            extents = tuple([count // rest if i in holes else n for i, n in enumerate(extents)])
    if any(not isinstance(n, str) and n < -1 for n in extents) or len(holes) > 1:
        message = f"reshape: shape {given}, expected extents from 0 up, and at most one -1"
        raise fault("E3006", message, shape=given, index=0, value=str(given))
    found = reshaped(array, extents)
    if copy and not isinstance(found, TracedArray):
        return wrap(np.array(found.ndarray))
    return found


@row("expand_dims", derivative=SMOOTH)
def expand_dims(x: Any, /, axis: Any = 0) -> Array:
    """Return `x` with an axis of extent 1 at `axis` of the result, or at several."""
    array = array_of(x, "expand_dims")
    given = tuple(axis) if is_sequence(axis) else (axis,)
    rank = array.ndim + len(given)
    places = axes_of(given, rank, "expand_dims")
    rest = iter(array.shape)
    return reshaped(array, tuple([1 if i in places else next(rest) for i in range(rank)]))


@row("squeeze", derivative=SMOOTH, method=True)
def squeeze(x: Any, /, axis: Any = None) -> Array:
    """Return `x` without axes of extent 1: those of `axis`, or all; E3009 for another extent."""
    array = array_of(x, "squeeze")
    if axis is None:
        return reshaped(array, tuple([n for n in array.shape if n != 1]))
    places = axes_of(axis, array.ndim, "squeeze")
    for a in places:
        if array.shape[a] != 1:
            message = f"squeeze: axis {a} has extent {array.shape[a]}, expected 1"
            raise fault("E3009", message, axis=a, extent=array.shape[a], shape=array.shape)
    return reshaped(array, tuple([n for i, n in enumerate(array.shape) if i not in places]))


@row("transpose", "permute_dims", derivative=SMOOTH)
def permute_dims(x: Any, /, axes: Sequence[int] | None = None) -> Array:
    """Return `x` with axis `i` of the result being axis `axes[i]`; without `axes`, all in reverse order."""
    array = array_of(x, "permute_dims")
    if axes is None:
        return transposed(array, tuple(reversed(range(array.ndim))))
    axes = (axes,) if isinstance(axes, int) else tuple(axes)
    perm = axes_of(axes, array.ndim, "permute_dims")
    if len(perm) != array.ndim:
        message = f"permute_dims: axes {tuple(axes)} of an array of rank {array.ndim}, expected each axis once"
        raise fault("E3008", message, permutation=tuple(axes), rank=array.ndim, violation=f"it has {len(perm)} entries")
    return transposed(array, perm)


@row("moveaxis", derivative=SMOOTH)
def moveaxis(x: Any, source: Any, destination: Any, /) -> Array:
    """Return `x` with the axes of `source` at `destination`, the others in their order."""
    array = array_of(x, "moveaxis")
    olds, news = axes_of(source, array.ndim, "moveaxis"), axes_of(destination, array.ndim, "moveaxis")
    if len(olds) != len(news):
        message = f"moveaxis: source {source} and destination {destination}, expected as many axes in both"
        raise fault("E1110", message, argument="destination", value=str(destination))
    rest = [a for a in range(array.ndim) if a not in olds]
    perm: list[int] = [-1] * array.ndim
    for old, new in zip(olds, news, strict=True):
        perm[new] = old
    left = iter(rest)
    return transposed(array, tuple([next(left) if a < 0 else a for a in perm]))


@row("swapaxes", standard=False, derivative=SMOOTH)
def swapaxes(x: Any, axis1: int, axis2: int, /) -> Array:
    """Return `x` with two axes exchanged."""
    array = array_of(x, "swapaxes")
    a, b = axis_of(axis1, array.ndim, "swapaxes"), axis_of(axis2, array.ndim, "swapaxes")
    perm = list(range(array.ndim))
    perm[a], perm[b] = b, a
    return transposed(array, tuple(perm))


@row("matrix_transpose", derivative=SMOOTH)
def matrix_transpose(x: Any, /) -> Array:
    """Return `x` with its last two axes exchanged."""
    array = array_of(x, "matrix_transpose")
    if array.ndim < 2:
        raise fault(
            "E3002", f"matrix_transpose: rank {array.ndim}, expected at least 2", expected="at least 2", actual=array.ndim
        )
    return swapaxes(array, -1, -2)


@row("broadcast_to", derivative=SMOOTH)
def broadcast_to(x: Any, /, shape: Any) -> Array:
    """Return `x` repeated up to a shape."""
    return broadcast(array_of(x, "broadcast_to"), shape_of(shape, "broadcast_to"))


@row("broadcast_arrays", arrays=-1)
def broadcast_arrays(*arrays: Any) -> list[Array]:
    """Return the arrays, each repeated up to their joint shape."""
    given = [array_of(x, "broadcast_arrays") for x in arrays]
    shape = broadcast_shapes(*(x.shape for x in given)) if given else ()
    return [broadcast(x, shape) for x in given]


@row("concatenate", "concat", arrays=-1, derivative=SMOOTH)
def concat(arrays: Any, /, axis: int | None = 0) -> Array:
    """Return the arrays one after the other along `axis`, in the dtype that they promote to; flattened for None."""
    given = _several(arrays, "concat")
    dtype, _ = joint_dtype(given)
    if axis is None:
        given, axis = [reshape(x, (-1,)) for x in given], 0
    place = axis_of(axis, given[0].ndim, "concat")
    return given[0] if len(given) == 1 else emit(ptir.ConcatOp, *(cast_to(x, dtype) for x in given), axis=place)


def _several(arrays: Any, function: str) -> list[Array]:
    if isinstance(arrays, Array):
        return list(unstack(arrays))
    found = [array_of(x, function) for x in cast("Sequence[Any]", arrays)]
    if not found:
        raise fault("E1110", f"{function}: no arrays, expected at least one", argument="arrays", value="()")
    return found


@row("stack", arrays=-1, derivative=SMOOTH)
def stack(arrays: Any, /, axis: int = 0) -> Array:
    """Return the arrays, all of one shape, along a new axis."""
    given = _several(arrays, "stack")
    for x in given:
        if x.shape != given[0].shape:
            message = f"stack: shapes {given[0].shape} and {x.shape}, expected one shape"
            raise fault("E3001", message, shapes=(given[0].shape, x.shape), dimension=0, extents=(given[0].shape, x.shape))
    place = axis_of(axis, given[0].ndim + 1, "stack")
    return concat([expand_dims(x, axis=place) for x in given], axis=place)


@row("unstack", derivative=SMOOTH)
def unstack(x: Any, /, *, axis: int = 0) -> tuple[Array, ...]:
    """Return the slices of `x` along `axis`, without that axis."""
    array = array_of(x, "unstack")
    place = axis_of(axis, array.ndim, "unstack")
    count = static_size(array.shape[place], "unstack")
    return tuple([array[(*[slice(None)] * place, i)] for i in range(count)])


@row("flip", derivative=SMOOTH)
def flip(x: Any, /, axis: Any = None) -> Array:
    """Return `x` with its elements in reverse order along the axes, all for None."""
    array = array_of(x, "flip")
    axes = axes_of(axis, array.ndim, "flip")
    return emit(ptir.ReverseOp, array, axes=axes) if axes else array


def _rolled(x: Array, axis: int, distance: int) -> Array:
    """The elements at `(i - distance) mod n` of an axis whose size `n` is not known; remainders have the sign of the dividend."""
    n = str(x.shape[axis])
    places = emit(ptir.IotaOp, shape=(n,), dtype=SI64, axis=0)
    size, moved = (emit(ptir.BroadcastToOp, v, result_shape=(n,)) for v in (dim_value(n), constant(-distance, int64)))
    rest = emit(ptir.RemainderOp, emit(ptir.AddOp, places, moved), size)
    chosen = emit(ptir.RemainderOp, emit(ptir.AddOp, rest, size), size)
    return moveaxis(emit(ptir.TakeOp, moveaxis(x, axis, 0), chosen), 0, axis)


@row("roll", derivative=SMOOTH)
def roll(x: Any, /, shift: Any, axis: Any = None) -> Array:
    """Return `x` with its elements moved by `shift` along the axes, those that leave coming back at the other end."""
    array = array_of(x, "roll")
    if axis is None:
        flat = roll(reshape(array, (-1,)), shift, axis=0) if array.ndim else array
        return reshaped(flat, array.shape)
    axes = tuple(axis) if is_sequence(axis) else (axis,)
    shifts = tuple(shift) if is_sequence(shift) else (shift,) * len(axes)
    if len(shifts) == 1:
        shifts *= len(axes)
    if len(shifts) != len(axes):
        raise fault("E1110", f"roll: shift {shift} and axis {axis}, expected as many of both", argument="shift", value=str(shift))
    for a, distance in zip(axes, shifts, strict=True):
        place = axis_of(a, array.ndim, "roll")
        n = array.shape[place]
        if isinstance(n, str):
            array = _rolled(array, place, int(distance))
            continue
        cut = -int(distance) % n if n else 0
        if cut:
            before: tuple[Any, ...] = (slice(None),) * place
            array = concat([array[(*before, slice(cut, None))], array[(*before, slice(0, cut))]], axis=place)
    return array


@row("tile", derivative=SMOOTH)
def tile(x: Any, repetitions: Any, /) -> Array:
    """Return `x` repeated `repetitions[i]` times along each axis; the shorter of shape and repetitions is extended by 1."""
    array = array_of(x, "tile")
    given = shape_of(repetitions, "tile")
    rank = max(array.ndim, len(given))
    wide = reshaped(array, (1,) * (rank - array.ndim) + array.shape)
    repeats = (1,) * (rank - len(given)) + given
    return emit(ptir.TileOp, wide, repeats=repeats) if any(n != 1 for n in repeats) else wide


# Beyond the standard


@row("split", standard=False, derivative=SMOOTH)
def split(x: Any, indices_or_sections: Any, /, axis: int = 0) -> list[Array]:
    """Return `x` cut along `axis` into equal parts, or at indices."""
    array = array_of(x, "split")
    place = axis_of(axis, array.ndim, "split")
    n = static_size(array.shape[place], "split")
    bounds: list[int]
    if isinstance(indices_or_sections, int) or (is_numpy(indices_or_sections) and not indices_or_sections.ndim):
        count = int(indices_or_sections)
        if count < 1 or n % count:
            message = f"split: extent {n} along axis {place} in {count} parts, expected a divisor"
            raise fault("E1110", message, argument="indices_or_sections", value=count)
        bounds = [n // count * i for i in range(count + 1)]
    else:
        ends = [whole(i, "split", "indices_or_sections") for i in indices_or_sections]
        bounds = [0, *(slice(None, end).indices(n)[1] for end in ends), n]
    before: tuple[Any, ...] = (slice(None),) * place
    return [array[(*before, slice(a, max(a, b)))] for a, b in itertools.pairwise(bounds)]


@row("array_split", standard=False, derivative=SMOOTH)
def array_split(x: Any, sections: int, /, axis: int = 0) -> list[Array]:
    """Return `x` cut along `axis` into parts whose extents differ by at most 1."""
    array = array_of(x, "array_split")
    n = static_size(array.shape[axis_of(axis, array.ndim, "array_split")], "array_split")
    whole(sections, "array_split", "sections", 1)
    check_memory((int(sections),), int64)
    each, more = divmod(n, int(sections))
    ends = [each * (i + 1) + min(i + 1, more) for i in range(int(sections) - 1)]
    return split(array, ends, axis=axis)


@row("ravel", standard=False, derivative=SMOOTH, method=True)
def ravel(x: Any, /) -> Array:
    """Return the elements of `x` in one axis, in row-major order."""
    return reshape(array_of(x, "ravel"), (-1,))


def along(x: Any, axis: int | None, function: str) -> tuple[Array, int]:
    """Return an array and the axis that counts; all elements in one axis for None."""
    array = array_of(x, function)
    return (ravel(array), 0) if axis is None else (array, axis_of(axis, array.ndim, function))


def _joined(name: str, doc: str, least: int, axis: int) -> Any:
    def function(arrays: Any, /) -> Array:
        given = [array_of(x, name) for x in arrays]
        wide = [at_least(x, least) for x in given]
        along = 0 if name == "hstack" and wide and wide[0].ndim == 1 else axis
        return concat(wide, axis=along)

    function.__name__, function.__doc__ = name, doc
    return row(name, standard=False, arrays=-1, derivative=SMOOTH)(function)


def at_least(x: Array, rank: int) -> Array:
    """Return an array of at least 1, 2 or 3 axes, new ones where NumPy's `atleast` functions put them."""
    if x.ndim >= rank:
        return x
    n = x.shape[0] if x.ndim == 1 else 1
    if rank == 3:
        return reshaped(x, (1, 1, 1) if x.ndim == 0 else (1, n, 1) if x.ndim == 1 else (*x.shape, 1))
    return reshaped(x, (n,) if rank == 1 else (1, n))


hstack = _joined("hstack", "Return arrays joined along their second axis, vectors along the first.", 1, 1)
vstack = _joined("vstack", "Return arrays joined along their first axis, vectors as rows.", 2, 0)
dstack = _joined("dstack", "Return arrays joined along their third axis.", 3, 2)


@row("pad", standard=False, derivative=SMOOTH)
def pad(x: Any, pad_width: Any, /, mode: str = "constant", *, constant_values: Any = 0) -> Array:
    """
    Return `x` with `pad_width` elements before and after it along each axis.

    `mode`: "constant" for a number, or "edge", "reflect", "symmetric" and "wrap" for elements of the array, as in NumPy.
    """
    array = array_of(x, "pad")
    try:
        given = np.asarray(pad_width)
        widths = np.broadcast_to(given, (array.ndim, 2)).tolist()
    except ValueError:
        raise _bad_pad("pad_width", pad_width, "a number, a pair, or a pair for each axis") from None
    if given.dtype.kind not in "iu" and given.size:
        raise _bad_pad("pad_width", pad_width, "whole numbers")
    if any(n < 0 for pair in widths for n in pair):
        raise fault("E1110", f"pad: widths {pad_width}, expected numbers from 0 up", argument="pad_width", value=str(pad_width))
    if mode in _REPEATING:
        return _padded_by_elements(array, widths, mode)
    if mode != "constant":
        raise fault("E6003", f"pad: mode {mode!r}, expected 'constant' or one of {_REPEATING}", backend="pad")
    low, high = (tuple([int(pair[i]) for pair in widths]) for i in (0, 1))
    if np.ndim(constant_values):
        raise _bad_pad("constant_values", constant_values, "one number")
    if kind_of(array.dtype) != "c" and isinstance(constant_values, complex):
        raise _bad_pad("constant_values", constant_values, "a real number")
    value = complex(constant_values) if kind_of(array.dtype) == "c" else array.dtype.type(constant_values).item()
    return emit(ptir.PadOp, array, low=low, high=high, interior=(0,) * array.ndim, pad_value=value)


def _bad_pad(argument: str, value: Any, expected: str) -> Exception:
    return fault("E1110", f"pad: {argument} is {value!r}, expected {expected}", argument=argument, value=str(value)[:80])


_REPEATING = ("edge", "reflect", "symmetric", "wrap")
"""Modes that repeat elements of the array."""


def _padded_by_elements(x: Array, widths: list[list[int]], mode: Any) -> Array:
    """An array padded by its own elements, whose places along each axis are those of padded positions."""
    for axis, (low, high) in enumerate(widths):
        if low or high:
            n = static_size(x.shape[axis], "pad")
            if n == 0:
                raise fault("E1110", f"pad: axis {axis} has no elements to pad with, expected one", argument="x", value=0)
            places = wrap(np.pad(np.arange(n), (low, high), mode=mode))
            x = moveaxis(emit(ptir.TakeOp, moveaxis(x, axis, 0), places), 0, axis)
    return x
