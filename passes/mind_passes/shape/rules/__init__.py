"""
The shapes of the results of every op of Core IR and PTIR, in ops of the shape dialect: one table.

The rows of PTIR are derived: the op's own rule of `ptir_shapes` runs on symbolic sizes. The rules of Core IR compute with sizes
only, so that its rows say what extents are, and what they must be to each other; what depends on ranks and properties alone is
judged first, by the op's own rule. Ops with regions are the business of `reify`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from xdsl.ir import Operation

from mind_dialect import core, ptir, shapes
from mind_dialect.core import CoreOp
from mind_dialect.profiles import Profile
from mind_dialect.shapes import MAX_EXTENT

from ..emitter import Emitter, Shape
from .core_ir import CORE
from .derived import derive
from .row import Row

EXEMPT: Mapping[type[Operation], str] = {
    ptir.YieldOp: "ends a region and has no results",
    ptir.CondOp: "structural: which branch runs is data; of both the types are the same",
    ptir.WhileOp: "structural: how often the body runs is data; what it carries keeps its type",
    ptir.ScanOp: "structural: the common extent of axis 0, and the types of the body",
    ptir.FusionOp: "structural: the rules of the ops in its body",
    ptir.CustomCallOp: "structural: its declared types are all that is known",
}
"""The ops without a row, and why; `reify` knows all of them."""
SHAPE_RULES: Mapping[type[Operation], Row] = {
    **CORE,
    **{kind: derive for kind in (*ptir.PTIR_OPS, *ptir.EXTENSION_OPS) if kind not in EXEMPT},
}
Ranks = Sequence[int]


def _ones(op: CoreOp, ranks: Ranks, extra: Mapping[str, Any]) -> None:
    """Every extent 1, which fits wherever anything does."""
    type(op).RULE(*((1,) * rank for rank in ranks), **op.values(), **extra)


def _largest(op: CoreOp, ranks: Ranks, extra: Mapping[str, Any]) -> None:
    type(op).RULE(*((MAX_EXTENT,) * rank for rank in ranks), **op.values(), **extra)


def _empty(op: CoreOp, ranks: Ranks, extra: Mapping[str, Any]) -> None:
    type(op).RULE(*((0,) * rank for rank in ranks), **op.values(), **extra)


def _reshape(op: core.ReshapeOp, ranks: Ranks, extra: Mapping[str, Any]) -> None:
    given = list(op.values()["new_shape"])
    if -1 in given:
        given[given.index(-1)] = 1
    shapes.positive(given)


def _scatter_add(op: core.ScatterAddOp, ranks: Ranks, extra: Mapping[str, Any]) -> None:
    expected = len(shapes.gather(shapes.non_negative(op.values()["shape"]), (1,) * ranks[0]))
    if ranks[1] != expected:
        raise shapes.rank_error(f"{expected} for the updates", ranks[1])


def _convolution_gradient(op: CoreOp, ranks: Ranks, extra: Mapping[str, Any]) -> None:
    given = op.values()
    for rank in (*ranks, len(shapes.non_negative(given["shape"]))):
        if rank != 4:
            raise shapes.rank_error("4", rank)
    ones = (1, 1, 1, 1)
    shapes.conv2d(ones, ones, strides=given["strides"], padding=given["padding"])


_JUDGED: Mapping[type[CoreOp], Callable[..., None]] = {
    core.ReshapeOp: _reshape,
    core.SliceOp: _largest,
    core.ScatterAddOp: _scatter_add,
    core.SliceScatterOp: _empty,
    core.Conv2dBackwardInputOp: _convolution_gradient,
    core.Conv2dBackwardFilterOp: _convolution_gradient,
}


def judge(op: Operation, ranks: Ranks, profile: Profile = Profile.CORE_V1_1) -> None:
    """Raise the coded error of ranks and properties that are wrong whatever the extents."""
    if isinstance(op, CoreOp) and not isinstance(op, core.ScalarConstant | core.ConstantOp):
        extra = {"negative": profile is not Profile.CORE_V1} if op.COUNTS_FROM_END else {}
        _JUDGED.get(type(op), _ones)(op, ranks, extra)


def emit_shapes(e: Emitter, op: Operation, operands: Sequence[Shape], profile: Profile = Profile.CORE_V1_1) -> Sequence[Shape]:
    """Emit the shapes of the results of an op that has a row, given those of its operands."""
    judge(op, [x.rank for x in operands], profile)
    found = SHAPE_RULES[type(op)](e, op, *operands)
    return [found] if isinstance(found, Shape) else found
