"""Products with an epilogue, as a library of products computes them: in f32 between the sums of the product and the results."""

from __future__ import annotations

from math import pi, prod, sqrt

from .contraction import Axes, Contraction, plan
from .formats import Array

_SCALE, _CUBIC = sqrt(2 / pi), 0.044715


class Epilogues(Contraction):
    """`product_epilogue`, by the forms of `mind_passes.ptir.patterns.product_epilogue`."""

    def product_epilogue(self, lhs: Array, rhs: Array, *extra: Array, form: str, contract_lhs: Axes, contract_rhs: Axes) -> Array:
        """The product and, of some forms, a second result; both in the dtype of the operands."""
        axes = {"batch_lhs": (), "batch_rhs": (), "contract_lhs": contract_lhs, "contract_rhs": contract_rhs}
        p = self.dot_general(lhs, rhs, **axes, out_dtype="float32")
        order = plan((lhs.ndim, rhs.ndim), (), (), contract_lhs, contract_rhs)
        columns = rhs.transpose(order.rhs)
        return self.finish_epilogue(p, columns.reshape(prod(columns.shape[:-1]), -1), *extra, form=form)

    def finish_epilogue(self, p: Array, columns: Array, *extra: Array, form: str) -> Array:
        """As `product_epilogue`, given the product and the right operand as a matrix."""
        xp, dtype = self.xp, columns.dtype
        rows = tuple(range(p.ndim - 1))
        second: Array = None
        if form == "bgrad":
            second = xp.sum(self.cast(columns, dtype="float32"), axis=0)
            return self.cast(p, dtype=dtype), self.cast(second, dtype=dtype)
        p, x = self.cast(p, dtype="float32"), self.cast(extra[0], dtype="float32")
        if form in ("dgelu", "dgelu_bgrad"):
            p = p * self._gelu_slope(x)
            second = xp.sum(p, axis=rows) if form == "dgelu_bgrad" else None
        else:
            x = p + x
            second = x if form == "gelu_aux_bias" else None
            p = x if form == "bias" else x * 0.5 * (1.0 + xp.tanh(_cubic(x)))
        if second is None:
            return self.cast(p, dtype=dtype)
        return self.cast(p, dtype=dtype), self.cast(second, dtype=dtype)

    def _gelu_slope(self, x: Array) -> Array:
        """The derivative of the approximation of GELU by tanh."""
        t = self.xp.tanh(_cubic(x))
        inner = _SCALE * (1.0 + 3 * _CUBIC * x * x)
        return 0.5 * ((1.0 + t) + x * inner * (1.0 - t * t))


def _cubic(x: Array) -> Array:
    """Return the argument of GELU's tanh, in the dtype of `x`: a number of Python has no dtype of its own."""
    return _SCALE * (x + _CUBIC * x * x * x)
