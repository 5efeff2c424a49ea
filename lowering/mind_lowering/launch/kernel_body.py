"""The bodies of kernels: those of fusions, moved."""

from __future__ import annotations

from xdsl.ir import Block

from mind_dialect.ptir import FusionOp

from .control_ops import YieldOp


def body_of_fusion(op: FusionOp) -> Block:
    """Return the block of a fusion as the body of a kernel; the fusion has none any more."""
    block = op.body.block
    op.body.detach_block(block)
    last = block.last_op
    assert last is not None, "verified"
    yielded = list(last.operands)
    last.detach()
    last.erase()
    block.add_op(YieldOp(yielded))
    return block
