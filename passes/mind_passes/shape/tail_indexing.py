"""
Tails of ops whose places are data: of lookups, and of scatters, whose updates beyond a size must change nothing.

Indices in tails become 0, which a dimension of a known size has. Updates there become what changes nothing, the neutral element
of the combination.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mind_dialect.ptir import GatherOp, ScatterAddOp, ScatterReduceOp, SegmentReduceOp, TakeOp
from mind_dialect.ptir.base import OneResultOp
from mind_dialect.ptir_shapes import Dim

from ..ptir.building import spec_of
from .tail_masks import Axes, Masks, Refused, neutral, replace_operand

COMBINED: Mapping[str, str] = {"add": "sum", "max": "max", "min": "min"}
"""The reduction that a kind of scatter combines updates by; one that overwrites combines none."""


def looks_up(masks: Masks, op: TakeOp | GatherOp) -> None:
    """Let the indices of tails be 0."""
    axis: int = op.values()["axis"] if isinstance(op, GatherOp) else 0
    _demand_known(op, [spec_of(op.x).shape[axis]])
    _mask_indices(masks, op)


def scatters_elements(masks: Masks, op: ScatterReduceOp) -> None:
    """Mask updates along the axis of the indices; along others a tail is combined with a tail."""
    values, shape = op.values(), spec_of(op.updates).shape
    axis: int = values["axis"] % len(shape)
    _demand_known(op, [spec_of(op.x).shape[axis]])
    _mask_updates(masks, op, [a for a in masks.tails(op.updates) if a == axis], values["kind"])
    _mask_indices(masks, op)


def scatters_windows(masks: Masks, op: ScatterAddOp) -> None:
    """Mask updates along the dimensions of the indices; along those of a window a tail is added to a tail."""
    values, x, updates = op.values(), spec_of(op.x).shape, spec_of(op.updates).shape
    inserted = {a % len(x) for a in values["inserted_window_dims"]}
    windows = [a % len(updates) for a in values["update_window_dims"]]
    for w, n in zip(windows, [n for a, n in enumerate(x) if a not in inserted], strict=True):
        if updates[w] != n and not (isinstance(n, int) and isinstance(updates[w], int)):
            raise Refused(f"{op.OPCODE} has windows of {updates[w]} of {n} elements")
    indexed: Sequence[int] = values["scatter_dims_to_operand_dims"]
    _demand_known(op, [x[a] for a in indexed])
    _mask_updates(masks, op, [a for a in masks.tails(op.updates) if a not in windows], "add")
    _mask_indices(masks, op)


def reduces_segments(masks: Masks, op: SegmentReduceOp) -> None:
    """Let the rows of a tail be neutral elements of segment 0, which keep no promise about the ids."""
    values = op.values()
    _demand_known(op, [values["num_segments"]])
    if 0 in masks.tails(op.data):
        for promise in ("indices_are_sorted", "unique"):
            if values[promise]:
                raise Refused(f"{op.OPCODE} along a dimension with a tail promises {promise}")
        replace_operand(op, 0, masks.masked(op, op.data, [0], neutral(values["kind"], spec_of(op.data).dtype)))
        replace_operand(op, 1, masks.masked(op, op.segment_ids, [0], 0))


def _demand_known(op: OneResultOp, extents: Sequence[Dim]) -> None:
    """Demand that index 0 is inside, and that all indices of a padded array that are inside are inside of its size."""
    if not all(isinstance(n, int) and n > 0 for n in extents):
        raise Refused(f"{op.OPCODE} along a dimension with a tail, or of no elements")


def _mask_indices(masks: Masks, op: TakeOp | GatherOp | ScatterReduceOp | ScatterAddOp) -> None:
    replace_operand(op, 1, masks.masked(op, op.indices, masks.tails(op.indices), 0))


def _mask_updates(masks: Masks, op: ScatterReduceOp | ScatterAddOp, axes: Axes, kind: str) -> None:
    if not axes:
        return
    if kind not in COMBINED:
        raise Refused(f"{op.OPCODE} overwrites elements by updates along a dimension with a tail")
    replace_operand(op, 2, masks.masked(op, op.updates, axes, neutral(COMBINED[kind], spec_of(op.updates).dtype)))
