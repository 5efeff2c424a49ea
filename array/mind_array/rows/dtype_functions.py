"""Functions about dtypes: casts, promotion, limits, and what the namespace says of itself."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mind_dialect import ptir

from ..array import DEVICE, Array, check_device, wrap
from ..dtypes import STANDARD, DType, as_dtype, complex128, float64, int64, kind_of, ptir_dtype
from ..emit import emit
from ..faults import fault
from ..kinds import is_numpy, is_tuple
from ..operands import array_of, cast, is_number, joint_dtype
from ..table import SMOOTH, row
from ..trace import TracedArray


@row("astype", derivative=SMOOTH)
def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Array:
    """
    Return `x` in another dtype.

    Integers keep their low bits. Floats become integers truncated and saturated, NaN 0. With `copy` the result has memory of its
    own.
    """
    check_device(device)
    array, wanted = array_of(x, "astype"), as_dtype(dtype)
    if kind_of(array.dtype) == "c" and kind_of(wanted) != "c":
        message = f"astype: {array.dtype} to {wanted} would drop imaginary parts; take ma.real(x) first"
        raise fault("E2005", message, dtype=str(wanted), supported=["complex64", "complex128"])
    if array.dtype == wanted:
        return wrap(array.ndarray.copy()) if copy and not isinstance(array, TracedArray) else array
    if kind_of(array.dtype) in "iu" and kind_of(wanted) in "iu":
        return emit(ptir.TruncateOp, array, dtype=ptir_dtype(wanted))
    return cast(array, wanted)


@row("can_cast", arrays=0)
def can_cast(from_: Any, to: Any, /) -> bool:
    """Return whether values of a dtype can be cast to another without loss, as NumPy's safe casts."""
    source = from_.dtype if isinstance(from_, Array) else as_dtype(from_)
    return bool(np.can_cast(source, as_dtype(to)))


@row("result_type", arrays=-1)
def result_type(*arrays_and_dtypes: Any) -> DType:
    """Return the dtype that arrays, dtypes and Python numbers promote to; E1107 where they do not."""
    if not arrays_and_dtypes:
        raise fault("E1110", "result_type: no operands, expected at least one", argument="arrays_and_dtypes", value="()")
    found: list[Any] = []
    for x in arrays_and_dtypes:
        if is_number(x) or isinstance(x, Array):
            found.append(x)
        elif is_numpy(x):
            found.append(array_of(x, "result_type"))
        else:
            found.append(as_dtype(x))
    return joint_dtype(found)[0]


class FloatLimits(NamedTuple):
    """Result of `finfo`: width in bits, spacing at 1, extremes, the least normal number."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType


class IntegerLimits(NamedTuple):
    """Result of `iinfo`: width in bits and extremes."""

    bits: int
    max: int
    min: int
    dtype: DType


def _dtype_of(type: Any) -> DType:
    return type.dtype if (isinstance(type, Array) or is_numpy(type)) else as_dtype(type)


def _limits(dtype: DType) -> Any:
    """The limits of a float, by the library that has it."""
    if dtype.kind == "V" or (dtype.name not in STANDARD and dtype.name != "float16"):
        import ml_dtypes

        extra: Any = ml_dtypes
        return extra.finfo(dtype)
    plain: Any = np
    return plain.finfo(dtype)


@row("finfo", arrays=0)
def finfo(type: Any, /) -> FloatLimits:
    """Return the limits of a floating-point dtype, or of the parts of a complex one."""
    dtype = _dtype_of(type)
    if kind_of(dtype) not in "fc":
        raise fault("E2005", f"finfo: dtype {dtype}, expected floating-point", dtype=str(dtype), supported=["float32", "float64"])
    found = _limits(dtype)
    eps, most, least, normal = (float(getattr(found, name)) for name in ("eps", "max", "min", "smallest_normal"))
    return FloatLimits(int(found.bits), eps, most, least, normal, np.dtype(found.dtype))


@row("iinfo", arrays=0)
def iinfo(type: Any, /) -> IntegerLimits:
    """Return the limits of an integer dtype."""
    dtype = _dtype_of(type)
    if kind_of(dtype) not in "iu":
        raise fault("E2005", f"iinfo: dtype {dtype}, expected an integer", dtype=str(dtype), supported=["int32", "int64"])
    from mind_lowering.ptir_kernels.formats import format_of

    form = format_of(dtype)
    return IntegerLimits(form.bits, int(form.most), int(form.least), dtype)


_KINDS: dict[str, str] = {
    "bool": "b",
    "signed integer": "i",
    "unsigned integer": "u",
    "integral": "iu",
    "real floating": "f",
    "complex floating": "c",
    "numeric": "iufc",
}


@row("isdtype", arrays=0)
def isdtype(dtype: Any, kind: Any) -> bool:
    """Return whether a dtype is of a kind: a dtype, a name such as `"integral"`, or a tuple of these."""
    if is_tuple(kind):
        return any(isdtype(dtype, k) for k in kind)
    if isinstance(kind, str):
        if kind not in _KINDS:
            raise fault("E1110", f"isdtype: kind {kind!r}, expected one of {list(_KINDS)}", argument="kind", value=kind)
        return kind_of(as_dtype(dtype)) in _KINDS[kind]
    return as_dtype(dtype) == as_dtype(kind)


class NamespaceInfo:
    """Description of the namespace: `capabilities`, devices, dtypes and their defaults."""

    def capabilities(self) -> dict[str, Any]:
        """Return the optional abilities: boolean indexing and sizes that depend on data, of concrete arrays."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> str:
        """Return `"cpu"`."""
        return DEVICE

    def devices(self) -> list[str]:
        """Return `["cpu"]`."""
        return [DEVICE]

    def default_dtypes(self, *, device: Any = None) -> dict[str, DType]:
        """Return the dtypes of numbers and indices that meet no array."""
        check_device(device)
        return {"real floating": float64, "complex floating": complex128, "integral": int64, "indexing": int64}

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, DType]:
        """Return the dtypes of the standard by name, all or those of a kind."""
        check_device(device)
        return {name: d for name, d in STANDARD.items() if kind is None or kind == () or isdtype(d, kind)}


@row(arrays=0)
def __array_namespace_info__() -> NamespaceInfo:
    """Return what the namespace says of itself: capabilities, devices, dtypes."""
    return NamespaceInfo()
