# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
"""
NumPy functions on our arrays: NEP 13 (`np.exp(x)`, `np.add.reduce(x)`) and NEP 18 (`np.sum(x, axis=0)`).

A NumPy function is looked up among the rows of the table by its name and called with its arguments under our names. Under these
protocols NumPy's own promotion holds, so that unmodified NumPy code means what it means there.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np

from .arguments import checked
from .array import Array
from .dtypes import as_dtype, complex128, float64, int64, kind_of
from .faults import fault, similar
from .kinds import is_sequence
from .operands import array_of, cast, floats_of, is_number, static_size
from .rows import (
    creation,
    data_dependent,
    dtype_functions,
    indexing,
    linalg,
    manipulation,
    mathematics,
    numpy_statistics,
    reductions,
)
from .rows.numpy_shapes import diagonal
from .table import BY_NUMPY

_NO_VALUE: Any = getattr(np, "_NoValue", None)
_REDUCTIONS: dict[str, Callable[..., Array]] = {
    "add": reductions.sum_,
    "multiply": reductions.prod,
    "maximum": reductions.max_,
    "minimum": reductions.min_,
    "logical_and": reductions.all_,
    "logical_or": reductions.any_,
}
_ACCUMULATIONS: dict[str, Callable[..., Array]] = {
    "add": reductions.cumulative_sum,
    "multiply": reductions.cumulative_prod,
    "maximum": partial(reductions.running, "max"),
    "minimum": partial(reductions.running, "min"),
}


def array_ufunc(self: Array, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """Run a ufunc of NumPy with one of our arrays among its operands."""
    name = ufunc.__name__
    options = {n: v for n, v in kwargs.items() if not _is_default(n, v)}
    if method == "at" or "out" in options:
        raise _in_place(name, method)
    if method in ("reduce", "accumulate"):
        table = _REDUCTIONS if method == "reduce" else _ACCUMULATIONS
        if name not in table:
            raise _unsupported(f"np.{name}.{method}", [f"np.{n}.{method}" for n in table])
        return _called(f"{name}.{method}", table[name], inputs[:1], {"axis": 0, **options})
    found = BY_NUMPY.get(name)
    if method == "outer" and found is not None and found.arrays == 2:
        first, second = (array_of(x, f"np.{name}.outer") for x in inputs)
        spread = manipulation.reshape(first, (*first.shape, *(1,) * second.ndim))
        return array_ufunc(self, ufunc, "__call__", spread, second, **kwargs)
    if method != "__call__" or found is None:
        what = f"np.{name}" if method == "__call__" else f"np.{name}.{method}"
        raise _unsupported(what, sorted(n for n in BY_NUMPY if isinstance(getattr(np, n, None), np.ufunc)))
    if others := sorted(set(options) - {"dtype"}):
        advice = "; write np.where(where, result, other)" if others == ["where"] else ""
        raise fault("E1110", f"np.{name}: {others} are not supported for these arrays{advice}", argument=str(others), value="")
    if name.startswith("logical_"):
        return found.function(*(reductions.truth(array_of(x, f"np.{name}")) for x in inputs))
    operands = _resolved(ufunc, inputs, options.get("dtype"))
    return found.function(*operands)


def _in_place(name: str, method: str) -> Exception:
    """E1110: arrays are values, so no function writes into one."""
    update = {
        "add": "x.at[i].add(v)",
        "multiply": "x.at[i].multiply(v)",
        "minimum": "x.at[i].min(v)",
        "maximum": "x.at[i].max(v)",
    }
    if method == "at":
        message = f"np.{name}.at writes into an array; write x = {update.get(name, 'x.at[i].set(v)')}"
    else:
        message = f"np.{name}: out= writes into an array; write x = np.{name}(...), or x = x + y in place of x += y"
    return fault("E1110", message, argument="out", value="")


def _is_default(name: str, value: Any) -> bool:
    if value is None or value is _NO_VALUE:
        return True
    return (name == "where" and value is True) or (name == "keepdims" and value is False)


def _resolved(ufunc: Any, inputs: Sequence[Any], dtype: Any) -> list[Any]:
    """The operands in the dtypes of the loop that NumPy would choose."""
    arrays = [x if is_number(x) else array_of(x, ufunc.__name__) for x in inputs]
    given: list[Any] = [
        type(x) if is_number(x) else DEFAULTS_TYPE.get(kind_of(x.dtype), None) if x.weak else x.dtype for x in arrays
    ]
    if any(isinstance(d, np.dtype) and d.kind == "V" for d in given):  # pyright: ignore[reportUnknownMemberType]
        return list(arrays)
    plain = [d for d in given if d is not bool]
    try:
        request = [np.dtype(d) if d is bool else d for d in given] + [None] * ufunc.nout
        options = {} if dtype is None else {"signature": (None,) * ufunc.nin + (np.dtype(dtype),) * ufunc.nout}
        loop = ufunc.resolve_dtypes(tuple(request), **options)
    except TypeError as err:
        shown = [getattr(d, "__name__", str(d)) for d in plain]
        raise fault("E1107", f"np.{ufunc.__name__}: {err}", dtypes=shown) from None
    return [_as(x, d) for x, d in zip(arrays, loop, strict=False)]


DEFAULTS_TYPE: dict[str, type] = {"i": int, "f": float, "c": complex}


def _as(x: Any, dtype: Any) -> Any:
    if is_number(x):
        return creation.asarray(x, dtype=dtype) if dtype.kind != "O" else x
    return cast(x, dtype)


def _unsupported(name: str, known: list[str]) -> Exception:
    message = f"{name} has no row for these arrays{similar(name.removeprefix('np.'), known)}"
    return fault("E2001", message, expected=str(known), actual=name)


# NEP 18


def _variance(function: Callable[..., Array]) -> Callable[..., Array]:
    def variance(a: Any, axis: Any = None, ddof: float = 0, keepdims: bool = False, correction: float | None = None) -> Array:
        return function(
            floats_of(a, "array"), axis=axis, correction=ddof if correction is None else correction, keepdims=keepdims
        )

    return variance


def _where(condition: Any, x: Any = None, y: Any = None) -> Any:
    if x is None and y is None:
        return data_dependent.nonzero(condition)
    return mathematics.where(reductions.truth(array_of(condition, "where")), *_same_dtype(x, y))


def _same_dtype(*xs: Any) -> list[Any]:
    """Operands in the dtype that NumPy gives them together."""
    given = [x if is_number(x) else creation.asarray(x) if is_sequence(x) else array_of(x, "operand") for x in xs]
    if all(isinstance(x, Array) for x in given) and len({x.dtype for x in given}) == 1:
        return given
    dtype = np.result_type(*(x if is_number(x) else x.dtype for x in given))
    return [creation.asarray(x, dtype=dtype) if is_number(x) else cast(x, dtype) for x in given]


def _joined(function: Callable[..., Array]) -> Callable[..., Array]:
    def joined(arrays: Any, axis: int | None = 0) -> Array:
        return function(_same_dtype(*arrays), axis=axis)

    return joined


def _clip(a: Any, a_min: Any = None, a_max: Any = None, min: Any = None, max: Any = None) -> Array:
    bounds = [min if a_min is None else a_min, max if a_max is None else a_max]
    array, *given = _same_dtype(a, *(b for b in bounds if b is not None))
    return mathematics.clip(array, *(None if b is None else given.pop(0) for b in bounds))


def _take(a: Any, indices: Any, axis: int | None = None, mode: str = "raise") -> Array:
    places = creation.asarray(indices) if is_sequence(indices) else array_of(indices, "take", "indices")
    array, axis = manipulation.along(a, axis, "take")
    if mode not in ("raise", "clip", "wrap"):
        raise fault("E1110", f"np.take: mode is {mode!r}, expected 'raise', 'clip' or 'wrap'", argument="mode", value=mode)
    if mode != "raise":
        n = static_size(array.shape[axis], "take")
        wide = cast(places, int64)
        places = mathematics.remainder(wide, n) if mode == "wrap" else mathematics.clip(wide, 0, n - 1)
    return indexing.take(array, places, axis=axis)


def _trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Array:
    return reductions.sum_(diagonal(a, offset, axis1, axis2), axis=-1, dtype=dtype)


def _rollaxis(a: Any, axis: int, start: int = 0) -> Array:
    array = array_of(a, "rollaxis")
    place = axis % array.ndim
    return manipulation.moveaxis(array, place, start - 1 if place < start else start)


def _wide(x: Any) -> Array:
    """Return an array of numbers in 64 bits at least, in which NumPy computes covariances."""
    array = creation.asarray(x) if is_sequence(x) else array_of(x, "cov")
    return cast(array, complex128 if kind_of(array.dtype) == "c" else float64)


def _mean(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False, where: Any = None) -> Array:
    array = floats_of(a, "array") if dtype is None else cast(array_of(a, "mean"), as_dtype(dtype))
    return reductions.mean(array, axis=axis, keepdims=keepdims, where=where)


_SPECIAL: dict[str, Callable[..., Any]] = {
    "mean": _mean,
    "cov": lambda m, y=None, *args, **options: numpy_statistics.cov(_wide(m), None if y is None else _wide(y), *args, **options),
    "sort": lambda a, axis=-1, kind=None, stable=None: reductions.sort(a, axis=axis),
    "argsort": lambda a, axis=-1, kind=None, stable=None: reductions.argsort(a, axis=axis),
    "astype": lambda x, dtype, copy=True: dtype_functions.astype(x, dtype, copy=copy),
    "average": lambda a, axis=None, weights=None, keepdims=False: numpy_statistics.average(
        floats_of(a, "array"), axis, weights, keepdims=keepdims
    ),
    "median": lambda a, axis=None, keepdims=False: reductions.median(floats_of(a, "array"), axis, keepdims=keepdims),
    "quantile": lambda a, q, axis=None, keepdims=False: reductions.quantile(floats_of(a, "array"), q, axis, keepdims=keepdims),
    "var": _variance(reductions.var),
    "std": _variance(reductions.std),
    "where": _where,
    "concatenate": _joined(manipulation.concat),
    "stack": _joined(manipulation.stack),
    "clip": _clip,
    "rollaxis": _rollaxis,
    "take": _take,
    "take_along_axis": lambda arr, indices, axis=-1: indexing.take_along_axis(arr, indices, axis=axis),
    "transpose": lambda a, axes=None: manipulation.permute_dims(a, axes),
    "reshape": lambda a, shape=None, newshape=None: manipulation.reshape(a, newshape if shape is None else shape),
    "trace": _trace,
    "searchsorted": lambda a, v, side="left", sorter=None: reductions.searchsorted(a, v, side=side, sorter=sorter),
    "linalg.norm": lambda x, ord=None, axis=None, keepdims=False: linalg.norm(floats_of(x, "array"), ord, axis, keepdims),
    "full_like": lambda a, fill_value, dtype=None: creation.full_like(a, fill_value, dtype=dtype),
    "tile": lambda A, reps: manipulation.tile(A, tuple(reps) if is_sequence(reps) else (reps,)),
}


@lru_cache(256)
def _signature(function: Any) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


def array_function(self: Array, function: Any, types: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Run a function of NumPy, not a ufunc, with one of our arrays among its arguments."""
    module = str(getattr(function, "__module__", "")).removeprefix("numpy").strip(".")
    name = f"{module}.{function.__name__}" if module in ("linalg", "fft") else function.__name__
    options = _stated(function, kwargs)
    special = _SPECIAL.get(name)
    if special is not None:
        return _called(name, special, args, options)
    found = BY_NUMPY.get(name)
    if found is None:
        raise _unsupported(f"np.{name}", sorted({*BY_NUMPY, *_SPECIAL}))
    positional, named = _bound(function, found.function, args, options)
    return _called(name, found.function, positional, named)


def _stated(function: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments by name without those that say nothing: None says something where it is not the default, as for an axis."""
    signature = _signature(function)
    defaults = {} if signature is None else {p.name: p.default for p in signature.parameters.values()}
    return {n: v for n, v in options.items() if not _is_default(n, v) or (v is None and defaults.get(n) is not None)}


def _called(name: str, function: Any, positional: Sequence[Any], named: Mapping[str, Any]) -> Any:
    """Return what a function of ours gives; E1110 for an argument of NumPy's that it does not have."""
    signature = _signature(function) or inspect.signature(function)
    try:
        signature.bind(*positional, **named)
    except TypeError as err:
        known = ", ".join(signature.parameters)
        message = f"np.{name} of these arrays: {err}; the arguments are {known}"
        raise fault("E1110", message, argument=str(err), value="") from None
    return checked(function, f"np.{name}")(*positional, **named)


def _bound(theirs: Any, ours: Any, args: Sequence[Any], options: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Arguments of a NumPy function as those of ours: leading ones by position, the others by name."""
    parameters = inspect.signature(ours).parameters.values()
    positional = [p for p in parameters if p.kind is not p.KEYWORD_ONLY and p.default is p.empty]
    signature = _signature(theirs)
    if signature is None or any(p.kind is p.VAR_POSITIONAL for p in positional):
        return list(args), dict(options)
    bound = dict(signature.bind(*args, **options).arguments)
    for p in signature.parameters.values():
        if p.kind is p.VAR_KEYWORD:
            bound |= bound.pop(p.name, {})
    given = _stated(theirs, bound)
    names, values = list(given), list(given.values())
    count = min(len(positional), len(values))
    taken = [n for n in names if n not in ("axis", "dtype", "keepdims")][:count]
    return [given[n] for n in taken], {n: given[n] for n in names if n not in taken}


def attach() -> None:
    """Give `Array` the protocols, and methods of NumPy's arrays that are functions of these."""
    members: dict[str, Any] = {
        **{"__array_ufunc__": array_ufunc, "__array_function__": array_function},
        **{"diagonal": checked(diagonal, "diagonal"), "trace": checked(_trace, "trace")},
    }
    for name, member in members.items():
        setattr(Array, name, member)


attach()
