"""GELU in its erf form: `x / 2 * (1 + erf(x / sqrt 2))`, with the half wherever builders put it."""

from __future__ import annotations

from math import sqrt

from xdsl.ir import SSAValue

from mind_dialect.ptir import AddOp, ErfOp, MulOp, PtirOp

from ..building import is_all
from .matching import Match, fused, is_float, made_by, times

Part = tuple[SSAValue, list[PtirOp]]
"""x, and the ops between it and what was looked at."""


def match(root: PtirOp) -> Match | None:
    """The GELU that ends in the product `root`."""
    if not isinstance(root, MulOp) or not is_float(root.result):
        return None
    inside = _half_outside(root)
    for a, b in ((root.lhs, root.rhs), (root.rhs, root.lhs)):
        inside = inside or _half_of_x(a, b) or _half_of_sum(a, b)
    return None if inside is None else Match(root, inside, fused("gelu"))


def _half_of_x(a: SSAValue, b: SSAValue) -> list[PtirOp] | None:
    """`(x / 2) * (1 + erf(...))`."""
    half, sum_ = times(a, 0.5), _one_plus_erf(b)
    return None if half is None or sum_ is None or half[1] is not sum_[0] else [half[0], *sum_[1]]


def _half_of_sum(a: SSAValue, b: SSAValue) -> list[PtirOp] | None:
    """`x * ((1 + erf(...)) / 2)`."""
    half = times(b, 0.5)
    sum_ = None if half is None else _one_plus_erf(half[1])
    return None if half is None or sum_ is None or sum_[0] is not a else [*sum_[1], half[0]]


def _half_outside(root: MulOp) -> list[PtirOp] | None:
    """`(x * (1 + erf(...))) / 2`."""
    half = times(root.result, 0.5)
    product = None if half is None else made_by(half[1], MulOp)
    if product is None:
        return None
    for x, y in ((product.lhs, product.rhs), (product.rhs, product.lhs)):
        sum_ = _one_plus_erf(y)
        if sum_ is not None and sum_[0] is x:
            return [*sum_[1], product]
    return None


def _one_plus_erf(value: SSAValue) -> Part | None:
    """x of `1 + erf(x / sqrt 2)`."""
    sum_ = made_by(value, AddOp)
    if sum_ is None:
        return None
    for x, one in ((sum_.lhs, sum_.rhs), (sum_.rhs, sum_.lhs)):
        erf = made_by(x, ErfOp) if is_all(one, 1) else None
        scaled = None if erf is None else times(erf.x, sqrt(0.5))
        if erf is not None and scaled is not None:
            return scaled[1], [scaled[0], erf, sum_]
    return None
