"""Functions that torch cannot export, since they read data: values and derivatives are torch's all the same."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from mind_dialect.errors import MindError

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
from torch import linalg  # noqa: E402, after the skip

from torch_rows import Row, checks_of, normal, products, run  # noqa: E402, after the skip

NAN = float("nan")


def truth(found: Any) -> Any:
    """A truth value of Python as a tensor; our import gives one at once."""
    return torch.as_tensor(found)


def complex_normal(*shape: int) -> Any:
    return torch.complex(normal(*shape), normal(*shape))


def deficient() -> Any:
    """A matrix of rank 2."""
    return normal(4, 2) @ normal(2, 3)


def near(*values: float) -> Any:
    return lambda: (torch.tensor([1.0, 2.0]), torch.tensor(values))


def covariance(x: Any, **options: Any) -> Any:
    """By torch, without its warning of degrees of freedom."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.cov(x, **options)


def solution(**options: Any) -> Any:
    return lambda a, b: linalg.lstsq(a, b, **options)[0]


gaussian = torch.nn.functional.gaussian_nll_loss
ROWS: dict[str, Row] = {
    "equal tensors": (lambda x, y: truth(torch.equal(x, y)), near(1.0, 2.0)),
    "unequal elements": (lambda x, y: truth(x.equal(y)), near(1.0, 3.0)),
    "unequal shapes": (lambda x, y: truth(torch.equal(x, y)), near(1.0)),
    "empty tensors are equal": (lambda x: truth(torch.equal(x, x + 1)), lambda: (normal(0, 2),)),
    "NaN is not equal": (lambda x: truth(torch.equal(x, x.clone())), lambda: (torch.tensor([NAN]),)),
    "close tensors": (lambda x, y: truth(torch.allclose(x, y)), near(1.0, 2.00001)),
    "tensors that are not close": (lambda x, y: truth(x.allclose(y)), near(1.0, 2.001)),
    "by a tolerance": (lambda x, y: truth(torch.allclose(x, y, rtol=0, atol=0.5)), near(1.0, 2.5)),
    "NaN is close by choice": (
        lambda x: truth(torch.allclose(x, x.clone(), equal_nan=True)),
        lambda: (torch.tensor([NAN]),),
    ),
    "NaN is not close": (lambda x: truth(torch.allclose(x, x.clone())), lambda: (torch.tensor([NAN]),)),
    "covariances": (torch.cov, lambda: (normal(3, 5),)),
    "a variance": (torch.cov, lambda: (normal(5),)),
    "no variance": (covariance, lambda: (torch.tensor([2.0]),)),
    "covariances without a correction": (lambda x: x.cov(correction=0), lambda: (normal(3, 5),)),
    "covariances by counts": (lambda x, n: torch.cov(x, fweights=n), lambda: (normal(3, 4), torch.tensor([1, 0, 2, 3]))),
    "covariances by weights": (
        lambda x, n, w: torch.cov(x, correction=2, fweights=n, aweights=w),
        lambda: (normal(3, 4), torch.tensor([1, 1, 2, 3]), torch.rand(4) + 0.5),
    ),
    "covariances beyond the degrees of freedom": (lambda x: covariance(x, correction=9).detach(), lambda: (normal(2, 3),)),
    "covariances of integers": (torch.cov, lambda: (torch.tensor([[1, 2, 3], [4, 1, 2]]),)),
    "covariances of complex numbers": (torch.cov, lambda: (complex_normal(2, 4),)),
    "covariances in f64": (torch.cov, lambda: (normal(2, 4).double(),)),
    "correlations": (torch.corrcoef, lambda: (normal(3, 5),)),
    "one correlation": (lambda x: x.corrcoef().detach(), lambda: (normal(5),)),
    "correlations of complex numbers": (torch.corrcoef, lambda: (complex_normal(2, 4),)),
    "Gaussian losses": (gaussian, lambda: (normal(3, 4), normal(3, 4), torch.rand(3, 4))),
    "Gaussian losses of small variances": (
        lambda *xs: gaussian(*xs, eps=0.5, reduction="none"),
        lambda: (normal(3, 4), normal(3, 4), torch.rand(3, 4)),
    ),
    "full Gaussian losses of a variance for each row": (
        lambda *xs: gaussian(*xs, full=True, reduction="sum"),
        lambda: (normal(3, 4), normal(3, 4), torch.rand(3) + 0.1),
    ),
    "Gaussian losses of one variance": (lambda x, y: gaussian(x, y, 0.3), lambda: (normal(3, 4), normal(3, 4))),
    "least squares": (solution(), lambda: (normal(5, 3), normal(5, 2))),
    "least squares of a stack": (solution(), lambda: (normal(2, 5, 3), normal(2, 5, 2))),
    "least squares of a vector": (solution(), lambda: (normal(5, 3), normal(5))),
    "least squares of vectors": (solution(), lambda: (normal(2, 5, 3), normal(2, 5))),
    "shortest solutions": (solution(), lambda: (normal(3, 5), normal(3, 2))),
    "shortest solutions without full rank": (lambda a, b: solution()(a, b).detach(), lambda: (deficient(), normal(4, 2))),
    "shortest solutions without full rank, of a right side": (
        lambda a, b: solution()(a.detach(), b),
        lambda: (deficient(), normal(4, 2)),
    ),
    "solutions for equal singular values": (solution(), lambda: (torch.eye(4)[:, :3] + 0, normal(4, 2))),
    "solutions by a tolerance": (
        lambda a, b: solution(rcond=0.9, driver="gelsd")(a, b).detach(),
        lambda: (normal(3, 3), normal(3, 2)),
    ),
    **{
        f"all of {driver}, {rows} by {columns}": (
            lambda a, b, driver=driver: tuple(x.detach() for x in linalg.lstsq(a, b, driver=driver)),
            lambda rows=rows, columns=columns: (normal(2, rows, columns), normal(2, rows, 2)),
        )
        for driver in ("gels", "gelsy", "gelsd", "gelss")
        for rows, columns in ((4, 3), (3, 3), (3, 4))
        if driver in ("gels", "gelsy") or rows <= columns
    },
    "residuals": (lambda a, b: tuple(linalg.lstsq(a, b, driver="gels")[:2]), lambda: (normal(2, 4, 3), normal(2, 4, 2))),
    "residuals of vectors": (lambda a, b: linalg.lstsq(a, b, driver="gels")[1], lambda: (normal(2, 4, 3), normal(2, 4))),
    "residuals of one vector": (lambda a, b: linalg.lstsq(a, b, driver="gels")[1], lambda: (normal(4, 3), normal(4))),
    "factors of wide matrices": (solution(driver="gels"), lambda: (normal(3, 4), normal(3, 2))),
    "least squares of complex numbers": (
        lambda a, b: tuple(linalg.lstsq(a, b, driver="gels")),
        lambda: (complex_normal(4, 3), complex_normal(4, 2)),
    ),
}
test_values, test_most_rows_have_derivatives, test_derivatives = checks_of(ROWS, 14, 1e-4)

X, PLACE, V = torch.arange(12.0).reshape(3, 4), torch.tensor(1), torch.tensor([2, 0])


def assigned(key: Any, value: Any) -> Any:
    def function(x: Any, i: Any) -> Any:
        x = x.clone()
        x[key(i)] = value
        return x

    return function


PLACES: dict[str, Any] = {
    "x[i]": lambda x, i: x[i],
    "x[-i]": lambda x, i: x[-i],
    "x[:, i]": lambda x, i: x[:, i],
    "x[i, i]": lambda x, i: x[i, i],
    "x[i][i]": lambda x, i: x[i][i],
    "x[i, 1:]": lambda x, i: x[i, 1:],
    "x[None, i]": lambda x, i: x[None, i],
    "x[..., i]": lambda x, i: x[..., i],
    "x[v, i]": lambda x, i: x[V.to(x.device), i],
    "x[..., v, -i]": lambda x, i: x[None][..., V, -i],
    "x[mask, i]": lambda x, i: x[torch.tensor([0, 2])[:, None], i],
    "x[i] of si32": lambda x, i: x[i.to(torch.int32)],
    "select": lambda x, i: torch.select(x, 1, i),
    "an assigned row": assigned(lambda i: i, torch.arange(4.0)),
    "an assigned place": assigned(lambda i: (-1, i), 5),
    "an assigned place from the end": assigned(lambda i: (-i, 2), 5.0),
}


@pytest.mark.parametrize("target", ["numpy", "native"])
@pytest.mark.parametrize("name", PLACES)
def test_an_index_may_be_a_tensor_of_rank_0(name: str, target: str) -> None:
    for i in (PLACE, torch.tensor(0), torch.tensor(-2)):
        (found,) = run(PLACES[name], (X, i), target)
        np.testing.assert_array_equal(found, PLACES[name](X, i).numpy(), strict=True)


def test_an_index_of_rank_0_has_a_derivative() -> None:
    x = X.clone().requires_grad_()
    (expected,) = torch.autograd.grad((x[:, PLACE] ** 2).sum(), x)
    (found,) = products(lambda x, i: (x[:, i] ** 2).sum(), [X, PLACE], [0], [torch.tensor(1.0)])
    np.testing.assert_allclose(found, expected.numpy())


def test_an_index_of_rank_0_out_of_range_is_an_error() -> None:
    for function in (PLACES["x[i]"], PLACES["x[v, i]"]):
        with pytest.raises(MindError, match="E6001"):
            run(function, (X, torch.tensor(7)), "numpy")


def test_a_number_that_is_read_for_something_else_is_refused() -> None:
    with pytest.raises(MindError, match="E8008") as caught:
        run(lambda x, i: x[i] * i.item(), (X, PLACE), "numpy")
    assert "keep it a tensor of rank 0" in str(caught.value)


REFUSED: dict[str, tuple[Any, tuple[Any, ...], str]] = {
    "a branch on a comparison": (lambda x: x if torch.equal(x, x) else -x, (torch.ones(2),), "data-dependent"),
    "equality of two dtypes": (lambda x: torch.equal(x, x.double()), (torch.ones(2),), "expected one dtype"),
    "covariances of rank 3": (torch.cov, (torch.ones(2, 2, 2),), "rank 3, expected at most 2"),
    "residuals of some ranks": (solution(driver="gelsd"), (torch.ones(3, 2), torch.ones(3, 1)), "size that depends on data"),
    "an unknown driver": (solution(driver="qr"), (torch.ones(3, 2), torch.ones(3, 1)), "driver 'qr'"),
    "variances of another shape": (
        gaussian,
        (torch.ones(2, 3), torch.ones(2, 3), torch.ones(3, 2)),
        r"variances of shape \[3, 2\]",
    ),
    "unequal batches": (solution(), (torch.ones(2, 3, 2), torch.ones(4, 3, 2)), "expected equal batches and rows"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_still_reads_data_is_refused(case: str) -> None:
    function, arguments, message = REFUSED[case]
    with pytest.raises(MindError, match=message) as caught:
        run(function, arguments, "numpy")
    assert caught.value.code == "E7001"


def test_singular_triangles_are_no_numbers() -> None:
    """torch raises where a matrix that `gels` takes for one of full rank is not."""
    found = run(solution(driver="gels"), (torch.zeros(3, 2), torch.ones(3, 1)), "numpy")
    assert not np.isfinite(found[0]).any()


def test_a_negative_variance_gives_nan() -> None:
    """torch raises for it, which needs to read data."""
    x, var = torch.zeros(2), torch.tensor([-1.0, 1.0])
    (found,) = run(lambda x, v: gaussian(x, x, v, reduction="none"), (x, var), "numpy")
    np.testing.assert_array_equal(np.isnan(found), [True, False])
