"""Derivatives of activations where two pieces meet are those of PyTorch, which its own reverse mode gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mind_passes.functional import grad
from mind_runtime import compile

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed")


from mind_bridges.torch import from_torch  # noqa: E402, after the skip
from mind_bridges.torch_export import as_array  # noqa: E402, after the skip
from torch_rows import products, run  # noqa: E402, after the skip

F: Any = torch.nn.functional
POINTS = (-4.0, -3.0, -1.0, -0.0, 0.0, 0.5, 3.0, 4.0)


class Sum(torch.nn.Module):
    def __init__(self, function: Any):
        super().__init__()  # pyright: ignore[reportUnknownMemberType]
        self.function = function

    def forward(self, x: Any) -> Any:
        return (self.function(x) * torch.arange(1.0, 9.0)).sum()


@pytest.mark.parametrize("target", ["numpy", "native"])
@pytest.mark.parametrize("function", [F.elu, F.selu, F.celu, F.hardsigmoid, F.hardswish, torch.sinc], ids=lambda f: f.__name__)
def test_values_and_slopes_where_pieces_meet(function: Any, target: str) -> None:
    x = torch.tensor(POINTS, requires_grad=True)
    model = Sum(function)
    value = model(x)
    (slopes,) = torch.autograd.grad(value, x)
    module, weights = from_torch(model, x.detach())
    inputs = [*weights.values(), as_array(x)]
    np.testing.assert_allclose(compile(module, "main", target)(*inputs), as_array(value), rtol=1e-5)
    found = compile(grad(module, wrt=["x"]), "main_grad", target)(*inputs)
    np.testing.assert_allclose(found, as_array(slopes), rtol=1e-4, atol=1e-5)


NAN, INF = float("nan"), float("inf")
ZEROS = ([0.0, -0.0, 0.0, -0.0, 0.0, 3.0], [0.0, 0.0, -0.0, -0.0, 1.0, 0.0])
DIVIDENDS = ([1.0, -1.0, 2.5, -7.0, 7.0], [0.0, 0.0, -0.0, 2.0, -2.0])
EDGES: dict[str, tuple[Any, tuple[list[float], ...]]] = {
    "a clamp": (lambda x: torch.clamp(x, -1, 2), ([NAN, -1.0, 0.0, 2.0, 3.0],)),
    "a lower bound": (lambda x: x.clamp(min=1.0), ([NAN, 1.0, 0.0, INF],)),
    "a clamp by tensors": (torch.clamp, ([NAN, 0.0, 0.5, 2.0, 3.0], [0.0, NAN, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, NAN, 1.0])),
    "atan2": (torch.atan2, ZEROS),
    "the argument of complex numbers": (lambda x, y: torch.complex(x, y).angle(), ZEROS),
    "entr": (torch.special.entr, ([0.0, -0.0, 0.5, 1.0, 2.0, -0.5, -3.0, -INF],)),
    "remainder": (torch.remainder, DIVIDENDS),
    "a remainder by 0": (lambda x: torch.remainder(x, 0.0), ([1.0, -1.0, 2.5],)),
    "fmod": (torch.fmod, DIVIDENDS),
    "hypot": (torch.hypot, ([1e38, 2e38, 1e38, 0.0, 3e-38, 0.0], [1.0, -1e38, 1e38, 1e38, 4e-38, 2.0])),
    "softplus": (F.softplus, ([90.0, 1e38, INF, 20.0, 20.5, -90.0, 0.0],)),
    "softplus with a threshold": (lambda x: F.softplus(x, 2.0, 5.0), ([90.0, 2.5, 2.4, 2.6, -1.0],)),
    "mish": (F.mish, ([90.0, 1e37, 20.0, 20.5, -5.0, 0.0],)),
    "celu": (lambda x: F.celu(x, 2.0), ([90.0, INF, 0.0, -3.0],)),
    "log_ndtr": (torch.special.log_ndtr, ([-20.0, -5.0, 0.0, 1.0, 1.5, 6.0, INF],)),
    "standard deviations": (lambda x: x.reshape(3, 2).std(1), ([1.0, 1.0, 0.0, -0.0, 3.0, 2.0],)),
    "deviations and means": (lambda x: torch.std_mean(x)[0], ([2.0, 2.0, 2.0],)),
    "asinh": (torch.asinh, ([0.0, -0.0, 1e5, -1e5, 1e8, 1e-30],)),
    "sinh": (torch.sinh, ([0.0, 20.0, -20.0, 20.5, 88.0, 1e-30],)),
    "cosh": (torch.cosh, ([1e-30, 1e-3, -1e-3, 20.0, -20.0, 20.5, 88.0],)),
}
"""Functions, and arguments at which pieces of formulas overflow, divide by 0, or are NaN."""


@pytest.mark.parametrize("target", ["numpy", "native"])
@pytest.mark.parametrize("name", EDGES)
def test_values_and_slopes_at_edges(name: str, target: str) -> None:
    function, given = EDGES[name]
    arguments = [torch.tensor(x) for x in given]
    inputs = [x.clone().requires_grad_() for x in arguments]
    value = function(*inputs)
    cotangent = torch.full_like(value, 1.5)
    slopes = torch.autograd.grad(value, inputs, cotangent)
    (found,) = run(function, tuple(arguments), target)
    np.testing.assert_allclose(found, as_array(value), rtol=2e-6)
    for ours, theirs in zip(products(function, arguments, range(len(arguments)), [cotangent], target), slopes, strict=True):
        np.testing.assert_allclose(ours, as_array(theirs), rtol=2e-5)


@pytest.mark.parametrize("options", [(), (False,), (1,), (1, False), (1, True, True)], ids=str)
def test_deviations_by_every_form_of_arguments(options: tuple[Any, ...]) -> None:
    x = torch.arange(6.0).reshape(2, 3) ** 2
    for function in (torch.std, torch.std_mean):
        expected = function(x, *options)
        found = run(lambda x, function=function: function(x, *options), (x,), "numpy")
        for ours, theirs in zip(found, expected if isinstance(expected, tuple) else [expected], strict=True):
            np.testing.assert_allclose(ours, as_array(theirs), rtol=1e-6)


def test_the_deviation_of_one_number_stays_nan() -> None:
    x = torch.tensor([[1.0], [2.0]])
    np.testing.assert_array_equal(run(lambda x: x.std(1), (x,), "numpy")[0], [NAN, NAN])
    np.testing.assert_array_equal(run(lambda x: x.std(1, correction=0), (x,), "numpy")[0], [0.0, 0.0])
