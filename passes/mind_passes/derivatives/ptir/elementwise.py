"""
The derivatives of what works at each place by itself.

The Jacobian of such an op is diagonal, and a diagonal matrix is its own transpose. So one function of the op and a vector `v`
serves both modes: with the adjoint of the result it gives that of the operand, with the tangent of the operand what that one
contributes to the tangent of the result. Where a function has a kink, those that tie share `v` equally: half for each of
`maximum(x, x)`, 0 for `abs(0)`, which is what central differences give. NaN comes out only where the derivative is not finite.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log, pi, sqrt
from typing import Any

from xdsl.ir import Operation, SSAValue

from mind_dialect.ptir import (
    AbsOp,
    AddOp,
    AndOp,
    CastOp,
    CeilOp,
    ClampOp,
    CompareOp,
    ConstantOp,
    CosOp,
    DivOp,
    ErfOp,
    Expm1Op,
    ExpOp,
    FloorOp,
    Log1pOp,
    LogisticOp,
    LogOp,
    MaximumOp,
    MinimumOp,
    MulOp,
    NegOp,
    NotOp,
    OrOp,
    PowOp,
    ReciprocalOp,
    RemainderOp,
    RoundOp,
    RsqrtOp,
    SelectOp,
    ShiftLeftOp,
    ShiftRightArithmeticOp,
    ShiftRightLogicalOp,
    SignOp,
    SinOp,
    SqrtOp,
    StopGradientOp,
    SubOp,
    TanhOp,
    XorOp,
)

from ...ptir.building import uniform
from ...ptir.construct import add, cast, compare, div, elementwise, full, make, mul, neg, scale, spec, sub, where
from ..rules import FLAT, ForwardRow, Row, Rules, Tangent, Value, linear

TIES = {"greater": "less", "less": "greater"}
"""The comparison under which the second of two operands takes all, for that under which the first does."""


def zeros(like: Value) -> Value:
    return full(0.0, like)


def part(v: Value, kind: str, a: Value, b: Value) -> Value:
    """`v` where `a kind b`, half of it where they are equal, else 0."""
    return where(compare(kind, a, b), v, where(compare("equal", a, b), scale(v, 0.5), zeros(v)))


def extreme(kind: str) -> Rules:
    """Of what gives `lhs` where `lhs kind rhs`, else `rhs`."""
    return (
        lambda op, v: part(v, kind, op.lhs, op.rhs),
        lambda op, v: part(v, TIES[kind], op.lhs, op.rhs),
    )


def clamp_hi(op: ClampOp, v: SSAValue) -> Value:
    return part(v, "greater", elementwise(MaximumOp, op.x, op.lo), op.hi)


def tanh(op: TanhOp, v: SSAValue) -> Value:
    """`v (1 - y^2)`."""
    return sub(v, mul(mul(v, op.result), op.result))


def logistic(op: LogisticOp, v: SSAValue) -> Value:
    """`v y (1 - y)`."""
    y = mul(v, op.result)
    return sub(y, mul(y, op.result))


def erf(op: ErfOp, v: SSAValue) -> Value:
    """`v 2 / sqrt(pi) exp(-x^2)`, with the factor inside the exponential."""
    return mul(v, make(ExpOp, sub(full(log(2 / sqrt(pi)), op.x), mul(op.x, op.x))))


def pow_lhs(op: PowOp, v: SSAValue) -> Value:
    """`v b a^(b - 1)`; of `0^0` the derivative is 0, so b - 1 = -1 gives way to a power that is finite at 0."""
    one = full(1.0, op.rhs)
    exponent: Value = sub(op.rhs, one)
    if uniform(op.rhs) in (None, 0):
        zero = zeros(op.rhs)
        both = elementwise(AndOp, compare("equal", op.lhs, zero), compare("equal", op.rhs, zero))
        exponent = where(both, one, exponent)
    return mul(mul(v, op.rhs), elementwise(PowOp, op.lhs, exponent))


def pow_rhs(op: PowOp, v: SSAValue) -> Value:
    """`v y log(a)`; `0^b` is 0 for all positive b, so its derivative is 0: of a zero, log(1) is taken."""
    one = full(1.0, op.lhs)
    base = where(compare("equal", op.lhs, zeros(op.lhs)), one, op.lhs)
    return mul(mul(v, op.result), make(LogOp, base))


def remainder_rhs(op: RemainderOp, v: SSAValue) -> Value:
    """`-v` times the quotient truncated, of which `a - y` is the multiple; rounded, as the division need not be exact."""
    return neg(mul(v, make(RoundOp, div(sub(op.lhs, op.result), op.rhs))))


def identity(op: Operation, v: SSAValue) -> Value:
    return v


DIAGONAL: dict[type[Operation], Rules] = {
    NegOp: (lambda op, v: neg(v),),
    AbsOp: (lambda op, v: mul(v, make(SignOp, op.x)),),
    ExpOp: (lambda op, v: mul(v, op.result),),
    LogOp: (lambda op, v: div(v, op.x),),
    TanhOp: (tanh,),
    ErfOp: (erf,),
    RsqrtOp: (lambda op, v: mul(scale(v, -0.5), div(op.result, op.x)),),
    ReciprocalOp: (lambda op, v: neg(mul(mul(v, op.result), op.result)),),
    AddOp: (identity, identity),
    SubOp: (identity, lambda op, v: neg(v)),
    MulOp: (lambda op, v: mul(v, op.rhs), lambda op, v: mul(v, op.lhs)),
    DivOp: (lambda op, v: div(v, op.rhs), lambda op, v: neg(mul(div(v, op.rhs), op.result))),
    MaximumOp: extreme("greater"),
    MinimumOp: extreme("less"),
    ClampOp: (
        lambda op, v: part(part(v, "greater", op.x, op.lo), "less", op.x, op.hi),
        lambda op, v: part(part(v, "less", op.x, op.lo), "less", op.lo, op.hi),
        clamp_hi,
    ),
    SqrtOp: (lambda op, v: div(scale(v, 0.5), op.result),),
    SinOp: (lambda op, v: mul(v, make(CosOp, op.x)),),
    CosOp: (lambda op, v: neg(mul(v, make(SinOp, op.x))),),
    LogisticOp: (logistic,),
    Expm1Op: (lambda op, v: mul(v, make(ExpOp, op.x)),),
    Log1pOp: (lambda op, v: div(v, add(op.x, full(1.0, op.x))),),
    PowOp: (pow_lhs, pow_rhs),
    RemainderOp: (identity, remainder_rhs),
}
"""Op class -> one rule per operand, for both modes."""

FLAT_OPS: dict[type[Operation], Rules] = {
    ConstantOp: (),
    CompareOp: (None, None),
    StopGradientOp: (None,),
    FloorOp: (None,),
    CeilOp: (None,),
    RoundOp: (None,),
    SignOp: (None,),
    NotOp: (None,),
    AndOp: (None, None),
    OrOp: (None, None),
    XorOp: (None, None),
    ShiftLeftOp: (None, None),
    ShiftRightArithmeticOp: (None, None),
    ShiftRightLogicalOp: (None, None),
}
"""What lets nothing through: steps, integers, and the op that says so."""


def sum_of_contributions(rules: Rules) -> Tangent:
    """The tangent that the operands which vary give together."""

    def tangent(op: Any, ts: Sequence[SSAValue | None]) -> Value:
        parts = [rule(op, t) for rule, t in zip(rules, ts, strict=True) if rule is not None and t is not None]
        total = parts[0]
        for more in parts[1:]:
            total = add(total, more)
        return total

    return tangent


def select_tangent(op: SelectOp, ts: Sequence[SSAValue | None]) -> Value:
    """The tangent of what was selected."""
    _, on_true, on_false = ts
    return where(op.pred, zeros(op.result) if on_true is None else on_true, zeros(op.result) if on_false is None else on_false)


REVERSE: dict[type[Operation], Row] = {
    **DIAGONAL,
    **FLAT_OPS,
    SelectOp: (
        None,
        lambda op, g: where(op.pred, g, zeros(g)),
        lambda op, g: where(op.pred, zeros(g), g),
    ),
    CastOp: (lambda op, g: cast(g, spec(op.x).dtype),),
}
FORWARD: dict[type[Operation], ForwardRow] = {
    **{op: sum_of_contributions(rules) for op, rules in DIAGONAL.items()},
    **dict.fromkeys(FLAT_OPS, FLAT),
    SelectOp: select_tangent,
    CastOp: linear(0),
}
