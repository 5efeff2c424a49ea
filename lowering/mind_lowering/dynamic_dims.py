"""
Dimensions that only the run knows: what has to be checked there, and which names get their sizes where.

A rule of `ptir_shapes` lets pass what only may be wrong. Where operands are dynamic the rule is asked again with their sizes,
unless it could not fail: array libraries would broadcast or clip instead.
"""

from __future__ import annotations

from typing import Any

from mind_dialect import ptir
from mind_dialect.extents.dims import is_nonnegative, sub_dims
from mind_dialect.ptir import PtirOp
from mind_dialect.ptir.types import read_type
from mind_dialect.ptir_shapes import UNKNOWN, Dims, holds

CANNOT_FAIL = (
    *(ptir.UnaryOp, ptir.ReduceOp, ptir.TransposeOp, ptir.TileOp, ptir.TakeOp, ptir.ReverseOp),
    *(ptir.CumulativeSumOp, ptir.CumulativeOp, ptir.SortOp, ptir.ReduceWindowOp, ptir.ExtractPatchesOp, ptir.CustomCallOp),
    *(ptir.WindowArgOp, ptir.DimensionSizeOp),
)
"""Ops whose rule holds for any sizes of the dimensions that are dynamic."""
_BOUNDED = (ptir.SliceOp, ptir.StridedSliceOp, ptir.PadOp)
_SAME_SHAPE = (ptir.BinaryOp, ptir.SelectOp, ptir.ClampOp)


def needs_check(op: PtirOp) -> bool:
    """Whether the sizes that a run finds may break the op's rule."""
    shapes = [read_type(v.type).shape for v in op.operands]
    stated = op.stated_dims().values() if isinstance(op, _BOUNDED) else ()
    if not any(isinstance(d, str) for shape in (*shapes, *stated) for d in shape):
        return False
    if isinstance(op, CANNOT_FAIL) or _is_proven(op):
        return False
    known = all(shape == shapes[0] for shape in shapes) and UNKNOWN not in shapes[0]
    return not (isinstance(op, _SAME_SHAPE) and known)


def _is_proven(op: PtirOp) -> bool:
    """Whether the bounds of a slice or pad are right for all sizes of names."""
    values = op.values()
    if isinstance(op, ptir.PadOp):
        return all(map(is_nonnegative, (*values["low"], *values["high"])))
    if isinstance(op, ptir.StridedSliceOp):
        values["sizes"] = tuple(map(sub_dims, values["limits"], values["starts"]))
    elif not isinstance(op, ptir.SliceOp):
        return False
    return all(map(holds, values["starts"], values["sizes"], op.operand_spec(0).shape))


def rule_arguments(op: PtirOp) -> dict[str, Any]:
    """The properties that the op's rule takes."""
    values = op.values()
    taken = values if op.RULE_TAKES is None else {name: values[name] for name in op.RULE_TAKES}
    return {name: v for name, v in taken.items() if v is not None}


def claims(op: PtirOp) -> list[tuple[int, Dims]]:
    """For each result whose type says more than the rule: its number and dimensions."""
    declared = [read_type(v.type) for v in op.results]
    if all(spec.is_static for spec in declared) and all(read_type(v.type).is_static for v in op.operands):
        return []
    inferred = op.infer_all([read_type(v.type) for v in op.operands], op.values(), op.regions, declared)
    return [(i, d.shape) for i, (d, n) in enumerate(zip(declared, inferred, strict=True)) if d.shape != n.shape]
