"""
The text of a row kernel: loops over columns where lanes are rows, else along the rows.
"""

from __future__ import annotations

from ..failures import Sites
from ..ir import Function
from ..nontemporal import APART
from ..target_info import TargetInfo
from .along import AlongLoops
from .columns import ColumnLoops
from .loops import RowLoops
from .step import Layout, RowStep


def emit_row_kernel(f: Function, host: TargetInfo, step: RowStep, sites: Sites) -> int:
    """Emit a row kernel; how many units of work it has."""
    chosen, plan = Layout.of(step.plan, step.views, host), step.plan
    hints = [*(v.hint for v in plan.inputs.values()), *(v.hint for _, v, _ in plan.outputs)]
    hints += [f"{op.result.name_hint or 'sum'}.partial" for op, _ in plan.columns]
    if chosen.vectors:
        loops: RowLoops = ColumnLoops(
            f,
            host,
            sites,
            plan,
            chosen.axes,
            chosen.along,
            chosen.width,
            vectors=chosen.vectors,
            groups=chosen.groups,
            kept=chosen.kept(plan),
        )
    else:
        loops = AlongLoops(f, host, sites, plan, chosen.axes, chosen.along, chosen.width)
    values = [v for _, v, _ in plan.outputs]
    past = [
        value
        for value, streams in zip(values, step.past(host.shared_bytes // (APART if chosen.vectors else 1)), strict=True)
        if streams
    ]
    loops.emit(step.views, hints, plan.rows, step.per_unit, past)
    f.ret("0")
    return -(-chosen.count(plan) // step.per_unit)
