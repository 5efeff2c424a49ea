"""Layer norms become fusions of elementwise ops and reductions, for targets that generate kernels from fusions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from mind_dialect import ptir, register
from mind_dialect.dominance import walk
from mind_dialect.elements import UnfitError
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir import LayerNormOp, PtirLiteralAttr
from mind_dialect.ptir.types import F32, Kind, read_type

from ..ptir.dead_ops import replace_values
from .edit import FusionEdit
from .kernels import IsKernel, always


def expand_norms(module: ModuleOp, is_kernel: IsKernel = always) -> None:
    """Replace layer norms of static shape by fusions, where these are kernels; they compute in f32 at least."""
    became: dict[SSAValue, SSAValue] = {}
    for op in [op for op in walk(module) if isinstance(op, LayerNormOp)]:
        shape = read_type(op.operands[0].type).shape
        block = op.parent
        assert isinstance(block, Block)
        if any(isinstance(n, str) for n in shape):
            continue
        edit = FusionEdit()
        arguments = [edit.argument(value) for value in op.operands]
        ops = _norm(arguments, [n for n in shape if isinstance(n, int)], op.values()["epsilon"], op.values()["feature_axis"])
        edit.body.add_ops(ops)
        edit.inner[op.results[0]] = ops[-1].results[0]
        made = edit.fusion(op.results, location=op.location)
        if is_kernel(made):
            for inner in made.body.block.ops:
                inner.location = op.location
            made.results[0].name_hint = op.results[0].name_hint
            block.insert_op_before(made, op)
            became[op.results[0]] = made.results[0]
        else:
            made.erase()  # drops its uses
    replace_values(module, became)


def _norm(args: Sequence[SSAValue], shape: Sequence[int], epsilon: float, axis: int) -> list[Operation]:
    """The ops of a layer norm, the last giving the result."""
    ops: list[Operation] = []

    def add(op: Any, *operands: Any, **properties: Any) -> SSAValue:
        ops.append(op(*operands, **properties))
        return ops[-1].results[0]

    dtype = read_type(args[0].type).dtype
    wide = F32 if dtype.kind is Kind.FLOAT and dtype.bits < 32 else dtype
    axis %= len(shape)
    x, gamma, beta = (add(ptir.CastOp, v, dtype=wide) if wide is not dtype else v for v in args)

    def spread(value: SSAValue) -> SSAValue:
        return add(ptir.BroadcastToOp, value, result_shape=shape)

    def along(value: SSAValue) -> SSAValue:
        return spread(add(ptir.ReshapeOp, value, new_shape=[n if a == axis else 1 for a, n in enumerate(shape)]))

    def mean(value: SSAValue) -> SSAValue:
        total = add(ptir.ReduceOp, value, kind="sum", axes=(axis,), keepdims=True)
        return add(ptir.DivOp, total, number(float(shape[axis])))

    def number(value: float) -> SSAValue:
        thin = tuple(1 if a == axis else n for a, n in enumerate(shape))
        try:
            rounded = wide.element.check(value)
        except UnfitError:  # epsilon is an f64; beyond the range of `wide` it is infinity, as in the kernel of NumPy
            rounded = wide.element.check(math.inf)
        return add(ptir.ConstantOp, PtirLiteralAttr.filled(wide, thin, rounded))

    centred = add(ptir.SubOp, x, spread(mean(x)))
    variance = mean(add(ptir.MulOp, centred, centred))
    deviation = add(ptir.SqrtOp, add(ptir.AddOp, variance, number(epsilon)))
    scaled = add(ptir.MulOp, add(ptir.DivOp, centred, spread(deviation)), along(gamma))
    result = add(ptir.AddOp, scaled, along(beta))
    if wide is not dtype:
        add(ptir.CastOp, result, dtype=dtype)
    return ops


@dataclass(frozen=True)
class PtirExpandNormsPass(ModulePass):
    """Replace layer norms of static shape by fusions of elementwise ops and reductions."""

    name = "mind-ptir-expand-norms"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        register(ctx)
        expand_norms(op)
