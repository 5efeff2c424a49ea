"""Sizes of names that stand in expressions alone, solved for from the sizes of dimensions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from .dims import Dim, extent_of, is_expression, names_in
from .expr import Extent, extent, symbol
from .operations import evaluate, floordiv, max_of

SIZE = "#size"
"""In a `Solution`: the size of the dimension that it is of."""


class Solution(NamedTuple):
    """The source of a name's size: dimension `axis` of shape `shape`, and the size as an expression of `SIZE` and other names."""

    shape: int
    axis: int
    name: str
    size: Extent

    def of(self, n: int, sizes: Mapping[str, int]) -> int:
        """The size of the name where the dimension is `n`."""
        return evaluate(self.size, {**sizes, SIZE: n})


def linear_in(dim: Dim, known: frozenset[str]) -> tuple[str, int, Extent] | None:
    """
    Return the one name of an expression that is not known, what it is multiplied by, and the rest; None where there is no such.

    >>> linear_in("2*B+1", frozenset()), linear_in("P+T", frozenset("P")), linear_in("P+T", frozenset())
    (('B', 2, 1), ('T', 1, P), None)
    >>> linear_in("B*T", frozenset("T")), linear_in("B floordiv 2", frozenset())
    (None, None)
    """
    if not is_expression(dim) or len(new := [name for name in names_in(dim) if name not in known]) != 1:
        return None
    e, name = extent_of(dim), symbol(new[0])
    (monomial,) = name.terms
    factor = e.terms.get(monomial, 0)
    rest = e - name * factor
    return (new[0], factor, rest) if factor and new[0] not in rest.names else None


def solutions(shapes: Sequence[Sequence[Dim]], known: Sequence[str] = ()) -> Iterator[Solution]:
    """
    Yield where the names get their sizes that are not known, nor dimensions by themselves, in an order in which it can be done.

    An expression that is linear in one such name gives it, rounded down and at least 0: that it comes out is still to be checked.

    >>> [(s.name, s.of(n, {"P": 3})) for s, n in zip(solutions([["P"], ["P+T", "2*B"]]), (10, 8))]
    [('T', 7), ('B', 4)]
    """
    found = {*known, *(d for dims in shapes for d in dims if isinstance(d, str) and not is_expression(d))}
    left = [(i, axis, d) for i, dims in enumerate(shapes) for axis, d in enumerate(dims) if is_expression(d)]
    again = True
    while again:
        again = False
        for i, axis, dim in left:
            if (linear := linear_in(dim, frozenset(found))) is not None:
                name, factor, rest = linear
                difference = (symbol(SIZE) - rest) * (1 if factor > 0 else -1)
                found.add(name)
                again = True
                yield Solution(i, axis, name, max_of(floordiv(difference, abs(factor)), extent(0)))
