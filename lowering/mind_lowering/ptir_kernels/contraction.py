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
from .formats import Array, DTypeLike, Format, Ints, format_of

Axes = tuple[int, ...]


class Plan(NamedTuple):
    """How the operands of a `dot_general` become stacks of matrices: their axes in order, and whether they swap at the end."""

    lhs: Axes
    rhs: Axes
    swap_lhs: bool
    swap_rhs: bool
    batch: int
    contracted: int


@lru_cache(maxsize=1024)
def plan(ranks: tuple[int, int], batch_lhs: Axes, batch_rhs: Axes, contract_lhs: Axes, contract_rhs: Axes) -> Plan:
    """The plan; contracted pairs are put in the order in which lhs has them, so that its axes merge without a copy."""
    m, n = ranks
    pairs = sorted((a % m, b % n) for a, b in zip(contract_lhs, contract_rhs, strict=True))
    lhs, swap_lhs = _order(m, tuple(a % m for a in batch_lhs), tuple(a for a, _ in pairs), last=True)
    rhs, swap_rhs = _order(n, tuple(b % n for b in batch_rhs), tuple(b for _, b in pairs), last=False)
    return Plan(lhs, rhs, swap_lhs, swap_rhs, len(batch_lhs), len(pairs))


def _order(rank: int, batch: Axes, contracted: Axes, *, last: bool) -> tuple[Axes, bool]:
    """Batch axes, then the contracted ones last (or first); swapped if the other way round they are in memory order."""
    free = tuple(a for a in range(rank) if a not in batch and a not in contracted)
    wanted = (*batch, *free, *contracted) if last else (*batch, *contracted, *free)
    other = (*batch, *contracted, *free) if last else (*batch, *free, *contracted)
    swap = wanted != tuple(range(rank)) and other == tuple(range(rank))
    return (other, True) if swap else (wanted, False)


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
        free_a = _free(a.shape, p.batch, p.contracted, first=p.swap_lhs)
        free_b = _free(b.shape, p.batch, p.contracted, first=not p.swap_rhs)
        shape = (*a.shape[: p.batch], *free_a, *free_b)
        product = self.products(
            _matrices(a, p.batch, p.contracted if p.swap_lhs else len(free_a), swap=p.swap_lhs),
            _matrices(b, p.batch, len(free_b) if p.swap_rhs else p.contracted, swap=p.swap_rhs),
            accum_dtype,
        )
        return self.cast(product.reshape(shape), dtype=lhs.dtype if out_dtype is None else out_dtype)

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


def _free(shape: Ints, batch: int, contracted: int, *, first: bool) -> Ints:
    """The free extents, which come after the contracted ones if those come first."""
    return shape[batch + contracted :] if first else shape[batch : len(shape) - contracted]


def _matrices(x: Array, batch: int, rows: int, *, swap: bool) -> Array:
    """`x` as a stack of matrices: `batch` axes, then `rows` axes merged, then the others merged."""
    shape = x.shape
    if len(shape) != batch + 2 or rows != 1:
        merged = (*shape[:batch], prod(shape[batch : batch + rows]), prod(shape[batch + rows :]))
        x = x.reshape(merged)
    return x.swapaxes(-1, -2) if swap else x
