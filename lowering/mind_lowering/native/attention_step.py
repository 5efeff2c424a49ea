"""The kernel of an attention as a step: its two products, and what it reads and writes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import prod

from .costs import BYTES, VECTORS
from .memory import Access
from .products.product import Product
from .steps import NativeStep
from .target_info import TargetInfo
from .views import Buffer, View


@dataclass
class AttentionStep(NativeStep):
    """
    The kernel of an attention: `scores` are products of queries and keys, `sums` of what softmax makes of them and values.

    Both have copies of their right operands. The other memory of theirs is the stack: `apart` elements a row of scores.
    """

    name: str
    scores: Product
    sums: Product
    tiles: int
    apart: int
    guarded: bool
    """True if rows whose scores are all -inf give 0."""
    words: str

    @property
    def reads(self) -> list[View]:
        """Return the views that are read in addition to queries, keys and values."""
        return list(self.scores.epilogue.reads)

    @property
    def addresses(self) -> Sequence[View]:
        copies = [v for v in (self.scores.rhs_copy, self.sums.rhs_copy) if v is not None]
        return [self.scores.lhs, *copies, *self.reads, self.sums.out]

    def access(self) -> Access:
        bases = [v.base for v in self.addresses if isinstance(v.base, Buffer)]
        return Access(bases[:-1], bases[-1:])

    def cost(self, host: TargetInfo) -> float:
        count = prod(self.scores.out.shape)
        lanes = host.lanes(self.scores.total.size)
        return count * (self.scores.depth + self.sums.columns + 30) / lanes / VECTORS + count / BYTES

    @property
    def flops(self) -> int:
        return 2 * prod(self.scores.out.shape) * (self.scores.depth + self.sums.columns)

    def key(self) -> Hashable:
        return self.scores.key(), self.sums.key(), self.tiles, self.apart, self.guarded

    def contents(self) -> str:
        scores, sums = self.scores, self.sums
        of = f"{list(scores.batch)} " if scores.batch else ""
        then = f" {self.words}" if self.words else ""
        keys = f", {sums.cut.depth} keys at a time" if sums.blocks > 1 else ""
        return (
            f"attention of {of}{scores.rows} queries of {scores.depth}, {scores.columns} keys, values of {sums.columns},"
            f"{then} softmax in {scores.total}: {self.tiles} tiles of {scores.cut.rows} rows{keys}"
        )
