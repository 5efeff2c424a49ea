"""
Counters around the kernels of an entry, for a program that is lowered to be timed; no other program has them.

An entry of the table of addresses leads to two words for each call of a kernel: the nanoseconds that its runs took, and how many
there were. A kernel in a loop has one pair for all iterations, and one whose threads share it counts from its start to its end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from mind_dialect.lazy_dataclass import dataclass

from .ir import Function
from .lowered import TimedKernel

NANOSECONDS, RUNS = 0, 1
"""The words of a kernel."""
WORDS = 2
MONOTONIC = 1
"""The number of a clock of Linux."""


@dataclass
class Timer:
    """The calls of kernels that are timed so far; `place` is their entry of the table."""

    place: int
    kernels: list[TimedKernel] = field(default_factory=list[TimedKernel])

    def around(self, f: Function, kernel: TimedKernel, call: Callable[[], str]) -> str:
        """Emit a call of a kernel between two reads of the clock, and return its status."""
        first = WORDS * len(self.kernels)
        self.kernels.append(kernel)
        start = read_clock(f)
        status = call()
        elapsed = f.op(f"sub i64 {read_clock(f)}, {start}", "elapsed")
        times = f.op(f"load ptr, ptr {f.address('ptr', '%buffers', str(self.place), 'entry')}, align 8", "times")
        for word, more in ((NANOSECONDS, elapsed), (RUNS, "1")):
            counter = f.address("i64", times, str(first + word), "counter")
            f.do(f"store i64 {f.add(f.op(f'load i64, ptr {counter}, align 8', 'before'), more)}, ptr {counter}, align 8")
        return status


def read_clock(f: Function) -> str:
    """Emit a read of Linux's monotonic clock, in nanoseconds, by a function of the module."""
    name = "now"
    if name not in f.module.functions:
        emit_clock(f.module.function(name, "i64", ()))
    return f.op(f"call i64 @{name}()", "now")


def emit_clock(f: Function) -> None:
    """Emit the body of a function that returns the time of Linux's monotonic clock in nanoseconds."""
    time = f.op("alloca [2 x i64], align 16", "time")
    f.call("clock_gettime", "i32", ("i32", str(MONOTONIC)), ("ptr", time))
    seconds = f.op(f"load i64, ptr {time}, align 8", "seconds")
    rest = f.op(f"load i64, ptr {f.address('i64', time, '1')}, align 8", "rest")
    f.ret(f.add(f.mul(seconds, 1_000_000_000), rest))
