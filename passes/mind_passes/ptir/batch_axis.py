"""
Table of the ops that treat the examples of a batch, which lie along axis 0, each by itself: `f(x)[part] = f(x[part])`.

`CUT` has a rule for each op that does so for some of its properties. A rule says which operands a part of the batch needs a part
of, and which as a whole, such as weights. `TOGETHER` has the reason for each other op. Operands and results are static; extents
along axis 0 are multiples of the number of examples, of which each is a run of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.ptir import FUSIBLE, PtirLiteralAttr, PtirOp
from mind_dialect.ptir.types import tensor_type

from .building import axes_of_reduction, in_place_of, of_one_shape, spec_of
from .construct import static

Cut = tuple[bool, ...]
"""For each operand, whether a part of it is needed."""
Rule = Callable[[Any], Cut | None]
"""From an op to the parts of its operands, or None where the op does not treat each example by itself."""


def cut_of(op: PtirOp, examples: int) -> Cut | None:
    """
    Return which operands of an op a part of `examples` examples needs a part of.

    None for an op that does not treat each example by itself, or has other than one static result of as many examples.
    """
    rule = CUT.get(type(op))
    if rule is None or len(op.results) != 1 or not all(spec_of(v).is_static for v in (*op.operands, *op.results)):
        return None
    if not is_batch(op.results[0], examples):
        return None
    found = rule(op)
    if found is None or not all(is_batch(v, examples) for v, cut in zip(op.operands, found, strict=True) if cut):
        return None
    return found


def is_batch(value: SSAValue, examples: int) -> bool:
    """Return whether axis 0 of a static value can hold runs of rows of `examples` examples."""
    shape = spec_of(value).shape
    return bool(shape) and isinstance(shape[0], int) and shape[0] > 0 and shape[0] % examples == 0


def part_shape(value: SSAValue, parts: int) -> tuple[int, ...]:
    """Return the shape of one of some equal parts of a static value."""
    first, *rest = static(value)
    return (first // parts, *rest)


def for_part(op: PtirOp, operands: Sequence[SSAValue], parts: int) -> PtirOp:
    """Return `op`, for which `cut_of` has parts, for one of `parts` equal parts of its batch."""
    shape = part_shape(op.results[0], parts)
    values = op.values()
    if type(op) in _EXTENTS:
        values = {**values, **_EXTENTS[type(op)](op, shape)}
    made = in_place_of(op, type(op), *operands, type=tensor_type(spec_of(op.results[0]).dtype, shape), **values)
    made.results[0].name_hint = op.results[0].name_hint
    return made


def _each(op: PtirOp) -> Cut | None:
    return (True,) * len(op.operands) if of_one_shape(op) else None


def _first(_: PtirOp) -> Cut:
    return (True,)


def _not_along(op: Any) -> Cut | None:
    """Of an op along one axis, which must be another one."""
    return (True,) if op.values()["axis"] % len(spec_of(op.x).shape) else None


def _fill(op: ptir.ConstantOp) -> Cut | None:
    return () if op.literal.is_fill else None


def _iota(op: ptir.IotaOp) -> Cut | None:
    return () if op.values()["axis"] % len(spec_of(op.result).shape) else None


def _broadcast(op: ptir.BroadcastToOp) -> Cut:
    source, target = spec_of(op.x).shape, spec_of(op.result).shape
    return (len(source) == len(target) and source[0] == target[0],)


def _transpose(op: ptir.TransposeOp) -> Cut | None:
    return None if op.values()["perm"][0] % len(spec_of(op.x).shape) else (True,)


def _reduce(op: ptir.ReduceOp) -> Cut | None:
    return None if 0 in axes_of_reduction(op) else (True,)


def _convolution(_: ptir.ConvolutionOp) -> Cut:
    return (True, False)


def _dot_general(op: ptir.DotGeneralOp) -> Cut | None:
    """Axis 0 of the result is the first batch axis, or the first axis of the left operand that is not contracted."""
    values, rank = op.values(), len(spec_of(op.lhs).shape)
    if values["batch_lhs"]:
        firsts = values["batch_lhs"][0] % rank, values["batch_rhs"][0] % len(spec_of(op.rhs).shape)
        return (True, True) if firsts == (0, 0) else None
    return None if 0 in {a % rank for a in values["contract_lhs"]} else (True, False)


def _windows(op: ptir.ReduceWindowOp) -> Cut | None:
    values = op.values()
    steps = [values[name][0] for name in ("window_dims", "strides", "base_dilation")]
    return (True,) if steps == [1, 1, 1] and tuple(values["padding"][0]) == (0, 0) else None


def _pad(op: ptir.PadOp) -> Cut | None:
    values = op.values()
    return (True,) if values["low"][0] == values["high"][0] == values["interior"][0] == 0 else None


def _slice(op: ptir.SliceOp) -> Cut | None:
    return (True,) if op.values()["sizes"][0] == spec_of(op.x).shape[0] else None


def _strided_slice(op: ptir.StridedSliceOp) -> Cut | None:
    values = op.values()
    whole = (values["starts"][0], values["limits"][0], values["strides"][0]) == (0, spec_of(op.x).shape[0], 1)
    return (True,) if whole else None


def _concat(op: ptir.ConcatOp) -> Cut | None:
    return (True,) * len(op.operands) if op.values()["axis"] % len(spec_of(op.operands[0]).shape) else None


def _reverse(op: ptir.ReverseOp) -> Cut | None:
    rank = len(spec_of(op.x).shape)
    return None if 0 in {a % rank for a in op.values()["axes"]} else (True,)


def _tile(op: ptir.TileOp) -> Cut | None:
    repeats = op.values()["repeats"]
    return (True,) if len(repeats) == len(spec_of(op.x).shape) and repeats[0] == 1 else None


def _layer_norm(op: ptir.LayerNormOp) -> Cut | None:
    return (True, False, False) if op.values()["feature_axis"] % len(spec_of(op.x).shape) else None


_ELEMENTWISE = [cls for cls, how in FUSIBLE.items() if how == "elementwise" and issubclass(cls, PtirOp)]
_COMPLEX = (ptir.ComplexOp, ptir.RealOp, ptir.ImagOp, ptir.ConjOp, ptir.DigammaOp)
_ALONG = (ptir.ArgMaxOp, ptir.ArgMinOp, ptir.CumulativeSumOp, ptir.CumulativeOp, ptir.SortOp)
_EACH: dict[type[PtirOp], Rule] = dict.fromkeys((*_ELEMENTWISE, *_COMPLEX), _each)
CUT: Mapping[type[PtirOp], Rule] = {
    **_EACH,
    **dict.fromkeys(_ALONG, _not_along),
    **dict.fromkeys((ptir.ReshapeOp, ptir.ExtractPatchesOp), _first),
    ptir.ConstantOp: _fill,
    ptir.IotaOp: _iota,
    ptir.BroadcastToOp: _broadcast,
    ptir.TransposeOp: _transpose,
    ptir.ReduceOp: _reduce,
    ptir.ConvolutionOp: _convolution,
    ptir.DotGeneralOp: _dot_general,
    ptir.PadOp: _pad,
    ptir.SliceOp: _slice,
    ptir.StridedSliceOp: _strided_slice,
    ptir.ReduceWindowOp: _windows,
    ptir.ConcatOp: _concat,
    ptir.ReverseOp: _reverse,
    ptir.TileOp: _tile,
    ptir.LayerNormOp: _layer_norm,
}
_REGION = "an op with regions: its body would be cut in turn"
_FAILS = "an index out of bounds would fail in another order"
_PLACES = "indices are places in the whole operand"
TOGETHER: Mapping[type[PtirOp], str] = {
    **dict.fromkeys((ptir.CondOp, ptir.WhileOp, ptir.ScanOp, ptir.FusionOp), _REGION),
    **dict.fromkeys((ptir.TakeOp, ptir.GatherOp, ptir.GatherWindowsOp, ptir.DynamicSliceOp), _FAILS),
    **dict.fromkeys((ptir.ScatterAddOp, ptir.ScatterReduceOp, ptir.ScatterWindowsOp, ptir.DynamicUpdateSliceOp), _PLACES),
    **dict.fromkeys((ptir.SegmentReduceOp, ptir.RaggedDotOp), "segments are of any number of rows"),
    **dict.fromkeys((ptir.RngUniformOp, ptir.RngNormalOp), "numbers depend on the place in the whole result"),
    **dict.fromkeys((ptir.QuantizeOp, ptir.DequantizeOp, ptir.RequantizeOp), "expanded into elementwise ops before"),
    ptir.TopKOp: "two results",
    ptir.WindowArgOp: "its results are places in the whole operand",
    ptir.FftOp: "no kernel to gain anything from a part",
    ptir.DimensionSizeOp: "a size of the whole batch",
    ptir.CustomCallOp: "what somebody's kernel does is not known",
    ptir.YieldOp: "the end of a region",
}
"""Reasons why ops are not cut."""


def _fill_of(op: ptir.ConstantOp, shape: tuple[int, ...]) -> dict[str, Any]:
    return {"value": PtirLiteralAttr(tensor_type(spec_of(op.result).dtype, shape), op.literal.data)}


_EXTENTS: Mapping[type[PtirOp], Callable[[Any, tuple[int, ...]], dict[str, Any]]] = {
    ptir.ConstantOp: _fill_of,
    ptir.IotaOp: lambda _, shape: {"shape": shape},
    ptir.ReshapeOp: lambda _, shape: {"new_shape": shape},
    ptir.BroadcastToOp: lambda _, shape: {"result_shape": shape},
    ptir.SliceOp: lambda _, shape: {"sizes": shape},
    ptir.StridedSliceOp: lambda op, shape: {"limits": (shape[0], *op.values()["limits"][1:])},
}
"""The properties that say extents, for a result of a shape."""
