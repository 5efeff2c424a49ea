"""
Rows of `kernels.py` for the first extremes of windows: their indices, and their values where a `take` reads them at these.

Windows are read in place, as in `clipped_windows.py`. A `take` of the same operand by the indices is the value of the winner,
which the same kernel has in a register: it is written there, and an index that nothing else reads is not computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from xdsl.ir import Block, SSAValue

from mind_dialect import ptir
from mind_dialect.ptir.types import BF16, F16, SI32, SI64, tensor_type

from ..launch.kernel_patterns import Match, Rejection
from ..launch.ref import row_major
from .demanded import shape_of
from .first_extremes import ExtremesSchedule, FirstExtremes
from .grouping import group_name
from .patterns import Builder, KernelPattern, Operands, row
from .reasons import not_computed
from .target_info import TargetInfo
from .views import Buffer, Indices, View, filled, literal_of, window
from .window_parts import WindowPart, WindowPhase, WindowSchedule, lane_parts, met_windows, whole_phase

Results = Sequence[tuple[SSAValue, View, bool]]
"""Values that are written, where, and whether each is the indices."""


def _flattened(value: SSAValue) -> SSAValue:
    """Return what reshapes before a value reshape."""
    while isinstance(owner := value.owner, ptir.ReshapeOp):
        value = owner.x
    return value


def why_no_winner(op: ptir.PtirOp) -> str | None:
    """Return why an op is not a `take` of the value of the first extremes of windows."""
    search = op.operands[1].owner
    if not isinstance(op, ptir.TakeOp):
        return "it takes no elements"
    if not isinstance(search, ptir.WindowArgOp) or search.parent is not op.parent:
        return "its indices are not those of extremes of windows"
    if len(shape_of(op.operands[0])) != 1 or _flattened(op.operands[0]) is not _flattened(search.x):
        return "its operand is not that of the windows, flattened"
    if op.operand_spec(0).dtype in (F16, BF16):
        return "16-bit floats are widened to be compared, which changes the bits of signalling NaNs"
    if 0 in shape_of(search.x) or any(not _meets(whole_phase(search), axis) for axis in range(len(shape_of(search.x)))):
        return "a window holds padding alone, whose index it refuses"
    return None


def _meets(phase: WindowPhase, axis: int) -> bool:
    """Return whether every window along an axis meets elements of the operand."""
    slide = phase.slides[axis]
    return all(first < end for first, end in map(slide.inside, range(slide.places)))


def _match_winner(op: ptir.TakeOp, operands: Operands, host: TargetInfo) -> Match | Rejection:
    """Match a `take` whose result the kernel of its indices writes."""
    reason = why_no_winner(op)
    return Match(0.0) if reason is None and op.result in operands.views else Rejection(reason or "no kernel finds its indices")


def _extremes(op: ptir.WindowArgOp, phase: WindowPhase, part: WindowPart, source: View, results: Results) -> FirstExtremes:
    """Return the search for the extremes of some windows as one kernel."""
    kind, rank, elements = op.values()["kind"], len(phase.slides), phase.view(part, source)
    count = SI32 if prod(shape_of(op.x)) < 1 << 31 else SI64
    every = View(Indices(), count, shape_of(op.x), row_major(shape_of(op.x)))
    index = phase.view(replace(part, clipped=[False] * rank), every)
    block = Block(arg_types=[tensor_type(dtype, part.shape) for dtype in (source.dtype, count)])
    block.args[0].name_hint = op.x.name_hint
    inputs: dict[SSAValue, View] = {block.args[0]: elements}
    reductions: list[tuple[ptir.ReduceOp, View]] = []
    axes = tuple(range(rank, 2 * rank))
    for _, target, is_index in results:
        of = block.args[is_index]
        inputs[of] = index if is_index else elements
        block.add_op(made := ptir.ReduceOp(of, kind=kind, axes=axes, keepdims=False, out_dtype=target.dtype))
        reductions.append((made, window(phase.results(target), part.starts, part.counts, [1] * rank)))
    name = group_name([op], [value for value, _, _ in results])
    empty = any(c and not _meets(phase, a) for a, c in enumerate(part.clipped))
    return FirstExtremes(
        name,
        part.shape,
        inputs,
        reductions=reductions,
        clips=phase.clips(part),
        keeps_lanes=True,
        kind=kind,
        has_empty=empty,
    )


def _schedule(op: ptir.WindowArgOp, source: View, results: Results, host: TargetInfo) -> WindowSchedule:
    """Return the parts of the windows of an op: several where lanes run best along an axis with padding."""
    found, phase = WindowSchedule(), whole_phase(op)
    if 0 in shape_of(op.x):
        found.nothing.append(phase)
        return found
    met = met_windows(phase, found.nothing)
    if met is None:
        return found

    def schedule(part: WindowPart) -> ExtremesSchedule:
        return ExtremesSchedule(host, _extremes(op, met, part, source, results))

    every = met.every
    parts = lane_parts(met, schedule(replace(every, clipped=[False] * len(every.clipped))), schedule(every))
    for part in [every] if isinstance(parts, str) else parts:
        if 0 in part.shape:
            found.nothing.append(_windows_of(met, part))
        else:
            found.parts.append((met, part, True))
    return found


def _windows_of(phase: WindowPhase, part: WindowPart) -> WindowPhase:
    """Return the windows of a part as a phase of their own."""
    for axis, (start, count) in enumerate(zip(part.starts, part.counts, strict=True)):
        phase = phase.along(axis, range(start, start + count))
    return phase


def _expand(build: Builder, op: ptir.WindowArgOp) -> None:
    """Append the kernels that write the values of winners, their indices, or both."""
    source = build.view(op.x)
    if not isinstance(source.base, Buffer) or source.lookups:
        source = build.copied(op.x, source)
    users = {use.operation: None for use in op.result.uses}
    values = [user.result for user in users if isinstance(user, ptir.TakeOp) and why_no_winner(user) is None]
    results = [(value, build.target(value), False) for value in values[:1]]
    build.views.update({value: build.views[values[0]] for value in values[1:]})
    if not values or len(values) < len(users):
        results.append((op.result, build.target(op.result), True))
    if 0 in shape_of(op.result):
        return
    schedule = _schedule(op, source, results, build.host)
    for phase in schedule.nothing:
        target = phase.results(build.views[op.result])
        build.copy(op.result, filled(literal_of(target.dtype, -1), target.shape), target)
    for phase, part, _ in schedule.parts:
        group = _extremes(op, phase, part, source, results)
        build.keep += [value.owner for value in group.inputs if isinstance(value.owner, Block)]
        build.add(group)


WINDOW_ARGS = (
    KernelPattern("winner of windows", (ptir.TakeOp,), _match_winner, lambda build, op, match: None),
    row("winner of windows", ptir.WindowArgOp, _expand, not_computed),
)
"""Their rows."""
