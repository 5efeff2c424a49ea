"""
Arrays of every PTIR dtype: what the array namespace calls it, and in which dtype it computes.

NumPy lacks bf16, fp8 and 4-bit integers; ml_dtypes, an extra, adds them, one byte per 4-bit number. Numbers that are not native
are widened, computed on and rounded, or wrapped, once: floats narrower than f32 as f32, 4-bit integers as 8-bit ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mind_dialect.errors import error
from mind_dialect.lazy_dataclass import dataclass

Array = Any
"""An array of the namespace, or a scalar of it where the rank is 0."""
Ints = Sequence[int]
DTypeLike = Any
"""A dtype of the array namespace."""


@dataclass(frozen=True)
class Format:
    """A dtype: its name in the contract, the arrays' own dtype, and the dtype `work` to compute in."""

    name: str
    kind: str
    """One of b (i1), i, u, f, c."""
    bits: int
    dtype: np.dtype[Any]
    work: np.dtype[Any]
    infinite: bool = True
    """Of floats: whether there are infinities."""

    @property
    def least(self) -> Any:
        """Return the start of a greatest: the least number there is."""
        if self.kind == "f":
            return -np.inf if self.infinite else -_LARGEST_E4M3
        return -(1 << (self.bits - 1)) if self.kind == "i" else 0

    @property
    def most(self) -> Any:
        """Return the start of a least: the greatest number there is."""
        if self.kind == "f":
            return np.inf if self.infinite else _LARGEST_E4M3
        return (1 << (self.bits - (self.kind == "i"))) - 1

    @property
    def accumulator(self) -> np.dtype[Any]:
        """Return the dtype that sums accumulate in unless stated otherwise; of 4-bit integers the same, so that they wrap."""
        return self.work if self.kind == "f" else self.dtype


_LARGEST_E4M3 = 448.0

_NATIVE: tuple[tuple[str, str, str, int], ...] = (
    ("i1", "bool", "b", 1),
    *((f"si{n}", f"int{n}", "i", n) for n in (8, 16, 32, 64)),
    *((f"ui{n}", f"uint{n}", "u", n) for n in (8, 16, 32, 64)),
    *(("f32", "float32", "f", 32), ("f64", "float64", "f", 64)),
    *(("cf32", "complex64", "c", 64), ("cf64", "complex128", "c", 128)),
)
_WIDENED: tuple[tuple[str, str, str, int, str], ...] = (
    ("f16", "float16", "f", 16, "float32"),
    ("bf16", "bfloat16", "f", 16, "float32"),
    ("fp8_e4m3", "float8_e4m3fn", "f", 8, "float32"),
    ("fp8_e5m2", "float8_e5m2", "f", 8, "float32"),
    ("si4", "int4", "i", 4, "int8"),
    ("ui4", "uint4", "u", 4, "uint8"),
)

ARRAY_NAMES: dict[str, str] = {name: array for name, array, *_ in (*_NATIVE, *_WIDENED)}
"""Names of the dtypes in arrays, by the contract's names."""
NATIVE: frozenset[str] = frozenset(name for name, *_ in _NATIVE)
"""The dtypes that arrays compute in themselves."""

_FORMATS: dict[np.dtype[Any], Format] = {}


def format_of(given: DTypeLike) -> Format:
    """The format of an array's dtype, or of its type such as `xp.float32`; KeyError for one that PTIR lacks."""
    found = _FORMATS.get(given)
    if found is None:  # ml_dtypes registers its dtypes when the caller's arrays are made, not when this file is read
        dtype: np.dtype[Any] = np.dtype(given)
        name, array, kind, bits, work = _BY_ARRAY_NAME[dtype.name]
        wide = dtype if work == array else np.dtype(work)
        found = _FORMATS[dtype] = _FORMATS[given] = Format(name, kind, bits, dtype, wide, infinite=name != "fp8_e4m3")
    return found


_BY_ARRAY_NAME = {row[1]: row for row in (*((n, a, k, b, a) for n, a, k, b in _NATIVE), *_WIDENED)}


def array_dtype(name: str) -> np.dtype[Any]:
    """The arrays' dtype for a contract name such as `si32`, `bf16`; E6002 where it needs ml_dtypes and that is absent."""
    array = ARRAY_NAMES[name]
    try:
        return np.dtype(array)
    except TypeError:
        pass
    try:
        import ml_dtypes
    except ImportError:
        message = f"arrays of {name} need the package ml_dtypes, which is not installed: pip install 'mind-dialect[dtypes]'"
        raise error("E6002", message, requested=name, available=sorted(NATIVE | {"f16"})) from None
    return np.dtype(getattr(ml_dtypes, array))


class Widening:
    """The base of all kernels: an array namespace `xp`, and the ways into and out of the dtype that is computed in."""

    def __init__(self, xp: Any):
        self.xp = xp

    def widen(self, x: Array) -> Array:
        """`x`, exactly, in the dtype it is computed in."""
        form = format_of(x.dtype)
        return x if form.dtype is form.work else x.astype(form.work)

    def narrow(self, x: Array, dtype: DTypeLike) -> Array:
        """A result of `dtype` from what was computed for it: floats rounded to nearest even, integers wrapped."""
        form = format_of(dtype)
        return x if form.dtype is form.work else x.astype(dtype)  # to 4 bits this keeps the low ones

    def copy(self, x: Array) -> Array:
        """A row-major array of its own memory; rank 0 too is an array then, not a scalar."""
        return self.xp.array(x, order="C", copy=True)

    def full(self, shape: Ints, value: Any, dtype: DTypeLike) -> Array:
        """One number for every element, in new memory."""
        return self.xp.full(tuple(shape), self.xp.asarray(value).astype(dtype), dtype)
