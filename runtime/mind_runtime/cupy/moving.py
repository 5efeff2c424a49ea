"""Counts of how often arrays of a program move from call to call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass
class Moving:
    """Counts how often the addresses of arguments or results change, and says which of them are copied."""

    copied: list[bool]
    first: list[int | None] = field(default_factory=list["int | None"])
    moved: list[bool] = field(default_factory=list[bool])

    @staticmethod
    def of(count: int) -> Moving:
        """For so many arrays."""
        return Moving([False] * count, [None] * count, [False] * count)

    def note(self, addresses: Sequence[int | None]) -> None:
        """Take note of where they are now."""
        for i, address in enumerate(addresses):
            if address is not None:
                if self.first[i] is None:
                    self.first[i] = address
                self.moved[i] |= self.first[i] != address

    def settle(self) -> None:
        """Copy from now on what has moved."""
        self.copied = [c or m for c, m in zip(self.copied, self.moved, strict=True)]
