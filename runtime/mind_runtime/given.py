"""
Arrays that a caller gives for the results of a call: `program(x, out=y)`.

They are held against the declared types before anything runs, and written to once everything has: whatever memory they share with
arguments, the results are those of a call without them. A target that can do so writes to them at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from mind_dialect.errors import MindError, error

if TYPE_CHECKING:
    from .program import TensorSpec

Array = Any


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
