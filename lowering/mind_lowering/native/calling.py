"""
How an entry calls a kernel: the table of its arguments, and what a failure of it is to the whole program.

This is the one place where a kernel is called. Here a pool of threads would share its units.
"""

from __future__ import annotations

from collections.abc import Collection

from .failures import Site, Sites
from .ir import Function, identifier, symbol
from .steps import Kernel, NativeStep
from .views import Buffer, Use, View


class Calls:
    """
    The calls of kernels in one function, whose parameter `%buffers` is the table of addresses.

    It begins in the first block of the function; `steps` are all that it will be asked for.
    """

    def __init__(self, f: Function, sites: Sites, steps: Collection[NativeStep]):
        self.f = f
        self.sites = sites
        most = max((len(step.addresses) for step in steps), default=0)
        self._table = f.op(f"alloca [{1 + most} x ptr], align 64", "args")
        f.do(f"store ptr {f.op('load ptr, ptr %buffers, align 8', 'record')}, ptr {self._table}, align 8")
        self.bases: dict[tuple[int, int], str] = {}
        """Addresses that are known here, by entry of the table and offset in bytes; what a branch finds is not known after it."""

    def call(self, kernel: Kernel, step: NativeStep) -> None:
        """Run a kernel for all of its units; where it fails, leave the function with the program's number of the failure."""
        f = self.f
        for i, view in enumerate(step.addresses if kernel.own else ()):
            f.do(f"store ptr {self.address(view)}, ptr {f.address('ptr', self._table, str(1 + i), 'arg')}, align 8")
        given = self._table if kernel.own else "%buffers"
        status = f.op(f"call i64 {symbol(kernel.name)}(ptr {given}, i64 0, i64 {kernel.units})", "status")
        if kernel.sites:
            first = len(self.sites.found)
            self.sites.found += [Site(failure, step.sources[i] if i >= 0 else None) for failure, i in kernel.sites]
            failed = f.op(f"icmp ne i64 {status}, 0", "failed")
            f.leave(failed, lambda: f.add(status, str(first)))

    def address(self, view: View) -> str:
        """Where the first element of a view is."""
        f, buffer, bases = self.f, view.base, self.bases
        assert isinstance(buffer, Buffer), "a view of memory"
        offset = (buffer.offset if buffer.use is Use.ARENA and buffer.over is None else 0) + view.offset * view.dtype.size
        key = (buffer.place, offset)
        if key not in bases:
            if (buffer.place, 0) not in bases:
                entry = f.address("ptr", "%buffers", str(buffer.place), "entry")
                hint = "arena" if buffer.place == 1 else identifier(buffer.name or "p")
                bases[buffer.place, 0] = f.op(f"load ptr, ptr {entry}, align 8", hint)
            bases[key] = f.address("i8", bases[buffer.place, 0], str(offset), identifier(buffer.name or "p"))
        return bases[key]
