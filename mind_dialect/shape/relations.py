"""
Shapes that constraints have shown to be equal or broadcastable, at one point of a walk in order of dominance.

A constraint that ran has not failed: its operands are valid from there on, and relate as it demands. `meet` of `!shape.shape`
teaches nothing by itself, as its result may be invalid without an error; of operands that are known to be equal it is one of
them. What a region teaches is forgotten at its end.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager

from xdsl.ir import Operation, SSAValue

from .constraints import ConstraintOp, CstrBroadcastableOp, CstrEqOp, CstrRequireOp, IsBroadcastableOp, ShapeEqOp
from .meeting import JoinOp, MeetOp
from .shapes import AnyOp, BroadcastOp

MAX_BROADCASTABLE = 64
"""A question looks at this many constraints `cstr_broadcastable`, the latest ones."""
ONE_OF_EQUAL = (MeetOp, JoinOp, BroadcastOp, AnyOp)
"""Ops whose result is each of their operands, if those are valid and equal."""


class Relations:
    """
    Classes of valid, equal shapes, sets of broadcastable shapes, and truths that were required.

    Classes are trees without path compression, the smaller below the larger, so that leaving a scope takes one step per fact.
    """

    def __init__(self) -> None:
        self._parent: dict[SSAValue, SSAValue] = {}
        self._size: dict[SSAValue, int] = {}
        self._trail: list[SSAValue] = []
        self._broadcastable: list[tuple[SSAValue, ...]] = []
        self._required: dict[SSAValue, None] = {}

    def implies(self, op: Operation) -> bool:
        """Return whether the constraint or question `op` holds by what was learnt before it."""
        match op:
            case CstrEqOp() | ShapeEqOp():
                return self._are_equal(op.operands)
            case CstrBroadcastableOp() | IsBroadcastableOp():
                return self._are_equal(op.operands) or self._are_broadcastable(op.operands)
            case CstrRequireOp():
                return op.pred in self._required
            case _:
                return False

    def learn(self, op: Operation) -> None:
        """Take in what holds after `op`."""
        match op:
            case ConstraintOp():
                self._relate(op)
            case CstrRequireOp():
                self._required[op.pred] = None
            case _ if isinstance(op, ONE_OF_EQUAL) and self._are_equal(op.operands):
                self._unite([*op.operands, op.results[0]])
            case _:
                pass

    @contextmanager
    def scope(self) -> Generator[None]:
        """Forget at the end what is learnt inside."""
        trail, sets, required = len(self._trail), len(self._broadcastable), len(self._required)
        try:
            yield
        finally:
            while len(self._trail) > trail:
                self._undo(self._trail.pop())
            del self._broadcastable[sets:]
            while len(self._required) > required:
                self._required.popitem()

    def _relate(self, op: ConstraintOp) -> None:
        if isinstance(op, CstrEqOp):
            self._unite(op.operands)
            return
        for value in op.operands:
            self._unite([value])
        self._broadcastable.append(tuple(op.operands))

    def _undo(self, value: SSAValue) -> None:
        """Take back the latest entry of a value: its place below another, or that it is valid."""
        parent = self._parent[value]
        if parent is value:
            del self._parent[value], self._size[value]
        else:
            self._size[parent] -= self._size[value]
            self._parent[value] = value

    def _root(self, value: SSAValue) -> SSAValue | None:
        """Return the class of a value; None if it may be invalid."""
        found = self._parent.get(value)
        while found is not None and (above := self._parent[found]) is not found:
            found = above
        return found

    def _roots(self, values: Sequence[SSAValue]) -> set[SSAValue | None]:
        return {self._root(value) for value in values}

    def _are_equal(self, values: Sequence[SSAValue]) -> bool:
        roots = self._roots(values)
        return len(roots) == 1 and None not in roots

    def _are_broadcastable(self, values: Sequence[SSAValue]) -> bool:
        """Shapes broadcast if they are among shapes that do."""
        roots = self._roots(values)
        if None in roots:
            return False
        return any(roots <= self._roots(known) for known in reversed(self._broadcastable[-MAX_BROADCASTABLE:]))

    def _unite(self, values: Sequence[SSAValue]) -> None:
        for value in values:
            if value not in self._parent:
                self._parent[value], self._size[value] = value, 1
                self._trail.append(value)
        for value in values[1:]:
            a, b = self._root(values[0]), self._root(value)
            assert a is not None
            assert b is not None
            if a is b:
                continue
            low, high = (a, b) if self._size[a] < self._size[b] else (b, a)
            self._parent[low] = high
            self._size[high] += self._size[low]
            self._trail.append(low)
