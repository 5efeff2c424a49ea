"""
The values of a softmax's gradient as polynomials in three unknowns of each score.

The unknowns are the weight `p = e / t`, its adjoint `g`, and the row's `delta = sum(p g)`; `e = exp(z - max z)` and `t = sum e`
stand for `p` and 1. That changes nothing in what is left when `e` and `t` are multiplied by a number of the row, which is
followed as a degree: `e` and `t` have 1, and what leaves must have 0. So each sum over a row is known without going over it:
`sum(p g)` is delta, `sum p` is 1. The gradient that flows through the maximum turns out to be zero here, as it is on paper.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from mind_dialect import ptir

from ..building import only_units, spec_of, uniform
from ..patterns.matching import MismatchError, is_float

Powers = tuple[int, int, int]
Polynomial = Mapping[Powers, float]
"""Coefficients by the powers of the weight, its adjoint and delta; no coefficient is 0."""

ONE: Powers = (0, 0, 0)
WEIGHT: Powers = (1, 0, 0)
ADJOINT: Powers = (0, 1, 0)
DELTA: Powers = (0, 0, 1)
MOST_TERMS = 4


@dataclass(frozen=True)
class Meaning:
    """The polynomial of a value, if it is known to be one, and its degree; None for 0, which has every degree."""

    polynomial: Polynomial | None = None
    degree: int | None = 0


def number(value: float) -> Meaning:
    """The meaning of a number that is everywhere."""
    return Meaning({ONE: value} if value else {}, 0 if value else None)


def leaf(value: SSAValue) -> Meaning:
    """The meaning of a value that does not depend on scores."""
    found = uniform(value)
    return number(found) if isinstance(found, float) else Meaning()


def meaning(op: ptir.PtirOp, operands: Sequence[Meaning], keys_axis: int) -> Meaning:
    """Return the meaning of the result of an op, given that of its operands; MismatchError if degrees do not fit."""
    if isinstance(op, ptir.NegOp):
        return _scaled(operands[0], -1.0)
    if isinstance(op, ptir.BroadcastToOp) or (isinstance(op, ptir.CastOp) and is_float(op.x) and is_float(op.result)):
        return operands[0]
    if isinstance(op, ptir.ReshapeOp) and only_units(op):
        return operands[0]
    if isinstance(op, ptir.MulOp):
        return _product(*operands)
    if isinstance(op, ptir.DivOp):
        return _product(operands[0], _inverse(operands[1]))
    if isinstance(op, ptir.ReciprocalOp):
        return _inverse(operands[0])
    if isinstance(op, ptir.AddOp):
        return _sum(*operands)
    if isinstance(op, ptir.SubOp):
        return _sum(operands[0], _scaled(operands[1], -1.0))
    if isinstance(op, ptir.SelectOp):
        check_free(operands[:1])
        return Meaning(None, _common(operands[1:]))
    if isinstance(op, ptir.ReduceOp):
        return _reduced(op, operands[0], keys_axis)
    check_free(operands)
    return Meaning()


def is_constant(found: Meaning) -> float | None:
    """The number that a value is everywhere."""
    if found.polynomial is None or any(powers != ONE for powers in found.polynomial):
        return None
    return found.polynomial.get(ONE, 0.0)


def is_delta(found: Meaning) -> float | None:
    """Return the number of times that a value is delta."""
    if found.polynomial is None or list(found.polynomial) != [DELTA]:
        return None
    return found.polynomial[DELTA]


def check_free(operands: Sequence[Meaning]) -> None:
    """MismatchError for what changes if exponentials are multiplied by a number."""
    if any(m.degree not in (0, None) for m in operands):
        raise MismatchError("exponentials or their sums are used otherwise than as shares")


def _common(operands: Sequence[Meaning]) -> int | None:
    """The degree that all operands have."""
    degrees = {m.degree for m in operands} - {None}
    if len(degrees) > 1:
        raise MismatchError("exponentials are added to what is no share of them")
    return degrees.pop() if degrees else None


def _known(terms: Mapping[Powers, float], degree: int | None) -> Meaning:
    left = {powers: c for powers, c in terms.items() if c}
    return Meaning(left if len(left) <= MOST_TERMS else None, degree if left else None)


def _scaled(x: Meaning, by: float) -> Meaning:
    return x if x.polynomial is None else _known({powers: c * by for powers, c in x.polynomial.items()}, x.degree)


def _product(x: Meaning, y: Meaning) -> Meaning:
    if x.polynomial == {} or y.polynomial == {}:
        return number(0.0)
    degree = None if x.degree is None or y.degree is None else x.degree + y.degree
    if x.polynomial is None or y.polynomial is None:
        return Meaning(None, degree)
    terms: dict[Powers, float] = {}
    for (a, b, c), m in x.polynomial.items():
        for (d, e, f), n in y.polynomial.items():
            powers = (a + d, b + e, c + f)
            terms[powers] = terms.get(powers, 0.0) + m * n
    return _known(terms, degree)


def _inverse(x: Meaning) -> Meaning:
    if x.degree is None:
        raise MismatchError("something is divided by zero")
    c = is_constant(x)
    return Meaning({ONE: 1 / c} if c else None, -x.degree)


def _sum(x: Meaning, y: Meaning) -> Meaning:
    degree = _common((x, y))
    if x.polynomial is None or y.polynomial is None:
        return Meaning(None, degree)
    terms = dict(x.polynomial)
    for powers, c in y.polynomial.items():
        terms[powers] = terms.get(powers, 0.0) + c
    return _known(terms, degree)


def _reduced(op: ptir.ReduceOp, x: Meaning, keys_axis: int) -> Meaning:
    """The sum over the keys of a row, where each term of it is known; nothing is said of others."""
    values = op.values()
    if (
        values["kind"] != "sum"
        or tuple(values["axes"]) != (keys_axis,)
        or x.polynomial is None
        or len(spec_of(op.x).shape) <= keys_axis
    ):
        return Meaning(None, x.degree)
    terms: dict[Powers, float] = {}
    for (weights, adjoints, deltas), c in x.polynomial.items():
        if weights != 1 or adjoints > 1:
            return Meaning(None, x.degree)
        powers = (0, 0, deltas + adjoints)
        terms[powers] = terms.get(powers, 0.0) + c
    return _known(terms, x.degree)
