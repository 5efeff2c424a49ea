"""
Rules for other people's ops: one line makes an op of any dialect differentiable.

    register_derivative(SoftplusOp, diagonal=(lambda op, v: mul(v, LogisticOp(op.x)),))

The op then stands in functions of PTIR like any op of ours; its rules build whatever ops they like, which must have rules
themselves if the derivative is to be differentiated again. `mind_passes.ptir.construct` has a vocabulary for them. Custom calls
have `derivatives.ptir.calls.register_call`.
"""

from __future__ import annotations

from xdsl.ir import Operation

from . import ptir
from .ptir.elementwise import sum_of_contributions
from .rules import Rules
from .walks import ForwardRow, Row


def register_derivative(
    op: type[Operation], *, diagonal: Rules | None = None, reverse: Row | None = None, forward: ForwardRow | None = None
) -> None:
    """
    Differentiate ops of this class by these rules from now on; without any, forget them.

    `reverse`: one rule per operand, `(op, g) -> adjoint`, or a `Whole`; `forward`: `(op, tangents) -> tangent`, or its `Whole`.
    `diagonal`: for an elementwise op, whose Jacobian is its own transpose: one function `(op, v) -> v * partial derivative` per
    operand is both. None in place of a rule: no gradient flows. Raises ValueError if `diagonal` and another are given.
    """
    if diagonal is not None:
        if reverse is not None or forward is not None:
            raise ValueError("diagonal rules are both reverse and forward rules, expected no others in addition")
        reverse, forward = diagonal, sum_of_contributions(diagonal)
    ptir.REVERSE.pop(op, None)
    ptir.FORWARD.pop(op, None)
    if reverse is not None:
        ptir.REVERSE[op] = reverse
    if forward is not None:
        ptir.FORWARD[op] = forward
