"""LU decompositions, and what is computed by them, as the ops that they mean, for targets without a form of their own."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from xdsl.ir import Operation, Region, SSAValue

from mind_dialect import ptir
from mind_dialect.ptir.control import region_of
from mind_dialect.ptir.types import SI32, Kind, TensorSpec, read_type
from mind_dialect.ptir_shapes import Dims


def expansion(op: ptir.CustomCallOp) -> Region:
    """
    Return a region of the operands of a custom call of `EXPANSIONS` that yields its results.

    A scan over the columns exchanges rows and subtracts, of whole matrices, with masks for what stays. Singular matrices give
    infinities and NaN, as there is no way to report them.
    """
    rule = EXPANSIONS[op.values()["target"]]
    return region_of(lambda *xs: rule(op, *xs), [v.type for v in op.operands])


def _lu(op: ptir.CustomCallOp, x: SSAValue) -> list[SSAValue]:
    """L and U in one, the pivots, and the order of the rows."""
    *batch, m, n = shape = _sizes(x)
    found = _eliminated(_reshaped(x, (math.prod(batch), m, n)), min(m, n))
    shapes = (shape, (*batch, min(m, n)), (*batch, m))
    return [_reshaped(v, s) for v, s in zip(found, shapes, strict=True)]


def _solve(op: ptir.CustomCallOp, a: SSAValue, b: SSAValue) -> list[SSAValue]:
    """The right-hand sides as further columns, of which elimination makes those of the upper triangular system."""
    *batch, n, k = shape = _sizes(op.results[0])
    count = math.prod(batch)
    matrices = _reshaped(_broadcast(a, (*batch, n, n)), (count, n, n))
    sides = _reshaped(_broadcast(b, shape), (count, n, k))
    packed, _, _ = _eliminated(_made(ptir.ConcatOp, matrices, sides, axis=2), n)
    upper, sides = (_made(ptir.SliceOp, packed, starts=(0, 0, start), sizes=(count, n, size)) for start, size in ((0, n), (n, k)))
    solved = ptir.CustomCallOp(upper, sides, target="mind.linalg.solve_upper.v1", attrs={}, result_types=[sides.type])
    return [_reshaped(solved.results[0], shape)]


def _inv(op: ptir.CustomCallOp, x: SSAValue) -> list[SSAValue]:
    shape = _sizes(x)
    row, column = (_made(ptir.IotaOp, shape=shape, dtype=SI32, axis=len(shape) - i) for i in (2, 1))
    return _solve(op, x, _select(_compared("equal", row, column), _filled(1, x), _filled(0, x)))


def _factors_of_determinant(x: SSAValue) -> tuple[SSAValue, SSAValue]:
    """The diagonals of U, and -1 for each exchange of rows, else 1."""
    *batch, n, _ = _sizes(x)
    shape = (math.prod(batch), n, n)
    packed, pivots, _ = _eliminated(_reshaped(x, shape), n)
    row, column = (_made(ptir.IotaOp, shape=shape, dtype=SI32, axis=axis) for axis in (1, 2))
    chosen = _select(_compared("equal", row, column), packed, _filled(0, packed))
    diagonal = _made(ptir.ReduceOp, chosen, kind="sum", axes=(2,), keepdims=False)
    is_kept = _compared("equal", pivots, _made(ptir.IotaOp, shape=shape[:2], dtype=SI32, axis=1))
    return diagonal, _select(is_kept, _filled(1, diagonal), _filled(-1, diagonal))


def _along(kind: str, op: ptir.CustomCallOp, x: SSAValue, result: int = 0) -> SSAValue:
    reduced = _made(ptir.ReduceOp, x, kind=kind, axes=(1,), keepdims=False)
    return _reshaped(reduced, _sizes(op.results[result]))


def _det(op: ptir.CustomCallOp, x: SSAValue) -> list[SSAValue]:
    return [_along("prod", op, _made(ptir.MulOp, *_factors_of_determinant(x)))]


def _slogdet(op: ptir.CustomCallOp, x: SSAValue) -> list[SSAValue]:
    diagonal, signs = _factors_of_determinant(x)
    sign = _along("prod", op, _made(ptir.MulOp, _made(ptir.SignOp, diagonal), signs))
    return [sign, _along("sum", op, _made(ptir.LogOp, _made(ptir.AbsOp, diagonal)), 1)]


EXPANSIONS: Mapping[str, Callable[..., list[SSAValue]]] = {
    "mind.linalg.lu.v1": _lu,
    "mind.linalg.solve.v1": _solve,
    "mind.linalg.inv.v1": _inv,
    "mind.linalg.det.v1": _det,
    "mind.linalg.slogdet.v1": _slogdet,
}
"""Functions from a custom call and its operands to the values of its results, by target."""


def _eliminated(packed: SSAValue, steps: int) -> tuple[SSAValue, SSAValue, SSAValue]:
    """Return matrices after steps of elimination with pivots, the pivots, and the order of the rows."""
    count, m, _ = _sizes(packed)
    order = _made(ptir.IotaOp, shape=(count, m), dtype=SI32, axis=1)
    if not steps:
        return packed, _made(ptir.IotaOp, shape=(count, 0), dtype=SI32, axis=1), order
    numbers = _made(ptir.IotaOp, shape=(steps,), dtype=SI32, axis=0)
    scan = ptir.ScanOp(packed, order, numbers, carry_count=2, scan_output_count=1, body=_step)
    return scan.results[0], _made(ptir.TransposeOp, scan.results[2], perm=(1, 0)), scan.results[1]


def _step(packed: SSAValue, order: SSAValue, number: SSAValue) -> list[SSAValue]:
    """One column: its greatest element below becomes the pivot, and multiples of the pivot's row are subtracted."""
    shape = _sizes(packed)
    count, m, _ = shape
    row, column = (_made(ptir.IotaOp, shape=shape, dtype=SI32, axis=axis) for axis in (1, 2))
    here = _broadcast(number, shape)
    size = _magnitude(_sliced(packed, number, (count, m, 1)))
    size = _reshaped(size, (count, m))
    rows = _made(ptir.IotaOp, shape=(count, m), dtype=SI32, axis=1)
    is_above = _compared("less", rows, _broadcast(number, (count, m)))
    pivot = _made(ptir.ArgMaxOp, _select(is_above, _filled(-1, size), size), axis=1, keepdims=False, output_dtype=SI32)
    packed, pivot_row = _exchanged(packed, row, here, pivot)
    order, _ = _exchanged(order, rows, _broadcast(number, (count, m)), pivot)
    divisor = _sliced(pivot_row, number, (count, 1, 1))
    divisor = _select(_compared("equal", divisor, _filled(0, divisor)), _filled(1, divisor), divisor)
    factors = _made(ptir.DivOp, _sliced(packed, number, (count, m, 1)), _broadcast(divisor, (count, m, 1)))
    factors = _broadcast(factors, shape)
    reduced = _made(ptir.SubOp, packed, _made(ptir.MulOp, factors, _broadcast(pivot_row, shape)))
    changed = _select(_compared("equal", column, here), factors, reduced)
    is_right = _made(ptir.AndOp, _compared("greater", row, here), _compared("greater_equal", column, here))
    return [_select(is_right, changed, packed), order, pivot]


def _exchanged(x: SSAValue, row: SSAValue, here: SSAValue, pivot: SSAValue) -> tuple[SSAValue, SSAValue]:
    """Return `x` with the row of this step and the pivot's exchanged, and the pivot's row, which is this step's then."""
    shape = _sizes(x)
    there = _broadcast(_reshaped(pivot, (shape[0], *(1,) * (len(shape) - 1))), shape)
    is_here, is_there = _compared("equal", row, here), _compared("equal", row, there)
    first, second = (
        _made(ptir.ReduceOp, _select(chosen, x, _filled(0, x)), kind="sum", axes=(1,), keepdims=True)
        for chosen in (is_here, is_there)
    )
    return _select(is_here, _broadcast(second, shape), _select(is_there, _broadcast(first, shape), x)), second


def _magnitude(x: SSAValue) -> SSAValue:
    """The magnitudes of numbers, of complex ones the sum of those of their parts, as in LAPACK."""
    if read_type(x.type).dtype.kind is not Kind.COMPLEX:
        return _made(ptir.AbsOp, x)
    return _made(ptir.AddOp, *(_made(ptir.AbsOp, _made(part, x)) for part in (ptir.RealOp, ptir.ImagOp)))


def _sliced(x: SSAValue, number: SSAValue, sizes: tuple[int, ...]) -> SSAValue:
    """A window from column `number` on, and from 0 on along the other axes."""
    last = ptir.PtirLiteralAttr.from_values(SI32, (3,), (0, 0, 1))
    start = _made(ptir.MulOp, _made(ptir.ConstantOp, value=last), _broadcast(number, (3,)))
    return _made(ptir.DynamicSliceOp, x, start, sizes=sizes)


def _sizes(x: SSAValue) -> tuple[int, ...]:
    return tuple(n for n in read_type(x.type).shape if isinstance(n, int))


def _made(op: type[ptir.PtirOp], *operands: SSAValue, **properties: Any) -> SSAValue:
    made: Operation = op(*operands, **properties)
    return made.results[0]


def _compared(kind: str, x: SSAValue, y: SSAValue) -> SSAValue:
    return _made(ptir.CompareOp, x, y, kind=kind)


def _select(pred: SSAValue, x: SSAValue, y: SSAValue) -> SSAValue:
    return _made(ptir.SelectOp, pred, x, y)


def _reshaped(x: SSAValue, shape: Dims) -> SSAValue:
    return x if read_type(x.type).shape == shape else _made(ptir.ReshapeOp, x, new_shape=shape)


def _broadcast(x: SSAValue, shape: Dims) -> SSAValue:
    return x if read_type(x.type).shape == shape else _made(ptir.BroadcastToOp, x, result_shape=shape)


def _filled(number: int, like: SSAValue) -> SSAValue:
    spec: TensorSpec = read_type(like.type)
    scalar = ptir.PtirLiteralAttr.from_values(spec.dtype, (), (spec.dtype.element.check(number),))
    return _made(ptir.BroadcastToOp, _made(ptir.ConstantOp, value=scalar), result_shape=spec.shape)
