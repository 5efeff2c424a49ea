"""
The derivatives of custom calls: whoever names a function says how it is differentiated.

    register_call("my_project.square.v1",
                  reverse=(lambda op, g: mul(g, add(op.operands[0], op.operands[0])),),
                  forward=lambda op, ts: mul(ts[0], add(op.operands[0], op.operands[0])))

Rules are those of any op: one per operand, or a `Whole` where there are several floating-point results.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from mind_dialect.call_providers import provided
from mind_dialect.errors import MindError
from mind_dialect.ptir import CustomCallOp
from mind_dialect.ptir.models import check_target

from ..rules import Rules, Value, can_vary
from ..walks import Forward, ForwardRow, Row, Whole, WholeForward, of

_reverse: dict[str, Row] = {}
_forward: dict[str, ForwardRow] = {}


def register_call(target: str, *, reverse: Row | None = None, forward: ForwardRow | None = None) -> None:
    """Differentiate calls of `target` by these rules from now on; None forgets one. E8002 for a name no call can have."""
    check_target(target)
    for table, row in ((_reverse, reverse), (_forward, forward)):
        table.pop(target, None)
        if row is not None:
            table[target] = row  # pyright: ignore[reportArgumentType]


def call_rules(op: CustomCallOp) -> Rules | Whole:
    """The reverse rules of a call; E5001 without, or if they are as many as its operands are not."""
    row = provided(_reverse, op.values()["target"])
    if row is None:
        raise _unknown(op, "reverse")
    rules = of(row, op)
    if isinstance(rules, Whole):
        return rules
    floats = sum(_floats(op))
    if len(rules) != len(op.operands) or floats > 1:
        problem = f"{len(rules)} rules for {len(op.operands)} operands" if floats < 2 else f"{floats} floating-point results"
        raise _refused(op, f"the registered reverse rules do not fit: {problem}, expected one for each or a Whole")
    return rules


def call_tangents(walk: Forward, op: CustomCallOp, ts: Sequence[SSAValue | None]) -> Sequence[Value | None]:
    """The tangents of a call; E5001 without a rule."""
    row = provided(_forward, op.values()["target"])
    if row is None:
        raise _unknown(op, "forward")
    if isinstance(row, WholeForward):
        return row.tangents(walk, op, ts)
    floats = _floats(op)
    if sum(floats) != 1:
        problem = f"{sum(floats)} floating-point results"
        raise _refused(op, f"the registered forward rule does not fit: {problem}, expected one or a WholeForward")
    tangent = row(op, ts)
    return [tangent if float else None for float in floats]


def _floats(op: CustomCallOp) -> list[bool]:
    return [can_vary(x.type) for x in op.results]


def _unknown(op: CustomCallOp, mode: str) -> MindError:
    target = op.values()["target"]
    return _refused(op, f"no {mode} rule is registered for {target!r}; register_call({target!r}, {mode}=...) gives it one")


def _refused(op: CustomCallOp, reason: str) -> MindError:
    place = op.place()
    context = {"op": op.OPCODE, "id": place, "target": op.values()["target"]}
    return MindError("E5001", f"{place}: cannot be differentiated: {reason}", context, op)


REVERSE: dict[type[Operation], Row] = {CustomCallOp: call_rules}
FORWARD: dict[type[Operation], ForwardRow] = {CustomCallOp: WholeForward(call_tangents)}
