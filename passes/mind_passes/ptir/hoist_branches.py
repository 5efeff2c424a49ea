"""
Common subexpressions across the regions of a `cond`, and the ops around it.

Two equations, for an op `f` of what a branch is given: where `f(x)` is computed before, the branch takes that value, and where
both branches compute `f(x)`, it is computed before. Only ops that cannot fail move. A cheap value stays that is larger than what
it is computed from, and so does in both branches what is elementwise, which a target fuses with what follows. Only some uses of a
value are searched for an equal op: linear.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import field
from itertools import islice

from xdsl.ir import Block, Operation, Region, SSAValue

from mind_dialect.dominance import walk
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir import CondOp, PtirOp

from .building import is_plain, spec_of
from .failing import is_marked
from .loop_carried import extend
from .weight import HEAVY, VIEWS, bytes_of, part_of

MOST_USES = 16
"""So many uses of an operand are searched for an op that is equal to one of a branch."""


def hoist_from_branches(root: Operation) -> bool:
    """Compute once, before each `cond` inside `root`, what its branches share with each other or with what is before."""
    conds = [op for op in walk(root) if isinstance(op, CondOp)]
    if not conds:
        return False
    places = {op: i for i, op in enumerate(walk(root))}
    return any([_Branches(op, places).run() for op in reversed(conds)])


@dataclass
class _Branches:
    """One `cond`. `outside` has what values of the branches are before it, `known` those that are computed there by now."""

    op: CondOp
    places: dict[Operation, int]
    outside: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    numbers: dict[Hashable, int] = field(default_factory=dict[Hashable, int])
    of_value: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])

    def run(self) -> bool:
        """Move what moves; whether anything did."""
        per_region = [self._numbered(region) for region in self.op.regions]
        common = set(per_region[0]) & set(per_region[1])
        moved = dict[SSAValue, SSAValue]()
        for region in self.op.regions:
            for op in tuple(region.block.ops):
                if op.results and op.results[0] in self.of_value and self._moves(op, common):
                    moved[op.results[0]] = self.outside[op.results[0]]
        used = {value: outer for value, outer in moved.items() if value.first_use is not None}
        if not used:
            return False
        outers = list(dict.fromkeys(used.values()))
        for region, arguments in zip(tuple(self.op.regions), extend(self.op, outers), strict=True):
            self._use(region, dict(zip(outers, arguments, strict=True)), used)
        return True

    def _numbered(self, region: Region) -> list[int]:
        """Number what the ops of a branch compute from its arguments alone, equal things equally; the numbers of ops."""
        found = list[int]()
        for argument, value in zip(region.block.args, self.op.operands[1:], strict=True):
            self.outside[argument] = value
            self.of_value[argument] = self.numbers.setdefault(value, len(self.numbers))
        for op in region.block.ops:
            if not _may_move(op) or not all(v in self.of_value for v in op.operands):
                continue
            key = (*_form(op), tuple(self.of_value[v] for v in op.operands))
            number = self.of_value[op.results[0]] = self.numbers.setdefault(key, len(self.numbers))
            found.append(number)
        return found

    def _moves(self, op: Operation, common: set[int]) -> bool:
        """Return whether the value of an op is to be had before the `cond`; it is there then."""
        if not all(v in self.outside for v in op.operands) or isinstance(op, VIEWS):
            return False
        (value,) = op.results
        heavy = part_of(op) in HEAVY
        if not heavy and bytes_of(value) > max(bytes_of(v) for v in op.operands):
            return False
        operands = [self.outside[v] for v in op.operands]
        before = self._equal(op, operands)
        if before is None:
            if not heavy or self.of_value[value] not in common:
                return False
            before = op.clone()
            before.operands = operands
            block = self.op.parent
            assert isinstance(block, Block)
            block.insert_op_before(before, self.op)
            self.places[before] = self.places[self.op]
            before.results[0].name_hint = value.name_hint
        self.outside[value] = before.results[0]
        return True

    def _equal(self, op: Operation, operands: list[SSAValue]) -> Operation | None:
        """An op before the `cond` that computes what `op` does."""
        for use in islice(operands[0].uses, MOST_USES):
            other = use.operation
            if other is self.op or other.parent is not self.op.parent:
                continue
            earlier = self.places.get(other, len(self.places)) <= self.places[self.op]
            if earlier and list(other.operands) == operands and _form(other) == _form(op):
                return other
        return None

    @staticmethod
    def _use(region: Region, arguments: dict[SSAValue, SSAValue], used: dict[SSAValue, SSAValue]) -> None:
        """Let a branch use its new arguments, and erase what they stand for."""
        for op in reversed(tuple(region.block.ops)):
            value = op.results[0] if op.results else None
            if value is not None and value in used:
                value.replace_all_uses_with(arguments[used[value]])
                region.block.erase_op(op)


def _may_move(op: Operation) -> bool:
    """Return whether an op may run although its branch does not."""
    if not isinstance(op, PtirOp) or not is_plain(op) or len(op.results) != 1 or not op.operands or is_marked(op):
        return False
    return op.is_speculatable() and all(spec_of(v).is_static for v in (*op.operands, *op.results))


def _form(op: Operation) -> tuple[Hashable, ...]:
    """Return a key that is equal for two ops that are equal on the same operands."""
    items = [*op.properties.items(), *op.attributes.items()]
    return (type(op), tuple(sorted(items, key=lambda item: item[0])), tuple(op.result_types))
