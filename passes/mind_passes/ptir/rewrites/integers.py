"""Constants of integers joined: addition and multiplication that wrap, and bitwise ops, are associative; floats are not."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from xdsl.ir import SSAValue

from mind_dialect.ptir import AddOp, AndOp, MulOp, OrOp, PtirOp, SubOp, XorOp
from mind_dialect.ptir.types import Kind, PtirDType

from ..building import Found, fill, in_place_of, spec_of, uniform

INTEGERS = (Kind.SIGNED, Kind.UNSIGNED)

JOINS: dict[type[PtirOp], Callable[[int, int], int]] = {
    MulOp: lambda a, b: a * b,
    AndOp: lambda a, b: a & b,
    OrOp: lambda a, b: a | b,
    XorOp: lambda a, b: a ^ b,
}


def _wrapped(value: int, dtype: PtirDType) -> int:
    """The number of the dtype that has the low bits of `value`."""
    low = value & ((1 << dtype.bits) - 1)
    return low - (1 << dtype.bits) if dtype.kind is Kind.SIGNED and low >> (dtype.bits - 1) else low


def _integer(value: SSAValue) -> int | None:
    """The integer that is everywhere in `value`, if one is known."""
    return cast("int | None", uniform(value)) if spec_of(value).dtype.kind in INTEGERS else None


def _shape(op: PtirOp) -> tuple[int, ...] | None:
    spec = spec_of(op.results[0])
    return cast(tuple[int, ...], spec.shape) if spec.is_static else None


def reassociate(op: PtirOp) -> Found:
    """`(x * c) * d = x * (c * d)`, for integers, which wrap, and so for bitwise ops; the new constant needs a static shape."""
    shape, outer = _shape(op), _with_constant(op)
    if shape is None or outer is None:
        return None
    inner = outer[0].owner
    if type(inner) is not type(op) or (found := _with_constant(cast(PtirOp, inner))) is None:
        return None
    dtype = spec_of(op.results[0]).dtype
    joined = _wrapped(JOINS[type(op)](found[1], outer[1]), dtype)
    return in_place_of(op, type(op), found[0], fill(op, dtype, shape, joined).result)


def _with_constant(op: PtirOp) -> tuple[SSAValue, int] | None:
    """The operand of a commutative op that is no constant, and the constant that the other is."""
    lhs, rhs = op.operands
    for x, c in ((lhs, rhs), (rhs, lhs)):
        if (number := _integer(c)) is not None:
            return x, number
    return None


def sum_of_constants(op: AddOp | SubOp) -> Found:
    """`(x + c) + d = x + (c + d)`, `(c - x) - d = (c - d) - x` and their like, for integers, which wrap; static shapes."""
    shape, outer = _shape(op), _linear(op)
    if shape is None or outer is None:
        return None
    owner = outer[1].owner
    inner = _linear(owner) if isinstance(owner, AddOp | SubOp) else None
    if inner is None:
        return None
    (outer_sign, _, d), (sign, x, c) = outer, inner
    dtype = spec_of(op.result).dtype
    joined = fill(op, dtype, shape, _wrapped(outer_sign * c + d, dtype)).result
    return in_place_of(op, AddOp, x, joined) if outer_sign * sign > 0 else in_place_of(op, SubOp, joined, x)


def _linear(op: AddOp | SubOp) -> tuple[int, SSAValue, int] | None:
    """The sign, value and constant of `x + c`, `x - c` or `c - x`."""
    sign = 1 if isinstance(op, AddOp) else -1
    if (c := _integer(op.rhs)) is not None:
        return 1, op.lhs, sign * c
    c = _integer(op.lhs)
    return None if c is None else (sign, op.rhs, c)
