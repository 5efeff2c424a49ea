"""
The derivatives of what moves, repeats or numbers elements.

These ops are linear: forward mode applies the op to the tangent, reverse mode its transpose. Extents may be names; where parts
begin and end are expressions of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.ir import Operation, SSAValue

from mind_dialect import ptir
from mind_dialect.errors import error
from mind_dialect.extents.dims import add_dims
from mind_dialect.ptir_shapes import UNKNOWN, Dim, axes, axis
from mind_dialect.shapes import inverse_permutation

from ...ptir.construct import dims, full, make, reduce_sum, reshape, reshape_like, spec, transpose
from ...ptir.parts import AxisSlice, pad, place, stated, window
from ..rules import Rules, Value, linear
from ..walks import FLAT, ForwardRow, Row


def transpose_x(op: ptir.TransposeOp, g: SSAValue) -> Value:
    perm = op.values()["perm"]
    return transpose(g, inverse_permutation(axes(perm, len(perm))))


def broadcast_x(op: ptir.BroadcastToOp, g: SSAValue) -> Value:
    """The sum over what was repeated: axes that came in front, and axes of extent 1 that were stretched."""
    x, target = spec(op.x).shape, op.result_spec().shape
    lead = len(target) - len(x)
    for m, n in zip(x, target[lead:], strict=True):
        if isinstance(m, str) and m != n:
            message = f"cannot tell whether broadcast_to repeats dimension {m} of {list(x)}, which becomes {n}; expected one name"
            raise error("E5006", message, operation=op, type=str(op.x.type))
    prepended = tuple(range(lead))
    stretched = tuple(lead + a for a, m in enumerate(x) if m == 1 and target[lead + a] != 1)
    if not (prepended and stretched):
        return reduce_sum(g, prepended or stretched, keepdims=bool(stretched))
    return reshape(reduce_sum(g, (*prepended, *stretched)), x)


def concat_rules(op: ptir.ConcatOp) -> Rules:
    """For each operand, its part of the adjoint."""
    return tuple(lambda op, g, i=i: concat_part(op, i, g) for i in range(len(op.operands)))


def concat_part(op: ptir.ConcatOp, i: int, g: SSAValue) -> Value:
    a = axis(op.values()["axis"], len(spec(g).shape))
    before: Dim = 0
    for x in op.operands[:i]:
        before = add_dims(before, dims(x)[a])
    return window(g, {a: AxisSlice(stated(before, g), dims(op.operands[i])[a])})


def concat_tangent(op: ptir.ConcatOp, ts: Sequence[SSAValue | None]) -> Value:
    """The tangents one after the other, zeros for what does not vary."""
    parts = [full(0.0, x) if t is None else t for x, t in zip(op.operands, ts, strict=True)]
    return make(ptir.ConcatOp, *parts, type=op.result.type, **op.values())


def pad_x(op: ptir.PadOp, g: SSAValue) -> Value:
    values, shape = op.values(), spec(op.x).shape
    edges = enumerate(zip(values["low"], values["high"], values["interior"], strict=True))
    padded = [a for a, each in edges if any(each)]
    if any(shape[a] == UNKNOWN for a in padded):
        shape = dims(op.x)
    return window(g, {a: AxisSlice(values["low"][a], shape[a], 1 + values["interior"][a]) for a in padded})


def pad_tangent(op: ptir.PadOp, ts: Sequence[SSAValue | None]) -> Value:
    """The tangent padded with zeros: the padding is constant."""
    (t,) = ts
    assert t is not None
    values = op.values()
    return pad(t, values["low"], values["high"], values["interior"], type=op.result.type)


def slice_x(op: ptir.SliceOp, g: SSAValue) -> Value:
    starts = op.values()["starts"]
    return place(g, starts, (1,) * len(starts), dims(op.x))


def strided_slice_x(op: ptir.StridedSliceOp, g: SSAValue) -> Value:
    values = op.values()
    return place(g, values["starts"], values["strides"], dims(op.x))


def tile_x(op: ptir.TileOp, g: SSAValue) -> Value:
    """The sum over the repetitions, each on an axis of its own in front of the axis that it repeats."""
    shape: list[Any] = []
    repeated: list[int] = []
    for n, repeats in zip(dims(op.x), op.values()["repeats"], strict=True):
        if repeats != 1:
            repeated.append(len(shape))
            shape.append(repeats)
        shape.append(n)
    return reduce_sum(reshape(g, shape), repeated)


REVERSE: dict[type[Operation], Row] = {
    ptir.ReshapeOp: (lambda op, g: reshape_like(g, op.x),),
    ptir.TransposeOp: (transpose_x,),
    ptir.BroadcastToOp: (broadcast_x,),
    ptir.SliceOp: (slice_x,),
    ptir.ConcatOp: concat_rules,
    ptir.PadOp: (pad_x,),
    ptir.TileOp: (tile_x,),
    ptir.IotaOp: (),
    ptir.DimensionSizeOp: (None,),
    ptir.ReverseOp: (lambda op, g: make(ptir.ReverseOp, g, axes=op.values()["axes"]),),
    ptir.StridedSliceOp: (strided_slice_x,),
}
FORWARD: dict[type[Operation], ForwardRow] = {
    ptir.ReshapeOp: linear(0),
    ptir.TransposeOp: linear(0),
    ptir.BroadcastToOp: linear(0),
    ptir.SliceOp: linear(0),
    ptir.ConcatOp: concat_tangent,
    ptir.PadOp: pad_tangent,
    ptir.TileOp: linear(0),
    ptir.IotaOp: FLAT,
    ptir.DimensionSizeOp: FLAT,
    ptir.ReverseOp: linear(0),
    ptir.StridedSliceOp: linear(0),
}
