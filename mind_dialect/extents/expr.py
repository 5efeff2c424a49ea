"""
Symbolic extents in normal form: polynomials with integer coefficients over names, floor divisions and maxima.

Values are mathematical integers, names are extents and so at least 0. Ceiling division, remainder and minimum are defined by the
three kinds of atoms. Equal normal forms are equal in value; different ones may be equal too, which `Facts` decides where it can.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from math import gcd
from typing import Literal
from weakref import WeakValueDictionary

MAX_TERMS, MAX_DEGREE, MAX_DEPTH, MAX_OPERANDS, MAX_COEFFICIENT = 48, 8, 5, 5, 1 << 62
"""An expression beyond these limits is refused with `TooLarge`; as an extent it is unknown."""


class TooLarge(ValueError):
    """An expression is beyond the limits of this module; the caller takes an unknown extent in its place."""


class Atom:
    """A name, `floordiv(args[0], args[1])`, or the maximum of `args`. Atoms are interned: equal atoms are one object."""

    __slots__ = ("__weakref__", "args", "depth", "is_nonnegative", "kind", "names", "text")

    def __init__(self, kind: Kind, args: tuple[Extent, ...], text: str):
        self.kind, self.args, self.text = kind, args, text
        self.depth: int = 1 + max((a.depth for e in args for a in e.atoms), default=0) if args else 0
        self.names: frozenset[str] = frozenset[str]().union(*(e.names for e in args)) if args else frozenset((text,))
        # A maximum has 0 among its operands. A quotient by 0 has no value, so nothing is claimed of it.
        self.is_nonnegative = kind != "div" or (args[0].is_nonnegative and args[1].is_nonnegative and args[1].constant > 0)

    def __lt__(self, other: Atom) -> bool:
        return self.text < other.text

    def __repr__(self) -> str:
        return self.text


Kind = Literal["name", "div", "max"]
Monomial = tuple[Atom, ...]
"""A product of atoms, sorted by their text; the empty product is the monomial of the constant."""
_ATOMS: WeakValueDictionary[tuple[str, tuple[Extent, ...] | str], Atom] = WeakValueDictionary()


def atom(kind: Literal["div", "max"], args: tuple[Extent, ...]) -> Atom:
    """Return the atom of that kind; `TooLarge` if it nests too deep."""
    if (found := _ATOMS.get((kind, args))) is None:
        found = Atom(kind, args, f"{'floordiv' if kind == 'div' else 'max'}({', '.join(map(str, args))})")
        if found.depth > MAX_DEPTH:
            raise TooLarge(f"floor divisions and maxima nest deeper than {MAX_DEPTH}")
        _ATOMS[kind, args] = found
    return found


def order(monomial: Monomial) -> tuple[int, list[str]]:
    """Return the key that sorts monomials by falling degree, then by text, never by history."""
    return -len(monomial), [a.text for a in monomial]


class Extent:
    """
    A polynomial: the coefficient, not 0, of each monomial. Immutable.

    >>> b, t = symbol("B"), symbol("T")
    >>> (b + t) * (b - t)
    B*B - T*T
    """

    def __init__(self, terms: Mapping[Monomial, int]):
        if len(terms) > MAX_TERMS:
            raise TooLarge(f"an expression of {len(terms)} terms, expected at most {MAX_TERMS}")
        self.terms = terms

    @property
    def constant(self) -> int:
        """The coefficient of the constant term."""
        return self.terms.get((), 0)

    @property
    def is_constant(self) -> bool:
        return not self.terms or (len(self.terms) == 1 and () in self.terms)

    @cached_property
    def atoms(self) -> tuple[Atom, ...]:
        """The atoms of the monomials, each once, sorted by text."""
        return tuple(sorted({a for m in self.terms for a in m}))

    @cached_property
    def names(self) -> frozenset[str]:
        """The names in the expression, those inside of atoms included."""
        return frozenset[str]().union(*(a.names for a in self.atoms))

    @cached_property
    def is_nonnegative(self) -> bool:
        """Return whether the form alone, without facts, shows that the value is at least 0."""
        return all(c > 0 and all(a.is_nonnegative for a in m) for m, c in self.terms.items())

    @cached_property
    def content(self) -> int:
        """The greatest common divisor of the coefficients other than the constant; 0 if there are none."""
        return gcd(*(c for m, c in self.terms.items() if m))

    @cached_property
    def sorted_terms(self) -> tuple[tuple[Monomial, int], ...]:
        """The terms by falling degree, then text."""
        return tuple((m, self.terms[m]) for m in sorted(self.terms, key=order))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Extent) and self.terms == other.terms

    @cached_property
    def _hash(self) -> int:
        return hash(frozenset(self.terms.items()))

    def __hash__(self) -> int:
        return self._hash

    def __add__(self, other: Extent | int) -> Extent:
        return combine(self, 1, extent(other), 1)

    def __sub__(self, other: Extent | int) -> Extent:
        return combine(self, 1, extent(other), -1)

    def __rsub__(self, other: int) -> Extent:
        return combine(extent(other), 1, self, -1)

    def __neg__(self) -> Extent:
        return Extent({m: -c for m, c in self.terms.items()})

    def __mul__(self, other: Extent | int) -> Extent:
        if isinstance(other, int):
            return Extent({m: _bounded(c * other) for m, c in self.terms.items()}) if other else ZERO
        found: dict[Monomial, int] = {}
        for m, c in self.terms.items():
            for n, d in other.terms.items():
                product = tuple(sorted(m + n)) if m and n else m or n
                if len(product) > MAX_DEGREE:
                    raise TooLarge(f"a product of {len(product)} factors, expected at most {MAX_DEGREE}")
                found[product] = found.get(product, 0) + c * d
        return Extent({m: _bounded(c) for m, c in found.items() if c})

    __radd__, __rmul__ = __add__, __mul__

    @cached_property
    def _text(self) -> str:
        parts: list[str] = []
        for m, c in self.sorted_terms:
            factors = [*([str(abs(c))] if abs(c) != 1 or not m else []), *(a.text for a in m)]
            parts.append(f"{'-' if c < 0 else '+'} {'*'.join(factors)}")
        text = " ".join(parts) or "0"
        return text[2:] if text[0] == "+" else f"-{text[2:]}" if text[0] == "-" else text

    def __repr__(self) -> str:
        return self._text


def _bounded(coefficient: int) -> int:
    if not -MAX_COEFFICIENT < coefficient < MAX_COEFFICIENT:
        raise TooLarge("a coefficient of more than 62 bits")
    return coefficient


def combine(a: Extent, x: int, b: Extent, y: int) -> Extent:
    """Return `x * a + y * b`; `x` is not 0."""
    found = {m: _bounded(c * x) for m, c in a.terms.items()} if x != 1 else dict(a.terms)
    for m, c in b.terms.items():
        if n := found.get(m, 0) + c * y:
            found[m] = _bounded(n)
        else:
            found.pop(m, None)
    return Extent(found)


def symbol(name: str) -> Extent:
    """Return the extent that is a name."""
    if (found := _ATOMS.get(("name", name))) is None:
        found = _ATOMS["name", name] = Atom("name", (), name)
    return Extent({(found,): 1})


def extent(value: Extent | int) -> Extent:
    """Return an extent, also of an integer."""
    return value if isinstance(value, Extent) else Extent({(): _bounded(value)} if value else {})


def of_atom(a: Atom) -> Extent:
    return Extent({(a,): 1})


def without(monomial: Monomial, factor: Monomial) -> Monomial | None:
    """Return `monomial / factor`, or None where that is no monomial."""
    left = list(monomial)
    for a in factor:
        if a not in left:
            return None
        left.remove(a)
    return tuple(left)


def common_factor(extents: Iterable[Extent]) -> Monomial:
    """Return the greatest monomial that divides all terms."""
    common: list[Atom] | None = None
    for m in (m for e in extents for m in e.terms):
        if common is None:
            common = list(m)
            continue
        left = list(m)
        kept: list[Atom] = []
        for a in common:
            if a in left:
                left.remove(a)
                kept.append(a)
        common = kept
    return tuple(common or ())


ZERO = Extent({})
