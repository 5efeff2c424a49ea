"""
The derivatives of what works at each place by itself.

The Jacobian of such an op is diagonal, and a diagonal matrix is its own transpose. So one function of the op and a vector `v`
serves both modes: with the adjoint of the result it gives that of the operand, with the tangent of the operand what that one
contributes to the tangent of the result. Where a function has a kink, those that tie share `v` equally: half for each of
`maximum(x, x)`, 0 for `abs(0)`, which is what central differences give. NaN comes out only where the derivative is not finite.

Complex numbers are pairs of real ones, and an adjoint `g` of `z` pairs with a tangent `t` as the real part of `g t`, without
conjugation. So the rule of a holomorphic function is that of the real one, and the gradient of a real loss by `z = x + iy` is
`dl/dx - i dl/dy`, which is JAX's convention; its conjugate points uphill.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log, pi, sqrt
from typing import Any

from xdsl.ir import Operation, SSAValue

from mind_dialect import ptir
from mind_dialect.ptir.types import Kind, part_of

from ...ptir.building import uniform
from ...ptir.construct import add, cast, compare, div, elementwise, full, make, mul, neg, scale, spec, sub, typed, where
from ..rules import Rules, Tangent, Value, linear
from ..walks import FLAT, Forward, ForwardRow, Row, WholeForward
from .shared import zeros
from .trigamma import trigamma

TIES = {"greater": "less", "less": "greater"}
"""The comparison under which the second of two operands takes all, for that under which the first does."""


def part(v: Value, kind: str, a: Value, b: Value) -> Value:
    """`v` where `a kind b`, half of it where they are equal, else 0."""
    return where(compare(kind, a, b), v, where(compare("equal", a, b), scale(v, 0.5), zeros(v)))


def extreme(kind: str) -> Rules:
    """Of what gives `lhs` where `lhs kind rhs`, else `rhs`."""
    return (
        lambda op, v: part(v, kind, op.lhs, op.rhs),
        lambda op, v: part(v, TIES[kind], op.lhs, op.rhs),
    )


def clamp_hi(op: ptir.ClampOp, v: SSAValue) -> Value:
    return part(v, "greater", elementwise(ptir.MaximumOp, op.x, op.lo), op.hi)


def tanh(op: ptir.TanhOp, v: SSAValue) -> Value:
    """`v (1 - y^2)`."""
    return sub(v, mul(mul(v, op.result), op.result))


def logistic(op: ptir.LogisticOp, v: SSAValue) -> Value:
    """`v y (1 - y)`."""
    y = mul(v, op.result)
    return sub(y, mul(y, op.result))


def erf(op: ptir.ErfOp, v: SSAValue) -> Value:
    """`v 2 / sqrt(pi) exp(-x^2)`, with the factor inside the exponential."""
    return mul(v, make(ptir.ExpOp, sub(full(log(2 / sqrt(pi)), op.x), mul(op.x, op.x))))


def pow_lhs(op: ptir.PowOp, v: SSAValue) -> Value:
    """`v b a^(b - 1)`; of `0^0` the derivative is 0, so b - 1 = -1 gives way to a power that is finite at 0."""
    one = full(1.0, op.rhs)
    exponent: Value = sub(op.rhs, one)
    if uniform(op.rhs) in (None, 0):
        zero = zeros(op.rhs)
        both = elementwise(ptir.AndOp, compare("equal", op.lhs, zero), compare("equal", op.rhs, zero))
        exponent = where(both, one, exponent)
    return mul(mul(v, op.rhs), elementwise(ptir.PowOp, op.lhs, exponent))


def pow_rhs(op: ptir.PowOp, v: SSAValue) -> Value:
    """`v y log(a)`; `0^b` is 0 for all positive b, so its derivative is 0: of a zero, log(1) is taken."""
    one = full(1.0, op.lhs)
    base = where(compare("equal", op.lhs, zeros(op.lhs)), one, op.lhs)
    return mul(mul(v, op.result), make(ptir.LogOp, base))


def remainder_rhs(op: ptir.RemainderOp, v: SSAValue) -> Value:
    """`-v` times the quotient truncated, of which `a - y` is the multiple; rounded, as the division need not be exact."""
    return neg(mul(v, make(ptir.RoundOp, div(sub(op.lhs, op.result), op.rhs))))


def unit(z: Value, size: Value) -> Value:
    """`conj(z) / |z|`, 0 at 0: what the derivative of the magnitude multiplies with."""
    one = where(compare("equal", size, zeros(size)), full(1.0, size), size)
    return div(make(ptir.ConjOp, z), cast(one, spec(z).dtype))


def is_complex(x: Value) -> bool:
    return spec(x).dtype.kind is Kind.COMPLEX


def abs_x(op: ptir.AbsOp, g: SSAValue) -> Value:
    """Of real numbers `g sign(x)`, of complex ones `g conj(x) / |x|`; 0 at 0."""
    if is_complex(op.x):
        return mul(cast(g, spec(op.x).dtype), unit(op.x, op.result))
    return mul(g, make(ptir.SignOp, op.x))


def abs_tangent(op: ptir.AbsOp, ts: Sequence[SSAValue | None]) -> Value:
    """The part of the tangent along `x`."""
    (t,) = ts
    assert t is not None
    return cast(mul(t, unit(op.x, op.result)), spec(op.result).dtype) if is_complex(op.x) else abs_x(op, t)


def sign_rules(op: ptir.SignOp) -> Rules:
    """Of real numbers flat; of complex ones `(g - re(g y) conj(y)) / |x|`, what is not along `x`."""
    return (sign_x if is_complex(op.x) else None,)


def sign_x(op: ptir.SignOp, g: SSAValue) -> Value:
    along = cast(mul(g, op.result), part_of(spec(g).dtype))
    return over_size(op, sub(g, mul(cast(along, spec(g).dtype), make(ptir.ConjOp, op.result))))


def sign_tangent(walk: Forward, op: ptir.SignOp, ts: Sequence[SSAValue | None]) -> Sequence[Value | None]:
    """`(t - re(t conj(y)) y) / |x|`."""
    (t,) = ts
    if t is None or not is_complex(op.x):
        return (None,)
    along = cast(mul(t, make(ptir.ConjOp, op.result)), part_of(spec(t).dtype))
    return (over_size(op, sub(t, mul(cast(along, spec(t).dtype), op.result))),)


def over_size(op: ptir.SignOp, v: Value) -> Value:
    """`v / |x|`, 0 at 0."""
    dtype, shape = spec(op.x)
    size = make(ptir.AbsOp, op.x, type=typed(part_of(dtype), shape))
    at_zero = compare("equal", size, zeros(size))
    return where(at_zero, zeros(v), div(v, cast(where(at_zero, full(1.0, size), size), dtype)))


def complex_tangent(op: ptir.ComplexOp, ts: Sequence[SSAValue | None]) -> Value:
    """The tangents as parts, zeros for what does not vary."""
    parts = [zeros(x) if t is None else t for x, t in zip(op.operands, ts, strict=True)]
    return make(ptir.ComplexOp, *parts, type=op.result.type)


def imag_x(op: ptir.ImagOp, g: SSAValue) -> Value:
    """`-i g`."""
    return make(ptir.ComplexOp, zeros(g), neg(g), type=typed(spec(op.x).dtype, spec(g).shape))


def complex_imag(op: ptir.ComplexOp, g: SSAValue) -> Value:
    """The real part of `i g`."""
    return neg(make(ptir.ImagOp, g, type=typed(spec(op.rhs).dtype, spec(g).shape)))


def identity(op: Operation, v: SSAValue) -> Value:
    return v


def atan2_lhs(op: ptir.Atan2Op, v: SSAValue) -> Value:
    """`v x / (x^2 + y^2)` of the point (x, y), whose ordinate is the first operand."""
    return div(mul(v, op.rhs), add(mul(op.lhs, op.lhs), mul(op.rhs, op.rhs)))


def atan2_rhs(op: ptir.Atan2Op, v: SSAValue) -> Value:
    """`-v y / (x^2 + y^2)`."""
    return neg(div(mul(v, op.lhs), add(mul(op.lhs, op.lhs), mul(op.rhs, op.rhs))))


def erf_inv(op: ptir.ErfInvOp, v: SSAValue) -> Value:
    """`v sqrt(pi) / 2 exp(y^2)`, with the factor inside the exponential."""
    return mul(v, make(ptir.ExpOp, add(mul(op.result, op.result), full(log(sqrt(pi) / 2), op.x))))


DIAGONAL: dict[type[Operation], Rules] = {
    ptir.NegOp: (lambda op, v: neg(v),),
    ptir.ExpOp: (lambda op, v: mul(v, op.result),),
    ptir.LogOp: (lambda op, v: div(v, op.x),),
    ptir.TanhOp: (tanh,),
    ptir.ErfOp: (erf,),
    ptir.RsqrtOp: (lambda op, v: mul(scale(v, -0.5), div(op.result, op.x)),),
    ptir.ReciprocalOp: (lambda op, v: neg(mul(mul(v, op.result), op.result)),),
    ptir.AddOp: (identity, identity),
    ptir.SubOp: (identity, lambda op, v: neg(v)),
    ptir.MulOp: (lambda op, v: mul(v, op.rhs), lambda op, v: mul(v, op.lhs)),
    ptir.DivOp: (lambda op, v: div(v, op.rhs), lambda op, v: neg(mul(div(v, op.rhs), op.result))),
    ptir.MaximumOp: extreme("greater"),
    ptir.MinimumOp: extreme("less"),
    ptir.ClampOp: (
        lambda op, v: part(part(v, "greater", op.x, op.lo), "less", op.x, op.hi),
        lambda op, v: part(part(v, "less", op.x, op.lo), "less", op.lo, op.hi),
        clamp_hi,
    ),
    ptir.SqrtOp: (lambda op, v: div(scale(v, 0.5), op.result),),
    ptir.SinOp: (lambda op, v: mul(v, make(ptir.CosOp, op.x)),),
    ptir.CosOp: (lambda op, v: neg(mul(v, make(ptir.SinOp, op.x))),),
    ptir.LogisticOp: (logistic,),
    ptir.Expm1Op: (lambda op, v: mul(v, make(ptir.ExpOp, op.x)),),
    ptir.Log1pOp: (lambda op, v: div(v, add(op.x, full(1.0, op.x))),),
    ptir.PowOp: (pow_lhs, pow_rhs),
    ptir.RemainderOp: (identity, remainder_rhs),
    ptir.Atan2Op: (atan2_lhs, atan2_rhs),
    ptir.CbrtOp: (lambda op, v: div(scale(v, 1 / 3), mul(op.result, op.result)),),
    ptir.ErfInvOp: (erf_inv,),
    ptir.LgammaOp: (lambda op, v: mul(v, make(ptir.DigammaOp, op.x)),),
    ptir.DigammaOp: (lambda op, v: mul(v, trigamma(op.x)),),
}
"""Op class -> one rule per operand, for both modes."""

FLAT_OPS: dict[type[Operation], Rules] = {
    ptir.ConstantOp: (),
    ptir.CompareOp: (None, None),
    ptir.StopGradientOp: (None,),
    ptir.FloorOp: (None,),
    ptir.CeilOp: (None,),
    ptir.RoundOp: (None,),
    ptir.RoundAwayOp: (None,),
    ptir.PopcountOp: (None,),
    ptir.CountLeadingZerosOp: (None,),
    ptir.NotOp: (None,),
    ptir.AndOp: (None, None),
    ptir.OrOp: (None, None),
    ptir.XorOp: (None, None),
    ptir.ShiftLeftOp: (None, None),
    ptir.ShiftRightArithmeticOp: (None, None),
    ptir.ShiftRightLogicalOp: (None, None),
    ptir.BitcastOp: (None,),
    ptir.TruncateOp: (None,),
}
"""Ops with a derivative of zero: steps, integers, bits, and `stop_gradient`."""


def sum_of_contributions(rules: Rules) -> Tangent:
    """The tangent that the operands which vary give together."""

    def tangent(op: Any, ts: Sequence[SSAValue | None]) -> Value:
        parts = [rule(op, t) for rule, t in zip(rules, ts, strict=True) if rule is not None and t is not None]
        total = parts[0]
        for more in parts[1:]:
            total = add(total, more)
        return total

    return tangent


def select_tangent(op: ptir.SelectOp, ts: Sequence[SSAValue | None]) -> Value:
    """The tangent of what was selected."""
    _, on_true, on_false = ts
    return where(op.pred, zeros(op.result) if on_true is None else on_true, zeros(op.result) if on_false is None else on_false)


REVERSE: dict[type[Operation], Row] = {
    **DIAGONAL,
    **FLAT_OPS,
    ptir.SelectOp: (
        None,
        lambda op, g: where(op.pred, g, zeros(g)),
        lambda op, g: where(op.pred, zeros(g), g),
    ),
    ptir.CastOp: (lambda op, g: cast(g, spec(op.x).dtype),),
    ptir.AbsOp: (abs_x,),
    ptir.SignOp: sign_rules,
    ptir.RealOp: (lambda op, g: cast(g, spec(op.x).dtype),),
    ptir.ImagOp: (imag_x,),
    ptir.ComplexOp: (lambda op, g: cast(g, spec(op.lhs).dtype), complex_imag),
    ptir.ConjOp: (lambda op, g: make(ptir.ConjOp, g),),
}
FORWARD: dict[type[Operation], ForwardRow] = {
    **{op: sum_of_contributions(rules) for op, rules in DIAGONAL.items()},
    **dict.fromkeys(FLAT_OPS, FLAT),
    ptir.SelectOp: select_tangent,
    ptir.CastOp: linear(0),
    ptir.AbsOp: abs_tangent,
    ptir.SignOp: WholeForward(sign_tangent),
    ptir.RealOp: linear(0),
    ptir.ImagOp: linear(0),
    ptir.ComplexOp: complex_tangent,
    ptir.ConjOp: linear(0),
}
