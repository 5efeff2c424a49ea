"""
Derivatives and batching of custom calls, written as functions of arrays.

    differentiate_call(target, lambda operands, results, gs: [-y.mT @ g @ y.mT], lambda operands, results, ts: [-y @ t @ y])

A rule is traced where a pass asks for it; the ops that it records become part of the derivative.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from xdsl.ir import SSAValue

from mind_dialect.ptir import CustomCallOp
from mind_dialect.ptir.types import read_type
from mind_dialect.ptir_shapes import Dim
from mind_passes import batching
from mind_passes.batching.rules import again, spread_all
from mind_passes.derivatives.ptir.calls import register_call
from mind_passes.derivatives.rules import Value, can_vary
from mind_passes.derivatives.walks import Whole, WholeForward
from mind_passes.ptir import construct

from .array import Array
from .places import function_place
from .trace import Trace, recording

if TYPE_CHECKING:
    from mind_passes.derivatives.walks import Flows, Forward, Reverse

Rule = Callable[..., Sequence[Array | None]]
"""From operands, results, and the adjoints of the results or tangents of the operands, to adjoints or tangents."""


def recorded(function: Callable[..., Sequence[Array | None]], place: str, *groups: Sequence[SSAValue]) -> list[SSAValue | None]:
    """
    Return the values of what a function of groups of arrays returns, for these values.

    The ops behind them are in no block: whoever asked for the rule puts them in place.
    """
    trace = Trace(place, None, literals=True)
    with recording(trace):
        given = [[trace.argument(read_type(v.type)) for v in group] for group in groups]
        values = [None if x is None else trace.lift(x) for x in function(*given)]
    for argument, value in zip(trace.block.args, [v for group in groups for v in group], strict=True):
        argument.replace_all_uses_with(value)
        values = [value if v is argument else v for v in values]
    returned = {v for v in values if v is not None}
    for op in reversed(tuple(trace.block.ops)):
        op.detach()
        if all(y.first_use is None and y not in returned for y in op.results):
            op.erase()
    return values


def _zero(x: SSAValue) -> Value:
    """Zeros like a value, integers too."""
    return construct.full(0.0 if can_vary(x.type) else 0, x)


def differentiate_call(target: str, reverse: Rule, forward: Rule) -> None:
    """Differentiate custom calls of a target, whose floating-point results all depend on all operands, by these rules."""

    def adjoints(sweep: Reverse, op: CustomCallOp, gs: Sequence[SSAValue | None]) -> Sequence[Value | None]:
        filled = [g if g is not None else sweep.append(_zero(y)) for g, y in zip(gs, op.results, strict=True)]
        return recorded(reverse, function_place(reverse), op.operands, op.results, filled)

    def tangents(walk: Forward, op: CustomCallOp, ts: Sequence[SSAValue | None]) -> Sequence[Value | None]:
        filled = [t if t is not None else walk.append(_zero(x)) for t, x in zip(ts, op.operands, strict=True)]
        return recorded(forward, function_place(forward), op.operands, op.results, filled)

    def flows(of: Flows, op: CustomCallOp) -> Sequence[int]:
        return [(1 << len(op.operands)) - 1] * len(op.results)

    register_call(target, reverse=Whole(adjoints, flows), forward=WholeForward(tangents))


def batch_call_by_leading_axes(target: str) -> None:
    """Batch custom calls of a target, whose function takes any number of leading axes, by one more."""

    def rule(op: CustomCallOp, xs: Sequence[SSAValue], flags: Sequence[bool], size: Dim) -> Sequence[Value]:
        return again(op, spread_all(xs, flags, size), size).results

    batching.register(target, rule)
