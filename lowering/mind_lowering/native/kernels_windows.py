"""Rows of `kernels.py` for windows: borders and holes are copies, windows views in which elements stand several times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from xdsl.ir import Block, SSAValue

from mind_dialect import ptir
from mind_dialect.ptir import PtirLiteralAttr, PtirOp
from mind_dialect.ptir.legal import default_accumulator
from mind_dialect.ptir.types import I1, Kind, PtirDType, tensor_type

from .plan import NativePlan
from .reasons import rounded_each_step, unsupported
from .reductions import end_of
from .target_info import computes
from .views import Use, View, broadcast, filled, whole, window


def padded(
    planner: NativePlan, value: SSAValue, padding: Sequence[tuple[int, int]], interior: Sequence[int], number: View
) -> View:
    """An operand with a border and holes, in memory of its own; as it is where there are none."""
    source = planner.view(value)
    if not any(low or high for low, high in padding) and not any(interior):
        return source
    edges = [(low + high, i) for (low, high), i in zip(padding, interior, strict=True)]
    shape = tuple(n + rim + max(0, n - 1) * i for n, (rim, i) in zip(source.shape, edges, strict=True))
    target = whole(planner.buffer(Use.ARENA, source.dtype, prod(shape), f"{value.name_hint or 'x'}.padded"), shape)
    planner.copy(value, broadcast(number, shape), target)
    planner.copy(value, source, window(target, [low for low, _ in padding], source.shape, [i + 1 for i in interior]))
    return target


def one_number(planner: NativePlan, literal: PtirLiteralAttr, value: SSAValue) -> View:
    """One number, as a view of rank 0."""
    one = PtirLiteralAttr.from_bytes(literal.spec[0], (), literal.data.data)
    if computes(one.spec[0], planner.host):
        return filled(one, ())
    return whole(planner.constant(one, value), ())


def _pad(planner: NativePlan, op: ptir.PadOp) -> str | None:
    values = op.values()
    edges: list[tuple[int, int]] = list(zip(values["low"], values["high"], strict=True))
    x = op.operands[0]
    planner.views[op.result] = padded(planner, x, edges, values["interior"], one_number(planner, values["pad_value"], x))
    return None


def _extract_patches(planner: NativePlan, op: ptir.ExtractPatchesOp) -> str | None:
    """Windows are a view in which elements stand several times; a copy lays them out."""
    values, x = op.values(), op.operands[0]
    edges: list[tuple[int, int]] = [(0, 0), *values["padding"], (0, 0)]
    source = padded(planner, x, edges, [0] * len(edges), one_number(planner, values["pad_value"], x))
    target = planner.target(op.result)
    sizes: tuple[int, ...] = tuple(values["window"])
    places = target.shape[:-1]
    shape = (*places, *sizes, source.shape[-1])
    steps = (1, *values["strides"])
    outer = tuple(s * n for s, n in zip(source.strides[:-1], steps, strict=True))
    inner = tuple(s * n for s, n in zip(source.strides[1:-1], values["dilation"], strict=True))
    patches = View(source.base, source.dtype, shape, (*outer, *inner, source.strides[-1]), source.offset)
    planner.copy(x, patches, whole(planner.buffer_of(target), shape))
    return None


def _reduce_window(planner: NativePlan, op: ptir.ReduceWindowOp) -> str | None:
    """A reduction over the axes of the windows, which are a view."""
    values, x = op.values(), op.operands[0]
    dtype, kind = op.operand_spec(0).dtype, values["kind"]
    total: PtirDType = values["accum_dtype"] or default_accumulator(dtype)
    if reason := unsupported([dtype, total], planner.host) or rounded_each_step(kind, total):
        return reason
    number = 0 if kind == "sum" else end_of(dtype, least=kind == "max")
    if dtype.kind is not Kind.FLOAT:
        number = bool(number) if dtype is I1 else int(number)
    elif kind == "sum":
        number = 0.0
    edge = filled(PtirLiteralAttr.from_values(dtype, (), (number,)), ())
    source = padded(planner, x, values["padding"], [n - 1 for n in values["base_dilation"]], edge)
    places = planner.shape(op.result)
    shape = (*places, *values["window_dims"])
    outer = tuple(s * n for s, n in zip(source.strides, values["strides"], strict=True))
    inner = tuple(s * n for s, n in zip(source.strides, values["window_dilation"], strict=True))
    windows = View(source.base, dtype, shape, outer + inner, source.offset)
    block = Block(arg_types=[tensor_type(dtype, shape)])
    axes = tuple(range(len(places), len(shape)))
    block.add_op(made := ptir.ReduceOp(block.args[0], kind=kind, axes=axes, keepdims=False, accum_dtype=total))
    planner.keep.append(block)
    planner.reduction(made, windows, op.result)
    return None


WINDOWS: dict[type[PtirOp], Callable[[NativePlan, Any], str | None]] = {
    ptir.PadOp: _pad,
    ptir.ExtractPatchesOp: _extract_patches,
    ptir.ReduceWindowOp: _reduce_window,
}
"""Their rows."""
