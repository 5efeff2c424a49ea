"""Ops that the serialised forms lack although the contract describes them, as the ops they consist of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from mind_dialect import ptir
from mind_dialect.dominance import walk
from mind_dialect.ptir.legal import default_accumulator
from mind_dialect.ptir.types import Dims, PtirDType


class _Emitter:
    """The ops made so far, in order."""

    def __init__(self) -> None:
        self.ops: list[Operation] = []

    def __call__(self, op: type[ptir.PtirOp], *operands: SSAValue, **properties: Any) -> SSAValue:
        made = op(*operands, **properties)
        self.ops.append(made)
        return made.results[0]

    def scalar(self, dtype: PtirDType, value: float, shape: Dims) -> SSAValue:
        """One number in every place."""
        constant = ptir.ConstantOp(ptir.PtirLiteralAttr.from_values(dtype, (), (value,)))
        self.ops.append(constant)
        return self(ptir.BroadcastToOp, constant.results[0], result_shape=shape) if shape else constant.results[0]


def _layer_norm(op: ptir.LayerNormOp, emit: _Emitter) -> SSAValue:
    """
    `(x - mean) * rsqrt(variance + epsilon) * gamma + beta`, in f32 where x is narrower.

    The extent along the axis is a sum of ones, so it may be dynamic.
    """
    values = op.values()
    dtype, shape = op.operand_spec(0)
    wide = default_accumulator(dtype)
    x, gamma, beta = [v if wide is dtype else emit(ptir.CastOp, v, dtype=wide) for v in op.operands]
    axis: int = values["feature_axis"] % len(shape)
    along = tuple(n if i == axis else 1 for i, n in enumerate(shape))

    def total(v: SSAValue) -> SSAValue:
        return emit(ptir.ReduceOp, v, kind="sum", axes=(axis,), keepdims=True)

    def spread(v: SSAValue) -> SSAValue:
        return emit(ptir.BroadcastToOp, v, result_shape=shape)

    def laid(v: SSAValue) -> SSAValue:
        """A vector along the axis."""
        if len(shape) - 1 == axis:
            return spread(v)
        return spread(emit(ptir.ReshapeOp, v, new_shape=along))

    narrow = tuple(1 if i == axis else n for i, n in enumerate(shape))
    n = shape[axis]
    if isinstance(n, int):
        count = emit.scalar(wide, float(n), narrow)
    else:
        count = emit(ptir.BroadcastToOp, total(emit.scalar(wide, 1.0, along)), result_shape=narrow)
    centred = emit(ptir.SubOp, x, spread(emit(ptir.DivOp, total(x), count)))
    variance = emit(ptir.DivOp, total(emit(ptir.MulOp, centred, centred)), count)
    scale = emit(ptir.RsqrtOp, emit(ptir.AddOp, variance, emit.scalar(wide, values["epsilon"], narrow)))
    result = emit(ptir.AddOp, emit(ptir.MulOp, emit(ptir.MulOp, centred, spread(scale)), laid(gamma)), laid(beta))
    return result if wide is dtype else emit(ptir.CastOp, result, dtype=dtype)


def _clamp(op: ptir.ClampOp, emit: _Emitter) -> SSAValue:
    """`min(max(x, lo), hi)`."""
    x, lo, hi = op.operands
    return emit(ptir.MinimumOp, emit(ptir.MaximumOp, x, lo), hi)


DECOMPOSITIONS: dict[type[Operation], Callable[[Any, _Emitter], SSAValue]] = {ptir.LayerNormOp: _layer_norm, ptir.ClampOp: _clamp}
"""Emitters of the ops that each op consists of."""


def decompose(module: ModuleOp) -> None:
    """Replace each op of the table in a verified module, in place."""
    found: Sequence[Operation] = [op for op in walk(module) if type(op) in DECOMPOSITIONS]
    for op in found:
        emit = _Emitter()
        result = DECOMPOSITIONS[type(op)](op, emit)
        for made in emit.ops:
            made.location = op.location
        Rewriter.insert_op(emit.ops, InsertPoint.before(op))
        op.results[0].replace_all_uses_with(result)
        op.detach()
        op.erase()


def inline_fusions(module: ModuleOp) -> None:
    """Replace each `ptir.fusion` of a verified module by the ops of its body, in place."""
    for op in [op for op in walk(module) if isinstance(op, ptir.FusionOp)]:
        Rewriter.inline_block(op.body.block, InsertPoint.before(op), op.operands)
        end = op.prev_op
        assert isinstance(end, ptir.YieldOp)
        for old, new in zip(op.results, end.operands, strict=True):
            old.replace_all_uses_with(new)
        Rewriter.erase_op(op)
        Rewriter.erase_op(end)
