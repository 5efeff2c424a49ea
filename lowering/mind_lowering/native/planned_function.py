"""A prepared function whose launches are planned and whose memory is assigned: what its code is generated from."""

from __future__ import annotations

from xdsl.dialects.func import FuncOp

from mind_dialect.lazy_dataclass import dataclass

from ..launch.compute_ops import KernelOp
from .plan import NativePlan
from .steps import NativeStep
from .table import Table


@dataclass
class PlannedFunction:
    """A prepared function as launches, its kernels chosen and its memory assigned; `table` says where operands are."""

    func: FuncOp
    planner: NativePlan
    arena: int
    """Bytes of temporaries."""
    table: Table

    def bind(self, op: KernelOp) -> NativeStep:
        """Return the code object of a kernel, its buffers being the operands."""
        found = self.planner.kernels[op]
        for buffer, value in zip(found.buffers, op.operands[len(op.operands) - len(found.buffers) :], strict=True):
            buffer.value = value
        return found.step

    def place(self, op: KernelOp) -> NativeStep:
        """Return the code object of a kernel, its buffers being the operands, and where these are stated."""
        step = self.bind(op)
        for buffer in self.planner.kernels[op].buffers:
            buffer.location, buffer.is_new = self.table.location(buffer.address)
        return step
