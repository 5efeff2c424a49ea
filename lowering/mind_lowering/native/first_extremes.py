"""The search of windows for their first extremes, as a step, and the schedule of its loop nest (`extremes_loops.py`)."""

from __future__ import annotations

from collections.abc import Hashable

from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir import ReduceOp
from mind_dialect.ptir.types import Kind, read_type

from .groups import Group
from .schedule import UNROLL, NestSchedule
from .target_info import TargetInfo


@dataclass
class FirstExtremes(Group):
    """
    The first extreme of each window: its value, its index in the operand, or both.

    The inputs are the elements of the windows and, if indices are wanted, the index of each. The reductions are of these.
    """

    kind: str = "max"
    has_empty: bool = False
    """True if a window may be padding alone, whose index is -1."""

    @property
    def index(self) -> ReduceOp | None:
        """Return the op whose result is the indices, if they are wanted."""
        _, *index = self.inputs
        return next((op for op, _ in self.reductions if op.x in index), None)

    def key(self) -> Hashable:
        return super().key(), self.kind, self.has_empty

    def contents(self) -> str:
        windows = "x".join(map(str, self.shape[len(self.shape) // 2 :]))
        first, last = self.reductions[0][0], self.reductions[-1][0]
        what = "value" if self.index is None else "index" if first is last else "value and index"
        return f"{what} of the first {self.kind} of windows {windows} over {list(self.shape[: len(self.shape) // 2])}"


class ExtremesSchedule(NestSchedule):
    """The schedule of `FirstExtremes`: lanes are those of what the loops over places carry."""

    def __init__(self, host: TargetInfo, group: FirstExtremes):
        self.index = group.index
        super().__init__(host, group)

    def lane_count(self) -> int:
        carried = [next(iter(self.group.inputs)), *([] if self.index is None else [self.index.x])]
        dtypes = [read_type(value.type).dtype for value in carried]
        return self.host.lanes(max(max(4, d.size) if d.kind is Kind.FLOAT else d.size for d in dtypes))

    def vectors_in_iteration(self) -> int:
        return UNROLL if self.index is not None else self.host.registers // 2
