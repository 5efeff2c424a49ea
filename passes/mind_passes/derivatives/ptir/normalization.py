"""
The derivative of layer_norm, in few ops.

With z the normalised x and r the reciprocal of the deviation, x has the adjoint `r (w g - mean(w g) - z mean(w g z))` and
the tangent t gives `r (t - mean(t) - z mean(t z)) w`: the projection is its own transpose. Means are products with a vector, so
that the weights gamma come into them for nothing. All is computed in the dtype that the op itself computes in.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.ir import Operation, SSAValue

from mind_dialect.ptir import LayerNormOp, ReciprocalOp, RsqrtOp
from mind_dialect.ptir.legal import default_accumulator
from mind_dialect.ptir.types import PtirDType
from mind_dialect.ptir_shapes import axis

from ...ptir.construct import (
    Value,
    add,
    broadcast,
    cast,
    dims,
    filled,
    full,
    make,
    mul,
    reduce_sum,
    reshape,
    spec,
    sub,
    with_axes,
)
from ...ptir.parts import total
from ..rules import ForwardRow, Row, Whole
from .products import contract
from .shared import sum_of

if TYPE_CHECKING:
    from ...reverse import Reverse


class Features:
    """The feature vectors of an op."""

    def __init__(self, op: LayerNormOp):
        self.op = op
        self.shape = dims(op.x)
        self.axis = axis(op.values()["feature_axis"], len(self.shape))
        self.others = [a for a in range(len(self.shape)) if a != self.axis]
        self.dtype: PtirDType = default_accumulator(spec(op.x).dtype)

    def average(self) -> Value:
        """The vector of 1 by the number of features."""
        n = self.shape[self.axis]
        if isinstance(n, int):
            return filled(1 / max(n, 1), self.dtype, (n,))
        count = total((n,))
        assert not isinstance(count, int)
        return broadcast(make(ReciprocalOp, cast(count, self.dtype)), (n,))

    def mean(self, x: Value, weights: Value) -> Value:
        """The sum of `x` times `weights` along the features, repeated along them."""
        sums = contract(x, weights, ((self.axis,), (0,)), dtype=self.dtype, accum=None)
        return with_axes(sums, (self.axis,), self.shape)

    def along(self, v: Value) -> Value:
        """A vector of features, under the shape of x."""
        thin = tuple(n if a == self.axis else 1 for a, n in enumerate(self.shape))
        return broadcast(reshape(v, thin), self.shape)

    def normalised(self, average: Value) -> tuple[Value, Value]:
        """z and r."""
        x = cast(self.op.x, self.dtype)
        centred = sub(x, self.mean(x, average))
        variance = self.mean(mul(centred, centred), average)
        scale = make(RsqrtOp, add(variance, full(self.op.values()["epsilon"], variance)))
        return mul(centred, scale), scale

    def projected(self, v: Value, mean: Value, z: Value, z_mean: Value, scale: Value) -> Value:
        """`r (v - mean - z z_mean)`."""
        return mul(scale, sub(sub(v, mean), mul(z, z_mean)))


def adjoints(walk: Reverse, op: LayerNormOp, gs: Sequence[SSAValue | None]) -> Sequence[Value | None]:
    (given,), dtype, f = gs, spec(op.x).dtype, Features(op)
    assert given is not None
    x, gamma, beta = (operand in walk.varied for operand in op.operands)
    g = cast(given, f.dtype)
    beta_adj = cast(reduce_sum(g, f.others), dtype) if beta else None
    if not (x or gamma):
        return None, None, beta_adj
    average = f.average()
    z, scale = f.normalised(average)
    product = mul(g, z)
    gamma_adj = cast(reduce_sum(product, f.others), dtype) if gamma else None
    if not x:
        return None, gamma_adj, beta_adj
    weights = cast(op.gamma, f.dtype)
    shares = mul(weights, average)
    x_adj = f.projected(mul(g, f.along(weights)), f.mean(g, shares), z, f.mean(product, shares), scale)
    return cast(x_adj, dtype), gamma_adj, beta_adj


def tangent(op: LayerNormOp, ts: Sequence[SSAValue | None]) -> Value:
    f = Features(op)
    x, gamma, beta = (None if t is None else cast(t, f.dtype) for t in ts)
    parts: list[Value] = []
    if x is not None or gamma is not None:
        average = f.average()
        z, scale = f.normalised(average)
        if x is not None:
            moved = f.projected(x, f.mean(x, average), z, f.mean(mul(x, z), average), scale)
            parts.append(mul(moved, f.along(cast(op.gamma, f.dtype))))
        if gamma is not None:
            parts.append(mul(z, f.along(gamma)))
    if beta is not None:
        parts.append(f.along(beta))
    return cast(sum_of(parts), spec(op.x).dtype)


REVERSE: dict[type[Operation], Row] = {LayerNormOp: Whole(adjoints, lambda flows, op: [0b111])}
FORWARD: dict[type[Operation], ForwardRow] = {LayerNormOp: tangent}
