"""Agreement of programs, the pool and the runtime: the record of a call, statuses, and what an operating system has."""

from __future__ import annotations

from enum import IntEnum

from mind_dialect.lazy_dataclass import dataclass

from .failures import RECORD_NUMBERS


class Record(IntEnum):
    """Indices into the record of a call, behind the numbers of a failure."""

    SHARE = RECORD_NUMBERS
    """The address of `share`."""
    POLL = RECORD_NUMBERS + 1
    THREADS = RECORD_NUMBERS + 2
    """Most threads that may work on this call, the caller included."""
    POLLED = RECORD_NUMBERS + 3
    """Time at which handlers of signals could last run, in nanoseconds; 0 if that is not known."""
    RAISED = RECORD_NUMBERS + 4
    """Type, value and traceback of what a handler raised."""
    ENDED = RECORD_NUMBERS + 7
    """The address of a word that says whether a signal ended what threads work on; 0 where one works alone."""
    SEED = RECORD_NUMBERS + 8
    """Seed of random numbers."""
    WORDS = RECORD_NUMBERS + 9


INTERRUPTED = -1
"""The status of a call that a handler of a signal ended."""
LOST = -2
"""The status of a call that went on in a fork of its process: what workers had begun is lost."""
MOST_CHUNKS = 0xFFFF
MOST_THREADS = 256
FRONT, BACK, CLOSED = 1, 1 << 16, 0xFFFFFFFF
"""Ticket increments of taking a chunk from the front and from the back, and the lower half of a ticket with nothing left."""


@dataclass(frozen=True)
class System:
    """Facts on the operating system of a machine: the numbers of Linux's system calls, or no pool at all."""

    futex: int = 0
    gettid: int = 0
    pause: str = ""
    """The instruction that lets the core do something else for an instant, as LLVM calls it."""
    hint: int | None = None
    """Its argument."""

    @property
    def has_pool(self) -> bool:
        """Return whether there are workers."""
        return self.futex != 0


_LINUX = {"x86_64": System(202, 186, "llvm.x86.sse2.pause"), "aarch64": System(98, 178, "llvm.aarch64.hint", 1)}


def system_of(triple: str, platform: str) -> System:
    """The system of a machine with LLVM's name `triple` and Python's name `platform`: workers are for Linux."""
    found = _LINUX.get(triple.partition("-")[0])
    return found if found is not None and platform.startswith("linux") else System()


GLOBALS = {
    "ticket": "i64 4294967295",  # of job 0, which is closed
    "done": "i32 0",
    "waiting": "i32 0",
    "sleepers": "i32 0",
    "stop": "i32 0",
    "interrupted": "i32 0",
    "owner": "i32 0",
    "home": "i32 0",
    "workers": "i64 0",
    "refused": "i32 0",
    "fault.lock": "i32 0",
    "fault.chunk": "i64 0",
    "fault.status": "i64 0",
    "fault.numbers": f"[{RECORD_NUMBERS} x i64] zeroinitializer",
    "kernel": "ptr null",
    "args": "ptr null",
    "units": "i64 0",
    "size": "i64 0",
    "words": "i64 0",
    "alternates": "i64 0",
    "chunks": "i64 0",
    "most": "i64 0",
    "mode": "i64 0",
}
"""Globals that threads share. Ticket, done, waiting, stop, interrupted and those from `kernel` on are of the current job."""
APART = frozenset({"ticket", "done", "stop", "owner", "kernel"})
"""Each begins a cache line."""
