"""
A group as one loop nest: elementwise ops over one shape, each operand read where it lies, each result written once, reduced
results in registers until they are complete.

Lanes run along one axis. Where that is kept, whole vectors of results are summed over the reduced axes; where it is reduced, some
vectors of partial sums are folded by a fixed tree at the end. So results depend on the width of the lanes alone.

A kernel is a function `i64 (ptr %buffers, i64 %begin, i64 %end)` that does the units of work from `%begin` to `%end`: turns of
the outermost loop, or runs of `CHUNK` elements. Calls of disjoint ranges may run at the same time; this is where a pool of
threads plugs in. It returns a status (see `failures`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod

from xdsl.ir import SSAValue

from mind_dialect.ptir import PtirLiteralAttr, PtirOp, ReduceOp
from mind_dialect.ptir.legal import default_accumulator
from mind_dialect.ptir.types import BF16, F16, I1, SI64, Kind, PtirDType, read_type

from .casts import cast
from .elementwise import CALLS, emit, extreme
from .failures import Sites
from .host import Host
from .ir import Function, Module, identifier
from .lanes import Lanes, halves, ones, register, stored
from .nest import Axis, axes_of, lane_axis
from .views import Buffer, Indices, Ints, View

CHUNK = 1 << 14
"""Elements in one unit of work, where elements are all there is to count."""
UNROLL = 4
"""Vectors in one turn of the innermost loop, at most."""


@dataclass
class Group:
    """What one kernel computes. `inputs` says where each value lies that the ops take from outside, in the group's shape."""

    name: str
    shape: Ints
    inputs: dict[SSAValue, View] = field(default_factory=dict[SSAValue, View])
    ops: list[PtirOp] = field(default_factory=list[PtirOp])
    outputs: list[tuple[SSAValue, View]] = field(default_factory=list[tuple[SSAValue, View]])
    reductions: list[tuple[ReduceOp, View]] = field(default_factory=list[tuple[ReduceOp, View]])
    """All over the same axes."""

    @property
    def axes(self) -> tuple[int, ...]:
        """The axes that are reduced."""
        return tuple(a % len(self.shape) for a in self.reductions[0][0].values()["axes"]) if self.reductions else ()


@dataclass(frozen=True)
class Kernel:
    """A function of the module, and how many units of work it has."""

    name: str
    units: int


def emit_group(module: Module, host: Host, group: Group, sites: Sites) -> Kernel:
    """Add the kernel of a group to a module; buffers have their places by now."""
    name = module.unique(f"k.{identifier(group.name)}")
    f = module.function(name, "i64", [("ptr", "buffers"), ("i64", "begin"), ("i64", "end")])
    f.notes.append(f"{group.name}: {' '.join(op.OPCODE for op in group.ops) or 'copy'} over {list(group.shape)}")
    return Kernel(name, _Nest(f, host, group, sites).emit())


Indexes = dict[int, str]
"""For each axis, by number, the index that a loop has reached."""
Places = list[str]
"""For each view its address, or the value itself where it is the same in all lanes."""


class _Nest:
    def __init__(self, f: Function, host: Host, group: Group, sites: Sites):
        self.f, self.host, self.group, self.sites = f, host, group, sites
        self.values = list(group.inputs)
        self.views = [*group.inputs.values(), *(v for _, v in group.outputs)]
        self.targets = [_spread(view, group) for _, view in group.reductions]
        strides = [v.strides for v in (*self.views, *self.targets)]
        self.numbers = {v: k for k, v in enumerate((*self.views, *self.targets))}
        """Equal views move alike, so that any of them will do."""
        self.axes = axes_of(group.shape, group.axes, strides)
        self.width = self.lane_count()
        self.along = lane_axis(self.axes, self.width)
        extent = 1 if self.along is None else self.axes[self.along].extent
        self.width = min(self.width, 1 << (extent - 1).bit_length())
        calls = any(type(op) in CALLS for op in group.ops)
        few = len(group.ops) <= 8 and len(self.views) <= 6
        self.unroll = max(1, min(1 if calls else UNROLL if few else 2, extent // self.width))
        self.bases: list[str] = []
        self.products = _only_summed(group)

    def lane_count(self) -> int:
        """Lanes for the widest dtype that is computed with."""
        values = [*self.values, *(r for op in self.group.ops for r in op.results), *(r.result for r, _ in self.group.reductions)]
        dtypes = [read_type(v.type).dtype for v in values]
        sizes = [4 if d in (F16, BF16) else d.size for d in dtypes] + [accumulator(r).size for r, _ in self.group.reductions]
        return self.host.lanes(max(sizes, default=1))

    # Loops

    def emit(self) -> int:
        """The body of the function; how many units of work it does."""
        units = 0
        if prod(n for i, n in enumerate(self.group.shape) if i not in self.group.axes):
            self.bases = [self.base(v) for v in (*self.views, *self.targets)]
            units = self.nest()
        self.f.ret("0")
        return max(1, units)

    def base(self, view: View) -> str:
        """The address of the memory of a view; nothing for one that has none."""
        if not isinstance(view.base, Buffer):
            return ""
        hint = identifier(view.base.name or "p")
        entry = self.f.address("ptr", "%buffers", str(view.base.place), "entry")
        found = self.f.op(f"load ptr, ptr {entry}, align 8", hint)
        return self.f.address("i8", found, str(view.base.offset), hint)

    def nest(self) -> int:
        """All loops, outermost first: kept axes, then reduced ones, the lanes innermost of their kind."""
        kept = [i for i, a in enumerate(self.axes) if not a.reduced and i != self.along]
        along = None if self.along is None else self.axes[self.along]
        lanes_kept = along is None or not along.reduced
        if not self.group.reductions:
            inner: Callable[[Indexes], None] = self.run
        else:
            inner = self.columns if lanes_kept else self.rows
        if kept:
            first = kept[0]
            self.loops(kept, {}, inner, ("%begin", "%end"))
            return self.axes[first].extent
        inner({})
        if along is None or not lanes_kept or along.extent <= CHUNK:
            return 1
        return -(-along.extent // CHUNK)

    def loops(
        self, order: Sequence[int], at: Indexes, inner: Callable[[Indexes], None], bounds: tuple[str, str] | None = None
    ) -> None:
        """The loops over some axes, one in the other."""
        if not order:
            inner(at)
            return
        i, rest = order[0], order[1:]
        low, high = bounds or ("0", str(self.axes[i].extent))

        def body(index: str, /, *values: str) -> None:
            self.loops(rest, {**at, i: index}, inner)

        self.f.loop(low, high, 1, body, hint="ijklmn"[min(i, 5)])

    def carried(
        self, order: Sequence[int], at: Indexes, inner: Callable[[Indexes, Sequence[str]], list[str]], state: Sequence[str]
    ) -> list[str]:
        """As `loops`, with values that go from turn to turn."""
        if not order:
            return inner(at, state)
        i, rest = order[0], order[1:]

        def body(index: str, /, *values: str) -> list[str]:
            return self.carried(rest, {**at, i: index}, inner, values)

        types = self.state_types(len(state))
        return self.f.loop("0", str(self.axes[i].extent), 1, body, list(zip(types, state, strict=True)), "ijklmn"[min(i, 5)])

    def state_types(self, count: int) -> list[str]:
        """The types of `count` accumulators, those of one reduction next to each other."""
        each = count // max(1, len(self.group.reductions))
        lanes = Lanes(self.f, self.host, self.width)
        return [lanes.type(accumulator(r)) for r, _ in self.group.reductions for _ in range(each)]

    def lanes_along(self, body: Callable[[str, list[Lanes]], None], *, chunked: bool) -> None:
        """
        Vectors along the axis of the lanes: `body(first index, lanes of each vector)`, several vectors a turn, then the rest.

        `chunked` says that the units of work are runs of this axis.
        """
        n = 1 if self.along is None else self.axes[self.along].extent
        step = self.width * self.unroll
        full = n - n % step
        every = [self.lanes() for _ in range(self.unroll)]
        low, high = "0", str(full)
        if chunked:
            low, high = self.f.mul("%begin", CHUNK), self.f.least(self.f.mul("%end", CHUNK), str(full))

        def turn(index: str, /, *values: str) -> None:
            body(index, every)

        self.f.loop(low, high, step, turn, hint="x")
        if full == n:
            return
        rest = [self.lanes() for _ in range((n - full) // self.width)]
        rest += [self.lanes((n - full) % self.width)] if n % self.width else []
        if not chunked:
            return body(str(full), rest)
        last = self.f.op(f"icmp eq i64 %end, {-(-n // CHUNK)}", "last")
        self.f.when(last, lambda: body(str(full), rest))

    def lanes(self, count: int = 0) -> Lanes:
        """The lanes of one vector, the first `count` of them if that is not 0."""
        return Lanes(self.f, self.host, self.width, ones(self.width, count) if count and self.width > 1 else None)

    @property
    def is_chunked(self) -> bool:
        """Whether the units of work are runs along the lanes."""
        kept = [a for i, a in enumerate(self.axes) if not a.reduced and i != self.along]
        return not kept and self.along is not None and not self.axes[self.along].reduced and self.axes[self.along].extent > CHUNK

    # What the loops do

    def run(self, at: Indexes) -> None:
        """Without reductions: read, compute, write."""
        places = self.places(at)

        def body(index: str, every: list[Lanes]) -> None:
            found = [self.point(places, self.f.add(index, str(u * self.width)), lanes) for u, lanes in enumerate(every)]
            for u, (lanes, values) in enumerate(zip(every, found, strict=True)):
                self.write(places, self.f.add(index, str(u * self.width)), lanes, values)

        self.lanes_along(body, chunked=self.is_chunked)

    def columns(self, at: Indexes) -> None:
        """Reductions with the lanes along a kept axis: a vector of results at a time."""
        order = [i for i, a in enumerate(self.axes) if a.reduced]

        def body(index: str, every: list[Lanes]) -> None:
            state = [self.identity(r) for r, _ in self.group.reductions for _ in every]

            def turn(inner: Indexes, values: Sequence[str]) -> list[str]:
                return self.accumulate(self.places({**at, **inner}), index, every, values)

            totals = self.carried(order, {}, turn, state)
            places = [self.place(t, b, at) for t, b in zip(self.targets, self.bases[len(self.views) :], strict=True)]
            for k, (reduction, view) in enumerate(self.group.reductions):
                for u, lanes in enumerate(every):
                    result = _finished(lanes, reduction, totals[k * len(every) + u])
                    index_u = self.f.add(index, str(u * self.width))
                    self.store(lanes, view.dtype, result, self.targets[k], places[k], index_u)

        self.lanes_along(body, chunked=self.is_chunked)

    def rows(self, at: Indexes) -> None:
        """Reductions with the lanes along a reduced axis: partial results, folded at the end by a fixed tree."""
        order = [i for i, a in enumerate(self.axes) if a.reduced and i != self.along]
        reductions = self.group.reductions
        state = [self.identity(r) for r, _ in reductions for _ in range(self.unroll)]
        totals = self.carried(order, {}, lambda inner, values: self.row({**at, **inner}, values), state)
        for k, (reduction, view) in enumerate(reductions):
            scalar = self.fold(reduction, totals[k * self.unroll : (k + 1) * self.unroll])
            lanes = Lanes(self.f, self.host, 1)
            place = self.place(self.targets[k], self.bases[len(self.views) + k], at)
            self.store(lanes, view.dtype, _finished(lanes, reduction, scalar), self.targets[k], place, "0")

    def row(self, at: Indexes, state: Sequence[str]) -> list[str]:
        """One run along a reduced axis."""
        assert self.along is not None
        places, n, step = self.places(at), self.axes[self.along].extent, self.width * self.unroll
        full = n - n % step
        every = [self.lanes() for _ in range(self.unroll)]
        types = self.state_types(len(state))

        def turn(index: str, /, *values: str) -> list[str]:
            return self.accumulate(places, index, every, values)

        state = self.f.loop("0", str(full), step, turn, list(zip(types, state, strict=True)), "x")
        rest = [self.lanes() for _ in range((n - full) // self.width)]
        rest += [self.lanes((n - full) % self.width)] if n % self.width else []
        if not rest:
            return state
        each = self.unroll
        kept = [state[k * each + u] for k in range(len(self.group.reductions)) for u in range(len(rest))]
        found = self.accumulate(places, str(full), rest, kept)
        for k in range(len(self.group.reductions)):
            state[k * each : k * each + len(rest)] = found[k * len(rest) : (k + 1) * len(rest)]
        return state

    # One vector

    def places(self, at: Indexes) -> Places:
        """Where each view is at some indices, the axis of the lanes left open."""
        found: Places = []
        for k, (view, base) in enumerate(zip(self.views, self.bases, strict=False)):
            if isinstance(view.base, PtirLiteralAttr):
                found.append(_constant(Lanes(self.f, self.host, self.width), view.base))
                continue
            place = self.place(view, base, at)
            if k < len(self.values) and self.stride(view) == 0 and isinstance(view.base, Buffer):
                hint = identifier(self.values[k].name_hint or "v")
                place = Lanes(self.f, self.host, self.width, hint=hint).load(view.dtype, place, "0", 0)
            found.append(place)
        return found

    def place(self, view: View, base: str, at: Indexes) -> str:
        """The address of a view at some indices; of what is counted, the index itself."""
        index = str(view.offset)
        for i, axis in enumerate(self.axes):
            if i in at and (stride := self.stride_of(view, axis)):
                index = self.f.add(index, self.f.mul(at[i], stride))
        return self.f.address(stored(view.dtype), base, index) if isinstance(view.base, Buffer) else index

    def stride_of(self, view: View, axis: Axis) -> int:
        """How far a view moves along an axis."""
        return axis.strides[self.numbers[view]]

    def stride(self, view: View) -> int:
        """How far a view moves along the lanes."""
        return 0 if self.along is None else self.stride_of(view, self.axes[self.along])

    def point(self, places: Places, index: str, lanes: Lanes) -> dict[SSAValue, str]:
        """The values of all ops in some lanes."""
        found: dict[SSAValue, str] = {}
        for k, value in enumerate(self.values):
            found[value] = self.read(places[k], self.views[k], index, lanes, value)
        for op in self.group.ops:
            lanes.hint = identifier(op.results[0].name_hint or op.OPCODE)
            lanes.contract = op in self.products
            found[op.results[0]] = emit(lanes, op, [found[v] for v in op.operands], self.sites)
            lanes.contract = False
        return found

    def read(self, place: str, view: View, index: str, lanes: Lanes, value: SSAValue) -> str:
        """One operand in some lanes."""
        stride = self.stride(view)
        lanes.hint = identifier(value.name_hint or "v")
        if isinstance(view.base, Indices):
            first = self.f.add(place, self.f.mul(index, stride))
            counted = lanes.count(first, stride)
            return _counted(lanes, counted, view.dtype)
        if isinstance(view.base, PtirLiteralAttr) or stride == 0:
            return place
        return lanes.load(view.dtype, place, self.f.mul(index, stride), stride)

    def write(self, places: Places, index: str, lanes: Lanes, values: dict[SSAValue, str]) -> None:
        """Put the outputs where they belong."""
        for k, (value, view) in enumerate(self.group.outputs, len(self.values)):
            self.store(lanes, view.dtype, values[value], view, places[k], index)

    def store(self, lanes: Lanes, dtype: PtirDType, value: str, view: View, place: str, index: str) -> None:
        """Put one output where it belongs."""
        stride = self.stride(view)
        lanes.store(dtype, value, place, self.f.mul(index, stride), stride)

    def accumulate(self, places: Places, index: str, every: list[Lanes], state: Sequence[str]) -> list[str]:
        """The accumulators after some more vectors."""
        found = [self.point(places, self.f.add(index, str(u * self.width)), lanes) for u, lanes in enumerate(every)]
        for u, (lanes, values) in enumerate(zip(every, found, strict=True)):
            self.write(places, self.f.add(index, str(u * self.width)), lanes, values)
        made: list[str] = []
        for k, (reduction, _) in enumerate(self.group.reductions):
            total, source = accumulator(reduction), reduction.operand_spec(0).dtype
            for u, (lanes, values) in enumerate(zip(every, found, strict=True)):
                lanes.hint = identifier(reduction.result.name_hint or "sum")
                x = cast(lanes, values[reduction.x], source, total)
                if lanes.mask is not None:
                    x = lanes.select(lanes.mask, register(total), x, self.identity(reduction))
                made.append(combine(lanes, reduction, state[k * len(every) + u], x))
        return made

    def identity(self, reduction: ReduceOp) -> str:
        """What a reduction begins with, in every lane."""
        kind, dtype = reduction.values()["kind"], accumulator(reduction)
        value = 0 if kind == "sum" else _end(reduction.operand_spec(0).dtype, least=kind == "max")
        return Lanes(self.f, self.host, self.width).constant(dtype, value)

    def fold(self, reduction: ReduceOp, totals: Sequence[str]) -> str:
        """Partial results as one: neighbours first, then the halves of the vector."""
        lanes, type, left = self.lanes(), register(accumulator(reduction)), list(totals)
        lanes.hint = identifier(reduction.result.name_hint or "sum")
        while len(left) > 1:
            pairs = [combine(lanes, reduction, a, b) for a, b in zip(left[::2], left[1::2], strict=False)]
            left = pairs + left[len(pairs) * 2 :]
        total, width = left[0], self.width
        for half in halves(self.width):
            lower, upper = (_part(lanes, type, total, width, half, start) for start in (0, half))
            total, width = combine(lanes.narrowed(half), reduction, lower, upper), half
        return total


def _part(lanes: Lanes, type: str, x: str, width: int, count: int, start: int) -> str:
    """Some neighbouring lanes of a vector."""
    if count == 1:
        return lanes.op(f"extractelement <{width} x {type}> {x}, i64 {start}")
    places = ", ".join(f"i32 {start + i}" for i in range(count))
    return lanes.op(f"shufflevector <{width} x {type}> {x}, <{width} x {type}> poison, <{count} x i32> <{places}>")


def accumulator(op: ReduceOp) -> PtirDType:
    """The dtype that a reduction accumulates in."""
    return op.values()["accum_dtype"] or default_accumulator(op.operand_spec(0).dtype)


def combine(lanes: Lanes, op: ReduceOp, a: str, b: str) -> str:
    """One step of a reduction."""
    kind, dtype = op.values()["kind"], accumulator(op)
    if kind != "sum":
        return extreme(lanes, kind, dtype, a, b)
    return lanes.binary("fadd contract" if dtype.kind is Kind.FLOAT else "add", register(dtype), a, b)


def _finished(lanes: Lanes, op: ReduceOp, total: str) -> str:
    return cast(lanes, total, accumulator(op), op.result_spec().dtype)


def _end(dtype: PtirDType, *, least: bool) -> float:
    """The least or greatest number of a dtype."""
    if dtype.kind is Kind.FLOAT:
        return float("-inf") if least else float("inf")
    if dtype is I1:
        return int(not least)
    if dtype.kind is Kind.SIGNED:
        return -(1 << (dtype.bits - 1)) if least else (1 << (dtype.bits - 1)) - 1
    return 0 if least else (1 << dtype.bits) - 1


def _constant(lanes: Lanes, literal: PtirLiteralAttr) -> str:
    """The number of a constant of one element, in every lane."""
    value = literal.item()
    assert not isinstance(value, complex), "complex constants have memory"
    return lanes.constant(literal.spec[0], value)


def _counted(lanes: Lanes, count: str, dtype: PtirDType) -> str:
    """Indices as a dtype holds them: integers wrap, floats are rounded."""
    type = register(dtype)
    if dtype.kind is Kind.FLOAT:
        return cast(lanes, count, SI64, dtype)
    return lanes.convert("trunc", "i64", type, count)


def _spread(view: View, group: Group) -> View:
    """Where a reduction puts its result, as a view in the group's shape that does not move along reduced axes."""
    reduced = set(group.axes)
    keepdims = len(view.shape) == len(group.shape)
    left = list(view.strides)
    strides: list[int] = []
    for place in range(len(group.shape)):
        if place in reduced:
            strides.append(0)
            if keepdims:
                left.pop(0)
        else:
            strides.append(left.pop(0))
    return View(view.base, view.dtype, group.shape, tuple(strides), view.offset)


def _only_summed(group: Group) -> set[PtirOp]:
    """The products that nothing but a sum uses: they need no rounding of their own."""
    summed = {r.x for r, _ in group.reductions if r.values()["kind"] == "sum" and accumulator(r) is r.operand_spec(0).dtype}
    used = {v for op in group.ops for v in op.operands} | {v for v, _ in group.outputs}
    return {op for op in group.ops if op.OPCODE == "mul" and op.results[0] in summed and op.results[0] not in used}
