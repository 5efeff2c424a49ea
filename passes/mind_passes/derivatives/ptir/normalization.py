"""
The derivative of layer_norm, in few ops.

With z the normalised x, r the reciprocal of the deviation and w = gamma g, x has the adjoint `r (w - mean(w) - z mean(w z))`; the
tangent t gives `r (t - mean(t) - z mean(t z)) gamma`: the projection is its own transpose. All is computed in the dtype that the
op itself computes in.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from mind_dialect.ptir import LayerNormOp

from ...ptir.construct import Value, cast, mul, reduce_sum, spec
from ...ptir.features import Features
from ..walks import ForwardRow, Reverse, Row, Whole
from .shared import sum_of


def adjoints(walk: Reverse, op: LayerNormOp, gs: Sequence[SSAValue | None]) -> Sequence[Value | None]:
    (given,), dtype, f = gs, spec(op.x).dtype, Features(op)
    assert given is not None
    x, gamma, beta = (operand in walk.varied for operand in op.operands)
    g = cast(given, f.dtype)
    beta_adj = cast(reduce_sum(g, f.others), dtype) if beta else None
    if not (x or gamma):
        return None, None, beta_adj
    z, inverse = f.normalised()
    gamma_adj = cast(reduce_sum(mul(g, z), f.others), dtype) if gamma else None
    if not x:
        return None, gamma_adj, beta_adj
    x_adj = f.projected(mul(g, f.along(cast(op.gamma, f.dtype))), z, inverse)
    return cast(x_adj, dtype), gamma_adj, beta_adj


def tangent(op: LayerNormOp, ts: Sequence[SSAValue | None]) -> Value:
    f = Features(op)
    x, gamma, beta = (None if t is None else cast(t, f.dtype) for t in ts)
    parts: list[Value] = []
    if x is not None or gamma is not None:
        z, inverse = f.normalised()
        if x is not None:
            parts.append(mul(f.projected(x, z, inverse), f.along(cast(op.gamma, f.dtype))))
        if gamma is not None:
            parts.append(mul(z, f.along(gamma)))
    if beta is not None:
        parts.append(f.along(beta))
    return cast(sum_of(parts), spec(op.x).dtype)


REVERSE: dict[type[Operation], Row] = {LayerNormOp: Whole(adjoints, lambda flows, op: [0b111])}
FORWARD: dict[type[Operation], ForwardRow] = {LayerNormOp: tangent}
