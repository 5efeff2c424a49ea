"""
Which values vary: what depends, differentiably, on what.

Dependence is a set of operands or block arguments as the bits of an integer. A rule of None cuts it, so that nothing flows
through integers, comparisons or a stopped gradient. What an op with regions lets through follows from its bodies, once per op.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from xdsl.ir import Block, Operation, SSAValue

from mind_dialect.errors import MindError

from .derivatives.rules import Whole, can_vary

if TYPE_CHECKING:
    from .algebra import Algebra


class Flows:
    """What depends on what under the rules of a dialect; a region is looked at once."""

    def __init__(self, algebra: Algebra):
        self._algebra = algebra
        self._through: dict[Operation, Sequence[int]] = {}

    def through(self, op: Operation) -> Sequence[int]:
        """For each result of `op`, the operands it depends on."""
        if (known := self._through.get(op)) is not None:
            return known
        try:
            rules = self._algebra.rules(op)
        except MindError:  # reported if an adjoint ever gets here
            rules = None
        if rules is None:
            masks: Sequence[int] = [(1 << len(op.operands)) - 1] * len(op.results)
        elif isinstance(rules, Whole):
            masks = self._through[op] = rules.flows(self, op)
        else:
            masks = [sum(1 << i for i, rule in enumerate(rules) if rule is not None)] * len(op.results)
        return masks

    def of_block(self, block: Block) -> list[int]:
        """For each operand of the block's terminator, the block arguments it depends on."""
        depends: dict[SSAValue, int] = {x: 1 << i for i, x in enumerate(block.args) if can_vary(x.type)}
        for op in block.ops:
            if op.next_op is None:
                return [depends.get(x, 0) for x in op.operands]
            if not any(x in depends for x in op.operands):
                continue
            for result, mask in zip(op.results, self.through(op), strict=True):
                if can_vary(result.type) and (found := union(depends.get(op.operands[i], 0) for i in bits(mask))):
                    depends[result] = found
        return []

    def varied(self, ops: Iterable[Operation], sources: Iterable[SSAValue]) -> set[SSAValue]:
        """The values that depend on `sources`, these included."""
        varied = set(sources)
        for op in ops:
            if not any(x in varied for x in op.operands):
                continue
            for result, mask in zip(op.results, self.through(op), strict=True):
                if can_vary(result.type) and any(op.operands[i] in varied for i in bits(mask)):
                    varied.add(result)
        return varied


def loop_flows(body: Sequence[int], carries: int) -> list[int]:
    """
    For each result of a loop, the operands it depends on, after any number of iterations.

    `body` says it of one iteration: first the carried values, then what each iteration gives besides. A loop may end before its
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
