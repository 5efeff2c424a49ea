"""A bound of the memory that a lowered function needs, which takes far less time than the peak itself: nothing is freed."""

from __future__ import annotations

from collections import Counter
from math import prod

from xdsl.ir import Attribute, Block

from mind_dialect.extents.dims import size_in
from mind_dialect.ptir.types import read_type

from ..memory_need import Sizes
from .ops import CallOp
from .peak import scratch_bytes


class PeakBound:
    """The bytes of all values of a lowered function together, for any sizes: never less than its peak."""

    def __init__(self, block: Block):
        types: Counter[Attribute] = Counter()
        self._static = 0
        self._open: list[tuple[int, tuple[str, ...]]] = []
        self._calls = [op for op in block.walk() if isinstance(op, CallOp) and scratch_bytes(op, {})]
        for op in block.walk():
            types.update(v.type for v in op.results)
            types.update(a.type for region in op.regions for inner in region.blocks for a in inner.args)
        for type, count in types.items():
            dtype, shape = read_type(type)
            known = count * dtype.size * prod(n for n in shape if isinstance(n, int) and n)
            names = tuple(n for n in shape if isinstance(n, str))
            if names:
                self._open.append((known, names))
            else:
                self._static += known

    def of(self, sizes: Sizes) -> int:
        """Return the bound for the sizes of named dimensions; an extent of 0 counts as 1, as does what has no size."""
        found: dict[str, int] = {}
        total = self._static + sum(scratch_bytes(op, sizes) for op in self._calls)
        for known, names in self._open:
            for name in names:
                if name not in found:
                    found[name] = size_in(name, sizes) or 1
                known *= found[name]
            total += known
        return total
