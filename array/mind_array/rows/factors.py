"""
LU decomposition, triangular systems, QR by reflectors, `eig`: custom calls `mind.linalg.lu.v1`, `solve_lower.v1`, `geqrf.v1`, ...

Programs of other front ends, such as JAX's, are made of them, and of the eigenvalues of general matrices. Kernels of what NumPy
lacks go row by row, over all matrices of a batch at once, in operations of NumPy's; a zero on a diagonal gives infinity and NaN,
as in LAPACK.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .. import calls
from ..array import Array
from ..call_rules import batch_call_by_leading_axes, differentiate_call
from ..calls import call
from ..faults import fault
from ..operands import broadcast
from . import elementwise as e
from .contraction import matmul
from .creation import eye, tril, triu
from .indexing import take_along_axis
from .manipulation import expand_dims, matrix_transpose
from .reductions import argsort

Arrays = Sequence[Array]


def _lu(xp: Any, x: Any) -> Any:
    """
    Return L below the diagonal and U on and above it, the pivots (from 0), and the permutation of rows, all of `(..., m, n)`.

    Row i is exchanged with row `pivots[i]`, in order; so row i of the product of L and U is row `permutation[i]` of x. Complex
    numbers are compared by the sum of the magnitudes of their parts, as by LAPACK.
    """
    *batch, m, n = x.shape
    packed = xp.array(x).reshape((math.prod(batch), m, n))
    which = xp.arange(len(packed))
    pivots = xp.zeros((len(packed), min(m, n)), "int32")
    permutation = xp.zeros((len(packed), m), "int32") + xp.arange(m, dtype="int32")
    for i in range(min(m, n)):
        column = packed[:, i:, i]
        pivot = i + xp.argmax(xp.abs(column.real) + xp.abs(column.imag), axis=1)
        pivots[:, i] = pivot
        for rows in (packed, permutation):
            first = rows[:, i].copy()
            rows[:, i] = rows[which, pivot]
            rows[which, pivot] = first
        divisor = packed[:, i, i, None]
        below = packed[:, i + 1 :, i] / xp.where(divisor == 0, xp.ones_like(divisor), divisor)
        packed[:, i + 1 :, i] = below
        packed[:, i + 1 :, i + 1 :] -= below[:, :, None] * packed[:, i, None, i + 1 :]
    shape = tuple(batch)
    return packed.reshape(x.shape), pivots.reshape((*shape, min(m, n))), permutation.reshape((*shape, m))


def _substitution(lower: bool) -> Any:
    def solve(xp: Any, a: Any, b: Any) -> Any:
        """Return the solution of `a @ x == b`, where one triangle of `a` is read."""
        found = xp.array(b)
        n = a.shape[-1]
        for i in range(n) if lower else range(n - 1, -1, -1):
            known = slice(0, i) if lower else slice(i + 1, n)
            rest = xp.matmul(a[..., i : i + 1, known], found[..., known, :])[..., 0, :]
            found[..., i, :] = (found[..., i, :] - rest) / a[..., i, i, None]
        return found

    return solve


def _geqrf(xp: Any, x: Any) -> tuple[Any, Any, Any]:
    """
    Return R on and above the diagonal and the reflectors below it, their scales, and Q, of as many columns as reflectors.

    LAPACK makes Q from the reflectors, in a call of its own; programs that do so take it from here.
    """
    reflectors, scales = xp.linalg.qr(x, mode="raw")
    return xp.ascontiguousarray(xp.swapaxes(reflectors, -1, -2)), scales, xp.linalg.qr(x, mode="reduced")[0]


def _eig(xp: Any, x: Any) -> tuple[Any, Any]:
    """
    Return the eigenvalues of general matrices and their vectors, as columns of length 1, both complex.

    They come in the order of LAPACK's `geev`; the greatest component of each vector is real.
    """
    values, vectors = xp.linalg.eig(x)
    dtype = xp.complex64 if x.dtype in (xp.float32, xp.complex64) else xp.complex128
    return values.astype(dtype), vectors.astype(dtype)


EIG = calls.define_as("mind.linalg.eig.v1", _eig)
GEQRF = calls.define_as("mind.linalg.geqrf.v1", _geqrf)
LU = calls.define_as("mind.linalg.lu.v1", _lu)
LOWER = calls.define_as("mind.linalg.solve_lower.v1", _substitution(True))
UPPER = calls.define_as("mind.linalg.solve_upper.v1", _substitution(False))


def solved(a: Array, b: Array, *, lower: bool) -> Array:
    """Return the solution of `a @ x == b`, where one triangle of `a` is read."""
    return call(LOWER if lower else UPPER, (a, b), [(b.dtype, b.shape)])


def _solve_rules(lower: bool) -> None:
    triangle = tril if lower else triu

    def reverse(xs: Arrays, ys: Arrays, gs: Arrays) -> Arrays:
        b_adj = solved(matrix_transpose(xs[0]), gs[0], lower=not lower)
        return [e.negative(triangle(matmul(b_adj, matrix_transpose(ys[0])))), b_adj]

    def forward(xs: Arrays, ys: Arrays, ts: Arrays) -> Arrays:
        return [solved(xs[0], e.subtract(ts[1], matmul(triangle(ts[0]), ys[0])), lower=lower)]

    differentiate_call(LOWER if lower else UPPER, reverse, forward)


def _parts(packed: Array) -> tuple[Array, Array]:
    """L with its diagonal of ones, and U, of square matrices; E5001 for others."""
    m, n = packed.shape[-2:]
    if m != n:
        raise fault("E5001", f"lu of {m} by {n} matrices has no derivative; square ones have", op="lu")
    return e.add(tril(packed, k=-1), eye(n, dtype=packed.dtype)), triu(packed)


def _rows(x: Array, order: Array) -> Array:
    """The rows of matrices in another order."""
    return take_along_axis(x, broadcast(expand_dims(order, axis=-1), x.shape), axis=-2)


def _lu_reverse(xs: Arrays, ys: Arrays, gs: Arrays) -> Arrays:
    """De Hoog, Anderssen and Lukas: Differentiation of matrix functionals using triangular factorization, 2011."""
    lower, upper = _parts(ys[0])
    left = tril(matmul(matrix_transpose(lower), tril(gs[0], k=-1)), k=-1)
    right = triu(matmul(triu(gs[0]), matrix_transpose(upper)))
    middle = solved(matrix_transpose(lower), e.add(left, right), lower=False)
    found = matrix_transpose(solved(upper, matrix_transpose(middle), lower=False))
    return [_rows(found, argsort(ys[2], axis=-1))]


def _lu_forward(xs: Arrays, ys: Arrays, ts: Arrays) -> Sequence[Array | None]:
    lower, upper = _parts(ys[0])
    inner = solved(lower, _rows(ts[0], ys[2]), lower=True)
    inner = matrix_transpose(solved(matrix_transpose(upper), matrix_transpose(inner), lower=True))
    change = e.add(matmul(lower, tril(inner, k=-1)), matmul(triu(inner), upper))
    return [change, None, None]


_solve_rules(True)
_solve_rules(False)
differentiate_call(LU, _lu_reverse, _lu_forward)
for _target in (LU, LOWER, UPPER, GEQRF, EIG):
    batch_call_by_leading_axes(_target)
