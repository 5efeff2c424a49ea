"""Run-time errors of PTIR as Core IR's specification has them, where the op that failed comes from one of Core IR."""

from __future__ import annotations

from xdsl.ir import Operation

from mind_dialect import core
from mind_dialect.core import CoreOp
from mind_dialect.errors import MindError, error


def as_core(e: MindError, op: Operation) -> MindError:
    """`e` as an error of `op`: an index by its own numbers and the shape it is an index of, division by zero as E6006."""
    if not isinstance(op, CoreOp):
        return e
    if e.code == "E8004":
        return MindError("E6006", e.message, e.context)
    if e.code == "E6001":
        given, extents = e.context["indices"], e.context["shape"]
        if isinstance(op, core.IndexOp | core.IndexScatterOp):
            shape = op.operand_shape(0) if isinstance(op, core.IndexOp) else op.result_shape
            given, extents = list(op.values()["indices"]), list(shape)
        message = f"index {given} is out of bounds for shape {extents}, expected 0 <= index < extent"
        return error("E6001", message, indices=given, shape=extents)
    return e
