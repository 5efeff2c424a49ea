"""
Tails of ops whose places are data: of lookups, and of scatters, whose updates beyond a size must change nothing.

Indices in tails become 0, which each dimension that is looked up in has. Those that are beyond a size, but inside of the bound,
become -1: out of range as before. Updates in tails become what changes nothing, the neutral element of the combination.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mind_dialect.ptir import GatherOp, ScatterAddOp, ScatterReduceOp, SegmentReduceOp, TakeOp
from mind_dialect.ptir.base import OneResultOp
from mind_dialect.ptir.types import SI64
from mind_dialect.ptir_shapes import Dim

from ..ptir.building import spec_of
from ..ptir.construct import broadcast, cast, compare, full, where
from .tail_masks import Axes, Masks, neutral
from .tail_sizes import Refused

COMBINED: Mapping[str, str] = {"add": "sum", "max": "max", "min": "min"}
"""The reduction that a kind of scatter combines updates by; one that overwrites combines none."""


def looks_up(masks: Masks, op: TakeOp | GatherOp) -> None:
    axis: int = op.values()["axis"] if isinstance(op, GatherOp) else 0
    _mask_indices(masks, op, [spec_of(op.x).shape[axis]])


def scatters_elements(masks: Masks, op: ScatterReduceOp) -> None:
    """Mask updates along the axis of the indices; along others a tail is combined with a tail."""
    values, shape = op.values(), spec_of(op.updates).shape
    axis: int = values["axis"] % len(shape)
    _mask_updates(masks, op, [a for a in masks.tails(op.updates) if a == axis], values["kind"])
    _mask_indices(masks, op, [spec_of(op.x).shape[axis]])


def scatters_windows(masks: Masks, op: ScatterAddOp) -> None:
    """Mask updates along the dimensions of the indices; along those of a window a tail is added to a tail."""
    values, x, updates = op.values(), spec_of(op.x).shape, spec_of(op.updates).shape
    inserted = {a % len(x) for a in values["inserted_window_dims"]}
    windows = [a % len(updates) for a in values["update_window_dims"]]
    for w, n in zip(windows, [n for a, n in enumerate(x) if a not in inserted], strict=True):
        if updates[w] != n and not (isinstance(n, int) and isinstance(updates[w], int)):
            raise Refused(f"{op.OPCODE} has windows of {updates[w]} of {n} elements")
    indexed: Sequence[int] = values["scatter_dims_to_operand_dims"]
    if any(isinstance(x[a], str) and (len(indexed) > 1 or a % len(x) not in inserted) for a in indexed):
        raise Refused(f"{op.OPCODE} of windows, or at vectors of indices, along a dimension with a tail")
    _mask_updates(masks, op, [a for a in masks.tails(op.updates) if a not in windows], "add")
    _mask_indices(masks, op, [x[a] for a in indexed])


def reduces_segments(masks: Masks, op: SegmentReduceOp) -> None:
    """Let the rows of a tail be neutral elements of segment 0, which keep no promise about the ids."""
    values = op.values()
    if 0 in masks.tails(op.data):
        for promise in ("indices_are_sorted", "unique"):
            if values[promise]:
                raise Refused(f"{op.OPCODE} along a dimension with a tail promises {promise}")
        op.operands[0] = masks.masked(op, op.data, [0], neutral(values["kind"], spec_of(op.data).dtype))
    _mask_indices(masks, op, [values["num_segments"]])


def _mask_indices(masks: Masks, op: OneResultOp, extents: Sequence[Dim]) -> None:
    """Mask the indices, the second operand, into dimensions of some extents: one, where it has a tail."""
    indices = op.operands[1]
    tails = masks.tails(indices)
    for n in extents:
        if tails and not masks.sizes.is_positive(n):
            raise Refused(f"{op.OPCODE} along a dimension of {n} elements, expected at least 1")
        if isinstance(n, str):
            shape = spec_of(indices).shape
            size = masks.put(op, broadcast(masks.size(op, n), shape))
            inside = masks.put(op, compare("less", masks.put(op, cast(indices, SI64)), size))
            indices = masks.put(op, where(inside, indices, full(-1, indices)))
    op.operands[1] = masks.masked(op, indices, tails, 0)


def _mask_updates(masks: Masks, op: ScatterReduceOp | ScatterAddOp, axes: Axes, kind: str) -> None:
    if not axes:
        return
    if kind not in COMBINED:
        raise Refused(f"{op.OPCODE} overwrites elements by updates along a dimension with a tail")
    op.operands[2] = masks.masked(op, op.updates, axes, neutral(COMBINED[kind], spec_of(op.updates).dtype))
