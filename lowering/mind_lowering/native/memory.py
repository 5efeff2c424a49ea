"""The buffers that a kernel reads and writes, as its op names them."""

from __future__ import annotations

from dataclasses import dataclass, field

from .views import Buffer

ALIGNMENT = 64
"""Of every buffer, in bytes: a cache line, and the widest vector."""


@dataclass
class Access:
    """The buffers that one kernel reads and writes; `over` are the pairs of a result and the operand that it may be put over."""

    reads: list[Buffer] = field(default_factory=list[Buffer])
    writes: list[Buffer] = field(default_factory=list[Buffer])
    over: list[tuple[Buffer, Buffer]] = field(default_factory=list[tuple[Buffer, Buffer]])


def rounded_up(size: int) -> int:
    """`size`, so that what follows is aligned."""
    return -(-max(size, 1) // ALIGNMENT) * ALIGNMENT
