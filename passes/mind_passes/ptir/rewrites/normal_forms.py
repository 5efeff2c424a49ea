"""
The normal form of properties: axes count from the front, those without an order ascend, defaults are left out.

One spelling of each op lets `ptir-cse` find equal ops and keeps the patterns of `ptir-recognize` few. Negative axes are of our
API; the serialised forms have none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mind_dialect import ptir
from mind_dialect import ptir_shapes as shapes
from mind_dialect.ptir.legal import default_accumulator
from mind_dialect.ptir.windows_at import GATHER_DIMS, SCATTER_DIMS
from mind_dialect.ptir_shapes import UNKNOWN

from ..building import is_known, spec_of

Values = Mapping[str, Any]
Form = Callable[[Any, Values], Values]
"""From an op and its properties to those that should be otherwise."""


def _rank(op: ptir.PtirOp, i: int = 0) -> int:
    return len(spec_of(op.operands[i]).shape)


def _axis(name: str) -> Form:
    """One axis of the first operand, or of the result of an op without operands."""

    def form(op: ptir.PtirOp, values: Values) -> Values:
        if values[name] is None:
            return {}
        rank = _rank(op) if op.operands else len(spec_of(op.results[0]).shape)
        return {name: shapes.axis(values[name], rank)}

    return form


def _dtypes(op: ptir.PtirOp, values: Values) -> Values:
    """Leave out the dtypes that an op accumulates in and gives where they are the default."""
    dtype = spec_of(op.operands[0]).dtype
    accumulator, result = values["accum_dtype"], values.get("out_dtype")
    changed: dict[str, Any] = {"accum_dtype": None if accumulator is default_accumulator(dtype) else accumulator}
    return changed if "out_dtype" not in values else {**changed, "out_dtype": None if result is dtype else result}


def _reduce(op: ptir.ReduceOp, values: Values) -> Values:
    return {"axes": tuple(sorted(shapes.axes(values["axes"], _rank(op)))), **_dtypes(op, values)}


def _dot_general(op: ptir.DotGeneralOp, values: Values) -> Values:
    """The order of the batch axes is that of the result; the pairs of contracted axes go by those of lhs."""
    left, right = _rank(op, 0), _rank(op, 1)
    contracted = sorted(zip(shapes.axes(values["contract_lhs"], left), shapes.axes(values["contract_rhs"], right), strict=True))
    return {
        "batch_lhs": shapes.axes(values["batch_lhs"], left),
        "batch_rhs": shapes.axes(values["batch_rhs"], right),
        "contract_lhs": tuple(a for a, _ in contracted),
        "contract_rhs": tuple(b for _, b in contracted),
        **_dtypes(op, values),
    }


def _reshape(op: ptir.ReshapeOp, values: Values) -> Values:
    """The extents themselves instead of -1, where the operand decides them."""
    shape = spec_of(op.results[0]).shape
    known = is_known(op) and shapes.reshape(spec_of(op.x).shape, new_shape=values["new_shape"]) == shape
    return {"new_shape": shape} if known and UNKNOWN not in shape else {}


def _scatter_add(op: ptir.ScatterAddOp, values: Values) -> Values:
    rank = _rank(op)
    return {
        "update_window_dims": tuple(sorted(shapes.axes(values["update_window_dims"], _rank(op, 2)))),
        "inserted_window_dims": tuple(sorted(shapes.axes(values["inserted_window_dims"], rank))),
        "scatter_dims_to_operand_dims": shapes.axes(values["scatter_dims_to_operand_dims"], rank),
    }


_OF_INDICES = frozenset({"start_indices_batching_dims", "scatter_indices_batching_dims"})


def _windows_at(op: ptir.GatherWindowsOp | ptir.ScatterWindowsOp, values: Values) -> Values:
    """Every dimension number counted from 0."""
    names = [name for name in (*GATHER_DIMS, *SCATTER_DIMS) if name in values and name != "index_vector_dim"]
    result = _rank(op, 2) if isinstance(op, ptir.ScatterWindowsOp) else len(spec_of(op.results[0]).shape)
    ranks = {name: _rank(op, 1) if name in _OF_INDICES else _rank(op) for name in names}
    ranks |= {name: result for name in names if name in ("offset_dims", "update_window_dims")}
    return {name: shapes.axes(values[name], ranks[name]) for name in names}


NORMAL_FORMS: dict[type[ptir.PtirOp], Form] = {
    ptir.ReduceOp: _reduce,
    ptir.ArgMaxOp: _axis("axis"),
    ptir.ArgMinOp: _axis("axis"),
    ptir.DotGeneralOp: _dot_general,
    ptir.ReshapeOp: _reshape,
    ptir.TransposeOp: lambda op, values: {"perm": shapes.axes(values["perm"], _rank(op))},
    ptir.ConcatOp: _axis("axis"),
    ptir.DimensionSizeOp: _axis("axis"),
    ptir.IotaOp: _axis("axis"),
    ptir.GatherOp: _axis("axis"),
    ptir.ScatterAddOp: _scatter_add,
    ptir.GatherWindowsOp: _windows_at,
    ptir.ScatterWindowsOp: _windows_at,
    ptir.ScatterReduceOp: _axis("axis"),
    ptir.LayerNormOp: _axis("feature_axis"),
    ptir.ReduceWindowOp: _dtypes,
    ptir.TopKOp: _axis("axis"),
    ptir.SegmentReduceOp: _dtypes,
    ptir.RaggedDotOp: _dtypes,
    ptir.QuantizeOp: _axis("axis"),
    ptir.DequantizeOp: _axis("axis"),
    ptir.RequantizeOp: _axis("axis"),
    ptir.CumulativeSumOp: _axis("axis"),
    ptir.CumulativeOp: _axis("axis"),
    ptir.SortOp: _axis("axis"),
    ptir.ReverseOp: lambda op, values: {"axes": tuple(sorted(shapes.axes(values["axes"], _rank(op))))},
    ptir.ConvolutionOp: _dtypes,
}
"""Other ops have no axes, no defaults, or one spelling."""


def normalize(op: ptir.PtirOp) -> bool:
    """Bring the properties of a verified op into normal form; whether they were not."""
    form = NORMAL_FORMS.get(type(op))
    if form is None:
        return False
    values = op.values()
    wanted = {**values, **form(op, values)}
    if wanted == values:
        return False
    op.properties = op.store_properties(wanted)
    return True
