"""
Dimensions that only the run knows: what has to be checked there, and which names get their sizes where.

A rule of `ptir_shapes` lets pass what only may be wrong. Where operands are dynamic the rule is asked again with their sizes,
unless it could not fail: array libraries would broadcast or clip instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

from mind_dialect import ptir, ptir_shapes
from mind_dialect.declared_dims import facts_around
from mind_dialect.extents.dims import Dim, are_equal, is_nonnegative, mul_dims, sub_dims, under
from mind_dialect.ptir import PtirOp
from mind_dialect.ptir.attributes import DIM
from mind_dialect.ptir.types import read_type
from mind_dialect.ptir_shapes import INFER, UNKNOWN, Dims, holds

from .xp.arguments import SizeArgument

CANNOT_FAIL = (
    *(ptir.UnaryOp, ptir.ReduceOp, ptir.TransposeOp, ptir.TakeOp, ptir.ReverseOp),
    *(ptir.CumulativeSumOp, ptir.CumulativeOp, ptir.SortOp, ptir.ReduceWindowOp, ptir.ExtractPatchesOp, ptir.CustomCallOp),
    *(ptir.WindowArgOp, ptir.DimensionSizeOp),
)
"""Ops whose rule holds for any sizes of the dimensions that are dynamic."""


def needs_check(op: PtirOp, declared: bool = False) -> bool:
    """
    Return whether the sizes that a run finds may break the op's rule.

    What the function declares counts only where the caller says that it is checked: code that is printed runs without a guard.
    """
    shapes = [read_type(v.type).shape for v in op.operands]
    if not op.stated_dims() and not any(isinstance(d, str) for shape in shapes for d in shape):
        return False
    if isinstance(op, CANNOT_FAIL):
        return False
    with under(lambda: facts_around(op, declared)):
        return not _is_proven(op, shapes)


def _are_equal(shapes: Sequence[Dims]) -> bool:
    first = shapes[0] if shapes else (UNKNOWN,)
    return all(len(s) == len(first) and all(map(are_equal, first, s)) for s in shapes)


def _is_proven(op: PtirOp, shapes: Sequence[Dims]) -> bool:
    """Return whether shapes are equal, the bounds of a part inside, or a stated shape right, for all sizes of names."""
    values = op.values()
    match op:
        case ptir.BinaryOp() | ptir.SelectOp() | ptir.ClampOp():
            return _are_equal(shapes)
        case ptir.SliceOp():
            return all(map(holds, values["starts"], values["sizes"], op.operand_spec(0).shape))
        case ptir.StridedSliceOp():
            sizes = map(sub_dims, values["limits"], values["starts"])
            return all(map(holds, values["starts"], sizes, op.operand_spec(0).shape))
        case ptir.PadOp():
            return all(map(is_nonnegative, (*values["low"], *values["high"])))
        case ptir.TileOp():
            return all(map(is_nonnegative, values["repeats"]))
        case ptir.TopKOp():
            axis: int = values["axis"]
            return holds(0, values["k"], op.operand_spec(0).shape[axis])
        case ptir.IotaOp() | ptir.RandomOp():
            return all(map(is_nonnegative, values["shape"]))
        case ptir.BroadcastToOp():
            shape, target = op.operand_spec(0).shape, values["result_shape"]
            fits = all(m == 1 or are_equal(m, n) for m, n in zip(shape, target[len(target) - len(shape) :], strict=True))
            return fits and all(map(is_nonnegative, target))
        case ptir.ReshapeOp():
            stated = values["new_shape"]
            known = INFER not in stated and all(map(is_nonnegative, stated))
            return known and are_equal(_count(shapes[0]), _count(stated)) is True
        case ptir.ConcatOp():
            axis = ptir_shapes.axis(values["axis"], len(shapes[0]))
            return _are_equal([(*shape[:axis], 0, *shape[axis + 1 :]) for shape in shapes])
        case ptir.DotGeneralOp():
            sides = (("contract_lhs", "batch_lhs"), ("contract_rhs", "batch_rhs"))
            axes: list[list[int]] = [[i for name in side for i in values[name]] for side in sides]
            return all(are_equal(shapes[0][i], shapes[1][j]) for i, j in zip(axes[0], axes[1], strict=True))
        case _:
            return False


def _count(shape: Dims) -> Dim:
    """The number of elements."""
    return reduce(mul_dims, shape, 1)


def rule_arguments(op: PtirOp) -> dict[str, Any]:
    """The properties that the op's rule takes."""
    values = op.values()
    taken = values if op.RULE_TAKES is None else {name: values[name] for name in op.RULE_TAKES}
    single = {name for name, codec in op.CODECS.items() if codec is DIM}
    given = {name: SizeArgument(v) if name in single and isinstance(v, str) else v for name, v in taken.items()}
    return {name: v for name, v in given.items() if v is not None}


def claims(op: PtirOp) -> list[tuple[int, Dims]]:
    """For each result whose type says more than the rule: its number and dimensions."""
    declared = [read_type(v.type) for v in op.results]
    if all(spec.is_static for spec in declared) and all(read_type(v.type).is_static for v in op.operands):
        return []
    inferred = op.infer_all([read_type(v.type) for v in op.operands], op.values(), op.regions, declared)
    return [(i, d.shape) for i, (d, n) in enumerate(zip(declared, inferred, strict=True)) if d.shape != n.shape]
