"""
Updates combined with what is at places that are data, in row-major order of the updates.

Indices are looked at first, by a kernel of their own, so that nothing has changed where one is wrong. Then each update is
combined in place. Axes along which updates never meet at one place have no order: threads share these.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

from mind_dialect.ptir import PtirOp
from mind_dialect.ptir.types import Kind, PtirDType

from .casts import cast
from .failures import Failure, Sites
from .ir import Function
from .kernel_text import argument, fail_where, patient
from .lanes import Lanes, register
from .memory import Access
from .ordered import Ordered
from .places import Place
from .reductions import extreme
from .steps import SharedStep
from .target_info import TargetInfo
from .views import Buffer, Lookup, View, form

VECTORS = 16
"""Vectors of updates in a unit of work."""


@dataclass(frozen=True)
class Column:
    """Indices along one axis of the operand: a view, how far the operand moves, and what windows of `window` may begin below."""

    index: View
    stride: int
    axis: int
    extent: int
    window: int = 1

    @property
    def limit(self) -> int:
        """Return the number of places that a window may begin at."""
        return self.extent - self.window + 1


@dataclass
class IndexCheck(SharedStep):
    """Fails where an index of an op is outside, and where ids that are promised to ascend, or to differ, do not."""

    name: str
    op: PtirOp
    columns: Sequence[Column]
    ascending: bool = False
    unique: View | None = None
    """A byte for each id, if they are promised to differ."""

    @property
    def sources(self) -> Sequence[PtirOp]:
        return [self.op]

    @property
    def addresses(self) -> Sequence[View]:
        return [*(c.index for c in self.columns), *([] if self.unique is None else [self.unique])]

    def access(self) -> Access:
        reads = [c.index.base for c in self.columns if isinstance(c.index.base, Buffer)]
        return Access(reads, [v.base for v in self.addresses[len(self.columns) :] if isinstance(v.base, Buffer)])

    def key(self) -> Hashable:
        columns = tuple([(form(c.index), c.axis, c.extent, c.window) for c in self.columns])
        return columns, self.ascending, self.unique is not None and self.unique.count

    def contents(self) -> str:
        return f"indices of {self.op.OPCODE}"

    def emit(self, f: Function, host: TargetInfo, sites: Sites) -> int:
        for i, column in enumerate(self.columns):
            _check(f, host, sites, self.op, column, argument(f, i, "index"))
        if self.ascending:
            _check_ascending(f, host, sites, self.op, self.columns[0].index)
        if self.unique is not None:
            seen = argument(f, len(self.columns), "seen")
            _check_unique(f, host, sites, self.op, self.columns[0].index, seen, self.unique.count)
        f.ret("0")
        return 1


def _check(f: Function, host: TargetInfo, sites: Sites, op: PtirOp, column: Column, base: str) -> None:
    """All indices of a column, in row-major order, some at once."""
    view = column.index
    *outer, n = view.shape or (1,)
    *strides, stride = view.strides or (0,)
    width = min(host.lanes(view.dtype.size), 1 << (n - 1).bit_length())

    def some(lanes: Lanes, start: str, index: str) -> None:
        x = lanes.load(view.dtype, base, f.add(start, f.mul(index, stride)), stride)
        wide = lanes.convert("sext", register(view.dtype), "i64", x)
        outside = lanes.compare("icmp uge", "i64", wide, lanes.number("i64", column.limit))
        numbers = [("i64", wide, True), *(("i64", lanes.number("i64", v), True) for v in (column.axis, column.window))]
        fail_where(lanes, sites, outside, Failure.INDEX, op, numbers)

    def lines(level: int, start: str) -> None:
        if level < len(outer):

            def iteration(i: str, /, *values: str) -> None:
                lines(level + 1, f.add(start, f.mul(i, strides[level])))

            f.loop("0", str(outer[level]), 1, iteration, hint="i")
            return
        full = n - n % width
        f.loop("0", str(full), width, lambda i, *_: some(Lanes(f, host, width), start, i), hint="x")
        if full < n:
            f.loop(str(full), str(n), 1, lambda i, *_: some(Lanes(f, host, 1), start, i), hint="x")

    if 0 not in view.shape:
        lines(0, "0")


def _check_ascending(f: Function, host: TargetInfo, sites: Sites, op: PtirOp, ids: View) -> None:
    base, one = argument(f, 0, "ids"), Lanes(f, host, 1)

    def iteration(i: str, /, *values: str) -> None:
        before, now = (one.load(ids.dtype, base, f.mul(f.add(i, str(k)), ids.strides[0]), 0) for k in (-1, 0))
        wrong = one.compare("icmp slt", register(ids.dtype), now, before)
        fail_where(one, sites, wrong, Failure.PROMISE, op, [("i64", "0", True)])

    patient(f, "1", str(ids.shape[0]), iteration)


def _check_unique(f: Function, host: TargetInfo, sites: Sites, op: PtirOp, ids: View, seen: str, count: int) -> None:
    base, one = argument(f, 0, "ids"), Lanes(f, host, 1)
    f.call("llvm.memset.p0.i64", "void", ("ptr", seen), ("i8", "0"), ("i64", str(count)), ("i1", "false"), immediate=(3,))

    def iteration(i: str, /, *values: str) -> None:
        id = one.convert("sext", register(ids.dtype), "i64", one.load(ids.dtype, base, f.mul(i, ids.strides[0]), 0))
        place = f.address("i8", seen, id)
        wrong = f.op(f"icmp ne i8 {f.op(f'load i8, ptr {place}, align 1')}, 0", "twice")
        fail_where(one, sites, wrong, Failure.PROMISE, op, [("i64", "1", True)])
        f.do(f"store i8 1, ptr {place}, align 1")

    patient(f, "0", str(ids.shape[0]), iteration)


@dataclass
class Scatter(SharedStep):
    """
    `updates`, each combined with the element of `target` that its indices say; `kind` is add, max, min or replace.

    `target` is a view in the shape of the updates that does not move along axes of indices alone; `columns` are views in that
    shape too. Along the axes in `order`, updates may meet at one place.
    """

    name: str
    op: PtirOp
    kind: str
    updates: View
    target: View
    columns: Sequence[Column]
    order: Sequence[int]

    @property
    def addresses(self) -> Sequence[View]:
        return [self.updates, self.target, *(c.index for c in self.columns)]

    def access(self) -> Access:
        bases = [v.base for v in self.addresses if isinstance(v.base, Buffer)]
        return Access([bases[0], *bases[2:]], [bases[1]])

    def key(self) -> Hashable:
        columns = tuple([(form(c.index), c.stride, c.limit) for c in self.columns])
        return self.kind, form(self.updates), form(self.target), columns, tuple(self.order)

    def contents(self) -> str:
        return f"{self.op.OPCODE} of {list(self.updates.shape)}"

    def emit(self, f: Function, host: TargetInfo, sites: Sites) -> int:
        # They were checked to be inside: clamping changes none, and nothing outside is touched whatever they are.
        lookups = tuple([Lookup(c.index, c.stride, c.limit, clamped=True) for c in self.columns])
        views = [self.updates, replace(self.target, lookups=lookups), *(c.index for c in self.columns)]
        size = max(self.updates.dtype.size, self.target.dtype.size)
        loops = Ordered(f, host, sites, self.updates.shape, self.order, views, size, VECTORS)
        source, target = loops.spots(views, ["update", "target"])

        def unit(at: dict[int, str], low: str, high: str) -> None:
            def step(here: dict[int, str]) -> None:
                from_, to = loops.place(source, here), loops.place(target, here)

                def some(index: str, every: list[Lanes]) -> None:
                    for u, lanes in enumerate(every):
                        start = f.add(index, str(u * loops.width))
                        x = cast(lanes, loops.read(from_, start, lanes), self.updates.dtype, self.target.dtype)
                        self.put(loops, to, start, lanes, x)

                loops.vectors(low, high, 1, some)

            loops.in_order(at, step)

        units = loops.units(unit)
        f.ret("0")
        return units

    def put(self, loops: Ordered, place: Place, index: str, lanes: Lanes, x: str) -> None:
        """Combine some updates with what is there."""
        dtype = self.target.dtype
        if not place.along:
            if self.kind != "replace":
                x = combined(lanes, self.kind, dtype, loops.read(place, index, lanes), x)
            loops.write(place, index, lanes, x)
            return
        offsets = loops.offsets(place, index, lanes)
        loops.guard_each(place, offsets, lanes)
        if self.kind != "replace":
            x = combined(lanes, self.kind, dtype, lanes.load_from(dtype, place.text, offsets), x)
        lanes.store_to(dtype, x, place.text, offsets)


def combined(lanes: Lanes, kind: str, dtype: PtirDType, old: str, new: str) -> str:
    """Emit the value of a place after an update."""
    if kind != "add":
        return extreme(lanes, kind, dtype, old, new)
    return lanes.binary("fadd" if dtype.kind is Kind.FLOAT else "add", register(dtype), old, new)
