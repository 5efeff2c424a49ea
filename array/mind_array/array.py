"""
Arrays: concrete ones hold a NumPy array, traced ones (`trace.py`) stand for a value of a program under construction.

Arrays are values. Two arrays may share memory until one of them is assigned to, which copies first (`x[k] = v`). The operators
and methods are attached by `operators.py` from the functions of the namespace, so that `x + y` is `add(x, y)`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mind_dialect.ptir.types import TensorSpec

from .dtypes import DType, ptir_dtype
from .faults import ArrayTypeError, fault

Ndarray = np.ndarray[Any, Any]
DEVICE = "cpu"
"""The only device of arrays."""


class Array:
    """An array of the namespace, with concrete elements: make one with `asarray` or a creation function."""

    __slots__ = ("__weakref__", "ndarray", "shared")

    ndarray: Ndarray
    shared: bool
    """Set where other arrays may have the same memory; unset means that none has."""

    weak = False
    """True if the dtype gives way to that of another operand, as that of a Python number does."""

    def __new__(cls, *given: object) -> Array:  # noqa: PYI034
        message = "Array is not called; asarray makes one"
        raise fault("E1110", message, argument="obj", value=str(given)[:100])

    @property
    def spec(self) -> TensorSpec:
        """The dtype of PTIR and the dimensions."""
        return TensorSpec(ptir_dtype(self.ndarray.dtype), self.ndarray.shape)

    @property
    def dtype(self) -> DType:
        """The dtype, a `numpy.dtype`."""
        return self.ndarray.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents; of traced arrays some may be a `Dim`."""
        return self.ndarray.shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int | None:
        """The number of elements; None if a dimension has no size."""
        count = 1
        for n in self.shape:
            if isinstance(n, str):
                return None
            count *= n
        return count

    @property
    def itemsize(self) -> int:
        """The number of bytes of an element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int | None:
        """The number of bytes of all elements."""
        return None if self.size is None else self.size * self.itemsize

    @property
    def device(self) -> str:
        """`"cpu"`."""
        return DEVICE

    def __len__(self) -> int:
        if not self.shape:
            raise fault("E3002", "an array of rank 0 has no length", expected="at least 1", actual=0, kind=ArrayTypeError)
        n = self.shape[0]
        return n.__index__() if isinstance(n, str) else n

    def concrete(self, what: str, advice: str) -> Ndarray:
        """The NumPy array; a traced array raises E1101 with `advice`."""
        return self.ndarray

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...
        def __getitem__(self, key: Any, /) -> Array: ...
        def __setitem__(self, key: Any, value: Any, /) -> None: ...
        def __add__(self, other: Any, /) -> Array: ...
        def __radd__(self, other: Any, /) -> Array: ...
        def __sub__(self, other: Any, /) -> Array: ...
        def __rsub__(self, other: Any, /) -> Array: ...
        def __mul__(self, other: Any, /) -> Array: ...
        def __rmul__(self, other: Any, /) -> Array: ...
        def __truediv__(self, other: Any, /) -> Array: ...
        def __rtruediv__(self, other: Any, /) -> Array: ...
        def __floordiv__(self, other: Any, /) -> Array: ...
        def __mod__(self, other: Any, /) -> Array: ...
        def __divmod__(self, other: Any, /) -> tuple[Array, Array]: ...
        def __pow__(self, other: Any, /) -> Array: ...
        def __rpow__(self, other: Any, /) -> Array: ...
        def __matmul__(self, other: Any, /) -> Array: ...
        def __rmatmul__(self, other: Any, /) -> Array: ...
        def __and__(self, other: Any, /) -> Array: ...
        def __or__(self, other: Any, /) -> Array: ...
        def __xor__(self, other: Any, /) -> Array: ...
        def __lshift__(self, other: Any, /) -> Array: ...
        def __rshift__(self, other: Any, /) -> Array: ...
        def __lt__(self, other: Any, /) -> Array: ...
        def __le__(self, other: Any, /) -> Array: ...
        def __gt__(self, other: Any, /) -> Array: ...
        def __ge__(self, other: Any, /) -> Array: ...
        def __eq__(self, other: Any, /) -> Array: ...  # pyright: ignore[reportIncompatibleMethodOverride]
        def __ne__(self, other: Any, /) -> Array: ...  # pyright: ignore[reportIncompatibleMethodOverride]
        def __neg__(self) -> Array: ...
        def __pos__(self) -> Array: ...
        def __abs__(self) -> Array: ...
        def __invert__(self) -> Array: ...
        def __iter__(self) -> Any: ...
        def __bool__(self) -> bool: ...
        def __int__(self) -> int: ...
        def __float__(self) -> float: ...
        def __index__(self) -> int: ...
        def __array__(self, dtype: Any = None, copy: bool | None = None) -> Ndarray: ...
        @property
        def T(self) -> Array: ...
        @property
        def mT(self) -> Array: ...


_new = object.__new__


def wrap(array: Any) -> Array:
    """Return the array of a NumPy array or scalar, without a copy."""
    made = _new(Array)
    made.ndarray = array if type(array) is np.ndarray else np.asarray(array)
    return made


def wrap_shared(array: Any) -> Array:
    """Return the array of a NumPy array whose memory others may have."""
    made = wrap(array)
    made.shared = True
    return made


def may_share(x: Array) -> bool:
    """Return whether another array may have the memory of this one."""
    return getattr(x, "shared", False) or not x.ndarray.flags.writeable or x.ndarray.base is not None


def check_device(device: Any) -> None:
    """Raise E6002 for another device than `"cpu"`."""
    if device is not None and device != DEVICE:
        message = f"device {device!r}, expected {DEVICE!r}; pass target= to jit for others"
        raise fault("E6002", message, requested=str(device), available=[DEVICE])
