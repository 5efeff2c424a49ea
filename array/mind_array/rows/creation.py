"""Functions that make arrays: from Python and NumPy values, and from shapes; `sequences.py` has those of numbers in a row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from mind_dialect import ptir

from ..array import Array, check_device, wrap, wrap_shared
from ..dim import Dim
from ..dim_values import dim_value
from ..dtypes import DEFAULTS, DType, check_fits, float64, in_native_order, int64, kind_of, ptir_dtype
from ..emit import constant, emit
from ..faults import fault
from ..kinds import is_numpy, is_sequence
from ..operands import (
    array_of,
    axis_of,
    broadcast,
    dtype_or,
    one,
    shape_of,
    static_size,
)
from ..operands import cast as cast_to
from ..table import SMOOTH, row
from ..trace import ACTIVE, TracedArray
from . import elementwise as e
from .dtype_functions import result_type
from .parts import select


@row("asarray")
def asarray(obj: Any, /, dtype: Any = None, *, device: Any = None, copy: bool | None = None) -> Array:
    """
    Return an array from an array, a NumPy array or scalar, a number, nested sequences of numbers, or a buffer.

    `copy`: True for new memory, False for none (E2001 where it needs a copy), None for a copy where it is needed.
    """
    check_device(device)
    wanted = None if dtype is None else dtype_or(dtype, float64)
    if isinstance(obj, Array):
        found = obj if wanted is None else cast_to(obj, wanted)
        if copy is False and found is not obj:
            raise _needs_copy()
        if isinstance(found, TracedArray):
            return found
        return wrap(found.ndarray.copy()) if copy and found is obj else found
    if isinstance(obj, Dim):
        return asarray(dim_value(obj), dtype=dtype)
    if type(obj) in DEFAULTS:
        if copy is False:
            raise _needs_copy()
        check_fits(obj, wanted or DEFAULTS[type(obj)])
        return _made(np.asarray(obj, dtype=wanted or DEFAULTS[type(obj)]))
    if is_numpy(obj):
        return _from_numpy(obj, wanted, copy)
    if isinstance(obj, Sequence) and not isinstance(obj, str | bytes):
        try:
            return _from_nested(cast("Sequence[Any]", obj), wanted, copy)
        except RecursionError:
            message = "asarray: a sequence that is nested deeper than arrays have axes, or that holds itself"
            raise fault("E3010", message, declared="array", inferred="a nested sequence") from None
    try:
        buffer: Any = np.asarray(memoryview(obj))  # pyright: ignore[reportArgumentType]
    except (TypeError, ValueError):
        actual = type(obj).__name__
        raise fault(
            "E2001", f"asarray: found a {actual}, expected an array, numbers or a buffer", expected="array", actual=actual
        ) from None
    return asarray(buffer, dtype=wanted, copy=copy)


@row(standard=False)
def array(obj: Any, /, dtype: Any = None, *, copy: bool = True) -> Array:
    """Return an array as `asarray` does, of its own memory unless `copy` is False."""
    return asarray(obj, dtype, copy=True if copy else None)


def _from_numpy(source: Any, wanted: Any, copy: bool | None) -> Array:
    """Return an array from an array or a scalar of NumPy."""
    ptir_dtype(source.dtype)
    if wanted is not None and wanted != source.dtype:
        if copy is False:
            raise _needs_copy()
        return cast_to(wrap(source), wanted)
    ordered = in_native_order(source)
    if copy is False and ordered is not source:
        raise _needs_copy()
    return wrap(np.array(ordered)) if copy else wrap_shared(np.asarray(ordered))


def _needs_copy() -> Exception:
    return fault("E1110", "asarray: copy=False, and this needs a copy", argument="copy", value=False)


def _from_nested(obj: Sequence[Any], wanted: DType | None, copy: bool | None) -> Array:
    """An array of nested sequences; arrays among them are stacked."""
    if copy is False:
        raise _needs_copy()
    if any(isinstance(x, TracedArray) for x in _leaves(obj)):
        from .manipulation import stack

        found = stack([asarray(x) if not isinstance(x, Array) else x for x in obj])
        return found if wanted is None else cast_to(found, wanted)
    plain = [_plain(x) for x in obj]
    try:
        array: Any = np.array(plain, dtype=wanted)
    except (ValueError, TypeError, OverflowError) as err:
        from ..faults import ArrayOverflowError

        kind = ArrayOverflowError if isinstance(err, OverflowError) else None
        raise fault("E3010", f"asarray: {err}", kind=kind, declared="array", inferred=str(err)) from None
    ptir_dtype(array.dtype)
    return _made(array)


def _made(array: Any) -> Array:
    """Return an array of numbers, which a function under construction has as a constant."""
    trace = ACTIVE.get()
    return wrap(array) if trace is None else trace.keep(wrap(array))


def _plain(x: Any) -> Any:
    if isinstance(x, Array):
        return x.ndarray
    return [_plain(y) for y in x] if is_sequence(x) else x


def _leaves(obj: Any) -> list[Any]:
    if is_sequence(obj):
        return [leaf for x in cast("list[Any]", obj) for leaf in _leaves(x)]
    return [obj]


@row("from_dlpack", host="it takes the memory of another library's array")
def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Array:
    """Return an array with the memory of any object that has `__dlpack__`; with `copy` in new memory."""
    check_device(device)
    source = x.concrete("from_dlpack", "call it outside of the traced function") if isinstance(x, Array) else x
    try:
        array = np.from_dlpack(source)
    except (AttributeError, TypeError, BufferError, RuntimeError) as err:
        actual = type(x).__name__
        raise fault("E2001", f"from_dlpack: {actual}: {err}", expected="an object with __dlpack__", actual=actual) from None
    ptir_dtype(array.dtype)
    return wrap(array.copy()) if copy else wrap_shared(array)


# Of one number


@row("full", arrays=0)
def full(shape: Any, fill_value: Any, dtype: Any = None, *, device: Any = None) -> Array:
    """Return `fill_value` in every element."""
    check_device(device)
    is_number = type(fill_value) in DEFAULTS
    wanted = dtype_or(dtype, DEFAULTS[type(fill_value)] if is_number else float64)
    if not is_number or (type(fill_value) is float and kind_of(wanted) not in "fc"):  # cast as elements of arrays are
        value = array_of(fill_value, "full", "fill_value")
        return broadcast(cast_to(value, dtype_or(dtype, value.dtype)), shape_of(shape, "full"))
    check_fits(fill_value, wanted)
    return constant(fill_value, wanted, shape_of(shape, "full"))


@row("zeros", arrays=0)
def zeros(shape: Any, dtype: Any = None, *, device: Any = None) -> Array:
    """Return zeros, float64 by default."""
    check_device(device)
    return constant(0, dtype_or(dtype, float64), shape_of(shape, "zeros"))


@row("ones", arrays=0)
def ones(shape: Any, dtype: Any = None, *, device: Any = None) -> Array:
    """Return ones, float64 by default."""
    check_device(device)
    return constant(1, dtype_or(dtype, float64), shape_of(shape, "ones"))


@row("empty", arrays=0)
def empty(shape: Any, dtype: Any = None, *, device: Any = None) -> Array:
    """Return an array whose elements may be anything; here they are zeros."""
    check_device(device)
    return constant(0, dtype_or(dtype, float64), shape_of(shape, "empty"))


@row("full_like")
def full_like(x: Any, /, fill_value: Any, dtype: Any = None, *, device: Any = None) -> Array:
    """Return `fill_value` in every element, in the shape and dtype of `x`."""
    array = array_of(x, "full_like")
    return full(array.shape, fill_value, dtype=dtype_or(dtype, array.dtype), device=device)


@row("zeros_like")
def zeros_like(x: Any, /, dtype: Any = None, *, device: Any = None) -> Array:
    """Return zeros in the shape and dtype of `x`."""
    array = array_of(x, "zeros_like")
    return zeros(array.shape, dtype=dtype_or(dtype, array.dtype), device=device)


@row("ones_like")
def ones_like(x: Any, /, dtype: Any = None, *, device: Any = None) -> Array:
    """Return ones in the shape and dtype of `x`."""
    array = array_of(x, "ones_like")
    return ones(array.shape, dtype=dtype_or(dtype, array.dtype), device=device)


@row("empty_like")
def empty_like(x: Any, /, dtype: Any = None, *, device: Any = None) -> Array:
    """Return an array of any elements in the shape and dtype of `x`."""
    return zeros_like(x, dtype=dtype, device=device)


# Of places


def iota(shape: tuple[Any, ...], axis: int, dtype: DType) -> Array:
    """0, 1, 2 and on along `axis`."""
    plain = tuple([str(d) if isinstance(d, str) else d for d in shape])
    return emit(ptir.IotaOp, shape=plain, dtype=ptir_dtype(dtype), axis=axis)


@row("eye", arrays=0)
def eye(n_rows: int, n_cols: int | None = None, /, k: int = 0, dtype: Any = None, *, device: Any = None) -> Array:
    """Return ones on diagonal `k` of a matrix of zeros."""
    check_device(device)
    shape = shape_of((n_rows, n_rows if n_cols is None else n_cols), "eye")
    return cast_to(_on(shape, "equal", k), dtype_or(dtype, float64))


@row(standard=False, arrays=0)
def identity(n: int, /, dtype: Any = None) -> Array:
    """Return the square matrix with ones on its diagonal and zeros elsewhere."""
    return eye(n, dtype=dtype)


def _on(shape: tuple[Any, ...], relation: str, k: int) -> Array:
    """Test whether the column of each element of the last two axes stands in a relation to its row plus `k`."""
    rows, columns = iota(shape, len(shape) - 2, int64), iota(shape, len(shape) - 1, int64)
    k = max(-(1 << 62), min(int(k), 1 << 62))
    return emit(ptir.CompareOp, e.subtract(columns, rows), constant(k, int64, shape), kind=relation)


def _matrix(x: Any, function: str) -> Array:
    array = array_of(x, function)
    if array.ndim < 2:
        raise fault(
            "E3002", f"{function}: an array of rank {array.ndim}, expected at least 2", expected="at least 2", actual=array.ndim
        )
    return array


@row("tril", derivative=SMOOTH)
def tril(x: Any, /, k: int = 0) -> Array:
    """Return `x` with zeros above diagonal `k` of its last two axes."""
    array = _matrix(x, "tril")
    return select(_on(array.shape, "less_equal", k), array, constant(0, array.dtype, array.shape))


@row("triu", derivative=SMOOTH)
def triu(x: Any, /, k: int = 0) -> Array:
    """Return `x` with zeros below diagonal `k` of its last two axes."""
    array = _matrix(x, "triu")
    return select(_on(array.shape, "greater_equal", k), array, constant(0, array.dtype, array.shape))


@row("meshgrid", arrays=-1)
def meshgrid(*arrays: Any, indexing: str = "xy", sparse: bool = False) -> list[Array]:
    """Return coordinate matrices of vectors: one array of the joint shape for each, of extent 1 along the others if `sparse`."""
    from .manipulation import reshape

    vectors = [array_of(x, "meshgrid") for x in arrays]
    if indexing not in ("xy", "ij"):
        raise fault("E1110", f"meshgrid: indexing is {indexing!r}, expected 'xy' or 'ij'", argument="indexing", value=indexing)
    if vectors:
        result_type(*vectors)
    for x in vectors:
        if x.ndim > 1:
            raise fault("E3002", f"meshgrid: an array of rank {x.ndim}, expected vectors", expected=1, actual=x.ndim)
    order = list(range(len(vectors)))
    if indexing == "xy" and len(vectors) > 1:
        order[0], order[1] = 1, 0
    sizes = [x.shape[0] if x.ndim else 1 for x in vectors]
    shape = tuple([sizes[i] for i in order])
    found: list[Array] = []
    for i, x in enumerate(vectors):
        aligned = tuple([sizes[i] if order[a] == i else 1 for a in range(len(order))])
        vector = reshape(x, aligned)
        found.append(vector if sparse else broadcast(vector, shape))
    return found


@row(standard=False)
def one_hot(x: Any, num_classes: int, /, *, axis: int = -1, dtype: Any = None) -> Array:
    """Return, along a new axis, 1 at the place of each index and 0 elsewhere."""
    from .manipulation import expand_dims

    indices = one("one_hot", "integer", x)
    place = axis_of(axis, indices.ndim + 1, "one_hot")
    shape = (*indices.shape[:place], static_size(num_classes, "one_hot"), *indices.shape[place:])
    wide = broadcast(expand_dims(indices, axis=place), shape)
    return cast_to(e.equal(wide, iota(shape, place, indices.dtype)), dtype_or(dtype, float64))
