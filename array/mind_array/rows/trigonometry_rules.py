"""Derivatives of functions of complex numbers that are custom calls, as products with the derivative at each element."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..array import Array
from ..call_rules import differentiate_call
from . import elementwise as e
from .parts import from_parts, parts_of, square
from .trigonometry import TARGETS, cosh, sinh, times_i

Derivative = Callable[[Array, Array], Array]
"""From the number and the value of the function there."""


def _of_roots(x: Array, below: bool = False) -> Array:
    """
    Return `1 / (sqrt(1 - x) sqrt(1 + x))`, or `1 / (sqrt(x - 1) sqrt(x + 1))` if `below`.

    The imaginary part keeps the sign of a zero, which says the side of a branch cut; sums with the complex number 1 lose it.
    """
    a, b = parts_of(x)
    first = from_parts(e.subtract(a, 1.0), b) if below else from_parts(e.subtract(1.0, a), e.negative(b))
    return e.reciprocal(e.multiply(e.sqrt(first), e.sqrt(from_parts(e.add(a, 1.0), b))))


_DERIVATIVES: dict[str, Derivative] = {
    "sinh": lambda x, y: cosh(x),
    "cosh": lambda x, y: sinh(x),
    "tan": lambda x, y: e.add(square(y), 1.0),
    "asin": lambda x, y: _of_roots(x),
    "acos": lambda x, y: e.negative(_of_roots(x)),
    "asinh": lambda x, y: _of_roots(times_i(x)),
    "acosh": lambda x, y: _of_roots(x, below=True),
    "atan": lambda x, y: e.reciprocal(e.add(square(x), 1.0)),
    "atanh": lambda x, y: e.reciprocal(e.subtract(1.0, square(x))),
}


def _register(name: str, derivative: Derivative) -> None:
    def rule(xs: Sequence[Array], ys: Sequence[Array], changes: Sequence[Array]) -> Sequence[Array]:
        return [e.multiply(changes[0], derivative(xs[0], ys[0]))]

    differentiate_call(TARGETS[name], rule, rule)


for _name, _derivative in _DERIVATIVES.items():
    _register(_name, _derivative)
