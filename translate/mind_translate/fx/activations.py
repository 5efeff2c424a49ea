"""Activations made of several pieces or functions; their derivatives where pieces meet are those of PyTorch."""

from __future__ import annotations

import math
from typing import Any

from xdsl.ir import SSAValue

from mind_dialect import ptir

from .converter import AtenConverter, Call, Table, wide


def _elu(to: AtenConverter, call: Call, x: SSAValue, alpha: Any = 1, scale: Any = 1, input_scale: Any = 1) -> SSAValue:
    """Beyond 0 linear; the exponential of at most 0 does not overflow. The slope at 0 is that below."""
    x = to.cast(x, wide(call.dtype))
    is_above = to.compare("greater", x, 0.0)
    below = to.emit(ptir.Expm1Op, to.scaled(to.select(is_above, to.like(0, x), x), input_scale))
    return to.cast(to.select(is_above, to.scaled(x, scale), to.scaled(below, alpha * scale)), call.dtype)


def _celu(to: AtenConverter, call: Call, x: SSAValue, alpha: Any = 1) -> SSAValue:
    return _elu(to, call, x, alpha, 1, 1 / alpha)


def _soft_positive(to: AtenConverter, x: SSAValue, beta: Any = 1, threshold: Any = 20) -> SSAValue:
    """`log1p(exp(beta x)) / beta`, linear where `beta x` is beyond the threshold; the exponential is of at most that."""
    scaled = to.scaled(x, beta)
    is_linear = to.compare("greater", scaled, threshold)
    bounded = to.select(is_linear, to.like(0, scaled), scaled)
    return to.select(is_linear, x, to.scaled(to.emit(ptir.Log1pOp, to.emit(ptir.ExpOp, bounded)), 1 / beta))


def _softplus(to: AtenConverter, call: Call, x: SSAValue, beta: Any = 1, threshold: Any = 20) -> SSAValue:
    return to.cast(_soft_positive(to, to.cast(x, wide(call.dtype)), beta, threshold), call.dtype)


def _mish(to: AtenConverter, call: Call, x: SSAValue) -> SSAValue:
    """`x tanh(softplus(x))`."""
    x = to.cast(x, wide(call.dtype))
    return to.cast(to.emit(ptir.MulOp, x, to.emit(ptir.TanhOp, _soft_positive(to, x))), call.dtype)


def _hardsigmoid(to: AtenConverter, call: Call, x: SSAValue) -> SSAValue:
    """The derivative is 0 at and beyond the bounds."""
    x = to.cast(x, wide(call.dtype))
    is_low, is_high = to.compare("less_equal", x, -3.0), to.compare("greater_equal", x, 3.0)
    between = to.scaled(to.math(ptir.AddOp, x, 3.0), 1 / 6)
    return to.cast(to.select(is_low, to.like(0, x), to.select(is_high, to.like(1, x), between)), call.dtype)


def _hardswish(to: AtenConverter, call: Call, x: SSAValue) -> SSAValue:
    """The derivative is 0 at -3 and below, 1 at 3 and beyond."""
    x = to.cast(x, wide(call.dtype))
    is_low, is_high = to.compare("less_equal", x, -3.0), to.compare("greater_equal", x, 3.0)
    between = to.emit(ptir.MulOp, x, to.scaled(to.math(ptir.AddOp, x, 3.0), 1 / 6))
    return to.cast(to.select(is_low, to.like(0, x), to.select(is_high, x, between)), call.dtype)


def _sinc(to: AtenConverter, call: Call, x: SSAValue) -> SSAValue:
    """`sin(pi x) / (pi x)`, and 1 at 0, with the slope 0 there: nothing is divided by 0."""
    x = to.cast(x, wide(call.dtype))
    is_zero = to.compare("equal", x, 0.0)
    angle = to.scaled(to.select(is_zero, to.like(1, x), x), math.pi)
    found = to.emit(ptir.DivOp, to.emit(ptir.SinOp, angle), angle)
    return to.cast(to.select(is_zero, to.like(1, x), found), call.dtype)


def _gelu(to: AtenConverter, call: Call, x: SSAValue, approximate: str = "none") -> SSAValue:
    """`x Phi(x)`, by erf, or by the approximation of Hendrycks and Gimpel with tanh."""
    x = to.cast(x, wide(call.dtype))
    if approximate == "none":
        inner = to.emit(ptir.ErfOp, to.scaled(x, math.sqrt(0.5)))
    else:
        cube = to.emit(ptir.MulOp, to.emit(ptir.MulOp, x, x), x)
        sum_ = to.emit(ptir.AddOp, x, to.scaled(cube, 0.044715))
        inner = to.emit(ptir.TanhOp, to.scaled(sum_, math.sqrt(2 / math.pi)))
    found = to.emit(ptir.MulOp, to.scaled(x, 0.5), to.math(ptir.AddOp, inner, 1.0))
    return to.cast(found, call.dtype)


def _silu(to: AtenConverter, call: Call, x: SSAValue) -> SSAValue:
    x = to.cast(x, wide(call.dtype))
    return to.cast(to.emit(ptir.MulOp, x, to.emit(ptir.LogisticOp, x)), call.dtype)


ACTIVATIONS: Table = {
    "celu.default": _celu,
    "elu.default": _elu,
    "gelu.default": _gelu,
    "hardsigmoid.default": _hardsigmoid,
    "hardswish.default": _hardswish,
    "mish.default": _mish,
    "silu.default": _silu,
    "sinc.default": _sinc,
    "softplus.default": _softplus,
}
