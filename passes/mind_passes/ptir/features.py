"""The parts of a layer norm as elementwise ops and reductions, whatever is known of the extents."""

from __future__ import annotations

from mind_dialect.ptir import LayerNormOp, RsqrtOp
from mind_dialect.ptir.legal import default_accumulator
from mind_dialect.ptir.types import PtirDType
from mind_dialect.ptir_shapes import axis

from .construct import Value, add, broadcast, cast, dims, div, full, make, mul, reduce_sum, reshape, scale, spec, sub
from .parts import total


class Features:
    """The feature vectors of a layer norm, also of an open size, in the dtype that it computes in."""

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


def expanded(op: LayerNormOp) -> Value:
    """Return a layer norm as a value of elementwise ops and reductions."""
    features = Features(op)
    z, _ = features.normalised()
    gamma, beta = (features.along(cast(v, features.dtype)) for v in (op.gamma, op.beta))
    return cast(add(mul(z, gamma), beta), spec(op.x).dtype)
