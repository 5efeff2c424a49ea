"""
GELU: `x / 2 * (1 + erf(x / sqrt 2))`, with the half wherever builders put it.

With `tanh(sqrt(2 / pi) (x + 0.044715 x^3))` for the error function it is the common approximation, which is another function and
has a name of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from math import pi, sqrt

from xdsl.ir import SSAValue

from mind_dialect.ptir import AddOp, ErfOp, MulOp, PowOp, PtirOp, TanhOp

from ..building import is_all
from .matching import Match, fused, is_float, is_near, made_by, times

Part = tuple[SSAValue, list[PtirOp]]
"""x, and the ops between it and what was looked at."""


Curve = Callable[[SSAValue], Part | None]
"""Finds x of `erf(x / sqrt 2)`, or of what stands for it."""


def match(root: PtirOp) -> Match | None:
    """The GELU that ends in the product `root`."""
    return _match(root, _erf, "gelu")


def match_tanh(root: PtirOp) -> Match | None:
    """The approximation by tanh that ends in the product `root`."""
    return _match(root, _tanh, "gelu_tanh")


def _match(root: PtirOp, curve: Curve, name: str) -> Match | None:
    if not isinstance(root, MulOp) or not is_float(root.result):
        return None
    inside = _half_outside(root, curve)
    for a, b in ((root.lhs, root.rhs), (root.rhs, root.lhs)):
        inside = inside or _half_of_x(a, b, curve) or _half_of_sum(a, b, curve)
    return None if inside is None else Match(root, inside, fused(name))


def _half_of_x(a: SSAValue, b: SSAValue, curve: Curve) -> list[PtirOp] | None:
    """`(x / 2) * (1 + erf(...))`."""
    half, sum_ = times(a, 0.5), _one_plus(b, curve)
    return None if half is None or sum_ is None or half[1] is not sum_[0] else [half[0], *sum_[1]]


def _half_of_sum(a: SSAValue, b: SSAValue, curve: Curve) -> list[PtirOp] | None:
    """`x * ((1 + erf(...)) / 2)`."""
    half = times(b, 0.5)
    sum_ = None if half is None else _one_plus(half[1], curve)
    return None if half is None or sum_ is None or sum_[0] is not a else [*sum_[1], half[0]]


def _half_outside(root: MulOp, curve: Curve) -> list[PtirOp] | None:
    """`(x * (1 + erf(...))) / 2`."""
    half = times(root.result, 0.5)
    product = None if half is None else made_by(half[1], MulOp)
    if product is None:
        return None
    for x, y in ((product.lhs, product.rhs), (product.rhs, product.lhs)):
        sum_ = _one_plus(y, curve)
        if sum_ is not None and sum_[0] is x:
            return [*sum_[1], product]
    return None


def _one_plus(value: SSAValue, curve: Curve) -> Part | None:
    """x of `1 + curve(x)`."""
    sum_ = made_by(value, AddOp)
    if sum_ is None:
        return None
    for y, one in ((sum_.lhs, sum_.rhs), (sum_.rhs, sum_.lhs)):
        found = curve(y) if is_all(one, 1) else None
        if found is not None:
            return found[0], [*found[1], sum_]
    return None


def _erf(value: SSAValue) -> Part | None:
    """x of `erf(x / sqrt 2)`."""
    erf = made_by(value, ErfOp)
    scaled = None if erf is None else times(erf.x, sqrt(0.5))
    return None if erf is None or scaled is None else (scaled[1], [scaled[0], erf])


def _tanh(value: SSAValue) -> Part | None:
    """x of `tanh(sqrt(2 / pi) (x + 0.044715 x^3))`."""
    tanh = made_by(value, TanhOp)
    scaled = None if tanh is None else times(tanh.x, sqrt(2 / pi))
    sum_ = None if scaled is None else made_by(scaled[1], AddOp)
    if tanh is None or scaled is None or sum_ is None:
        return None
    for x, cubic in ((sum_.lhs, sum_.rhs), (sum_.rhs, sum_.lhs)):
        inside: list[PtirOp] = []
        if sorted(_factors(cubic, x, inside, 4)) == ["c", "x", "x", "x"]:
            return x, [*dict.fromkeys(inside), sum_, scaled[0], tanh]
    return None


def _factors(value: SSAValue, x: SSAValue, inside: list[PtirOp], depth: int) -> list[str]:
    """
    Return the factors of a product: x, the cubic's coefficient c, and others, `?`; its ops are added to `inside`, last ones last.

    At most `depth` products deep. A power counts as so many factors.
    """
    op = value.owner
    if value is x:
        return ["x"]
    if is_near(value, 0.044715):
        return ["c"]
    found = ["?"]
    if isinstance(op, MulOp) and depth:
        found = [*_factors(op.lhs, x, inside, depth - 1), *_factors(op.rhs, x, inside, depth - 1)]
    elif isinstance(op, PowOp) and op.lhs is x:
        found = ["x"] * next((n for n in (2, 3) if is_all(op.rhs, n)), 0) or ["?"]
    if isinstance(op, PtirOp):
        inside.append(op)
    return found
