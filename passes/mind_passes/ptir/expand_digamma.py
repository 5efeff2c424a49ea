"""
Digamma as elementwise ops in f64, for targets without a kernel of it: it then stands in the fusions and loops around it.

From 1/2 on eight steps of `digamma(x) = digamma(x + 1) - 1 / x`, where the asymptotic series holds; below it the reflection
`digamma(1 - x) - pi / tan(pi x)` (NIST Digital Library of Mathematical Functions, 5.5.2, 5.11.2 and 5.5.4).
"""

from __future__ import annotations

from math import nan, pi

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from mind_dialect import register
from mind_dialect.dominance import walk
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir import CosOp, DigammaOp, LogOp, RoundOp, SinOp
from mind_dialect.ptir.types import F32, F64

from .building import put_before
from .construct import Value, add, cast, compare, div, full, make, mul, scale, spec, sub, where
from .dead_ops import replace_values

STEPS = 8
SERIES = (-1 / 12, 1 / 120, -1 / 252, 1 / 240, -5 / 660, 691 / 32760, -1 / 12, 3617 / 8160)
"""`-B2k / 2k` of Bernoulli's numbers, the coefficients of `x^-2`, `x^-4`, ..."""


def digamma(x: SSAValue) -> Value:
    """Return the values, of the type of `x`: NaN at 0, the negative integers and -inf."""
    wide = cast(x, F64)
    one = full(1.0, wide)
    is_mirrored = compare("less", wide, full(0.5, wide))
    a = where(is_mirrored, sub(one, wide), wide)
    shift: Value = div(one, a)
    for _ in range(1, STEPS):
        a = add(a, one)
        shift = add(shift, div(one, a))
    a = add(a, one)
    square = mul(a, a)
    inverse = div(one, square)
    series: Value = full(SERIES[-1], a)
    for number in SERIES[-2::-1]:
        series = add(mul(series, inverse), full(number, a))
    found = sub(add(sub(make(LogOp, a), div(full(0.5, a), a)), div(series, square)), shift)
    off = sub(wide, make(RoundOp, wide))
    angle = scale(off, pi)
    mirrored = sub(found, div(scale(make(CosOp, angle), pi), make(SinOp, angle)))
    mirrored = where(compare("equal", off, full(0.0, off)), full(nan, off), mirrored)
    found, dtype = where(is_mirrored, mirrored, found), spec(x).dtype
    return found if dtype is F64 else cast(cast(found, F32), dtype)  # as in f32, whose results narrower ones round


def expand_digamma(module: Operation) -> bool:
    """Replace digamma of static shape by elementwise ops; return whether there was any."""
    became: dict[SSAValue, SSAValue] = {}
    for op in [op for op in walk(module) if isinstance(op, DigammaOp) and spec(op.x).is_static]:
        became[op.result] = new = put_before(op, digamma(op.x))
        new.name_hint = op.result.name_hint
    return replace_values(module, became)


@dataclass(frozen=True)
class PtirExpandDigammaPass(ModulePass):
    """Replace digamma of static shape by elementwise ops."""

    name = "mind-ptir-expand-digamma"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        register(ctx)
        expand_digamma(op)
