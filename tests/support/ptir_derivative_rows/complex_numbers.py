"""Complex numbers: their parts, and ops of real numbers applied to them. JAX has the same convention, and is the oracle."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.ir import Operation, SSAValue

from mind_dialect.ptir import (
    AbsOp,
    AddOp,
    BroadcastToOp,
    CastOp,
    ComplexOp,
    ConcatOp,
    ConjOp,
    ConvolutionOp,
    CosOp,
    CumulativeSumOp,
    DivOp,
    DotGeneralOp,
    Expm1Op,
    ExpOp,
    GatherOp,
    ImagOp,
    Log1pOp,
    LogisticOp,
    LogOp,
    MulOp,
    NegOp,
    PadOp,
    PowOp,
    RealOp,
    ReciprocalOp,
    ReduceOp,
    ReduceWindowOp,
    RsqrtOp,
    ScanOp,
    ScatterReduceOp,
    SegmentReduceOp,
    SelectOp,
    SignOp,
    SinOp,
    SqrtOp,
    SubOp,
    TakeOp,
    TanhOp,
    TransposeOp,
)
from mind_dialect.ptir.types import DTYPES
from mind_passes.ptir.construct import mul, spec
from ptir_rows import conv, segments, window

from .base import R, Row, away_from_zero, positive

DOT = {"batch_lhs": (), "batch_rhs": (), "contract_lhs": (1,), "contract_rhs": (0,)}


def complex_of(x: SSAValue) -> Any:
    return DTYPES[f"cf{spec(x).dtype.bits}"]


def numpy(name: str) -> Callable[..., Any]:
    return lambda jax, *v: getattr(jax.numpy, name)(*v)


def widened_product(x: SSAValue, y: SSAValue) -> Operation:
    """A product of real numbers, given as complex ones."""
    product = DotGeneralOp(x, y, out_dtype=complex_of(x), **DOT)
    return mul(product, product)


def widened_sum(x: SSAValue) -> Operation:
    total = ReduceOp(x, kind="sum", axes=(0,), keepdims=False, out_dtype=complex_of(x))
    return mul(total, total)


def squared_magnitude(z: SSAValue) -> Operation:
    """`z conj(z)` by its real part: smooth, and not holomorphic."""
    return RealOp(mul(z, ConjOp(z)))


def fed_back(z: SSAValue, zs: SSAValue) -> Operation:
    return ScanOp(z, zs, carry_count=1, scan_output_count=1, body=lambda c, z: [mul(SinOp(c), z), ConjOp(c)])


PARTS: list[Row] = [
    R(RealOp, "cf64[2,3]", jax=numpy("real")),
    R(ImagOp, "cf64[2,3]", jax=numpy("imag")),
    R(ConjOp, "cf64[2,3]", jax=numpy("conj")),
    R(ComplexOp, "f64[2,3] f64[2,3]", jax=lambda jax, x, y: jax.lax.complex(x, y)),
    R(ComplexOp, "f64[2,B] f64[2,B]", extents={"B": 3}, smooth=False),
    R(AbsOp, "cf64[2,3]", domain=away_from_zero, jax=lambda jax, z: abs(z)),
    R(SignOp, "cf64[2,3]", domain=away_from_zero, jax=lambda jax, z: z / abs(z)),
    R(RealOp, "cf64[3]", build=squared_magnitude, note="of z conj z", jax=lambda jax, z: jax.numpy.real(z * jax.numpy.conj(z))),
    R(ComplexOp, "f64[3]", build=lambda x: mul(ComplexOp(x, x), ComplexOp(x, mul(x, x))), note="of one value twice"),
    R(CastOp, "f64[3]", build=lambda x: mul(CastOp(x, dtype=complex_of(x)), CastOp(x, dtype=complex_of(x))), note="to complex"),
    R(CastOp, "cf64[3]", dtype="cf64", note="of complex"),
]
HOLOMORPHIC: list[Row] = [
    R(NegOp, "cf64[2,3]", jax=lambda jax, z: -z),
    R(ExpOp, "cf64[2,3]", jax=numpy("exp")),
    R(LogOp, "cf64[2,3]", domain=positive, jax=numpy("log")),
    R(TanhOp, "cf64[2,3]", domain=positive, jax=numpy("tanh")),
    R(RsqrtOp, "cf64[2,3]", domain=positive, jax=lambda jax, z: jax.lax.rsqrt(z)),
    R(ReciprocalOp, "cf64[2,3]", domain=away_from_zero, jax=lambda jax, z: 1 / z),
    R(SqrtOp, "cf64[2,3]", domain=positive, jax=numpy("sqrt")),
    R(SinOp, "cf64[2,3]", jax=numpy("sin")),
    R(CosOp, "cf64[2,3]", jax=numpy("cos")),
    R(Expm1Op, "cf64[2,3]", jax=numpy("expm1")),
    R(Log1pOp, "cf64[2,3]", domain=positive, jax=numpy("log1p")),
    R(LogisticOp, "cf64[2,3]", domain=positive, jax=lambda jax, z: 1 / (1 + jax.numpy.exp(-z))),
    R(AddOp, "cf64[3] cf64[3]", jax=lambda jax, a, b: a + b),
    R(SubOp, "cf64[3] cf64[3]", jax=lambda jax, a, b: a - b),
    R(MulOp, "cf64[3] cf64[3]", jax=lambda jax, a, b: a * b),
    R(DivOp, "cf64[3] cf64[3]", domain=away_from_zero, jax=lambda jax, a, b: a / b),
    R(PowOp, "cf64[3] cf64[3]", domain=positive, jax=lambda jax, a, b: jax.lax.pow(a, b)),
    R(SelectOp, "i1[3] cf64[3] cf64[3]", data={0: [True, False, True]}),
]
WHOLE: list[Row] = [
    R(ReduceOp, "cf64[2,3]", kind="sum", axes=(1,), keepdims=False),
    R(ReduceOp, "f64[3]", build=widened_sum, note="to complex"),
    R(DotGeneralOp, "cf64[2,3] cf64[3,2]", **DOT, jax=lambda jax, a, b: a @ b),
    R(DotGeneralOp, "f64[2,3] f64[3,2]", build=widened_product, note="to complex"),
    R(CumulativeSumOp, "cf64[2,3]", axis=1, exclusive=False, reverse=True),
    R(ConvolutionOp, "cf64[1,3,3,2] cf64[2,2,2,2]", **conv, smooth=False),
    R(ReduceWindowOp, "cf64[5]", kind="sum", **window),
    R(SegmentReduceOp, "cf64[3,2] si32[3]", data={1: [1, 0, 1]}, kind="sum", num_segments=2, **segments),
    R(TakeOp, "cf64[3,2] si32[2]", data={1: [2, 2]}),
    R(GatherOp, "cf64[3,2] si32[2,2]", data={1: [[2, 2], [0, 1]]}, axis=0),
    R(ScatterReduceOp, "cf64[3] si32[2] cf64[2]", data={1: [2, 2]}, kind="add", axis=0),
    R(TransposeOp, "cf64[2,3]", perm=(1, 0)),
    R(BroadcastToOp, "cf64[1,3]", result_shape=(2, 3)),
    R(ConcatOp, "cf64[2] cf64[3]", axis=0),
    R(PadOp, "cf64[3]", low=(1,), high=(0,), interior=(1,), pad_value=0.5),
    R(ScanOp, "cf64[2] cf64[3,2]", build=fed_back, note="of complex numbers"),
]

ROWS: list[Row] = [*PARTS, *HOLOMORPHIC, *WHOLE]
