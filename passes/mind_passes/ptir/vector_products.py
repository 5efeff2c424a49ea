"""Products of vectors, and of matrices and vectors, of complex numbers: elementwise products that are summed."""

from __future__ import annotations

from math import prod

from mind_dialect import ptir
from mind_dialect.ptir.types import part_of

from . import construct as make
from .building import accumulator
from .complex_functions import Parts, product
from .construct import Value


def product_of_vectors(op: ptir.DotGeneralOp, x: Parts, y: Parts) -> Parts | None:
    """
    Return the parts of a product, given those of its operands; None where both have extents of their own.

    The shape of the products is that of the result and, behind it, the extents that are summed over.
    """
    values = op.values()
    left, right = (
        _Side(make.static(v), values[f"batch_{s}"], values[f"contract_{s}"]) for v, s in ((op.lhs, "lhs"), (op.rhs, "rhs"))
    )
    if prod(left.own) > 1 and prod(right.own) > 1:
        return None
    shape = (*left.batch, *left.own, *right.own, *left.summed)
    accum, out = part_of(accumulator(op)), part_of(op.result_spec().dtype)
    if accum.bits > make.spec(x[0]).dtype.bits:  # products, too, are those of the wider dtype
        x, y = ((make.cast(a, accum), make.cast(b, accum)) for a, b in (x, y))
    first = tuple([left.spread(v, (*left.own, *(1 for _ in right.own)), shape) for v in x])
    second = tuple([right.spread(v, (*(1 for _ in left.own), *right.own), shape) for v in y])
    axes = tuple(range(len(shape) - len(left.summed), len(shape)))
    a, b = product((first[0], first[1]), (second[0], second[1]))

    def total(v: Value) -> Value:
        return ptir.ReduceOp(v, kind="sum", axes=axes, keepdims=False, accum_dtype=accum, out_dtype=out)

    return total(a), total(b)


class _Side:
    """An operand: its extents of the batch, of its own, and those that are summed over."""

    def __init__(self, shape: tuple[int, ...], batch: tuple[int, ...], contract: tuple[int, ...]):
        batch, contract = (tuple(a % len(shape) for a in axes) for axes in (batch, contract))
        free = tuple(a for a in range(len(shape)) if a not in (*batch, *contract))
        self.order = (*batch, *free, *contract)
        self.batch, self.own, self.summed = (tuple(shape[a] for a in axes) for axes in (batch, free, contract))

    def spread(self, x: Value, own: tuple[int, ...], shape: tuple[int, ...]) -> Value:
        """Return the operand in the shape of the products, where `own` are the extents that it has of those of both."""
        ordered = make.transpose(x, self.order)
        return make.broadcast(make.reshape(ordered, (*self.batch, *own, *self.summed)), shape)
