"""
Rows of narrow weights and of experts: fake quantisation, products of 8-bit numbers with scales, products of groups of rows.

A fake quantisation passes derivatives straight through where it does not saturate, as torch's own rule has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.ptir.types import F32, SI32, PtirDType

from ..unsupported import Refused
from .converter import AtenConverter, Call, Row, Table, wide
from .products import product


def straight_through(to: AtenConverter, value: SSAValue, x: SSAValue, inside: SSAValue) -> SSAValue:
    """`value`, with the derivative of `x` where `inside`: what is added is 0, as `x` is finite there."""
    moving = to.select(inside, x, to.like(0.0, x))
    still = to.emit(ptir.SubOp, moving, to.emit(ptir.StopGradientOp, moving))
    return to.emit(ptir.AddOp, to.emit(ptir.StopGradientOp, value), still)


def _fake_quantized(
    to: AtenConverter, call: Call, x: SSAValue, steps: Iterable[SSAValue], least: int, most: int
) -> list[SSAValue]:
    """
    `scale (clamp(round(x / scale) + zero) - zero)` in f32, and where nothing saturates.

    `steps` are scales and zero points for all of `x`.
    """
    found, (scale, zero) = to.cast(x, F32), steps
    inverse = to.emit(ptir.DivOp, to.like(1.0, found), scale)
    code = to.emit(ptir.AddOp, to.emit(ptir.RoundOp, to.emit(ptir.MulOp, found, inverse)), zero)
    inside = to.logical(ptir.AndOp, to.compare("greater_equal", code, float(least)), to.compare("less_equal", code, float(most)))
    assert inside is not None, "of two"
    kept = to.emit(ptir.ClampOp, code, to.like(float(least), code), to.like(float(most), code))
    value = to.emit(ptir.MulOp, to.emit(ptir.SubOp, kept, zero), scale)
    return [to.cast(straight_through(to, value, found, inside), call.dtype), inside]


def _per_tensor(to: AtenConverter, call: Call, x: SSAValue, scale: float, zero: int, least: int, most: int) -> list[SSAValue]:
    numbers = (to.number(v, F32, to.shape(x)) for v in (scale, zero))
    return _fake_quantized(to, call, x, numbers, least, most)


def _by_tensors(
    to: AtenConverter, call: Call, x: SSAValue, scale: SSAValue, zero: SSAValue, on: SSAValue, least: int, most: int
) -> list[SSAValue]:
    """Scale and zero point are tensors of one element; `on` chooses between the quantised `x` and `x`."""
    one = (to.broadcast(to.reshape(to.cast(v, F32), ()), to.shape(x)) for v in (scale, zero))
    found, inside = _fake_quantized(to, call, x, one, least, most)
    chosen = to.broadcast(to.reshape(to.compare("not_equal", on, 0), ()), to.shape(x))
    return [to.select(chosen, found, x), to.select(chosen, inside, to.fill(True, to.dtype(inside), to.shape(x)))]


def _per_channel(
    to: AtenConverter, call: Call, x: SSAValue, scale: SSAValue, zero: SSAValue, axis: int, least: int, most: int
) -> list[SSAValue]:
    spread = (to.place(to.cast(v, F32), [to.axis(x, axis)], to.shape(x)) for v in (scale, zero))
    return _fake_quantized(to, call, x, spread, least, most)


def _first(row: Callable[..., list[SSAValue]]) -> Row:
    """The first result of a row."""

    def first(to: AtenConverter, call: Call, *arguments: Any) -> SSAValue:
        return row(to, call, *arguments)[0]

    return first


def _integer_product(to: AtenConverter, call: Call, x: SSAValue, y: SSAValue) -> SSAValue:
    """Sums in si32, which is what the result has."""
    dims = {"batch_lhs": (), "batch_rhs": (), "contract_lhs": (1,), "contract_rhs": (0,)}
    return to.emit(ptir.DotGeneralOp, x, y, **dims, accum_dtype=SI32, out_dtype=SI32)


def _by_bytes(to: AtenConverter, call: Call, x: SSAValue, weight: SSAValue, scales: SSAValue) -> SSAValue:
    """`x w^T` times a scale for each column, where `w` is of 8-bit integers; in f32."""
    x = to.cast(x, F32)
    found = product(to, x, to.cast(weight, F32), (), (1, 1))
    return to.cast(to.emit(ptir.MulOp, found, to.place(to.cast(scales, F32), [1], to.shape(found))), call.dtype)


def _scaled(
    to: AtenConverter,
    call: Call,
    x: SSAValue,
    y: SSAValue,
    scale_x: SSAValue,
    scale_y: SSAValue,
    bias: SSAValue | None = None,
    scale_result: SSAValue | None = None,
    *_: object,
) -> SSAValue:
    """A product of floats of 8 bits, summed in f32, times scales of the whole, of rows and of columns."""
    if scale_result is not None:
        raise Refused("a scale of the result of a scaled product", "multiply the result by it")
    found = product(to, x, y, (), (1, 0), F32)
    rows, columns = to.shape(found)
    for scale, whole in ((scale_x, (rows, 1)), (scale_y, (1, columns))):
        if to.shape(scale) not in ((), (1,), (1, 1), whole):
            raise Refused("scales of blocks", "give scales of rows, of columns, or of the whole")
        one = to.reshape(scale, ()) if to.shape(scale) != whole else scale
        found = to.emit(ptir.MulOp, found, to.broadcast(one, to.shape(found)))
    if bias is not None:
        found = to.emit(ptir.AddOp, found, to.tensor(bias, F32, to.shape(found)))
    return to.cast(found, call.dtype)


def _grouped(
    to: AtenConverter,
    call: Call,
    x: SSAValue,
    y: SSAValue,
    ends: SSAValue | None = None,
    bias: SSAValue | None = None,
    *_: object,
) -> SSAValue:
    """Products of groups, which end where `ends` says: groups of rows, of columns, or of what is summed over."""
    if bias is not None:
        raise Refused("a bias of a product of groups", "add it to the result")
    ranks = len(to.shape(x)), len(to.shape(y))
    if ends is None:
        return to.cast(product(to, x, y, (0,), (2, 1), wide(call.dtype)), call.dtype)
    sizes = _sizes(to, ends)
    if ranks == (2, 3):
        return _ragged(to, x, y, sizes, "rows", call.dtype)
    if ranks == (2, 2):
        return _ragged(to, to.transpose(x, (1, 0)), y, sizes, "contract", call.dtype)
    columns = _ragged(to, to.transpose(y, (1, 0)), to.transpose(x, (0, 2, 1)), sizes, "rows", call.dtype)
    return to.transpose(columns, (1, 0))


def _grouped_backward(
    to: AtenConverter, call: Call, x: SSAValue, y: SSAValue, ends: SSAValue, g: SSAValue
) -> tuple[SSAValue, SSAValue]:
    """The adjoints of a product of groups of rows."""
    sizes, dtype = _sizes(to, ends), to.dtype(g)
    for_x = _ragged(to, g, to.transpose(y, (0, 2, 1)), sizes, "rows", dtype)
    return for_x, _ragged(to, x, g, sizes, "contract", dtype)


def _ragged(to: AtenConverter, x: SSAValue, y: SSAValue, sizes: SSAValue, kind: str, dtype: PtirDType) -> SSAValue:
    out = {} if dtype is to.dtype(x) else {"out_dtype": dtype}
    return to.emit(ptir.RaggedDotOp, x, y, sizes, kind=kind, **out)


def _sizes(to: AtenConverter, ends: SSAValue) -> SSAValue:
    """Emit the distance of each end from the one before."""
    (count,) = to.sizes(ends)
    before: Sequence[SSAValue] = [to.fill(0, to.dtype(ends), (1,)), to.part(ends, 0, 0, count - 1)]
    return to.emit(ptir.SubOp, ends, to.concat(before, 0))


NARROW: Table = {
    "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams.default": _by_tensors,
    "_grouped_mm.default": _grouped,
    "_int_mm.default": _integer_product,
    "_scaled_mm.default": _scaled,
    "_weight_int4pack_mm.default": Refused(
        "weights in a packed format that torch does not document", "dequantize them before the export"
    ),
    "_weight_int8pack_mm.default": _by_bytes,
    "fake_quantize_per_channel_affine.default": _first(_per_channel),
    "fake_quantize_per_channel_affine_cachemask.default": _per_channel,
    "fake_quantize_per_tensor_affine.default": _first(_per_tensor),
    "fake_quantize_per_tensor_affine_cachemask.default": _per_tensor,
    "transformers.grouped_mm_fallback.default": _grouped,
    "transformers.grouped_mm_fallback_backward.default": _grouped_backward,
}
