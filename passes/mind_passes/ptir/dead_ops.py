"""
Dead ops: those whose results are unused, and their removal, in functions and in the regions of every op.

All ops of PTIR are pure. One that would fail at run time and whose results are unused is dead like any other, unless an executor
marked it (see `failing`), and so is a loop that might never end. Random ops stay (see `building.stays`), and so does what holds
one. Linear: each block is walked backwards once.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import IsTerminator

from mind_dialect.dominance import walk

from .building import rewire, stays
from .failing import is_marked


def erase_dead(root: Operation) -> bool:
    """Erase the unused ops of PTIR inside `root` that are not marked; whether there were any."""
    kept = holders(root, marked=True)
    erased = False
    stack = last_ops(root)
    while stack:
        op: Operation | None = stack.pop()
        while op is not None:
            before = op.prev_op
            if op not in kept and not any(result.first_use for result in op.results) and not op.has_trait(IsTerminator):
                block = op.parent
                assert isinstance(block, Block)
                block.erase_op(op)
                erased = True
            elif op.regions:  # inner ops may use values of this block, so they are dealt with first
                stack += [] if before is None else [before]
                stack += last_ops(op)
                break
            op = before
    return erased


def replace_values(root: Operation, became: Mapping[SSAValue, SSAValue]) -> bool:
    """Let all inside `root` use what values became, and erase what is unused then; whether anything became something else."""
    if not became:
        return False
    for op in walk(root):
        rewire(op, became)
    erase_dead(root)
    return True


def holders(root: Operation, *, marked: bool = False) -> set[Operation]:
    """The ops inside `root` that stay, and those that hold one; with `marked` also those that an executor marked."""
    kept: set[Operation] = set()
    for op in walk(root):
        holder: Operation | None = op if stays(op) or (marked and is_marked(op)) else None
        while holder is not None and holder not in kept:
            kept.add(holder)
            holder = holder.parent_op()
    return kept


def last_ops(op: Operation) -> list[Operation]:
    """The last op of each block of `op`."""
    return [block.last_op for region in op.regions for block in region.blocks if block.last_op is not None]
