"""
Ops that fail on some inputs, and how an executor keeps those that a program does not need.

The passes erase such an op like any other whose results are unused. A run on any target raises what the program as given raises,
so an executor that optimises marks these ops first: dead code elimination keeps what is marked. It also numbers them, so that its
errors name the op of the program.
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, UnitAttr, i64
from xdsl.ir import Operation, SSAValue

from mind_dialect.dominance import walk
from mind_dialect.ptir import PtirOp

MARK = "mind.can_fail"
"""The attribute of a marked op."""
ORIGIN = "mind.origin"
"""The attribute of an op that can fail that holds the number of the op it comes from, so that errors name that one."""


def can_fail(op: Operation) -> bool:
    """Return whether an op of ours fails on some inputs, by itself."""
    return isinstance(op, PtirOp) and op.can_fail()


def mark_failing(root: Operation) -> None:
    """Mark the ops inside `root` that can fail, so that they are not erased."""
    for op in walk(root):
        if can_fail(op):
            op.attributes[MARK] = UnitAttr()


def unmark_used(root: Operation) -> None:
    """Take the marks away from ops whose results are used: those run anyway, and later rewrites may copy them."""
    for op in walk(root):
        if any(result.first_use is not None for result in op.results):
            op.attributes.pop(MARK, None)


def unmark(root: Operation) -> None:
    """Take all marks away."""
    for op in walk(root):
        op.attributes.pop(MARK, None)


def replaced(op: Operation, value: SSAValue) -> None:
    """Let `value`, which stands for the result of `op` from now on, have the mark and the origin of `op`, if it can fail."""
    made, mark = value.owner, op.attributes.pop(MARK, None)
    if not isinstance(made, Operation) or not can_fail(made):
        return
    if mark is not None:
        made.attributes[MARK] = mark
    if ORIGIN in op.attributes:
        made.attributes.setdefault(ORIGIN, op.attributes[ORIGIN])


def is_marked(op: Operation) -> bool:
    """Return whether an op was marked."""
    return MARK in op.attributes


def number_origins(root: Operation) -> None:
    """Give each op inside `root` that can fail its number in a walk."""
    for number, op in enumerate(walk(root)):
        if can_fail(op):
            op.attributes[ORIGIN] = IntegerAttr(number, i64)


def origin_of(op: Operation) -> int | None:
    """The number of the op that `op` comes from, if it has one."""
    found = op.attributes.get(ORIGIN)
    return found.value.data if isinstance(found, IntegerAttr) else None


def forget_origins(root: Operation) -> None:
    """Take the numbers away."""
    for op in walk(root):
        op.attributes.pop(ORIGIN, None)
