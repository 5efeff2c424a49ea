"""Modules of PyTorch in: values and gradients are PyTorch's own to a few digits; what has no form is refused in one error."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mind_dialect.errors import MindError
from mind_dialect.program import argument_attribute, input_names
from mind_dialect.verify import verify
from mind_passes.functional import grad, vjp
from mind_runtime import bind, compile
from mind_runtime.compilation import find_function

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
from torch import nn  # noqa: E402, after the skip

import torch_models  # noqa: E402, after the skip
from mind_bridges.torch import Imported, from_torch, load  # noqa: E402, after the skip
from mind_bridges.torch_export import as_array  # noqa: E402, after the skip
from torch_rows import Function  # noqa: E402, after the skip


def results(imported: Imported, target: str, *arguments: Any) -> list[np.ndarray]:
    found = bind(imported.module, imported.weights, target=target)(*map(as_array, arguments))
    return list(found) if isinstance(found, tuple) else [found]


def close(found: Any, expected: Any, tolerance: float) -> None:
    """Equal shapes and dtypes, and numbers relative to the largest."""
    expected = as_array(expected)
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    a, b = np.asarray(found, np.float64), np.asarray(expected, np.float64)
    np.testing.assert_allclose(a, b, 0, tolerance * max(1e-3, np.abs(b).max(initial=0)))


@pytest.mark.parametrize("target", ["numpy", "native"])
@pytest.mark.parametrize("name", torch_models.MODELS)
def test_values_of_models(name: str, target: str) -> None:
    model, x = torch_models.made(name)
    imported = from_torch(model, x)
    verify(find_function(imported.module, None))
    assert imported.weights.keys() == {**dict(model.named_parameters()), **dict(model.named_buffers())}.keys()
    close(results(imported, target, x)[0], model(x), 1e-5)


@pytest.mark.parametrize("target", ["numpy", "native"])
@pytest.mark.parametrize("name", torch_models.MODELS)
def test_gradients_of_all_weights(name: str, target: str) -> None:
    model, x = torch_models.made(name)
    y = model(x)
    cotangent = torch.randn_like(y)
    y.backward(cotangent)
    imported = from_torch(model, x)
    wanted = dict(model.named_parameters())
    program = compile(vjp(imported.module, wrt=list(wanted), output=0), "main_grad", target)
    found = program(*imported.weights.values(), as_array(x), as_array(cotangent))
    adjoints = found[len(found) - len(wanted) :]
    order = [name for name in input_names(find_function(imported.module, None)) if name in wanted]
    for name, adjoint in zip(order, adjoints, strict=True):
        close(adjoint, wanted[name].grad, 1e-4)


def test_weights_are_marked_and_share_memory() -> None:
    model = nn.Linear(3, 2)
    module, weights = from_torch(model, torch.ones(1, 3))
    func = find_function(module, None)
    assert input_names(func) == ["weight", "bias", "input"]
    assert [argument_attribute(func, i, "ptir.parameter") for i in range(3)] == [True, True, False]
    assert np.shares_memory(weights["weight"], model.weight.detach().numpy())


class Tied(nn.Module):
    """An embedding whose table is the weights of a product, too, and a bias that two layers add."""

    def __init__(self) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.randn(5))
        self.table = nn.Embedding(5, 3)
        self.scores = nn.Linear(3, 5)
        self.scores.weight, self.scores.bias = self.table.weight, self.bias
        self.equal = nn.Parameter(self.table.weight.detach().clone())

    def forward(self, x: Any) -> Any:
        """Scores, and those of weights that are equal but not tied."""
        y = self.table(x)
        return torch.sin(self.scores(y)) + y @ self.equal.T + self.bias


@pytest.mark.parametrize("from_file", [False, True])
def test_tied_weights_are_one_input_under_their_first_name(from_file: bool, tmp_path: Path) -> None:
    model, x = Tied(), torch.tensor([1, 4, 1])
    y = model(x)
    cotangent = torch.randn_like(y)
    y.backward(cotangent)
    if from_file:
        torch.export.save(torch.export.export(model, (x,)), tmp_path / "tied.pt2")
    module, weights = load(tmp_path / "tied.pt2") if from_file else from_torch(model, x)
    names = [name for name, _ in model.named_parameters()]
    assert list(weights) == names == ["bias", "equal", "table.weight"]
    gradient = compile(vjp(module, wrt=names), "main_grad", "numpy")
    found = gradient(*weights.values(), as_array(x), as_array(cotangent))
    for adjoint, parameter in zip(found[1:], model.parameters(), strict=True):
        close(adjoint, parameter.grad, 1e-5)


def test_running_statistics_are_results() -> None:
    model, x = torch_models.made("cnn", training=True)
    imported = from_torch(model, x)
    found = results(imported, "numpy", x)
    close(found[0], model(x), 1e-5)
    assert len(found) == 4
    buffers = [model.norm.num_batches_tracked, model.norm.running_mean, model.norm.running_var]
    for value, buffer in zip(sorted(found[1:], key=lambda v: (v.size, float(v.mean()))), buffers, strict=True):
        close(value, buffer, 1e-5)


@pytest.mark.parametrize("target", ["numpy", "native"])
def test_numbers_among_the_results_are_scalars(target: str) -> None:
    class Model(nn.Module):
        def forward(self, x: Any) -> Any:
            return {
                "twice": x * 2,
                "count": 3,
                "rate": 0.1,
                "nothing": None,
                "flag": True,
                "rows": x.shape[0],
                "more": 2 * x.shape[0] + 1,
            }

    x = torch.ones(4, 3)
    for dynamic in (None, {"x": {0: torch.export.Dim("N", min=2)}}):
        found = results(from_torch(Model(), x, dynamic=dynamic), target, x)
        expected = [v for v in Model()(x).values() if v is not None]
        assert [np.asarray(v).dtype for v in found] == [np.dtype(t) for t in ("f4", "i8", "f8", "?", "i8", "i8")]
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_array_equal(a, b)


def test_a_word_among_the_results_is_refused() -> None:
    class Model(nn.Module):
        def forward(self, x: Any) -> Any:
            return x, "x"

    with pytest.raises(MindError, match="a result that is not a tensor"):
        from_torch(Model(), torch.ones(2))


def test_a_named_dimension_keeps_its_name() -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.GELU(), nn.Linear(4, 2))
    imported = from_torch(model, torch.ones(2, 3), dynamic=({0: torch.export.Dim("rows")},))
    program = bind(imported.module, imported.weights)
    assert program.inputs[-1].shape == ("rows", 3)
    for rows in (1, 2, 5):
        x = torch.randn(rows, 3)
        close(program(as_array(x)), model(x), 1e-5)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_narrow_weights(dtype: Any) -> None:
    model = nn.Sequential(nn.Linear(8, 8), nn.GELU(), nn.LayerNorm(8)).to(dtype)
    x = torch.randn(4, 8, dtype=dtype)
    close(results(from_torch(model, x), "numpy", x)[0], model(x), 2e-2)


class Scaled(nn.Module):
    """Weights of fp8 with a scale."""

    def __init__(self, dtype: Any):
        super().__init__()
        self.register_buffer("weight", torch.randn(4, 8).to(dtype))

    def forward(self, x: Any) -> Any:
        """A product with the weights in the dtype of `x`."""
        return x @ self.weight.to(x.dtype).T * 0.5


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2])
def test_weights_of_fp8(dtype: Any) -> None:
    model, x = Scaled(dtype), torch.randn(3, 8)
    close(results(from_torch(model, x), "numpy", x)[0], model(x), 1e-5)


@pytest.mark.parametrize("fails", [False, True])
def test_no_garbage_is_collected_while_a_model_is_imported(fails: bool) -> None:
    collects: list[bool] = []

    class Model(nn.Module):
        def forward(self, x: Any) -> Any:
            collects.append(gc.isenabled())
            if fails:
                raise ValueError("no value")
            return x + 1

    if fails:
        with pytest.raises(MindError, match="no value"):
            from_torch(Model(), torch.ones(3))
    else:
        from_torch(Model(), torch.ones(3))
    assert collects
    assert not any(collects)
    assert gc.isenabled()


def test_an_exported_file_is_read(tmp_path: Path) -> None:
    model, x = torch_models.made("gpt")
    torch.export.save(torch.export.export(model, (x,)), tmp_path / "gpt.pt2")
    close(results(load(tmp_path / "gpt.pt2"), "numpy", x)[0], model(x), 1e-5)


class Refusing(nn.Module):
    """What PTIR has no form for, some of it twice."""

    def forward(self, x: Any) -> Any:
        """Compute it."""
        first = torch.rand(3) + torch.rand(3)
        return x + first + torch.nn.functional.dropout(x, 0.5, training=True)


def test_all_that_is_refused_is_in_one_error() -> None:
    with pytest.raises(MindError) as caught:
        from_torch(Refusing(), torch.ones(3))
    assert caught.value.code == "E8008"
    lines = caught.value.context["diagnostics"]
    assert len(lines) == 2
    assert any("rand" in line and "2 times" in line and "test_torch.py" in line for line in lines)
    assert any("dropout" in line for line in lines)


ERRORS: dict[str, tuple[Any, str]] = {
    "no module": (lambda: from_torch(abs, 1), "E2001"),
    "a model that torch cannot export": (lambda: from_torch(Branching(), torch.ones(2)), "E7001"),
    "arguments beside a program": (lambda: from_torch(torch.export.export(nn.ReLU(), (torch.ones(2),)), 1), "E7001"),
    "a file that is not there": (lambda: load("no_such_file.pt2"), "E7002"),
    "a file that is none": (lambda: load(__file__), "E7002"),
    "weights that have only a type": (
        lambda: from_torch(nn.Linear(2, 3, device="meta"), torch.ones(1, 2, device="meta")),
        "E2001",
    ),
    "a dtype that PTIR lacks": (lambda: as_array(torch.zeros(2, dtype=torch.float8_e8m0fnu)), "E2005"),
}


class Branching(nn.Module):
    """Branches by data."""

    def forward(self, x: Any) -> Any:
        """One of two results."""
        return x if x.sum() > 0 else -x


@pytest.mark.parametrize("case", ERRORS)
def test_bad_input_is_a_coded_error(case: str) -> None:
    call, code = ERRORS[case]
    with pytest.raises(MindError) as caught:
        call()
    assert caught.value.code == code


class Frozen(nn.Module):
    """A loss of which parts are computed without gradients."""

    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64))

    def forward(self, x: Any) -> Any:
        with torch.no_grad():
            y = x * self.w
            z = y + x
            with torch.enable_grad():
                again = z * self.w
        return (z * x * self.w).sum() + (y * again).sum()


def test_blocks_without_gradients_have_none() -> None:
    model, x = Frozen(), torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64, requires_grad=True)
    program = torch.export.export(model, (x.detach(),))
    before = str(program.graph)
    imported = from_torch(program)
    assert str(program.graph) == before, "the program of the caller stays as it is"
    value = model(x)
    value.backward()
    (found,) = results(imported, "numpy", x.detach())
    close(found, value.detach(), 1e-14)
    found = compile(grad(imported.module), "main_grad")(*map(as_array, (model.w.detach(), x.detach())))
    for ours, theirs in zip(found, (model.w.grad, x.grad), strict=True):
        close(ours, theirs, 1e-14)


def detached_in_place(x: Any) -> Any:
    y = x.clone()
    y.detach_()
    return y * x


def written_by_an_alias(x: Any) -> Any:
    y = x * 1
    y.detach().mul_(3)
    return y * x


def written_in_blocks(x: Any) -> Any:
    y = x * 1
    with torch.no_grad():
        y.mul_(3)
        w = y + 1
    y.add_(x)
    with torch.no_grad():
        y.mul_(2)
        y[0].add_(1)
    return y * x * w


def written_and_returned(x: Any) -> Any:
    y = x.clone()
    with torch.no_grad():
        y[0] = 5.0
    return y


class Clamped(nn.Module):
    """A parameter that each call clamps, and a buffer that follows the mean of its arguments."""

    def __init__(self, calls: int = 1) -> None:
        super().__init__()
        self.linear, self.calls = nn.Linear(3, 2, dtype=torch.float64), calls
        self.register_buffer("mean", torch.zeros(3, dtype=torch.float64))

    def forward(self, x: Any) -> Any:
        """Compute it."""
        for _ in range(self.calls):
            with torch.no_grad():
                self.linear.weight.clamp_(-0.1, 0.1)
                self.mean.mul_(0.9).add_(x.mean(0), alpha=0.1)
        return self.linear(x) * self.mean.sum() + x.sum()


@pytest.mark.parametrize("function", [detached_in_place, written_by_an_alias, written_in_blocks, written_and_returned])
def test_writes_without_a_derivative_keep_that_of_what_was_there(function: Any) -> None:
    x = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64, requires_grad=True)
    program = torch.export.export(Function(function), (x.detach(),))
    before = str(program.graph)
    module, weights = from_torch(program)
    assert str(program.graph) == before
    value, cotangent = function(x), torch.arange(1.0, 4.0, dtype=torch.float64)
    value.backward(cotangent)
    found = compile(vjp(module, wrt="xs_0"), "main_grad")(*weights.values(), as_array(x), as_array(cotangent))
    close(found[0], value.detach(), 1e-14)
    close(found[1], x.grad, 1e-14)


def test_parameters_and_buffers_that_are_written_in_blocks() -> None:
    model, x = Clamped(), torch.arange(12.0, dtype=torch.float64).reshape(4, 3).requires_grad_()
    imported = from_torch(model, x.detach())
    arguments = [np.array(w) for w in imported.weights.values()]
    value = model(x)
    value.sum().backward()
    gradient = vjp(imported.module, wrt=["linear.weight", "x"], output=0)
    found = compile(gradient, "main_grad")(*arguments, as_array(x), np.ones((4, 2)))
    close(found[0], value.detach(), 1e-14)
    close(found[-2], model.linear.weight.grad, 1e-12)
    close(found[-1], x.grad, 1e-12)


def test_a_parameter_that_is_written_twice_in_blocks_is_refused() -> None:
    with pytest.raises(MindError, match="written to without a derivative, and again; write to a copy") as caught:
        from_torch(Clamped(2), torch.ones(4, 3, dtype=torch.float64))
    assert caught.value.code == "E8008"


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_dropout_between_layers_of_recurrent_networks_is_refused_in_training(kind: Any) -> None:
    model, x = kind(4, 3, num_layers=2, dropout=0.5), torch.randn(5, 2, 4)
    with pytest.raises(MindError, match="dropout between layers in training mode") as caught:
        from_torch(model, x)
    assert caught.value.code == "E8008"
    close(results(from_torch(model.eval(), x), "numpy", x)[0], model(x)[0].detach(), 1e-5)


class Rounded(torch.autograd.Function):
    """Rounding that passes gradients on."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        """Compute it."""
        return torch.round(x)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        """Compute the adjoint."""
        return g


class Rounding(nn.Module):
    """A model whose gradient torch does not export."""

    def forward(self, x: Any) -> Any:
        """Compute it."""
        return Rounded.apply(x * 2)


def test_a_backward_that_torch_drops_is_said() -> None:
    plain = torch.autograd.Function.__dict__["apply"]
    with pytest.warns(UserWarning, match=r"Rounding calls Rounded \(autograd\.Function\), whose backward torch\.export drops"):
        imported = from_torch(Rounding(), torch.tensor([0.4, 1.6]))
    assert results(imported, "numpy", torch.tensor([0.4, 1.6]))[0].tolist() == [1, 3]
    assert torch.autograd.Function.__dict__["apply"] is plain


class Padded(nn.Module):
    """Embeddings, one of which is padding."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(5, 3, padding_idx=1)

    def forward(self, tokens: Any) -> Any:
        """Compute it."""
        return (self.table(tokens) ** 2 + self.table(tokens[0])).sum()


def test_padding_of_an_embedding_has_no_gradient() -> None:
    model, tokens = Padded(), torch.tensor([[1, 2, 1], [3, 1, 2]])
    model.table.weight.data[1] = 2.0
    model(tokens).backward()
    imported = from_torch(model, tokens)
    for target in ("numpy", "native"):
        found = compile(grad(imported.module), "main_grad", target)(*imported.weights.values(), tokens.numpy())
        assert isinstance(model.table.weight.grad, torch.Tensor)
        np.testing.assert_allclose(found, model.table.weight.grad.numpy(), 1e-6)
        assert found[1].tolist() == [0, 0, 0]


def test_gradients_scaled_by_frequency_are_refused() -> None:
    with pytest.raises(MindError, match="scale_grad_by_freq") as caught:
        from_torch(nn.Embedding(5, 3, scale_grad_by_freq=True), torch.tensor([1, 2]))
    assert caught.value.code == "E8008"
