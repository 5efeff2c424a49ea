"""
Sizes that a model computes from its dimensions: integers, and polynomials of the names of dimensions.

Shape subgraphs run on them at import: NumPy's object arrays apply the operators below element by element. A comparison that
depends on a size raises `UndecidedError`, and what depends on it is not folded.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

import numpy as np

from mind_dialect.ptir_shapes import UNKNOWN, Dim

from ..stablehlo.sizes import Poly, constant, number, plus, shown, symbol, times

Array = np.ndarray[Any, Any]


class UndecidedError(Exception):
    """A comparison or division that no size is known for."""


class Extent:
    """
    A polynomial of names that is no plain number; `extent` makes one.

    >>> n = extent({("N",): 1})
    >>> n * 4 // 4, n + 2 - n, n == -1
    (N, 2, False)
    """

    def __init__(self, poly: Poly):
        self.poly = poly

    def __repr__(self) -> str:
        return shown(self.poly)

    def __add__(self, other: Any) -> Any:
        return extent(plus(self.poly, _poly(other)))

    def __sub__(self, other: Any) -> Any:
        return extent(plus(self.poly, _poly(other), -1))

    def __rsub__(self, other: Any) -> Any:
        return extent(plus(_poly(other), self.poly, -1))

    def __mul__(self, other: Any) -> Any:
        return extent(times(self.poly, _poly(other)))

    __radd__, __rmul__ = __add__, __mul__

    def __floordiv__(self, other: Any) -> Any:
        divisor = number(_poly(other))
        if divisor is None:
            if self == other:
                return 1
            raise UndecidedError
        if divisor == 0 or any(n % divisor for n in self.poly.values()):
            raise UndecidedError
        return extent({monomial: n // divisor for monomial, n in self.poly.items()})

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Extent) and other.poly == self.poly:
            return True
        difference = plus(self.poly, _poly(other), -1)
        if all(n > 0 for n in difference.values()) and difference.get((), 0) > 0:
            return False  # sizes are 0 or more
        raise UndecidedError

    def __hash__(self) -> int:
        return hash(repr(self))

    def __bool__(self) -> bool:
        raise UndecidedError

    def __lt__(self, other: Any) -> bool:
        raise UndecidedError

    __le__ = __gt__ = __ge__ = __mod__ = __rmod__ = __rfloordiv__ = __neg__ = __abs__ = __lt__  # pyright: ignore[reportAssignmentType]


def _poly(value: Any) -> Poly:
    if isinstance(value, Extent):
        return value.poly
    if isinstance(value, int):
        return constant(value)
    if isinstance(value, np.integer):
        return constant(int(cast(Any, value)))
    raise UndecidedError


def extent(poly: Poly) -> Extent | int:
    """A polynomial as a size."""
    found = number(poly)
    return Extent(poly) if found is None else found


def shape_array(shape: Iterable[Dim]) -> Array | None:
    """The sizes of a shape as a vector; None where one is not known and has no name."""
    dims = list(shape)
    if UNKNOWN in dims:
        return None
    if all(isinstance(n, int) for n in dims):
        return np.array(dims, np.int64)
    found = np.empty(len(dims), object)
    for i, n in enumerate(dims):
        found[i] = Extent({(n,): 1}) if isinstance(n, str) else n
    return found


def dim_of(value: Any) -> Dim:
    """A size as a dimension: a number, a name, or unknown for other polynomials."""
    if isinstance(value, Extent):
        return symbol(value.poly) or UNKNOWN
    return int(value)


def is_symbolic(array: Array) -> bool:
    """Whether an array holds sizes with names."""
    return array.dtype == object


def settled(found: Any) -> Array:
    """Return sizes as an array, of integers where all are numbers; NumPy gives an element of an object array as it is."""
    array = np.asarray(found, object) if isinstance(found, Extent) else np.asarray(found)
    if array.dtype == object and not any(isinstance(v, Extent) for v in array.reshape(-1)):
        return array.astype(np.int64)
    return array
