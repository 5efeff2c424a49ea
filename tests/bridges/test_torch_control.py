"""Branches and loops of torch (`cond`, `while_loop`, `scan`) against PyTorch, with derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mind_dialect.errors import MindError
from mind_passes.functional import vjp
from mind_runtime import compile

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
from torch import nn  # noqa: E402, after the skip
from torch._higher_order_ops.scan import scan  # noqa: E402, after the skip
from torch._higher_order_ops.while_loop import while_loop  # noqa: E402, after the skip

from mind_bridges.torch import from_torch  # noqa: E402, after the skip
from torch_rows import Function, outputs  # noqa: E402, after the skip


class Branches(nn.Module):
    """Two branches that read different weights."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(3, 3), nn.Linear(3, 3)

    def forward(self, x: Any) -> Any:
        """A matrix and a number."""
        return torch.cond(
            x.sum() > 0,
            lambda x: (torch.tanh(self.first(x)), x.sum()),
            lambda x: (-self.second(x), x.mean()),
            (x,),
        )


def nested(x: Any, k: Any) -> Any:
    """A branch in a branch."""

    def outer(x: Any) -> Any:
        return torch.cond(x.sum() > 0, lambda x: x * 2, lambda x: x * x, (x,))

    return torch.cond(k > 1, outer, lambda x: x.sin(), (x,))


def accumulated(x: Any, w: Any) -> Any:
    """A carry and a row for each step, with a captured tensor."""
    return scan(lambda c, row: (c * w + row, (c * row).sum()), torch.zeros(3, dtype=x.dtype), x, dim=0)


def stepped(x: Any, w: Any) -> Any:
    """`accumulated` as a loop of Python."""
    c, rows = torch.zeros(3, dtype=x.dtype), list[Any]()
    for row in x:
        c, inner = c * w + row, (c * row).sum()
        rows.append(inner)
    return c, torch.stack(rows)


def repeated(x: Any, w: Any) -> Any:
    """As many iterations as the data asks for."""
    return while_loop(lambda i, x: (i < 5) & (x.sum() < 100), lambda i, x: (i + 1, x * w), (torch.tensor(0), x))


ROW = torch.tensor([0.5, -2.0, 1.5], dtype=torch.float64)
ROWS = torch.arange(12, dtype=torch.float64).reshape(4, 3).cos()
BRANCHES = Branches().double()
CASES: dict[str, tuple[Any, Any, list[tuple[Any, ...]], bool]] = {
    "branches": (BRANCHES, BRANCHES, [(ROWS + 2,), (ROWS - 2,)], True),
    "nested branches": (Function(nested), nested, [(ROW + k, torch.tensor(n)) for k, n in ((2, 2), (-2, 2), (0, 0))], True),
    "a scan": (Function(accumulated), stepped, [(ROWS, ROW)], True),
    "a loop": (Function(repeated), repeated, [(ROW.abs(), 2 * ROW.abs()), (1000 * ROW.abs(), ROW)], False),
}
"""A model, what it computes, calls, and whether it has derivatives: loops of unknown length have none in reverse mode."""


@pytest.mark.parametrize("target", ["numpy", "native"])
@pytest.mark.parametrize("name", CASES)
def test_values_and_derivatives(name: str, target: str) -> None:
    model, reference, calls, differentiable = CASES[name]
    module, weights = from_torch(model, *calls[0])
    for given in calls:
        arrays = [*weights.values(), *(x.numpy() for x in given)]
        found = compile(module, "main", target)(*arrays)
        inputs = [x.clone().requires_grad_() if x.is_floating_point() else x for x in given]
        expected = outputs(reference(*inputs))
        for ours, theirs in zip(found if isinstance(found, tuple) else [found], expected, strict=True):
            np.testing.assert_allclose(ours, theirs.detach().numpy(), 1e-12)
        if not differentiable:
            continue
        sources = [*model.parameters(), *(x for x in inputs if x.requires_grad)]
        cotangents = [torch.full_like(y, 1.5) for y in expected]
        slopes = torch.autograd.grad(expected, sources, cotangents, materialize_grads=True)
        adjoints = compile(vjp(module), "main_grad", target)(*arrays, *(c.numpy() for c in cotangents))[-len(sources) :]
        for ours, theirs in zip(adjoints, slopes, strict=True):
            np.testing.assert_allclose(ours, theirs.numpy(), 1e-11, 1e-12)


def test_a_scan_of_any_number_of_rows() -> None:
    dynamic = (({0: torch.export.Dim("rows", min=2)}, None),)
    module, _ = from_torch(Function(accumulated), ROWS, ROW, dynamic=dynamic)
    x = torch.arange(21, dtype=torch.float64).reshape(7, 3).sin()
    for ours, theirs in zip(compile(module)(x.numpy(), ROW.numpy()), stepped(x, ROW), strict=True):
        np.testing.assert_allclose(ours, theirs.numpy(), 1e-12)


def test_ops_of_all_branches_that_are_refused_are_listed_once() -> None:
    def random(x: Any) -> Any:
        return torch.cond(x.sum() > 0, lambda x: x + torch.rand(3), lambda x: x + torch.randn(3), (x,)) + 1

    with pytest.raises(MindError) as caught:
        from_torch(Function(random), torch.ones(3))
    lines = str(caught.value).splitlines()[1:]
    assert caught.value.code == "E8008"
    assert ["rand.default" in lines[0], "randn.default" in lines[1], len(lines)] == [True, True, 2]
