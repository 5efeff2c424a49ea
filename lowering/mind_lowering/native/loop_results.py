"""
Results of loops that later functions read: copied to memory whose address is known.

A program is several functions where the host computes some of it, or where it is long. If the carries of a loop change places,
the address of a result is known only after the loop, and only by the function that runs the loop.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, Operation, SSAValue

from ..launch.base import LaunchOp
from ..launch.compute_ops import HostCallOp, KernelOp
from ..launch.control_ops import ForOp, IfOp, WhileOp
from ..launch.memory_ops import AllocOp, CopyOp, Space, ViewOp
from ..launch.ref import read_ref, ref
from .table import spot

MOST_CALLS = 512
"""So many kernels, loops and branches are run by one function, whose code is generated in more than linear time."""


def copy_results(top: Block) -> None:
    """Copy the results of the loops of a program that another function uses and whose addresses are not known before it runs."""
    order = {op: i for i, op in enumerate(top.ops)}
    loops = [op for op in order if isinstance(op, ForOp | WhileOp) and op.res]
    if not loops:
        return
    is_long = sum(isinstance(op, KernelOp | ForOp | WhileOp | IfOp) for op in order) > MOST_CALLS
    hosts = [i for op, i in order.items() if isinstance(op, HostCallOp)]
    for loop in loops:
        limit = order[loop] if is_long else next((i for i in hosts if i > order[loop]), len(order))
        for result in loop.res:
            if not isinstance(spot(result)[0].owner, AllocOp) and _is_used_from(result, limit, order):
                _copy(result, loop)


def _is_used_from(value: SSAValue, first: int, order: dict[Operation, int]) -> bool:
    """Return whether an op uses a value, or a view of it, and has at least the number `first`."""
    for use in value.uses:
        op = use.operation
        if isinstance(op, ViewOp) and _is_used_from(op.res, first, order):
            return True
        if not isinstance(op, ViewOp) and order[_outermost(op, order)] >= first:
            return True
    return False


def _outermost(op: Operation, order: dict[Operation, int]) -> Operation:
    while op not in order:
        outer = op.parent_op()
        assert outer is not None, "in the function"
        op = outer
    return op


def _copy(result: SSAValue, loop: ForOp | WhileOp) -> None:
    layout = read_ref(result.type)
    alloc = AllocOp(ref(layout.dtype, layout.shape), Space.ARENA)
    made: Sequence[LaunchOp] = [alloc] if alloc.res.type == result.type else [alloc, ViewOp(alloc.res, result.type)]
    target = made[-1].results[0]
    target.name_hint = result.name_hint
    result.replace_all_uses_with(target)
    block = loop.parent
    assert block is not None, "in the function"
    block.insert_ops_after([*made, CopyOp(result, target)], loop)
