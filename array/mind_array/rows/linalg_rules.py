"""Derivatives of linear algebra: rules of the custom calls of `linalg.py`, in functions of arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..array import Array
from ..call_rules import batch_call_by_leading_axes, differentiate_call
from ..dtypes import kind_of
from ..emit import constant
from ..faults import fault
from ..operands import broadcast
from . import elementwise as e
from .contraction import matmul
from .creation import eye, tril, triu
from .factors import EIG, GEQRF, solved
from .linalg import TARGETS, conjugate_transposed, diagonal, hermitian, inv, singular, solve
from .manipulation import concat, expand_dims, matrix_transpose
from .parts import conj, from_parts, is_complex, parts_of, select, square
from .reductions import reduced

Arrays = Sequence[Array]


def _adjoint(x: Array) -> Array:
    """The transposed matrix; derivatives pair complex numbers without conjugation."""
    return matrix_transpose(x)


def _scaled(g: Array, matrices: Array) -> Array:
    """Matrices times a number each."""
    wide = expand_dims(expand_dims(g, axis=-1), axis=-1)
    return e.multiply(broadcast(wide, matrices.shape), matrices)


def _trace_of_product(a: Array, b: Array) -> Array:
    """The trace of `a @ b`."""
    product = e.multiply(a, matrix_transpose(b))
    return reduced("sum", product, (product.ndim - 2, product.ndim - 1), False)


def _inverse_reverse(xs: Arrays, ys: Arrays, gs: Arrays) -> Arrays:
    turned = _adjoint(ys[0])
    return [e.negative(matmul(matmul(turned, gs[0]), turned))]


def _inverse_forward(xs: Arrays, ys: Arrays, ts: Arrays) -> Arrays:
    return [e.negative(matmul(matmul(ys[0], ts[0]), ys[0]))]


def _summed_to(g: Array, like: Array) -> Array:
    """An adjoint summed over the leading axes along which its operand was repeated."""
    extra = tuple(range(g.ndim - like.ndim))
    g = reduced("sum", g, extra, False)
    stretched = tuple(i for i, (m, n) in enumerate(zip(like.shape, g.shape, strict=True)) if m != n)
    return reduced("sum", g, stretched, True)


def _solve_reverse(xs: Arrays, ys: Arrays, gs: Arrays) -> Arrays:
    a, b = xs
    b_adj = solve(_adjoint(a), gs[0])
    a_adj = e.negative(matmul(b_adj, _adjoint(ys[0])))
    return [_summed_to(a_adj, a), _summed_to(b_adj, b)]


def _solve_forward(xs: Arrays, ys: Arrays, ts: Arrays) -> Arrays:
    change = e.subtract(ts[1], matmul(ts[0], ys[0]))
    return [solve(xs[0], change)]


def _det_reverse(xs: Arrays, ys: Arrays, gs: Arrays) -> Arrays:
    return [_scaled(e.multiply(gs[0], ys[0]), _adjoint(inv(xs[0])))]


def _det_forward(xs: Arrays, ys: Arrays, ts: Arrays) -> Arrays:
    return [e.multiply(ys[0], _trace_of_product(inv(xs[0]), ts[0]))]


def _slogdet_reverse(xs: Arrays, ys: Arrays, gs: Arrays) -> Arrays:
    """
    The sign of a real determinant is constant where it has a derivative.

    That of a complex one turns: with `t = tr(x^-1 dx)` the logarithm changes by the real part of `t`, the sign by itself times
    the imaginary part.
    """
    g = gs[1]
    if is_complex(xs[0]):
        _, turn = parts_of(e.multiply(gs[0], ys[0]))
        g = from_parts(g, turn)
    return [_scaled(g, _adjoint(inv(xs[0])))]


def _slogdet_forward(xs: Arrays, ys: Arrays, ts: Arrays) -> Arrays:
    trace = _trace_of_product(inv(xs[0]), ts[0])
    zero = constant(0, ys[1].dtype, ys[1].shape)
    if not is_complex(xs[0]):
        return [zero, trace]
    change, turn = parts_of(trace)
    return [e.multiply(ys[0], from_parts(zero, turn)), change]


def _lower(x: Array) -> Array:
    """The lower triangle with half of the diagonal."""
    return e.multiply(e.add(tril(x), tril(x, k=-1)), 0.5)


def _conjugated(x: Array) -> Array:
    """The conjugate: derivatives pair complex numbers without conjugation, formulas of matrices pair them with it."""
    return conj(x) if kind_of(x.dtype) == "c" else x


def _twice_hermitian(x: Array) -> Array:
    return e.add(x, conjugate_transposed(x))


def _hermitian(x: Array) -> Array:
    """The Hermitian part."""
    return e.multiply(_twice_hermitian(x), 0.5)


def _inverse_factor(factor: Array) -> Array:
    """The inverse of a lower triangular matrix, by substitution, which XLA has too."""
    return solved(factor, broadcast(eye(factor.shape[-1], dtype=factor.dtype), factor.shape), lower=True)


def _cholesky_reverse(xs: Arrays, ys: Arrays, gs: Arrays) -> Arrays:
    """Murray: Differentiation of the Cholesky decomposition, 2016, equation 10, with adjoints for transposes."""
    factor, inverse = ys[0], _inverse_factor(ys[0])
    middle = _lower(matmul(conjugate_transposed(factor), tril(_conjugated(gs[0]))))
    found = matmul(matmul(conjugate_transposed(inverse), middle), inverse)
    return [_conjugated(_hermitian(found))]


def _cholesky_forward(xs: Arrays, ys: Arrays, ts: Arrays) -> Arrays:
    factor, inverse = ys[0], _inverse_factor(ys[0])
    inner = matmul(matmul(inverse, _hermitian(ts[0])), conjugate_transposed(inverse))
    return [matmul(factor, _lower(inner))]


def _gaps(values: Array) -> Array:
    """`1 / (values[j] - values[i])` at `[i, j]`, and 0 where they are equal."""
    difference = e.subtract(expand_dims(values, axis=-2), expand_dims(values, axis=-1))
    equal = e.equal(difference, constant(0, difference.dtype, difference.shape))
    one, zero = (constant(n, difference.dtype, difference.shape) for n in (1, 0))
    return select(equal, zero, e.divide(one, select(equal, one, difference)))


def _diagonal(values: Array) -> Array:
    """Matrices with these numbers on the diagonal."""
    n = values.shape[-1]
    return e.multiply(expand_dims(values, axis=-2), eye(n, dtype=values.dtype))


def _eigh_reverse(xs: Arrays, ys: Arrays, gs: Arrays) -> Arrays:
    """Giles: Collected matrix derivative results, 2008, section 3.1, with adjoints for transposes; equal eigenvalues left out."""
    (values, vectors), (values_adj, vectors_adj) = ys, gs
    adjoint = conjugate_transposed(vectors)
    turned = e.multiply(_gaps(values), matmul(adjoint, _conjugated(vectors_adj)))
    inner = e.add(_diagonal(values_adj), turned)
    return [_conjugated(_hermitian(matmul(matmul(vectors, inner), adjoint)))]


def _eigh_forward(xs: Arrays, ys: Arrays, ts: Arrays) -> Arrays:
    values, vectors = ys
    inner = matmul(matmul(conjugate_transposed(vectors), _hermitian(ts[0])), vectors)
    return [_real(diagonal(inner)), matmul(vectors, e.multiply(_gaps(values), inner))]


def _real(x: Array) -> Array:
    """The real part of numbers of which nothing else counts."""
    return parts_of(x)[0] if is_complex(x) else x


def _eigvalsh_reverse(xs: Arrays, ys: Arrays, gs: Arrays) -> Arrays:
    vectors = hermitian(xs[0], failure="nan").eigenvectors
    return [_conjugated(matmul(e.multiply(vectors, expand_dims(gs[0], axis=-2)), conjugate_transposed(vectors)))]


def _eigvalsh_forward(xs: Arrays, ys: Arrays, ts: Arrays) -> Arrays:
    vectors = hermitian(xs[0], failure="nan").eigenvectors
    return [_real(diagonal(matmul(matmul(conjugate_transposed(vectors), _hermitian(ts[0])), vectors)))]


def _thin(u: Array, vh: Array) -> None:
    """E5001 unless the singular vectors are those of `full_matrices=False`."""
    if u.shape[-1] != vh.shape[-2]:
        raise fault("E5001", "svd with full_matrices=True has no derivative; full_matrices=False has", op="svd")


def _scale(x: Array, values: Array) -> Array:
    """The columns of matrices times numbers."""
    return e.multiply(x, expand_dims(values, axis=-2))


def _outside(x: Array, basis: Array) -> Array:
    """Return the part of the columns of `x` that is outside of the space of the columns of `basis`."""
    return e.subtract(x, matmul(basis, matmul(conjugate_transposed(basis), x)))


def _reciprocal(values: Array) -> Array:
    return e.divide(constant(1, values.dtype, values.shape), values)


def _turns(diagonals: Array, inverse: Array) -> Array:
    """Matrices with the imaginary parts of numbers on the diagonal, as imaginary numbers, over the singular values."""
    turn = e.multiply(parts_of(diagonals)[1], inverse)
    return _diagonal(from_parts(constant(0, turn.dtype, turn.shape), turn))


def _svd_reverse(xs: Arrays, ys: Arrays, gs: Arrays) -> Arrays:
    """Townsend: Differentiating the singular value decomposition, 2016; equal singular values are left out."""
    u, s, vh = ys
    _thin(u, vh)
    v, u_adj, v_adj = conjugate_transposed(vh), _conjugated(gs[0]), matrix_transpose(gs[2])
    gaps, inverse = _gaps(square(s)), _reciprocal(s)
    along = matmul(conjugate_transposed(u), u_adj)
    left, right = (
        e.multiply(gaps, e.subtract(p, conjugate_transposed(p))) for p in (along, matmul(conjugate_transposed(v), v_adj))
    )
    inner = e.add(_scale(left, s), e.add(conjugate_transposed(_scale(conjugate_transposed(right), s)), _diagonal(gs[1])))
    if is_complex(u):
        inner = e.add(inner, _turns(diagonal(along), inverse))
    found = matmul(matmul(u, inner), vh)
    if xs[0].shape[-2] > s.shape[-1]:
        found = e.add(found, matmul(_scale(_outside(u_adj, u), inverse), vh))
    if xs[0].shape[-1] > s.shape[-1]:
        found = e.add(found, matmul(u, conjugate_transposed(_scale(_outside(v_adj, v), inverse))))
    return [_conjugated(found)]


def _svd_forward(xs: Arrays, ys: Arrays, ts: Arrays) -> Arrays:
    """Of complex matrices the phases of both vectors are free; those of `v` stay, as in JAX."""
    u, s, vh = ys
    _thin(u, vh)
    v, t = conjugate_transposed(vh), ts[0]
    inner = matmul(matmul(conjugate_transposed(u), t), v)
    gaps, flipped, inverse = _gaps(square(s)), conjugate_transposed(inner), _reciprocal(s)
    rows = expand_dims(s, axis=-1)
    turned = e.multiply(gaps, e.add(_scale(inner, s), e.multiply(rows, flipped)))
    if is_complex(u):
        turned = e.add(turned, _turns(diagonal(inner), inverse))
    du = matmul(u, turned)
    dv = matmul(v, e.multiply(gaps, e.add(e.multiply(rows, inner), _scale(flipped, s))))
    if xs[0].shape[-2] > s.shape[-1]:
        du = e.add(du, _scale(_outside(matmul(t, v), u), inverse))
    if xs[0].shape[-1] > s.shape[-1]:
        dv = e.add(dv, _scale(_outside(matmul(conjugate_transposed(t), u), v), inverse))
    return [du, _real(diagonal(inner)), conjugate_transposed(dv)]


def _svdvals_reverse(xs: Arrays, ys: Arrays, gs: Arrays) -> Arrays:
    found = singular(xs[0], failure="nan")
    return [_conjugated(matmul(_scale(found.U, gs[0]), found.Vh))]


def _svdvals_forward(xs: Arrays, ys: Arrays, ts: Arrays) -> Arrays:
    found = singular(xs[0], failure="nan")
    return [_real(diagonal(matmul(matmul(conjugate_transposed(found.U), ts[0]), conjugate_transposed(found.Vh))))]


def _reduced(x: Array, q: Array) -> None:
    """E5001 unless a QR decomposition is the reduced one."""
    m, n = x.shape[-2:]
    if q.shape[-1] != min(m, n):
        given = f"qr of {m} by {n} matrices with {q.shape[-1]} columns in Q"
        raise fault("E5001", f"{given} has no derivative; reduced ones have", op="qr")


def _qr_reverse(xs: Arrays, ys: Arrays, gs: Arrays) -> Arrays:
    """
    Walter and Lehmann: Algorithmic differentiation of linear algebra functions, 2018, section 3.3; of full rank.

    Of complex matrices the diagonal of R is real, as LAPACK has it, and so is that of the Hermitian matrix in the middle. Of wide
    ones the first columns are decomposed, and the others of R are `Q^H` times those of the matrix.
    """
    q, r = ys
    _reduced(xs[0], q)
    q_adj, r_adj = map(_conjugated, gs)
    k = q.shape[-1]
    first, others, others_adj = r[..., :k], xs[0][..., k:], r_adj[..., k:]
    q_adj, r_adj = e.add(q_adj, matmul(others, conjugate_transposed(others_adj))), r_adj[..., :k]
    middle = e.subtract(matmul(first, conjugate_transposed(r_adj)), matmul(conjugate_transposed(q_adj), q))
    right = e.add(q_adj, matmul(q, _twice_hermitian(_lower(middle))))
    found = matrix_transpose(solve(first, conjugate_transposed(right)))
    return [concat([found, _conjugated(matmul(q, others_adj))], axis=-1)]


def _qr_forward(xs: Arrays, ys: Arrays, ts: Arrays) -> Arrays:
    q, r = ys
    _reduced(xs[0], q)
    k, adjoint = q.shape[-1], conjugate_transposed(q)
    scaled = matrix_transpose(solve(matrix_transpose(r[..., :k]), matrix_transpose(ts[0][..., :k])))
    upper = conjugate_transposed(_lower(_twice_hermitian(matmul(adjoint, scaled))))
    change = e.subtract(scaled, matmul(q, upper))
    others = e.add(matmul(conjugate_transposed(change), xs[0][..., k:]), matmul(adjoint, ts[0][..., k:]))
    return [change, concat([matmul(upper, r[..., :k]), others], axis=-1)]


def _geqrf_reverse(xs: Arrays, ys: Arrays, gs: Arrays) -> Arrays:
    """As that of Q and R; NaN where something depends on the reflectors or their scales, which have no rule."""
    packed_adj, scales_adj, q_adj = gs
    n = packed_adj.shape[-1]
    lost = reduced("sum", square(tril(packed_adj, k=-1)), (-2, -1), True)
    lost = e.add(lost, expand_dims(reduced("sum", square(scales_adj), (-1,), True), axis=-1))
    (found,) = _qr_reverse(xs, (ys[2], triu(ys[0])[..., :n, :]), (q_adj, triu(packed_adj)[..., :n, :]))
    is_known = e.equal(lost, constant(0, lost.dtype, lost.shape))
    return [select(broadcast(is_known, found.shape), found, constant(math.nan, found.dtype, found.shape))]


def _geqrf_forward(xs: Arrays, ys: Arrays, ts: Arrays) -> Arrays:
    """As that of Q and R; NaN for the reflectors and their scales."""
    packed, scales, q = ys
    n = packed.shape[-1]
    q_tangent, r_tangent = _qr_forward(xs, (q, triu(packed)[..., :n, :]), ts)
    unknown = constant(math.nan, packed.dtype, packed.shape)
    padded = concat([triu(r_tangent), unknown[..., n:, :]], axis=-2)
    return [e.add(padded, tril(unknown, k=-1)), constant(math.nan, scales.dtype, scales.shape), q_tangent]


def _complex(x: Array) -> Array:
    return x if is_complex(x) else from_parts(x, constant(0, x.dtype, x.shape))


def _eig_reverse(xs: Arrays, ys: Arrays, gs: Arrays) -> Arrays:
    """
    Giles: Collected matrix derivative results, 2008, section 3.1, for general matrices, with vectors of length 1.

    NaN where something depends on the phases of the vectors, which nothing but a convention determines.
    """
    (values, vectors), (values_adj, vectors_adj) = ys, gs
    turned, gaps = matrix_transpose(vectors), _gaps(values)
    paired = e.multiply(vectors_adj, vectors)
    along, phase = parts_of(reduced("sum", paired, (paired.ndim - 2,), False))
    lengths = matmul(turned, conj(vectors))
    change = e.subtract(matmul(turned, vectors_adj), e.multiply(lengths, expand_dims(_complex(along), axis=-2)))
    inner = e.add(_diagonal(values_adj), e.multiply(gaps, change))
    found = solve(turned, matmul(inner, turned))
    found = found if is_complex(xs[0]) else parts_of(found)[0]
    real, imaginary = parts_of(paired)
    size = reduced("sum", e.add(square(real), square(imaginary)), (paired.ndim - 2,), False)
    excess = reduced("max", e.subtract(square(phase), e.multiply(size, 1e-4)), (size.ndim - 1,), False)
    excess = expand_dims(expand_dims(excess, axis=-1), axis=-1)
    is_known = e.less_equal(excess, constant(0, excess.dtype, excess.shape))
    return [select(broadcast(is_known, found.shape), found, constant(math.nan, found.dtype, found.shape))]


def _eig_forward(xs: Arrays, ys: Arrays, ts: Arrays) -> Arrays:
    """NaN for the vectors, whose phases have no derivative."""
    _, vectors = ys
    change = diagonal(solve(vectors, matmul(_complex(ts[0]), vectors)))
    return [change, constant(math.nan, vectors.dtype, vectors.shape)]


differentiate_call(EIG, _eig_reverse, _eig_forward)
differentiate_call(GEQRF, _geqrf_reverse, _geqrf_forward)

RULES = {
    "eigh": (_eigh_reverse, _eigh_forward),
    "eigvalsh": (_eigvalsh_reverse, _eigvalsh_forward),
    "svd": (_svd_reverse, _svd_forward),
    "svdvals": (_svdvals_reverse, _svdvals_forward),
    "qr": (_qr_reverse, _qr_forward),
    "inv": (_inverse_reverse, _inverse_forward),
    "solve": (_solve_reverse, _solve_forward),
    "det": (_det_reverse, _det_forward),
    "slogdet": (_slogdet_reverse, _slogdet_forward),
    "cholesky": (_cholesky_reverse, _cholesky_forward),
}
"""The reverse and the forward rule of each call that has one."""
for _name, (_reverse, _forward) in RULES.items():
    differentiate_call(TARGETS[_name], _reverse, _forward)
for _target in TARGETS.values():
    batch_call_by_leading_axes(_target)
