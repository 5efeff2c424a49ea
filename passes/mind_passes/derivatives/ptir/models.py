"""
The derivatives of sorting, quantisation and random numbers.

What is put in order is a permutation, or a part of one, of its elements: tangents follow by the indices, adjoints go back by
them. Integers do not vary, so of quantised numbers only the scale that makes them real has an adjoint. Random numbers depend on
nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from mind_dialect import ptir
from mind_dialect.ptir.types import SI64, tensor_type
from mind_dialect.ptir_shapes import axis

from ...ptir.construct import Value, dims, full, mul, reduce_sum, spec
from ..rules import Rules
from ..walks import FLAT, ForwardRow, Row
from .indexing import gathered, scattered
from .shared import applied, zeros


def order(op: ptir.SortOp) -> SSAValue:
    """Return the source of each element of the result: all of them, best first, are the sorted ones. E5006 without a name."""
    shape, values = dims(op.x), op.values()
    n = shape[axis(values["axis"], len(shape))]
    properties = {"k": n, "axis": values["axis"], "largest": values["descending"], "indices_dtype": SI64}
    types = [op.x.type, tensor_type(SI64, shape)]
    return ptir.TopKOp.create(operands=[op.x], properties=ptir.TopKOp.store_properties(properties), result_types=types).results[1]


def along(op: ptir.TopKOp | ptir.SortOp) -> int:
    return op.values()["axis"]


def sort_tangent(op: ptir.SortOp, ts: Sequence[SSAValue | None]) -> Value:
    (t,) = ts
    assert t is not None
    return gathered(t, order(op), along(op))


def top_k_tangent(op: ptir.TopKOp, ts: Sequence[SSAValue | None]) -> Value:
    (t,) = ts
    assert t is not None
    return gathered(t, op.indices, along(op))


def nothing(op: Operation) -> Rules:
    """No gradient, however many operands."""
    return (None,) * len(op.operands)


def dequantize_rules(op: ptir.DequantizeOp) -> Rules:
    return (None,) if len(op.operands) == 1 else (None, scale_adjoint, None)


def scale_adjoint(op: ptir.DequantizeOp, g: SSAValue) -> Value:
    """The sum of `g (x - zero_point)` over what has the scale in common; the difference is x dequantised with scale 1."""
    scale, a = op.operands[1], op.values()["axis"]
    shape = spec(op.x).shape
    kept = () if a is None else (axis(a, len(shape)),)
    return reduce_sum(mul(g, applied(op, {1: full(1.0, scale)})), [i for i in range(len(shape)) if i not in kept])


def dequantize_tangent(op: ptir.DequantizeOp, ts: Sequence[SSAValue | None]) -> Value:
    """With the tangent of the scale as scale."""
    t = ts[1]
    assert t is not None
    return applied(op, {1: t})


REVERSE: dict[type[Operation], Row] = {
    ptir.RngUniformOp: (),
    ptir.RngNormalOp: (),
    ptir.TopKOp: (lambda op, g: scattered("add", zeros(op.x), op.indices, g, along(op)),),
    ptir.QuantizeOp: nothing,
    ptir.DequantizeOp: dequantize_rules,
    ptir.RequantizeOp: nothing,
    ptir.SortOp: (lambda op, g: scattered("add", zeros(op.x), order(op), g, along(op)),),
}
FORWARD: dict[type[Operation], ForwardRow] = {
    ptir.RngUniformOp: FLAT,
    ptir.RngNormalOp: FLAT,
    ptir.TopKOp: top_k_tangent,
    ptir.QuantizeOp: FLAT,
    ptir.DequantizeOp: dequantize_tangent,
    ptir.RequantizeOp: FLAT,
    ptir.SortOp: sort_tangent,
}
