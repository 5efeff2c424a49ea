"""
Steps of a graph that may run side by side: they share no memory, and each leaves most of the GPU to others.

Steps get lanes, which are streams while a graph is captured; a step waits for those of other lanes whose memory it needs, or
would overwrite. Places of the arena are used again, and that counts too, so any order that keeps to the waits gives the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from mind_lowering.launch.compute_ops import KernelOp

from .gpu import Item
from .tape import Work

MOST_LANES = 4
FEW_BLOCKS = 64
"""A kernel of so many blocks at most leaves room for others."""
WINDOW = 64
"""So many steps, then all lanes meet: what is farther apart is not looked at together."""

Span = tuple[int, int]


@dataclass
class _Seen:
    lane: int
    reads: list[Span]
    writes: list[Span]


def in_lanes(works: Sequence[Work], blocks: Callable[[KernelOp], int], address: Callable[..., int]) -> list[Item]:
    """The steps with their lanes; `blocks` says of how many blocks a launch is, `address` where an array begins."""
    found: list[Item] = []
    seen: list[_Seen] = []
    for first in range(0, len(works), WINDOW):
        met = len(found)
        last = {item.lane: i for i, item in enumerate(found)}
        for number, work in enumerate(works[first : first + WINDOW], met):
            reads, writes = ([_span(x, address) for x in xs if x.size] for xs in (work.reads, work.writes))
            needs = [i for i in range(met, number) if _meet(seen[i], reads, writes)]
            small = isinstance(work.step, KernelOp) and blocks(work.step) <= FEW_BLOCKS
            lane = _lane(needs, seen, number, small=small)
            if number == met:
                lane, waits = 0, [i for n, i in last.items() if n != 0]
            else:
                waits = _latest(needs, seen, lane)
                if lane not in {s.lane for s in seen[met:]}:
                    waits = sorted({*waits, met})
            seen.append(_Seen(lane, reads, writes))
            found.append(Item(work.run, lane, tuple(waits)))
    return found


def _span(x: Any, address: Callable[..., int]) -> Span:
    """The addresses of an array, whatever its strides."""
    steps = [(n - 1) * s for n, s in zip(x.shape, x.strides, strict=True)]
    start = address(x)
    return start + sum(s for s in steps if s < 0), start + sum(s for s in steps if s > 0) + int(x.dtype.itemsize)


def _meet(other: _Seen, reads: Sequence[Span], writes: Sequence[Span]) -> bool:
    """Return whether one of two steps writes what the other reads or writes."""
    return _overlap(other.writes, [*reads, *writes]) or _overlap(other.reads, writes)


def _overlap(some: Sequence[Span], others: Sequence[Span]) -> bool:
    return any(low < end and start < high for low, high in some for start, end in others)


def _lane(needs: Sequence[int], seen: Sequence[_Seen], number: int, *, small: bool) -> int:
    """Behind the last step that it needs, if nothing else is there yet; a small one else in a lane of its own."""
    ends = {s.lane: i for i, s in enumerate(seen[:number])}
    for i in reversed(needs):
        if ends[seen[i].lane] == i and (small or seen[i].lane == 0):
            return seen[i].lane
    if not small:
        return 0
    free = [lane for lane in range(MOST_LANES) if lane not in ends or ends[lane] in needs]
    return free[0] if free else seen[needs[-1]].lane if needs else min(ends, key=lambda lane: ends[lane])


def _latest(needs: Sequence[int], seen: Sequence[_Seen], lane: int) -> list[int]:
    """The last needed step of each other lane."""
    last: dict[int, int] = {}
    for i in needs:
        if seen[i].lane != lane:
            last[seen[i].lane] = i
    return sorted(last.values())
