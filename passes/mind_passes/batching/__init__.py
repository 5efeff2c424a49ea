"""
Batching of PTIR: one rule per op class, by family, joined into one table.

    register(MyOp, lambda op, xs, batched, size: MyOp.create(operands=xs, ...))         # an op of another dialect
    register("my_project.scale.v1", lambda op, xs, batched, size: again(op, xs, size))  # a custom call
"""

from __future__ import annotations

from xdsl.ir import Operation

from mind_dialect.ptir import FusionOp, YieldOp

from .control import CONTROL
from .convolution import CONVOLUTION
from .driver import Driver, RegionRow, batched_values
from .elementwise import ELEMENTWISE
from .functions import FUNCTIONS
from .indexing import INDEXING
from .models import CALLS, MODELS
from .reduction import REDUCTION
from .rules import LOOP, Flags, Row, Rule, Value, Values, again, by_loop, spread
from .structural import STRUCTURAL

BATCHING: dict[type[Operation], Row | RegionRow] = {
    **ELEMENTWISE,
    **STRUCTURAL,
    **REDUCTION,
    **CONVOLUTION,
    **INDEXING,
    **MODELS,
    **CONTROL,
    **FUNCTIONS,
}
"""The row of every op, and of those of other dialects that were registered."""
WITHOUT_RULE: dict[type[Operation], str] = {
    YieldOp: "it ends a region, whose op has the rule",
    FusionOp: "its ops are put in its place first",
}
"""The ops that no rule is asked for, each with the reason."""


def register(what: type[Operation] | str, rule: Rule) -> None:
    """Let `rule` batch an op class of any dialect, or the custom calls of a target, from now on."""
    if isinstance(what, str):
        CALLS[what] = rule
    else:
        BATCHING[what] = Row(rule)


def unregister(what: type[Operation] | str) -> None:
    """Forget what `register` added."""
    if isinstance(what, str):
        CALLS.pop(what, None)
    else:
        BATCHING.pop(what, None)


__all__ = [
    "BATCHING",
    "CALLS",
    "LOOP",
    "WITHOUT_RULE",
    "Driver",
    "Flags",
    "RegionRow",
    "Row",
    "Rule",
    "Value",
    "Values",
    "again",
    "batched_values",
    "by_loop",
    "register",
    "spread",
    "unregister",
]
