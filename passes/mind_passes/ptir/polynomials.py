"""
Elementwise float code as polynomials, so that two forms of one function compare equal.

Casts between floats count as nothing, products and sums are expanded, and `tanh` of GELU's cubic is a variable. Whatever else
computes a value makes that value a variable.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import pi, sqrt

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.ptir.types import Kind

from .building import spec_of, uniform

Monomial = tuple[int, ...]
Variable = SSAValue | Monomial
"""A value, or the numbers of those whose sum is y in `tanh(sqrt(2 / pi) (y + 0.044715 y^3))`."""
Polynomial = Mapping[Monomial, float]
"""Coefficients by the numbers of the factors, in ascending order."""
SCALE, CUBIC = sqrt(2 / pi), 0.044715
"""The constants of the common approximation of GELU by tanh."""
MOST_TERMS, MOST_FACTORS, MOST_DEPTH = 96, 9, 48
_TOLERANCE = {"f16": 4e-3, "bf16": 3e-2}
"""Relative to the greatest coefficient, where constants are rounded to these dtypes."""
_EXACT = 4e-6


class Polynomials:
    """Values as polynomials in variables, which get numbers as they are found."""

    def __init__(self) -> None:
        self.numbers: dict[Variable, int] = {}
        self._found: dict[SSAValue, Polynomial] = {}
        self.tolerance = _EXACT

    def variable(self, variable: Variable) -> Polynomial:
        """Return a variable as a polynomial."""
        return {(self.numbers.setdefault(variable, len(self.numbers)),): 1.0}

    def of(self, value: SSAValue, depth: int = MOST_DEPTH) -> Polynomial:
        """Return a value as a polynomial; a value that has no such form, or a long one, is a variable."""
        found = self._found.get(value)
        if found is None:
            found = self._computed(value, depth) if depth else None
            found = self.variable(value) if found is None or not _is_short(found) else found
            self._found[value] = found
        return found

    def same(self, a: Polynomial, b: Polynomial) -> bool:
        """Return whether two polynomials are equal, but for how constants were rounded."""
        most = max((abs(c) for c in (*a.values(), *b.values())), default=0.0)
        return all(abs(a.get(m, 0.0) - b.get(m, 0.0)) <= self.tolerance * most for m in {*a, *b})

    def _computed(self, value: SSAValue, depth: int) -> Polynomial | None:
        op = value.owner
        if not isinstance(op, ptir.PtirOp) or spec_of(value).dtype.kind is not Kind.FLOAT:
            return None
        if isinstance(number := uniform(value), float):
            self.tolerance = max(self.tolerance, _TOLERANCE.get(spec_of(value).dtype.name, _EXACT))
            return {(): number} if number else {}
        row = _RULES.get(type(op))
        if row is None or not all(spec_of(v).dtype.kind is Kind.FLOAT for v in op.operands):
            return None
        return row(self, op, depth - 1)

    def gelu_tanh(self, x: Polynomial) -> Polynomial:
        """Return the approximation of GELU by tanh, of a sum of variables."""
        return times(scaled(x, 0.5), plus({(): 1.0}, self._tanh_of(x)))

    def gelu_tanh_gradient(self, x: Polynomial) -> Polynomial:
        """Return the derivative of `gelu_tanh` at a sum."""
        tanh = self._tanh_of(x)
        slope = scaled(plus({(): 1.0}, scaled(times(x, x), 3 * CUBIC)), SCALE)
        inner = times(times(x, slope), plus({(): 1.0}, scaled(times(tanh, tanh), -1.0)))
        return scaled(plus(plus({(): 1.0}, tanh), inner), 0.5)

    def _tanh_of(self, x: Polynomial) -> Polynomial:
        return self.variable(tuple(sorted(m[0] for m in x)))

    def tanh(self, argument: Polynomial) -> Polynomial | None:
        """Return the variable for `tanh` of GELU's cubic in a sum of variables; None for another argument."""
        sum_: Polynomial = {m: 1.0 for m in argument if len(m) == 1}
        if not sum_ or len(sum_) > 3:
            return None
        cubic = scaled(plus(sum_, scaled(times(sum_, times(sum_, sum_)), CUBIC)), SCALE)
        return self._tanh_of(sum_) if self.same(argument, cubic) else None


def plus(a: Polynomial, b: Polynomial) -> Polynomial:
    """Return the sum of two polynomials."""
    found = dict(a)
    for m, c in b.items():
        found[m] = found.get(m, 0.0) + c
    return found


def scaled(a: Polynomial, factor: float) -> Polynomial:
    """Return a polynomial times a number."""
    return {m: c * factor for m, c in a.items()}


def times(a: Polynomial, b: Polynomial) -> Polynomial:
    """Return the product of two polynomials."""
    found: dict[Monomial, float] = {}
    for m, c in a.items():
        for n, d in b.items():
            key = tuple(sorted((*m, *n)))
            found[key] = found.get(key, 0.0) + c * d
    return found


def _is_short(a: Polynomial) -> bool:
    return len(a) <= MOST_TERMS and all(len(m) <= MOST_FACTORS for m in a)


Rule = Callable[[Polynomials, ptir.PtirOp, int], Polynomial | None]


def _add(found: Polynomials, op: ptir.PtirOp, depth: int) -> Polynomial:
    return plus(found.of(op.operands[0], depth), found.of(op.operands[1], depth))


def _sub(found: Polynomials, op: ptir.PtirOp, depth: int) -> Polynomial:
    return plus(found.of(op.operands[0], depth), scaled(found.of(op.operands[1], depth), -1.0))


def _mul(found: Polynomials, op: ptir.PtirOp, depth: int) -> Polynomial | None:
    a, b = (found.of(v, depth) for v in op.operands)
    return times(a, b) if len(a) * len(b) <= MOST_TERMS**2 else None


def _div(found: Polynomials, op: ptir.PtirOp, depth: int) -> Polynomial | None:
    number = uniform(op.operands[1])
    return scaled(found.of(op.operands[0], depth), 1 / number) if isinstance(number, float) and number else None


def _pow(found: Polynomials, op: ptir.PtirOp, depth: int) -> Polynomial | None:
    number, x = uniform(op.operands[1]), found.of(op.operands[0], depth)
    square = times(x, x) if number in (2.0, 3.0) else None
    return times(square, x) if square is not None and number == 3.0 else square


def _neg(found: Polynomials, op: ptir.PtirOp, depth: int) -> Polynomial:
    return scaled(found.of(op.operands[0], depth), -1.0)


def _cast(found: Polynomials, op: ptir.PtirOp, depth: int) -> Polynomial:
    return found.of(op.operands[0], depth)


def _repeated(found: Polynomials, op: ptir.PtirOp, depth: int) -> Polynomial | None:
    """A vector along the last axis is itself: other variables are arrays of the whole shape."""
    return found.of(op.operands[0], depth) if len(spec_of(op.operands[0]).shape) == 1 else None


def _tanh(found: Polynomials, op: ptir.PtirOp, depth: int) -> Polynomial | None:
    return found.tanh(found.of(op.operands[0], depth))


_RULES: dict[type[ptir.PtirOp], Rule] = {
    ptir.AddOp: _add,
    ptir.SubOp: _sub,
    ptir.MulOp: _mul,
    ptir.DivOp: _div,
    ptir.PowOp: _pow,
    ptir.NegOp: _neg,
    ptir.CastOp: _cast,
    ptir.BroadcastToOp: _repeated,
    ptir.TanhOp: _tanh,
}
