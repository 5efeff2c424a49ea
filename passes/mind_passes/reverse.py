"""
The reverse walk: from the adjoints of a block's results back to those of its values, with a dict from value to adjoint.

It knows no op and no dialect. It asks the rule of each op for the adjoints of the operands that need one, appends what the rule
builds to the block, and accumulates in reverse instruction order. Rules of ops with regions walk through their bodies with a
`Reverse` of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.ir import Block, Operation, SSAValue

from mind_dialect.errors import MindError, error

from .activity import Flows
from .algebra import Algebra
from .derivatives.rules import Value, Whole
from .emit import append, place_of, placed


class Reverse:
    """One reverse walk over ops of a block, whose adjoints are appended to that block."""

    def __init__(self, block: Block, algebra: Algebra, flows: Flows, *, verified: bool = True):
        self.block, self.algebra, self.flows = block, algebra, flows
        self.verified = verified
        """Whether the ops are known to be well-formed, so that a misfit is a wrong rule."""
        self.varied: set[SSAValue] = set()
        """The values whose adjoints are wanted; set before the walk, and by rules for the ops they add."""
        self.adjoints: dict[SSAValue, SSAValue] = {}

    def nested(self, block: Block) -> Reverse:
        """A walk of the same kind over another block."""
        return Reverse(block, self.algebra, self.flows, verified=self.verified)

    def run(self, ops: Sequence[Operation]) -> None:
        """Walk backwards through `ops`."""
        for op in reversed(ops):
            try:
                self._propagate(op)
            except MindError as e:
                raise placed(e, op) from None

    def append(self, value: Value, source: Operation | None = None) -> SSAValue:
        """Append the unattached ops that `value` is made of, operands first, at the place in the text of `source`."""
        return append(self.block, value, source)

    def accumulate(self, x: SSAValue, x_adj: Value, source: Operation | None) -> None:
        """Add to the adjoint of `x`."""
        value = self.append(x_adj, source)
        old = self.adjoints.get(x)
        self.adjoints[x] = value if old is None else self.append(self.algebra.add(old, value), source)

    def adjoint(self, x: SSAValue) -> SSAValue:
        """The adjoint of `x`, or explicit zeros where nothing reaches it."""
        found = self.adjoints.get(x)
        return self.append(self.algebra.filled(0.0, x)) if found is None else found

    def _propagate(self, op: Operation) -> None:
        """Add to the adjoints of the operands what `op` passes on of those of its results."""
        gs = [self.adjoints.get(x) for x in op.results]
        g = next((g for g in gs if g is not None), None)
        if g is None or not any(x in self.varied for x in op.operands):
            return
        rules, operands = self.algebra.rules(op), op.operands
        if isinstance(rules, Whole):
            for x, whole_adj in zip(operands, rules.adjoints(self, op, gs), strict=True):
                if whole_adj is not None and x in self.varied:
                    self._fitted(op, x, whole_adj)
            return
        for x, rule in zip(operands, rules, strict=True):
            if rule is not None and x in self.varied:
                self._fitted(op, x, rule(op, g))

    def _fitted(self, op: Operation, x: SSAValue, x_adj: Value) -> None:
        value = self.append(x_adj, op)
        if value.type is not x.type:  # comparing types costs more than the rest
            value = self.append(self.algebra.fit(value, x), op)
            if value.type != x.type and not self.algebra.agrees(value, x):
                raise self._misfit(op, value, x)
        self.accumulate(x, value, op)

    def _misfit(self, op: Operation, x_adj: SSAValue, x: SSAValue) -> MindError:
        """An adjoint of another type than its operand: a wrong rule for a verified op, else a wrong op."""
        message = f"{place_of(op)}: the adjoint of an operand of type {x.type} has type {x_adj.type}"
        if self.verified:
            return error("E5002", message, operation=op, inner="E4015")
        return error("E5004", message, operation=op, shapes=(str(x_adj.type), str(x.type)))

    def vary(self, ops: Iterable[Operation], sources: Iterable[SSAValue]) -> None:
        """Say which values of `ops` vary with `sources`."""
        self.varied |= self.flows.varied(ops, sources)
