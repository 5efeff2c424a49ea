"""
The demanded elements of each value of a function: how many along each axis, counted from the first, results depend on.

    %y = ptir.exp %x                            what is demanded of %y is demanded of %x
    %z = ptir.select %within, %x, %zero         where %within is `iota < %T_size`: of %x no more than %T_size elements
    %s = ptir.reduce %z kind = sum axes = [0]   all of %z

It begins with what callers read of the results (`mind.extents`) and walks back, as demanded bits do. What is not demanded may be
anything: kernels that a limit stops at a size (`limits.py`) leave there what was in memory. So an op that can fail demands all
unless a rule of its own says what it needs in order not to fail, and an op without a rule too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from math import prod
from typing import Any

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from mind_dialect import ptir
from mind_dialect.dominance import walk
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir.types import known_extents
from mind_dialect.read_extents import ALL, is_size, read_extents
from mind_passes.ptir.building import axes_of_reduction, row_of_kind

Extents = tuple[SSAValue | None, ...]
"""For each axis the argument that holds how many elements are demanded, None for all."""


@dataclass(frozen=True)
class Bounded:
    """
    A value of indices, of one size everywhere, or a mask.

    `index` is the axis whose index each element is, `size` the argument that each element is, and `mask` says by axis beyond
    which size all elements are false.
    """

    index: int | None = None
    size: SSAValue | None = None
    mask: Mapping[int, SSAValue] = field(default_factory=dict[int, SSAValue])


_NOTHING = Bounded()


@dataclass
class Demanded:
    """Demanded elements of the values of a function, and of those in its fusions; all of a value that is not in `extents`."""

    extents: dict[SSAValue, Extents] = field(default_factory=dict[SSAValue, Extents])
    bounded: dict[SSAValue, Bounded] = field(default_factory=dict[SSAValue, Bounded])
    sizes: frozenset[SSAValue] = frozenset()
    """The arguments that may hold how many elements are read; none of a function that states nothing."""

    @staticmethod
    def of(func: FuncOp) -> Demanded:
        """Analyse a prepared function of one block, all of whose dimensions have sizes."""
        stated, block = read_extents(func), func.body.block
        if stated is None:
            return Demanded()
        found = Demanded(sizes=frozenset(a for a in block.args if is_size(a.type)))
        found.bounded = {size: Bounded(size=size) for size in found.sizes}
        found.find_masks(block)
        assert block.last_op is not None
        for value, numbers in zip(block.last_op.operands, stated, strict=True):
            found.demand(value, tuple([None if n == ALL else block.args[n] for n in numbers]))
        found.walk(block)
        return found

    def find_masks(self, block: Block) -> None:
        """Find the masks of a block and of fusions in it, in the order of their ops."""
        known = self.bounded
        for op in block.ops:
            if isinstance(op, ptir.FusionOp):
                inner = op.body.block
                known.update((a, known[v]) for a, v in zip(inner.args, op.operands, strict=True) if v in known)
                self.find_masks(inner)
                ending = inner.last_op
                assert ending is not None
                known.update((r, known[v]) for r, v in zip(op.results, ending.operands, strict=True) if v in known)
            elif (rule := BOUNDED.get(type(op))) is not None:
                found = rule(op, *[known.get(v, _NOTHING) for v in op.operands])
                if found != _NOTHING:
                    known[op.results[0]] = found

    def along(self, value: SSAValue) -> Extents:
        """Return what is demanded of a value along each axis."""
        return self.extents.get(value) or (None,) * len(shape_of(value))

    def demand(self, value: SSAValue, extents: Extents) -> None:
        """Add what one use demands of a value."""
        known = self.extents.get(value, extents)
        self.extents[value] = tuple([a if a is b else None for a, b in zip(known, extents, strict=True)])

    def walk(self, block: Block) -> None:
        """Add what the ops of a block demand, from the last but one on: all uses of a value come before the value."""
        op = None if block.last_op is None else block.last_op.prev_op
        while op is not None:
            if isinstance(op, ptir.FusionOp):
                self._fusion(op)
            elif isinstance(op, ptir.PtirOp):
                self._op(op)
            op = op.prev_op

    def _fusion(self, op: ptir.FusionOp) -> None:
        block = op.body.block
        assert block.last_op is not None
        for value, result in zip(block.last_op.operands, op.results, strict=True):
            self.demand(value, self.along(result))
        self.walk(block)
        for value, argument in zip(op.operands, block.args, strict=True):
            self.demand(value, self.along(argument))

    def _op(self, op: ptir.PtirOp) -> None:
        rule = None if op.regions or (op.can_fail() and type(op) not in RULES) else row_of_kind(RULES, type(op))
        if rule is not None:
            for value, extents in zip(op.operands, rule(self, op, self.along(op.results[0])), strict=True):
                self.demand(value, extents)
            return
        for inner in walk(op):
            for value in inner.operands:
                self.demand(value, (None,) * len(shape_of(value)))


def _first_axis(op: ptir.BroadcastToOp) -> int:
    return len(shape_of(op.result)) - len(shape_of(op.x))


def shape_of(value: SSAValue) -> tuple[int, ...]:
    """Return the extents of a value, which are all known."""
    return known_extents(value.type)


# Masks


def _iota(op: ptir.IotaOp) -> Bounded:
    return Bounded(index=op.values()["axis"] % len(shape_of(op.result)))


def _compared(op: ptir.CompareOp, a: Bounded, b: Bounded) -> Bounded:
    kind = op.values()["kind"]
    if kind == "greater":
        kind, a, b = "less", b, a
    if kind != "less" or a.index is None or b.size is None:
        return _NOTHING
    return Bounded(mask={a.index: b.size})


def _both(op: ptir.AndOp, a: Bounded, b: Bounded) -> Bounded:
    return Bounded(mask={**a.mask, **b.mask})


def _spread(op: ptir.BroadcastToOp, x: Bounded) -> Bounded:
    first, shape = _first_axis(op), shape_of(op.x)
    index = None if x.index is None or shape[x.index] == 1 else x.index + first
    return Bounded(index, x.size, {a + first: size for a, size in x.mask.items() if shape[a] != 1})


def _regrouped(op: ptir.ReshapeOp, x: Bounded) -> Bounded:
    return Bounded(size=x.size)


BOUNDED: Mapping[type[Operation], Callable[..., Bounded]] = {
    ptir.IotaOp: _iota,
    ptir.CompareOp: _compared,
    ptir.AndOp: _both,
    ptir.BroadcastToOp: _spread,
    ptir.ReshapeOp: _regrouped,
}
"""By op: what its result is, given what its operands are."""


# Rules

Rule = Callable[[Demanded, Any, Extents], Sequence[Extents]]
"""The extents that an op demands of its operands, given those demanded of its first result."""


def _each(known: Demanded, op: ptir.PtirOp, extents: Extents) -> list[Extents]:
    return [extents] * len(op.operands)


def _chosen(known: Demanded, op: ptir.SelectOp, extents: Extents) -> list[Extents]:
    sizes = known.bounded.get(op.pred, _NOTHING).mask
    within = tuple([sizes.get(a) if n is None else n for a, n in enumerate(extents)])
    return [extents, within, extents]


def _repeated(known: Demanded, op: ptir.BroadcastToOp, extents: Extents) -> list[Extents]:
    shape, wide = shape_of(op.x), shape_of(op.result)[_first_axis(op) :]
    return [tuple([e if n == m else None for e, n, m in zip(extents[_first_axis(op) :], shape, wide, strict=True)])]


def _permuted(known: Demanded, op: ptir.TransposeOp, extents: Extents) -> list[Extents]:
    found: list[SSAValue | None] = [None] * len(extents)
    for extent, axis in zip(extents, op.values()["perm"], strict=True):
        found[axis % len(found)] = extent
    return [tuple(found)]


def _reshaped(known: Demanded, op: ptir.ReshapeOp, extents: Extents) -> list[Extents]:
    """An axis of the operand is one of the result if as many elements are before and after it."""
    places = {place: e for place, e in zip(_places(shape_of(op.result)), extents, strict=True) if e is not None}
    return [tuple([places.get(place) if place[0] != 1 else None for place in _places(shape_of(op.x))])]


def _places(shape: Sequence[int]) -> list[tuple[int, int]]:
    """Return the extent of each axis, and the number of elements of one index along it."""
    return [(n, prod(shape[a + 1 :])) for a, n in enumerate(shape)]


def _sliced(known: Demanded, op: ptir.SliceOp, extents: Extents) -> list[Extents]:
    starts = op.values()["starts"]
    return [tuple([e if start == 0 else None for e, start in zip(extents, starts, strict=True)])]


def _joined(known: Demanded, op: ptir.ConcatOp, extents: Extents) -> list[Extents]:
    axis = op.values()["axis"] % len(extents)
    return [tuple([None if a == axis else e for a, e in enumerate(extents)])] * len(op.operands)


def _padded(known: Demanded, op: ptir.PadOp, extents: Extents) -> list[Extents]:
    values = op.values()
    still = [low == 0 == interior for low, interior in zip(values["low"], values["interior"], strict=True)]
    return [tuple([e if s else None for e, s in zip(extents, still, strict=True)])]


def _beside(*names: str) -> Rule:
    """Return the rule of an op whose elements depend on all elements along some axes of its first operand."""

    def rule(known: Demanded, op: ptir.PtirOp, extents: Extents) -> list[Extents]:
        values = [op.values()[name] for name in names]
        axes = {a % len(extents) for value in values for a in ([value] if isinstance(value, int) else value)}
        return [tuple([None if a in axes else e for a, e in enumerate(extents)])]

    return rule


def _accumulated(known: Demanded, op: ptir.CumulativeSumOp | ptir.CumulativeOp, extents: Extents) -> list[Extents]:
    return list(_beside("axis")(known, op, extents)) if op.values()["reverse"] else [extents]


def _reduced(axes_of: Callable[[Any], Sequence[int]]) -> Rule:
    def rule(known: Demanded, op: ptir.PtirOp, extents: Extents) -> list[Extents]:
        rank, axes = len(shape_of(op.operands[0])), axes_of(op)
        left = iter(extents)
        kept = len(extents) == rank
        found: list[SSAValue | None] = []
        for axis in range(rank):
            extent = next(left) if kept or axis not in axes else None
            found.append(None if axis in axes else extent)
        return [tuple(found)]

    return rule


def _gathered(known: Demanded, op: ptir.GatherOp, extents: Extents) -> list[Extents]:
    """All indices are checked."""
    axis = op.values()["axis"] % len(extents)
    return [tuple([None if a == axis else e for a, e in enumerate(extents)]), (None,) * len(extents)]


def _looked_up(known: Demanded, op: ptir.TakeOp, extents: Extents) -> list[Extents]:
    """All indices are checked, and may be of any row."""
    rank = len(shape_of(op.indices))
    return [(None, *extents[rank:]), (None,) * rank]


def _scattered(known: Demanded, op: ptir.ScatterReduceOp, extents: Extents) -> list[Extents]:
    """All indices are checked, and an element may get any update along the axis."""
    axis = op.values()["axis"] % len(extents)
    updates = tuple([None if a == axis else e for a, e in enumerate(extents)])
    return [extents, (None,) * len(extents), updates]


def _window(known: Demanded, op: ptir.DynamicSliceOp, extents: Extents) -> list[Extents]:
    return [_along_whole(op.x, op.result, extents), (None,)]


def _updated(known: Demanded, op: ptir.DynamicUpdateSliceOp, extents: Extents) -> list[Extents]:
    return [extents, _along_whole(op.x, op.update, extents), (None,)]


def _along_whole(x: SSAValue, window: SSAValue, extents: Extents) -> Extents:
    """Return the extents along the axes of which a window has all of an array, so that it starts at 0."""
    return tuple([e if n == m else None for e, n, m in zip(extents, shape_of(x), shape_of(window), strict=True)])


def _extreme_axes(op: ptir.ArgMaxOp | ptir.ArgMinOp) -> list[int]:
    return [op.values()["axis"] % len(shape_of(op.x))]


def _multiplied(known: Demanded, op: ptir.DotGeneralOp, extents: Extents) -> list[Extents]:
    """Results have the axes of both in the order: batches, those of the left operand, those of the right one."""
    values, found = op.values(), list[Extents]()
    first = len(values["batch_lhs"])
    for side, value in zip(("lhs", "rhs"), op.operands, strict=True):
        rank = len(shape_of(value))
        batch, contract = ([a % rank for a in values[f"{role}_{side}"]] for role in ("batch", "contract"))
        free = [a for a in range(rank) if a not in batch and a not in contract]
        places = {**{a: i for i, a in enumerate(batch)}, **{a: first + i for i, a in enumerate(free)}}
        found.append(tuple([extents[places[a]] if a in places else None for a in range(rank)]))
        first += len(free)
    return found


RULES: Mapping[type[ptir.PtirOp], Rule] = {
    ptir.UnaryOp: _each,
    ptir.CastOp: _each,
    ptir.BinaryOp: _each,
    ptir.CompareOp: _each,
    ptir.ClampOp: _each,
    ptir.SelectOp: _chosen,
    ptir.BroadcastToOp: _repeated,
    ptir.TransposeOp: _permuted,
    ptir.ReshapeOp: _reshaped,
    ptir.SliceOp: _sliced,
    ptir.ConcatOp: _joined,
    ptir.PadOp: _padded,
    ptir.ReverseOp: _beside("axes"),
    ptir.SortOp: _beside("axis"),
    ptir.CumulativeSumOp: _accumulated,
    ptir.CumulativeOp: _accumulated,
    ptir.ReduceOp: _reduced(axes_of_reduction),
    ptir.ArgMaxOp: _reduced(_extreme_axes),
    ptir.ArgMinOp: _reduced(_extreme_axes),
    ptir.DotGeneralOp: _multiplied,
    ptir.GatherOp: _gathered,
    ptir.TakeOp: _looked_up,
    ptir.ScatterReduceOp: _scattered,
    ptir.DynamicSliceOp: _window,
    ptir.DynamicUpdateSliceOp: _updated,
}
"""By class of op, or by a class that it is of; an op without a rule demands all of its operands."""
