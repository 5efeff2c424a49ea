"""
Failures of native code while it runs, and how it reports them.

A kernel returns 0, or 1 plus the number of a `FailureSite`: the op that failed and how. Numbers that belong to the failure, such
as the dividend, are left in the record, the first entry of a kernel's arguments. The runtime makes the coded error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

from mind_dialect.ptir import PtirOp

from .lanes import Lanes

RECORD_NUMBERS = 4
"""Number of 64-bit integers that the record holds."""


class Failure(Enum):
    """The kinds of failures."""

    DIVISION = "an integer divided by zero"
    INDEX = "an index out of bounds"
    PROMISE = "ids that are not as an op promises"
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


def fail_where(
    lanes: Lanes, sites: Sites, bits: str, failure: Failure, op: PtirOp | None, numbers: Sequence[tuple[str, str, bool]]
) -> None:
    """
    Leave the kernel if any lane of `bits` that counts is true.

    `numbers` are the types, the vectors and the signedness of what to record of the first such lane.
    """
    f, wrong = lanes.function, lanes.active(bits)

    def status() -> str:
        record = f.op("load ptr, ptr %args, align 8", "record")
        lane = "0"
        if lanes.width > 1:
            mask = f.op(f"bitcast {lanes.of('i1')} {wrong} to i{lanes.width}", "wrong")
            first = f.call(
                f"llvm.cttz.i{lanes.width}", f"i{lanes.width}", (f"i{lanes.width}", mask), ("i1", "true"), immediate=(1,)
            )
            code = "zext" if lanes.width < 64 else "bitcast"
            lane = f.op(f"{code} i{lanes.width} {first} to i64", "lane")
        for i, (type, value, signed) in enumerate(numbers):
            one = lanes.extract(type, value, lane)
            if type != "i64":
                one = f.op(f"{'sext' if signed else 'zext'} {type} {one} to i64")
            f.do(f"store i64 {one}, ptr {f.address('i64', record, str(i))}, align 8")
        return str(sites.add(failure, op))

    f.leave(lanes.any(wrong), status)
