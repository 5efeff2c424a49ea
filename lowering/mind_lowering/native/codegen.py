"""
The text of a function of launches: a kernel for each `launch.kernel`, and entries that call them in order.

    define i64 @run.main(ptr %buffers)

is the whole program where every op has a native kernel; each op that has none ends one entry, runs on NumPy, and begins the next.
`%buffers` is a table of addresses (`table.py`). The entry gives each kernel the addresses that it works on, so that kernels which
differ in nothing else are one function. The text of kernels has one row for each kind of step in `EMIT`, loaded on first use; it
depends on in-place updates and on non-temporal stores, so it is made when memory is assigned.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from importlib import import_module
from math import inf
from typing import Any, cast

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Block, Operation

from mind_dialect.ptir.attributes import Text

from ..launch.compute_ops import HostCallOp, KernelOp
from ..launch.control_ops import AtOp, ForOp, IfOp, PrepackOp, WhileOp
from ..launch.liveness import base, blocks_of, launch_ops
from ..launch.memory_ops import AllocOp, CopyOp, Space, ViewOp
from ..launch.ref import read_ref
from ..launch.return_op import ReturnOp
from .attention import AttentionStep
from .calling import Calls
from .convolutions.convolution import ConvolutionStep
from .extremes_gradient import ExtremesGradient
from .failures import FailureSite, Sites
from .first_extremes import FirstExtremes
from .float_mode import current_mode, flushing, set_mode
from .flow import Code, KernelCall, Nested, kernel_calls, run
from .fourier import FourierTransform
from .fourier_batches import FourierBatch
from .fourier_columns import FourierColumns
from .fourier_halves import FourierHalves
from .groups import Group
from .ir import Function, LlvmModule, identifier, symbol
from .kernel_steps import Draw, IndexCheck, LaneSort, PrivateScatter, Scan, Scatter, Sort
from .loop_results import MOST_CALLS
from .lowered import Entry, Foreign, Native, Note, Packing, Reading
from .matrix_steps import Factorization, LaneFactorization
from .outlining import alone, outlined, shown
from .plan import TITLE, PlannedKernel
from .planned_function import PlannedFunction
from .products.kernels import BlockedStep, ProductStep
from .quicksort_steps import PartedSort
from .rows.step import RowStep
from .steps import NativeKernel, NativeStep
from .systems import LinearSystem
from .target_info import TargetInfo
from .timing import Timer
from .views import Buffer, Use, View

MANY_CALLS = 32
"""So many calls of kernels in a row, at least, take longer to optimise than better code for them saves in thousands of runs."""
Emit = Callable[[Function, TargetInfo, Any, Sites], int]
"""Emits the body of the function of a step, with the sites that can fail; how many units of work it has."""


EMIT: dict[type[NativeStep], str] = {
    Group: "crossed.emit_group",
    FirstExtremes: "extremes_loops.emit_extremes",
    ExtremesGradient: "extremes_gradient_loops.emit_extremes_gradient",
    RowStep: "rows.emission.emit_row_kernel",
    ProductStep: "products.emission.emit_product",
    BlockedStep: "products.blocked_dot.emit_blocked",
    ConvolutionStep: "convolutions.emission.emit_convolution_step",
    AttentionStep: "attention_kernel.emit_attention",
    Sort: "sorts.emit_sort",
    LaneSort: "lane_sorts.emit_lane_sort",
    PartedSort: "sorts.emit_parted_sort",
    Factorization: "matrices.emit_factorization",
    LaneFactorization: "lane_matrices.emit_lane_factorization",
    LinearSystem: "systems.emit_system",
    FourierTransform: "fourier.emit_fourier",
    FourierBatch: "fourier_batches.emit_batch",
    FourierColumns: "fourier_columns.emit_columns",
    FourierHalves: "fourier_halves.emit_halves",
    Scan: "scans.emit_scan",
    IndexCheck: "scatters.emit_check",
    Scatter: "scatters.emit_scatter",
    PrivateScatter: "private_scatters.emit_private_scatter",
    Draw: "random_numbers.emit_draw",
}
"""By kind of step, its emitter: a module, loaded on first use as most programs have few kinds, and a function of it."""


@cache
def emitter(kind: type[NativeStep]) -> Emit:
    """Return the function of a row of `EMIT`."""
    module, _, name = EMIT[kind].rpartition(".")
    return cast("Emit", getattr(import_module(f"{__package__}.{module}"), name))


def kernel_of(step: NativeStep, module: LlvmModule, host: TargetInfo, known: dict[Hashable, NativeKernel]) -> NativeKernel:
    """Return the kernel of a step, added to the module unless it is in `known`."""
    key = (type(step), step.key(), tuple([(v.offset, v.base) for v in step.addresses]) if host.checked else ())
    if key in known:
        return known[key]
    name = module.unique(f"k.{identifier(step.name)}")
    f = module.function(name, "i64", [("ptr", "args"), ("i64", "begin"), ("i64", "end")])
    f.notes.append(f"{step.name}: {step.contents()}")
    sites = Sites()
    units = emitter(type(step))(f, host, step, sites)
    numbers = {op: i for i, op in enumerate(step.sources)}
    fails = tuple([(s.failure, -1 if s.op is None else numbers[s.op]) for s in sites.found])
    known[key] = made = NativeKernel(name, units, fails, own=True, polls=f.polls)
    return made


def _alone(sites: Sequence[FailureSite]) -> list[FailureSite]:
    """Return failure sites whose ops are copies in functions of their own, so that a program does not hold the whole function."""
    ops = {op: alone(op) for op in dict.fromkeys(site.op for site in sites) if op is not None}
    return [FailureSite(site.failure, None if site.op is None else ops[site.op]) for site in sites]


class Emission:
    """The text of a planned function: kernels, and entries that call them; where it is `timed`, with counters (`timing.py`)."""

    def __init__(self, plan: PlannedFunction, name: str, *, timed: bool = False):
        self.plan, self.host, self.name = plan, plan.planner.host, name
        self.timer = Timer(plan.table.size) if timed else None
        title = f"@{name} for {self.host.isa}, made by the target mind-native"
        self.module = LlvmModule(self.host.triple, title, self.host.attributes)
        self.main = self.module.unique(f"run.{identifier(name)}")
        self.sites, self.notes, self.steps = Sites(), list[Note](), list[Entry | Foreign]()
        self.known: dict[Hashable, NativeKernel] = {}

    def run(self) -> Native:
        """Emit the entries; return the program."""
        plan, table = self.plan, self.plan.table
        top = plan.func.body.block
        packing = next((self.packing(op) for op in top.ops if isinstance(op, PrepackOp)), None)
        cost = self.entries(top)
        allocs = {(a.kind, a.number): a for a in launch_ops(top) if isinstance(a, AllocOp)}
        assert isinstance(top.last_op, ReturnOp)
        return Native(
            self.name,
            self.host,
            self.module.text(),
            self.steps,
            [table.entries.get(allocs[Space.INPUT, i], -1) for i in range(len(top.args))],
            [table.memory(v) for v in top.last_op.inputs],
            [(table.memory(a.res), a.literal_value) for a in table.entries if a.kind is Space.CONSTANT],
            table.size + (self.timer is not None),
            plan.arena,
            _alone(self.sites.found),
            self.notes,
            cost,
            plan.planner.drawn,
            packing,
            None if self.timer is None else self.timer.place,
            plan.func,
        )

    def entries(self, top: Block) -> float:
        """Emit the entries of the ops of a function; return the cost of a call, infinite with loops or calls of the host."""
        codes: list[Code] = []
        cost = 0.0
        for op in top.ops:
            match op:
                case HostCallOp():
                    self.entry(codes)
                    self.host_call(op)
                    cost = inf
                case KernelOp():
                    cost += self.plan.planner.kernels[op].step.cost(self.host)
                    codes += self.codes(op, 0)
                case ForOp() | WhileOp() | IfOp() | CopyOp():
                    codes += self.codes(op, 0)
                    cost = inf
                case _:
                    pass
        self.entry(codes)
        return cost

    def packing(self, op: PrepackOp) -> Packing:
        """The entry of what is packed once for all calls."""
        codes = [code for inner in op.body.block.ops for code in self.codes(inner, 0)]
        self.notes = [replace(note, once=True) for note in self.notes]
        entry = self.module.unique(f"{self.main}.once")
        _entry(self.module, self.plan, entry, codes, self.sites)
        owners = [
            base(v).owner for inner in op.body.block.ops if isinstance(inner, KernelOp) for v in (*inner.reads, *inner.writes)
        ]
        allocs = dict.fromkeys(a for a in owners if isinstance(a, AllocOp))
        inputs = sorted({a.number or 0 for a in allocs if a.kind is Space.INPUT})
        kept = [(self.plan.table.entries[a], a.ref.nbytes) for a in allocs if a.kind is Space.KEPT]
        read = {base(v).owner for inner in _beside(op) if not isinstance(inner, ViewOp | AtOp) for v in inner.operands}
        return Packing(entry, inputs, kept, sorted({a.number or 0 for a in allocs if a.kind is Space.INPUT and a not in read}))

    def entry(self, codes: list[Code]) -> None:
        """End an entry, if there is something to run."""
        if codes:
            again = any(isinstance(s, Entry) for s in self.steps)
            name = self.module.unique(self.main) if again else self.main
            first = 0 if self.timer is None else len(self.timer.kernels)
            _entry(self.module, self.plan, name, codes, self.sites, self.timer)
            self.steps.append(Entry(name, () if self.timer is None else self.timer.kernels[first:]))
            codes.clear()

    def host_call(self, call: HostCallOp) -> None:
        (op, draws), memory = self.plan.planner.host_calls[call], self.plan.table.memory
        layouts = [(read_ref(v.type), memory(v)) for v in call.reads]
        inputs = [Reading(layout.dtype, layout.shape, layout.strides, at) for layout, at in layouts]
        reason: str = call.word("reason")
        self.steps.append(Foreign(outlined(op), alone(op), inputs, [memory(v) for v in call.writes], draws, reason))
        self.notes.append(Note(shown(op), None, reason))

    def copy(self, op: CopyOp) -> KernelOp:
        """Return the kernel of a copy, which no kernel row has planned, in its place."""
        planner, layouts = self.plan.planner, [read_ref(v.type) for v in (op.source, op.target)]
        buffers = [
            Buffer(Use.ARENA, 0, r.dtype, r.count, "copy", v) for r, v in zip(layouts, (op.source, op.target), strict=True)
        ]
        views = [View(b, r.dtype, r.shape, r.strides) for b, r in zip(buffers, layouts, strict=True)]
        planner.keep.append(block := Block(arg_types=[layouts[0].tensor]))
        step = Group("copy", views[0].shape, {block.args[0]: views[0]}, outputs=[(block.args[0], views[1])])
        made = KernelOp("copy", [op.source], [op.target], schedule=StringAttr(step.contents()))
        made.location = op.location
        planner.kernels[made] = PlannedKernel(step, buffers)
        assert op.parent is not None
        op.parent.insert_op_before(made, op)
        op.detach()
        op.erase()
        return made

    def codes(self, op: Operation, depth: int) -> list[Code]:
        """The kernels of an op, and of the ops in it; nothing for a copy of a value onto itself."""
        if isinstance(op, ForOp | WhileOp | IfOp):
            self.notes.append(Note(Text().value(op.attributes[TITLE]), None, depth=depth))
            return [Nested(op, [[c for o in list(block.ops) for c in self.codes(o, depth + 1)] for block in blocks_of(op)])]
        if isinstance(op, CopyOp):
            op = self.copy(op)
        if not isinstance(op, KernelOp) or op not in self.plan.planner.kernels:
            return [op] if isinstance(op, AtOp | KernelOp) else []
        step = self.plan.place(op)
        if isinstance(step, Group) and step.is_idle():
            return []
        kernel = kernel_of(step, self.module, self.host, self.known)
        within = ", ".join(f"%{size.name_hint or 'size'}" for size in op.sizes)
        what: str = op.word("schedule").data + (f", within {within}" if within else "")
        self.notes.append(Note(what, f"@{kernel.name}", depth=depth))
        return [KernelCall(kernel, step, partial(self.plan.bind, op), op)]


def _beside(prepack: PrepackOp) -> Iterator[Operation]:
    """Yield the ops of a function that run in each call, those of a prepack apart."""
    block = prepack.parent
    assert block is not None, "a prepack is in a function"
    for op in block.ops:
        if op is not prepack:
            yield op
            for inner in blocks_of(op):
                yield from launch_ops(inner)


def _entry(
    module: LlvmModule, plan: PlannedFunction, name: str, codes: Sequence[Code], sites: Sites, timer: Timer | None = None
) -> None:
    """A function that runs kernels in order; many of them by functions of bounded size."""
    f = module.function(name, "i64", [("ptr", "buffers")], internal=False)
    if plan.planner.host.flushes:
        f = _flushing(f)
    if len(codes) <= MOST_CALLS:
        _run(f, plan, codes, sites, timer)
        return
    for first in range(0, len(codes), MOST_CALLS):
        part = module.function(module.unique(f"{name}.part"), "i64", [("ptr", "buffers")])
        _run(part, plan, codes[first : first + MOST_CALLS], sites, timer)
        status = f.op(f"call i64 {symbol(part.name)}(ptr %buffers)", "status")
        f.leave(f.op(f"icmp ne i64 {status}, 0", "failed"), lambda status=status: status)
    f.ret("0")


def _flushing(f: Function) -> Function:
    """Emit an entry that has another function run where subnormal numbers count as 0; return that one."""
    inner = f.module.function(f.module.unique(f"{f.name}.flushing"), "i64", [("ptr", "buffers")])
    mode = current_mode(f)
    set_mode(f, flushing(f, mode))
    status = f.op(f"call i64 {symbol(inner.name)}(ptr %buffers)", "status")
    set_mode(f, mode)
    f.ret(status)
    return inner


def _run(f: Function, plan: PlannedFunction, codes: Sequence[Code], sites: Sites, timer: Timer | None) -> None:
    words = max((len(call.step.addresses) + len(call.op.sizes) for call in kernel_calls(codes)), default=0)
    run(Calls(f, plan.planner.host, sites, plan.table, words, timer), codes)
    f.runs_once = len(codes) >= MANY_CALLS and not any(isinstance(code, Nested) for code in codes)
    f.ret("0")
