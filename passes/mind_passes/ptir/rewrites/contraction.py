"""Rewrites of `dot_general`, whose axes can say what a transpose before it says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mind_dialect.ptir import DotGeneralOp, TransposeOp

from ..building import Found, in_place_of


def transpose_into_dot(op: DotGeneralOp) -> Found:
    """
    `dot(transpose(a, p), b) = dot(a, b)` with axis `i` of the lhs called `p[i]`, and likewise for the rhs.

    The axes that are neither contracted nor batch must ascend in `a` as they do in its transpose, as the result lists them in
    that order. The products and what they are summed over are the same.
    """
    values = dict(op.values())
    operands = list(op.operands)
    changed = False
    for i, side in enumerate(("lhs", "rhs")):
        inner = operands[i].owner
        if not isinstance(inner, TransposeOp):
            continue
        if (axes := renamed(values, side, inner.values()["perm"])) is not None:
            operands[i], changed = inner.x, True
            values |= axes
    return in_place_of(op, DotGeneralOp, *operands, **values) if changed else None


def renamed(values: Mapping[str, Any], side: str, perm: Sequence[int]) -> dict[str, list[int]] | None:
    """The axes of one operand of a product as those of what `perm` transposes; None unless the free axes ascend there."""
    used = {*values[f"batch_{side}"], *values[f"contract_{side}"]}
    free = [a for axis, a in enumerate(perm) if axis not in used]
    if free != sorted(free):
        return None
    return {f"{role}_{side}": [perm[axis] for axis in values[f"{role}_{side}"]] for role in ("batch", "contract")}
