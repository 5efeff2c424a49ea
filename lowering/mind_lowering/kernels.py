"""
The namespace `k` of lowered code: the kernels of PTIR, and what runs around them: constants, checks of dynamic dimensions, loops.

Kernels never write to their operands, but for those named with `_into` to their first. They keep the dtype of their operands,
scalars included, and never widen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import count
from typing import Any

import numpy as np

from mind_dialect.errors import MindError, error
from mind_dialect.ptir import OPS_BY_OPCODE, PtirLiteralAttr
from mind_dialect.ptir.types import dtype_named

from .custom_calls import run_custom_call
from .ptir_kernels.formats import Array, Ints, array_dtype
from .ptir_kernels.kernels import PtirKernels


class Kernels(PtirKernels):
    """The kernels over the array namespace `xp`."""

    # Constants: made once, read-only where the namespace can say so.

    def array(self, values: Any, dtype: Any) -> Array:
        """Nested lists as a constant."""
        return self._frozen(self.xp.array(values, dtype=dtype))

    def fill(self, value: Any, shape: Ints, dtype: Any) -> Array:
        """One number for every element."""
        return self.xp.broadcast_to(self.xp.array(value, dtype=dtype), shape)

    def literal(self, dtype: str, shape: tuple[int, ...], text: str) -> Array:
        """A constant of a dtype of the contract, from its row-major little-endian bytes in hexadecimal; one element fills."""
        data, kind = bytes.fromhex(text), dtype_named(dtype)
        whole = PtirLiteralAttr.from_bytes(kind, () if len(data) == kind.size else shape, data)
        made = self.constant(value=whole)
        return made if made.shape == shape else self.xp.broadcast_to(made.reshape(()), shape)

    def dtype(self, name: str) -> Any:
        """The array dtype of a contract name."""
        return _dtype(name)

    def complex(self, real: float, imaginary: float) -> complex:
        """A number whose parts may be no finite ones."""
        return complex(real, imaginary)

    def _frozen(self, x: Array) -> Array:
        if hasattr(x.flags, "writeable"):
            x.flags.writeable = False
        return x

    # Idioms

    def keep_positive(self, values: Array, x: Array) -> Array:
        """
        `values` where `x` is positive, else +0: NaN and -0 too give +0.

        A selection by bit masks: several times as fast as `where` on signs that a branch predictor cannot guess.
        """
        xp = self.xp
        bits = xp.int32 if x.dtype.itemsize == 4 else xp.int64
        mask = xp.asarray(x > 0).astype(bits)
        xp.negative(mask, out=mask)  # all ones or all zeros
        xp.bitwise_and(mask, values.view(bits), out=mask)
        return mask.view(x.dtype)

    def row_major(self, x: Array) -> Array:
        """`x`, copied if it is not in row-major order."""
        return self.xp.ascontiguousarray(x)

    # Loops

    def steps(self, *scanned: Array) -> range:
        """The steps of a scan; E8001 for inputs of different lengths."""
        lengths = [len(x) for x in scanned]
        if any(n != lengths[0] for n in lengths):
            raise _mismatch("scanned axis 0", lengths)
        return range(lengths[0])

    def iterations(self) -> Iterator[int]:
        """The iterations of a loop that ends by itself, for its random draws."""
        return count()

    def empty(self, scanned: Array, *, shape: tuple[int, ...], dtype: Any) -> Array:
        """Room for one value per step of a scan."""
        return self.xp.empty((len(scanned), *shape), dtype)

    # Dynamic dimensions

    def expect(self, x: Array, names: Sequence[str | int], sizes: Sequence[int | None]) -> None:
        """Raise E8001 (DynamicDimensionMismatch) unless the extents are the given ones; None allows any."""
        if len(x.shape) != len(sizes):
            raise _mismatch("the rank", [len(sizes), len(x.shape)])
        for i, (n, size) in enumerate(zip(x.shape, sizes, strict=True)):
            if size is not None and n != size:
                raise _mismatch(f"dimension {names[i]}", [size, n])

    def larger(self, a: int, b: int) -> int:
        """The larger of two sizes."""
        return max(a, b)

    def check(self, *operands: Array, op: str, **properties: Any) -> None:
        """Ask the shape rule of an op about the sizes that its operands have; raises the rule's error."""
        rule: Any = OPS_BY_OPCODE[op].RULE
        shapes = [tuple(x.shape) for x in operands]
        rule(*shapes, **properties)

    def custom_call(self, *operands: Array, target: str, attrs: dict[str, Any], dtypes: Sequence[Any]) -> Any:
        """Return what is registered under `target`; E8007 if nothing is."""
        return run_custom_call(self.xp, target, operands, attrs, dtypes)


@lru_cache(maxsize=64)
def _dtype(name: str) -> Any:
    return array_dtype(name)


def _mismatch(name: str, extents: Sequence[int]) -> MindError:
    message = f"{name} has the sizes {' and '.join(map(str, extents))}, expected one size"
    return error("E8001", message, name=name, extents=tuple(extents))


NUMPY = Kernels(np)
"""The kernels over NumPy."""
