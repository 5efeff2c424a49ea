"""The derivatives of calls: those of functions with rules of their own, which are called in turn (see `custom`)."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import SymbolRefAttr
from xdsl.dialects.func import CallOp
from xdsl.ir import Operation, SSAValue

from ..custom import JVP, VJP
from ..rules import Value, can_vary, no_rule
from ..walks import Flows, Forward, ForwardRow, Reverse, Row, Whole, WholeForward


def _given(walk: Reverse | Forward, values: Sequence[SSAValue], derivatives: Sequence[SSAValue | None]) -> list[SSAValue]:
    """Return the derivatives of the values that can vary, zeros where there is none."""
    pairs = [(x, d) for x, d in zip(values, derivatives, strict=True) if can_vary(x.type)]
    return [walk.append(walk.algebra.filled(0.0, x)) if d is None else d for x, d in pairs]


def _called(op: CallOp, attribute: str, given: Sequence[SSAValue], of: Sequence[SSAValue]) -> list[SSAValue | None]:
    """Return what the rule of a call gives for its operands and derivatives: one value for each of `of` that can vary."""
    rule = op.attributes.get(attribute)
    if not isinstance(rule, SymbolRefAttr):
        raise no_rule(op, f"@{op.callee.string_value()} has a derivative rule of its own, but no {attribute}")
    results = iter(CallOp(rule, [*op.operands, *given], [x.type for x in of if can_vary(x.type)]).results)
    return [next(results) if can_vary(x.type) else None for x in of]


def _adjoints(sweep: Reverse, op: CallOp, gs: Sequence[SSAValue | None]) -> Sequence[Value | None]:
    return _called(op, VJP, _given(sweep, op.results, gs), op.operands)


def _tangents(walk: Forward, op: CallOp, ts: Sequence[SSAValue | None]) -> Sequence[Value | None]:
    return _called(op, JVP, _given(walk, op.operands, ts), op.results)


def _flows(of: Flows, op: CallOp) -> Sequence[int]:
    return [(1 << len(op.operands)) - 1] * len(op.results)


REVERSE: dict[type[Operation], Row] = {CallOp: Whole(_adjoints, _flows)}
FORWARD: dict[type[Operation], ForwardRow] = {CallOp: WholeForward(_tangents)}
