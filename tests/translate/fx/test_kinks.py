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
