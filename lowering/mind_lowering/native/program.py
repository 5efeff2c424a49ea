"""
A function of PTIR as one LLVM module: optimised, fused, planned, each kernel a function, the calls in order in an entry.

    define i64 @run.main(ptr %buffers)

is the whole program where every op has a native kernel; each op that has none ends one entry, runs on NumPy, and begins the next.
`%buffers` is a table of addresses: the record of failures, the arena, then inputs, outputs, constants, what was packed once and
for all, and results of NumPy. The entry gives each kernel the addresses that it works on, so that kernels which differ in nothing
else are one function.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass, replace
from math import inf

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation

from mind_dialect.program import functions
from mind_dialect.ptir import FusionOp, PtirOp
from mind_dialect.ptir.types import read_type
from mind_passes.fusion.defuse import defuse
from mind_passes.fusion.expand_norms import expand_norms
from mind_passes.fusion.expand_quantized import expand_quantized
from mind_passes.fusion.form_rows import form_rows
from mind_passes.fusion.fuse import fuse
from mind_passes.fusion.fuse_convolutions import fuse_convolutions
from mind_passes.fusion.select_scatters import select_scatters
from mind_passes.fusion.unroll_axes import unroll_axes
from mind_passes.fusion.wrap import is_pointwise_or_reduction
from mind_passes.ptir.failing import mark_failing, unmark
from mind_passes.ptir.recognize import recognize
from mind_passes.staged import Stage

from ..outline import drop_barriers, own_module
from ..ptir_optimize import optimize_marked, simplify
from .attention import find_attention
from .calling import Calls
from .codegen import kernel_of
from .failures import Sites
from .flow import Branch, Code, Loop, Nested, Step, run, steps_in
from .grouping import why_not
from .groups import Group
from .ir import Function, LlvmModule, identifier, symbol
from .launches import NativeLaunches, launches_of
from .lowered import Entry, Foreign, Native, Note, Packing
from .memory import Access
from .outlining import shown
from .planner import Planner
from .reasons import not_computed
from .rows.step import is_row_kernel
from .steps import NativeKernel, NativeStep
from .target_info import TargetInfo
from .views import Buffer, Use

FIRST_PLACE = 2
"""The first entry of the table of buffers that is no record and no arena."""
MOST_CALLS = 512
"""So many kernels, loops and branches are run by one function, whose code is generated in more than linear time."""
_ORDER = (Use.INPUT, Use.OUTPUT, Use.CONSTANT, Use.KEPT, Use.FOREIGN)


def prepared(func: FuncOp, host: TargetInfo) -> FuncOp:
    """
    Return a function of Core IR or PTIR as optimised PTIR, fused for a target, in a module of its own; the original is unchanged.

    E4000 and E2007 as for the NumPy target; E6003 for a function that was lowered for NumPy.
    """
    module, work = own_module(func, "native")
    for stage in fusion_stages(host):
        stage.run(module)
    return work


def fusion_stages(host: TargetInfo) -> list[Stage]:
    """Return how functions of PTIR, each by itself, are optimised and fused for a target."""

    def computes(op: Operation) -> bool:
        return not_computed(op, host) is None

    def has_kernel(op: PtirOp) -> bool:
        return why_not(op, host) is None

    def is_norm_kernel(op: FusionOp) -> bool:
        return all(has_kernel(o) for o in op.body.block.ops if isinstance(o, PtirOp) and is_pointwise_or_reduction(o))

    def form_row_kernels(module: ModuleOp) -> None:
        for func in functions(module):
            if dynamic(func) is None:
                form_rows(func, lambda op: is_row_kernel(op, host), has_kernel)

    return [
        Stage("mind-mark-failing", mark_failing),
        Stage("mind-ptir-defuse", defuse),
        Stage("mind-drop-barriers", drop_barriers),
        Stage("mind-ptir-optimize", optimize_marked),
        Stage("mind-ptir-select-scatters", select_scatters),
        Stage("mind-recognize-convolutions", _recognize_convolutions),
        Stage("mind-ptir-expand-quantized", lambda module: expand_quantized(module, computes)),
        Stage("mind-ptir-expand-norms", lambda module: expand_norms(module, is_norm_kernel)),
        Stage("mind-ptir-unroll-axes", _unroll_axes),
        Stage("mind-recognize-attention", lambda module: find_attention(module, host)),
        Stage("mind-ptir-fuse", fuse),
        Stage("mind-ptir-fuse-convolutions", fuse_convolutions),
        Stage("mind-ptir-form-rows", form_row_kernels),
        Stage("mind-unmark-failing", unmark),
    ]


def _recognize_convolutions(module: ModuleOp) -> None:
    """Make convolutions of products of patches."""
    if recognize(module, ("convolution",)):
        simplify(module)


def _unroll_axes(module: ModuleOp) -> None:
    """Unroll short last axes, and remove the reshapes that cancel then."""
    if unroll_axes(module):
        simplify(module)


def dynamic(func: FuncOp) -> str | None:
    """The first type in a prepared function that has a dimension without a size, if there is one."""
    for op in func.walk():
        for value in (*op.results, *(a for region in op.regions for block in region.blocks for a in block.args)):
            if not read_type(value.type).is_static:
                return str(read_type(value.type))
    return None


@dataclass
class PlannedFunction:
    """A prepared function with its kernels chosen and its memory assigned."""

    planner: Planner
    outputs: Sequence[Buffer]
    launches: NativeLaunches
    arena: int
    """Bytes of temporaries."""


def planned(func: FuncOp, host: TargetInfo, donated: Collection[int] = (), fixed: Collection[int] = ()) -> PlannedFunction:
    """
    Plan a prepared function, all of whose dimensions have sizes: its launches, with memory that is assigned and checked.

    `donated` are the numbers of inputs that may be overwritten, `fixed` those of inputs that are the same in each call: what of
    them is packed once is of use where calls are one entry.
    """
    block = func.body.block
    ending = block.last_op
    assert isinstance(ending, ReturnOp), "prepared"
    planner = Planner(host)
    for i, argument in enumerate(block.args):
        planner.views[argument] = view = planner.new(Use.INPUT, argument)
        planner.buffer_of(view).donated = i in donated
        if i in fixed:
            planner.once.fixed.add(planner.buffer_of(view))
    for op in block.ops:
        if isinstance(op, PtirOp):
            planner.step(op)
    if fixed and (planner.drawn or any(isinstance(step, Foreign) for step in planner.steps)):
        return planned(func, host, donated)
    for buffer in planner.once.made:
        buffer.use = Use.KEPT
    outputs = _outputs(planner, ending)
    planner.access.append(Access(outputs))
    inputs = [planner.buffer_of(planner.view(a)) for a in block.args]
    launches = launches_of(func, planner.steps, planner.once.steps, inputs, planner.constants, outputs)
    return PlannedFunction(planner, outputs, launches, launches.assign(inputs, outputs))


def lower(func: FuncOp, host: TargetInfo, donated: Collection[int] = (), fixed: Collection[int] = ()) -> Native:
    """Return a function as native code for a kind of machine; arguments are those of `planned`."""
    plan = planned(func, host, donated, fixed)
    planner = plan.planner
    made = _emitted(func, planner, plan.outputs, plan.arena, _place(planner))
    cost = sum(step.cost(host) if isinstance(step, NativeStep) else inf for step in planner.steps)
    return replace(made, cost=cost, draws=planner.drawn, launches=plan.launches.func, rejected=tuple(planner.rejected()))


def _outputs(planner: Planner, ending: Operation) -> list[Buffer]:
    """The memory of each result: its own, unless it is that of an input, a constant, or a result before it."""
    found: list[Buffer] = []
    for value in ending.operands:
        base = planner.view(value).base
        view = planner.view(value)
        if not (isinstance(base, Buffer) and view.is_whole and base.use in (Use.ARENA, Use.FOREIGN) and base not in found):
            view = planner.copied(value, view)
            base = planner.buffer_of(view)
        assert isinstance(base, Buffer)
        if base.use is Use.ARENA:
            base.use, base.index = Use.OUTPUT, len(found)
        found.append(base)
    return found


def _place(planner: Planner) -> int:
    """Give each buffer its entry in the table; how many there are."""
    every = (*planner.once.access, *planner.access)
    buffers = dict.fromkeys(b for access in every for b in (*access.reads, *access.writes))
    places = {use: dict[Buffer, None]() for use in _ORDER}
    for buffer in buffers:
        if buffer.use is Use.MOVING or buffer.into is not None:
            continue
        if buffer.use is Use.ARENA:
            buffer.place = 1
        elif buffer.over is None:
            places[buffer.use][buffer] = None
    place = FIRST_PLACE
    for use in _ORDER:
        for buffer in places[use]:
            buffer.place = place
            place += 1
    for buffer in buffers:
        if buffer.over is not None:
            buffer.place = buffer.over.place
    for buffer in buffers:
        if buffer.into is not None:
            buffer.place, buffer.offset = buffer.root.place, buffer.root.offset
    return place


def _emitted(func: FuncOp, planner: Planner, outputs: Sequence[Buffer], arena: int, table: int) -> Native:
    name = func.sym_name.data
    title = f"@{name} for {planner.host.isa}, made by the target mind-native"
    module = LlvmModule(planner.host.triple, title, planner.host.attributes)
    main = module.unique(f"run.{identifier(name)}")
    sites, notes, steps = Sites(), list[Note](), list[Entry | Foreign]()
    known: dict[Hashable, NativeKernel] = {}
    packing = _packing(module, planner, f"{main}.once", known, notes, sites, func)
    codes: list[Code] = []

    def close() -> None:
        if codes:
            again = any(isinstance(s, Entry) for s in steps)
            entry = Entry(module.unique(main) if again else main)
            steps.append(entry)
            _entry(module, planner.host, entry.name, codes, sites)
            codes.clear()

    for step in planner.steps:
        if isinstance(step, Foreign):
            close()
            steps.append(step)
            notes.append(Note(shown(step.op), None, step.reason))
        else:
            codes += _codes(module, planner.host, step, known, notes, 0)
    close()
    inputs = [planner.buffer_of(planner.view(a)).place for a in func.body.block.args]
    made = Native(name, planner.host, module.text(), steps, inputs, outputs, planner.constants, table, arena, sites.found, notes)
    return replace(made, packing=packing)


def _packing(
    module: LlvmModule,
    planner: Planner,
    name: str,
    known: dict[Hashable, NativeKernel],
    notes: list[Note],
    sites: Sites,
    func: FuncOp,
) -> Packing | None:
    """The entry of what is done once for all calls, if there is something."""
    once, found = planner.once, list[Note]()
    if not once.steps:
        return None
    codes = [code for step in once.steps for code in _codes(module, planner.host, step, known, found, 0)]
    notes += [replace(note, once=True) for note in found]
    entry = module.unique(name)
    _entry(module, planner.host, entry, codes, sites)
    read = {b for access in once.access for b in access.reads}
    inputs = [i for i, a in enumerate(func.body.block.args) if planner.view(a).base in read]
    return Packing(entry, inputs, [(b.place, b.bytes) for b in once.made])


def _codes(
    module: LlvmModule, host: TargetInfo, step: Step, known: dict[Hashable, NativeKernel], notes: list[Note], depth: int
) -> list[Code]:
    """The kernels of a step, and of the steps in it; nothing for a copy of a value onto itself."""
    if isinstance(step, Loop | Branch):
        notes.append(Note(step.what, None, depth=depth))
        inner = [[c for s in part for c in _codes(module, host, s, known, notes, depth + 1)] for part in step.parts]
        return [Nested(step, inner)]
    assert not isinstance(step, Foreign), "not in a region"
    if isinstance(step, Group) and step.is_idle():
        return []
    kernel = kernel_of(step, module, host, known)
    notes.append(Note(step.contents(), f"@{kernel.name}", depth=depth))
    return [(kernel, step)]


def _entry(module: LlvmModule, host: TargetInfo, name: str, codes: Sequence[Code], sites: Sites) -> None:
    """A function that runs kernels in order; many of them by functions of bounded size."""
    f = module.function(name, "i64", [("ptr", "buffers")], internal=False)
    if len(codes) <= MOST_CALLS:
        _run(f, host, codes, sites)
        return
    for first in range(0, len(codes), MOST_CALLS):
        part = module.function(module.unique(f"{name}.part"), "i64", [("ptr", "buffers")])
        _run(part, host, codes[first : first + MOST_CALLS], sites)
        status = f.op(f"call i64 {symbol(part.name)}(ptr %buffers)", "status")
        f.leave(f.op(f"icmp ne i64 {status}, 0", "failed"), lambda status=status: status)
    f.ret("0")


def _run(f: Function, host: TargetInfo, codes: Sequence[Code], sites: Sites) -> None:
    run(Calls(f, host, sites, list(steps_in(codes))), codes)
    f.ret("0")
