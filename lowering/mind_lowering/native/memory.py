"""The buffers that a kernel reads and writes, as its op names them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field

from mind_dialect.lazy_dataclass import dataclass

from .views import Buffer, View

ALIGNMENT = 64
"""Of every buffer, in bytes: a cache line, and the widest vector."""


@dataclass
class Access:
    """The buffers that one kernel reads and writes; `over` are the pairs of a result and the operand that it may be put over."""

    reads: list[Buffer] = field(default_factory=list[Buffer])
    writes: list[Buffer] = field(default_factory=list[Buffer])
    over: list[tuple[Buffer, Buffer]] = field(default_factory=list[tuple[Buffer, Buffer]])


def buffers_of(views: Iterable[View]) -> list[Buffer]:
    """Return the memory that views are of, without those of none."""
    return [v.base for v in views if isinstance(v.base, Buffer)]


def rounded_up(size: int) -> int:
    """`size`, so that what follows is aligned."""
    return -(-max(size, 1) // ALIGNMENT) * ALIGNMENT
