"""The derivatives of calls: those of functions with rules of their own, which are called in turn (see `custom`)."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import SymbolRefAttr
from xdsl.dialects.func import CallOp
from xdsl.ir import Operation, SSAValue

from ..custom import JVP, VJP, differentiated
from ..rules import Value, can_vary, no_rule
from ..walks import Flows, Forward, ForwardRow, Reverse, Row, Whole, WholeForward


def _filled(walk: Reverse | Forward, values: Sequence[SSAValue], derivatives: Sequence[SSAValue | None]) -> list[SSAValue]:
    """Return the derivatives of the values that can vary, zeros where there is none."""
    pairs = [(x, d) for x, d in zip(values, derivatives, strict=True) if can_vary(x.type)]
    return [walk.append(walk.algebra.filled(0.0, x)) if d is None else d for x, d in pairs]


def _called(op: CallOp, attribute: str, derivatives: Sequence[SSAValue], of: Sequence[SSAValue]) -> Sequence[SSAValue]:
    """Call the rule of a call on its operands and derivatives; return its results, a derivative for each of `of`."""
    rule = op.attributes.get(attribute)
    if not isinstance(rule, SymbolRefAttr):
        raise no_rule(op, f"@{op.callee.string_value()} has a derivative rule of its own, but no {attribute}")
    return CallOp(rule, [*op.operands, *derivatives], [x.type for x in of]).results


def _adjoints(sweep: Reverse, op: CallOp, gs: Sequence[SSAValue | None]) -> Sequence[Value | None]:
    numbers = differentiated(op, op.operand_types)
    cotangents = _called(op, VJP, _filled(sweep, op.results, gs), [op.operands[i] for i in numbers])
    found = dict(zip(numbers, cotangents, strict=True))
    return [found.get(i) for i in range(len(op.operands))]


def _tangents(walk: Forward, op: CallOp, ts: Sequence[SSAValue | None]) -> Sequence[Value | None]:
    results = iter(_called(op, JVP, _filled(walk, op.operands, ts), [y for y in op.results if can_vary(y.type)]))
    return [next(results) if can_vary(y.type) else None for y in op.results]


def _flows(of: Flows, op: CallOp) -> Sequence[int]:
    return [sum(1 << i for i in differentiated(op, op.operand_types))] * len(op.results)


REVERSE: dict[type[Operation], Row] = {CallOp: Whole(_adjoints, _flows)}
FORWARD: dict[type[Operation], ForwardRow] = {CallOp: WholeForward(_tangents)}
