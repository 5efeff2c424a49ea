"""What is computed at each place by itself."""

from __future__ import annotations

import numpy as np
from xdsl.ir import Operation, SSAValue

from mind_dialect.ptir import (
    AbsOp,
    AddOp,
    AndOp,
    Atan2Op,
    BitcastOp,
    CastOp,
    CbrtOp,
    CeilOp,
    ClampOp,
    CompareOp,
    ConstantOp,
    CosOp,
    CountLeadingZerosOp,
    DigammaOp,
    DivOp,
    ErfInvOp,
    ErfOp,
    Expm1Op,
    ExpOp,
    FloorOp,
    LgammaOp,
    Log1pOp,
    LogisticOp,
    LogOp,
    MaximumOp,
    MinimumOp,
    MulOp,
    NegOp,
    NotOp,
    OrOp,
    PopcountOp,
    PowOp,
    ReciprocalOp,
    RemainderOp,
    RoundAwayOp,
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
    TruncateOp,
    XorOp,
)
from mind_passes.ptir.construct import add, cast, compare, filled, full, mul, spec, where

from .base import R, Row, away_from_zero, between, distinct, normal, positive

MASK = [[True, False, True], [False, False, True]]


def by_sign_bit(x: SSAValue) -> Operation:
    """`x^2` where the sign bit is set, else `x`: no gradient flows through bits."""
    bits = BitcastOp(x, dtype=f"si{spec(x).dtype.bits}")
    return where(compare("less", bits, full(0, bits)), mul(x, x), x)


def far_from_whole(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Numbers that floor, ceil and round leave in their step."""
    return rng.integers(-3, 3, shape) + rng.choice([0.25, 0.75], shape) + rng.uniform(-0.1, 0.1, shape)


UNARY: list[Row] = [
    R(NegOp, "f64[2,3]", jax=lambda jax, x: -x),
    R(AbsOp, "f64[2,3]", domain=away_from_zero, jax=lambda jax, x: abs(x)),
    R(ExpOp, "f64[2,3]", jax=lambda jax, x: jax.numpy.exp(x)),
    R(LogOp, "f64[2,3]", domain=positive, jax=lambda jax, x: jax.numpy.log(x)),
    R(TanhOp, "f64[2,3]", jax=lambda jax, x: jax.numpy.tanh(x)),
    R(ErfOp, "f64[2,3]", jax=lambda jax, x: jax.scipy.special.erf(x)),
    R(RsqrtOp, "f64[2,3]", domain=positive, jax=lambda jax, x: jax.lax.rsqrt(x)),
    R(ReciprocalOp, "f64[2,3]", domain=away_from_zero, jax=lambda jax, x: 1 / x),
    R(SqrtOp, "f64[2,3]", domain=positive, jax=lambda jax, x: jax.numpy.sqrt(x)),
    R(SinOp, "f64[2,3]", jax=lambda jax, x: jax.numpy.sin(x)),
    R(CosOp, "f64[2,3]", jax=lambda jax, x: jax.numpy.cos(x)),
    R(LogisticOp, "f64[2,3]", jax=lambda jax, x: jax.nn.sigmoid(x)),
    R(Expm1Op, "f64[2,3]", jax=lambda jax, x: jax.numpy.expm1(x)),
    R(Log1pOp, "f64[2,3]", domain=between(-0.5, 2), jax=lambda jax, x: jax.numpy.log1p(x)),
    R(FloorOp, "f64[2,3]", domain=far_from_whole, jax=lambda jax, x: jax.numpy.floor(x)),
    R(CeilOp, "f64[2,3]", domain=far_from_whole, jax=lambda jax, x: jax.numpy.ceil(x)),
    R(RoundOp, "f64[2,3]", domain=far_from_whole, jax=lambda jax, x: jax.numpy.round(x)),
    R(RoundAwayOp, "f64[2,3]", domain=far_from_whole),
    R(CbrtOp, "f64[2,3]", domain=away_from_zero, jax=lambda jax, x: jax.numpy.cbrt(x)),
    R(ErfInvOp, "f64[2,3]", domain=between(-0.7, 0.7), jax=lambda jax, x: jax.scipy.special.erfinv(x)),
    R(LgammaOp, "f64[2,3]", domain=positive, jax=lambda jax, x: jax.scipy.special.gammaln(x)),
    R(DigammaOp, "f64[2,3]", domain=positive, jax=lambda jax, x: jax.scipy.special.digamma(x)),
    R(DigammaOp, "f64[4]", data={0: [-0.5, -1.25, -3.75, 12.0]}, jax=lambda jax, x: jax.scipy.special.digamma(x)),
    R(
        Atan2Op,
        "f64[2,3] f64[2,3]",
        domain=away_from_zero,
        jax=lambda jax, y, x: jax.numpy.arctan2(y, x),
    ),
    R(
        PopcountOp,
        "f64[3] si64[3]",
        data={1: [0, 3, -1]},
        build=lambda x, n: mul(x, cast(PopcountOp(n), spec(x).dtype)),
    ),
    R(
        CountLeadingZerosOp,
        "f64[3] si64[3]",
        data={1: [0, 3, -1]},
        build=lambda x, n: mul(x, cast(CountLeadingZerosOp(n), spec(x).dtype)),
    ),
    R(SignOp, "f64[2,3]", domain=away_from_zero, jax=lambda jax, x: jax.numpy.sign(x)),
    # Special shapes: of one function with a derivative in terms of its result, one in terms of its operand.
    *(R(op, f"f64[{shape}]") for op in (TanhOp, SinOp) for shape in ("", "0", "1,1", "2,0")),
    R(ErfOp, "f64[B,3]", extents={"B": 2}),
]

BINARY: list[Row] = [
    R(AddOp, "f64[2,3] f64[2,3]", jax=lambda jax, a, b: a + b),
    R(SubOp, "f64[2,3] f64[2,3]", jax=lambda jax, a, b: a - b),
    R(MulOp, "f64[2,3] f64[2,3]", jax=lambda jax, a, b: a * b),
    R(DivOp, "f64[2,3] f64[2,3]", domain=(normal, away_from_zero), jax=lambda jax, a, b: a / b),
    R(MaximumOp, "f64[2,3] f64[2,3]", domain=distinct, jax=lambda jax, a, b: jax.numpy.maximum(a, b)),
    R(MinimumOp, "f64[2,3] f64[2,3]", domain=distinct, jax=lambda jax, a, b: jax.numpy.minimum(a, b)),
    R(PowOp, "f64[2,3] f64[2,3]", domain=(positive, normal), jax=lambda jax, a, b: a**b),
    R(PowOp, "f64[2]", build=lambda x: PowOp(x, full(3.0, x)), jax=lambda jax, x: x**3),
    R(
        RemainderOp,
        "f64[6] f64[6]",
        data={0: [5.3, -5.3, 5.3, -5.3, 0.4, 7.1], 1: [2.0, 2.0, -2.0, -2.0, 3.0, 0.7]},
        jax=lambda jax, a, b: jax.lax.rem(a, b),
    ),
    *(R(op, f"f64[{shape}] f64[{shape}]") for op in (SubOp, MulOp) for shape in ("", "0", "1,1", "2,0")),
    R(DivOp, "f64[] f64[]", domain=away_from_zero),
    R(MaximumOp, "f64[0,2] f64[0,2]"),
    # Each operand knows another dimension.
    *(R(op, "f64[B,3] f64[2,T]", extents={"B": 2, "T": 3}, domain=positive) for op in (MulOp, DivOp, PowOp)),
    R(MinimumOp, "f64[B,3] f64[2,T]", extents={"B": 2, "T": 3}, domain=distinct),
    R(AddOp, "f64[2]", build=lambda x: AddOp(x, x), jax=lambda jax, x: x + x),
]

OTHERS: list[Row] = [
    R(ConstantOp, "f64[2]", build=lambda x: mul(x, full(3.0, x)), jax=lambda jax, x: 3 * x),
    R(ConstantOp, "f64[3]", build=lambda x: filled(3.0, spec(x).dtype, (2,)), smooth=False),
    R(
        SelectOp,
        "i1[2,3] f64[2,3] f64[2,3]",
        data={0: MASK},
        jax=lambda jax, p, a, b: jax.numpy.where(p, a, b),
    ),
    R(SelectOp, "i1[] f64[] f64[]", data={0: True}),
    R(SelectOp, "i1[B] f64[2] f64[T]", data={0: [True, False]}, extents={"B": 2, "T": 2}),
    R(CompareOp, "f64[2,3] f64[2,3]", domain=distinct, build=lambda a, b: where(compare("less", a, b), mul(a, a), b)),
    R(CastOp, "f64[2,3]", dtype="f64", jax=lambda jax, x: x),
    R(
        CastOp,
        "f64[2,3]",
        domain=far_from_whole,
        build=lambda x: add(x, cast(CastOp(x, dtype="si32"), spec(x).dtype)),
        smooth=False,
    ),
    R(StopGradientOp, "f64[2,3]", build=lambda x: mul(x, StopGradientOp(full(2.0, x)))),
    R(
        ClampOp,
        "f64[6] f64[6] f64[6]",
        data={0: [0.5, -2, 2, 0.1, 0.5, 3], 1: [0, -1, -1, -1, 1, 1], 2: [1, 1, 1, 0.3, 0, 0]},
        jax=lambda jax, x, lo, hi: jax.numpy.minimum(jax.numpy.maximum(x, lo), hi),
    ),
    R(ClampOp, "f64[4]", domain=distinct, build=lambda x: ClampOp(x, full(-1.1, x), full(0.9, x))),
    *(
        R(op, "i1[2,3] i1[2,3] f64[2,3]", data={0: MASK, 1: MASK[::-1]}, build=build)
        for op, build in (
            (AndOp, lambda p, q, x: where(AndOp(p, q), x, mul(x, x))),
            (OrOp, lambda p, q, x: where(OrOp(p, q), x, mul(x, x))),
            (XorOp, lambda p, q, x: where(XorOp(p, q), x, mul(x, x))),
        )
    ),
    R(BitcastOp, "f64[2,3]", domain=away_from_zero, build=by_sign_bit),
    R(
        TruncateOp,
        "f64[2,3] si64[2,3]",
        data={1: [[1, 2, 300], [-1, 0, 7]]},
        build=lambda x, n: mul(x, cast(TruncateOp(n, dtype="si8"), spec(x).dtype)),
    ),
    R(NotOp, "i1[2,3] f64[2,3]", data={0: MASK}, build=lambda p, x: where(NotOp(p), x, mul(x, x))),
    *(
        R(op, "si32[2] si32[2] f64[2]", data={0: [5, -9], 1: [1, 2]}, build=build)
        for op, build in (
            (ShiftLeftOp, lambda i, j, x: mul(x, cast(ShiftLeftOp(i, j), spec(x).dtype))),
            (ShiftRightArithmeticOp, lambda i, j, x: mul(x, cast(ShiftRightArithmeticOp(i, j), spec(x).dtype))),
            (ShiftRightLogicalOp, lambda i, j, x: mul(x, cast(ShiftRightLogicalOp(i, j), spec(x).dtype))),
        )
    ),
]

ROWS: list[Row] = [*UNARY, *BINARY, *OTHERS]
