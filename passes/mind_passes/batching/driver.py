"""
The walk that batches a function: one pass in the order of the text, with a dict from value to value for the batch.

It knows no op. First it finds what depends on the batch, by following uses from the batched inputs; then it copies what does
not, and asks the rules for the rest. A batched value has its batch axis at 0, others are as they were.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from mind_dialect.dominance import walk
from mind_dialect.errors import MindError, error
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.op import DialectOp
from mind_dialect.ptir import RandomOp, RegionOp, YieldOp
from mind_dialect.ptir_shapes import Dim

from ..emit import append, copy, place_of, placed
from .rules import Flags, Row, Value, Values, batched_type, by_loop, spread

RegionRule = Callable[["Driver", Any, Values, Flags], "Value | Sequence[Value]"]
"""The rule of an op with regions, which asks the driver for batched bodies; only the results that the driver says are batched."""


@dataclass(frozen=True)
class RegionRow:
    """
    The rule of an op with regions, and how a batch spreads through it.

    `enters(op, i)` are the values that are batched if operand `i` is; `leaves(op, r, i)` those that are if region `r` yields a
    batched value as number `i`.
    """

    rule: RegionRule
    enters: Callable[[Any, int], Sequence[SSAValue]]
    leaves: Callable[[Any, int, int], Sequence[SSAValue]]
    loops: str | None = None


Table = Mapping[type[Operation], Row | RegionRow]


def batched_values(sources: Iterable[SSAValue], table: Table) -> set[SSAValue]:
    """The values that depend on `sources`, carried values of loops included: a walk along uses, linear in their number."""
    found = dict.fromkeys(sources)
    stack = list(found)
    while stack:
        for use in stack.pop().uses:
            for value in _next(use.operation, use.index, table):
                if value not in found:
                    found[value] = None
                    stack.append(value)
    return set(found)


def _next(op: Operation, i: int, table: Table) -> Sequence[SSAValue]:
    """The values that are batched if operand `i` of `op` is."""
    if isinstance(op, YieldOp):
        outer = op.parent_op()
        row = None if outer is None else table.get(type(outer))
        if outer is None or not isinstance(row, RegionRow):
            return ()
        region = next(n for n, r in enumerate(outer.regions) if r is op.parent_region())
        return row.leaves(outer, region, i)
    row = table.get(type(op))
    return row.enters(op, i) if isinstance(row, RegionRow) else op.results


class Driver:
    """
    One function on its way into `block`. `batched` are the values of the original that depend on the batch.

    With `one_draw` a random op that is not batched must not draw again for each example.
    """

    def __init__(self, block: Block, size: Dim, batched: set[SSAValue], table: Table, *, one_draw: bool = True):
        self.block, self.size, self.batched, self.table, self.one_draw = block, size, batched, table, one_draw
        self.copies: dict[SSAValue, SSAValue] = {}
        self.source: Operation | None = None

    def run(self, ops: Iterable[Operation]) -> None:
        """Append what each op is for the batch."""
        for op in ops:
            outer, self.source = self.source, op
            try:
                self._op(op)
            except MindError as e:
                raise placed(e, op) from None
            self.source = outer

    def _op(self, op: Operation) -> None:
        flags = [v in self.batched for v in op.operands]
        if not any(flags) and not any(r in self.batched for r in op.results):
            if op.regions and not isinstance(op, RegionOp):
                self._check_foreign(op)
            self.block.add_op(copy(op, self.copies))
            return
        row = self.table.get(type(op))
        if row is None:
            raise no_rule(op)
        xs = [self.copies[v] for v in op.operands]
        found = row.rule(self, op, xs, flags) if isinstance(row, RegionRow) else row.rule(op, xs, flags, self.size)
        values = found.results if isinstance(found, Operation) else [found] if isinstance(found, SSAValue) else found
        for old, new in zip(op.results, values, strict=True):
            value = self.copies[old] = self.place(new)
            if isinstance(value.owner, Operation):
                value.name_hint = value.name_hint or old.name_hint

    def _check_foreign(self, op: Operation) -> None:
        """An op of another dialect may use values around it in its regions."""
        if any(v in self.batched for inner in walk(op) for v in inner.operands):
            raise no_rule(op)

    # What rules of ops with regions ask for

    def is_batched(self, value: SSAValue) -> bool:
        """Return whether a value of the original depends on the batch."""
        return value in self.batched

    def types(self, values: Sequence[SSAValue]) -> list[Attribute]:
        """The types of values of the original for the batch."""
        return [batched_type(v.type, self.size) if v in self.batched else v.type for v in values]

    def place(self, value: Value) -> SSAValue:
        """Append what a new value is made of."""
        return append(self.block, value, self.source)

    def spread(self, x: SSAValue, batched: bool, wanted: bool) -> SSAValue:
        """`x`, repeated if it is wanted batched and is not."""
        return self.place(spread(x, batched, self.size)) if wanted else x

    def inline(self, block: Block, xs: Sequence[SSAValue]) -> list[tuple[SSAValue, bool]]:
        """Append the ops of a region's block on these arguments; what it yields, and whether that is batched."""
        self.copies.update(zip(block.args, xs, strict=True))
        ending = block.last_op
        assert ending is not None, "verified"
        self.run(op for op in block.ops if op is not ending)
        return [(self.copies[v], v in self.batched) for v in ending.operands]

    def region(self, old: Block, flags: Sequence[bool], outs: Sequence[bool]) -> Region:
        """A region for the batch: which arguments are batched, and which of the values that it yields have to be."""
        types = [batched_type(a.type, self.size) if flag else a.type for a, flag in zip(old.args, flags, strict=True)]

        def body(args: Sequence[SSAValue]) -> list[Value]:
            yielded = self.inline(old, args)
            return [spread(*each, self.size) if out else each[0] for each, out in zip(yielded, outs, strict=True)]

        made = self.built(types, body)
        for before, now in zip(old.args, made.block.args, strict=True):
            now.name_hint = before.name_hint
        return made

    def built(self, types: Sequence[Attribute], body: Callable[[Sequence[SSAValue]], Sequence[Value]]) -> Region:
        """A region of one block with arguments of these types, which yields what `body` gives for them."""
        outer, self.block = self.block, Block(arg_types=types)
        block = self.block
        values = [self.place(v) for v in body(block.args)]
        block.add_op(YieldOp.create(operands=values))
        self.block = outer
        return Region(block)

    def loop(self, op: Operation, xs: Sequence[SSAValue], flags: Sequence[bool]) -> list[SSAValue]:
        """The op once per example; E5001 if it draws numbers, which a loop makes others in each iteration, and should not."""
        if self.one_draw and any(isinstance(inner, RandomOp) for inner in walk(op)):
            message = f"{op.name} must run once per example, and would draw again each time, expected randomness=different"
            raise error("E5001", message, op=op.name)
        return by_loop(op, xs, flags, self.size)


def no_rule(op: Operation) -> MindError:
    """E5001 for an op that is batched and that the table does not have."""
    place = place_of(op)
    opcode = op.OPCODE if isinstance(op, DialectOp) else op.name
    core = op.name.startswith("mind.")
    hint = "convert the function by mind-convert-to-ptir first" if core else "mind_passes.batching.register adds one"
    return MindError("E5001", f"{place}: has no batching rule; {hint}", {"op": opcode, "id": place}, op)
