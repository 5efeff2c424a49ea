"""
Arrays that a caller gives, held against the types that a program declares: arguments, and places for results.

The latter, as in `program(x, out=y)`, are written to once everything has run: whatever memory they share with arguments, the
results are those of a call without them. A target that can do so writes to them at once.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from xdsl.ir import Attribute

from mind_dialect.errors import MindError, error
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir_shapes import Dims
from mind_dialect.types import DType
from mind_lowering.memory_need import read_any
from mind_lowering.ptir_kernels.formats import array_dtype

Array = Any
_SIGNED = {"i32": "si32", "i64": "si64"}


@dataclass(frozen=True)
class TensorSpec:
    """The signature of an input or output: its name, dtype and dimensions, which may be names."""

    name: str
    dtype: DType
    shape: Dims

    @staticmethod
    def of(name: str, type: Attribute) -> TensorSpec:
        """The spec of a tensor type; a coded error for what is no type of Core IR or PTIR."""
        return TensorSpec(name, *read_any(type))

    @property
    def numpy_dtype(self) -> np.dtype[Any]:
        """The NumPy dtype, in the machine's byte order; E6002 where it needs ml_dtypes and that is absent."""
        return array_dtype(_SIGNED.get(self.dtype.name, self.dtype.name))

    @property
    def is_static(self) -> bool:
        """Return whether every dimension is a size."""
        return not any(isinstance(d, str) for d in self.shape)

    def fits(self, shape: Sequence[int]) -> bool:
        """Return whether an array of `shape` has as many dimensions, and the sizes that are known."""
        return not self.misfit(shape)

    def misfit(self, shape: Sequence[int]) -> str:
        """
        Return what is wrong with `shape`, to be appended to a message; nothing if it fits.

        >>> from mind_dialect.types import F32
        >>> spec = TensorSpec("x", F32, ("B", 64))
        >>> [spec.misfit(shape) for shape in ((2, 60), (2,), (3, 64))]
        [': dimension 1 is 60, expected 64', ': it has 1 dimensions, expected 2', '']
        """
        if len(shape) != len(self.shape):
            return f": it has {len(shape)} dimensions, expected {len(self.shape)}"
        for i, (dim, n) in enumerate(zip(self.shape, shape, strict=True)):
            if not isinstance(dim, str) and dim != n:
                return f": dimension {i} is {n}, expected {dim}"
        return ""

    def check_shape(self, shape: Sequence[int], what: str) -> None:
        """E2001 names `what` unless `shape` fits."""
        if misfit := self.misfit(shape):
            expected, actual = f"[{', '.join(map(str, self.shape))}]", str(list(shape))
            message = f"{what}: expected shape {expected}, found {actual}{misfit}"
            raise error("E2001", message, expected=str(self), actual=actual)

    def __str__(self) -> str:
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]"


class QuickCheck:
    """A test whether an argument is a plain array of the declared dtype, rank and sizes: most are, and need nothing else."""

    __slots__ = ("_dtype", "_rank", "_shape", "_sizes")

    def __init__(self, spec: TensorSpec):
        self._dtype, self._shape, self._rank = spec.numpy_dtype, spec.shape if spec.is_static else None, len(spec.shape)
        self._sizes = [(i, n) for i, n in enumerate(spec.shape) if not isinstance(n, str)]

    def fits(self, argument: Any) -> bool:
        """Return whether it is; False also for what `admit` converts."""
        if type(argument) is not np.ndarray or argument.dtype != self._dtype:
            return False
        shape = argument.shape
        if self._shape is not None:
            return shape == self._shape
        return len(shape) == self._rank and all([shape[i] == n for i, n in self._sizes])


def admit(argument: Any, spec: TensorSpec, what: str) -> Any:
    """`argument` as a plain NumPy array; E2001 names `what` unless it has the dtype and shape of `spec`."""
    if isinstance(argument, np.ndarray | np.generic) and not _is_masked(cast("object", argument)):
        array: np.ndarray[Any, np.dtype[Any]] = np.asarray(cast("Any", argument))
        if array.dtype == spec.numpy_dtype and spec.fits(array.shape):
            return array
        actual, hint = f"{array.dtype}{list(array.shape)}", spec.misfit(array.shape)
    else:
        actual, hint = type(cast("object", argument)).__name__, f"; numpy.asarray(..., {spec.numpy_dtype.name!r}) makes one"
    message = f"{what}: expected a NumPy array of {spec.numpy_dtype}[{', '.join(map(str, spec.shape))}], found {actual}{hint}"
    raise error("E2001", message, expected=str(spec), actual=actual)


def _is_masked(array: object) -> bool:
    """Return whether some elements do not count; where `numpy.ma`, which is slow to load, is not loaded, none are."""
    masks = sys.modules.get("numpy.ma")
    return masks is not None and isinstance(array, masks.MaskedArray)


def checked(out: Any, outputs: Sequence[TensorSpec], what: str) -> Sequence[Array]:
    """
    The arrays for `outputs`: `out` itself for one, else as many in a tuple or a list.

    E2001 unless each is a writeable array of the declared dtype and shape whose elements are all apart, and no two of them share
    memory.
    """
    if len(outputs) == 1 and not isinstance(out, tuple | list):
        arrays: list[Any] = [out]
    elif isinstance(out, tuple | list):
        arrays = list(cast("Sequence[Any]", out))
    else:
        raise _wrong(what, f"{len(outputs)} arrays in a tuple", type(out).__name__)
    if len(arrays) != len(outputs):
        raise _wrong(what, f"{len(outputs)} arrays", f"{len(arrays)}")
    for i, (given, spec) in enumerate(zip(arrays, outputs, strict=True)):
        expected = f"a writeable NumPy array of {spec.numpy_dtype}[{', '.join(map(str, spec.shape))}]"
        if not isinstance(given, np.ndarray):
            raise _wrong(f"{what} {i}", expected, type(given).__name__)
        array: Array = cast("Any", given)
        if array.dtype != spec.numpy_dtype or not spec.fits(array.shape):
            raise _wrong(f"{what} {i}", expected, f"{array.dtype}{list(array.shape)}{spec.misfit(array.shape)}")
        if not array.flags.writeable:
            raise _wrong(f"{what} {i}", expected, "one that is read-only")
        if overlaps_itself(array):
            raise _wrong(f"{what} {i}", expected, "one whose elements share memory with each other")
        if any(np.may_share_memory(array, other) for other in arrays[:i]):
            raise _wrong(f"{what} {i}", "an array of its own memory", "one that shares memory with another")
    return arrays


def overlaps_itself(array: Array) -> bool:
    """
    Return whether two elements of an array share memory, which its strides alone decide.

    >>> from numpy.lib.stride_tricks import as_strided
    >>> room = np.zeros(12, np.float32)
    >>> [overlaps_itself(as_strided(room, (2, 3), strides)) for strides in ((12, 4), (4, 4), (8, 12), (0, 4))]
    [False, True, False, True]
    """
    if array.flags.c_contiguous or array.flags.f_contiguous or not array.size:
        return False
    steps = sorted((abs(step), n) for step, n in zip(array.strides, array.shape, strict=True) if n > 1)
    span, apart = array.itemsize, True
    for step, n in steps:
        apart = apart and step >= span  # each axis steps over all that the shorter steps reach
        span += (n - 1) * step
    if apart or array.nbytes > span:
        return not apart
    offsets: np.ndarray[Any, np.dtype[np.int64]] = np.zeros(1, np.int64)
    for step, n in steps:
        offsets = np.add.outer(offsets, step * np.arange(n, dtype=np.int64)).reshape(-1)
    return bool((np.diff(np.sort(offsets)) < array.itemsize).any())


def filled(arrays: Sequence[Array], results: Any, what: str, *, donated: bool = False) -> Any:
    """
    The arrays with results in them, as a call returns them; E2001 for a size that only the run could tell and is another.

    Results may have the memory of a `donated` argument, which one of the arrays may share.
    """
    found = list(cast("Sequence[Any]", results if isinstance(results, tuple) else [results]))
    for i, (array, result) in enumerate(zip(arrays, found, strict=True)):
        if array.shape != result.shape:
            raise _wrong(f"{what} {i}", f"an array of shape {list(result.shape)}", f"{list(array.shape)}")
    for i, result in enumerate(found if donated else ()):
        if any(np.may_share_memory(result, array) for array in arrays[:i]):  # which are written to before it is read
            found[i] = np.array(result)
    for array, result in zip(arrays, found, strict=True):
        np.copyto(array, result)
    return tuple(arrays) if isinstance(results, tuple) else arrays[0]


def _wrong(what: str, expected: str, actual: str) -> MindError:
    return error("E2001", f"{what}: expected {expected}, found {actual}", expected=expected, actual=actual)
