"""Which results of a kernel can have the memory of which operands: each element is then read by the thread that writes it."""

from __future__ import annotations

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.ptir import FUSIBLE, FusionOp


def over_operands(op: FusionOp) -> set[tuple[int, int]]:
    """
    The pairs of a result and an operand of its type that is only ever read at the place that is written.

    Every op of the body goes element by element, but for those that the operand has no part in.
    """
    block = op.body.block
    ending = block.last_op
    if ending is None or any(FUSIBLE.get(type(o)) not in ("elementwise", "view") for o in block.ops if o is not ending):
        return set()
    safe: set[int] = set()
    for i, argument in enumerate(block.args):
        moved: set[SSAValue] = {argument}
        for inner in block.ops:
            if inner is not ending and any(v in moved for v in inner.operands):
                if isinstance(inner, ptir.BroadcastToOp | ptir.ReshapeOp):
                    break
                moved.update(inner.results)
        else:
            safe.add(i)
    computed = [(r, v) for r, v in enumerate(ending.operands) if v not in block.args]
    return {(r, i) for r, v in computed for i in safe if block.args[i].type == v.type}
