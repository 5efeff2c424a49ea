"""Rows of linear algebra against PyTorch: values and vector-Jacobian products, of stacks, from both sides."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mind_dialect.errors import MindError

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from torch_rows import Row, checks_of, normal, run  # noqa: E402, after the skip


def regular(*shape: int) -> Any:
    """Matrices far from singular ones."""
    return normal(*shape) + 4 * torch.eye(shape[-1])


def factors(*shape: int) -> tuple[Any, Any]:
    return tuple(torch.linalg.lu_factor(normal(*shape)))


def positive(*shape: int) -> Any:
    x = normal(*shape)
    return x @ x.mT + torch.eye(shape[-1])


def reflectors(*shape: int) -> tuple[Any, Any]:
    return tuple(torch.geqrf(normal(*shape)))


def solved(left: bool, adjoint: bool) -> Any:
    return lambda lu, pivots, b: torch.linalg.lu_solve(lu, pivots, b, left=left, adjoint=adjoint)


ROWS: dict[str, Row] = {
    "determinants": (torch.linalg.det, lambda: (normal(2, 3, 3),)),
    "the determinant of a singular matrix": (lambda x: torch.linalg.det(x).detach(), lambda: (torch.ones(3, 3),)),
    "logarithms of determinants": (torch.linalg.slogdet, lambda: (normal(2, 3, 3),)),
    "inverses": (torch.linalg.inv, lambda: (regular(2, 3, 3),)),
    "inverses and codes": (torch.linalg.inv_ex, lambda: (regular(3, 3),)),
    "solutions": (torch.linalg.solve, lambda: (regular(2, 3, 3), normal(2, 3, 4))),
    "solutions for vectors": (torch.linalg.solve, lambda: (regular(2, 3, 3), normal(2, 3))),
    "solutions that broadcast": (torch.linalg.solve, lambda: (regular(3, 3), normal(2, 3, 4))),
    "solutions from the right": (lambda a, b: torch.linalg.solve(a, b, left=False), lambda: (regular(3, 3), normal(2, 4, 3))),
    "Cholesky factors": (torch.linalg.cholesky, lambda: (positive(2, 3, 3),)),
    "upper Cholesky factors": (lambda x: torch.linalg.cholesky(x, upper=True), lambda: (positive(3, 3),)),
    "triangular systems": (
        lambda a, b: torch.linalg.solve_triangular(a, b, upper=True),
        lambda: (regular(2, 3, 3), normal(2, 3, 4)),
    ),
    "triangular systems from the right": (
        lambda a, b: torch.linalg.solve_triangular(a, b, upper=False, left=False, unitriangular=True),
        lambda: (normal(3, 3), normal(2, 4, 3)),
    ),
    "P": (lambda x: torch.linalg.lu(x).P.detach(), lambda: (normal(2, 4, 4),)),
    "L and U": (lambda x: torch.linalg.lu(x)[1:], lambda: (normal(2, 4, 4),)),
    "P, L and U of tall matrices": (lambda x: [y.detach() for y in torch.linalg.lu(x)], lambda: (normal(5, 3),)),
    "P, L and U of wide matrices": (lambda x: [y.detach() for y in torch.linalg.lu(x)], lambda: (normal(2, 3, 5),)),
    "LU factors": (torch.linalg.lu_factor, lambda: (normal(2, 4, 4),)),
    **{
        f"systems of LU factors, left {left}, adjoint {adjoint}": (
            solved(left, adjoint),
            lambda left=left: (*factors(2, 4, 4), normal(2, 4, 3) if left else normal(2, 3, 4)),
        )
        for left in (True, False)
        for adjoint in (True, False)
    },
    "systems of LU factors that broadcast": (solved(True, False), lambda: (*factors(4, 4), normal(3, 4, 2))),
    **{
        f"Q of reflectors, left {left}, transposed {transposed}": (
            lambda x, t, b, left=left, transposed=transposed: torch.ormqr(x, t, b, left, transposed),
            lambda left=left: (*reflectors(5, 3), normal(5, 4) if left else normal(4, 5)),
        )
        for left in (True, False)
        for transposed in (True, False)
    },
}
test_values, test_most_rows_have_derivatives, test_derivatives = checks_of(ROWS, 20, 1e-4)


@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("adjoint", [True, False])
def test_systems_of_complex_factors(left: bool, adjoint: bool) -> None:
    torch.manual_seed(1)
    a = torch.complex(normal(3, 3), normal(3, 3))
    arguments = (*torch.linalg.lu_factor(a), torch.complex(normal(3, 3), normal(3, 3)))
    (found,) = run(solved(left, adjoint), arguments, "numpy")
    np.testing.assert_allclose(found, solved(left, adjoint)(*arguments).resolve_conj().numpy(), 1e-4, 1e-4)


@pytest.mark.parametrize("function", [torch.linalg.inv_ex, torch.linalg.inv, lambda x: torch.linalg.solve(x, x)])
def test_a_singular_matrix_is_an_error(function: Any) -> None:
    with pytest.raises(MindError, match="ingular") as caught:
        run(function, (torch.ones(3, 3),), "numpy")
    assert caught.value.code == "E6006"


def test_a_matrix_that_is_not_positive_is_an_error() -> None:
    with pytest.raises(MindError, match="positive definite") as caught:
        run(torch.linalg.cholesky, (-torch.eye(3),), "numpy")
    assert caught.value.code == "E6006"


def test_long_pivots_are_refused() -> None:
    with pytest.raises(MindError, match="more than 64 rows") as caught:
        run(solved(True, False), (*factors(65, 65), normal(65, 1)), "numpy")
    assert caught.value.code == "E8008"
