"""Sets of operands or block arguments as the bits of an integer: what depends, differentiably, on what."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence


def loop_flows(body: Sequence[int], carries: int) -> list[int]:
    """
    For each result of a loop, the operands it depends on, after any number of iterations.

    `body` says it of one iteration: first the carried values, then what else each iteration gives. A loop may end before its
    first iteration.

    >>> loop_flows([0b10, 0b10, 0b01], 2)
    [3, 2, 3]
    """
    reach = [1 << i for i in range(carries)]
    changed = True
    while changed:
        changed = False
        for i in range(carries):
            found = reach[i] | union(reach[b] if b < carries else 1 << b for b in bits(body[i]))
            changed |= found != reach[i]
            reach[i] = found
    return reach + [union(reach[b] if b < carries else 1 << b for b in bits(mask)) for mask in body[carries:]]


def bits(mask: int) -> Iterator[int]:
    """
    The places of the ones, least first.

    >>> list(bits(0b1010))
    [1, 3]
    """
    while mask:
        yield (mask & -mask).bit_length() - 1
        mask &= mask - 1


def union(masks: Iterable[int]) -> int:
    """
    All bits of all masks.

    >>> union([1, 4])
    5
    """
    result = 0
    for mask in masks:
        result |= mask
    return result
