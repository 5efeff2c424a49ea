"""Floor division and maximum in normal form, and the operations that they define."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache, reduce
from math import gcd
from operator import add, mul, sub
from typing import Generic, NamedTuple, TypeVar

from .expr import (
    MAX_DEPTH,
    MAX_OPERANDS,
    MAX_TERMS,
    ZERO,
    Atom,
    Extent,
    Monomial,
    TooLarge,
    atom,
    common_factor,
    extent,
    of_atom,
    order,
    without,
)

Predicate = Callable[[Extent], bool]


def is_positive(e: Extent) -> bool:
    """Return whether the form alone, without facts, shows that the value is at least 1."""
    return e.constant > 0 and e.is_nonnegative


def floordiv(e: Extent, d: Extent | int, positive: Predicate = is_positive) -> Extent:
    """
    Return `e / d` rounded down; `positive` says which factors are known to be at least 1, so that they cancel.

    Division by the constant 0 raises ZeroDivisionError; where a symbolic divisor is 0, the quotient has no value.

    >>> from mind_dialect.extents import symbol
    >>> b, t = symbol("B"), symbol("T")
    >>> floordiv(6 * b + 7, 2)
    3*B + 3
    >>> floordiv(b * t, t), floordiv(b * (t + 1), t + 1)
    (floordiv(B*T, T), B)
    """
    d = extent(d)
    if d.is_constant:
        if d.constant == 0:
            raise ZeroDivisionError("division of an extent by 0")
        return _by_constant(e, d.constant) if d.constant > 0 else _by_constant(-e, -d.constant)
    if not positive(d):
        return of_atom(atom("div", (e, d)))
    q, r = _divide(e, d)
    if not r.terms:
        return q
    common = common_factor((r, d))
    factor = Extent({common: 1})
    if common and positive(factor):
        return q + floordiv(_divide(r, factor)[0], _divide(d, factor)[0], positive)
    return q + of_atom(atom("div", (r, d)))


def ceildiv(e: Extent, d: Extent | int, positive: Predicate = is_positive) -> Extent:
    """
    Return `e / d` rounded up.

    >>> from mind_dialect.extents import symbol
    >>> ceildiv(symbol("T"), 8)
    floordiv(T + 7, 8)
    """
    return -floordiv(-e, d, positive)


def mod(e: Extent, d: Extent | int, positive: Predicate = is_positive) -> Extent:
    """
    Return `e - d * floordiv(e, d)`, which has the sign of `d`.

    >>> from mind_dialect.extents import symbol
    >>> mod(4 * symbol("T") + 3, 2)
    1
    """
    return e - floordiv(e, d, positive) * d


def _by_constant(e: Extent, n: int) -> Extent:
    """Split every coefficient into a multiple of `n` and the residue of least size: atoms are integers."""
    if n == 1:
        return e
    q: dict[Monomial, int] = {}
    r: dict[Monomial, int] = {}
    for m, c in e.terms.items():
        if not m:
            continue
        k = c % n
        k = k - n if 2 * k > n else k
        if c != k:
            q[m] = (c - k) // n
        if k:
            r[m] = k
    whole, c = divmod(e.constant, n)
    return Extent(q) + whole + _of_residues(r, c, n) if r else Extent(q) + whole


def _of_residues(r: dict[Monomial, int], c: int, n: int) -> Extent:
    """Return `floordiv(r + c, n)` for residues of `n` and `0 <= c < n`."""
    if (g := gcd(n, *r.values())) > 1:  # floor((g*s + c) / (g*m)) = floor((s + floor(c/g)) / m)
        return _by_constant(Extent({m: k // g for m, k in r.items()}) + c // g, n // g)
    monomials = sorted(r, key=order)
    deciding = next((r[m] for m in monomials if 2 * r[m] != n), None)
    flips = deciding < 0 if deciding is not None else c > n - 1 - c
    if flips:  # floor(x/n) = -floor((n - 1 - x) / n)
        return -_by_constant(Extent({m: -k for m, k in r.items()}) + (n - 1 - c), n)
    for m in monomials:  # floor((floor(x/k) + s) / n) = floor((x + k*s) / (k*n)); Concrete Mathematics, 3.2
        if abs(r[m]) == 1 and len(m) == 1 and m[0].kind == "div" and m[0].args[1].is_constant and m[0].args[1].terms:
            x, k = m[0].args[0], m[0].args[1].constant
            x = x if r[m] == 1 else k - 1 - x  # -floor(x/k) = floor((k - 1 - x) / k)
            return _by_constant(x + (Extent({o: v for o, v in r.items() if o != m}) + c) * k, k * n)
    return of_atom(atom("div", (Extent(r) + c, extent(n))))


def _divide(e: Extent, d: Extent) -> tuple[Extent, Extent]:
    """Return polynomial quotient and remainder by the leading term of `d`; by several terms it must be exact."""
    lead, coefficient = d.sorted_terms[0]
    q, r = ZERO, e
    for _ in range(MAX_TERMS):
        for m, c in r.sorted_terms:
            if c % coefficient == 0 and (rest := without(m, lead)) is not None:
                t = Extent({rest: c // coefficient})
                q, r = q + t, r - t * d
                break
        else:
            break
    return (q, r) if not r.terms or len(d.terms) == 1 else (ZERO, e)


def _flat(operands: tuple[Extent, ...]) -> list[Extent]:
    """Return operands in which `s + max(...)` is spread out, in the order of their text as far as the limit allows."""
    found: list[Extent] = []
    count = len(operands)
    for e in sorted(operands, key=str):
        inner = [m[0] for m, c in e.sorted_terms if c == 1 and len(m) == 1 and m[0].kind == "max"]
        if len(inner) == 1 and count - 1 + len(inner[0].args) <= MAX_OPERANDS:
            rest = e - of_atom(inner[0])
            found += [rest + x for x in inner[0].args]
            count += len(inner[0].args) - 1
        else:
            found.append(e)
    return found


def _undominated(operands: list[Extent], nonnegative: Predicate) -> list[Extent]:
    """Return the operands without those that another is never below."""
    kept: list[Extent] = []
    for e in operands:
        if not any(nonnegative(o - e) for o in kept):
            kept = [o for o in kept if not nonnegative(e - o)] + [e]
    return kept


def without_quotient(e: Extent) -> Extent:
    """
    Return an expression that is at least 0 where `e` is and nowhere else, without the quotient that `e` is but for a constant.

    >>> from mind_dialect.extents import symbol
    >>> without_quotient(floordiv(symbol("T"), extent(5)) - 4), without_quotient(symbol("T") - 4)
    (T - 20, T - 4)
    """
    ((monomial, factor), *rest) = e.sorted_terms or (((), 0),)
    if factor != 1 or len(monomial) != 1 or monomial[0].kind != "div" or any(m for m, _ in rest):
        return e
    dividend, divisor = monomial[0].args
    if not divisor.is_constant or divisor.constant <= 0:
        return e
    return without_quotient(dividend + e.constant * divisor.constant)


def max_of(*operands: Extent, nonnegative: Predicate = lambda e: e.is_nonnegative) -> Extent:
    """
    Return the maximum; `nonnegative` says which differences of operands are known to be at least 0.

    >>> from mind_dialect.extents import symbol
    >>> b, t = symbol("B"), symbol("T")
    >>> max_of(b, b + 2), max_of(t + 1, b + 1)
    (B + 2, B + max(-B + T, 0) + 1)
    """
    outside, factor = ZERO, extent(1)
    for _ in range(MAX_DEPTH):
        kept = _undominated(_flat(operands), nonnegative)
        if len(kept) == 1:
            return outside + factor * kept[0]
        if len(kept) > MAX_OPERANDS:
            raise TooLarge(f"a maximum of {len(kept)} operands, expected at most {MAX_OPERANDS}")
        pivot, scale, operands = _moved(kept)
        outside, factor = outside + factor * pivot, factor * scale
        if len(_flat(operands)) == len(operands):  # else differences have maxima that the operands had not
            break
    ((common, count),) = factor.terms.items()
    return outside + Extent({tuple(sorted((*common, atom("max", operands)))): count})


def _moved(kept: list[Extent]) -> tuple[Extent, Extent, tuple[Extent, ...]]:
    """Return p, f and operands with 0 such that the maximum is `p + f * max(operands)`, the operands of the least text."""
    moved = [e - kept[0] for e in kept]
    scale = gcd(*(c for e in moved for c in e.terms.values()))
    common = tuple(a for a in common_factor(moved) if a.is_nonnegative)
    scaled = [Extent({without(m, common) or (): c // scale for m, c in e.terms.items()}) for e in moved]
    sets = [sorted((e - p for e in scaled), key=str) for p in scaled]
    least = min(range(len(kept)), key=lambda i: [str(e) for e in sets[i]])
    return kept[least], Extent({common: scale}), tuple(sets[least])


def min_of(*operands: Extent, nonnegative: Predicate = lambda e: e.is_nonnegative) -> Extent:
    """
    Return the minimum.

    >>> from mind_dialect.extents import symbol
    >>> b, t = symbol("B"), symbol("T")
    >>> min_of(b, t) + max_of(b, t)
    B + T
    """
    return -max_of(*(-e for e in operands), nonnegative=nonnegative)


def substitute(e: Extent, values: dict[str, Extent], positive: Predicate = is_positive) -> Extent:
    """
    Replace names by extents, everywhere at once.

    >>> from mind_dialect.extents import symbol
    >>> t = symbol("T")
    >>> substitute(floordiv(t + symbol("P"), 4), {"T": 4 * t})
    T + floordiv(P, 4)
    """

    def of(a: Atom) -> Extent:
        if not values.keys() & a.names:
            return of_atom(a)
        if a.kind == "name":
            return values[a.text]
        args = [substitute(x, values, positive) for x in a.args]
        return floordiv(args[0], args[1], positive) if a.kind == "div" else max_of(*args)

    total = ZERO
    for m, c in e.terms.items():
        product = extent(c)
        for a in m:
            product = product * of(a)
        total = total + product
    return total


V = TypeVar("V")


class Algebra(NamedTuple, Generic[V]):
    """The parts of an expression in another representation: numbers, names, and `+`, `-`, `*`, `//`, `max` of two."""

    number: Callable[[int], V]
    name: Callable[[str], V]
    add: Callable[[V, V], V]
    sub: Callable[[V, V], V]
    mul: Callable[[V, V], V]
    floordiv: Callable[[V, V], V]
    max: Callable[[V, V], V]


def fold(e: Extent, to: Algebra[V]) -> V:
    """
    Return what an expression is in another algebra; terms stand as in its text.

    >>> from mind_dialect.extents import symbol
    >>> text = Algebra(str, str, *(f"({{}} {sign} {{}})".format for sign in ("+", "-", "*", "//")), max="max({}, {})".format)
    >>> fold(2 - symbol("T"), text), fold(ceildiv(2 * symbol("T"), 3), text)
    ('(2 - T)', '(T - (T // 3))')
    """

    def of(a: Atom) -> V:
        if a.kind == "name":
            return to.name(a.text)
        return reduce(to.floordiv if a.kind == "div" else to.max, [fold(x, to) for x in a.args])

    def product(m: Monomial, c: int) -> V:
        factors = [*([to.number(c)] if c != 1 or not m else []), *map(of, m)]
        return reduce(to.mul, factors)

    terms = sorted(e.sorted_terms, key=lambda term: term[1] < 0) or [((), 0)]
    total = product(*terms[0])
    for m, c in terms[1:]:
        total = to.sub(total, product(m, -c)) if c < 0 else to.add(total, product(m, c))
    return total


def evaluate(e: Extent, sizes: Mapping[str, int]) -> int:
    """
    Return the value for the size of each name, with integers of any width; ZeroDivisionError where it has none.

    >>> from mind_dialect.extents import symbol
    >>> evaluate(ceildiv(symbol("T"), 8), {"T": 9})
    2
    """

    def quotient(a: int, b: int) -> int:
        return a // b

    return fold(e, Algebra(int, sizes.__getitem__, add, sub, mul, quotient, max))


@lru_cache(4096)
def has_value(e: Extent) -> bool:
    """Return whether an expression has a value for all sizes of its names."""
    return all(a.kind == "name" or (all(map(has_value, a.args)) and (a.kind != "div" or a.args[1].is_constant)) for a in e.atoms)
