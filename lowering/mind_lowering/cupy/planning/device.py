"""The part of a plan that needs nothing from the host, so that a graph can hold it."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.ir import Operation

from ...launch.compute_ops import CallOp, KernelOp
from ...launch.control_ops import AtOp, ForOp, IfOp, WhileOp, YieldOp
from ...launch.memory_ops import AllocOp, CopyOp, ViewOp

MOST_UNROLLED = 4096
"""So many launches at most are a scan that is one graph, or iterations of a longer one that are one together."""
SILENT = (AllocOp, ViewOp, AtOp, YieldOp)
"""Ops that enqueue nothing."""


def is_device(op: Operation) -> bool:
    """Return whether an op needs nothing from the host, so that it can be captured."""
    match op:
        case CallOp():
            return op.sync is None
        case ForOp():
            return op.unrolled is not None and all_device(op.body.block.ops)
        case _:
            return isinstance(op, (KernelOp, CopyOp, *SILENT))


def all_device(ops: Iterable[Operation]) -> bool:
    """Return whether ops need nothing from the host."""
    return all(is_device(op) for op in ops)


def enqueued(ops: Iterable[Operation]) -> int:
    """Count launches, copies and calls; a scan is its iterations, another loop or a branch is one."""
    found = 0
    for op in ops:
        if isinstance(op, ForOp):
            found += op.trip_count * enqueued(op.body.block.ops)
        else:
            found += isinstance(op, KernelOp | CallOp | CopyOp | IfOp | WhileOp)
    return found
