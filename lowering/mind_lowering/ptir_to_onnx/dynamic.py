"""
Dimensions with names in ONNX: what may have them, and sizes that the model computes from the shapes of its inputs.

An operator of ONNX broadcasts sizes of 1 and counts negative bounds from the end, where PTIR refuses them, and a model cannot say
what must hold. So an op is exported only if no sizes break its rule: names and declarations prove that, or it is refused.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.func import FuncOp

from mind_dialect import ptir
from mind_dialect.declared_dims import declarations_of
from mind_dialect.extents.dims import is_expression
from mind_dialect.extents.solutions import SIZE, solutions
from mind_dialect.ptir import PtirOp
from mind_dialect.ptir.types import read_type
from mind_dialect.ptir_shapes import UNKNOWN, Dim

from ..dynamic_dims import are_given, claims, dims_of, needs_check, sizes_of
from . import scalars
from .builder import OnnxBuilder

SIZED = (*(ptir.ReshapeOp, ptir.BroadcastToOp, ptir.SliceOp, ptir.StridedSliceOp, ptir.PadOp, ptir.DimensionSizeOp),)
"""Ops whose operators take sizes as operands."""
DYNAMIC = (
    *(*SIZED, *scalars.RULES, ptir.UnaryOp, ptir.BinaryOp, ptir.ClampOp, ptir.StopGradientOp, ptir.ConstantOp, ptir.TransposeOp),
    *(ptir.ConcatOp, ptir.ReduceOp, ptir.DotGeneralOp, ptir.LayerNormOp, ptir.ReverseOp, ptir.TileOp, ptir.CumulativeSumOp),
)
"""Ops that may have dimensions without a size."""


def dynamic_refusal(op: PtirOp) -> str | None:
    """Return why an op cannot have the dynamic dimensions that it has, if it has any."""
    if not any(isinstance(d, str) for d in dims_of(op)):
        return None
    if not isinstance(op, DYNAMIC) or (isinstance(op, ptir.PadOp) and any(op.values()["interior"])):
        return "on dynamic dimensions"
    if needs_check(op, declared=True) or claims(op):
        return "on dimensions that may not fit: ONNX would broadcast or clip; declare facts in mind.dims that exclude this"
    first = next((read_type(v.type).shape for v in (*op.operands, *op.results)), ())
    if not isinstance(op, SIZED) and 0 not in first:
        return None
    return None if are_given(op, sizes_of(op)) else "with a dimension whose size no input determines"


def bind(b: OnnxBuilder, inputs: Sequence[tuple[str, Sequence[Dim]]]) -> None:
    """Give names of dimensions their sizes, from the shapes of inputs, each a vector of one element."""
    shapes = [dims for _, dims in inputs]
    for value, dims in inputs:
        for axis, dim in enumerate(dims):
            if isinstance(dim, str) and dim != UNKNOWN and not is_expression(dim) and dim not in b.dims:
                b.dims[dim] = b("Shape", value, start=axis, end=axis + 1)
    for found in solutions(shapes):
        size = b("Shape", inputs[found.shape][0], start=found.axis, end=found.axis + 1)
        b.dims[found.name] = b.expression(found.size, {**b.dims, SIZE: size})


def not_exported(func: FuncOp) -> str:
    """Return what a function declares of sizes that a model cannot say, in one line; empty if nothing is."""
    texts = [found.text for found in declarations_of(func)]
    return f"facts not exported: {'; '.join(texts)}" if texts else ""


def as_scalar(b: OnnxBuilder, vector: str) -> str:
    """Return a vector of one element as a number."""
    return b("Reshape", vector, b.constant(np.array([], np.int64)))
