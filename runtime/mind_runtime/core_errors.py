"""
Run-time errors as errors of the program that was compiled: they name its op, whatever an executor made of it.

Where that op is one of Core IR, they are as its specification has them.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from mind_dialect import core
from mind_dialect.core import CoreOp
from mind_dialect.errors import MindError, error
from mind_lowering.outline import original
from mind_passes.ptir.failing import origin_of


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


def attributed(e: MindError, func: FuncOp, sources: Mapping[Operation, Operation] | None = None) -> MindError:
    """
    `e` as the NumPy target raises it for `func`, if its op comes from a numbered one of the function.

    `sources` says for a function that was made of another one which op of that each of its ops is.
    """
    number = None if e.op is None else origin_of(e.op)
    op = None if number is None else original(func, number)
    if op is None:
        return e
    op = (sources or {}).get(op, op)
    context = {name: value for name, value in e.context.items() if name != "op"}
    bare = MindError(e.code, e.message.removeprefix(f"{e.context.get('op')}: "), context, None, e.category)
    return as_core(bare, op).at(op, place_of(op))


def place_of(op: Operation) -> str:
    """Return the name of an op in a message."""
    place = getattr(op, "place", None)
    return place() if place is not None else op.name
