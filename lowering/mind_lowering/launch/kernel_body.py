"""The bodies of kernels: those of fusions, moved, and those of ops alone, copied."""

from __future__ import annotations

from xdsl.ir import Block

from mind_dialect.ptir import FusionOp, PtirOp

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


def body_of_op(op: PtirOp) -> Block:
    """Return the body of a kernel that is an op alone, which stays where it is."""
    block = Block(arg_types=op.operand_types)
    for argument, value in zip(block.args, op.operands, strict=True):
        argument.name_hint = value.name_hint
    alone = op.clone(dict(zip(op.operands, block.args, strict=True)))
    alone.operands = block.args
    block.add_ops([alone, YieldOp(alone.results)])
    return block
