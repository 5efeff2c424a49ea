"""Custom calls of linear algebra that StableHLO has an op for: Cholesky factors and triangular systems."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xdsl.ir import SSAValue

from mind_dialect.ptir.types import SI32

from .attributes import attribute, flag
from .builder import StablehloBuilder, Values, shape_of
from .elementwise import Rule


def _cholesky(b: StablehloBuilder, op: Any, x: Values) -> SSAValue:
    """The factor, with zeros above the diagonal, where StableHLO leaves open what is; NaN for a matrix that has none."""
    shape = shape_of(x[0])
    found = b("cholesky", x[0], lower=flag(True))
    row, column = (b.iota(SI32, shape, len(shape) - n) for n in (2, 1))
    return b.select(b.compare("GE", row, column), found, b.like(0, found))


def _solve(lower: bool) -> Rule:
    properties = {
        "left_side": flag(True),
        "lower": flag(lower),
        "unit_diagonal": flag(False),
        "transpose_a": attribute("transpose", "NO_TRANSPOSE"),
    }
    return lambda b, op, x: b("triangular_solve", *x, like=x[1], **properties)


LINALG: Mapping[str, Rule] = {
    "mind.linalg.cholesky.v1": _cholesky,
    "mind.linalg.solve_lower.v1": _solve(lower=True),
    "mind.linalg.solve_upper.v1": _solve(lower=False),
}
"""
Rules of custom calls with one result, by target.

Those of `mind_passes.ptir.lu` become the ops that they mean; all others are refused.
"""
