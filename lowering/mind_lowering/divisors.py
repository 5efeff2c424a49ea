"""Facts about divisors that are known before a run."""

from __future__ import annotations

from xdsl.ir import SSAValue

from mind_dialect import ptir


def is_never_zero(value: SSAValue) -> bool:
    """Return whether a value is a constant without any 0, moved or repeated perhaps."""
    op = value.owner
    while isinstance(op, ptir.BroadcastToOp | ptir.ReshapeOp | ptir.TransposeOp | ptir.StopGradientOp):
        op = op.operands[0].owner
    return isinstance(op, ptir.ConstantOp) and all(v != 0 for v in op.literal.values())
