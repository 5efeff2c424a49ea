"""
Rows of factorizations of matrices by LAPACK, and of what is computed of their factors.

Signs of eigenvectors and singular vectors are LAPACK's, which nothing determines: torch's may differ.
"""

from __future__ import annotations

import math
from typing import Any

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.ptir.types import DTYPES, Kind, PtirDType, TensorSpec

from .. import linear_algebra as linalg
from ..unsupported import Refused
from .converter import AtenConverter, Call, Results, Table, wide
from .linalg import MOST_PIVOTS, cholesky_factor, order_of_pivots, reflected, unpacked
from .products import product

MOST_SQUARINGS = 24
"""Of a matrix exponential: enough for norms up to 8 million."""
_TERMS = 14
"""Of its series: the next is below the rounding of f64 where the norm is 1/2."""
_EPSILON = {"f16": 2.0**-10, "bf16": 2.0**-7, "f32": 2.0**-23, "f64": 2.0**-52}


def real_of(dtype: PtirDType) -> PtirDType:
    """The dtype of the parts of complex numbers; of real ones their own."""
    return DTYPES[dtype.name.removeprefix("c")] if dtype.kind is Kind.COMPLEX else dtype


def _eigh(to: AtenConverter, call: Call, x: SSAValue, triangle: str = "L", vectors: bool = True) -> Results:
    """
    Eigenvalues in ascending order, and vectors if they are wanted.

    One triangle is read, by the call the lower one; the derivative is symmetric all the same, as torch's is.
    """
    x = linalg.transposed(to, x, conjugate=True) if triangle == "U" else x
    if not vectors:
        return [*linalg.call(to, "eigvalsh", [x], [call.spec]), None]
    specs = [spec for spec in call.results if spec is not None]
    return linalg.call(to, "eigh", [x], specs)


def _singular(to: AtenConverter, x: SSAValue, *, full: bool = False) -> tuple[SSAValue, SSAValue, SSAValue]:
    """U, the singular values in descending order, and the adjoint of V."""
    *batch, m, n = to.sizes(x)
    dtype, k = to.dtype(x), min(m, n)
    specs = [TensorSpec(dtype, (*batch, m, m if full else k)), TensorSpec(real_of(dtype), (*batch, k))]
    u, s, vh = linalg.call(to, "svd", [x], [*specs, TensorSpec(dtype, (*batch, n if full else k, n))], full_matrices=full)
    return u, s, vh


def _svd(
    to: AtenConverter, call: Call, x: SSAValue, full_matrices: bool = False, vectors: bool = True, driver: Any = None
) -> Results:
    if vectors:
        return _singular(to, x, full=full_matrices)
    spec = call.results[1]
    assert spec is not None
    return [None, *linalg.call(to, "svdvals", [x], [spec]), None]


def _pinv(
    to: AtenConverter,
    call: Call,
    x: SSAValue,
    atol: SSAValue | None = None,
    rtol: SSAValue | None = None,
    hermitian: bool = False,
) -> SSAValue:
    """
    The pseudo-inverse by singular values, of which those up to `max(atol, rtol greatest)` count as 0.

    Without tolerances `rtol` is the number of rows or columns times the machine epsilon; beside a positive `atol` it is 0.
    """
    if 0 in call.shape:
        return to.number(0, call.dtype, call.shape)
    x = _read_as(to, x, linalg.mirrored(to, x, lower=True)) if hermitian else x
    tolerances = [] if atol is None and rtol is None else _tolerances(to, x, rtol, atol)
    return linalg.call(to, "pinv", [x, *tolerances], [call.spec])[0]


def _tolerances(to: AtenConverter, x: SSAValue, rtol: SSAValue | None, atol: SSAValue | None) -> list[SSAValue]:
    """The relative and the absolute tolerance of each matrix."""
    *lead, m, n = to.sizes(x)
    batch, real = tuple(lead), real_of(to.dtype(x))

    def of_each(tolerance: SSAValue) -> SSAValue:
        return to.broadcast(to.cast(tolerance, real), batch)

    zero = to.number(0.0, real, batch)
    absolute = zero if atol is None else of_each(atol)
    if rtol is not None:
        return [of_each(rtol), absolute]
    default = to.fill(max(m, n) * _EPSILON[real.name], real, batch)
    return [to.select(to.compare("greater", absolute, 0.0), zero, default), absolute]


def _read_as(to: AtenConverter, x: SSAValue, read: SSAValue) -> SSAValue:
    """`read` with the derivative of `x`: torch reads one triangle, and differentiates as if it had read both."""
    change = to.emit(ptir.SubOp, x, to.emit(ptir.StopGradientOp, x))  # 0, unless x is not finite where it is not read
    is_finite = to.compare("less", to.emit(ptir.AbsOp, x), math.inf)
    change = to.select(is_finite, change, to.like(0.0, x))
    return to.emit(ptir.AddOp, to.emit(ptir.StopGradientOp, read), change)


def _times(to: AtenConverter, x: SSAValue, y: SSAValue) -> SSAValue:
    """Products of matrices of equal batches."""
    rank = len(to.shape(x))
    return product(to, x, y, range(rank - 2), (rank - 1, rank - 2))


def _qr(to: AtenConverter, call: Call, x: SSAValue, mode: str = "reduced") -> Results:
    """Q and R; with the mode `r`, R alone."""
    *batch, m, n = to.sizes(x)
    k = m if mode == "complete" else min(m, n)
    specs = [TensorSpec(call.dtype, (*batch, m, k)), TensorSpec(call.dtype, (*batch, k, n))]
    q, r = linalg.call(to, "qr", [x], specs, mode="complete" if mode == "complete" else "reduced")
    return [to.number(0, call.dtype, call.shape) if mode == "r" else q, r]


def _matrix_exp(to: AtenConverter, call: Call, x: SSAValue) -> SSAValue:
    """
    The exponential by scaling and squaring: of `x / 2^s`, whose norm is at most 1/2, by its series, then squared s times.

    Higham: Functions of matrices, 2008, section 10.3. Matrices whose norm is beyond `2^MOST_SQUARINGS` give NaN.
    """
    if to.dtype(x).kind is Kind.COMPLEX:
        raise Refused(f"a matrix exponential of {call.dtype}", "compute it of the real form of twice the size")
    if 0 in call.shape:
        return x
    x = to.cast(x, wide(call.dtype))
    rank = len(call.shape)
    norm = to.reduce("max", to.reduce("sum", to.emit(ptir.AbsOp, x), rank - 2, True), rank - 1, True)
    norm = to.emit(ptir.StopGradientOp, norm)
    scale, scaled = to.like(1.0, norm), norm
    for _ in range(MOST_SQUARINGS):
        is_large = to.compare("greater", scaled, 0.5)
        scaled, scale = (to.select(is_large, to.math(ptir.MulOp, v, 0.5), v) for v in (scaled, scale))
    base = to.emit(ptir.MulOp, x, to.broadcast(scale, call.shape))
    row, column = linalg.row_and_column(to, x)
    one = to.cast(to.compare("equal", row, column), to.dtype(x))
    found = one
    for k in range(_TERMS, 0, -1):
        found = to.emit(ptir.AddOp, one, to.math(ptir.DivOp, _times(to, base, found), float(k)))
    for _ in range(MOST_SQUARINGS):
        is_scaled = to.compare("less", scale, 1.0)
        found = to.select(to.broadcast(is_scaled, call.shape), _times(to, found, found), found)
        scale = to.select(is_scaled, to.math(ptir.MulOp, scale, 2.0), scale)
    is_known = to.broadcast(to.compare("less_equal", scaled, 0.5), call.shape)
    return to.cast(to.select(is_known, found, to.like(math.nan, found)), call.dtype)


def _geqrf(to: AtenConverter, call: Call, x: SSAValue) -> Results:
    """R on and above the diagonal and the reflectors below it, and their scales."""
    *batch, m, n = to.sizes(x)
    packed, scales = (spec for spec in call.results if spec is not None)
    return linalg.call(to, "geqrf", [x], [packed, scales, TensorSpec(call.dtype, (*batch, m, min(m, n)))])[:2]


def _householder_product(to: AtenConverter, call: Call, x: SSAValue, scales: SSAValue) -> SSAValue:
    """The first columns of the product of reflectors."""
    if not call.dtype.is_float:
        raise Refused(f"a product of reflectors of {call.dtype}", "use torch.linalg.qr")
    if to.sizes(scales)[-1] > MOST_PIVOTS:
        raise Refused(f"more than {MOST_PIVOTS} reflectors", "use torch.linalg.qr")
    row, column = linalg.row_and_column(to, x)
    return reflected(to, to.cast(to.compare("equal", row, column), call.dtype), x, scales, turned=False)


def _cholesky(to: AtenConverter, call: Call, x: SSAValue, upper: bool = False) -> SSAValue:
    return cholesky_factor(to, x, upper=upper)


def _gram(to: AtenConverter, factor: SSAValue, *, upper: bool) -> SSAValue:
    """`L L^H`, or `U^H U`, of a factor of which one triangle is read."""
    row, column = linalg.row_and_column(to, factor)
    kept = to.compare("less_equal" if upper else "greater_equal", row, column)
    factor = _read_as(to, factor, to.select(kept, factor, to.like(0, factor)))
    adjoint = linalg.transposed(to, factor, conjugate=True)
    return _times(to, adjoint, factor) if upper else _times(to, factor, adjoint)


def _cholesky_solve(to: AtenConverter, call: Call, b: SSAValue, factor: SSAValue, upper: bool = False) -> SSAValue:
    gram = to.broadcast(_gram(to, factor, upper=upper), (*call.shape[:-2], *to.shape(factor)[-2:]))
    return linalg.call(to, "solve", [gram, to.broadcast(b, call.shape)], [call.spec])[0]


def _cholesky_inverse(to: AtenConverter, call: Call, factor: SSAValue, upper: bool = False) -> SSAValue:
    return linalg.call(to, "inv", [_gram(to, factor, upper=upper)], [call.spec])[0]


def _triangular_solve(
    to: AtenConverter, call: Call, b: SSAValue, a: SSAValue, upper: bool = True, transpose: bool = False, unit: bool = False
) -> Results:
    """The solution of `a x = b`, and `a` itself, which torch copies."""
    lead = call.shape[:-2]
    a, b = to.broadcast(a, (*lead, *to.shape(a)[-2:])), to.broadcast(b, call.shape)
    turned = "TRANSPOSE" if transpose else "NO_TRANSPOSE"
    return [linalg.triangular_solution(to, a, b, left=True, lower=not upper, unit=unit, turned=turned), a]


def _lu_unpack(
    to: AtenConverter, call: Call, packed: SSAValue, pivots: SSAValue, data: bool = True, with_pivots: bool = True
) -> Results:
    """P, L and U of packed factors; what is not wanted is empty."""
    specs = [spec for spec in call.results if spec is not None]
    found: list[SSAValue] = [to.number(0, *spec) for spec in specs]
    if with_pivots:
        found[0] = linalg.permutation_matrix(to, order_of_pivots(to, pivots, to.sizes(packed)[-2]), call.dtype)
    if data:
        found[1:] = unpacked(to, packed)
    return found


def _eig(to: AtenConverter, call: Call, x: SSAValue) -> Results:
    """Eigenvalues and vectors as LAPACK's `geev` gives them: of length 1, their greatest component real."""
    values, vectors = (spec for spec in call.results if spec is not None)
    return linalg.call(to, "eig", [x], [values, vectors])


def _eigvals(to: AtenConverter, call: Call, x: SSAValue) -> SSAValue:
    vectors = TensorSpec(call.dtype, to.shape(x))
    return linalg.call(to, "eig", [x], [call.spec, vectors])[0]


FACTORIZATIONS: Table = {
    "_linalg_eigh.default": _eigh,
    "_linalg_eigvals.default": _eigvals,
    "_linalg_svd.default": _svd,
    "cholesky.default": _cholesky,
    "cholesky_inverse.default": _cholesky_inverse,
    "cholesky_solve.default": _cholesky_solve,
    "geqrf.default": _geqrf,
    "linalg_eig.default": _eig,
    "linalg_eigvals.default": _eigvals,
    "linalg_matrix_exp.default": _matrix_exp,
    "linalg_householder_product.default": _householder_product,
    "linalg_pinv.atol_rtol_tensor": _pinv,
    "linalg_qr.default": _qr,
    "lu_unpack.default": _lu_unpack,
    "triangular_solve.default": _triangular_solve,
}
