"""
Groups of ops of a block that make one kernel: as many elementwise ops of one shape as can be, at most one product before them, at
most one reduction after them.

Every op gets a level, so that what one group gives another, or gives by way of an op that no group may hold, goes from a lower
level to a higher one. Groups are merged only within a level, or where one can sink to the level of all that first need it. So
the groups can never need each other in a circle, and no search for circles is needed: all is linear in ops and uses. To be sure
of a maximum takes that search; without it chains, trees and diamonds fuse whole, and of random programs one group in five hundred
could still have been merged with another.

Broadcasts of what is outside, and constants of one element, are in no group; each group makes its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

from xdsl.ir import Block, Operation, SSAValue

from mind_dialect.dominance import walk
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir import FUSIBLE, ComplexOp, DotGeneralOp, ReduceOp
from mind_dialect.ptir_shapes import UNKNOWN, Dims

from ..ptir.building import spec_of, stays
from ..ptir.failing import is_marked
from ..ptir.patterns.matching import is_view

MOST_OPS = 512
"""At most so many ops are in a group, so that kernels are of bounded size: their code is generated in more than linear time."""


@dataclass(eq=False)
class Group:
    """Ops that run together, in the order of the text; an op that no group may hold is alone in one."""

    level: int
    ops: list[Operation]
    products: int = 0
    reductions: int = 0
    is_open: bool = True
    """True if it may hold further ops."""
    merged: Group | None = None
    """The group that took this one in."""

    def current(self) -> Group:
        """The group that this one has become."""
        group = self
        while group.merged is not None:
            group = group.merged
        if group is not self:
            self.merged = group
        return group

    def fits(self, others: Sequence[Group]) -> bool:
        """Return whether this group and others could be one."""
        every = (self, *others)
        if sum(len(g.ops) for g in every) > MOST_OPS or not all(g.is_open for g in every):
            return False
        return sum(g.products for g in every) <= 1 and sum(g.reductions for g in every) <= 1

    def take(self, other: Group) -> None:
        """Make `other` part of this group."""
        self.ops += other.ops
        self.products += other.products
        self.reductions += other.reductions
        other.merged = self


@dataclass
class Grouping:
    """
    The groups of a block; `needs` gives what each op of it uses, ops in its regions included.

    Ops in `kept` stay in their order (see `dce.holders`).
    """

    block: Block
    kept: set[Operation]
    parts: Mapping[type[Operation], str] = field(default_factory=lambda: FUSIBLE)
    """The ops that groups may hold, by the part that they play there."""
    group: dict[Operation, Group] = field(default_factory=dict[Operation, Group])
    needs: dict[Operation, list[Operation]] = field(default_factory=dict[Operation, list[Operation]])
    place: dict[Operation, int] = field(default_factory=dict[Operation, int])
    shapes: dict[Operation, Dims | None] = field(default_factory=dict[Operation, Dims | None])
    """The places that each op runs over, see `_shape`."""

    @staticmethod
    def of(block: Block, kept: set[Operation], parts: Mapping[type[Operation], str] = FUSIBLE) -> Grouping:
        """Group the ops of a verified block."""
        found = Grouping(block, kept, parts)
        found._place()
        found._sink()
        found._sink()
        for group in found.groups():
            group.ops.sort(key=found.place.__getitem__)
        return found

    def groups(self) -> Iterator[Group]:
        """Each group once, by its first op."""
        seen: set[Group] = set()
        for group in self.group.values():
            current = group.current()
            if current not in seen:
                seen.add(current)
                yield current

    def group_of(self, op: Operation) -> Group | None:
        """The group of an op of the block; None for a view, which is in no group."""
        found = self.group.get(op)
        return None if found is None else found.current()

    def _place(self) -> None:
        """Put each op, in order, into the groups of what it uses, as far as it may be there."""
        ready: dict[Operation, int] = {}
        """The least level at which a view can be used."""
        effect: Operation | None = None
        for i, op in enumerate(self.block.ops):
            self.place[op], self.shapes[op] = i, _shape(op, self.parts)
            needs = self.needs[op] = self._needed(op)
            if op in self.kept:  # in the order in which they stand
                needs += [] if effect is None else [effect]
                effect = op
            if is_view(op):
                ready[op] = max((self._after(n, ready) for n in needs), default=0)
                continue
            joined = {n: self.group[n].current() for n in needs if self.joins(n, op)}
            outside = max((self._after(n, ready) for n in needs if n not in joined), default=0)
            level = max((outside, *(g.level for g in joined.values())))
            self.group[op] = self._join(op, level, [g for g in joined.values() if g.level == level])

    def _needed(self, op: Operation) -> list[Operation]:
        """The ops of the block that make what `op` uses, each once."""
        values: list[SSAValue] = list(op.operands)
        if op.regions and stays(op):  # regions of other dialects see the values around them
            values = [v for inner in walk(op) for v in inner.operands]
        owners = dict.fromkeys(v.owner for v in values)
        return [o for o in owners if isinstance(o, Operation) and o.parent is self.block]

    def _after(self, op: Operation, ready: dict[Operation, int]) -> int:
        """The least level of a group that takes what `op` gives from outside."""
        return ready[op] if op in ready else self.group[op].current().level + 1

    def joins(self, maker: Operation, user: Operation) -> bool:
        """Return whether what `maker` gives can stay within a group that `user` is in too: each place uses its own place only."""
        if isinstance(maker, ReduceOp | ComplexOp) or isinstance(user, DotGeneralOp) or maker not in self.group:
            return False
        shape = self.shapes[maker]
        return shape is not None and shape == self.shapes[user]

    def _join(self, op: Operation, level: int, groups: Sequence[Group]) -> Group:
        """The group for `op` at `level`: that of all given ones and itself, or one of its own above them."""
        own = Group(
            level,
            [op],
            products=isinstance(op, DotGeneralOp),
            reductions=isinstance(op, ReduceOp),
            is_open=self.shapes[op] is not None,
        )
        distinct = list(dict.fromkeys(groups))
        if not own.fits(distinct):
            own.level += 1
            return own
        if not distinct:
            return own
        for group in (*distinct[1:], own):
            distinct[0].take(group)
        return distinct[0]

    def _sink(self) -> None:
        """
        Merge groups, from the highest level down, with the groups that are first to need them.

        A group that no other could merge with is needed as late as its users allow, so that others get out of its way.
        """
        users: dict[Operation, list[Operation]] = {}
        for op, needs in self.needs.items():
            for maker in needs:
                users.setdefault(maker, []).append(op)
        top = len(self.place)
        for group in sorted(self.groups(), key=_level, reverse=True):
            edges = [(self.group[user].current(), joins) for op in group.ops for user, joins in self._users(op, users)]
            others = [(other, joins) for other, joins in edges if other is not group]
            least = min((other.level for other, _ in others), default=top + 1)
            first = [edge for edge in others if edge[0].level == least]
            targets = list(dict.fromkeys(other for other, _ in first))
            if targets and all(joins for _, joins in first) and group.fits(targets):
                for other in (*targets[1:], group):
                    targets[0].take(other)
            elif not self._is_wanted(group):
                group.level = least - 1

    def _is_wanted(self, group: Group) -> bool:
        """Return whether some other group could hold an op of this one."""
        makers = ((self.group[n].current(), n, op) for op in group.ops for n in self.needs[op] if n in self.group)
        return any(other is not group and self.joins(maker, op) for other, maker, op in makers)

    def _users(self, op: Operation, users: dict[Operation, list[Operation]]) -> Iterator[tuple[Operation, bool]]:
        """The ops in groups that use `op`, also by way of views, and whether they may be in its group."""
        views = [op]
        while views:
            maker = views.pop()
            for user in users.get(maker, ()):
                if user not in self.group:
                    views.append(user)
                else:
                    yield user, maker is op and self.joins(op, user)


def _level(group: Group) -> int:
    return group.level


def _shape(op: Operation, parts: Mapping[type[Operation], str]) -> Dims | None:
    """
    The places that `op` runs over, if it can be in a group; of a reduction those it reads, of a product those it makes.

    An op that is marked because it can fail, and that nothing uses, stays as it is: it would be kept in addition to its copy in a
    fusion.
    """
    part = parts.get(type(op))
    if part in (None, "view") or (is_marked(op) and not any(result.first_use for result in op.results)):
        return None
    shape = spec_of(op.operands[0] if part == "reduction" else op.results[0]).shape
    return None if UNKNOWN in shape else shape
