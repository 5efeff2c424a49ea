"""
Failures of native code while it runs, and how it reports them.

A kernel returns 0, or 1 plus the number of a `FailureSite`: the op that failed and how. Numbers that belong to the failure, such
as the dividend, are left in the record, the first entry of a kernel's arguments. The runtime makes the coded error.
"""

from __future__ import annotations

from dataclasses import field
from enum import Enum

from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir import PtirOp

RECORD_NUMBERS = 4
"""Number of 64-bit integers that the record holds."""


class Failure(Enum):
    """The kinds of failures."""

    DIVISION = "an integer divided by zero"
    INDEX = "an index out of bounds"
    PROMISE = "ids that are not as an op promises"
    SINGULAR = "a matrix without an inverse or a factor"
    OUTSIDE = "a place outside of the memory of a value"


@dataclass(frozen=True)
class FailureSite:
    """An op that can fail, and how; none where the compiler is at fault."""

    failure: Failure
    op: PtirOp | None


@dataclass
class Sites:
    """The sites of a program, by number."""

    found: list[FailureSite] = field(default_factory=list[FailureSite])

    def add(self, failure: Failure, op: PtirOp | None) -> int:
        """The status that means a failure of `op`."""
        self.found.append(FailureSite(failure, op))
        return len(self.found)
