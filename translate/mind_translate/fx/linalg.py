"""
Rows of linear algebra: custom calls of `mind.linalg`, which solve, factor and invert stacks of matrices.

torch's `_ex` forms return a code of failure; the calls raise where torch would give one, so that it is always 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.ptir.types import SI32, SI64, TensorSpec

from .. import linear_algebra as linalg
from ..unsupported import Refused
from .converter import AtenConverter, Call, Results, Row, Table
from .products import product

MOST_PIVOTS = 64
"""Pivots become a permutation by as many steps."""


def _whole(name: str, count: int) -> Row:
    """A call whose results are torch's first ones. Factors that torch keeps for its derivative follow, and are unused."""

    def row(to: AtenConverter, call: Call, x: SSAValue, *_: Any) -> Results:
        results = [spec for spec in call.results[:count] if spec is not None]
        return [*linalg.call(to, name, [x], results), *[None] * (len(call.results) - count)]

    return row


def _code(to: AtenConverter, call: Call) -> SSAValue:
    """The code of failure, 0."""
    spec = call.results[-1]
    assert spec is not None
    return to.number(0, *spec)


def _with_code(to: AtenConverter, call: Call, found: SSAValue) -> Results:
    """A result, what torch keeps for its derivative, and the code of failure."""
    return [found, *[None] * (len(call.results) - 2), _code(to, call)]


def _inverse(to: AtenConverter, call: Call, x: SSAValue, check: bool = False) -> Results:
    return _with_code(to, call, linalg.call(to, "inv", [x], [call.spec])[0])


def cholesky_factor(to: AtenConverter, x: SSAValue, *, upper: bool) -> SSAValue:
    """One triangle is read; the derivative is symmetric all the same, as torch's is."""
    (found,) = linalg.call(to, "cholesky", [linalg.transposed(to, x, conjugate=True) if upper else x], [to.spec(x)])
    return linalg.transposed(to, found, conjugate=True) if upper else found


def _cholesky(to: AtenConverter, call: Call, x: SSAValue, upper: bool = False, check: bool = False) -> Results:
    return _with_code(to, call, cholesky_factor(to, x, upper=upper))


def _solve(to: AtenConverter, call: Call, a: SSAValue, b: SSAValue, left: bool = True, check: bool = False) -> Results:
    """A right side of one rank less holds vectors."""
    vectors = len(to.shape(b)) == 1 or to.shape(b) == to.shape(a)[:-1]
    b = to.reshape(b, (*to.shape(b), 1)) if vectors else b
    shape = (*call.shape, 1) if vectors else call.shape
    if not left:
        a, b, shape = linalg.transposed(to, a), linalg.transposed(to, b), (*shape[:-2], shape[-1], shape[-2])
    a, b = to.broadcast(a, (*shape[:-2], *to.shape(a)[-2:])), to.broadcast(b, shape)
    (found,) = linalg.call(to, "solve", [a, b], [TensorSpec(call.dtype, shape)])
    found = found if left else linalg.transposed(to, found)
    return _with_code(to, call, to.reshape(found, call.shape))


def _solve_triangular(
    to: AtenConverter, call: Call, a: SSAValue, b: SSAValue, upper: bool, left: bool = True, unit: bool = False
) -> SSAValue:
    a, b = to.broadcast(a, (*call.shape[:-2], *to.shape(a)[-2:])), to.broadcast(b, call.shape)
    return linalg.triangular_solution(to, a, b, left=left, lower=not upper, unit=unit)


def _factored(to: AtenConverter, x: SSAValue, pivot: bool) -> Sequence[SSAValue]:
    """L and U in one matrix, the pivots from 0, and row `permutation[i]` of `x` for each row i of their product."""
    if not pivot:
        raise Refused("an LU decomposition without pivots", "leave pivot=True")
    *batch, rows, _ = to.shape(x)
    pivots = (*batch, min(to.sizes(x)[-2:]))
    return linalg.call(to, "lu", [x], [to.spec(x), TensorSpec(SI32, pivots), TensorSpec(SI32, (*batch, rows))])


def _lu_factor(to: AtenConverter, call: Call, x: SSAValue, pivot: bool = True, check: bool = False) -> Results:
    packed, pivots, _ = _factored(to, x, pivot)
    return [packed, to.math(ptir.AddOp, pivots, 1), _code(to, call)]


def _lu(to: AtenConverter, call: Call, x: SSAValue, pivot: bool = True) -> Results:
    """`P L U = x`."""
    packed, _, permutation = _factored(to, x, pivot)
    return [linalg.permutation_matrix(to, permutation, call.dtype), *unpacked(to, packed)]


def unpacked(to: AtenConverter, packed: SSAValue) -> Sequence[SSAValue]:
    """L, with ones on its diagonal, and U of the matrix that holds both."""
    rank, (rows, columns) = len(to.shape(packed)), to.sizes(packed)[-2:]
    row, column = linalg.row_and_column(to, packed)
    below, zero = to.compare("greater", row, column), to.like(0, packed)
    on = to.select(to.compare("equal", row, column), to.like(1, packed), zero)
    lower = to.part(to.select(below, packed, on), rank - 1, 0, min(rows, columns))
    upper = to.part(to.select(below, zero, packed), rank - 2, 0, min(rows, columns))
    return lower, upper


def order_of_pivots(to: AtenConverter, pivots: SSAValue, rows: int) -> SSAValue:
    """The order of rows after row i is exchanged with row `pivots[i] - 1`, in order."""
    *batch, count = to.sizes(pivots)
    if count > MOST_PIVOTS:
        raise Refused(f"pivots of more than {MOST_PIVOTS} rows", "use torch.linalg.solve")
    axis, shape = len(batch), (*batch, rows)
    number = to.emit(ptir.IotaOp, shape=shape, dtype=SI32, axis=axis)
    order = number
    for i in range(count):
        other = to.math(ptir.SubOp, to.part(pivots, axis, i, i + 1), 1)
        first, second = to.part(order, axis, i, i + 1), to.emit(ptir.GatherOp, order, other, axis=axis)
        order = to.select(to.compare("equal", number, to.broadcast(other, shape)), to.broadcast(first, shape), order)
        order = to.select(to.compare("equal", number, i), to.broadcast(second, shape), order)
    return order


def _rows_in(to: AtenConverter, x: SSAValue, order: SSAValue) -> SSAValue:
    """The rows of matrices in another order."""
    shape = to.shape(x)
    indices = to.broadcast(to.reshape(order, (*to.shape(order), 1)), shape)
    return to.emit(ptir.GatherOp, x, indices, axis=len(shape) - 2)


def _lu_solve(
    to: AtenConverter, call: Call, packed: SSAValue, pivots: SSAValue, b: SSAValue, left: bool = True, adjoint: bool = False
) -> SSAValue:
    """
    `x` with `A x = b` where `P L U = A`; with `adjoint` of the adjoint of A.

    From the right, `x A = b`, the transposed system is solved: for complex numbers by conjugates of the adjoint.
    """
    if not left:
        flipped = Call(call.name, (TensorSpec(call.dtype, (*call.shape[:-2], call.shape[-1], call.shape[-2])),))
        b = linalg.transposed(to, b, conjugate=True)
        return linalg.transposed(to, _lu_solve(to, flipped, packed, pivots, b, True, not adjoint), conjugate=True)
    lead, rows = call.shape[:-2], to.sizes(packed)[-1]
    order = to.broadcast(order_of_pivots(to, pivots, rows), (*lead, rows))
    packed, b = to.broadcast(packed, (*lead, rows, rows)), to.broadcast(b, call.shape)

    def solved(b: SSAValue, *, lower: bool) -> SSAValue:
        turned = "ADJOINT" if adjoint else "NO_TRANSPOSE"
        return linalg.triangular_solution(to, packed, b, left=True, lower=lower, unit=lower, turned=turned)

    if not adjoint:
        return solved(solved(_rows_in(to, b, order), lower=True), lower=False)
    found = solved(solved(b, lower=False), lower=True)
    _, back = to.add(ptir.TopKOp(order, k=rows, axis=len(lead), largest=False, indices_dtype=SI64)).results
    return _rows_in(to, found, back)


def reflected(to: AtenConverter, x: SSAValue, reflectors: SSAValue, scales: SSAValue, *, turned: bool) -> SSAValue:
    """`Q x` for Q the product of `1 - tau v v^H`, or its adjoint times x; v is 1 in its own row and 0 above it."""
    rank, count = len(to.shape(x)), to.sizes(scales)[-1]
    row, column = linalg.row_and_column(to, reflectors)
    zero, one = to.like(0, reflectors), to.like(1, reflectors)
    below = to.select(to.compare("greater", row, column), reflectors, zero)
    vectors = to.select(to.compare("equal", row, column), one, below)
    batch = range(rank - 2)
    for i in range(count) if turned else range(count - 1, -1, -1):
        v, tau = to.part(vectors, rank - 1, i, i + 1), to.part(scales, rank - 2, i, i + 1)
        tau = to.broadcast(to.reshape(tau, (*to.shape(tau), 1)), to.shape(v))
        sums = product(to, v, x, batch, (rank - 2, rank - 2))
        change = product(to, to.emit(ptir.MulOp, v, tau), sums, batch, (rank - 1, rank - 2))
        x = to.emit(ptir.SubOp, x, change)
    return x


def _ormqr(
    to: AtenConverter, call: Call, x: SSAValue, scales: SSAValue, b: SSAValue, left: bool = True, transpose: bool = False
) -> SSAValue:
    """`Q b`, or `b Q = (Q^T b^T)^T`."""
    if not call.dtype.is_float:
        raise Refused(f"ormqr of {call.dtype}")
    if to.sizes(scales)[-1] > MOST_PIVOTS:
        raise Refused(f"more than {MOST_PIVOTS} reflectors", "use torch.linalg.qr")
    lead = call.shape[:-2]
    x, scales = to.broadcast(x, (*lead, *to.shape(x)[-2:])), to.broadcast(scales, (*lead, *to.shape(scales)[-1:]))
    b = to.broadcast(b, call.shape)
    if left:
        return reflected(to, b, x, scales, turned=transpose)
    return linalg.transposed(to, reflected(to, linalg.transposed(to, b), x, scales, turned=not transpose))


LINALG: Table = {
    "_linalg_det.default": _whole("det", 1),
    "_linalg_slogdet.default": _whole("slogdet", 2),
    "_linalg_solve_ex.default": _solve,
    "linalg_cholesky_ex.default": _cholesky,
    "linalg_inv_ex.default": _inverse,
    "linalg_ldl_factor_ex.default": Refused("an LDL factorization", "use torch.linalg.cholesky or torch.linalg.lu"),
    "linalg_lu.default": _lu,
    "linalg_lu_factor_ex.default": _lu_factor,
    "linalg_lu_solve.default": _lu_solve,
    "linalg_solve_triangular.default": _solve_triangular,
    "ormqr.default": _ormqr,
}
