"""Ragged products as the ops that they mean, for targets without a form of their own."""

from __future__ import annotations

from typing import Any

from xdsl.ir import Operation, Region, SSAValue

from mind_dialect import ptir
from mind_dialect.ptir.control import region_of
from mind_dialect.ptir.types import SI64, read_type
from mind_dialect.ptir_shapes import Dims


def expansion(op: ptir.RaggedDotOp) -> Region:
    """
    Return a region of the operands that yields the result: masked products of every group.

    They do as many times the work as there are groups. What belongs to no group is chosen away, not multiplied by 0, so that
    infinities and NaN of one group do not reach another.
    """
    return region_of(lambda *xs: [_MaskedProducts(op, *xs).result()], [v.type for v in op.operands])


class _MaskedProducts:
    """The ops of a ragged product of the arguments of a region."""

    def __init__(self, op: ptir.RaggedDotOp, lhs: SSAValue, rhs: SSAValue, sizes: SSAValue):
        self.op, self.lhs, self.rhs, self.sizes = op, lhs, rhs, sizes
        self.dtypes = {name: op.values()[name] for name in ("accum_dtype", "out_dtype")}
        self.rows: Dims = read_type(lhs.type).shape[:1]
        self.groups: Dims = read_type(sizes.type).shape

    def result(self) -> SSAValue:
        """The result of the op."""
        if self.op.values()["kind"] == "rows":
            every = _made(ptir.DotGeneralOp, self.lhs, self.rhs, **_dims((), (1,), (1,)), **self.dtypes)
            inside = self._inside(read_type(every.type).shape, rows=0, groups=1)
            return _made(ptir.ReduceOp, _chosen(inside, every), kind="sum", axes=(1,), keepdims=False)
        parts: list[SSAValue] = []
        for x in (self.lhs, self.rhs):
            shape: Dims = (*self.groups, *read_type(x.type).shape)
            parts.append(_chosen(self._inside(shape, rows=1, groups=0), _made(ptir.BroadcastToOp, x, result_shape=shape)))
        return _made(ptir.DotGeneralOp, *parts, **_dims((0,), (1,), (1,)), **self.dtypes)

    def _inside(self, shape: Dims, *, rows: int, groups: int) -> SSAValue:
        """Return the mask of the rows of each group, along those axes of a shape."""
        sizes = _made(ptir.CastOp, self.sizes, dtype=SI64)
        sizes = _made(ptir.MaximumOp, sizes, _filled(0, sizes))
        ends, starts = (_made(ptir.CumulativeSumOp, sizes, axis=0, exclusive=e, reverse=False) for e in (False, True))
        place = _made(ptir.IotaOp, shape=shape, dtype=SI64, axis=rows)
        limits = tuple(n if axis == groups else 1 for axis, n in enumerate(shape))
        start, end = (
            _made(ptir.BroadcastToOp, _made(ptir.ReshapeOp, v, new_shape=limits), result_shape=shape) for v in (starts, ends)
        )
        late, early = _made(ptir.CompareOp, place, start, kind="greater_equal"), _made(ptir.CompareOp, place, end, kind="less")
        return _made(ptir.AndOp, late, early)


def _made(op: type[ptir.PtirOp], *operands: SSAValue, **properties: Any) -> SSAValue:
    made: Operation = op(*operands, **{name: v for name, v in properties.items() if v is not None})
    return made.results[0]


def _dims(batch: tuple[int, ...], lhs: tuple[int, ...], rhs: tuple[int, ...]) -> dict[str, Any]:
    return {"batch_lhs": batch, "batch_rhs": batch, "contract_lhs": lhs, "contract_rhs": rhs}


def _filled(number: int, like: SSAValue) -> SSAValue:
    dtype, shape = read_type(like.type)
    scalar = _made(ptir.ConstantOp, value=ptir.PtirLiteralAttr.from_values(dtype, (), (dtype.element.check(number),)))
    return _made(ptir.BroadcastToOp, scalar, result_shape=shape)


def _chosen(inside: SSAValue, x: SSAValue) -> SSAValue:
    """`x` inside, and 0 elsewhere."""
    return _made(ptir.SelectOp, inside, x, _filled(0, x))
