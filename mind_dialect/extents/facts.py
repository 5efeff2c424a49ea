"""
Facts about names, and what follows from them.

A store holds ranges, equalities as rewriting rules, inequalities and disequalities, each with its source. Questions are answered
True (in all assignments that the facts allow), False (in none) or None (undecided, or it depends). Facts with sources that cannot
hold together are refused with both sources.
"""

from __future__ import annotations

from math import gcd, inf

from .expr import ZERO, Atom, Extent, Monomial, TooLarge, atom, extent, of_atom, symbol, without
from .operations import floordiv, max_of, without_quotient
from .proofs import ANY_SIZE, Prover, Range, tighten

ROUNDS = 8
"""Rewriting stops after so many rounds; what is left is equal, but perhaps not in normal form."""


class Contradiction(ValueError):
    """A fact that contradicts earlier ones."""

    def __init__(self, claim: str, source: str, earlier: tuple[str, ...]):
        self.claim, self.source, self.earlier = claim, source, earlier
        against = f" contradicts {', '.join(earlier)}" if earlier else " can never hold"
        super().__init__(f"{claim} ({source}){against}" if source else f"{claim}{against}")


class Facts:
    """
    A store of facts. Facts only grow; `copy` opens a scope that is left by dropping the copy.

    Each `assume_` method raises `Contradiction` for a fact that is refuted, and drops one whose normal form is beyond the limits.

    >>> facts, t = Facts(), symbol("T")
    >>> facts.assume_range("T", 1, 100, source="the declaration of T")
    >>> facts.assume_remainder(t, 8, source="the reshape")
    >>> facts.bounds(t), facts.eq(8 * floordiv(t, 8), t), facts.ge(t, 50)
    ((8, 96), True, None)
    >>> facts.assume_eq(t, extent(12), source="argument 0")
    Traceback (most recent call last):
    ...
    mind_dialect.extents.facts.Contradiction: T == 12 (argument 0) contradicts the declaration of T, the reshape
    """

    def __init__(self) -> None:
        self._ranges: dict[str, Range] = {}
        self._rules: dict[str, Extent] = {}
        self._products: dict[Monomial, Extent] = {}
        self._inequalities: list[tuple[Extent, str]] = []
        self._nonzero: dict[Extent, str] = {}
        self._mentions: list[tuple[frozenset[str], str]] = []
        self._changed()

    def copy(self) -> Facts:
        """Return a store that starts with these facts, with caches of its own."""
        other = Facts()
        other._ranges, other._rules, other._products = dict(self._ranges), dict(self._rules), dict(self._products)
        other._inequalities, other._nonzero = list(self._inequalities), dict(self._nonzero)
        other._mentions = list(self._mentions)
        other._changed()
        return other

    def _changed(self) -> None:
        self._normal: dict[Extent, Extent] = {}
        self._prover = Prover(self._ranges, [e for e, _ in self._inequalities])

    # Questions

    def eq(self, a: Extent, b: Extent | int) -> bool | None:
        """Return whether the two are equal."""
        try:
            d = self.norm(a - b)
        except TooLarge:
            return None
        if not d.terms:
            return True
        if self._is_nonzero(d):
            return False
        return True if self._prover.is_nonnegative(d) and self._prover.is_nonnegative(-d) else None

    def ne(self, a: Extent, b: Extent | int) -> bool | None:
        """Return whether the two differ."""
        return None if (found := self.eq(a, b)) is None else not found

    def ge(self, a: Extent, b: Extent | int) -> bool | None:
        """Return whether `a >= b`."""
        try:
            d = self.norm(a - b)
        except TooLarge:
            return None
        return True if self._prover.is_nonnegative(d) else False if self._prover.is_nonnegative(-d - 1) else None

    def divides(self, n: int, a: Extent) -> bool | None:
        """Return whether `a` is a multiple of `n > 0`."""
        try:
            return self.eq(a, floordiv(a, n) * n)
        except TooLarge:
            return None

    def bounds(self, a: Extent) -> Range:
        """Return an interval that holds all values of `a`."""
        try:
            return self._prover.bounds(self.norm(a))
        except TooLarge:
            return -inf, inf

    def norm(self, e: Extent) -> Extent:
        """Return the normal form under the facts; `TooLarge` if that is beyond the limits. It may have internal names."""
        if (found := self._normal.get(e)) is None:
            found = self._normal[e] = self._rewritten(e)
        return found

    def _rewritten(self, e: Extent) -> Extent:
        for _ in range(ROUNDS):
            new = ZERO
            for m, c in e.terms.items():
                t = extent(c)
                for a in m:
                    t = t * self._norm_of(a)
                new = new + t
            for lead, to in self._products.items():
                for m, c in new.terms.items():
                    if (rest := without(m, lead)) is not None:
                        new = new - Extent({m: c}) + to * Extent({rest: c})
                        break
            if new == e:
                break
            e = new
        return e

    def _norm_of(self, a: Atom) -> Extent:
        if a.kind == "name":
            return self._rules.get(a.text) or of_atom(a)
        args = [self.norm(x) for x in a.args]
        if a.kind == "max":
            return max_of(*args, nonnegative=self._prover.is_plainly_nonnegative)
        if not args[1].terms:
            return of_atom(atom("div", (args[0], args[1])))  # no value, but equal to itself
        return floordiv(args[0], args[1], lambda d: self.ge(d, 1) is True)

    def _is_nonzero(self, d: Extent) -> bool:
        """Return whether `d`, in normal form, is never 0; 0 is no multiple of the content plus a residue."""
        if d.is_constant:
            return d.constant != 0
        return (
            d.constant % d.content != 0
            or d in self._nonzero
            or self._prover.is_nonnegative(d - 1)
            or self._prover.is_nonnegative(-d - 1)
        )

    # Facts

    def assume_range(self, name: str, lo: int = 0, hi: int | None = None, source: str = "") -> None:
        """Assume `lo <= name <= hi`; None is no upper bound."""
        claim = f"{name} in {lo}..{'' if hi is None else hi}"
        if lo > 0:
            self._assume_nonnegative(symbol(name) - lo, claim, source)
        if hi is not None:
            self._assume_nonnegative(hi - symbol(name), claim, source)

    def assume_ge(self, a: Extent, b: Extent | int, source: str = "") -> None:
        """Assume `a >= b`."""
        self._assume_nonnegative(a - b, f"{a} >= {b}", source)

    def assume_eq(self, a: Extent, b: Extent | int, source: str = "") -> None:
        """Assume `a == b`."""
        self._assume_zero(a - b, f"{a} == {b}", source)

    def assume_remainder(self, a: Extent, n: int, r: int = 0, source: str = "") -> None:
        """Assume `a mod n == r` for `n > 0` and `0 <= r < n`: then `a` is `n * q + r` for a new `q`."""
        claim = f"{a} mod {n} == {r}"
        if self.bounds(a)[0] < 0:
            return self._assume_zero(a - floordiv(a, n) * n - r, claim, source)
        return self._assume_zero(symbol(f"#{a} mod {n} == {r}") * n + r - a, claim, source)

    def assume_ne(self, a: Extent, b: Extent | int, source: str = "") -> None:
        """Assume that the two differ."""
        claim = f"{a} != {b}"
        try:
            d = self.norm(a - b)
        except TooLarge:
            return
        earlier = self._mention(a - b, source)
        if not d.terms:
            raise Contradiction(claim, source, earlier)
        self._nonzero |= {d: source, -d: source}
        self._changed()
        for e in (d, -d):
            if self._prover.is_nonnegative(e):
                self._assume_nonnegative(e - 1, claim, source)

    def _mention(self, e: Extent, source: str) -> tuple[str, ...]:
        """Return the sources that spoke of the names of an expression before, in order, and remember this one with them."""
        names = e.names | self.norm(e).names
        earlier = dict.fromkeys(s for spoken, s in self._mentions if spoken & names and s != source)
        if source:
            self._mentions.append((names, source))
        return tuple(earlier)

    def _assume_nonnegative(self, e: Extent, claim: str, source: str) -> None:
        try:
            d = tighten(without_quotient(self.norm(e)))
        except TooLarge:
            return
        earlier = self._mention(e, source)
        if self._prover.is_nonnegative(d):
            return
        if self._prover.is_nonnegative(-d - 1):
            raise Contradiction(claim, source, earlier)
        terms = [(m[0], c) for m, c in d.terms.items() if m and len(m) == 1 and m[0].kind == "name"]
        if len(terms) == 1 == d.content and len(d.terms) - (d.constant != 0) == 1:
            return self._narrow(terms[0][0].text, d, claim, source, earlier)
        self._inequalities.append((d, source))
        self._changed()
        if self._is_nonzero(d):  # at least 0 and not 0
            self._assume_nonnegative(d - 1, claim, source)

    def _narrow(self, name: str, d: Extent, claim: str, source: str, earlier: tuple[str, ...]) -> None:
        """Take `name + k >= 0` or `k - name >= 0` into the range, past sizes that the name differs from."""
        lo, hi = self._ranges.get(name, ANY_SIZE)
        (c,) = (c for m, c in d.terms.items() if m)
        lo, hi = (max(lo, -d.constant), hi) if c > 0 else (lo, min(hi, d.constant))
        while lo <= hi and symbol(name) - int(lo) in self._nonzero:
            lo += 1
        while lo <= hi < inf and symbol(name) - int(hi) in self._nonzero:
            hi -= 1
        if lo > hi:
            raise Contradiction(claim, source, earlier)
        self._ranges[name] = lo, hi
        self._changed()
        if lo == hi:
            self._solve(name, extent(int(lo)), claim, source, earlier)

    def _assume_zero(self, e: Extent, claim: str, source: str) -> None:
        try:
            d = self.norm(e)
        except TooLarge:
            return
        if not d.terms:
            return
        earlier = self._mention(e, source)
        if self._is_nonzero(d):
            raise Contradiction(claim, source, earlier)
        g = gcd(*d.terms.values())
        d = Extent({m: c // g for m, c in d.terms.items()})
        if (solved := _solved(d)) is not None:
            return self._solve(*solved, claim, source, earlier)
        if (multiple := self._multiple(d)) is not None:
            return self._assume_zero(multiple, claim, source)
        if (ratio := _ratio(d)) is not None:
            (x, to), second = ratio
            self._solve(x, to, claim, source, earlier)
            return self._assume_zero(second, claim, source)
        return self._keep(d, claim, source)

    def _keep(self, d: Extent, claim: str, source: str) -> None:
        """
        Keep an equality that no name solves: the leading product of names is rewritten, and both signs are inequalities.

        A quotient or a maximum may hold the product itself, so that rewriting would not end.
        """
        lead, c = d.sorted_terms[0]
        if abs(c) == 1 and len(lead) > 1 and all(a.kind == "name" for a in d.atoms):
            self._products[lead] = (d - Extent({lead: c})) * -c
            self._changed()
        known = {e for e, _ in self._inequalities}
        self._inequalities += [(e, source) for e in (d, -d) if e not in known]
        self._changed()

    def _multiple(self, d: Extent) -> Extent | None:
        """
        Return `x - k - n * q == 0` for a new `q` where `d == 0` says `n * floordiv(x, n) == x - k`.

        The quotient must be at least 0 to be a name.
        """
        for m, c in d.sorted_terms:
            if (
                len(m) == 1
                and m[0].kind == "div"
                and m[0].args[1] == extent(abs(c))
                and self._prover.bounds(m[0].args[0])[0] >= 0
            ):
                rest = (d - Extent({m: c})) * (1 if c < 0 else -1)
                k = m[0].args[0] - rest
                if k.is_constant and 0 <= k.constant < abs(c):
                    return m[0].args[0] - k - symbol(f"#{m[0].text}") * abs(c)
        return None

    def _solve(self, name: str, to: Extent, claim: str, source: str, earlier: tuple[str, ...]) -> None:
        """Replace a name by an expression without it, in all facts; the range of the name becomes one of the expression."""
        lo, hi = self._ranges.pop(name, ANY_SIZE)
        self._rules[name] = to
        kept, products, nonzero = self._inequalities, self._products, self._nonzero
        self._inequalities, self._products, self._nonzero = [], {}, {}
        self._changed()
        self._rules = {n: self._or_same(e) for n, e in self._rules.items()}
        self._nonzero = {self._or_same(e): s for e, s in nonzero.items()}
        self._changed()
        if ZERO in self._nonzero:
            raise Contradiction(claim, source, tuple(dict.fromkeys((*earlier, self._nonzero[ZERO]))))
        try:
            self._assume_nonnegative(to - int(lo), claim, source)
            if hi < inf:
                self._assume_nonnegative(int(hi) - to, claim, source)
            for e, s in kept:
                self._assume_nonnegative(e, claim, s)
            for m, e in products.items():
                self._assume_zero(Extent({m: 1}) - e, claim, source)
        except Contradiction as refused:  # of an earlier fact with this one
            both = dict.fromkeys(s for s in (*earlier, *refused.earlier, refused.source) if s != source)
            raise Contradiction(claim, source, tuple(both)) from None

    def _or_same(self, e: Extent) -> Extent:
        try:
            return self.norm(e)
        except TooLarge:
            return e


def _solved(d: Extent) -> tuple[str, Extent] | None:
    """Return a name and what it equals where `d == 0`; of several names the last in order, internal ones first."""
    found: list[tuple[bool, str, Extent]] = []
    for m, c in d.terms.items():
        if len(m) == 1 and m[0].kind == "name" and abs(c) == 1:
            rest = (d - Extent({m: c})) * -c
            if m[0].text not in rest.names:
                found.append((m[0].text.startswith("#"), m[0].text, rest))
    return max(found, key=lambda f: f[:2])[1:] if found else None


def _ratio(d: Extent) -> tuple[tuple[str, Extent], Extent] | None:
    """Return x as `q*k` for a new k, and `y - p*k`, if `d == 0` says `p*x == q*y` for coprime p, q > 0."""
    terms = d.sorted_terms
    if len(terms) != 2 or any(len(m) != 1 or m[0].kind != "name" for m, _ in terms):
        return None
    ((x,), p), ((y,), q) = terms
    if p * q > 0:
        return None
    k = symbol(f"#{x.text}/{abs(q)}")
    return (x.text, k * abs(q)), of_atom(y) - k * abs(p)
