"""
Updates combined with what is at places that are data, in row-major order of the updates.

Indices are looked at first, by a kernel of their own, so that nothing has changed where one is wrong. Then each update is
combined in place. Axes along which updates never meet at one place have no order: threads share these.
"""

from __future__ import annotations

from dataclasses import replace

from mind_dialect.ptir import PtirOp
from mind_dialect.ptir.types import Kind, PtirDType

from .casts import cast
from .failures import Failure, Sites
from .ir import Function
from .kernel_steps import Column, IndexCheck, Scatter
from .kernel_text import argument, fail_where, patiently
from .lanes import Lanes, register
from .ordered import Ordered
from .places import Place
from .reductions import extreme
from .target_info import TargetInfo
from .views import Lookup, View

VECTORS = 16
"""Vectors of updates in a unit of work."""


def emit_check(f: Function, host: TargetInfo, step: IndexCheck, sites: Sites) -> int:
    """Emit a check of indices, which is one unit of work."""
    for i, column in enumerate(step.columns):
        _check(f, host, sites, step.op, column, argument(f, i, "index"))
    if step.ascending:
        _check_ascending(f, host, sites, step.op, step.columns[0].index)
    if step.unique is not None:
        seen = argument(f, len(step.columns), "seen")
        _check_unique(f, host, sites, step.op, step.columns[0].index, seen, step.unique.count)
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
            for i in f.each("0", str(outer[level])):
                lines(level + 1, f.add(start, f.mul(i, strides[level])))
            return
        full = n - n % width
        for i in f.each("0", str(full), width, hint="x"):
            some(Lanes(f, host, width), start, i)
        if full < n:
            for i in f.each(str(full), str(n), hint="x"):
                some(Lanes(f, host, 1), start, i)

    if 0 not in view.shape:
        lines(0, "0")


def _check_ascending(f: Function, host: TargetInfo, sites: Sites, op: PtirOp, ids: View) -> None:
    base, one = argument(f, 0, "ids"), Lanes(f, host, 1)
    for i in patiently(f, "1", str(ids.shape[0])):
        before, now = (one.load(ids.dtype, base, f.mul(f.add(i, str(k)), ids.strides[0]), 0) for k in (-1, 0))
        wrong = one.compare("icmp slt", register(ids.dtype), now, before)
        fail_where(one, sites, wrong, Failure.PROMISE, op, [("i64", "0", True)])


def _check_unique(f: Function, host: TargetInfo, sites: Sites, op: PtirOp, ids: View, seen: str, count: int) -> None:
    base, one = argument(f, 0, "ids"), Lanes(f, host, 1)
    f.call("llvm.memset.p0.i64", "void", ("ptr", seen), ("i8", "0"), ("i64", str(count)), ("i1", "false"), immediate=(3,))
    for i in patiently(f, "0", str(ids.shape[0])):
        id = one.convert("sext", register(ids.dtype), "i64", one.load(ids.dtype, base, f.mul(i, ids.strides[0]), 0))
        place = f.address("i8", seen, id)
        wrong = f.op(f"icmp ne i8 {f.op(f'load i8, ptr {place}, align 1')}, 0", "twice")
        fail_where(one, sites, wrong, Failure.PROMISE, op, [("i64", "1", True)])
        f.do(f"store i8 1, ptr {place}, align 1")


def emit_scatter(f: Function, host: TargetInfo, step: Scatter, sites: Sites) -> int:
    """Emit a scatter; how many units of work it has."""
    # They were checked to be inside: clamping changes none, and nothing outside is touched whatever they are.
    lookups = tuple([Lookup(c.index, c.stride, c.limit, clamped=True) for c in step.columns])
    views = [replace(v, lookups=lookups) if v is step.target else v for v in step.views]
    size = max(step.updates.dtype.size, step.target.dtype.size)
    loops = Ordered(f, host, sites, step.updates.shape, step.order, views, size, VECTORS, spreads=False)
    source, target = loops.spots(views, ["update", "target"])

    def unit(at: dict[int, str], low: str, high: str) -> None:
        def each(here: dict[int, str]) -> None:
            from_, to = loops.place(source, here), loops.place(target, here)

            def some(index: str, every: list[Lanes]) -> None:
                for u, lanes in enumerate(every):
                    start = f.add(index, str(u * loops.width))
                    x = cast(lanes, loops.read(from_, start, lanes), step.updates.dtype, step.target.dtype)
                    _put(step, loops, to, start, lanes, x)

            loops.vectors(low, high, 1, some)

        loops.in_order(at, each)

    units = loops.units(unit)
    f.ret("0")
    return units


def _put(step: Scatter, loops: Ordered, place: Place, index: str, lanes: Lanes, x: str) -> None:
    """Combine some updates with what is there."""
    dtype = step.target.dtype
    if not place.along:
        if step.kind != "replace":
            x = combined(lanes, step.kind, dtype, loops.read(place, index, lanes), x)
        loops.write(place, index, lanes, x)
        return
    offsets = loops.offsets(place, index, lanes)
    loops.guard_each(place, offsets, lanes)
    if step.kind != "replace":
        x = combined(lanes, step.kind, dtype, lanes.load_from(dtype, place.text, offsets), x)
    lanes.store_to(dtype, x, place.text, offsets)


def combined(lanes: Lanes, kind: str, dtype: PtirDType, old: str, new: str) -> str:
    """Emit the value of a place after an update."""
    if kind not in ("add", "mul"):
        return extreme(lanes, kind, dtype, old, new)
    return lanes.binary(f"f{kind}" if dtype.kind is Kind.FLOAT else kind, register(dtype), old, new)
