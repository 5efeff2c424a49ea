"""
Products of dequantized bytes become products of bytes, which machines add four at once, times the product of the scales.

    sum over k of (a[m, k] - x) s * (b[k, n] - y[n]) t[n] = s t[n] * sum over k of (a[m, k] - x) * (b[k, n] - y[n])

The sums on the right are exact, where those on the left are rounded at each step. Models that frameworks quantize have this form:
both operands of a product are dequantized, and its result is quantized. Scales that differ along a contracted axis stay.
"""

from __future__ import annotations

from functools import reduce
from math import prod
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from mind_dialect import ptir, register
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir.types import F32, SI8, SI32, UI8, read_type, tensor_type
from mind_passes.ptir.building import accumulator, spec_of, uniform
from mind_passes.ptir.construct import Value, broadcast, cast, filled, make, mul, reshape, static, sub, transpose
from mind_passes.ptir.patterns.matching import made_by

from .narrow_products import Side, Supports, narrowed, rewrite_products, side_of

MOST_TERMS = 1 << 15
"""So many products of two bytes less zero points are in a sum of 32 bits at most."""


@dataclass(frozen=True)
class _Dequantized:
    """An operand in f32: integers of 32 bits that are bytes less a zero point, and a scale of extent 1 where it is the same."""

    integers: Value
    scale: Value


def quantized_products(root: Operation, supports: Supports = lambda op: True) -> bool:
    """Rewrite the products inside a verified `root` that `supports` takes; return whether there were any."""
    return rewrite_products(root, _of_bytes, supports)


def _of_bytes(op: ptir.DotGeneralOp | ptir.ConvolutionOp) -> Operation | None:
    """The same numbers, but for rounding, from a product of bytes; None for other products."""
    specs = [spec_of(v) for v in (*op.operands, *op.results)]
    if any(not s.is_static or s.dtype is not F32 for s in specs) or accumulator(op) is not F32:
        return None
    lhs, rhs = (_dequantized(v) for v in op.operands)
    if lhs is None or rhs is None:
        return None
    scales = _scales_of_dot(op, lhs, rhs) if isinstance(op, ptir.DotGeneralOp) else _scales_of_convolution(op, lhs, rhs)
    if scales is None:
        return None
    shape = static(op.result)
    stated: dict[str, Any] = {name: v for name, v in op.values().items() if v is not None}
    stated |= {name: SI32 for name in ("accum_dtype", "out_dtype") if name in op.values()}
    whole = make(type(op), lhs.integers, rhs.integers, type=tensor_type(SI32, shape), **stated)
    product = narrowed(whole)
    if product is None:
        return None
    return mul(cast(product.results[0], F32), broadcast(mul(*(broadcast(s, _common(scales)) for s in scales)), shape))


def _common(values: tuple[Value, Value]) -> tuple[int, ...]:
    return tuple(reduce(max, extents) for extents in zip(*map(static, values), strict=True))


def _scales_of_dot(op: ptir.DotGeneralOp, lhs: _Dequantized, rhs: _Dequantized) -> tuple[Value, Value] | None:
    """The scales of the operands as they broadcast to the result; None where one differs along contracted axes."""
    sides: list[Side] = [side_of(op, 0), side_of(op, 1)]
    terms = prod(static(op.lhs)[a] for a in sides[0].contract)
    operands = list(zip((lhs, rhs), sides, sides[::-1], strict=True))
    if terms > MOST_TERMS or any(static(x.scale)[a] != 1 for x, side, _ in operands for a in side.contract):
        return None
    first, second = (side.placed(x.scale, len(other.free)) for x, side, other in operands)
    return first, second


def _scales_of_convolution(op: ptir.ConvolutionOp, lhs: _Dequantized, rhs: _Dequantized) -> tuple[Value, Value] | None:
    *window, channels, _ = static(op.rhs)
    *inner, outputs = static(rhs.scale)
    if prod(static(lhs.scale)) != 1 or prod(inner) != 1 or prod(window) * channels > MOST_TERMS:
        return None
    ones = (1,) * (len(static(op.result)) - 1)
    return reshape(lhs.scale, (*ones, 1)), reshape(rhs.scale, (*ones, outputs))


def _dequantized(value: SSAValue) -> _Dequantized | None:
    """A value that is dequantized from bytes, perhaps with its axes in another order; None for another."""
    if (turned := made_by(value, ptir.TransposeOp)) is not None:
        perm: tuple[int, ...] = tuple(turned.values()["perm"])
        inner = _dequantized(turned.x)
        return None if inner is None else _Dequantized(transpose(inner.integers, perm), transpose(inner.scale, perm))
    op = made_by(value, ptir.DequantizeOp)
    if op is None or len(op.operands) != 3 or read_type(op.x.type).dtype not in (SI8, UI8):
        return None
    scale, zero = op.operands[1:]
    if read_type(scale.type).dtype is not F32:
        return None
    shape, axis = static(op.x), op.values()["axis"]
    ones = tuple(n if axis is not None and a == axis % len(shape) else 1 for a, n in enumerate(shape))
    integers, number = cast(op.x, SI32), uniform(zero)
    if number is None:
        integers = sub(integers, broadcast(reshape(cast(zero, SI32), ones), shape))
    elif number != 0:
        integers = sub(integers, filled(int(number.real), SI32, shape))
    return _Dequantized(integers, reshape(scale, ones))


@dataclass(frozen=True)
class PtirQuantizedProductsPass(ModulePass):
    """Turn products of dequantized bytes into products of bytes times the scales."""

    name = "mind-ptir-quantized-products"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        register(ctx)
        quantized_products(op)
