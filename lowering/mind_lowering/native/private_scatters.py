"""
Scatters into private tables: each part of the updates has tables of its own, which another kernel folds.

Where the order of updates does not matter, as in counts and sums of integers, threads share the updates so. Each part fills
several tables in turn, so that updates of one place do not wait for each other. The tables are no result: indices are checked
on the way, and a failure leaves nothing half done.
"""

from __future__ import annotations

from .casts import cast
from .failures import Failure, Sites
from .ir import Function
from .kernel_steps import PrivateScatter
from .kernel_text import fail_where
from .lanes import Lanes, register
from .nest import Axis
from .places import Place, Places
from .reductions import identity_of
from .scatters import combined
from .target_info import TargetInfo

VECTOR = 16
"""Updates of one iteration: a multiple of the tables."""


def emit_private_scatter(f: Function, host: TargetInfo, step: PrivateScatter, sites: Sites) -> int:
    """Emit a scatter into private tables; how many units of work it has: its parts."""
    return _PrivateLoops(f, host, step, sites).emit()


class _PrivateLoops(Places):
    def __init__(self, f: Function, host: TargetInfo, step: PrivateScatter, sites: Sites):
        views = [step.updates, step.column.index, step.tables]
        (n,), strides = step.updates.shape, [step.updates.strides[0], step.column.index.strides[0], 1]
        super().__init__(f, host, sites, [Axis(n, True, strides)])
        self.step, self.along, self.width = step, 0, VECTOR
        self.dtype, (self.parts, self.banks, self.count) = step.tables.dtype, step.tables.shape
        self.size = -(-n // self.parts // VECTOR) * VECTOR
        """Updates of a part; those of the last one may be fewer."""
        self.updates, self.index, self.tables = self.spots(views, ["update", "index", "table"])
        self.offsets_of = f.op(f"alloca [{VECTOR} x i64], align 64", "offsets")
        """Address of the offsets of an iteration: those that were checked, whatever becomes of the indices in memory."""

    def emit(self) -> int:
        """Emit the loop over parts."""
        f, n = self.f, self.extent
        full, update, index = n - n % VECTOR, self.place(self.updates, {}), self.place(self.index, {})

        def part(u: str) -> None:
            start = f.mul(u, self.banks * self.count)
            table = Place(self.tables, f.address(register(self.dtype), self.tables.base, start), start)
            self.fill(table)
            low = f.mul(u, self.size)
            high = f.add(low, str(self.size))
            for i in f.each(low, f.least(high, str(full)), VECTOR, hint="x"):
                self.some(update, index, table, i, VECTOR)
            if full < n:
                last = f.op(f"icmp eq i64 {u}, {self.parts - 1}", "last")
                f.when(last, lambda: self.some(update, index, table, str(full), n - full))

        for u in f.each("%begin", "%end", hint="part"):
            part(u)
        f.ret("0")
        return self.parts

    def fill(self, table: Place) -> None:
        """Emit stores of the value that combining begins with to all tables of a part."""
        width, elements = self.host.lanes(self.dtype.size), self.banks * self.count
        number = identity_of("sum" if self.step.kind == "add" else self.step.kind, self.updates.view.dtype)
        full = elements - elements % width

        def stores(low: int, high: int, lanes: Lanes) -> None:
            for i in self.f.each(str(low), str(high), lanes.width):
                self.guard(table, i, lanes)
                lanes.store(self.dtype, lanes.constant(self.dtype, number), table.text, i, 1)

        stores(0, full, Lanes(self.f, self.host, width))
        stores(full, elements, Lanes(self.f, self.host, 1))

    def some(self, update: Place, index: Place, table: Place, first: str, count: int) -> None:
        """Emit the check of some indices and their updates."""
        f, column, lanes = self.f, self.step.column, self.lanes(count % VECTOR)
        found = lanes.convert("sext", register(column.index.dtype), "i64", self.read(index, first, lanes))
        outside = lanes.compare("icmp uge", "i64", found, lanes.number("i64", column.limit))
        numbers = [("i64", found, True), *(("i64", lanes.number("i64", v), True) for v in (column.axis, column.window))]
        fail_where(lanes, self.sites, outside, Failure.INDEX, self.step.op, numbers)
        f.do(f"store {lanes.of('i64')} {found}, ptr {self.offsets_of}, align 64")
        one = Lanes(f, self.host, 1, hint="update")
        for i in range(count):
            x = cast(one, self.read(update, f.add(first, str(i)), one), self.updates.view.dtype, self.dtype)
            offset = f.op(f"load i64, ptr {f.address('i64', self.offsets_of, str(i))}, align 8", "offset")
            place = f.add(offset, str(i % self.banks * self.count))
            self.guard(table, place, one)
            old = one.load(self.dtype, table.text, place, 1)
            one.store(self.dtype, combined(one, self.step.kind, self.dtype, old, x), table.text, place, 1)
