"""
The table of tails: what each op makes of the tail of a padded dimension, and what it must not read of it.

Most ops take each element of a tail into the tail of their result. Others take a mask (`tail_masks.py`) in the place of an
operand, or are refused along a dimension with a tail.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.ir import Block, Operation

from mind_dialect.op import value_of
from mind_dialect.ptir import (
    ArgMaxOp,
    ArgMinOp,
    BinaryOp,
    BitcastOp,
    BroadcastToOp,
    CastOp,
    ClampOp,
    CompareOp,
    ConcatOp,
    ConstantOp,
    ConvolutionOp,
    CumulativeOp,
    CumulativeSumOp,
    CustomCallOp,
    DequantizeOp,
    DimensionSizeOp,
    DivOp,
    DotGeneralOp,
    DynamicSliceOp,
    DynamicUpdateSliceOp,
    ExpOp,
    ExtractPatchesOp,
    FftOp,
    FusionOp,
    GatherOp,
    GatherWindowsOp,
    IotaOp,
    LayerNormOp,
    PadOp,
    PtirOp,
    QuantizeOp,
    RaggedDotOp,
    ReduceOp,
    ReduceWindowOp,
    RequantizeOp,
    ReshapeOp,
    ReverseOp,
    RngNormalOp,
    RngUniformOp,
    ScatterAddOp,
    ScatterReduceOp,
    ScatterWindowsOp,
    SegmentReduceOp,
    SelectOp,
    SliceOp,
    SortOp,
    StridedSliceOp,
    SubOp,
    TakeOp,
    TileOp,
    TopKOp,
    TransposeOp,
    UnaryOp,
    WindowArgOp,
)
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


def _stays(masks: Masks, op: PtirOp) -> None:
    """Leave an op that takes each element of a tail into the tail of its result."""


def _divides(masks: Masks, op: DivisionOp) -> None:
    if op.can_fail():
        op.operands[1] = masks.masked(op, op.rhs, masks.tails(op.rhs), 1)
    elif isinstance(op, DivOp) and (axes := masks.vanishing.get(op.lhs)):
        _vanishes_over_sum(masks, op, axes)


def _vanishes_over_sum(masks: Masks, op: DivOp, axes: frozenset[int]) -> None:
    """Note that the parts of a softmax over their sum have tails that vanish: the sum is at least 1, or NaN as its row is."""
    total = op.rhs.owner
    inner = total.x.owner if isinstance(total, BroadcastToOp) else None
    if isinstance(inner, ReduceOp) and inner.x is op.lhs and inner.values()["kind"] == "sum" and inner.values()["keepdims"]:
        masks.vanishing[op.result] = axes & frozenset(axes_of_reduction(inner))


def _exponential(masks: Masks, op: ExpOp) -> None:
    """Note that `exp(x - max x)` vanishes where a mask put -inf into the tail of `x`."""
    found = op.x.owner
    if not isinstance(found, SubOp) or not isinstance(found.rhs.owner, BroadcastToOp):
        return
    most = found.rhs.owner.x.owner
    if isinstance(most, ReduceOp) and most.values()["kind"] == "max" and most.values()["keepdims"] and most.x is found.lhs:
        masks.vanishing[op.result] = frozenset(a for a in axes_of_reduction(most) if a in masks.tails(op.result))


def _normalizes(masks: Masks, op: LayerNormOp) -> None:
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
        if isinstance(part, PtirOp) and (row := row_of_kind(ROWS, type(part))) is not None:
            row(masks, part)
    form.results[0].name_hint = op.result.name_hint
    op.result.replace_all_uses_with(form.results[0])
    block.erase_op(op)


def _accumulates(masks: Masks, op: CumulativeSumOp | CumulativeOp) -> None:
    """Begin at the end of a padded array with what changes nothing."""
    values = op.values()
    if values["reverse"]:
        kind = values["kind"] if isinstance(op, CumulativeOp) else "sum"
        _mask_along(masks, op, neutral(kind, spec_of(op.x).dtype))


def _sorts(masks: Masks, op: SortOp) -> None:
    _mask_along(masks, op, _last(spec_of(op.x).dtype, op.values()["descending"]))


def _selects(masks: Masks, op: TopKOp) -> None:
    _mask_along(masks, op, _last(spec_of(op.x).dtype, op.values()["largest"]))


def _last(dtype: PtirDType, descending: bool) -> float:
    """Return what comes after all else in an order in which NaN is greater than all numbers, and equals keep theirs."""
    return neutral("max", dtype) if descending else float("nan") if dtype in WIDE_FLOATS else neutral("min", dtype)


def _mask_along(masks: Masks, op: CumulativeSumOp | CumulativeOp | SortOp | TopKOp, number: float) -> None:
    axis: int = op.values()["axis"] % len(spec_of(op.x).shape)
    op.operands[0] = masks.masked(op, op.x, [a for a in masks.tails(op.x) if a == axis], number)


def _reduces(masks: Masks, op: ReduceOp) -> None:
    tails = [a for a in axes_of_reduction(op) if a in masks.tails(op.x)]
    kind, dtype = op.values()["kind"], spec_of(op.x).dtype
    if kind == "sum":
        tails = [a for a in tails if a not in masks.vanishing.get(op.x, ())]
    if tails:
        masks.replace_later(op, 0, masks.masked(op, op.x, tails, neutral(kind, dtype)))


def _finds(masks: Masks, op: ArgMaxOp | ArgMinOp) -> None:
    kind = "max" if isinstance(op, ArgMaxOp) else "min"
    axis = op.values()["axis"] % len(spec_of(op.x).shape)
    if axis in masks.tails(op.x):
        op.operands[0] = masks.masked(op, op.x, [axis], neutral(kind, spec_of(op.x).dtype))


def _multiplies(masks: Masks, op: DotGeneralOp) -> None:
    """Mask both operands along contracted axes, as the product of 0 and a tail may be NaN."""
    values = op.values()
    for i, name in enumerate(("contract_lhs", "contract_rhs")):
        value = op.operands[i]
        rank = len(spec_of(value).shape)
        axes = [a % rank for a in values[name] if a % rank in masks.tails(value)]
        axes = [a for a in axes if a not in masks.vanishing.get(value, ())]
        if axes:
            op.operands[i] = masks.masked(op, value, axes, 0)


def _multiplies_groups(masks: Masks, op: RaggedDotOp) -> None:
    """Mask what is summed over, and let the groups of a tail have no rows."""
    contracted = ((1,), (1,)) if op.values()["kind"] == "rows" else ((0,), (0,))
    for i, axes in enumerate(contracted):
        value = op.operands[i]
        op.operands[i] = masks.masked(op, value, [a for a in axes if a in masks.tails(value)], 0)
    op.operands[2] = masks.masked(op, op.group_sizes, masks.tails(op.group_sizes), 0)


def _measures(masks: Masks, op: DimensionSizeOp) -> None:
    axis: int = op.values()["axis"]
    dim = spec_of(op.x).shape[axis]
    if isinstance(dim, str):
        op.result.replace_all_uses_with(masks.size(op, dim))


ROWS: dict[type[PtirOp], Row] = {
    ConstantOp: _stays,
    UnaryOp: _stays,
    CastOp: _stays,
    BinaryOp: _stays,
    CompareOp: _stays,
    SelectOp: _stays,
    ClampOp: _stays,
    DivisionOp: _divides,
    ExpOp: _exponential,
    BroadcastToOp: _stays,
    TransposeOp: _stays,
    IotaOp: _stays,
    ReshapeOp: reshapes,
    SliceOp: slices,
    StridedSliceOp: steps,
    ConcatOp: concatenates,
    PadOp: pads,
    ReverseOp: reverses,
    SortOp: _sorts,
    TopKOp: _selects,
    LayerNormOp: _normalizes,
    CumulativeSumOp: _accumulates,
    CumulativeOp: _accumulates,
    ReduceOp: _reduces,
    ArgMaxOp: _finds,
    ArgMinOp: _finds,
    DotGeneralOp: _multiplies,
    TakeOp: looks_up,
    GatherOp: looks_up,
    ScatterReduceOp: scatters_elements,
    ScatterAddOp: scatters_windows,
    SegmentReduceOp: reduces_segments,
    DynamicSliceOp: windows,
    DynamicUpdateSliceOp: windows,
    DimensionSizeOp: _measures,
    ReduceWindowOp: reduces_windows,
    WindowArgOp: finds_in_windows,
    ExtractPatchesOp: extracts,
    ConvolutionOp: convolves,
    FftOp: transforms,
    TileOp: repeats,
    RngUniformOp: draws,
    RngNormalOp: draws,
    GatherWindowsOp: looks_up_windows,
    ScatterWindowsOp: scatters_into_windows,
    RaggedDotOp: _multiplies_groups,
    QuantizeOp: _stays,
    DequantizeOp: _stays,
    RequantizeOp: _stays,
    BitcastOp: _stays,
}
"""What becomes of tails, by class of op, or by a class that it is of; of other ops it is not known."""

WITHOUT_ROW: dict[type[PtirOp], str] = {
    CustomCallOp: "is code of its own, of which nothing is known",
    FusionOp: "holds ops that are masked before they are fused",
}
"""Why an op has no row. Branches and loops are those of their regions, `tail_regions.py`."""
