"""
Products with an epilogue: elementwise code after a product, and sums, that libraries of products compute as they write it.

Such a fusion has the pattern `product_epilogue`. Its body computes in f32 between the product and the results, as these libraries
do, and is one of the forms of `FORMS`, whatever its ops: `epilogue_of` compares polynomials.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.ptir.types import BF16, F16, F32

from ..building import fill, spec_of
from ..polynomials import CUBIC, SCALE, Polynomials, plus, times

PATTERN = "product_epilogue"
BIAS, GELU_BIAS, GELU_AUX_BIAS = "bias", "gelu_bias", "gelu_aux_bias"
DGELU, DGELU_BGRAD, BGRAD = "dgelu", "dgelu_bgrad", "bgrad"
FORMS = {
    BIAS: "a vector is added to each row",
    GELU_BIAS: "then the approximation of GELU by tanh is applied",
    GELU_AUX_BIAS: "and the sum before it is a result too",
    DGELU: "the product is multiplied by the derivative of this GELU at a matrix",
    DGELU_BGRAD: "and the sum over the rows of the result is a result too",
    BGRAD: "the sums of the columns of the right operand are a result too",
}
"""The forms, by the name of the epilogue in cuBLASLt."""
DTYPES = (F16, BF16, F32)
LEAST_MULTIPLE = 8
"""Rows of matrices next to the result begin at multiples of so many elements."""


@dataclass(frozen=True)
class ProductEpilogue:
    """A product with an epilogue: its form, the product in the body, and the operand that is neither of the product's."""

    form: str
    product: ptir.DotGeneralOp
    extra: SSAValue | None


def is_product(op: ptir.DotGeneralOp) -> bool:
    """Return whether a product is one of two matrices of static shape, by rows, whose rows are multiples of 8 elements long."""
    values, left, right = op.values(), spec_of(op.lhs), spec_of(op.rhs)
    rows, columns = len(left.shape) - len(values["contract_lhs"]), len(right.shape) - len(values["contract_rhs"])
    sizes = [*left.shape, *right.shape]
    if values["batch_lhs"] or left.dtype not in DTYPES or values["accum_dtype"] not in (None, F32) or not rows or columns != 1:
        return False
    return all(isinstance(n, int) and n > 0 for n in sizes) and width(op) % LEAST_MULTIPLE == 0


def width(op: ptir.DotGeneralOp) -> int:
    """Return the number of columns of a product of static shape."""
    last = spec_of(op.result).shape[-1]
    assert isinstance(last, int), "static"
    return last


def is_over_rows(op: ptir.ReduceOp) -> bool:
    """Return whether a reduction sums over all axes but the last, which leaves a vector."""
    rank = len(spec_of(op.x).shape)
    return op.values()["kind"] == "sum" and sorted(a % rank for a in op.values()["axes"]) == [*range(rank - 1)] and rank > 1


def uncast(value: SSAValue) -> SSAValue:
    """Return the value that casts of floats were applied to."""
    while isinstance(value.owner, ptir.CastOp) and spec_of(value.owner.x).dtype.is_float and spec_of(value).dtype.is_float:
        value = value.owner.x
    return value


def epilogue_of(op: ptir.FusionOp) -> ProductEpilogue | None:
    """Return the epilogue that a fusion of the pattern computes; None for a body that computes something else."""
    block = op.body.block
    products = [o for o in block.ops if isinstance(o, ptir.DotGeneralOp)]
    ending = block.last_op
    if op.pattern is None or op.values()["pattern"] != PATTERN or len(products) != 1 or ending is None:
        return None
    (product,) = products
    arguments = list(block.args)
    if not is_product(product) or product.lhs not in arguments or product.rhs not in arguments or product.lhs is product.rhs:
        return None
    dtype = spec_of(product.lhs).dtype
    if any(spec_of(v).dtype is not dtype for v in ending.operands) or not _is_wide(block.ops, arguments):
        return None
    others = [v for v in arguments if v not in (product.lhs, product.rhs)]
    if len(others) > 1 or any(spec_of(v).dtype is not dtype for v in others):
        return None
    form = _form(product, others[0] if others else None, list(ending.operands))
    return None if form is None else ProductEpilogue(form, product, others[0] if others else None)


def _is_wide(ops: Any, arguments: Sequence[SSAValue]) -> bool:
    """Return whether everything but arguments and results is in f32."""
    inside = [v for o in ops for v in o.results if not isinstance(o, ptir.YieldOp)]
    narrow = [v for v in inside if spec_of(v).dtype is not F32]
    return all(
        isinstance(v.owner, ptir.CastOp) and all(isinstance(use.operation, ptir.YieldOp) for use in v.uses) for v in narrow
    ) and all(spec_of(v).dtype.is_float for v in arguments)


def _form(product: ptir.DotGeneralOp, extra: SSAValue | None, results: Sequence[SSAValue]) -> str | None:
    found = Polynomials()
    p, first = found.of(product.result), found.of(results[0])
    shape = spec_of(product.result).shape
    if len(results) > 2 or spec_of(results[0]).shape != shape:
        return None
    second = results[1] if len(results) == 2 else None
    if extra is None:
        return BGRAD if second is not None and found.same(first, p) and _is_sum_of_columns(second, product) else None
    if spec_of(extra).shape == shape[-1:] and len(shape) > 1:
        sum_ = plus(p, found.of(extra))
        if second is not None and not (spec_of(second).shape == shape and found.same(found.of(second), sum_)):
            return None
        if found.same(first, found.gelu_tanh(sum_)):
            return GELU_BIAS if second is None else GELU_AUX_BIAS
        return BIAS if second is None and found.same(first, sum_) else None
    if spec_of(extra).shape == shape and found.same(first, times(p, found.gelu_tanh_gradient(found.of(extra)))):
        if second is None:
            return DGELU
        sum_of = uncast(second).owner
        is_bias = isinstance(sum_of, ptir.ReduceOp) and is_over_rows(sum_of) and found.same(found.of(sum_of.x), first)
        return DGELU_BGRAD if is_bias else None
    return None


def _is_sum_of_columns(value: SSAValue, product: ptir.DotGeneralOp) -> bool:
    """Return whether a value is the sum of the right operand of a product over the contracted axes."""
    op = uncast(value).owner
    if not isinstance(op, ptir.ReduceOp) or uncast(op.x) is not product.rhs or op.values()["kind"] != "sum":
        return False
    rank = len(spec_of(op.x).shape)
    axes, contracted = op.values()["axes"], product.values()["contract_rhs"]
    return sorted(a % rank for a in axes) == sorted(a % rank for a in contracted) and len(spec_of(value).shape) == 1


class EpilogueBuilder:
    """
    Builds the ops of a body around a product, in no block yet: each method returns results in the dtype of the operands.

    `ops` are all of them, in order.
    """

    def __init__(self, product: ptir.DotGeneralOp):
        dtype, self.shape = spec_of(product.lhs).dtype, spec_of(product.result).shape
        self.product, self.name, self.is_narrow = product, dtype.name, dtype is not F32
        values = product.values()
        axes = {name: values[name] for name in ("batch_lhs", "batch_rhs", "contract_lhs", "contract_rhs")}
        self.ops: list[ptir.PtirOp] = []
        self.p = self._add(ptir.DotGeneralOp(product.lhs, product.rhs, **axes, out_dtype="f32" if self.is_narrow else None))

    def _add(self, op: ptir.PtirOp) -> SSAValue:
        self.ops.append(op)
        return op.results[0]

    def _number(self, number: float) -> SSAValue:
        shape = tuple(n for n in self.shape if isinstance(n, int))
        assert prod(shape), "not empty"
        return self._add(fill(self.product, F32, shape, number))

    def _wide(self, value: SSAValue) -> SSAValue:
        return self._add(ptir.CastOp(value, dtype="f32")) if self.is_narrow else value

    def _narrow(self, value: SSAValue) -> SSAValue:
        return self._add(ptir.CastOp(value, dtype=self.name)) if self.is_narrow else value

    def _mul(self, a: SSAValue, b: SSAValue | float) -> SSAValue:
        return self._add(ptir.MulOp(a, b if isinstance(b, SSAValue) else self._number(b)))

    def _plus(self, a: SSAValue, b: SSAValue | float) -> SSAValue:
        return self._add(ptir.AddOp(a, b if isinstance(b, SSAValue) else self._number(b)))

    def _tanh(self, x: SSAValue) -> SSAValue:
        cube = self._mul(self._mul(self._mul(x, x), x), CUBIC)
        return self._add(ptir.TanhOp(self._mul(self._plus(x, cube), SCALE)))

    def bias(self, bias: SSAValue, *, gelu: bool, aux: bool) -> list[SSAValue]:
        """The product and a vector, perhaps under GELU, and perhaps the sum too."""
        rows = self._add(ptir.BroadcastToOp(self._wide(bias), result_shape=self.shape))
        x = y = self._plus(self.p, rows)
        if gelu:
            y = self._mul(self._mul(x, 0.5), self._plus(self._tanh(x), 1.0))
        found = [self._narrow(y)]
        return [*found, self._narrow(x)] if aux else found

    def gelu_gradient(self, aux: SSAValue, *, sums: bool) -> list[SSAValue]:
        """The product times the derivative of GELU at a matrix, and perhaps the sums over its rows."""
        x = self._wide(aux)
        t = self._tanh(x)
        rest = self._add(ptir.SubOp(self._number(1.0), self._mul(t, t)))
        slope = self._mul(self._plus(self._mul(self._mul(x, x), 3 * CUBIC), 1.0), SCALE)
        derivative = self._mul(self._plus(self._plus(t, 1.0), self._mul(self._mul(x, slope), rest)), 0.5)
        y = self._mul(self.p, derivative)
        found = [self._narrow(y)]
        return [*found, self._sum(y, range(len(self.shape) - 1))] if sums else found

    def column_sums(self) -> list[SSAValue]:
        """The product, and the sums of the right operand over the contracted axes."""
        return [self._narrow(self.p), self._sum(self._wide(self.product.rhs), self.product.values()["contract_rhs"])]

    def _sum(self, x: SSAValue, axes: Sequence[int]) -> SSAValue:
        return self._narrow(self._add(ptir.ReduceOp(x, kind="sum", axes=tuple(axes), keepdims=False)))
