"""A rough cost of ops: is reading a result cheaper than computing it again?"""

from __future__ import annotations

from math import prod

from xdsl.ir import Operation, SSAValue

from mind_dialect.ptir import FUSIBLE, TARGETED, BroadcastToOp, ReshapeOp, SliceOp, StopGradientOp

from .building import spec_of

VIEWS = (BroadcastToOp, ReshapeOp, SliceOp, StopGradientOp)
"""Ops that are no work: they move only with what needs them."""

_PARTS = {**FUSIBLE, **TARGETED}
HEAVY = ("reduction", "contraction", "whole")
"""The parts in a fusion of ops that are more work than reading their results; ops that have no part are, too."""


def part_of(op: Operation) -> str:
    """Return the part that an op plays in a fusion, `whole` for one that has none."""
    return _PARTS.get(type(op), "whole")


def bytes_of(value: SSAValue) -> int:
    """Return the bytes of a value, dynamic dimensions taken as 1."""
    dtype, shape = spec_of(value)
    return dtype.size * prod(n for n in shape if isinstance(n, int))
