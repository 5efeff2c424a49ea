"""Ops of a model's vocabulary as arithmetic: normalisation and quantisation, rounded where our kernels round."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.ptir.types import F32, F64, PtirDType

from .builder import StablehloBuilder, Values, dtype_of, shape_of
from .elementwise import Rule, cast_to


def _layer_norm(b: StablehloBuilder, op: ptir.LayerNormOp, x: Values) -> SSAValue:
    """`(x - mean) / sqrt(variance + epsilon) * gamma + beta` in f32 or wider."""
    values, shape = op.values(), shape_of(x[0])
    axis: int = values["feature_axis"] % len(shape)
    wide, gamma, beta = (b.convert(v, _wide(dtype_of(v))) for v in x)
    rest = [i for i in range(len(shape)) if i != axis]

    def mean(v: SSAValue) -> SSAValue:
        total = b.reduce("sum", v, [axis])
        return b("divide", total, b.broadcast(b.extent(shape[axis], dtype_of(total)), shape_of(total), []))

    centred = b("subtract", wide, b.broadcast(mean(wide), shape, rest))
    variance = mean(b("multiply", centred, centred))
    deviation = b("sqrt", b("add", variance, b.like(values["epsilon"], variance)))
    normal = b("divide", centred, b.broadcast(deviation, shape, rest))
    scaled = b("multiply", normal, b.broadcast(gamma, shape, [axis]))
    return cast_to(b, b("add", scaled, b.broadcast(beta, shape, [axis])), dtype_of(x[0]))


def _wide(dtype: PtirDType) -> PtirDType:
    return F64 if dtype is F64 else F32


def _along(b: StablehloBuilder, parameter: SSAValue, x: SSAValue, axis: int | None) -> SSAValue:
    """A scale or zero point at each place of `x`."""
    shape = shape_of(x)
    return b.broadcast(parameter, shape, [] if axis is None else [axis % len(shape)])


def _quantized(b: StablehloBuilder, x: SSAValue, given: Values, axis: int | None, target: PtirDType) -> SSAValue:
    """The quotient is rounded in the dtype of `x`, or f32; the sum with the zero point is exact in f64."""
    quotient = b.convert(x, _wide(dtype_of(x)))
    if given:
        quotient = b("divide", quotient, b.convert(_along(b, given[0], x, axis), dtype_of(quotient)))
    whole = b.convert(b("round_nearest_even", quotient), F64)
    if given:
        whole = b("add", whole, b.convert(_along(b, given[1], x, axis), F64))
    return cast_to(b, whole, target)


def _dequantized(b: StablehloBuilder, x: SSAValue, given: Values, axis: int | None, target: PtirDType) -> SSAValue:
    """`(x - zero_point) * scale` in f64, rounded once."""
    found = b.convert(x, F64)
    if given:
        found = b("subtract", found, b.convert(_along(b, given[1], x, axis), F64))
        found = b("multiply", found, b.convert(_along(b, given[0], x, axis), F64))
    return cast_to(b, found, target)


def _quantize(b: StablehloBuilder, op: ptir.QuantizeOp, x: Values) -> SSAValue:
    return _quantized(b, x[0], x[1:], op.values()["axis"], op.result_spec().dtype)


def _dequantize(b: StablehloBuilder, op: ptir.DequantizeOp, x: Values) -> SSAValue:
    return _dequantized(b, x[0], x[1:], op.values()["axis"], op.result_spec().dtype)


def _requantize(b: StablehloBuilder, op: ptir.RequantizeOp, x: Values) -> SSAValue:
    axis, given = op.values()["axis"], x[1:]
    real = _wide(dtype_of(given[0])) if given else F64
    numbers = _dequantized(b, x[0], given[:2], axis, real)
    return _quantized(b, numbers, given[2:], axis, op.result_spec().dtype)


RULES: Mapping[type[ptir.PtirOp], Rule] = {
    ptir.LayerNormOp: _layer_norm,
    ptir.QuantizeOp: _quantize,
    ptir.DequantizeOp: _dequantize,
    ptir.RequantizeOp: _requantize,
}
"""Each rule returns the one result of its op."""
