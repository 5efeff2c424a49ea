"""
Normalisation by the root of the mean square along one axis: `x / sqrt(mean(x^2) + epsilon)`, perhaps times gamma.

The deviation divides, or its reciprocal multiplies. Of a centred `x` this is a layer norm, which is looked for before.
"""

from __future__ import annotations

from mind_dialect.ptir import DivOp, MulOp, PtirOp

from ..building import spec_of
from .layer_norm import Normal, deviation, vector
from .matching import Match, fused, is_float


def match(root: PtirOp) -> Match | None:
    """The normalisation that ends in `root`, gamma included if there is one."""
    if not isinstance(root, MulOp | DivOp) or not is_float(root.result):
        return None
    for normal, scale in ((root.lhs, root.rhs), (root.rhs, root.lhs)) if isinstance(root, MulOp) else ():
        found = _normalised(normal.owner)
        if found is not None and vector(scale, found.axis) is not None:
            return Match(root, found.inside, fused("rms_norm"))
    found = _normalised(root)
    return None if found is None else Match(root, found.inside[:-1], fused("rms_norm"))


def _normalised(op: object) -> Normal | None:
    """`op` as the last of `x / sqrt(mean(x^2) + epsilon)`."""
    if not isinstance(op, MulOp | DivOp):
        return None
    sides = ((op.lhs, op.rhs),) if isinstance(op, DivOp) else ((op.lhs, op.rhs), (op.rhs, op.lhs))
    for x, factor in sides:
        for axis in reversed(range(len(spec_of(x).shape))):
            found = deviation(factor, axis, x, inverse=isinstance(op, MulOp))
            if found is not None:
                return Normal(x, axis, found[0], [*found[1], op])
    return None
