"""
The parts of a dialect that a derivative needs: zeros and ones, sums, and the rules of its ops.

The walks of `derivatives` know no op; they ask one of these. Core IR adds with its own ops and lets an adjoint
be larger than its operand, which was broadcast; PTIR says everything explicitly. Ops of other dialects in a PTIR function are
differentiated by PTIR's if a rule is registered for them.
"""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from mind_dialect.core import AddOp, BroadcastToOp, CoreOp, SumOp
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.profiles import Profile
from mind_dialect.ptir.types import read_type as read_ptir
from mind_dialect.ptir_shapes import UNKNOWN, meet
from mind_dialect.shapes import broadcast_axes
from mind_dialect.types import read_type

from .derivatives import core, ptir
from .derivatives.ptir.indexing import sum_of_adjoints
from .derivatives.rules import Rules, Value, no_rule
from .derivatives.walks import ForwardRow, Whole, of
from .ptir import construct


@dataclass(frozen=True)
class CoreAlgebra:
    """Core IR's, under a profile."""

    profile: Profile
    div_gradient: bool = False

    def filled(self, number: float, like: SSAValue) -> Value:
        dtype, shape = read_type(like.type)
        value = core.scalar(number, dtype)
        return BroadcastToOp(value, shape=shape) if shape else value

    def add(self, a: SSAValue, b: SSAValue) -> Operation:
        return AddOp.create(operands=[a, b], result_types=[a.type])  # of one type: nothing to infer

    def fit(self, g: SSAValue, x: SSAValue) -> Value:
        """Sum over the axes along which `x` was repeated: first those prepended, then those stretched."""
        if g.type == x.type:
            return g
        source, target = read_type(x.type)[1], read_type(g.type)[1]
        if len(source) > len(target):
            return g
        prepended, stretched = broadcast_axes(source, target)
        result: Value = g
        if prepended:
            result = SumOp(result, axes=prepended, keepdims=False)
        if stretched:
            result = SumOp(result, axes=[a - len(prepended) for a in stretched], keepdims=True)
        return result

    def agrees(self, g: SSAValue, x: SSAValue) -> bool:
        return g.type == x.type

    def rules(self, op: Operation) -> Rules:
        reason = None
        if not isinstance(op, CoreOp) or (kind := type(op)) not in core.RULES:
            raise no_rule(op, "it has no derivative rule")
        if kind in core.OPTIONAL and not self.div_gradient:
            reason = core.OPTIONAL[kind]
        elif kind in core.REFUSED_UNDER and core.REFUSED_UNDER[kind][0] is self.profile:
            reason = core.REFUSED_UNDER[kind][1]
        if reason is not None:
            raise no_rule(op, reason)
        return core.RULES[kind]


@dataclass(frozen=True)
class PtirAlgebra:
    """PTIR's, and that of other dialects with registered rules."""

    def filled(self, number: float, like: SSAValue) -> Value:
        return construct.full(number, like)

    def add(self, a: SSAValue, b: SSAValue) -> Operation:
        return sum_of_adjoints(a, b)

    def fit(self, g: SSAValue, x: SSAValue) -> Value:
        """Give an adjoint the dimensions that are known of `x`; it may know more where only the run knows."""
        if g.type is x.type:
            return g
        (_, shape), (_, given) = read_ptir(x.type), read_ptir(g.type)
        if shape == given or UNKNOWN in shape or not self.agrees(g, x):
            return g
        return construct.reshape(g, shape)

    def agrees(self, g: SSAValue, x: SSAValue) -> bool:
        (dtype, shape), (found, given) = read_ptir(x.type), read_ptir(g.type)
        if dtype is not found or len(shape) != len(given):
            return False
        return all(meet(m, n) is not None for m, n in zip(shape, given, strict=True))

    def rules(self, op: Operation) -> Rules | Whole:
        if (row := ptir.REVERSE.get(type(op))) is None:
            raise no_rule(op, f"{op.name} has no derivative rule")
        return of(row, op)

    def tangent(self, op: Operation) -> ForwardRow:
        """The forward rule of `op`; E5001 if it has none."""
        if (row := ptir.FORWARD.get(type(op))) is None:
            raise no_rule(op, f"{op.name} has no forward derivative rule")
        return row
