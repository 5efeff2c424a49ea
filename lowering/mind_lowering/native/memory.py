"""
Where the temporaries of a program are in its one arena.

The plan of `conversion` gives memory to values of PTIR, in slots of one size; here it is kernels that have buffers, of any size,
and many a value has none. Offsets are handed out in the order of the run, the tightest gap first; what nobody reads any more is
given back. A result takes over an operand that dies in its kernel, where each element is read before it is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..arena import Gaps
from ..memory_plan import Block
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


def assign(steps: Sequence[Access]) -> int:
    """
    Give each buffer of the arena its offset; the size of the arena.

    The steps are in the order of their run. What a loop reads and did not make, a step after the loop must read too; of branches
    one stands after the other.
    """
    _put_into_results([resolved(step) for step in steps])
    steps = [resolved(step) for step in steps]
    last = _last(steps)
    arena = Gaps()
    held: set[Buffer] = set()
    passed_on: set[Buffer] = set()
    for i, step in enumerate(steps):
        for new, old in step.over:
            if new in held or old in passed_on or last[old] > i + step.span or new.bytes != old.bytes:
                continue
            if _is_given_up(old) and new.use in (Use.ARENA, Use.OUTPUT) and new.dtype is old.dtype:
                new.over = old.over or old
                held.add(new)
                passed_on.update((old, new.over))
            elif new.use is Use.ARENA and old.use is Use.ARENA and old in held:
                new.offset = old.offset
                held.add(new)
                passed_on.add(old)
        for buffer in step.writes:
            if buffer in held:
                continue
            held.add(buffer)
            if buffer.use is Use.ARENA:
                buffer.offset = arena.take(rounded_up(buffer.bytes))
        for buffer in dict.fromkeys((*step.reads, *step.writes)):
            if buffer.use is Use.ARENA and last[buffer] == i and buffer not in passed_on and buffer.over is None:
                arena.give(buffer.offset, rounded_up(buffer.bytes))
    return arena.size


def blocks(steps: Sequence[Access]) -> tuple[Block, ...]:
    """Return which part of the arena each buffer has, once all have offsets, by the steps of the run, from 1."""
    found: dict[Buffer, tuple[int, int]] = {}
    for i, step in enumerate(map(resolved, steps), 1):
        for buffer in (*step.reads, *step.writes):
            if buffer.use is Use.ARENA and buffer.over is None:
                found[buffer] = found.get(buffer, (i, i))[0], i
    return tuple(
        Block(buffer.name or "temporary", buffer.offset, buffer.bytes, first, last) for buffer, (first, last) in found.items()
    )


def _last(steps: Sequence[Access]) -> dict[Buffer, int]:
    """The last step that uses each buffer."""
    return {buffer: i for i, step in enumerate(steps) for buffer in (*step.reads, *step.writes)}


def _put_into_results(steps: Sequence[Access]) -> None:
    """Let temporaries that a result of the program may take over have its memory from the first, which nothing else has."""
    last = _last(steps)
    first = {buffer: i for i, step in reversed(list(enumerate(steps))) for buffer in (*step.reads, *step.writes)}
    for i, step in reversed(list(enumerate(steps))):
        for new, old in step.over:
            new = new.root
            if new.use is Use.OUTPUT and old.use is Use.ARENA and old.into is None and first[new] == i:
                if last[old] <= i + step.span and new.bytes == old.bytes:
                    old.into = new
                    first[new] = first[old]


def _is_given_up(buffer: Buffer) -> bool:
    """Whether a buffer is a donated input, or has the memory of one."""
    return buffer.donated or buffer.over is not None
