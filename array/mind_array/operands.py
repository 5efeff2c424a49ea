"""
Operands of array functions: what is accepted as an array, the common dtype, the common shape.

Python numbers are weak: they take the dtype of the arrays they meet (`promote_scalar`). So are arguments of a jitted function
that are Python numbers, while it is traced.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mind_dialect.errors import MindError
from mind_dialect.extents.dims import is_nonnegative
from mind_dialect.ptir import BroadcastToOp, CastOp

from .array import Array, wrap_shared
from .dim import Dim
from .dim_values import dim_value
from .dtypes import (
    DEFAULTS,
    DType,
    as_dtype,
    check_category,
    check_fits,
    float64,
    in_native_order,
    kind_of,
    promote,
    promote_scalar,
    ptir_dtype,
    undefined,
)
from .emit import constant, emit
from .faults import fault
from .kinds import is_numpy, is_sequence, number_type
from .trace import ACTIVE, TracedArray

Operand = Any
"""An array, a NumPy array or scalar, or a Python number."""
_SCALARS = {bool: 0, int: 1, float: 2, complex: 3}
_OF_KIND: dict[str, type] = {"b": bool, "i": int, "u": int, "f": float, "c": complex}


def array_of(x: Operand, function: str, argument: str = "x") -> Array:
    """Return an array as it is, a NumPy array without a copy, a Python number in its default dtype; E2001 for anything else."""
    if isinstance(x, Array):
        return x
    if is_numpy(x):
        array: Any = np.asarray(x)
        ptir_dtype(array.dtype)
        return wrap_shared(in_native_order(array))
    if type(x) in DEFAULTS:
        check_fits(x, DEFAULTS[type(x)])
        return constant(x, DEFAULTS[type(x)])
    if isinstance(x, Dim):
        return dim_value(x)
    actual = type(x).__name__
    advice = f"; write ma.asarray({argument})" if is_sequence(x) else ""
    message = f"{function}: {argument} is a {actual}, expected an array or a number{advice}"
    raise fault("E2001", message, expected="an array", actual=actual)


def is_number(x: object) -> bool:
    """Return whether `x` is a Python number, and no NumPy scalar that derives from one."""
    return type(x) in _SCALARS


def joint_dtype(xs: Sequence[Operand]) -> tuple[DType, bool]:
    """Return the dtype that operands promote to, and whether all of them are weak. Python numbers, arrays, and dtypes count."""
    strong: DType | None = None
    weak: set[type] = set()
    for x in xs:
        kind = _weak_kind(x)
        if kind is not None:
            weak.add(kind)
            continue
        dtype: DType = x.dtype if isinstance(x, Array) else x
        strong = dtype if strong is None else promote(strong, dtype)
    if bool in weak and len(weak) > 1:
        raise undefined("bool", "a number")
    if strong is None:
        return DEFAULTS[max(weak, key=_SCALARS.__getitem__)], True
    for kind in sorted(weak, key=_SCALARS.__getitem__):
        strong = promote_scalar(strong, kind)
    return strong, False


def _weak_kind(x: Operand) -> type | None:
    """The Python type of a weak operand; None for a strong one."""
    kind = number_type(x)
    if kind in _SCALARS:
        return kind
    return _OF_KIND[kind_of(x.dtype)] if isinstance(x, Array) and x.weak else None


def broadcast_shapes(*shapes: tuple[Any, ...]) -> tuple[Any, ...]:
    """
    Return the shape that shapes broadcast to; E3001 for shapes that do not. Named dimensions fit themselves and 1.

    >>> broadcast_shapes((2, 1), (3,)), broadcast_shapes(("B", 1), (4,))
    ((2, 3), ('B', 4))
    """
    first = shapes[0]
    if all(s == first for s in shapes):
        return first
    rank = max(map(len, shapes))
    result: list[Any] = []
    for i in range(rank):
        extent: Any = 1
        for shape in shapes:
            place = i - rank + len(shape)
            if place < 0 or shape[place] == 1:
                continue
            if extent not in (1, shape[place]):
                given = " and ".join(str(list(s)) for s in shapes)
                message = f"shapes {given} do not broadcast: {extent} and {shape[place]} at axis {i}, expected equal or 1"
                raise fault("E3001", message, shapes=shapes, dimension=i, extents=(extent, shape[place]))
            extent = shape[place]
        result.append(extent)
    return tuple(result)


def cast(x: Array, dtype: DType) -> Array:
    """Return `x` in another dtype; `x` itself if it has that dtype."""
    return x if x.dtype == dtype else emit(CastOp, x, dtype=ptir_dtype(dtype))


def broadcast(x: Array, shape: tuple[Any, ...]) -> Array:
    """Return `x` repeated up to a shape; `x` itself if it has that shape."""
    return (
        x
        if x.shape == shape
        else emit(BroadcastToOp, x, result_shape=tuple([str(d) if isinstance(d, str) else d for d in shape]))
    )


def together(function: str, category: str, *xs: Operand) -> list[Array]:
    """
    Return operands promoted to one dtype of a category and broadcast to one shape.

    Raises E2001 for what is no array, E1107 for dtypes that do not promote, E2005 for another kind of dtype, E3001 for shapes.
    """
    arrays, dtype = promoted(function, category, *xs)
    shape = broadcast_shapes(*(x.shape for x in arrays if isinstance(x, Array))) if len(arrays) > 1 else None
    found: list[Array] = []
    for x in arrays:
        if isinstance(x, Array):
            found.append(x if shape is None else broadcast(x, shape))
        elif ACTIVE.get() is None:
            found.append(broadcast(constant(x, dtype), () if shape is None else shape))
        else:
            found.append(constant(x, dtype, () if shape is None else shape))
    return found


def promoted(function: str, category: str, *xs: Operand) -> tuple[list[Any], DType]:
    """Return arrays in one dtype of a category, and Python numbers as they are (unless all are), and that dtype."""
    operands: list[Any] = [x if type(x) in _SCALARS else array_of(x, function, f"operand {i}") for i, x in enumerate(xs)]
    dtype, weak = joint_dtype(operands)
    check_category(function, dtype, category)
    found: list[Any] = []
    for x in operands:
        if not isinstance(x, Array):
            check_fits(x, dtype)
            found.append(constant(x, dtype) if weak else x)
        else:
            found.append(cast(x, dtype))
    if weak:
        for x in found:
            if type(x) is TracedArray and all((isinstance(y, TracedArray) and y.weak) or type(y) in _SCALARS for y in operands):
                x.weak = True
    return found, dtype


def one(function: str, category: str, x: Operand) -> Array:
    """Return an operand as an array of a category of dtypes."""
    array = x if isinstance(x, Array) else array_of(x, function)
    check_category(function, array.dtype, category)
    return array


def floats_of(x: Operand, function: str, argument: str = "x") -> Array:
    """Return an operand as an array of floats or complex numbers, as NumPy's functions read it: others become float64."""
    array = array_of(x, function, argument)
    return array if kind_of(array.dtype) in "fc" else cast(array, float64)


def dtype_or(given: Any, default: DType) -> DType:
    """Return the dtype that an argument `dtype=` states, or a default."""
    return default if given is None else as_dtype(given)


def float_dtype(given: Any, function: str) -> DType:
    """Return the dtype that an argument `dtype=` states, by default float64; an error for one that is no float."""
    wanted = dtype_or(given, float64)
    check_category(function, wanted, "float")
    return wanted


# Axes


def axis_of(axis: Any, rank: int, function: str) -> int:
    """Return an axis counted from the front; E3004 for one that is out of range, E1110 for what is no integer."""
    try:
        found = axis.__index__()
    except MindError:
        raise
    except (AttributeError, TypeError):
        raise fault("E1110", f"{function}: axis is {axis!r}, expected an integer", argument="axis", value=str(axis)) from None
    if not -rank <= found < rank:
        message = f"{function}: axis {found} is out of range for rank {rank}, expected {-rank} to {rank - 1}"
        raise fault("E3004", message if rank else f"{function}: axis {found} of an array of rank 0", axis=found, rank=rank)
    return found % rank


def axes_of(axis: Any, rank: int, function: str) -> tuple[int, ...]:
    """Return axes from the front: all for None, one for an integer; E3005 for one that is given twice."""
    if axis is None:
        return tuple(range(rank))
    given = tuple(axis) if is_sequence(axis) else (axis,)
    found = tuple(axis_of(a, rank, function) for a in given)
    for i, a in enumerate(found):
        if a in found[:i]:
            raise fault("E3005", f"{function}: axis {a} is given twice in {given}", axes=given, duplicate=a)
    return found


def static_size(n: Any, what: str) -> int:
    """Return an extent as a number; E1109 for a dimension that has no size yet."""
    if isinstance(n, str):
        message = f"{what} needs the size of dimension {n!r}, which has none while the function is traced; leave it out of sizes="
        raise fault("E1109", message, name=str(n))
    return int(n)


def shape_of(shape: Any, function: str) -> tuple[Any, ...]:
    """Return a shape from an integer or a sequence of extents; E3006 for a negative extent."""
    extents = tuple(shape) if is_sequence(shape) else (shape,)
    found: list[Any] = []
    for i, n in enumerate(extents):
        if isinstance(n, str):
            if isinstance(n, Dim) and is_nonnegative(n) is False:
                message = f"{function}: extent {n} at {i}, which is negative for all sizes, expected 0 or more"
                raise fault("E3006", message, shape=extents, index=i, value=str(n))
            found.append(n)
            continue
        try:
            size = n.__index__()
        except MindError:
            raise
        except (AttributeError, TypeError):
            message = f"{function}: extent {n!r} of shape {extents}, expected an integer"
            raise fault("E1110", message, argument="shape", value=str(shape)) from None
        if size < 0:
            message = f"{function}: extent {size} at {i} in shape {extents}, expected 0 or more"
            raise fault("E3006", message, shape=extents, index=i, value=size)
        found.append(size)
    return tuple(found)


def is_dynamic(shape: Sequence[Any]) -> bool:
    """Return whether a dimension has a name, or nothing, in place of a size."""
    return any(isinstance(n, str) for n in shape)
