"""
Kernels of contraction: `dot_general` as one matrix product, its transposes as views.

Products of a dtype narrower than the accumulator are exact, since operands are widened first. Small integers go through f64,
where that is exact, because array libraries multiply integer matrices without BLAS.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import NamedTuple

from .casts import Casts
from .formats import Array, DTypeLike, Format, format_of

Axes = tuple[int, ...]


class ContractionPlan(NamedTuple):
    """The operands of a `dot_general` as stacks of matrices: their axes in order, and how many there are of a kind."""

    lhs: Axes
    rhs: Axes
    batch: int
    contracted: int


@lru_cache(maxsize=1024)
def plan(ranks: tuple[int, int], batch_lhs: Axes, batch_rhs: Axes, contract_lhs: Axes, contract_rhs: Axes) -> ContractionPlan:
    """
    The plan. Contracted pairs are put in the order in which lhs has them, so that its axes merge without a copy.

    >>> plan((3, 2), (), (), (2, 1), (1, 0))
    ContractionPlan(lhs=(0, 1, 2), rhs=(0, 1), batch=0, contracted=2)
    """
    m, n = ranks
    pairs = sorted((a % m, b % n) for a, b in zip(contract_lhs, contract_rhs, strict=True))
    lhs_batch, rhs_batch = tuple(a % m for a in batch_lhs), tuple(b % n for b in batch_rhs)
    lhs_sum, rhs_sum = tuple(a for a, _ in pairs), tuple(b for _, b in pairs)
    lhs_free = tuple(a for a in range(m) if a not in lhs_batch and a not in lhs_sum)
    rhs_free = tuple(b for b in range(n) if b not in rhs_batch and b not in rhs_sum)
    return ContractionPlan((*lhs_batch, *lhs_free, *lhs_sum), (*rhs_batch, *rhs_sum, *rhs_free), len(batch_lhs), len(pairs))


class Contraction(Casts):
    """`dot_general`, and the stacked matrix product that convolution uses too."""

    def dot_general(
        self,
        lhs: Array,
        rhs: Array,
        *,
        batch_lhs: Axes,
        batch_rhs: Axes,
        contract_lhs: Axes,
        contract_rhs: Axes,
        accum_dtype: DTypeLike | None = None,
        out_dtype: DTypeLike | None = None,
    ) -> Array:
        """Batch axes in the order listed, then what is left of lhs, then what is left of rhs; nothing to sum gives 0."""
        p = plan((len(lhs.shape), len(rhs.shape)), batch_lhs, batch_rhs, contract_lhs, contract_rhs)
        a, b = lhs.transpose(p.lhs), rhs.transpose(p.rhs)
        rows = len(a.shape) - p.contracted
        shape = (*a.shape[:rows], *b.shape[p.batch + p.contracted :])
        product = self.products(_matrices(a, p.batch, rows), _matrices(b, p.batch, p.batch + p.contracted), accum_dtype)
        product = self.xp.ascontiguousarray(product)  # which that of operands in another order is not
        return self.cast(product.reshape(shape), dtype=lhs.dtype if out_dtype is None else out_dtype)

    def ragged_dot(
        self,
        lhs: Array,
        rhs: Array,
        group_sizes: Array,
        *,
        kind: str,
        accum_dtype: DTypeLike | None = None,
        out_dtype: DTypeLike | None = None,
    ) -> Array:
        """The products of each group by itself; the sizes are looked at on the host."""
        dtype = lhs.dtype if out_dtype is None else out_dtype
        rows = len(lhs)
        shape = (rows, rhs.shape[2]) if kind == "rows" else (len(group_sizes), lhs.shape[1], rhs.shape[1])
        found, first = self.xp.zeros(shape, dtype), 0
        for group, size in enumerate(group_sizes.tolist()):
            last = min(rows, first + max(0, size))
            a = lhs[first:last]
            if kind == "rows":
                found[first:last] = self.cast(self.products(a, rhs[group], accum_dtype), dtype=dtype)
            else:
                found[group] = self.cast(self.products(a.T, rhs[first:last], accum_dtype), dtype=dtype)
            first = last
        return found

    def products(self, a: Array, b: Array, accum_dtype: DTypeLike | None) -> Array:
        """The products of two stacks of matrices of one dtype, in the accumulator's."""
        source = format_of(a.dtype)
        accum = format_of(source.accumulator if accum_dtype is None else accum_dtype)
        if accum.kind in "iu":
            return self._integer_products(a, b, source, accum)
        if accum.dtype != accum.work:
            return self._step_by_step_products(a, b, accum)
        return self.xp.matmul(self.cast(a, dtype=accum.dtype), self.cast(b, dtype=accum.dtype))

    def _integer_products(self, a: Array, b: Array, source: Format, accum: Format) -> Array:
        """Modulo 2 ** bits of the accumulator."""
        xp = self.xp
        if a.shape[-1] << (2 * source.bits) <= 1 << 53:  # every partial sum is a whole number that f64 holds
            exact = xp.matmul(self.widen(a).astype("float64"), self.widen(b).astype("float64"))
            return self.narrow(exact.astype("int64").astype(accum.work), accum.dtype)
        wide = (self.widen(self.cast(x, dtype=accum.dtype)) for x in (a, b))
        return self.narrow(xp.matmul(*wide), accum.dtype)

    def _step_by_step_products(self, a: Array, b: Array, accum: Format) -> Array:
        """In a narrow float, rounded after every addition: the only way to honour such an accumulator."""
        xp = self.xp
        a, b = self.widen(a), self.widen(b)
        total = xp.zeros((*a.shape[:-1], b.shape[-1]), accum.dtype)
        for k in range(a.shape[-1]):
            total = self.narrow(self.widen(total) + a[..., :, k : k + 1] * b[..., k : k + 1, :], accum.dtype)
        return total


def _matrices(x: Array, batch: int, split: int) -> Array:
    """`x` as a stack of matrices: the first `batch` axes, then those before `split` merged, then the others merged."""
    shape = x.shape
    if len(shape) == batch + 2 and split == batch + 1:
        return x
    return x.reshape((*shape[:batch], prod(shape[batch:split]), prod(shape[split:])))
