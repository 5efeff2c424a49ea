"""
Quantisation becomes elementwise ops, so that it fuses with the ops around it, and products widen quantised weights.

Numbers of up to 16 bits and their sums are exact in f32, and those beyond saturate; numbers of more bits are computed in f64.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from mind_dialect import ptir, register
from mind_dialect.dominance import walk
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir import DequantizeOp, QuantizeOp, RequantizeOp
from mind_dialect.ptir.types import F32, F64, PtirDType, read_type

from ..ptir.building import uniform
from ..ptir.dead_ops import replace_values
from .kernels import always

QUANTIZED = (QuantizeOp, DequantizeOp, RequantizeOp)


def expand_quantized(module: Operation, is_computed: Callable[[Operation], bool] = always) -> None:
    """Replace quantisations of static shape by elementwise ops, where the target computes in all their dtypes."""
    became: dict[SSAValue, SSAValue] = {}
    for op in [op for op in walk(module) if isinstance(op, QUANTIZED)]:
        block = op.parent
        assert isinstance(block, Block)
        if not all(read_type(v.type).is_static for v in (*op.operands, *op.results)) or not is_computed(op):
            continue
        made = _Expansion(op)
        for inner in made.ops:
            inner.location = op.location
            block.insert_op_before(inner, op)
        made.value.name_hint = op.results[0].name_hint
        became[op.results[0]] = made.value
    replace_values(module, became)


class _Expansion:
    """The elementwise ops that replace one quantisation, and the value of the last."""

    def __init__(self, op: QuantizeOp | DequantizeOp | RequantizeOp):
        self.ops: list[Operation] = []
        values = op.values()
        self.shape = [n for n in read_type(op.results[0].type).shape if isinstance(n, int)]
        self.axis: int | None = values["axis"]
        x, *parameters = op.operands
        result = read_type(op.results[0].type).dtype
        first, second = parameters[:2], parameters[2:]
        if isinstance(op, QuantizeOp):
            self.value = self.quantized(x, first, result)
        elif isinstance(op, DequantizeOp):
            self.value = self.dequantized(x, first, result)
        else:
            real = _wide(read_type(first[0].type).dtype) if first else F64
            self.value = self.quantized(self.dequantized(x, first, real), second, result)

    def add(self, op: Callable[..., Any], *operands: SSAValue, **properties: Any) -> SSAValue:
        self.ops.append(made := op(*operands, **properties))
        return made.results[0]

    def cast(self, x: SSAValue, dtype: PtirDType) -> SSAValue:
        return x if read_type(x.type).dtype is dtype else self.add(ptir.CastOp, x, dtype=dtype)

    def along(self, parameter: SSAValue, dtype: PtirDType) -> SSAValue:
        """Return a scale or a zero point in another dtype, broadcast to every element."""
        found = self.cast(parameter, dtype)
        if self.axis is not None:
            axis = self.axis % len(self.shape)
            found = self.add(ptir.ReshapeOp, found, new_shape=[n if a == axis else 1 for a, n in enumerate(self.shape)])
        return self.add(ptir.BroadcastToOp, found, result_shape=self.shape)

    def quantized(self, x: SSAValue, parameters: Sequence[SSAValue], result: PtirDType) -> SSAValue:
        """The quotient is rounded in the dtype that the operand is computed in, then the sum is exact."""
        wide = _wide(read_type(x.type).dtype)
        x = self.cast(x, wide)
        if parameters:
            x = self.add(ptir.DivOp, x, self.along(parameters[0], wide))
        x = self.add(ptir.RoundOp, x)
        if parameters:
            total = wide if result.bits <= 16 else F64
            x = self.add(ptir.AddOp, self.cast(x, total), self.along(parameters[1], total))
        return self.cast(x, result)

    def dequantized(self, x: SSAValue, parameters: Sequence[SSAValue], result: PtirDType) -> SSAValue:
        """Difference and product are as those in f64, rounded once."""
        near = result is F32 and read_type(x.type).dtype.bits <= 16
        total = F32 if near else F64
        x = self.cast(x, total)
        if parameters:
            if uniform(parameters[1]) != 0:
                x = self.add(ptir.SubOp, x, self.along(parameters[1], total))
            x = self.add(ptir.MulOp, x, self.along(parameters[0], total))
        return self.cast(x, result)


def _wide(dtype: PtirDType) -> PtirDType:
    """Return the dtype that a float is computed in."""
    return F64 if dtype is F64 else F32


@dataclass(frozen=True)
class PtirExpandQuantizedPass(ModulePass):
    """Replace quantize, dequantize and requantize of static shape by elementwise ops."""

    name = "mind-ptir-expand-quantized"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        register(ctx)
        expand_quantized(op)
