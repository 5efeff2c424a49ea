"""Results of a kernel that can have the memory of operands: each element is then read by the thread that writes it."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import Operation, SSAValue

from mind_dialect.ptir import FUSIBLE, FusionOp, GatherOp, ReduceOp, TakeOp

from .places import spec


def over_operands(op: FusionOp) -> set[tuple[int, int]]:
    """
    The pairs of a result and an operand of its type that is only ever read at the place that is written.

    What is computed of the operand goes element by element; the rest of the body may have views, lookups of rows and elements if
    there are no reductions, and reductions if the result is no greater than what they leave: that is written last, by the thread
    that computes it of whatever else it needs.
    """
    block = op.body.block
    ending = block.last_op
    ops = [o for o in block.ops if o is not ending]
    sizes = {prod(spec(o.x)[1]) for o in ops if isinstance(o, ReduceOp)}
    if ending is None or any(_kind(o) is None and (sizes or not isinstance(o, GatherOp | TakeOp)) for o in ops):
        return set()
    safe = {i for i, argument in enumerate(block.args) if _goes_by_element(argument, ops)}
    computed = [(r, v) for r, v in enumerate(ending.operands) if v not in block.args and prod(spec(v)[1]) not in sizes]
    return {(r, i) for r, v in computed for i in safe if block.args[i].type == v.type}


def _kind(op: Operation) -> str | None:
    kind = "reduction" if isinstance(op, ReduceOp) else FUSIBLE.get(type(op))
    return None if kind == "contraction" else kind


def _goes_by_element(argument: SSAValue, ops: Sequence[Operation]) -> bool:
    """Return whether all that is computed of an argument is where its own elements are."""
    moved = {argument}
    for op in ops:
        if any(v in moved for v in op.operands):
            if _kind(op) != "elementwise":
                return False
            moved.update(op.results)
    return True
