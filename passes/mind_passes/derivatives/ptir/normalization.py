"""
The derivative of layer_norm, in few ops.

With z the normalised x, r the reciprocal of the deviation and w = gamma g, x has the adjoint `r (w - mean(w) - z mean(w z))`; the
tangent t gives `r (t - mean(t) - z mean(t z)) gamma`: the projection is its own transpose. All is computed in the dtype that the
op itself computes in.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from mind_dialect.ptir import LayerNormOp, RsqrtOp
from mind_dialect.ptir.legal import default_accumulator
from mind_dialect.ptir.types import PtirDType
from mind_dialect.ptir_shapes import axis

from ...ptir.construct import Value, add, broadcast, cast, dims, div, full, make, mul, reduce_sum, reshape, scale, spec, sub
from ...ptir.parts import total
from ..walks import ForwardRow, Reverse, Row, Whole
from .shared import sum_of


class Features:
    """The feature vectors of an op."""

    def __init__(self, op: LayerNormOp):
        self.op = op
        self.shape = dims(op.x)
        self.axis = axis(op.values()["feature_axis"], len(self.shape))
        self.others = [a for a in range(len(self.shape)) if a != self.axis]
        self.dtype: PtirDType = default_accumulator(spec(op.x).dtype)

    def mean(self, x: Value) -> Value:
        """The mean along the features, with extent 1."""
        sums, n = reduce_sum(x, (self.axis,), keepdims=True), self.shape[self.axis]
        if isinstance(n, int):
            return scale(sums, 1 / max(n, 1))
        count = total((n,))
        assert not isinstance(count, int)
        return div(sums, broadcast(cast(count, self.dtype), spec(sums).shape))

    def repeated(self, v: Value) -> Value:
        """One number for each feature vector, under the shape of x."""
        return broadcast(v, self.shape)

    def along(self, v: Value) -> Value:
        """A vector of features, under the shape of x."""
        thin = tuple(n if a == self.axis else 1 for a, n in enumerate(self.shape))
        return broadcast(reshape(v, thin), self.shape)

    def normalised(self) -> tuple[Value, Value]:
        """z and r."""
        x = cast(self.op.x, self.dtype)
        centred = sub(x, self.repeated(self.mean(x)))
        variance = self.mean(mul(centred, centred))
        inverse = self.repeated(make(RsqrtOp, add(variance, full(self.op.values()["epsilon"], variance))))
        return mul(centred, inverse), inverse

    def projected(self, v: Value, z: Value, inverse: Value) -> Value:
        """`r (v - mean(v) - z mean(v z))`."""
        rest = sub(sub(v, self.repeated(self.mean(v))), mul(z, self.repeated(self.mean(mul(v, z)))))
        return mul(inverse, rest)


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
