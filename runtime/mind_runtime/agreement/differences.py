"""
Differences between results of two executors: one table of tolerances by dtype, none of them for a single case.

Executors add in different orders and compute functions with different roundings. A float may differ by the tolerance of its
dtype, times the square root of the longest sum of the program, relative to the largest finite magnitude of its tensor.
Integers, truth values, NaNs and infinities must be equal.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from math import isqrt, prod
from typing import Any

import numpy as np
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from mind_dialect.dominance import walk
from mind_dialect.types import DType
from mind_lowering.memory_need import Sizes, extents

TOLERANCES: dict[str, float] = {
    "f64": 1e-9,
    "f32": 1e-5,
    "f16": 1e-2,
    "bf16": 2e-2,
    "fp8_e4m3": 0.125,
    "fp8_e5m2": 0.25,
    "cf64": 1e-9,
    "cf32": 1e-5,
}
"""By dtype; one that is absent is compared exactly."""


@dataclass(frozen=True)
class Difference:
    """
    Two tensors compared: the element that differs most, in units of what is allowed.

    `ratio` is at most 1 where the tensors agree; infinite where a type, NaN, infinity or integer differs.
    """

    ratio: float
    error: float = 0.0
    index: tuple[int, ...] = ()
    values: tuple[Any, Any] = (None, None)
    issue: str = ""

    @property
    def agrees(self) -> bool:
        """Return whether every element is within its tolerance."""
        return self.ratio <= 1

    def __str__(self) -> str:
        if self.issue:
            return self.issue
        place = f" at [{', '.join(map(str, self.index))}]" if self.index else ""
        return f"{self.values[0]} and {self.values[1]}{place}, {self.ratio:.2g} times the difference allowed"


def compare(left: Any, right: Any, tolerance: float) -> Difference:
    """Compare two arrays; `tolerance` is relative to the largest finite magnitude in either, 0 for equality."""
    if (left.dtype, left.shape) != (right.dtype, right.shape):
        return Difference(math.inf, issue=f"{left.dtype}{list(left.shape)} and {right.dtype}{list(right.shape)}")
    if not left.size:
        return Difference(0.0)
    if left.dtype.kind in "biu" or left.dtype.name in ("int4", "uint4"):
        return _exact(left, right)
    wide = np.complex128 if left.dtype.kind == "c" else np.float64
    a, b = np.asarray(left, wide), np.asarray(right, wide)
    with np.errstate(all="ignore"):
        finite = np.isfinite(a) & np.isfinite(b)
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        scale = max((float(np.max(np.abs(x[finite]))) for x in (a, b)), default=0.0) if finite.any() else 0.0
        apart = np.where(same, 0.0, np.where(finite, np.abs(a - b), np.inf))
        allowed = tolerance * scale
        ratios = np.where(apart == 0, 0.0, apart / allowed if allowed else np.inf)
    return _worst(left, right, ratios, apart)


def _exact(left: Any, right: Any) -> Difference:
    apart = np.where(left == right, 0.0, np.inf)
    return _worst(left, right, apart, apart)


def _worst(left: Any, right: Any, ratios: Any, apart: Any) -> Difference:
    index = tuple(map(int, np.unravel_index(int(np.argmax(ratios)), ratios.shape)))
    return Difference(float(ratios[index]), float(apart[index]), index, (left[index], right[index]))


def tolerance_of(dtype: DType, terms: int) -> float:
    """Return what a result of a dtype may differ by where the longest sum of its program has so many terms."""
    return TOLERANCES.get(dtype.name, 0.0) * math.sqrt(max(1, terms))


def longest_sum(func: FuncOp, sizes: Sizes) -> int:
    """
    Return a bound on how many terms an element of a tensor of the function sums up, or 1.

    An op sums at most as many elements as it reads for each that it writes; of a product, as many as two operands share.
    `sizes` gives the named dimensions.
    """
    return max((_terms(op, sizes) for op in walk(func) if op.results and op.operands), default=1)


def _terms(op: Operation, sizes: Sizes) -> int:
    read = [prod(extents(value.type, sizes)) for value in op.operands]
    if op.name in PRODUCTS:
        return isqrt(read[0] * read[1] // max(1, prod(extents(op.results[0].type, sizes))))
    if op.name in ACCUMULATING:
        return max(read[1:], default=read[0])
    return max(read) // max(1, *(prod(extents(value.type, sizes)) for value in op.results))


PRODUCTS = ("ptir.dot_general",)
ACCUMULATING = (
    *("ptir.cumulative_sum", "ptir.convolution", "ptir.scatter_add", "ptir.scatter_reduce", "ptir.scatter_windows"),
    "ptir.segment_reduce",
)
"""Ops of which an element may sum up all elements of an operand after the first, or of the only one."""


def worst(differences: Sequence[Difference]) -> int:
    """Return the position of the difference with the greatest ratio."""
    return max(range(len(differences)), key=lambda i: differences[i].ratio)
