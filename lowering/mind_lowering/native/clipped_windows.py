"""
Reductions of windows that reach beyond their operand, or over holes in it, without a copy of it that has a border or holes.

Padding and holes hold the identity of the reduction, so they are skipped, and the order of what is read does not change. Loops
over the places of a window have bounds that depend on the window (`Nest.bounds`). A vector, however, reads neighbouring windows
at one place: where lanes run along an axis with padding, the windows inside of the operand form one kernel, and each of the few
others forms one. With a base dilation, results at equal places modulo it are a phase, whose windows have no holes.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import prod

from xdsl.ir import Block

from mind_dialect import ptir
from mind_dialect.ptir.legal import default_accumulator
from mind_dialect.ptir.types import Kind, PtirDType, tensor_type

from ..launch.kernel_patterns import Match, Rejection
from .demanded import shape_of
from .grouping import group_name
from .groups import Group
from .partials import is_cut_up
from .patterns import Builder, Operands, moving
from .reductions import identity_of
from .schedule import NestSchedule
from .slides import MOST_PHASES, phases_along
from .target_info import TargetInfo
from .views import Buffer, Use, View, filled, literal_of, whole, window
from .window_parts import WindowPart, WindowPhase, WindowSchedule, lane_parts, met_windows, whole_phase


def _phases(op: ptir.ReduceWindowOp) -> list[WindowPhase]:
    """Return the phases of the base dilation of an op; one if there is none."""
    values = op.values()
    lows = [low for low, _ in values["padding"]]
    extents, places, bases, taps = shape_of(op.x), shape_of(op.result), values["base_dilation"], values["window_dims"]
    if all(b == 1 for b in bases):
        return [whole_phase(op)]
    axes = [phases_along(*axis) for axis in zip(extents, places, taps, bases, lows, strict=True)]
    return [
        WindowPhase([r for r, *_ in each], [b for _, _, b, _ in each], [slide for *_, slide in each]) for each in product(*axes)
    ]


def match_clipped(op: ptir.ReduceWindowOp, operands: Operands, host: TargetInfo) -> Match | Rejection:
    """Match a reduction of windows some of which reach beyond the operand, or over holes between its elements."""
    values, source = op.values(), operands.views.get(op.x)
    count = prod(values["base_dilation"])
    if count > 1 and any(n != 1 for n in (*values["strides"], *values["window_dilation"])):
        return Rejection("a stride or a window dilation in addition to the base dilation")
    if count > MOST_PHASES:
        return Rejection(f"{count} phases of the base dilation, more than {MOST_PHASES}")
    phases = _phases(op)
    if 0 in (*shape_of(op.x), *shape_of(op.result)) or (count == 1 and all(slide.is_inside for slide in phases[0].slides)):
        return Rejection("no window reaches beyond the operand")
    if source is None or not isinstance(source.base, Buffer) or source.lookups:
        return Rejection("the operand is not in memory")
    found, out = WindowSchedule(), whole(Buffer(Use.ARENA, -1, source.dtype, 0), shape_of(op.result))
    for phase in phases:
        met = met_windows(phase, found.nothing)
        reason = None if met is None else _add(found, op, met, source, out, host)
        if reason is not None:
            return Rejection(reason)
    return Match(moving([op.x, op.result]), found)


def _add(
    found: WindowSchedule, op: ptir.ReduceWindowOp, phase: WindowPhase, source: View, out: View, host: TargetInfo
) -> str | None:
    """
    Add the parts of a phase to a schedule, or return why there are none.

    They are one part, or where lanes run best along an axis with padding, this axis is split.
    """
    every = phase.every
    clipped = group_of(op, phase, every, source, out)
    free = replace(clipped, clips=())
    if is_cut_up(host, free):
        return "windows are reduced part by part"
    best = NestSchedule(host, free)
    keeps = best.lanes_are_kept
    if not keeps and op.values()["kind"] == "sum" and source.dtype.kind is Kind.FLOAT:
        return "lanes run along the places of a window, in an order that sums of floats depend on"
    parts = lane_parts(phase, best, NestSchedule(host, replace(clipped, keeps_lanes=keeps)))
    if isinstance(parts, str):
        return parts
    found.parts += [(phase, part, keeps) for part in parts]
    return None


def group_of(op: ptir.ReduceWindowOp, phase: WindowPhase, part: WindowPart, source: View, out: View) -> Group:
    """Return the reduction of some windows as one kernel, with results where those of all windows lie."""
    values, rank, view = op.values(), len(phase.slides), phase.view(part, source)
    total: PtirDType = values["accum_dtype"] or default_accumulator(source.dtype)
    block = Block(arg_types=[tensor_type(source.dtype, view.shape)])
    made = ptir.ReduceOp(block.args[0], kind=values["kind"], axes=tuple(range(rank, 2 * rank)), keepdims=False, accum_dtype=total)
    block.add_op(made)
    target = window(phase.results(out), part.starts, part.counts, [1] * rank)
    name, reductions = group_name([made], [op.result]), [(made, target)]
    return Group(name, view.shape, {block.args[0]: view}, reductions=reductions, clips=phase.clips(part))


def expand_clipped(build: Builder, op: ptir.ReduceWindowOp, match: Match) -> None:
    """Append the kernels of the parts."""
    schedule: WindowSchedule = match.schedule
    source, out = build.view(op.x), build.target(op.result)
    for phase in schedule.nothing:
        target = phase.results(out)
        build.copy(op.result, filled(literal_of(out.dtype, identity_of(op.values()["kind"], out.dtype)), target.shape), target)
    for phase, part, keeps in schedule.parts:
        group = replace(group_of(op, phase, part, source, out), keeps_lanes=keeps)
        build.keep += [value.owner for value in group.inputs if isinstance(value.owner, Block)]
        build.add(group)
