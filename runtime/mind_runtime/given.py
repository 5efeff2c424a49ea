"""
Arrays that a caller gives, held against the types that a program declares: arguments, and places for results.

The latter, as in `program(x, out=y)`, are written to once everything has run: whatever memory they share with arguments, the
results are those of a call without them. A target that can do so writes to them at once.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from xdsl.ir import Attribute

from mind_dialect.errors import MindError, error
from mind_dialect.ptir_shapes import Dims
from mind_dialect.types import DType
from mind_lowering.ptir_kernels.formats import array_dtype

from .memory import read_any

Array = Any
_SIGNED = {"i32": "si32", "i64": "si64"}


@dataclass(frozen=True)
class TensorSpec:
    """What an input or output is: its name, dtype and dimensions, which may be names."""

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
        """Whether every dimension is a size."""
        return not any(isinstance(d, str) for d in self.shape)

    def fits(self, shape: Sequence[int]) -> bool:
        """Whether an array of `shape` has as many dimensions, and the sizes that are known."""
        return len(shape) == len(self.shape) and all(isinstance(d, str) or d == n for d, n in zip(self.shape, shape, strict=True))

    def __str__(self) -> str:
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]"


def admit(argument: Any, spec: TensorSpec, what: str) -> Any:
    """`argument` as a plain NumPy array; E2001 names `what` unless it has the dtype and shape of `spec`."""
    if isinstance(argument, np.ndarray | np.generic) and not _is_masked(cast("object", argument)):
        array: np.ndarray[Any, np.dtype[Any]] = np.asarray(cast("Any", argument))
        if array.dtype == spec.numpy_dtype and spec.fits(array.shape):
            return array
        actual, hint = f"{array.dtype}{list(array.shape)}", ""
    else:
        actual, hint = type(cast("object", argument)).__name__, f"; numpy.asarray(..., {spec.numpy_dtype.name!r}) makes one"
    message = f"{what}: expected a NumPy array of {spec.numpy_dtype}[{', '.join(map(str, spec.shape))}], found {actual}{hint}"
    raise error("E2001", message, expected=str(spec), actual=actual)


def _is_masked(array: object) -> bool:
    """Whether some elements do not count; where nobody has loaded `numpy.ma`, which is slow to load, none are."""
    masks = sys.modules.get("numpy.ma")
    return masks is not None and isinstance(array, masks.MaskedArray)


def checked(out: Any, outputs: Sequence[TensorSpec], what: str) -> Sequence[Array]:
    """
    The arrays for `outputs`: `out` itself for one, else as many in a tuple or a list.

    E2001 unless each is a writeable array of the declared dtype and shape, and no two of them share memory.
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
            raise _wrong(f"{what} {i}", expected, f"{array.dtype}{list(array.shape)}")
        if not array.flags.writeable:
            raise _wrong(f"{what} {i}", expected, "one that is read-only")
        if any(np.may_share_memory(array, other) for other in arrays[:i]):
            raise _wrong(f"{what} {i}", "an array of its own memory", "one that shares memory with another")
    return arrays


def filled(arrays: Sequence[Array], results: Any, what: str) -> Any:
    """The arrays with results in them, as a call returns them; E2001 for a size that only the run could tell and is another."""
    found = cast("Sequence[Any]", results if isinstance(results, tuple) else [results])
    for i, (array, result) in enumerate(zip(arrays, found, strict=True)):
        if array.shape != result.shape:
            raise _wrong(f"{what} {i}", f"an array of shape {list(result.shape)}", f"{list(array.shape)}")
    for array, result in zip(arrays, found, strict=True):
        np.copyto(array, result)
    return tuple(arrays) if isinstance(results, tuple) else arrays[0]


def _wrong(what: str, expected: str, actual: str) -> MindError:
    return error("E2001", f"{what}: expected {expected}, found {actual}", expected=expected, actual=actual)
