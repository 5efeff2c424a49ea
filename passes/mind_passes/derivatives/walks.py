"""
The walks of differentiation, and the rows of rules that take part in them.

`Flows` says what depends differentiably on what, `Reverse` goes from the adjoints of a block's results back to those of its
values, `Forward` computes tangents alongside a copy. They know no op or dialect: an `Algebra` gives them zeros, sums and the row
of each op. The row of an op with regions gets the walk that asks, and walks through its bodies with another of the same kind;
hence rows and walks stand together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from xdsl.ir import Block, Operation, SSAValue

from mind_dialect.errors import MindError, error
from mind_dialect.lazy_dataclass import dataclass

from ..emit import append, copy, discard, place_of, placed
from .dependence import bits, union
from .rules import Rules, Tangent, Value, can_vary


@dataclass(frozen=True)
class Whole:
    """
    A reverse rule for all operands and results at once.

    `adjoints(sweep, op, gs)` takes the adjoint of each result, None where there is none, and gives that of each operand, None
    where no gradient flows. `flows(of, op)` gives for each result the operands that it depends on differentiably, as bits.
    """

    adjoints: Callable[[Reverse, Any, Sequence[SSAValue | None]], Sequence[Value | None]]
    flows: Callable[[Flows, Any], Sequence[int]]


@dataclass(frozen=True)
class WholeForward:
    """A forward rule: from the tangent of each operand to that of each result, None where it does not vary."""

    tangents: Callable[[Forward, Any, Sequence[SSAValue | None]], Sequence[Value | None]]


FLAT = WholeForward(lambda walk, op, ts: [None] * len(op.results))
"""The forward row of an op whose results never vary."""

Row = Rules | Whole | Callable[[Any], "Rules | Whole"]
"""The reverse row of an op class; a function of the op where a property, or the number of operands, decides."""
ForwardRow = Tangent | WholeForward


def of(row: Row, op: Operation) -> Rules | Whole:
    """The row for this op."""
    return row(op) if callable(row) else row


class Algebra(Protocol):
    """One dialect's side of differentiation."""

    def filled(self, number: float, like: SSAValue) -> Value:
        """`number` everywhere, in the type of `like`."""
        ...

    def add(self, a: SSAValue, b: SSAValue) -> Operation:
        """The sum of two values of one type."""
        ...

    def fit(self, g: SSAValue, x: SSAValue) -> Value:
        """The adjoint of `x`, from one that may have the shape to which `x` was broadcast."""
        ...

    def agrees(self, g: SSAValue, x: SSAValue) -> bool:
        """Return whether `g` has a type that an adjoint of `x` may have."""
        ...

    def rules(self, op: Operation) -> Rules | Whole:
        """The reverse rules of `op`; E5001 if it has none that may be used."""
        ...


class ForwardAlgebra(Algebra, Protocol):
    """A dialect's side of both modes."""

    def tangent(self, op: Operation) -> ForwardRow:
        """The forward rule of `op`; E5001 if it has none."""
        ...


class Flows:
    """The dependences of values under the rules of a dialect; each region is visited once."""

    def __init__(self, algebra: Algebra):
        self._algebra = algebra
        self._through: dict[Operation, Sequence[int]] = {}

    def through(self, op: Operation) -> Sequence[int]:
        """For each result of `op`, the operands it depends on."""
        if (known := self._through.get(op)) is not None:
            return known
        try:
            rules = self._algebra.rules(op)
        except MindError:  # reported if an adjoint ever gets here
            rules = None
        if rules is None:
            masks: Sequence[int] = [(1 << len(op.operands)) - 1] * len(op.results)
        elif isinstance(rules, Whole):
            masks = self._through[op] = rules.flows(self, op)
        else:
            masks = [sum(1 << i for i, rule in enumerate(rules) if rule is not None)] * len(op.results)
        return masks

    def of_block(self, block: Block) -> list[int]:
        """For each operand of the block's terminator, the block arguments it depends on."""
        depends: dict[SSAValue, int] = {x: 1 << i for i, x in enumerate(block.args) if can_vary(x.type)}
        for op in block.ops:
            if op.next_op is None:
                return [depends.get(x, 0) for x in op.operands]
            if not any(x in depends for x in op.operands):
                continue
            for result, mask in zip(op.results, self.through(op), strict=True):
                if can_vary(result.type) and (found := union(depends.get(op.operands[i], 0) for i in bits(mask))):
                    depends[result] = found
        return []

    def varied(self, ops: Iterable[Operation], sources: Iterable[SSAValue]) -> set[SSAValue]:
        """The values that depend on `sources`, these included."""
        varied = set(sources)
        for op in ops:
            if not any(x in varied for x in op.operands):
                continue
            for result, mask in zip(op.results, self.through(op), strict=True):
                if can_vary(result.type) and any(op.operands[i] in varied for i in bits(mask)):
                    varied.add(result)
        return varied


class Reverse:
    """One reverse walk over ops of a block, whose adjoints are appended to that block."""

    def __init__(self, block: Block, algebra: Algebra, flows: Flows, *, verified: bool = True):
        self.block, self.algebra, self.flows = block, algebra, flows
        self.verified = verified
        """True if the ops are known to be well-formed, so that a misfit is a wrong rule."""
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
            unused: list[Value] = []
            for x, whole_adj in zip(operands, rules.adjoints(self, op, gs), strict=True):
                if whole_adj is None:
                    continue
                if x in self.varied:
                    self._fitted(op, x, whole_adj)
                else:
                    unused.append(whole_adj)
            discard(unused)
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


class Forward:
    """One walk over the ops of a block, copying each into a new block and computing tangents alongside."""

    def __init__(self, block: Block, algebra: ForwardAlgebra, flows: Flows):
        self.block, self.algebra, self.flows = block, algebra, flows
        self.copies: dict[SSAValue, SSAValue] = {}
        """From the values of the primal to those of the new block."""
        self.tangents: dict[SSAValue, SSAValue] = {}
        """From values of the new block to their tangents."""
        self._replaced: dict[SSAValue, SSAValue] = {}

    def nested(self, block: Block) -> Forward:
        """A walk of the same kind into another block."""
        return Forward(block, self.algebra, self.flows)

    def enter(self, body: Block, arguments: Sequence[SSAValue]) -> None:
        """Let the first of `arguments` stand for those of `body`."""
        for x, y in zip(body.args, arguments, strict=False):
            self.copies[x] = y
            y.name_hint = x.name_hint

    def run(self, ops: Sequence[Operation]) -> Operation:
        """Walk through the ops of a block, but for the terminator, which is given back."""
        for op in ops[:-1]:
            made = copy(op, self.copies)
            self.block.add_op(made)
            try:
                self._push(op, made)
            except MindError as e:
                raise placed(e, op) from None
        return ops[-1]

    def append(self, value: Value, source: Operation | None = None) -> SSAValue:
        """Append the unattached ops that `value` is made of, operands first, at the place in the text of `source`."""
        return append(self.block, value, source)

    def tangent(self, x: SSAValue) -> SSAValue:
        """The tangent of `x`, or explicit zeros where it does not vary."""
        found = self.tangents.get(x)
        return self.append(self.algebra.filled(0.0, x)) if found is None else found

    def replace(self, op: Operation, results: Sequence[SSAValue]) -> None:
        """Let `results` stand for those of `op`, a copy of the primal, which is erased after its rule."""
        for old, new in zip(op.results, results, strict=True):
            self._replaced[old] = new
            new.name_hint = old.name_hint

    def _push(self, original: Operation, op: Operation) -> None:
        """Compute the tangents of the results of `op`, the copy of `original`."""
        ts = [self.tangents.get(x) for x in op.operands]
        if all(t is None for t in ts) or not any(self._flows(op, ts)):
            return
        row = self.algebra.tangent(op)
        if isinstance(row, WholeForward):
            found = list(row.tangents(self, op, ts))
        else:
            tangent = row(op, ts)
            found: list[Value | None] = [tangent if can_vary(x.type) else None for x in op.results]
        results = [self._replaced.get(x, x) for x in op.results]
        for x, t in zip(results, found, strict=True):
            if t is not None:
                self.tangents[x] = self.append(t, op)
        if self._replaced:
            self.copies.update(zip(original.results, results, strict=True))
            self._replaced.clear()
            self.block.erase_op(op)

    def _flows(self, op: Operation, ts: Sequence[SSAValue | None]) -> list[bool]:
        """For each result, whether it varies."""
        varied = sum(1 << i for i, t in enumerate(ts) if t is not None)
        return [can_vary(x.type) and bool(mask & varied) for x, mask in zip(op.results, self.flows.through(op), strict=True)]
