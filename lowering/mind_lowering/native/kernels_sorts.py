"""Rows of `kernels.py` for what is put in order."""

from __future__ import annotations

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.ptir import PtirOp
from mind_dialect.ptir.types import UI8

from .demanded import shape_of
from .kernel_steps import LaneSort, Sort
from .lane_order import lane_order
from .patterns import Builder, row
from .quicksort_steps import PHASES, PartedSort, is_sorted_in_parts
from .reasons import unsupported
from .target_info import TargetInfo
from .views import Buffer, Use, View

MOST = 1 << 31
"""Elements of a line: their places are counted in 32 bits."""
MOST_RANKS = 8
"""Places in an order that are found without the whole order."""


def _why_not_ordered(op: ptir.SortOp | ptir.TopKOp, host: TargetInfo) -> str | None:
    """Return why lines of an operand are not put in order."""
    shape = shape_of(op.operands[0])
    axis: int = op.values()["axis"]
    n = shape[axis % len(shape)]
    if reason := unsupported([op.operand_spec(0).dtype], host):
        return reason
    return f"lines of {n} elements, more than are counted in 32 bits" if n >= MOST else None


def _sort(build: Builder, op: ptir.SortOp) -> None:
    values = op.values()
    _ordered(build, op, op.result, None, values["axis"], values["descending"])


def _top_k(build: Builder, op: ptir.TopKOp) -> None:
    values = op.values()
    best, places = op.results
    _ordered(build, op, best, places, values["axis"], values["largest"])


def _ranks_read(ordered: SSAValue, axis: int) -> tuple[int, ...]:
    """Return the places along an axis that slices read of what is in order; none if there are many, or other readers."""
    found: set[int] = set()
    for use in ordered.uses:
        if not isinstance(use.operation, ptir.SliceOp):
            return ()
        values = use.operation.values()
        start, size = values["starts"][axis], values["sizes"][axis]
        if not (isinstance(start, int) and isinstance(size, int) and size <= MOST_RANKS):
            return ()
        found.update(range(start, start + size))
    return tuple(sorted(found)) if len(found) <= MOST_RANKS else ()


def _ordered(build: Builder, op: PtirOp, best: SSAValue, places: SSAValue | None, axis: int, descending: bool) -> None:
    """Append a sort of lines."""
    axis %= len(build.shape(op.operands[0]))
    view = build.view(op.operands[0])
    if not isinstance(view.base, Buffer) or view.lookups:
        view = build.copied(op.operands[0], view)
    values = build.target(best)
    found: View | None = None if places is None else build.target(places)
    if values.count:
        name = best.name_hint or op.OPCODE
        lanes = LaneSort(name, view, axis, descending, values, found)
        if lane_order(lanes, build.host) is not None:
            build.add(lanes)
            return
        step = Sort(name, view, axis, descending, values, found, ranks=_ranks_read(best, axis))
        if is_sorted_in_parts(step, build.host):
            steps = [
                PartedSort(f"{name}.{phase}", view, axis, descending, values, None, None, step.ranks, phase) for phase in PHASES
            ]
        else:
            steps = [step]
        room = build.buffer(Use.ARENA, UI8, steps[0].units * steps[0].room_of_unit, f"{name}.room")
        for each in steps:
            each.room = room
            build.add(each)


SORTS = (row("sort", ptir.SortOp, _sort, _why_not_ordered), row("sort", ptir.TopKOp, _top_k, _why_not_ordered))
"""Their rows."""
