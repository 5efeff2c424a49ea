"""
The table of tails: what each op makes of the tail of a padded dimension, and what it must not read of it.

Most ops take each element of a tail into the tail of their result. Others take a mask (`tail_masks.py`) in the place of an
operand, or are refused along a dimension with a tail.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.ir import Block, Operation

from mind_dialect import ptir
from mind_dialect.op import value_of
from mind_dialect.ptir.elementwise import DivisionOp
from mind_dialect.ptir.legal import WIDE_FLOATS
from mind_dialect.ptir.types import PtirDType

from ..ptir.building import axes_of_reduction, insert_new, new_ops, row_of_kind, spec_of
from ..ptir.features import expanded
from .tail_indexing import (
    looks_up,
    looks_up_windows,
    reduces_segments,
    scatters_elements,
    scatters_into_windows,
    scatters_windows,
)
from .tail_masks import Masks, neutral
from .tail_moves import concatenates, pads, reverses, slices, steps
from .tail_reshapes import draws, repeats, reshapes
from .tail_spans import convolves, extracts, finds_in_windows, reduces_windows, transforms
from .tail_windows import windows

Row = Callable[[Masks, Any], None]


def _stays(masks: Masks, op: ptir.PtirOp) -> None:
    """Leave an op that takes each element of a tail into the tail of its result."""


def _divides(masks: Masks, op: DivisionOp) -> None:
    if op.can_fail():
        op.operands[1] = masks.masked(op, op.rhs, masks.tails(op.rhs), 1)
    elif isinstance(op, ptir.DivOp) and (axes := masks.vanishing.get(op.lhs)):
        _vanishes_over_sum(masks, op, axes)


def _vanishes_over_sum(masks: Masks, op: ptir.DivOp, axes: frozenset[int]) -> None:
    """Note that the parts of a softmax over their sum have tails that vanish: the sum is at least 1, or NaN as its row is."""
    total = op.rhs.owner
    inner = total.x.owner if isinstance(total, ptir.BroadcastToOp) else None
    if isinstance(inner, ptir.ReduceOp) and inner.x is op.lhs and inner.values()["kind"] == "sum" and inner.values()["keepdims"]:
        masks.vanishing[op.result] = axes & frozenset(axes_of_reduction(inner))


def _exponential(masks: Masks, op: ptir.ExpOp) -> None:
    """Note that `exp(x - max x)` vanishes where a mask put -inf into the tail of `x`."""
    found = op.x.owner
    if not isinstance(found, ptir.SubOp) or not isinstance(found.rhs.owner, ptir.BroadcastToOp):
        return
    most = found.rhs.owner.x.owner
    if isinstance(most, ptir.ReduceOp) and most.values()["kind"] == "max" and most.values()["keepdims"] and most.x is found.lhs:
        masks.vanishing[op.result] = frozenset(a for a in axes_of_reduction(most) if a in masks.tails(op.result))


def _normalizes(masks: Masks, op: ptir.LayerNormOp) -> None:
    """Compute a norm along a dimension with a tail by reductions, which are masked."""
    if op.values()["feature_axis"] % len(spec_of(op.x).shape) not in masks.tails(op.x):
        return
    block, form = op.parent, value_of(expanded(op)).owner
    assert isinstance(block, Block)
    assert isinstance(form, Operation)
    parts = new_ops(form)
    insert_new(form, op, block)
    for part in parts:
        part.location = op.location
        masks.rewire(part)
        if isinstance(part, ptir.PtirOp) and (row := row_of_kind(ROWS, type(part))) is not None:
            row(masks, part)
    form.results[0].name_hint = op.result.name_hint
    op.result.replace_all_uses_with(form.results[0])
    block.erase_op(op)


def _accumulates(masks: Masks, op: ptir.CumulativeSumOp | ptir.CumulativeOp) -> None:
    """Begin at the end of a padded array with what changes nothing."""
    values = op.values()
    if values["reverse"]:
        kind = values["kind"] if isinstance(op, ptir.CumulativeOp) else "sum"
        _mask_along(masks, op, neutral(kind, spec_of(op.x).dtype))


def _sorts(masks: Masks, op: ptir.SortOp) -> None:
    _mask_along(masks, op, _last(spec_of(op.x).dtype, op.values()["descending"]))


def _selects(masks: Masks, op: ptir.TopKOp) -> None:
    _mask_along(masks, op, _last(spec_of(op.x).dtype, op.values()["largest"]))


def _last(dtype: PtirDType, descending: bool) -> float:
    """Return what comes after all else in an order in which NaN is greater than all numbers, and equals keep theirs."""
    return neutral("max", dtype) if descending else float("nan") if dtype in WIDE_FLOATS else neutral("min", dtype)


def _mask_along(masks: Masks, op: ptir.CumulativeSumOp | ptir.CumulativeOp | ptir.SortOp | ptir.TopKOp, number: float) -> None:
    axis: int = op.values()["axis"] % len(spec_of(op.x).shape)
    op.operands[0] = masks.masked(op, op.x, [a for a in masks.tails(op.x) if a == axis], number)


def _reduces(masks: Masks, op: ptir.ReduceOp) -> None:
    tails = [a for a in axes_of_reduction(op) if a in masks.tails(op.x)]
    kind, dtype = op.values()["kind"], spec_of(op.x).dtype
    if kind == "sum":
        tails = [a for a in tails if a not in masks.vanishing.get(op.x, ())]
    if tails:
        masks.replace_later(op, 0, masks.masked(op, op.x, tails, neutral(kind, dtype)))


def _finds(masks: Masks, op: ptir.ArgMaxOp | ptir.ArgMinOp) -> None:
    kind = "max" if isinstance(op, ptir.ArgMaxOp) else "min"
    axis = op.values()["axis"] % len(spec_of(op.x).shape)
    if axis in masks.tails(op.x):
        op.operands[0] = masks.masked(op, op.x, [axis], neutral(kind, spec_of(op.x).dtype))


def _multiplies(masks: Masks, op: ptir.DotGeneralOp) -> None:
    """Mask both operands along contracted axes, as the product of 0 and a tail may be NaN."""
    values = op.values()
    for i, name in enumerate(("contract_lhs", "contract_rhs")):
        value = op.operands[i]
        rank = len(spec_of(value).shape)
        axes = [a % rank for a in values[name] if a % rank in masks.tails(value)]
        axes = [a for a in axes if a not in masks.vanishing.get(value, ())]
        if axes:
            op.operands[i] = masks.masked(op, value, axes, 0)


def _multiplies_groups(masks: Masks, op: ptir.RaggedDotOp) -> None:
    """Mask what is summed over, and let the groups of a tail have no rows."""
    contracted = ((1,), (1,)) if op.values()["kind"] == "rows" else ((0,), (0,))
    for i, axes in enumerate(contracted):
        value = op.operands[i]
        op.operands[i] = masks.masked(op, value, [a for a in axes if a in masks.tails(value)], 0)
    op.operands[2] = masks.masked(op, op.group_sizes, masks.tails(op.group_sizes), 0)


def _measures(masks: Masks, op: ptir.DimensionSizeOp) -> None:
    axis: int = op.values()["axis"]
    dim = spec_of(op.x).shape[axis]
    if isinstance(dim, str):
        op.result.replace_all_uses_with(masks.size(op, dim))


ROWS: dict[type[ptir.PtirOp], Row] = {
    ptir.ConstantOp: _stays,
    ptir.UnaryOp: _stays,
    ptir.CastOp: _stays,
    ptir.BinaryOp: _stays,
    ptir.CompareOp: _stays,
    ptir.SelectOp: _stays,
    ptir.ClampOp: _stays,
    DivisionOp: _divides,
    ptir.ExpOp: _exponential,
    ptir.BroadcastToOp: _stays,
    ptir.TransposeOp: _stays,
    ptir.IotaOp: _stays,
    ptir.ReshapeOp: reshapes,
    ptir.SliceOp: slices,
    ptir.StridedSliceOp: steps,
    ptir.ConcatOp: concatenates,
    ptir.PadOp: pads,
    ptir.ReverseOp: reverses,
    ptir.SortOp: _sorts,
    ptir.TopKOp: _selects,
    ptir.LayerNormOp: _normalizes,
    ptir.CumulativeSumOp: _accumulates,
    ptir.CumulativeOp: _accumulates,
    ptir.ReduceOp: _reduces,
    ptir.ArgMaxOp: _finds,
    ptir.ArgMinOp: _finds,
    ptir.DotGeneralOp: _multiplies,
    ptir.TakeOp: looks_up,
    ptir.GatherOp: looks_up,
    ptir.ScatterReduceOp: scatters_elements,
    ptir.ScatterAddOp: scatters_windows,
    ptir.SegmentReduceOp: reduces_segments,
    ptir.DynamicSliceOp: windows,
    ptir.DynamicUpdateSliceOp: windows,
    ptir.DimensionSizeOp: _measures,
    ptir.ReduceWindowOp: reduces_windows,
    ptir.WindowArgOp: finds_in_windows,
    ptir.ExtractPatchesOp: extracts,
    ptir.ConvolutionOp: convolves,
    ptir.FftOp: transforms,
    ptir.TileOp: repeats,
    ptir.RngUniformOp: draws,
    ptir.RngNormalOp: draws,
    ptir.GatherWindowsOp: looks_up_windows,
    ptir.ScatterWindowsOp: scatters_into_windows,
    ptir.RaggedDotOp: _multiplies_groups,
    ptir.QuantizeOp: _stays,
    ptir.DequantizeOp: _stays,
    ptir.RequantizeOp: _stays,
    ptir.BitcastOp: _stays,
}
"""Rules for tails, by class of op or by a base class; tails of other ops are unknown."""

WITHOUT_ROW: dict[type[ptir.PtirOp], str] = {
    ptir.CustomCallOp: "is code of its own, of which nothing is known",
    ptir.FusionOp: "holds ops that are masked before they are fused",
}
"""Reasons why an op has no row. Tails of branches and loops are those of their regions, `tail_regions.py`."""
