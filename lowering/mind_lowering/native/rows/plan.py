"""
The work of a row kernel on one row.

A row is all places along the axes that are summed over. A value is *thin* where it is one number per row, else *full*. Stages
are passes over the row: the first has what needs no sum of the row, the second what needs sums of the first, and so on. What a
stage needs of an earlier one is computed again where that is cheap, and else kept.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from math import prod
from typing import TypeAlias

from xdsl.ir import SSAValue

from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir import PtirOp, ReduceOp
from mind_dialect.ptir.types import BF16, F16, F32, PtirDType

from ...launch.views import Ints
from ..costs import instructions
from ..views import Buffer, View

MOST_OPS = 256
"""Ops of one kernel, at most."""
KEPT = 6
"""Instructions from which on a value is kept for later stages rather than computed again."""
REGISTERS = 32
"""Registers that the number of vectors is chosen for; with fewer, fewer vectors are worked on at a time."""


@dataclass(frozen=True)
class Counting:
    """Counter of the places of a row, from `low` to `high`, and the integer of the row that it is compared with."""

    counter: Value
    number: Value
    low: int
    high: int


@dataclass(eq=False)
class Value:
    """
    A number for each place of a row or, if it is thin, for the row.

    `view` says of an input where it lies, in the shape of all rows. `stage` is the pass in which it can first be had.
    """

    dtype: PtirDType
    is_thin: bool
    stage: int = 0
    op: PtirOp | None = None
    operands: Sequence[Value] = ()
    view: View | None = None
    hint: str = ""
    counting: Counting | None = None
    """Of what compares places of a row with an integer: 32 bits are enough for that."""

    @property
    def cost(self) -> int:
        """Return the cost to compute it, all else being there."""
        return 0 if self.op is None else instructions(type(self.op))

    @property
    def is_total(self) -> bool:
        """Return whether it is a sum, or the like, of the row."""
        return type(self.op) is ReduceOp  # asked often, of a class that has no subclasses: `isinstance` takes ten times as long


Stored: TypeAlias = tuple[SSAValue, Value, View]
"""A result: what it is called, its value, and where it goes, in the shape of all rows."""


@dataclass
class RowPlan:
    """Computation of a row kernel over `shape`, whose `axes` are those of a row."""

    shape: Ints
    axes: Ints
    inputs: dict[View, Value] = field(default_factory=dict[View, Value])
    values: list[Value] = field(default_factory=list[Value])
    """Computed values, in order."""
    outputs: list[Stored] = field(default_factory=list[Stored])
    columns: list[tuple[ReduceOp, Value]] = field(default_factory=list[tuple[ReduceOp, Value]])
    """Sums over all rows of each place of a row."""
    views: dict[SSAValue, View] = field(default_factory=dict[SSAValue, View])
    """View of each yielded value."""

    @property
    def length(self) -> int:
        """Elements of a row."""
        return prod(self.shape[a] for a in self.axes)

    @property
    def rows(self) -> int:
        """Return the number of rows."""
        return prod(n for a, n in enumerate(self.shape) if a not in self.axes)

    def roots(self, stage: int) -> list[Value]:
        """The full values that a pass is made for: those summed, and those written."""
        found = [v.operands[0] for v in self.values if v.is_total and v.stage == stage]
        found += [v for _, v, _ in self.outputs if not v.is_thin and v.stage == stage]
        return list(dict.fromkeys(found + [v for _, v in self.columns if v.stage == stage]))

    @property
    def stages(self) -> int:
        """Return the number of passes over a row."""
        full = [v.stage for _, v, _ in self.outputs if not v.is_thin]
        return 1 + max([*full, *(v.stage for v in self.values if v.is_total), *(v.stage for _, v in self.columns)], default=0)

    @property
    def is_group(self) -> bool:
        """Return whether nothing goes on after a sum, so that a group of ops and reductions does the same."""
        return self.stages == 1 and not self.columns and not any(v.is_thin and not v.is_total for v in self.values)

    @cached_property
    def kept(self) -> dict[Value, int]:
        """Return the values kept for later stages, each with the stage that keeps it: the first that computes it."""
        first: dict[Value, int] = {}
        kept: dict[Value, int] = {}
        for stage in range(self.stages):
            roots = self.roots(stage)
            needed = self._needed(roots, ())
            for value in needed:
                first.setdefault(value, stage)
            now = {v for v in needed if first[v] == stage}
            wanted = {x for v in now for x in v.operands} | set(roots)
            costs: dict[Value, int] = {}
            for value in needed:
                if value in now or value in kept:
                    continue
                own = value.cost
                cost = own + sum(costs.get(x, 0) for x in value.operands)
                if own >= KEPT or (cost >= KEPT and value in wanted):
                    kept[value] = first[value]
                else:
                    costs[value] = min(cost, KEPT)
        used: set[Value] = set()
        for stage in range(self.stages):
            there = {v for v, s in kept.items() if s < stage}
            used |= {x for v in self._needed(self.roots(stage), there) for x in v.operands if x in there}
            used |= there.intersection(self.roots(stage))
        return {v: s for v, s in kept.items() if v in used}

    def needed(self, stage: int, kept: Mapping[Value, int] | None = None) -> list[Value]:
        """Return the values that a pass computes, in order, where `kept` are kept; by default those of this plan."""
        there = self.kept if kept is None else kept
        return self._needed(self.roots(stage), {v for v, s in there.items() if s < stage})

    def _needed(self, roots: Sequence[Value], there: Collection[Value]) -> list[Value]:
        """The full values to compute for some, in order, where some are there."""
        wanted = {v for v in roots if v not in there}
        for value in reversed(self.values):
            if value in wanted:
                wanted.update(x for x in value.operands if x not in there)
        return [v for v in self.values if v in wanted and not v.is_thin]

    @cached_property
    def read_again(self) -> dict[Value, int]:
        """Return the inputs in memory that several passes read, each with the first of them."""
        stages: dict[Value, list[int]] = {}
        for stage in range(self.stages):
            for value in self._read(stage, self.kept):
                if value.view is not None and isinstance(value.view.base, Buffer):
                    stages.setdefault(value, []).append(stage)
        return {value: found[0] for value, found in stages.items() if len(found) > 1}

    def _read(self, stage: int, kept: Mapping[Value, int]) -> dict[Value, None]:
        """Return the full values that a pass works with, computed in it or before, where `kept` are kept."""
        needed, roots = self.needed(stage, kept), self.roots(stage)
        return dict.fromkeys(x for x in (*(x for v in needed for x in v.operands), *roots) if not x.is_thin)

    def rooms(self, kept: Mapping[Value, int]) -> list[list[Value]]:
        """
        Return the kept values of each array that holds some, one after the other.

        A value follows another one of its size that no later pass reads, and that is read before in the pass which computes it.
        """
        read = [self._read(stage, kept) for stage in range(self.stages)]
        last = {v: max(stage for stage, values in enumerate(read) if v in values) for v in kept}
        rooms: list[list[Value]] = []
        for value, stage in sorted(kept.items(), key=lambda pair: pair[1]):
            before = _sources(value, {v for v, s in kept.items() if s < stage})
            for room in rooms:
                old = room[-1]
                if kept_size(old) == kept_size(value) and (last[old] < stage or (last[old] == stage and old in before)):
                    room.append(value)
                    break
            else:
                rooms.append([value])
        return rooms

    @property
    def scratch(self) -> int:
        """Bytes to keep what is kept."""
        return sum(map(kept_size, self.kept)) * self.length

    @property
    def moved(self) -> int:
        """Return the bytes of a row that are read and written."""
        moved = [v for v in self.inputs.values() if not v.is_thin and isinstance(v.view and v.view.base, Buffer)]
        moved += [v for _, v, _ in self.outputs if not v.is_thin]
        return sum(v.dtype.size for v in moved) * self.length


def extremes(view: View) -> tuple[int, int]:
    """The least and the greatest of what a view of indices counts."""
    ends = [s * (n - 1) for n, s in zip(view.shape, view.strides, strict=True)]
    return view.offset + sum(min(e, 0) for e in ends), view.offset + sum(max(e, 0) for e in ends)


def _sources(value: Value, there: Collection[Value]) -> set[Value]:
    """Return the values that one is computed from, as far as those that are there."""
    found: set[Value] = set()
    left = [value]
    while left:
        for x in left.pop().operands:
            if x not in found:
                found.add(x)
                if x not in there:
                    left.append(x)
    return found


def kept_size(value: Value) -> int:
    """Return the bytes of an element of a kept value."""
    return kept_as(value.dtype).size


def kept_as(dtype: PtirDType) -> PtirDType:
    """The dtype in which a value is kept for later stages: that of its register."""
    return F32 if dtype in (F16, BF16) else dtype
