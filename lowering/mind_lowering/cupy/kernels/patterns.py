"""
The table of CUDA kernels for the body of a fusion: an attention and its gradient, ops that are a kernel by themselves with what
computes their operands, and bodies that are elementwise, with or without reductions.

A row makes a schedule, which reads the body and emits nothing; the schedule that is chosen emits the kernel.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.ir import Block

from mind_dialect import ptir
from mind_dialect.ptir import PtirOp

from ...launch.kernel_patterns import Choice, Match, Rejection, Rejections, cheapest, moved_bytes
from ..products.attention import AttentionSchedule, is_attention
from ..products.attention_gradient import GradientSchedule, is_gradient
from ..products.convolution import ConvolutionSchedule
from .elementwise import ElementwiseSchedule
from .kernel import Schedule
from .reductions import reduction_schedule
from .scans import ScanSchedule
from .scatters import WindowScatterSchedule
from .segments import SegmentSchedule
from .unsupported import Unsupported
from .updates import AxisScatterSchedule, WindowUpdateSchedule, is_in_place
from .windows import WindowReductionSchedule


def _always(op: PtirOp, block: Block) -> bool:
    return True


def _reduces(op: ptir.ReduceOp | ptir.ArgMaxOp, block: Block) -> bool:
    """Return whether a reduction has axes; without any it is computed element by element."""
    return isinstance(op, ptir.ArgMaxOp) or bool(op.values()["axes"])


@dataclass(frozen=True)
class CudaPattern:
    """A row of the table of kernels: its name, the ops that it is about, and what makes a schedule of one in a body."""

    name: str
    ops: tuple[type[PtirOp], ...]
    schedule: Callable[[Any, Block], Schedule]
    """Return the schedule of an op in a body; raise Unsupported, which says why, if there is none."""
    is_about: Callable[[Any, Block], bool] = _always
    """Return whether the row is about an op where a body has it."""
    is_general: bool = False

    def match(self, op: PtirOp | None, block: Block) -> Match | Rejection:
        """Match the body of a fusion, for an op that the row is about; the cost is in bytes that are moved."""
        try:
            schedule = self.schedule(op, block)
        except Unsupported as reason:
            return Rejection(str(reason))
        return Match(moved_bytes([*schedule.body.inputs, *schedule.body.results]), schedule)


PATTERNS: Sequence[CudaPattern] = (
    CudaPattern("attention", (ptir.DotGeneralOp,), AttentionSchedule, lambda op, block: is_attention(block)),
    CudaPattern("gradient of attention", (ptir.DotGeneralOp,), GradientSchedule, lambda op, block: is_gradient(block)),
    CudaPattern("convolution", (ptir.ConvolutionOp,), ConvolutionSchedule),
    CudaPattern("scan", (ptir.CumulativeSumOp, ptir.CumulativeOp), ScanSchedule),
    CudaPattern("window update", (ptir.DynamicUpdateSliceOp,), WindowUpdateSchedule, is_in_place),
    CudaPattern("scatter along an axis", (ptir.ScatterReduceOp,), AxisScatterSchedule, is_in_place),
    CudaPattern("scatter of windows", (ptir.ScatterAddOp,), WindowScatterSchedule),
    CudaPattern("segments", (ptir.SegmentReduceOp,), SegmentSchedule),
    CudaPattern("windows", (ptir.ReduceWindowOp,), WindowReductionSchedule),
    CudaPattern("reduction", (ptir.ReduceOp, ptir.ArgMaxOp), reduction_schedule, _reduces),
)
"""All rows but that of elementwise bodies; a body is matched with the rows about that of its ops which comes first here."""

ELEMENTWISE = CudaPattern("elementwise", (), ElementwiseSchedule)
"""The row of bodies that no other row is about."""

ROWS: dict[type[PtirOp], list[CudaPattern]] = defaultdict(list)
"""The rows of each op, in the order of the table."""
for _row in PATTERNS:
    for _op in _row.ops:
        ROWS[_op].append(_row)
_RANK = {op: rank for rank, op in enumerate(ROWS)}


def choose(block: Block) -> Choice[CudaPattern] | Rejections:
    """Return the row that takes the body of a fusion, and its schedule; all rejections if none does."""
    found = [(op, row) for op in block.ops if isinstance(op, PtirOp) for row in ROWS.get(type(op), ()) if row.is_about(op, block)]
    op, _ = min(found, key=lambda pair: _RANK[type(pair[0])], default=(None, None))
    return cheapest([row for o, row in found if o is op] or [ELEMENTWISE], lambda row: row.match(op, block))


def schedule_of(block: Block) -> Schedule | None:
    """Return the schedule of the body of a fusion; None if it is no kernel."""
    chosen = choose(block)
    return chosen.match.schedule if isinstance(chosen, Choice) else None


def why_no_kernel(block: Block) -> str | None:
    """Return why the body of a fusion is no kernel; None if it is one."""
    chosen = choose(block)
    return None if isinstance(chosen, Choice) else chosen[-1][1].reason
