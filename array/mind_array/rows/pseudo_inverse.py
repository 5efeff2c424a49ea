"""
The pseudo-inverse, a custom call `mind.linalg.pinv.v1` with derivatives of its own.

Through singular vectors its derivative would not be defined where singular values are equal, as those of the identity, although
that of the pseudo-inverse is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import calls
from ..array import Array
from ..call_rules import batch_call_by_leading_axes, differentiate_call
from ..calls import call
from ..dtypes import real_of
from ..emit import constant
from ..operands import array_of, broadcast, cast
from ..table import SMOOTH, row
from . import elementwise as e
from . import lapack
from .contraction import matmul
from .linalg import LAPACK, conjugate_transposed, matrices
from .manipulation import expand_dims, matrix_transpose
from .parts import like, select
from .reductions import any_

Arrays = Sequence[Array]


def _bound(xp: Any, shape: tuple[int, ...], s: Any, rtol: Any, atol: Any) -> Any:
    """Return the number up to which singular values count as 0, of each matrix: the greater one of both tolerances."""
    greatest = s.max(axis=-1, initial=0)
    if rtol is None:
        return (greatest * (max(shape[-2:]) * xp.finfo(s.dtype).eps))[..., None]
    return xp.maximum(greatest * rtol, atol)[..., None]


def _adjoint(xp: Any, x: Any) -> Any:
    return xp.conj(xp.swapaxes(x, -1, -2))


def _pinv(xp: Any, x: Any, rtol: Any = None, atol: Any = None) -> Any:
    """Return the pseudo-inverses by singular values; without tolerances those up to the rounding of the greatest count as 0."""
    u, s, vh = lapack.svd(xp, x, full_matrices=False)
    kept = s > _bound(xp, x.shape, s, rtol, atol)
    inverse = xp.where(kept, 1 / xp.where(kept, s, 1), 0).astype(s.dtype)
    return xp.matmul(_adjoint(xp, vh) * inverse[..., None, :], _adjoint(xp, u))


def _truncation(xp: Any, x: Any, t: Any, rtol: Any, atol: Any) -> tuple[Any, Any]:
    """
    Return what truncation adds to the derivative along `t`, and of each matrix NaN if something is truncated, else 0.

    A change that couples singular vectors of a kept value p and a truncated one q moves the space that is kept. The derivative is
    that of a generalized matrix function (Noferini: A formula for the Frechet derivative of a generalized matrix function, 2017):
    its divided differences at q, less those at 0, are `q / (p (p^2 - q^2))` for `t`, and `q / p` times that for its adjoint.
    """
    u, s, vh = lapack.svd(xp, x, full_matrices=False)
    kept = s > _bound(xp, x.shape, s, rtol, atol)
    is_cut = ~kept & (s > _bound(xp, x.shape, s, None, None))
    couples = kept[..., :, None] & is_cut[..., None, :]
    p, q = xp.where(couples, s[..., :, None], 2), xp.where(couples, s[..., None, :], 0)
    first = q / (p * (p - q) * (p + q))
    first, second = (part + xp.swapaxes(part, -1, -2) for part in (first, first * q / p))
    inner = xp.matmul(xp.matmul(_adjoint(xp, u), t), _adjoint(xp, vh))
    inner = (first * inner + second * _adjoint(xp, inner)).astype(x.dtype)
    change = xp.matmul(xp.matmul(_adjoint(xp, vh), inner), _adjoint(xp, u))
    return change, xp.where(is_cut.any(axis=-1), xp.nan, 0).astype(s.dtype)


PINV = calls.define_as("mind.linalg.pinv.v1", _pinv)
TRUNCATION = calls.define_as("mind.linalg.pinv_truncation.v1", _truncation)


@row("linalg.pinv", module="linalg", category="floating", derivative=SMOOTH, call=LAPACK)
def pinv(x: Any, /, *, rtol: Any = None) -> Array:
    """Return the pseudo-inverses; singular values up to `rtol` times the greatest count as 0."""
    array = matrices(x, "pinv", square=False)
    *batch, m, n = array.shape
    given: list[Array] = []
    if rtol is not None:
        real = real_of(array.dtype)
        share = broadcast(cast(array_of(rtol, "pinv", "rtol"), real), tuple(batch))
        given = [share, constant(0, real, tuple(batch))]
    return call(PINV, (array, *given), [(array.dtype, (*batch, n, m))])


def _change(a: Array, p: Array, t: Array, tolerances: Arrays) -> Array:
    """
    Return the change of `p`, the pseudo-inverse of `a`, along `t` while the rank stays.

    Golub and Pereyra: The differentiation of pseudo-inverses and nonlinear least squares problems whose variables separate, 1973,
    equation 4.12: `-p t p + p p^H t^H (1 - a p) + (1 - p a) t^H p^H p`.
    """
    adjoint, turned = conjugate_transposed(p), conjugate_transposed(t)
    rows = matmul(matmul(p, adjoint), e.subtract(turned, matmul(matmul(turned, a), p)))
    columns = matmul(e.subtract(turned, matmul(p, matmul(a, turned))), matmul(adjoint, p))
    found = e.subtract(e.add(rows, columns), matmul(matmul(p, t), p))
    return e.add(found, _truncated(a, t, *tolerances)[0]) if tolerances else found


def _truncated(a: Array, t: Array, rtol: Array, atol: Array) -> tuple[Array, Array]:
    return call(TRUNCATION, (a, t, rtol, atol), [(a.dtype, matrix_transpose(a).shape), (rtol.dtype, rtol.shape)])


def _reverse(xs: Arrays, ys: Arrays, gs: Arrays) -> list[Array | None]:
    """The change is its own adjoint up to transposition; tolerances have no derivative."""
    found = matrix_transpose(_change(xs[0], ys[0], matrix_transpose(gs[0]), xs[1:]))
    return [found, *(None for _ in xs[1:])]


def _forward(xs: Arrays, ys: Arrays, ts: Arrays) -> list[Array]:
    return [_change(xs[0], ys[0], ts[0], xs[1:])]


def _unknown(mark: Array, like_: Array, *factors: Array) -> Array:
    """Zeros; NaN where a matrix is truncated and no factor of its derivative is 0, which has no rule."""
    found = mark
    for factor in factors:
        is_zero = e.logical_not(any_(e.not_equal(factor, like(0, factor)), axis=(-2, -1)))
        found = select(is_zero, like(0, found), found)
    return cast(broadcast(expand_dims(expand_dims(found, axis=-1), axis=-1), like_.shape), like_.dtype)


def _truncation_reverse(xs: Arrays, ys: Arrays, gs: Arrays) -> list[Array | None]:
    a, t, *tolerances = xs
    along = matrix_transpose(_truncated(a, matrix_transpose(gs[0]), *tolerances)[0])
    return [_unknown(ys[1], a, t, gs[0]), along, None, None]


def _truncation_forward(xs: Arrays, ys: Arrays, ts: Arrays) -> list[Array]:
    a, t, *tolerances = xs
    along = _truncated(a, ts[1], *tolerances)[0]
    return [e.add(along, _unknown(ys[1], along, t, ts[0])), like(0, ys[1])]


differentiate_call(PINV, _reverse, _forward)
differentiate_call(TRUNCATION, _truncation_reverse, _truncation_forward)
for _target in (PINV, TRUNCATION):
    batch_call_by_leading_axes(_target)
