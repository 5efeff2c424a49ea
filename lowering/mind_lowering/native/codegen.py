"""
The text of kernels: one row for each kind of step. Equal kernels are one function.

Text is made when memory is assigned: it depends on in-place updates and on non-temporal stores.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from .attention_kernel import emit_attention
from .attention_step import AttentionStep
from .convolutions.convolution import ConvolutionStep, EmittedConvolution
from .convolutions.loops import emit_convolution
from .crossed import nest_of
from .failures import Failure, Sites
from .first_extremes import FirstExtremes, emit_extremes
from .groups import Group
from .ir import Function, LlvmModule, identifier
from .kernel_steps import Draw, IndexCheck, PrivateScatter, Scan, Scatter, Sort
from .private_scatters import emit_private_scatter
from .products.blocked_dot import emit_blocked
from .products.codegen import emit_product
from .products.epilogue import begin_finishing
from .products.kernels import BlockedStep, ProductStep
from .random_numbers import emit_draw
from .rows.columns import ColumnLoops
from .rows.loops import RowLoops
from .rows.step import Layout, RowStep
from .scans import emit_scan
from .scatters import emit_check, emit_scatter
from .sorts import emit_sort
from .steps import NativeKernel, NativeStep
from .target_info import TargetInfo

Emit = Callable[[Function, TargetInfo, Any, Sites], int]
"""Emits the body of the function of a step, with the sites that can fail; how many units of work it has."""


def _emit_group(f: Function, host: TargetInfo, step: Group, sites: Sites) -> int:
    """Emit the loop nest of a group; how many units of work it has."""
    return nest_of(f, host, step, sites).emit()


def _emit_rows(f: Function, host: TargetInfo, step: RowStep, sites: Sites) -> int:
    """Emit a row kernel; how many units of work it has."""
    chosen, plan = Layout.of(step.plan, step.views, host), step.plan
    hints = [*(v.hint for v in plan.inputs.values()), *(v.hint for _, v, _ in plan.outputs)]
    hints += [f"{op.result.name_hint or 'sum'}.partial" for op, _ in plan.columns]
    if chosen.vectors:
        loops: RowLoops = ColumnLoops(
            f, host, sites, plan, chosen.axes, chosen.along, chosen.width, vectors=chosen.vectors, keeps=chosen.keeps
        )
    else:
        loops = RowLoops(f, host, sites, plan, chosen.axes, chosen.along, chosen.width)
    values = [v for _, v, _ in plan.outputs]
    past = [value for value, streams in zip(values, step.past(), strict=True) if streams]
    loops.emit(step.views, hints, plan.rows, step.per_unit, past)
    f.ret("0")
    return -(-chosen.count(plan) // step.per_unit)


def _emit_convolution(f: Function, host: TargetInfo, step: ConvolutionStep, sites: Sites) -> int:
    """Emit a convolution; how many units of work it has."""
    if host.checked:
        sites.add(Failure.OUTSIDE, None)  # what an epilogue means that leaves a tile
    made = EmittedConvolution(**vars(step.convolution), finish=begin_finishing(step.convolution.epilogue))
    units = emit_convolution(f, host, made, sites)
    f.ret("0")
    return units


EMIT: dict[type[NativeStep], Emit] = {
    Group: _emit_group,
    FirstExtremes: emit_extremes,
    RowStep: _emit_rows,
    ProductStep: emit_product,
    BlockedStep: emit_blocked,
    ConvolutionStep: _emit_convolution,
    AttentionStep: emit_attention,
    Sort: emit_sort,
    Scan: emit_scan,
    IndexCheck: emit_check,
    Scatter: emit_scatter,
    PrivateScatter: emit_private_scatter,
    Draw: emit_draw,
}
"""By kind of step."""


def kernel_of(step: NativeStep, module: LlvmModule, host: TargetInfo, known: dict[Hashable, NativeKernel]) -> NativeKernel:
    """Return the kernel of a step, added to the module unless it is in `known`."""
    key = (type(step), step.key(), tuple([(v.offset, v.base) for v in step.addresses]) if host.checked else ())
    if key in known:
        return known[key]
    name = module.unique(f"k.{identifier(step.name)}")
    f = module.function(name, "i64", [("ptr", "args"), ("i64", "begin"), ("i64", "end")])
    f.notes.append(f"{step.name}: {step.contents()}")
    sites = Sites()
    units = EMIT[type(step)](f, host, step, sites)
    numbers = {op: i for i, op in enumerate(step.sources)}
    fails = tuple([(s.failure, -1 if s.op is None else numbers[s.op]) for s in sites.found])
    known[key] = made = NativeKernel(name, units, fails, own=True, polls=f.polls)
    return made
