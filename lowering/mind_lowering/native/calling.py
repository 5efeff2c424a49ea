"""
The call of a kernel by an entry: the table of its arguments, and what a failure of it is to the whole program.

This is the one place where a kernel is called: at once, or by the pool, whose functions' addresses are in the record.
"""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import SSAValue

from ..launch.compute_ops import KernelOp
from . import costs
from .failures import FailureSite, Sites
from .ir import Function, identifier, symbol
from .lowered import TimedKernel
from .record import MOST_CHUNKS, Record
from .steps import NativeKernel, NativeStep
from .table import ARENA_PLACE, Table, spot
from .target_info import TargetInfo
from .timing import Timer
from .views import Buffer, View
from .within import are_first, counts_within, product, units_within, within_function

SHARED = 20_000
"""Nanoseconds of work from which on threads share it."""
POLLED = 1_000_000
"""Nanoseconds of work after which to look for signals."""
CHUNKS, SHORTEST, LONGEST = 64, 5_000, 50_000
"""Number of chunks to cut work into, and the nanoseconds that one should take: short to share it well, not too short to claim."""


def chunk(units: int, cost: float) -> int:
    """
    Return the number of units in a chunk of a kernel that takes `cost` nanoseconds in all.

    >>> chunk(1000, 1e6), chunk(10, 1e9), chunk(10**9, 1e9), chunk(1000, 2e4)
    (15, 1, 50000, 250)
    """
    wanted = min(max(cost / CHUNKS, SHORTEST), LONGEST)
    return max(1, int(units * wanted / max(cost, 1)), -(-units // MOST_CHUNKS))


def _timed(kernel: NativeKernel, step: NativeStep, origin: LocationAttr) -> TimedKernel:
    return TimedKernel(f"@{kernel.name}: {step.contents()}", origin, costs.traffic(step.addresses), step.flops)


class Calls:
    """
    The calls of kernels in one function, whose parameter `%buffers` is the table of addresses.

    It begins in the first block of the function; `words` is how many arguments a kernel has at most. With a `timer` each call is
    timed.
    """

    def __init__(self, f: Function, host: TargetInfo, sites: Sites, table: Table, words: int, timer: Timer | None = None):
        self.f = f
        self.table = table
        self.host = host
        self.sites = sites
        self.timer = timer
        self._table = f.op(f"alloca [{1 + words} x ptr], align 64", "args")
        self.record = f.op("load ptr, ptr %buffers, align 8", "record")
        f.do(f"store ptr {self.record}, ptr {self._table}, align 8")
        polled = f.address("i64", self.record, str(int(Record.POLLED)), "polled")
        f.do(f"store i64 0, ptr {polled}, align 8")
        self._since = 0.0
        self.bases: dict[tuple[int, int], str] = {}
        """Addresses that are known here, by entry of the table and offset in bytes; what a branch finds is not known after it."""
        self.moving: dict[SSAValue, str] = {}
        """Current addresses that move from iteration to iteration of a loop, and induction variables."""
        self._within: dict[tuple[str, tuple[int, ...]], str] = {}

    def call(self, kernel: NativeKernel, step: NativeStep, op: KernelOp) -> None:
        """
        Run a kernel for its units within limits; where it fails, leave the function with the program's number of the failure.

        Kernels of much work go through the pool; the others are called at once, with a look for signals now and then.
        """
        f = self.f
        for i, view in enumerate(step.addresses if kernel.own else ()):
            f.do(f"store ptr {self.address(view)}, ptr {f.address('ptr', self._table, str(1 + i), 'arg')}, align 8")
        given = self._table if kernel.own else "%buffers"
        cost = step.cost(self.host)
        name, units, more = self._limited(kernel, step, op) if op.sizes else (kernel.name, str(kernel.units), 0)
        shared = cost >= SHARED and kernel.units > 1

        def run() -> str:
            if not shared:
                return f.op(f"call i64 {symbol(name)}(ptr {given}, i64 0, i64 {units})", "status")
            words = 0 if not kernel.sites else 1 + len(step.addresses) + more if kernel.own else -1
            caches = costs.traffic(step.addresses) // self.host.l2_bytes
            parts = f"ptr {symbol(name)}, ptr {given}, i64 {units}, i64 {chunk(kernel.units, cost)}, i64 {words}, i64 {caches}"
            return f.op(f"call i64 {self.function(Record.SHARE)}({parts}, ptr {self.record})", "status")

        status = run() if self.timer is None else self.timer.around(f, _timed(kernel, step, op.location), run)
        if kernel.sites or kernel.polls or shared:
            first = len(self.sites.found)
            self.sites.found += [FailureSite(failure, step.sources[i] if i >= 0 else None) for failure, i in kernel.sites]
            failed = f.op(f"icmp ne i64 {status}, 0", "failed")
            f.leave(failed, lambda: self._numbered(status, first if kernel.sites else 0, shared or kernel.polls))
        self._since = 0 if shared else self._since + cost
        if self._since > POLLED:
            self.poll()

    def _limited(self, kernel: NativeKernel, step: NativeStep, op: KernelOp) -> tuple[str, str, int]:
        """Return the function that runs a kernel within limits, how many units it has, and how many arguments more."""
        f, grid, limits = self.f, op.word("grid"), op.word("limits")
        assert prod(grid) == kernel.units, f"{op} is planned as it is emitted: {kernel.units}"
        sizes = [f.op(f"load i64, ptr {self.at(size)}, align 8", "size") for size in op.sizes]
        found = units_within(f, grid, limits, sizes)
        units = product(f, counts_within(grid, found))
        if are_first(grid, found):
            return kernel.name, units, 0
        first, axes = len(step.addresses), tuple(found)
        for i, count in enumerate(found.values()):
            f.do(f"store i64 {count}, ptr {f.address('ptr', self._table, str(1 + first + i), 'arg')}, align 8")
        known = self._within.get((kernel.name, axes))
        if known is None:
            known = self._within[kernel.name, axes] = within_function(f.module, kernel.name, grid, axes, first)
        return known, units, len(found)

    def poll(self) -> None:
        """Look for signals, if it is time; where one ends the call, leave the function. For loops, and between many kernels."""
        f = self.f
        found = f.op(f"call i64 {self.function(Record.POLL)}(ptr {self.record})", "found")
        f.leave(f.op(f"icmp ne i64 {found}, 0", "interrupted"), lambda: found)
        self._since = 0

    def function(self, place: Record) -> str:
        """The address of a function of the pool."""
        return self.f.op(f"load ptr, ptr {self.f.address('i64', self.record, str(int(place)))}, align 8", place.name.lower())

    def _numbered(self, status: str, first: int, interrupted: bool) -> str:
        """A status of a kernel as one of the program: that of a signal is the same for both."""
        f = self.f
        number = f.add(status, str(first))
        if not interrupted or number == status:
            return number
        return f.op(f"select i1 {f.op(f'icmp slt i64 {status}, 0', 'ended')}, i64 {status}, i64 {number}", "status")

    def address(self, view: View) -> str:
        """Return the address of the first element of a view of an operand of the kernel that is called."""
        assert isinstance(view.base, Buffer), "a view of memory"
        return self.at(view.base.address, view.offset * view.dtype.size)

    def at(self, value: SSAValue, offset: int = 0) -> str:
        """Return an address of the launches, and bytes from there."""
        f, bases = self.f, self.bases
        found, more = spot(value)
        hint = identifier(found.name_hint or "p")
        if found in self.moving:
            return f.address("i8", self.moving[found], str(offset + more), hint)
        memory = self.table.memory(value)
        key = memory.place, memory.offset + offset
        if key not in bases:
            if (memory.place, 0) not in bases:
                entry = f.address("ptr", "%buffers", str(memory.place), "entry")
                first = "arena" if memory.place == ARENA_PLACE else hint
                bases[memory.place, 0] = f.op(f"load ptr, ptr {entry}, align 8", first)
            bases[key] = f.address("i8", bases[memory.place, 0], str(key[1]), hint)
        return bases[key]
