"""
Kernel patterns: a row of a table of kernels matches an op at a cost or rejects it with a reason, and the cheapest row is chosen.

A match reads types, bodies and layouts and nothing else: it allocates nothing, names nothing, emits nothing. Each target defines
what a row that is chosen appends or emits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Generic, Protocol, TypeVar

from xdsl.ir import SSAValue

from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir.types import known_extents, read_type


@dataclass(frozen=True)
class Rejection:
    """Reason why a row does not take an op."""

    reason: str


@dataclass(frozen=True)
class Match:
    """A kernel for an op: its cost, comparable within a table, and the schedule that its code is generated from."""

    cost: float
    schedule: Any = None


class Pattern(Protocol):
    """A row of a table of kernels, by its name."""

    @property
    def name(self) -> str:
        """The name of the row."""
        ...

    @property
    def is_general(self) -> bool:
        """True if the row never costs less than the rows before it: it is matched only if none of them takes the op."""
        ...


Rejections = Sequence[tuple[str, Rejection]]
"""Reasons why rows, each by its name, do not take an op, in the order of the table."""

Row = TypeVar("Row", bound=Pattern)


@dataclass(frozen=True)
class Choice(Generic[Row]):
    """The row that is chosen for an op, what it matched, and why other rows do not take the op."""

    pattern: Row
    match: Match
    rejections: Rejections


def cheapest(rows: Sequence[Row], match: Callable[[Row], Match | Rejection]) -> Choice[Row] | Rejections:
    """Return the row of least cost of those that match, the first one of equals; all rejections if none does."""
    best: tuple[Row, Match] | None = None
    rejections: list[tuple[str, Rejection]] = []
    for row in rows:
        if row.is_general and best is not None:
            continue
        found = match(row)
        if isinstance(found, Rejection):
            rejections.append((row.name, found))
        elif best is None or found.cost < best[1].cost:
            best = row, found
    return rejections if best is None else Choice(*best, rejections)


def moved_bytes(values: Sequence[SSAValue]) -> int:
    """Return the number of bytes of some values, each counted once; their extents are all known."""
    types = [v.type for v in dict.fromkeys(values)]
    return sum([prod(known_extents(type)) * read_type(type).dtype.size for type in types])
