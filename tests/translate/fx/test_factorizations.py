"""Rows of factorizations against PyTorch, up to the signs of vectors; some derivatives by differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from mind_bridges.torch import from_torch  # noqa: E402, after the skip
from mind_bridges.torch_export import as_array  # noqa: E402, after the skip
from mind_passes.functional import jvp  # noqa: E402, after the skip
from mind_runtime import compile  # noqa: E402, after the skip
from torch_rows import (  # noqa: E402, after the skip
    Function,
    Row,
    check_values,
    checks_of,
    given,
    normal,
    products,
    run,
)

linalg = torch.linalg


def regular(*shape: int) -> Any:
    """Matrices far from singular ones."""
    return normal(*shape) + 4 * torch.eye(shape[-1])


def positive(*shape: int) -> Any:
    x = normal(*shape)
    return x @ x.mT + torch.eye(shape[-1])


def symmetric(*shape: int) -> Any:
    x = normal(*shape)
    return x + x.mT


def complex_normal(*shape: int) -> Any:
    return torch.complex(normal(*shape), normal(*shape))


def factor(*shape: int, upper: bool = False) -> Any:
    return linalg.cholesky(positive(*shape), upper=upper)


def reflectors(*shape: int) -> tuple[Any, Any]:
    return tuple(torch.geqrf(normal(*shape)))


def packed(*shape: int) -> tuple[Any, Any]:
    return tuple(linalg.lu_factor(normal(*shape)))


def sizes(found: Any) -> list[Any]:
    """Magnitudes, as signs are LAPACK's."""
    return [y.abs() for y in found]


def fixed(found: Any) -> list[Any]:
    """Results without derivatives."""
    return [y.detach() for y in found]


ROWS: dict[str, Row] = {
    "eigenvalues of symmetric matrices": (linalg.eigvalsh, lambda: (symmetric(2, 4, 4),)),
    "eigenvectors of symmetric matrices": (lambda x: sizes(linalg.eigh(x)), lambda: (symmetric(2, 4, 4),)),
    "eigenvalues of an upper triangle": (lambda x: linalg.eigh(x, "U")[0], lambda: (normal(4, 4),)),
    "eigenvalues of a lower triangle": (lambda x: linalg.eigh(x)[0], lambda: (normal(4, 4),)),
    "eigenvalues of Hermitian matrices": (linalg.eigvalsh, lambda: (complex_normal(3, 3).detach(),)),
    "eigenvalues": (lambda x: linalg.eigvals(x).abs(), lambda: (normal(2, 4, 4),)),
    "eigenvalues in order": (lambda x: linalg.eigvals(x).detach(), lambda: (normal(4, 4),)),
    "real eigenvalues": (
        lambda x: linalg.eigvals(x).real,
        lambda: (normal(2, 3, 3) + torch.diag(torch.tensor([9.0, -9.0, 0.0])),),
    ),
    "eigenvalues of complex matrices": (lambda x: linalg.eigvals(x).abs().detach(), lambda: (complex_normal(3, 3),)),
    "eigenvectors": (lambda x: sizes(linalg.eig(x)), lambda: (normal(2, 4, 4),)),
    "singular values": (linalg.svdvals, lambda: (normal(2, 3, 5),)),
    "singular vectors": (lambda x: sizes(linalg.svd(x, full_matrices=False)), lambda: (normal(2, 5, 3),)),
    "singular values of torch.svd": (lambda x: torch.svd(x)[1], lambda: (normal(5, 3),)),
    "nuclear norms": (lambda x: linalg.matrix_norm(x, "nuc"), lambda: (normal(2, 5, 3),)),
    "spectral norms": (lambda x: linalg.matrix_norm(x, 2), lambda: (normal(2, 5, 3),)),
    "conditions": (linalg.cond, lambda: (regular(2, 3, 3),)),
    "ranks": (linalg.matrix_rank, lambda: (normal(2, 5, 3),)),
    "ranks by tolerances": (lambda x: linalg.matrix_rank(x, atol=1.0, rtol=0.1), lambda: (normal(2, 5, 3),)),
    "ranks of symmetric matrices": (lambda x: linalg.matrix_rank(x, hermitian=True), lambda: (symmetric(2, 3, 3),)),
    "pseudo-inverses of tall matrices": (linalg.pinv, lambda: (normal(2, 5, 3),)),
    "pseudo-inverses of wide matrices": (linalg.pinv, lambda: (normal(3, 5),)),
    "pseudo-inverses of nothing": (linalg.pinv, lambda: (normal(2, 0, 3),)),
    "pseudo-inverses of symmetric matrices": (lambda x: linalg.pinv(x, hermitian=True), lambda: (symmetric(2, 3, 3),)),
    "pseudo-inverses of a triangle": (lambda x: linalg.pinv(x.detach(), hermitian=True), lambda: (regular(3, 3),)),
    "pseudo-inverses of torch.pinverse": (torch.pinverse, lambda: (normal(5, 3),)),
    "pseudo-inverses of complex matrices": (lambda x: linalg.pinv(x).abs().detach(), lambda: (complex_normal(5, 3),)),
    **{
        f"pseudo-inverses by tolerances {tolerances}": (
            lambda x, tolerances=tolerances: linalg.pinv(x.detach(), **tolerances),
            lambda: (normal(2, 5, 3),),
        )
        for tolerances in ({"atol": 1.5}, {"rtol": 0.5}, {"atol": 0.3, "rtol": 0.5}, {"atol": 0.0})
    },
    "pseudo-inverses by a tolerance each": (
        lambda x, t: linalg.pinv(x.detach(), atol=t.detach()),
        lambda: (normal(2, 5, 3), torch.tensor([0.1, 1.0])),
    ),
    "pseudo-inverses of the identity": (linalg.pinv, lambda: (2 * torch.eye(3),)),
    "pseudo-inverses of orthogonal columns": (linalg.pinv, lambda: (linalg.qr(normal(2, 5, 3))[0],)),
    "pseudo-inverses of zeros": (linalg.pinv, lambda: (torch.zeros(3, 2),)),
    "pseudo-inverses of a symmetric reflection": (
        lambda x: linalg.pinv(x, hermitian=True),
        lambda: (torch.diag(torch.tensor([1.0, 1.0, -1.0])),),
    ),
    "pseudo-inverses of rank 2": (linalg.pinv, lambda: (normal(2, 4, 2) @ normal(2, 2, 3),)),
    "pseudo-inverses by a tolerance that truncates nothing": (lambda x: linalg.pinv(x, rtol=1e-3), lambda: (torch.eye(3),)),
    "Q and R of tall matrices": (linalg.qr, lambda: (normal(2, 5, 3),)),
    "Q and R of wide matrices": (linalg.qr, lambda: (normal(2, 3, 5),)),
    "all of Q": (lambda x: fixed(linalg.qr(x, "complete")), lambda: (normal(2, 5, 3),)),
    "R alone": (lambda x: linalg.qr(x.detach(), "r"), lambda: (normal(2, 5, 3),)),
    "reflectors": (lambda x: torch.geqrf(x.detach()), lambda: (normal(2, 5, 3),)),
    "reflectors of wide matrices": (lambda x: torch.geqrf(x.detach()), lambda: (normal(3, 5),)),
    "products of reflectors": (linalg.householder_product, lambda: reflectors(2, 5, 3)),
    "products of few reflectors": (lambda x, t: linalg.householder_product(x, t[:2]), lambda: reflectors(5, 3)),
    "torch.cholesky": (torch.ops.aten.cholesky, lambda: (positive(2, 3, 3),)),
    "torch.cholesky of the upper triangle": (lambda x: torch.ops.aten.cholesky(x, True), lambda: (positive(3, 3),)),
    "systems of factors": (torch.cholesky_solve, lambda: (normal(2, 3, 4), factor(2, 3, 3))),
    "systems of upper factors": (
        lambda b, x: torch.cholesky_solve(b, x, upper=True),
        lambda: (normal(2, 3, 4), factor(3, 3, upper=True)),
    ),
    "systems of factors in one triangle": (
        lambda b, x: torch.cholesky_solve(b, x.detach()),
        lambda: (normal(3, 4), factor(3, 3) + 9 * torch.triu(torch.ones(3, 3), 1)),
    ),
    "inverses by factors": (torch.cholesky_inverse, lambda: (factor(2, 3, 3),)),
    "inverses by upper factors": (lambda x: torch.cholesky_inverse(x, upper=True), lambda: (factor(3, 3, upper=True),)),
    "triangular systems": (lambda b, a: torch.ops.aten.triangular_solve(b, a)[0], lambda: (normal(2, 3, 4), regular(3, 3))),
    "transposed triangular systems": (
        lambda b, a: torch.ops.aten.triangular_solve(b, a, False, True, True)[0],
        lambda: (normal(2, 3, 4), normal(2, 3, 3)),
    ),
    "L and U": (lambda x, p: torch.lu_unpack(x, p)[1:], lambda: packed(2, 4, 4)),
    "P, L and U of tall matrices": (lambda x, p: fixed(torch.lu_unpack(x, p)), lambda: packed(5, 3)),
    "L and U without P": (lambda x, p: torch.lu_unpack(x, p, unpack_pivots=False)[1:], lambda: packed(2, 4, 4)),
    "P alone": (lambda x, p: fixed(torch.lu_unpack(x, p, unpack_data=False)), lambda: packed(2, 3, 5)),
}
test_values, test_most_rows_have_derivatives, test_derivatives = checks_of(ROWS, 28, 1e-4)


def test_vectors_are_those_of_the_values() -> None:
    x = given(ROWS["eigenvectors"])[0]
    for values, vectors in (run(linalg.eig, (x,), "numpy"), run(linalg.eigh, (symmetric(2, 4, 4),), "native")):
        assert values.shape == (2, 4)
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=-2), 1, 1e-5)
    values, vectors = run(linalg.eig, (x,), "numpy")
    np.testing.assert_allclose(x.numpy() @ vectors, vectors * values[:, None], 1e-4, 1e-4)
    u, s, vh = run(linalg.svd, (normal(2, 3, 5),), "numpy")
    assert (u.shape, s.shape, vh.shape) == ((2, 3, 3), (2, 3), (2, 5, 5))


def test_a_truncated_pseudo_inverse_has_the_derivative_of_its_values() -> None:
    """torch takes the formula for a matrix of full rank, which is not the slope of what it computes."""
    torch.manual_seed(2)
    x, g, step = normal(4, 3).double(), normal(3, 4).double(), 1e-6

    def function(x: Any) -> Any:
        return linalg.pinv(x, rtol=0.4)

    assert (linalg.svdvals(x) > 0.4 * linalg.svdvals(x)[0]).sum() == 2
    (found,) = products(function, [x], [0], [g])
    for place in np.ndindex(x.shape):
        change = torch.zeros_like(x)
        change[place] = step
        slope = float(((function(x + change) - function(x - change)) * g).sum() / (2 * step))
        assert abs(found[place] - slope) < 1e-5


def test_the_tangent_of_eigenvalues_is_their_slope() -> None:
    torch.manual_seed(1)
    x, t, step = normal(4, 4).double(), normal(4, 4).double(), 1e-6
    module, _ = from_torch(Function(linalg.eigvals), x)
    values, tangent = compile(jvp(module), "main_jvp")(as_array(x), as_array(t))
    slope = (linalg.eigvals(x + step * t) - linalg.eigvals(x - step * t)) / (2 * step)
    np.testing.assert_allclose(values, linalg.eigvals(x).numpy(), 1e-10)
    np.testing.assert_allclose(tangent, slope.numpy(), 1e-6, 1e-6)


def test_a_derivative_of_phases_is_nan() -> None:
    """torch refuses it as well: nothing determines the phase of a vector."""
    x = torch.tensor([[0.0, -1.0], [1.0, 0.5]])
    (found,) = products(lambda x: linalg.eig(x)[1].imag, [x], [0], [torch.ones(2, 2)])
    assert np.isnan(found).all()
    with pytest.raises(RuntimeError, match="ill-defined"):
        torch.autograd.grad(linalg.eig(x.requires_grad_())[1].imag.sum(), x)


@pytest.mark.parametrize("unread", [1e20, float("inf"), float("nan")])
def test_the_triangle_that_is_not_read_changes_nothing(unread: float) -> None:
    torch.manual_seed(3)
    x = torch.randn(3, 3, dtype=torch.float64)
    x = x + x.T + 5 * torch.eye(3, dtype=torch.float64)
    x[0, 2] = unread
    check_values((lambda x: torch.linalg.pinv(x, hermitian=True), lambda: (x,)), "numpy", 1e-10)
