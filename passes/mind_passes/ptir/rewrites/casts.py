"""Rewrites of casts. A cast is dropped only where it loses nothing of any number of its dtype, NaN and infinities included."""

from __future__ import annotations

from typing import NamedTuple

from mind_dialect.elements import Integer
from mind_dialect.ptir import CastOp, TruncateOp
from mind_dialect.ptir.types import Kind, PtirDType, part_of

from ..building import Found, in_place_of, spec_of, stands_for


class FloatFormat(NamedTuple):
    """The numbers of a float dtype."""

    precision: int
    """Bits of significand, the leading one included."""
    least: int
    """The exponent of the smallest number."""
    limit: int
    """The exponent of the power of two beyond the greatest finite number."""


FLOATS: dict[str, FloatFormat] = {
    "fp8_e4m3": FloatFormat(4, -9, 9),
    "fp8_e5m2": FloatFormat(3, -16, 16),
    "bf16": FloatFormat(8, -133, 128),
    "f16": FloatFormat(11, -24, 16),
    "f32": FloatFormat(24, -149, 128),
    "f64": FloatFormat(53, -1074, 1024),
}


def lossless(source: PtirDType, target: PtirDType) -> bool:
    """
    Return whether `target` has every number of `source`, so that a cast between them changes nothing.

    >>> from mind_dialect.ptir.types import F16, F32, SI16, UI8
    >>> lossless(UI8, F16), lossless(SI16, F16), lossless(SI16, F32), lossless(F32, F16)
    (True, False, True, False)
    """
    if source is target or source.kind is Kind.BOOL:
        return True
    if target.kind is Kind.COMPLEX:
        return lossless(part_of(source), part_of(target))
    if source.kind is Kind.COMPLEX or target.kind is Kind.BOOL:
        return False
    if source.kind is Kind.FLOAT:
        return target.kind is Kind.FLOAT and _float_in_float(source, target)
    if target.kind is Kind.FLOAT:
        form, magnitude = FLOATS[target.name], source.bits - (source.kind is Kind.SIGNED)
        return magnitude <= form.precision and source.bits <= form.limit
    inner, outer = source.element, target.element
    assert isinstance(inner, Integer)
    assert isinstance(outer, Integer)
    return outer.least <= inner.least and inner.most <= outer.most


def _float_in_float(source: PtirDType, target: PtirDType) -> bool:
    """The one float dtype without infinities has no other's small numbers either."""
    inner, outer = FLOATS[source.name], FLOATS[target.name]
    return inner.precision <= outer.precision and inner.least >= outer.least and inner.limit <= outer.limit


def cast_same(op: CastOp) -> Found:
    """`cast(x : T) to T = x`. Always."""
    return stands_for(op.x, op)


def cast_of_cast(op: CastOp) -> Found:
    """
    `cast(cast(x, S), T) = cast(x, T)`, where S has every number of the dtype of x.

    Then the inner cast changes no number, NaN and zeros included, and what T makes of a number does not depend on its dtype.
    """
    inner = op.x.owner
    if not isinstance(inner, CastOp):
        return None
    source, middle, target = spec_of(inner.x).dtype, spec_of(inner.result).dtype, spec_of(op.result).dtype
    if not lossless(source, middle) or (source.kind is not Kind.COMPLEX) != (middle.kind is not Kind.COMPLEX):
        return None
    return in_place_of(op, CastOp, inner.x, dtype=target)


def widening_truncate(op: TruncateOp) -> Found:
    """
    `truncate(x : S) to T = cast(x) to T`, where T has every number of S.

    Nothing wraps then, and patterns of casts, such as those of bytes that are multiplied, hold for programs of doors that wrap.
    """
    source, target = spec_of(op.x).dtype, spec_of(op.result).dtype
    return in_place_of(op, CastOp, op.x, dtype=target) if lossless(source, target) else None
