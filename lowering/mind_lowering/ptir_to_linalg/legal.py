"""Ops of PTIR that the target cannot say, each with the reason."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import Operation

from mind_dialect import ptir
from mind_dialect.ptir import PtirOp
from mind_dialect.ptir.legal import COMPLEX
from mind_dialect.ptir.types import ALL

from ..conversion import LegalitySpec
from ..divisors import is_never_zero
from . import control, reductions, structural
from .scalars import is_integer

CONVERTED: tuple[type[PtirOp], ...] = (*structural.RULES, *reductions.RULES, *control.RULES)
"""Every op with a rule."""

_IN_RANGE = (
    "an index out of range must be rejected, which these dialects cannot express; assume-in-range promises that there is none"
)
_SCATTER = "scatters combine in the order of the updates, and reject indices out of range"
REFUSED: Mapping[type[PtirOp], str] = {
    ptir.ScatterAddOp: _SCATTER,
    ptir.ScatterReduceOp: _SCATTER,
    ptir.ScatterWindowsOp: _SCATTER,
    ptir.GatherWindowsOp: "its dimension numbers are general; take and gather have rules",
    ptir.WindowArgOp: "padding never wins, which a reduction of values and indices cannot express",
    ptir.FftOp: "linalg has no fast transform",
    ptir.SegmentReduceOp: _SCATTER,
    ptir.RngUniformOp: "its random numbers depend on the seed of a run",
    ptir.RngNormalOp: "its random numbers depend on the seed of a run",
    ptir.TopKOp: "linalg has no sort",
    ptir.SortOp: "linalg has no sort",
    **dict.fromkeys((ptir.ErfInvOp, ptir.LgammaOp, ptir.DigammaOp), "math has no such function"),
    **dict.fromkeys(ptir.COMPLEX_OPS, "complex numbers are not converted"),
    ptir.CustomCallOp: "its function is registered by name",
}
"""The ops without a rule."""


def refusal(op: Operation, in_range: bool) -> str | None:
    """Return the reason why an op is not legal. `in_range` promises indices in range and integer divisors other than 0."""
    if isinstance(op, PtirOp) and type(op) in REFUSED:
        return f"operation {op.name} is not allowed: {REFUSED[type(op)]}"
    if isinstance(op, ptir.TakeOp | ptir.GatherOp) and not in_range:
        return f"operation {op.name} is not allowed: {_IN_RANGE}"
    if isinstance(op, ptir.DivOp | ptir.RemainderOp):
        return _division(op, in_range)
    return None


def _division(op: ptir.DivOp | ptir.RemainderOp, in_range: bool) -> str | None:
    if not is_integer(op.operand_spec(0).dtype):
        missing = "xDSL 0.74 has no arith.remf, and fmod has no exact form in arith"
        return f"operation {op.name} on floats is not allowed: {missing}" if isinstance(op, ptir.RemainderOp) else None
    if in_range or is_never_zero(op.operands[1]):
        return None
    reason = "an integer divisor of 0 must be rejected, which these dialects cannot express"
    return f"operation {op.name} is not allowed: {reason}; a constant divisor without 0 is legal, and so is assume-in-range"


def specification(in_range: bool) -> LegalitySpec:
    """Static sizes, every dtype that is not complex, every op with a rule or a reason."""
    spec = LegalitySpec(refuses=lambda op: refusal(op, in_range))
    dtypes = [d for d in ALL if d not in COMPLEX]
    return spec.with_dynamic_dims(False).allow_dtypes(dtypes).allow_ops((*CONVERTED, *REFUSED))
