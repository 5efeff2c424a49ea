"""Derivatives of every function of the table, against central differences, and batches of those that are custom calls."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mind_array as ma
from mind_array.table import TABLE, Derivative, Row
from mind_dialect.errors import MindError

Array = np.ndarray[Any, Any]


def close(found: Any, expected: Any, rtol: float = 1e-6, atol: float = 1e-8) -> None:
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=rtol, atol=atol)


def _matrix(x: Any) -> Any:
    """A matrix near the identity, so that it has an inverse; symmetric and positive definite."""
    return ma.eye(3) * 3.0 + x @ x.T


def _hermitian(x: Any, y: Any) -> Any:
    """A positive definite matrix of complex numbers."""
    z = _complex(x, y)
    return z @ ma.conj(z).mT + 4.0 * ma.eye(x.shape[0])


def _complex(x: Any, y: Any) -> Any:
    return ma.astype(x, ma.complex128) + ma.astype(y, ma.complex128) * 1j


def _turned(x: Any, y: Any) -> Any:
    """A matrix of complex numbers that is no other's adjoint."""
    return _complex(_matrix(x), y @ x.T)


def _real_matrix(x: Any, y: Any) -> Any:
    return _matrix(x)


def _complex_qr(x: Any, y: Any) -> Any:
    return _parts(
        *ma.linalg.qr(_complex(x.T, y.T)), *ma.linalg.qr(_turned(x, y)), *ma.linalg.qr(_complex(x, y)), *ma.linalg.qr(x)
    )


def _parts(*arrays: Any) -> Any:
    """The real and the imaginary parts of all elements."""
    flat = [ma.reshape(a, (-1,)) for a in arrays]
    return ma.concat([p for a in flat for p in ([ma.real(a), ma.imag(a)] if a.dtype == ma.complex128 else [a])])


def _squares(*arrays: Any) -> Any:
    """What of decompositions does not depend on signs of vectors."""
    return ma.concat([ma.reshape(a, (-1,)) ** 2 for a in arrays])


ARGUMENTS: dict[str, Any] = {
    "astype": lambda x, y: ma.astype(x, ma.float64),
    "clip": lambda x, y: ma.clip(x, -1.1, 0.9),
    "where": lambda x, y: ma.where(y > 1.0, x, y * 2.0),
    "reshape": lambda x, y: ma.reshape(x, (4, 3)),
    "expand_dims": lambda x, y: ma.expand_dims(x, axis=1),
    "squeeze": lambda x, y: ma.squeeze(ma.expand_dims(x, axis=1), axis=1),
    "permute_dims": lambda x, y: ma.permute_dims(x, (1, 0)),
    "moveaxis": lambda x, y: ma.moveaxis(x, 0, 1),
    "swapaxes": lambda x, y: ma.swapaxes(x, 0, 1),
    "broadcast_to": lambda x, y: ma.broadcast_to(x, (2, 3, 4)),
    "concat": lambda x, y: ma.concat([x, y]),
    "stack": lambda x, y: ma.stack([x, y]),
    "unstack": lambda x, y: ma.unstack(x)[1],
    "roll": lambda x, y: ma.roll(x, 2, axis=1),
    "tile": lambda x, y: ma.tile(x, (2, 1)),
    "repeat": lambda x, y: ma.repeat(x, np.array([1, 0, 2]), axis=0),
    "split": lambda x, y: ma.split(x, 2, axis=1)[1],
    "array_split": lambda x, y: ma.array_split(x, 2)[0],
    "hstack": lambda x, y: ma.hstack([x, y]),
    "vstack": lambda x, y: ma.vstack([x, y]),
    "dstack": lambda x, y: ma.dstack([x, y]),
    "pad": lambda x, y: ma.pad(x, ((1, 0), (0, 2))),
    "take": lambda x, y: ma.take(x, ma.asarray([2, 0, 2]), axis=1),
    "take_along_axis": lambda x, y: ma.take_along_axis(x, ma.asarray([[0, 1, 1], [2, 0, 3], [3, 3, 3]]), axis=1),
    "dynamic_slice": lambda x, y: ma.dynamic_slice(x, (1, 0), (2, 3)),
    "dynamic_update_slice": lambda x, y: ma.dynamic_update_slice(x, y[:2, :2], (1, 1)),
    "segment_sum": lambda x, y: ma.segment_sum(x, ma.asarray([1, 0, 1]), num_segments=3),
    "cumulative_sum": lambda x, y: ma.cumulative_sum(x, axis=1),
    "cumulative_prod": lambda x, y: ma.cumulative_prod(x, axis=1),
    "diff": lambda x, y: ma.diff(x),
    "top_k": lambda x, y: ma.top_k(x, 2)[0],
    "quantile": lambda x, y: ma.quantile(x, 0.3, axis=1),
    "matmul": lambda x, y: x @ y.T,
    "tensordot": lambda x, y: ma.tensordot(x, y, axes=((1,), (1,))),
    "vecdot": lambda x, y: ma.vecdot(x, y),
    "outer": lambda x, y: ma.outer(x[0], y[1]),
    "einsum": lambda x, y: ma.einsum("ij,kj->ik", x, y),
    "linalg.matrix_power": lambda x, y: ma.linalg.matrix_power(_matrix(x), 3),
    "linalg.diagonal": lambda x, y: ma.linalg.diagonal(x, offset=1),
    "linalg.trace": lambda x, y: ma.linalg.trace(x),
    "linalg.cross": lambda x, y: ma.linalg.cross(x[:, :3], y[:, :3]),
    "linalg.matmul": lambda x, y: ma.linalg.matmul(x, y.T),
    "linalg.outer": lambda x, y: ma.linalg.outer(x[0], y[1]),
    "linalg.vector_norm": lambda x, y: ma.linalg.vector_norm(x, axis=1),
    "linalg.cholesky": lambda x, y: _parts(ma.linalg.cholesky(_matrix(x)), ma.linalg.cholesky(_hermitian(x, y))),
    "linalg.inv": lambda x, y: _parts(ma.linalg.inv(_matrix(x)), ma.linalg.inv(_turned(x, y))),
    "linalg.solve": lambda x, y: _parts(ma.linalg.solve(_matrix(x), y), ma.linalg.solve(_turned(x, y), _complex(y, x))),
    "linalg.eigh": lambda x, y: _squares(*ma.linalg.eigh(_matrix(x))),
    "linalg.eigvalsh": lambda x, y: ma.linalg.eigvalsh(_matrix(x)),
    "linalg.svd": lambda x, y: _squares(*ma.linalg.svd(x, full_matrices=False), *ma.linalg.svd(y.T, full_matrices=False)),
    "linalg.svdvals": lambda x, y: ma.linalg.svdvals(x),
    "linalg.qr": lambda x, y: ma.concat([_squares(*ma.linalg.qr(x.T), *ma.linalg.qr(y[:, :3])), _complex_qr(x, y)]),
    "linalg.pinv": lambda x, y: ma.linalg.pinv(x),
    "linalg.matrix_norm": lambda x, y: ma.stack([ma.linalg.matrix_norm(x, ord=k) for k in ("fro", "nuc", 2, -2, 1, np.inf)]),
    "fft.fft": lambda x, y: _parts(*(ma.fft.fft(_complex(x, y), n=n, norm="ortho") for n in (3, 4, 7)), ma.fft.fft(x, axis=0)),
    "fft.ifft": lambda x, y: _parts(*(ma.fft.ifft(_complex(x, y), n=n, axis=0) for n in (2, 3, 5))),
    "fft.rfft": lambda x, y: _parts(*(ma.fft.rfft(x, n=n, norm="forward") for n in (3, 4, 7)), ma.fft.rfft(x, axis=0)),
    "fft.irfft": lambda x, y: _parts(*(ma.fft.irfft(_complex(x, y), n=n) for n in (3, 4, 6, 9)), ma.fft.irfft(x, axis=0)),
    "fft.hfft": lambda x, y: _parts(*(ma.fft.hfft(_complex(x, y), n=n, norm="ortho") for n in (5, 6)), ma.fft.hfft(x, axis=0)),
    "fft.ihfft": lambda x, y: _parts(*(ma.fft.ihfft(x, n=n) for n in (3, 4, 7)), ma.fft.ihfft(x, axis=0, norm="forward")),
    "fft.fftn": lambda x, y: _parts(ma.fft.fftn(_complex(x, y))),
    "fft.ifftn": lambda x, y: _parts(ma.fft.ifftn(_complex(x, y), s=(2, 5))),
    "fft.rfftn": lambda x, y: _parts(ma.fft.rfftn(x, axes=(1, 0))),
    "fft.fft2": lambda x, y: _parts(ma.fft.fft2(_complex(x, y), axes=(1, 0))),
    "fft.ifft2": lambda x, y: _parts(ma.fft.ifft2(_complex(x, y), s=(2, 5))),
    "fft.rfft2": lambda x, y: _parts(ma.fft.rfft2(x)),
    "fft.irfftn": lambda x, y: _parts(ma.fft.irfftn(_complex(x, y), norm="ortho")),
    "linalg.det": lambda x, y: _parts(*(ma.reshape(ma.linalg.det(m(x, y)), (1,)) for m in (_real_matrix, _turned))),
    "linalg.slogdet": lambda x, y: _parts(ma.linalg.slogdet(_matrix(x))[1], *ma.linalg.slogdet(_turned(x, y))),
    "nn.layer_norm": lambda x, y: ma.nn.layer_norm(x, y[0], y[1]),
    "nn.rms_norm": lambda x, y: ma.nn.rms_norm(x, y[0]),
    "nn.attention": lambda x, y: _parts(
        ma.nn.attention(x[None], y[None], y[None] * 0.5),
        ma.nn.attention(x[None], y[None], y[None] * 0.5, causal=True, window=(1, 0), cap=2.0),
    ),
    "nn.conv": lambda x, y: ma.nn.conv(x[None, :, :, None], y[:2, :2, None, None]),
    "nn.max_pool": lambda x, y: ma.nn.max_pool(x[None, :, :, None], 2, stride=1),
    "nn.avg_pool": lambda x, y: ma.nn.avg_pool(x[None, :, :, None], 2, stride=1),
    "nn.cross_entropy": lambda x, y: ma.nn.cross_entropy(x, ma.asarray([0, 2, 1])),
    "nn.dropout": lambda x, y: ma.nn.dropout(x, ma.random.key(0), rate=0.3),
    "average": lambda x, y: ma.average(x, axis=1, weights=y + 3.0),
    "dot": lambda x, y: ma.dot(x, y.T),
    "matvec": lambda x, y: ma.matvec(x, y[0]),
    "vecmat": lambda x, y: ma.vecmat(x[:, 0], y),
    "polyval": lambda x, y: ma.polyval(x[0], y),
    "polyadd": lambda x, y: ma.polyadd(x[0], y[1, :2]),
    "polysub": lambda x, y: ma.polysub(x[0, 1:], y[1]),
    "polymul": lambda x, y: ma.polymul(x[0], y[1, :2]),
    "polyder": lambda x, y: ma.polyder(x[0], 2),
    "polyint": lambda x, y: ma.polyint(x[0], 2),
    "vander": lambda x, y: ma.vander(x[0], 3),
    "polyfit": lambda x, y: ma.polyfit(x[0], y.T, 2, w=y[0] ** 2 + 1.0),
    "convolve": lambda x, y: ma.convolve(x[0], y[1, :3], "same"),
    "correlate": lambda x, y: ma.correlate(x[0], y[1, :3], "full"),
    "hsplit": lambda x, y: ma.hsplit(x, 2)[1],
    "vsplit": lambda x, y: ma.vsplit(x, [1])[1],
    "dsplit": lambda x, y: ma.dsplit(x[None], 2)[1],
    "delete": lambda x, y: ma.delete(x, 1, 0),
    "insert": lambda x, y: ma.insert(x, [0, 2], y[:, :2], 1),
    "select": lambda x, y: ma.select([y > 1.0, y > 0.0], [x, x * y], y * 2.0),
    "choose": lambda x, y: ma.choose(ma.asarray([0, 1, 1, 0]), [x, y]),
    "percentile": lambda x, y: ma.percentile(x, [30, 70], 1),
    "nanquantile": lambda x, y: ma.nanquantile(ma.where(y > 1.0, np.nan, x), 0.3),
    "nanpercentile": lambda x, y: ma.nanpercentile(x, 30, 1),
    "gradient": lambda x, y: ma.stack([*ma.gradient(x, 2.0, ma.cumsum(ma.exp(y[0])))]),
    "interp": lambda x, y: ma.interp(x, ma.asarray([-1.5, -0.4, 0.3, 1.7]), y[0], left=y[1, 0]),
    "partition": lambda x, y: ma.partition(x, 2),
    "linalg.multi_dot": lambda x, y: ma.linalg.multi_dot([x, ma.matrix_transpose(y), x]),
    "linalg.lstsq": lambda x, y: ma.linalg.lstsq(ma.matrix_transpose(x), y[0])[0],
    "piecewise": lambda x, y: ma.piecewise(x, [x < -0.3, x > 0.4], [lambda v: v * v, 2.0, lambda v: ma.sin(v)]) * y,
    "sinc": lambda x, y: ma.sinc(ma.concat([x * 0.05, ma.zeros_like(y), y])),
    "unwrap": lambda x, y: ma.unwrap(x * 4.0),
    "rot90": lambda x, y: ma.concat([ma.ravel(ma.rot90(x, k)) for k in range(4)]),
    "diag": lambda x, y: ma.concat([ma.ravel(ma.diag(v, k)) for v in (x, y[0]) for k in (-1, 0, 2)]),
}
"""How rows are called whose arguments are not one or two arrays of one shape."""


def call_of(row: Row) -> Any:
    """The row as a function of two arrays."""
    if row.qualified in ARGUMENTS:
        return ARGUMENTS[row.qualified]
    return (lambda x, y: row.function(x, y)) if row.arrays == 2 else lambda x, y: row.function(x)


ROWS = [r for r in TABLE.values() if r.derivative is not Derivative.NONE and r.name not in ("stop_gradient", "broadcast_arrays")]


def inputs(row: Row) -> list[Array]:
    rng = np.random.default_rng(0)
    low, high = row.domain
    return [rng.uniform(low, high, (3, 4)) for _ in range(2)]


@pytest.mark.exhaustive
@pytest.mark.parametrize("row", ROWS, ids=lambda r: r.qualified)
def test_derivatives_are_those_of_central_differences(row: Row):
    """Reverse and forward mode, and the second order, along random directions; drawn points lie on no kink."""
    call, (x, y) = call_of(row), inputs(row)
    rng = np.random.default_rng(1)
    shape = np.asarray(call(ma.asarray(x), ma.asarray(y))).shape
    weights = rng.standard_normal(shape)

    def f(x: Any, y: Any) -> Any:
        return ma.sum(call(x, y) * ma.asarray(weights))

    u, v, h = rng.standard_normal(x.shape), rng.standard_normal(y.shape), 1e-6
    expected = (np.asarray(f(x + h * u, y + h * v)) - np.asarray(f(x - h * u, y - h * v))) / (2 * h)
    gradients = [np.asarray(g) for g in ma.grad(f, (0, 1))(x, y)]
    scale = max(1.0, abs(float(expected)))
    assert abs((gradients[0] * u).sum() + (gradients[1] * v).sum() - expected) < 1e-6 * scale
    assert abs(np.asarray(ma.jvp(f, (x, y), (u, v))[1]) - expected) < 1e-6 * scale
    moved = [[np.asarray(g) for g in ma.grad(f, (0, 1))(x + s * h * u, y + s * h * v)] for s in (1, -1)]
    seconds = ma.hvp(f, (x, y), (u, v))
    for second, up, down in zip(seconds, *moved, strict=True):
        close(second, (up - down) / (2 * h), rtol=1e-4, atol=1e-5)


def test_linear_algebra_is_batched_by_leading_axes():
    """In one call, gradients included, and by a loop never."""
    x, y = (np.random.default_rng(i).standard_normal((5, 3, 3)) for i in range(2))

    def f(x: Any, y: Any) -> Any:
        a = ma.eye(3) * 4.0 + x @ x.T
        return ma.sum(ma.linalg.inv(a) + ma.linalg.cholesky(a) + ma.linalg.solve(a, y)) + ma.linalg.slogdet(a)[1]

    mapped = ma.vmap(ma.grad(f))
    each = np.stack([np.asarray(ma.grad(f)(a, b)) for a, b in zip(x, y, strict=True)])
    close(mapped(x, y), each)
    assert "ptir.scan" not in str(ma.trace(mapped, ma.spec((5, 3, 3)), ma.spec((5, 3, 3))))
    vectors = ma.vmap(lambda a, b: ma.linalg.solve(a, b), in_axes=(None, 0))
    close(vectors(x[0], y[0]), np.linalg.solve(x[0], y[0].T).T)


def test_transforms_are_batched_by_leading_axes():
    x = np.random.default_rng(0).standard_normal((5, 3, 4))

    def f(x: Any) -> Any:
        return _parts(ma.fft.rfft(x, axis=0, n=5), ma.fft.irfftn(_complex(x, x)), ma.fft.hfft(x), ma.fft.ihfft(x, axis=0))

    close(ma.vmap(f)(x), np.stack([np.asarray(f(a)) for a in x]))
    close(ma.vmap(f, in_axes=2)(np.moveaxis(x, 0, 2)), np.stack([np.asarray(f(a)) for a in x]))
    loss = ma.grad(lambda x: ma.sum(f(x) ** 2))
    close(ma.jit(ma.vmap(loss), target="native")(x), np.stack([np.asarray(loss(a)) for a in x]))


REFUSED = {
    "all singular vectors": lambda z: ma.sum(ma.linalg.svd(ma.real(z)[:2], full_matrices=True)[0]),
    "all of Q": lambda z: ma.sum(ma.linalg.qr(ma.real(z)[:, :2], mode="complete")[0]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_decompositions_without_a_rule_are_refused_in_both_modes(name: str):
    z = ma.astype(ma.eye(3), ma.complex128) * 2.0
    for derivative in (lambda: ma.grad(REFUSED[name])(z), lambda: ma.jvp(REFUSED[name], (z,), (z,))):
        with pytest.raises(MindError, match=r"E5001: .*(has no derivative|have).*\(test_derivatives.py:"):
            derivative()


def test_equal_eigenvalues_and_singular_values_have_derivatives_that_are_numbers():
    x = ma.eye(3) * 2.0
    close(ma.grad(lambda x: ma.sum(ma.linalg.eigh(x)[0] ** 2))(x), 4 * np.eye(3))
    close(ma.grad(lambda x: ma.sum(ma.linalg.svd(x)[1] ** 2))(x), 4 * np.eye(3))
