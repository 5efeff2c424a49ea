"""
Sizes that a model computes from its dimensions: integers, and expressions of the names of dimensions.

Shape subgraphs run on them at import: NumPy's object arrays apply the operators below element by element. A comparison whose
answer depends on a size raises `UndecidedError`, and what depends on it is not folded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import add, mul, sub
from typing import Any, cast

import numpy as np

from mind_dialect import extents as engine
from mind_dialect.extents import dims
from mind_dialect.ptir_shapes import UNKNOWN, Dim

Array = np.ndarray[Any, Any]


class UndecidedError(Exception):
    """A comparison or division that no size is known for."""


class Extent:
    """
    An expression of names that is no plain number; `sized` makes one.

    >>> from mind_dialect.extents import symbol
    >>> n = sized(symbol("N"))
    >>> n * 4 // 4, n + 2 - n, n == -1
    (N, 2, False)
    """

    def __init__(self, value: engine.Extent):
        self.value = value

    def __repr__(self) -> str:
        return engine.extent_text(self.value)

    def __add__(self, other: Any) -> Any:
        return _computed(add, self.value, _value(other))

    def __sub__(self, other: Any) -> Any:
        return _computed(sub, self.value, _value(other))

    def __rsub__(self, other: Any) -> Any:
        return _computed(sub, _value(other), self.value)

    def __mul__(self, other: Any) -> Any:
        return _computed(mul, self.value, _value(other))

    __radd__, __rmul__ = __add__, __mul__

    def __floordiv__(self, other: Any) -> Any:
        divisor = _value(other)
        if divisor == self.value:
            return 1
        if not divisor.is_constant or divisor.constant <= 0:
            raise UndecidedError
        return _computed(engine.floordiv, self.value, divisor)

    def __mod__(self, other: Any) -> Any:
        return self - self // other * other

    def __neg__(self) -> Any:
        return 0 - self

    def __abs__(self) -> Any:
        return self if self >= 0 else -self

    def __eq__(self, other: object) -> bool:
        return self._is("==", other)

    def __hash__(self) -> int:
        return hash(self.value)

    def __bool__(self) -> bool:
        return self != 0

    def __lt__(self, other: Any) -> bool:
        return self._is("<", other)

    def __le__(self, other: Any) -> bool:
        return self._is("<=", other)

    def __gt__(self, other: Any) -> bool:
        return self._is(">", other)

    def __ge__(self, other: Any) -> bool:
        return self._is(">=", other)

    def __rmod__(self, _: Any) -> Any:
        raise UndecidedError

    __rfloordiv__ = __rmod__

    def _is(self, relation: str, other: object) -> bool:
        """Decide a relation for all sizes that calls may have."""
        found = dims.are_related(dim_of(self - other), relation, 0)
        if found is None:
            raise UndecidedError
        return found


def _value(given: Any) -> engine.Extent:
    if isinstance(given, Extent):
        return given.value
    if isinstance(given, int | np.integer):
        return engine.extent(int(cast(Any, given)))
    raise UndecidedError


def _computed(of: Callable[..., engine.Extent], *operands: engine.Extent) -> Extent | int:
    try:
        return sized(of(*operands))
    except engine.TooLarge:
        raise UndecidedError from None


def _extreme(plain: Any, of: Callable[..., engine.Extent]) -> Callable[[Array, Array], Any]:
    """An elementwise extreme, of sizes with names too."""
    each = np.frompyfunc(lambda a, b: _computed(of, _value(a), _value(b)), 2, 1)
    return lambda x, y: each(x, y) if is_symbolic(x) or is_symbolic(y) else plain(x, y)


greatest, least = _extreme(np.maximum, engine.max_of), _extreme(np.minimum, engine.min_of)


def sized(value: engine.Extent) -> Extent | int:
    """An expression as a size."""
    return value.constant if value.is_constant else Extent(value)


def shape_array(shape: Iterable[Dim]) -> Array | None:
    """The sizes of a shape as a vector; None where one is not known and has no name."""
    known = list(shape)
    if UNKNOWN in known:
        return None
    if all(isinstance(n, int) for n in known):
        return np.array(known, np.int64)
    found = np.empty(len(known), object)
    for i, n in enumerate(known):
        found[i] = sized(dims.extent_of(n))
    return found


def dim_of(value: Any) -> Dim:
    """A size as a dimension."""
    return dims.dim_of(value.value) if isinstance(value, Extent) else int(value)


def is_symbolic(array: Array) -> bool:
    """Return whether an array holds sizes with names."""
    return array.dtype == object


def settled(found: Any) -> Array:
    """Return sizes as an array, of integers where all are numbers; NumPy gives an element of an object array as it is."""
    array = np.asarray(found, object) if isinstance(found, Extent) else np.asarray(found)
    if array.dtype == object and not any(isinstance(v, Extent) for v in array.reshape(-1)):
        return array.astype(np.int64)
    return array
