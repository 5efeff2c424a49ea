"""
Dtypes, their kinds, and promotion.

A dtype is a `numpy.dtype`; those of `ml_dtypes` are among them where that package is installed. Promotion is the table of the
Python array API standard 2024.12 ("Type promotion rules") and nothing else: what it leaves undefined is refused.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from mind_dialect.errors import MindError
from mind_dialect.ptir.types import DTYPES, PtirDType, dtype_named
from mind_lowering.ptir_kernels.formats import ARRAY_NAMES, array_dtype, format_of

from .faults import fault, translated

DType = np.dtype[Any]

bool_: DType = np.dtype("bool")
int8: DType = np.dtype("int8")
int16: DType = np.dtype("int16")
int32: DType = np.dtype("int32")
int64: DType = np.dtype("int64")
uint8: DType = np.dtype("uint8")
uint16: DType = np.dtype("uint16")
uint32: DType = np.dtype("uint32")
uint64: DType = np.dtype("uint64")
float16: DType = np.dtype("float16")
float32: DType = np.dtype("float32")
float64: DType = np.dtype("float64")
complex64: DType = np.dtype("complex64")
complex128: DType = np.dtype("complex128")

STANDARD: dict[str, DType] = {
    "bool": bool_,
    **{str(d): d for d in (int8, int16, int32, int64, uint8, uint16, uint32, uint64)},
    **{str(d): d for d in (float32, float64, complex64, complex128)},
}
"""The dtypes of the standard by name."""
EXTRA = tuple(name for name in ARRAY_NAMES.values() if name not in STANDARD)
"""Names of the other dtypes of PTIR; all but float16 need `ml_dtypes`."""
DEFAULTS: dict[type, DType] = {bool: bool_, int: int64, float: float64, complex: complex128}
"""The dtype of a Python number that meets no array."""

CATEGORIES: dict[str, str] = {
    "all": "biufc",
    "numeric": "iufc",
    "real": "iuf",
    "floating": "fc",
    "float": "f",
    "complex": "c",
    "integer": "iu",
    "bool": "b",
    "integer or bool": "biu",
    "ordered": "biuf",
    "signed or complex": "ifc",
}
"""The kinds of dtype of each category of operand."""
_SHOWN_KINDS = {"b": "bool", "i": "signed integer", "u": "unsigned integer", "f": "floating-point", "c": "complex"}


def kind_of(dtype: DType) -> str:
    """
    Return one letter: b, i, u, f or c.

    >>> kind_of(float32), kind_of(uint8)
    ('f', 'u')
    """
    kind = dtype.kind
    return format_of(dtype).kind if kind == "V" or kind not in "biufc" else kind


@lru_cache(256)
def ptir_dtype(dtype: DType) -> PtirDType:
    """Return the dtype of PTIR; E2005 for one that it lacks, such as strings and datetimes."""
    try:
        return dtype_named(format_of(dtype.newbyteorder("=")).name)
    except (KeyError, TypeError):
        names = [*STANDARD, *EXTRA]
        message = f"dtype {dtype} is not supported, expected one of {names}"
        raise fault("E2005", message, dtype=str(dtype), supported=names) from None


def in_native_order(array: Any) -> Any:
    """Return a NumPy array in the machine's byte order; the array itself if it is so."""
    dtype = array.dtype
    return array if dtype.isnative else array.astype(dtype.newbyteorder("="))


_NUMPY: dict[PtirDType, DType] = {}


def numpy_dtype(dtype: PtirDType) -> DType:
    """Return the NumPy dtype of a dtype of PTIR."""
    found = _NUMPY.get(dtype)
    if found is None:
        found = _NUMPY[dtype] = array_dtype(dtype.name)
    return found


def as_dtype(given: Any) -> DType:
    """Return a dtype from a dtype, a name, a NumPy scalar type or a Python type; E2005 for anything else."""
    if type(given) is np.dtype or isinstance(given, np.dtype):
        ptir_dtype(given)  # pyright: ignore[reportUnknownArgumentType]
        return given if given.isnative else given.newbyteorder("=")  # pyright: ignore
    if isinstance(given, str) and given in EXTRA:
        return named(given)
    if isinstance(given, str) and given in DTYPES:
        return numpy_dtype(dtype_named(given))
    try:
        if given is None:
            raise TypeError
        dtype: DType = np.dtype(given)
    except (TypeError, ValueError, SyntaxError):
        names = [*STANDARD, *EXTRA]
        message = f"expected a dtype, found {given!r}; the dtypes are {names}"
        raise fault("E2005", message, dtype=str(given), supported=names) from None
    ptir_dtype(dtype)
    return dtype


def named(name: str) -> DType:
    """Return the dtype called `name`; E6002 where it needs `ml_dtypes` and that is not installed."""
    contract = next(contract for contract, array in ARRAY_NAMES.items() if array == name)
    try:
        return array_dtype(contract)
    except MindError as e:
        raise translated(e) from None


def check_category(function: str, dtype: DType, category: str) -> None:
    """Raise E2005 unless the dtype is of a kind that a function takes."""
    if kind_of(dtype) not in CATEGORIES[category]:
        kinds = [_SHOWN_KINDS[k] for k in CATEGORIES[category]]
        message = f"{function}: dtype {dtype}, expected {' or '.join(kinds)}"
        raise fault("E2005", message, dtype=str(dtype), supported=kinds)


# Promotion


@lru_cache(1024)
def promote(a: DType, b: DType) -> DType:
    """
    Return the dtype of two that meet, by the table of the standard; E1107 for a pair that it leaves undefined.

    >>> promote(int8, uint8), promote(float32, complex64)
    (dtype('int16'), dtype('complex64'))
    """
    if a == b:
        return a
    kinds = kind_of(a) + kind_of(b)
    x, y = format_of(a), format_of(b)
    if kinds[0] == kinds[1] and kinds[0] in "iufc" and min(x.bits, y.bits) >= 8 and not _unordered(x.bits, y.bits, kinds[0]):
        return a if x.bits > y.bits else b
    if set(kinds) == {"i", "u"} and min(x.bits, y.bits) >= 8:
        signed, unsigned = (x.bits, y.bits) if kinds[0] == "i" else (y.bits, x.bits)
        if unsigned < 64:
            return np.dtype(f"int{max(signed, 2 * unsigned)}")
    if set(kinds) == {"f", "c"} and min(x.bits, y.bits) > 8:
        real, imaginary = (a, b) if kinds[0] == "f" else (b, a)
        return complex128 if real == float64 else imaginary
    raise undefined(a, b)


def _unordered(a: int, b: int, kind: str) -> bool:
    """Return whether neither of two floats of these widths holds the other: equal widths, or an 8-bit float."""
    return kind == "f" and (a == b or min(a, b) == 8)


_OF_NUMBERS = {"a Python float": "float64", "a Python complex": "complex128", "a Python int": "int64"}
"""The dtype of arrays that a Python number is added to, where theirs does not hold it."""


def undefined(a: Any, b: Any) -> MindError:
    """E1107: the standard does not say what two dtypes promote to."""
    floats: list[Any] = [d for d in (a, b) if isinstance(d, np.dtype) and kind_of(d) in "fc"]  # pyright: ignore
    wider = floats[0] if floats else _OF_NUMBERS.get(str(b))
    to = f"ma.{wider}" if wider is not None else "a common dtype"
    message = f"{a} and {b} do not promote to one dtype; cast one of them with ma.astype(x, {to})"
    return fault("E1107", message, dtypes=[str(a), str(b)])


def promote_scalar(dtype: DType, scalar: type) -> DType:
    """
    Return the dtype of an array that meets a Python number: the array's, unless a complex number meets real floats.

    E1107 for a bool and a number, or a float and integers.

    >>> promote_scalar(float32, int), promote_scalar(float32, complex)
    (dtype('float32'), dtype('complex64'))
    """
    kind = kind_of(dtype)
    if (scalar is bool and kind == "b") or (scalar is int and kind in "iufc") or (scalar is float and kind in "fc"):
        return dtype
    if scalar is complex and kind in "fc":
        return dtype if kind == "c" else complex128 if dtype == float64 else complex64
    raise undefined(dtype, f"a Python {scalar.__name__}")


def check_fits(value: Any, dtype: DType) -> None:
    """Raise an `OverflowError`, E4005, for a Python integer beyond the range of an integer dtype, E2005 for a complex number."""
    if type(value) is complex and kind_of(dtype) != "c":
        raise fault(
            "E2005", f"{value} in an array of {dtype}, expected a real number", dtype="complex128", supported=[str(dtype)]
        )
    if type(value) is int and dtype.kind in "iu":
        limits = np.iinfo(dtype)
        if not int(limits.min) <= value <= int(limits.max):
            from .faults import ArrayOverflowError

            issue = f"the Python integer {value if abs(value) < 1 << 200 else 'given'} is out of range for {dtype}"
            raise fault("E4005", issue, kind=ArrayOverflowError, dtype=str(dtype), issue=issue)


def accumulated(dtype: DType) -> DType:
    """
    Return the dtype in which `sum` and `prod` accumulate by default: 64 bits for integers, else the dtype itself.

    >>> accumulated(int8), accumulated(float32)
    (dtype('int64'), dtype('float32'))
    """
    kind = kind_of(dtype)
    return int64 if kind in "bi" else uint64 if kind == "u" else dtype


def real_of(dtype: DType) -> DType:
    """Return the dtype of the real part."""
    return {complex64: float32, complex128: float64}.get(dtype, dtype)


def complex_of(dtype: DType) -> DType:
    """Return the complex dtype whose parts have this dtype."""
    return {float32: complex64, float64: complex128}.get(dtype, dtype)
