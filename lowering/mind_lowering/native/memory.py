"""The buffers that steps read and write; `launch-assign-memory` gives them memory once the steps are launches."""

from __future__ import annotations

from dataclasses import dataclass, field

from .views import Buffer, Use

ALIGNMENT = 64
"""Of every buffer, in bytes: a cache line, and the widest vector."""


@dataclass
class Access:
    """
    The buffers that one step reads and writes; `over` says which result may take over which operand.

    An operand that is taken over dies in this step, or in one of the `span` steps after it.
    """

    reads: list[Buffer] = field(default_factory=list[Buffer])
    writes: list[Buffer] = field(default_factory=list[Buffer])
    over: list[tuple[Buffer, Buffer]] = field(default_factory=list[tuple[Buffer, Buffer]])
    span: int = 0


def resolved(step: Access) -> Access:
    """
    A step with the buffers that have memory: those that others were put into, and all that a moving one moves through.

    What has no elements needs none, and perhaps no step writes it.
    """
    reads: dict[Buffer, None] = {}
    for buffer in step.reads:
        _behind(buffer, reads)
    writes: dict[Buffer, None] = {}
    for buffer in step.writes:
        _behind(buffer, reads if buffer.root.use is Use.MOVING else writes)
    over = [(new.root, old.root) for new, old in step.over if new.root is not old.root and new.root.bytes and old.root.bytes]
    return Access(list(reads), list(writes), [pair for pair in over if Use.MOVING not in (pair[0].use, pair[1].use)], step.span)


def _behind(buffer: Buffer, found: dict[Buffer, None]) -> None:
    """Add the buffers that have the memory of `buffer`."""
    root = buffer.root
    if root.use is not Use.MOVING and root.bytes:
        found[root] = None
    for other in root.behind:
        _behind(other, found)


def rounded_up(size: int) -> int:
    """`size`, so that what follows is aligned."""
    return -(-max(size, 1) // ALIGNMENT) * ALIGNMENT
