"""
Reductions of windows that overlap along several axes become one reduction for each axis.

    max over (i, j) of x[p + i, q + j]   is   max over j of y[p, q + j],   y[p, q] = max over i of x[p + i, q]

so that a result costs the sum of the window's extents, not their product. Steps along an axis leave fewer places for those after.
Sums of floats stay as they are: their rounding depends on the order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from mind_dialect import ptir, register
from mind_dialect.dominance import walk
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir.types import known_extents, tensor_type

from ..ptir.building import accumulator, in_place_of, insert_new, spec_of
from ..ptir.dead_ops import replace_values
from .kernels import always

EXACT = frozenset({"max", "min"})
"""Kinds that round nothing."""
LEAST_GAIN = 2
"""
Windows that do not reach along the last axis, and so are read as whole vectors, cost so many times as much as their splits: these
store what is between them.
"""


def split_windows(root: Operation, is_computed: Callable[[Operation], bool] = always) -> bool:
    """Rewrite the windows inside a verified `root`, outside of fusions, that a target computes; return whether there were any."""
    became: dict[SSAValue, SSAValue] = {}
    for op in [op for op in walk(root) if isinstance(op, ptir.ReduceWindowOp)]:
        if not isinstance(op.parent_op(), ptir.FusionOp) and is_computed(op) and is_split(op):
            became[op.result] = _split(op)
    replace_values(root, became)
    return bool(became)


def is_split(op: ptir.ReduceWindowOp) -> bool:
    """Return whether one axis after the other takes fewer steps, and gives the same numbers."""
    values, spec = op.values(), spec_of(op.x)
    window, strides = values["window_dims"], values["strides"]
    if not spec.is_static or 0 in known_extents(op.result.type) or set(values["base_dilation"]) != {1}:
        return False
    if values["kind"] not in EXACT and (spec.dtype.is_float or accumulator(op) is not spec.dtype):
        return False
    steps = sum(window[a] * prod(strides[a + 1 :]) for a in _axes(window))
    fewer = steps < prod(window) if window[-1] > 1 else steps * LEAST_GAIN <= prod(window)
    return len(_axes(window)) > 1 and fewer


def _axes(window: Sequence[int]) -> list[int]:
    return [a for a, n in enumerate(window) if n > 1]


def _split(op: ptir.ReduceWindowOp) -> SSAValue:
    """The result of a reduction along each axis, put before the op; the last one also does what axes without windows need."""
    values, rank, block = op.values(), len(known_extents(op.x.type)), op.parent
    assert isinstance(block, Block)
    axes, found = _axes(values["window_dims"]), op.x
    shape, after = list(known_extents(op.x.type)), known_extents(op.result.type)
    for axis in axes:
        own = [axis, *(a for a in range(rank) if a not in axes)] if axis == axes[-1] else [axis]
        for a in own:
            shape[a] = after[a]

        def along(name: str, neutral: object, own: Sequence[int] = own) -> list[object]:
            return [values[name][a] if a in own else neutral for a in range(rank)]

        made = in_place_of(
            op,
            ptir.ReduceWindowOp,
            found,
            type=tensor_type(spec_of(op.x).dtype, tuple(shape)),
            kind=values["kind"],
            window_dims=along("window_dims", 1),
            strides=along("strides", 1),
            padding=along("padding", (0, 0)),
            base_dilation=[1] * rank,
            window_dilation=along("window_dilation", 1),
            accum_dtype=values["accum_dtype"],
        )
        insert_new(made, op, block)
        found = made.result
    found.name_hint = op.result.name_hint
    return found


@dataclass(frozen=True)
class PtirSplitWindowsPass(ModulePass):
    """Reduce windows that overlap along several axes along one axis after the other."""

    name = "mind-ptir-split-windows"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        register(ctx)
        split_windows(op)
