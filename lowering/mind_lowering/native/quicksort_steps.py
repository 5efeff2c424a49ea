"""Sorts of long lines by pivots, as steps: which lines they are for, and their parts. The text is that of `quicksorts.py`."""

from __future__ import annotations

from collections.abc import Hashable
from math import prod

from mind_dialect.lazy_dataclass import dataclass

from .kernel_steps import Sort
from .memory import Access, buffers_of, rounded_up
from .sort_keys import Keys
from .target_info import TargetInfo

SHORT = 128
"""Keys of the longest parts that are sorted in lanes."""
PHASES = ("split", "parts", "finish")
PARTS = 4
"""Parts of a line."""
LONG = 1 << 15
"""Elements of a line that is sorted in parts."""
FEW_LINES = 4
"""More lines than these are enough work for threads."""
WORDS = 5
"""Words of a part in memory: where its keys are, where its room is, their number, the first rank, if its pivots were bad."""


@dataclass
class PartedSort(Sort):
    """One of the steps of a sort in parts: `split`, `parts` or `finish`."""

    phase: str = "split"

    @property
    def lines_in_all(self) -> int:
        """The number of lines."""
        return prod(n for a, n in enumerate(self.source.shape) if a != self.axis)

    @property
    def units(self) -> int:
        """The lines, or their parts."""
        return self.lines_in_all * (PARTS if self.phase == "parts" else 1)

    @property
    def table(self) -> int:
        """The bytes before the table of parts in the room of a line."""
        return 2 * sum(self.parts)

    @property
    def room_of_unit(self) -> int:
        """The bytes that a line needs."""
        return self.table + rounded_up(8 * (PARTS * WORDS + 1))

    def access(self) -> Access:
        """The split writes the room, the parts the results, of which the last step writes some again."""
        source, values, *room = buffers_of(self.addresses)
        if self.phase == "split":
            return Access([source], room)
        return Access(room if self.phase == "parts" else [source, values, *room], [values, *room])

    def cost(self, host: TargetInfo) -> float:
        """Some nanoseconds an element; next to nothing at the end."""
        return self.source.count * {"split": 2.0, "parts": 4.0, "finish": 0.01}[self.phase]

    def key(self) -> Hashable:
        return super().key(), self.phase

    def contents(self) -> str:
        return f"{super().contents()}, {self.phase}"


def is_sorted_in_parts(step: Sort, host: TargetInfo) -> bool:
    """Return whether the lines of a sort are few and long."""
    n = step.source.shape[step.axis]
    return sorts_by_pivots(step, host) and n >= LONG and step.source.count // n < FEW_LINES


def sorts_by_pivots(step: Sort, host: TargetInfo) -> bool:
    """Return whether lines are partitioned: keys of 32 or 64 bits without places, on machines that compress vectors."""
    bits = Keys(step.source.dtype, step.descending).bits
    return host.has_avx512 and step.keys_alone and bits >= 32 and step.source.shape[step.axis] > SHORT
