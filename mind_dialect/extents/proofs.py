"""
Proofs of `e >= 0` from ranges of names and inequalities: intervals, integer tightening, and bounded elimination.

The search follows the elimination of JAX (`jax/_src/export/shape_poly_decision.py`), with names that may be 0 and any monomial
eliminated, not only the leading one. Its limits are counted in steps, so answers do not depend on the machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import inf

from .expr import Atom, Extent, Monomial, TooLarge, combine, of_atom, without

STEPS, DEPTH = 48, 3
"""A proof takes at most so many elimination steps, at most so deep; five times as many decide 0.5 % more."""
SHALLOW_STEPS = 8
"""The steps of a proof inside of a normal form."""
Range = tuple[int | float, int | float]
"""Least and greatest value; the floats are infinities."""
ANY_SIZE: Range = (0, inf)


def tighten(e: Extent) -> Extent:
    """Return the expression that is at least 0 exactly where `e` is, divided by the content, its constant rounded down."""
    g = e.content
    return e if g < 2 else Extent({m: k for m, c in e.terms.items() if (k := c // g)})


class Prover:
    """
    Decides `e >= 0` under ranges and inequalities. `False` means no proof was found.

    Caches hold as long as ranges and inequalities only grow; whoever changes them makes a new prover.
    """

    def __init__(self, ranges: dict[str, Range], inequalities: Iterable[Extent]):
        self._ranges = ranges
        self._index: dict[Monomial, list[Extent]] = {}
        for e in inequalities:
            for m in e.terms:
                if m:
                    self._index.setdefault(m, []).append(e)
        self._bounds: dict[Atom, Range] = {}
        self._lemmas: dict[Atom, tuple[Extent, ...]] = {}
        self._proved: dict[Extent, bool] = {}

    def bounds(self, e: Extent) -> Range:
        """Return an interval that holds all values of `e`."""
        lo: int | float = 0
        hi: int | float = 0
        for m, c in e.terms.items():
            found: Range = (1, 1)
            for a in m:
                found = _product(found, self._bounds_of(a))
            x, y = _product(found, (c, c))
            lo, hi = lo + x, hi + y
        return lo, hi

    def _bounds_of(self, a: Atom) -> Range:
        if (found := self._bounds.get(a)) is None:
            found = self._bounds[a] = self._computed_bounds(a)
        return found

    def _computed_bounds(self, a: Atom) -> Range:
        if a.kind == "name":
            return self._ranges.get(a.text, ANY_SIZE)
        each = [self.bounds(x) for x in a.args]
        if a.kind == "max":
            return max(x for x, _ in each), max(y for _, y in each)
        dividend, divisor = each
        if divisor[0] < 1:
            return -inf, inf
        corners = [_quotient(n, d) for n in dividend for d in divisor]
        return min(corners), max(corners)

    def is_nonnegative(self, e: Extent) -> bool:
        """Return whether `e >= 0` is proven; `e` is in normal form under the facts."""
        if (found := self._proved.get(e)) is None:
            found = self._proved[e] = _Search(self, STEPS).run(e, DEPTH)
        return found

    def is_plainly_nonnegative(self, e: Extent) -> bool:
        """Return whether a few bounds prove `e >= 0`: cheap enough for every step of a normal form."""
        return _Search(self, SHALLOW_STEPS).run(e, 1)

    def bounding(self, m: Monomial) -> Iterator[Extent]:
        """Yield expressions that are known to be at least 0 and have the monomial."""
        yield from self._index.get(m, ())
        for i, a in enumerate(m):
            if i and m[i - 1] is a:
                continue
            rest = m[:i] + m[i + 1 :]
            if not rest:
                yield from self._lemmas_of(a)
            elif self.bounds(Extent({rest: 1}))[0] >= 0:
                factor = Extent({rest: 1})
                for known in (*self._index.get((a,), ()), *self._lemmas_of(a), *self._range_lemmas(a)):
                    yield known * factor

    def _lemmas_of(self, a: Atom) -> tuple[Extent, ...]:
        """Return what the definition of an atom says, as expressions that are at least 0."""
        if (found := self._lemmas.get(a)) is not None:
            return found
        if a.kind == "max":
            found = tuple(of_atom(a) - x for x in a.args)
        elif a.kind == "name" or self.bounds(a.args[1])[0] < 1:
            found = ()
        else:
            x, d = a.args
            q = of_atom(a)
            found = (x - d * q, d * q + d - 1 - x, *((x - q,) if not d.is_constant and self.bounds(x)[0] >= 0 else ()))
        self._lemmas[a] = found
        return found

    def _range_lemmas(self, a: Atom) -> tuple[Extent, ...]:
        lo, hi = self._ranges.get(a.text, ANY_SIZE) if a.kind == "name" else ANY_SIZE
        low = (of_atom(a) - int(lo),) if lo > 0 else ()
        return (*low, int(hi) - of_atom(a)) if hi < inf else low


class _Search:
    """One proof, with its budget of steps."""

    def __init__(self, prover: Prover, steps: int):
        self._prover, self._steps = prover, steps
        self._failed: dict[Extent, int] = {}

    def run(self, e: Extent, depth: int) -> bool:
        try:
            return self._proves(tighten(e), depth)
        except TooLarge:
            return False

    def _proves(self, e: Extent, depth: int) -> bool:
        lo, hi = self._prover.bounds(e)
        if lo >= 0:
            return True
        self._steps -= 1
        if hi < 0 or depth == 0 or self._steps <= 0 or self._failed.get(e, 0) >= depth:
            return False
        self._failed[e] = depth  # also ends cycles: an expression does not help to prove itself
        monomials = [m for m, _ in e.sorted_terms if m]
        for m in monomials:
            if e.terms[m] < 0 and (found := self._maximum_in(m)) is not None:
                return self._for_each_operand(e, m, *found, depth)
        for m in sorted(monomials, key=lambda m: e.terms[m] > 0):  # terms that pull down first
            if self._eliminates(e, m, depth):
                return True
        return False

    def _for_each_operand(self, e: Extent, m: Monomial, maximum: Atom, rest: Monomial, depth: int) -> bool:
        """Prove `s - c * max(...) >= 0` for each operand in the place of the maximum: it is one of them."""
        s, factor = e - Extent({m: e.terms[m]}), Extent({rest: e.terms[m]})
        return all(self._proves(tighten(s + x * factor), depth - 1) for x in maximum.args)

    def _eliminates(self, e: Extent, m: Monomial, depth: int) -> bool:
        """Prove `e >= 0` from `|n| * e - |c| * k >= 0`, where `k >= 0` is known and has `m` with the sign that it has in `e`."""
        c = e.terms[m]
        for k in self._prover.bounding(m):
            n = k.terms.get(m, 0)
            if n * c <= 0:
                continue
            if self._proves(tighten(combine(e, abs(n), k, -abs(c))), depth - 1):
                return True
            is_one_of_several = c > 1 == n and len(m) == 1 and m[0].kind == "max"  # copies go against different operands
            if is_one_of_several and self._proves(tighten(e - k), depth - 1):
                return True
        return False

    def _maximum_in(self, m: Monomial) -> tuple[Atom, Monomial] | None:
        """Return a maximum in a monomial whose other factors are at least 0, and those."""
        for a in m:
            if a.kind == "max" and (rest := without(m, (a,))) is not None and self._prover.bounds(Extent({rest: 1}))[0] >= 0:
                return a, rest
        return None


def _times(x: float, y: float) -> int | float:
    """Return the product, where 0 times an infinity is 0: the bound is not reached."""
    return x * y if x and y else 0


def _product(a: Range, b: Range) -> Range:
    if a[0] >= 0 and b[0] >= 0:
        return _times(a[0], b[0]), _times(a[1], b[1])
    corners = [_times(x, y) for x in a for y in b]
    return min(corners), max(corners)


def _quotient(n: float, d: float) -> int | float:
    if n in (inf, -inf):
        return n
    return (0 if n >= 0 else -1) if d == inf else n // d
