"""Rows of `kernels.py` for what is put in order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.ptir import PtirOp
from mind_dialect.ptir.types import UI8

from .plan import NativePlan
from .reasons import unsupported
from .sorts import Sort, room_of, units_of
from .views import Buffer, Use, View

MOST = 1 << 31
"""Elements of a line: their places are counted in 32 bits."""


def _sort(planner: NativePlan, op: ptir.SortOp) -> str | None:
    values = op.values()
    return _ordered(planner, op, op.result, None, values["axis"], values["descending"])


def _top_k(planner: NativePlan, op: ptir.TopKOp) -> str | None:
    values = op.values()
    best, places = op.results
    return _ordered(planner, op, best, places, values["axis"], values["largest"])


def _ordered(planner: NativePlan, op: PtirOp, best: SSAValue, places: SSAValue | None, axis: int, descending: bool) -> str | None:
    """Append a sort of lines."""
    shape = planner.shape(op.operands[0])
    axis %= len(shape)
    if reason := unsupported([op.operand_spec(0).dtype], planner.host):
        return reason
    if shape[axis] >= MOST:
        return f"lines of {shape[axis]} elements, more than are counted in 32 bits"
    view = planner.view(op.operands[0])
    if not isinstance(view.base, Buffer) or view.lookups:
        view = planner.copied(op.operands[0], view)
    values = planner.target(best)
    found: View | None = None if places is None else planner.target(places)
    if values.count:
        name = best.name_hint or op.OPCODE
        room = planner.buffer(Use.ARENA, UI8, units_of(view, axis) * room_of(view, axis), f"{name}.room")
        planner.add(Sort(name, view, axis, descending, values, found, room))
    return None


SORTS: dict[type[PtirOp], Callable[[NativePlan, Any], str | None]] = {ptir.SortOp: _sort, ptir.TopKOp: _top_k}
"""Their rows."""
