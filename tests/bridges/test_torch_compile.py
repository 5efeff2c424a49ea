"""`torch.compile(model, backend="mind")`: models train with PyTorch's own loss curve; what has no form is left to torch."""

from __future__ import annotations

import copy
import importlib
import tomllib
import warnings
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
from torch import nn  # noqa: E402, after the skip

import torch_models  # noqa: E402, after the skip
from mind_bridges.torch import backend  # noqa: E402, after the skip
from mind_bridges.torch_compile import _compiled  # noqa: E402, after the skip
from mind_dialect.errors import MindError  # noqa: E402, after the skip

STEPS = 50


@pytest.fixture(autouse=True)
def fresh() -> None:
    torch._dynamo.reset()


def compiled(model: Any, **options: Any) -> Any:
    return torch.compile(model, backend=lambda graph, inputs: backend(graph, inputs, options=options), dynamic=False)


def curve(model: Any, called: Any, x: Any, target: Any) -> list[float]:
    """The losses of training steps."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    losses: list[float] = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = torch.mean((called(x) - target) ** 2)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("name", ["gpt", "llama", "cnn", "lstm", "bert"])
def test_training_has_the_loss_curve_of_torch(name: str) -> None:
    model, x = torch_models.made(name, training=True)
    target = torch.randn_like(model.eval()(x))
    model.train()
    twin = copy.deepcopy(model)
    expected = curve(twin, twin, x, target)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = curve(model, compiled(model), x, target)
    assert found[-1] < found[0]
    assert max(abs(a - b) for a, b in zip(found, expected, strict=True)) < 1e-4
    for ours, theirs in zip(model.buffers(), twin.buffers(), strict=True):  # running statistics
        torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=1e-4)


def test_the_backward_part_reads_what_the_forward_part_saved() -> None:
    """Products run once forwards and twice backwards; arguments that the graph writes to are saved as they were."""
    kept: list[Any] = []

    def spy(graph: Any, inputs: Any) -> Any:
        kept.append(_compiled(graph, inputs, "numpy"))
        return backend(graph, inputs, options={"target": "numpy"})

    model = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 2))
    torch.compile(model, backend=spy, dynamic=False)(torch.ones(4, 3)).sum().backward()
    (graph,) = kept
    assert graph.saved
    counts = [str(p.function).count("ptir.dot_general") for p in (graph.program, graph.backward)]
    assert counts == [2, 3]  # of the first layer only the weight moves


def test_inference_saves_nothing() -> None:
    kept: list[Any] = []

    def spy(graph: Any, inputs: Any) -> Any:
        kept.append(_compiled(graph, inputs, "numpy"))
        return graph.forward

    model = nn.Linear(3, 2)
    with torch.no_grad():
        torch.compile(model, backend=spy, dynamic=False)(torch.ones(4, 3))
    assert [(g.moving, g.saved) for g in kept] == [((), ())]


def test_arguments_that_are_written_to_are_saved_as_they_were() -> None:
    class Counted(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("scale", torch.tensor([2.0, 3.0, 4.0]))

        def forward(self, x: Any) -> Any:
            y = x * self.scale.clone()
            self.scale.add_(1)
            return y.sin()

    model = Counted()
    twin = copy.deepcopy(model)
    x = torch.linspace(-1, 1, 3, requires_grad=True)
    z = x.detach().clone().requires_grad_()
    for _ in range(2):
        compiled(model)(x).sum().backward()
        twin(z).sum().backward()
    torch.testing.assert_close(x.grad, z.grad)
    torch.testing.assert_close(model.scale, twin.scale)


def test_the_backend_has_an_entry_point() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    module, _, name = project["entry-points"]["torch_dynamo_backends"]["mind"].partition(":")
    assert getattr(importlib.import_module(module), name) is backend


class Mixed(nn.Module):
    """A layer, and random numbers of two kinds."""

    def forward(self, x: Any) -> Any:
        """Compute it."""
        return x.sin() + torch.rand(3) + torch.randn(3)


def test_a_graph_with_missing_ops_is_left_to_torch_with_one_warning() -> None:
    with pytest.warns(UserWarning, match="leaves a graph to PyTorch") as caught:
        found = compiled(Mixed())(torch.ones(3))
    assert found.shape == (3,)
    (warning,) = [w for w in caught if "leaves a graph" in str(w.message)]
    assert "rand.default" in str(warning.message)
    assert "randn.default" in str(warning.message)


class Tripled(torch.autograd.Function):
    """Rounding, whose derivative is said to be 3."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        """Compute it."""
        return torch.round(x)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        """Compute the adjoint."""
        return 3 * g


def hooked(x: Any) -> Any:
    y = x * 2
    y.register_hook(lambda g: 5 * g)
    return y.sum()


@pytest.mark.parametrize(
    ("f", "words"),
    [
        (lambda x: Tripled.apply(x).sum(), "autograd.Function"),
        (lambda x: torch.utils.checkpoint.checkpoint(Tripled.apply, x, use_reentrant=False).sum(), "autograd.Function"),
        (hooked, "register_hook"),
    ],
)
def test_derivatives_of_the_user_are_left_to_torch(f: Any, words: str) -> None:
    """Exporting the graph again would keep the values and drop the rule, so that training went another way."""
    x, y = (torch.tensor([0.4, 1.6, -2.5], requires_grad=True) for _ in range(2))
    with pytest.warns(UserWarning, match=words):
        compiled(f)(x).backward()
    f(y).backward()
    assert x.grad is not None
    assert x.grad.tolist() == y.grad.tolist()


def test_what_is_detached_has_no_gradient() -> None:
    """As in PyTorch: no zeros for a weight that is only read past derivatives, which weight decay would shrink."""

    def f(x: Any, w: Any) -> Any:
        return (x * 2).detach(), (x * w.detach()).sum()

    x, w = (torch.ones(3, requires_grad=True) for _ in range(2))
    detached, loss = compiled(f)(x, w)
    loss.backward()
    assert not detached.requires_grad
    assert (x.grad is not None, w.grad) == (True, None)


def test_data_of_a_tensor_is_left_to_torch() -> None:
    x, w = torch.ones(3, requires_grad=True), torch.full((3,), 2.0, requires_grad=True)
    with pytest.warns(UserWarning, match=r"without its elements, as it does for x\.data"):
        compiled(lambda x, w: (x * w.data).sum())(x, w).backward()
    assert x.grad is not None
    assert (x.grad.tolist(), w.grad) == ([2, 2, 2], None)


def test_an_argument_that_gets_a_gradient_is_left_to_torch() -> None:
    def f(x: Any, y: Any) -> Any:
        y.add_(x)
        return y * x

    x, y = torch.ones(3, requires_grad=True), torch.ones(3)
    with pytest.warns(UserWarning, match="an argument that is written to with values that have a gradient"):
        found = compiled(f)(x, y)
    assert (found.requires_grad, y.requires_grad) == (True, True)
    (found.sum() + y.sum()).backward()
    assert x.grad is not None
    assert x.grad.tolist() == [4, 4, 4]


def test_results_do_not_share_memory_with_arguments() -> None:
    x = torch.ones(3)
    y = compiled(nn.Identity().forward)(x + 0)
    y += 1
    assert x.tolist() == [1, 1, 1]


def test_integers_and_inference() -> None:
    def f(x: Any) -> Any:
        return x.argmax(-1), x.softmax(-1)

    x = torch.randn(4, 5)
    with torch.no_grad():
        found = compiled(f)(x)
    assert torch.equal(found[0], f(x)[0])
    torch.testing.assert_close(found[1], f(x)[1])


def test_a_second_derivative_is_refused_by_torch() -> None:
    x = torch.ones(3, requires_grad=True)
    y = compiled(lambda x: (x**3).sum())(x)
    (grad,) = torch.autograd.grad(y, x, create_graph=True)
    with pytest.raises(RuntimeError, match=r"once_differentiable|does not require grad"):
        torch.autograd.grad(grad.sum(), x)


def test_an_unknown_option_is_an_error() -> None:
    graph = torch.fx.symbolic_trace(nn.ReLU())
    with pytest.raises(MindError, match="option fast of the backend") as caught:
        backend(graph, [torch.ones(2)], options={"fast": True})
    assert caught.value.code == "E7001"


def _written_through_views(x: Any) -> Any:
    """Write to a view of the argument, and to views of a transposed product, after a graph break."""
    row, y = x[0], x.t() * 2
    column, rest = y.t(), y[1:].detach()
    torch._dynamo.graph_break()
    row.add_(1)
    column.mul_(3)
    rest[0] = 7
    return x * 1, y


@pytest.mark.parametrize("target", ["numpy", "native"])
def test_writes_to_views_reach_their_base_after_a_graph_break(target: str) -> None:
    x = torch.arange(12.0).view(3, 4)
    given = x.clone()
    with pytest.warns(UserWarning, match="leaves a graph to PyTorch"):  # the second graph writes to arguments that overlap
        found = compiled(_written_through_views, target=target)(given)
    for ours, theirs in zip((*found, given), (*_written_through_views(x), x), strict=True):
        torch.testing.assert_close(ours, theirs)


def test_arguments_that_overlap_may_be_written_to() -> None:
    def f(x: Any, y: Any) -> Any:
        x.mul_(2)
        y.add_(x * 1)
        return x + y

    ours, theirs = torch.arange(12.0).view(4, 3), torch.arange(12.0).view(4, 3)
    with pytest.warns(UserWarning, match="leaves a graph to PyTorch"):
        found = compiled(f)(ours[:2], ours[1:3])
    torch.testing.assert_close(found, f(theirs[:2], theirs[1:3]))
    torch.testing.assert_close(ours, theirs)


def test_views_have_the_derivatives_of_their_base() -> None:
    def f(x: Any) -> Any:
        y = x.t() * 2
        return y, y[1:].t(), x[0], (y * 1).detach(), y.detach()

    x = torch.arange(12.0).view(3, 4).requires_grad_()
    z = x.detach().clone().requires_grad_()
    for call, given in ((f, x), (compiled(f), z)):
        y, part, row, *constants = call(given)
        assert not any(c.requires_grad for c in constants)
        part.mul_(3)
        (y.square().sum() + part.sin().sum() + row.exp().sum()).backward()
    torch.testing.assert_close(z.grad, x.grad)


def test_results_that_share_memory_that_none_of_them_holds_are_left_to_torch() -> None:
    def f(x: Any) -> Any:
        y = x * 2
        return y[:2], y[1:]

    with pytest.warns(UserWarning, match="share memory which no result holds"):
        first, second = compiled(f)(torch.ones(3))
    first += 1
    assert second.tolist() == [3, 2]


def test_a_written_argument_that_is_returned_is_the_argument() -> None:
    x = torch.zeros(3)
    found = compiled(lambda x: x.add_(1))(x)
    found += 1
    assert x.tolist() == [2, 2, 2]


def test_parts_of_a_split_are_results_of_their_own() -> None:
    def f(x: Any) -> Any:
        return (x * 2).chunk(2, -1)

    x = torch.ones(3, 4, requires_grad=True)
    first, second = compiled(f)(x)
    (first.sum() + 2 * second.sum()).backward()
    assert x.grad is not None
    assert x.grad[0].tolist() == [2, 2, 4, 4]
