"""Regions put in place: their ops converted one after the other, with values that stand for those of the program."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import Operation, Region, SSAValue

from mind_dialect.ptir.control import terminator

Convert = Callable[[Operation, list[SSAValue]], Sequence[SSAValue]]
"""Converts an op, given what stands for its operands, and returns what stands for its results."""


def inlined_region(region: Region, arguments: Sequence[SSAValue], convert: Convert) -> list[SSAValue]:
    """Convert the ops of a region of one block, and return what stands for the operands of its terminator."""
    block, last = region.block, terminator(region.block)
    values: dict[SSAValue, SSAValue] = dict(zip(block.args, arguments, strict=True))
    for op in block.ops:
        if op is last:
            break
        for before, after in zip(op.results, convert(op, [values[v] for v in op.operands]), strict=True):
            values[before] = after
            if isinstance(after.owner, Operation) and after.name_hint is None:
                after.name_hint = before.name_hint
    return [values[v] for v in last.operands]
