"""
Quantisation as the elementwise ops that it is, so that it is fused with what is around it, and weights are widened in products.

Numbers of up to 16 bits and their sums are exact in f32, and what is beyond saturates; of more bits, f64 is computed in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from mind_dialect import ptir
from mind_dialect.dominance import walk
from mind_dialect.ptir import DequantizeOp, QuantizeOp, RequantizeOp
from mind_dialect.ptir.types import F32, F64, PtirDType, read_type
from mind_passes.ptir.building import uniform
from mind_passes.ptir.dce import replace_values

from .reasons import unsupported
from .target_info import TargetInfo

QUANTIZED = (QuantizeOp, DequantizeOp, RequantizeOp)


def why_not_quantized(op: Operation, host: TargetInfo) -> str | None:
    """Why a quantisation is not done here."""
    return unsupported([read_type(v.type).dtype for v in (*op.operands, *op.results)], host)


def expand_quantized(module: ModuleOp, host: TargetInfo) -> None:
    """Replace quantisations of known sizes and of dtypes that are computed in here."""
    became: dict[SSAValue, SSAValue] = {}
    for op in [op for op in walk(module) if isinstance(op, QUANTIZED)]:
        block = op.parent
        assert isinstance(block, Block)
        if not all(read_type(v.type).is_static for v in (*op.operands, *op.results)) or why_not_quantized(op, host):
            continue
        made = _Expansion(op)
        for inner in made.ops:
            inner.location = op.location
            block.insert_op_before(inner, op)
        made.value.name_hint = op.results[0].name_hint
        became[op.results[0]] = made.value
    replace_values(module, became)


class _Expansion:
    """The ops that stand for one quantisation, and the last one's value."""

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
        """A scale or a zero point in another dtype, for every element."""
        found = self.cast(parameter, dtype)
        if self.axis is not None:
            axis = self.axis % len(self.shape)
            found = self.add(ptir.ReshapeOp, found, new_shape=[n if a == axis else 1 for a, n in enumerate(self.shape)])
        return self.add(ptir.BroadcastToOp, found, result_shape=self.shape)

    def quantized(self, x: SSAValue, parameters: Sequence[SSAValue], result: PtirDType) -> SSAValue:
        """The quotient is rounded as wide as the operand is computed in, then the sum is exact."""
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
    """What a float is computed in."""
    return F64 if dtype is F64 else F32
