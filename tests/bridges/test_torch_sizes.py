"""Sizes that torch computes from named ones: names, expressions and ranges, beside torch's own results at many sizes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mind_dialect.declared_dims import DECLARED
from mind_dialect.errors import MindError
from mind_dialect.program import functions
from mind_passes.functional import vjp
from mind_runtime import bind, compile
from mind_translate.fx.sizes import dim_of_expression

torch = pytest.importorskip("torch", reason="torch is not installed (make test-all installs it)")
import torch.nn.functional as F  # noqa: E402, after the skip
from torch.export import Dim  # noqa: E402, after the skip

from mind_bridges.torch import from_torch, load  # noqa: E402, after the skip


class Function(torch.nn.Module):
    """A function as a model."""

    def __init__(self, function: Callable[..., Any]):
        super().__init__()
        self.function = function

    def forward(self, *args: Any) -> Any:
        return self.function(*args)


def imported(function: Callable[..., Any], *args: Any, dynamic: Any) -> Any:
    return from_torch(Function(function), *args, dynamic=(tuple(dynamic),)).module


def declared(module: Any) -> list[str]:
    (func,) = functions(module)
    return [text.data for text in func.attributes[DECLARED].data] if DECLARED in func.attributes else []


N, B = Dim("n", min=3), Dim("batch", min=3, max=64)
FUNCTIONS: dict[str, tuple[Callable[..., Any], str]] = {
    "joined": (lambda x: torch.cat([x, x[:2], x]), "2*n+2,*"),
    "flat": (lambda x: x.reshape(-1), "4*n"),
    "folded": (lambda x: x.reshape(-1, 2), "2*n,*"),
    "padded": (lambda x: torch.nn.functional.pad(x, (0, 0, 1, 2)), "n+3,*"),
    "without the last": (lambda x: x[:-1], "n-1,*"),
    "without the first": (lambda x: x[1:], "n-1,*"),
    "differences": (lambda x: x[1:] - x[:-1], "n-1,*"),
    "outer": (lambda x: x[:, :1] * x[:, 0], "n,n"),
    "counted": (lambda x: torch.arange(x.shape[0] * 2, dtype=torch.float32), "2*n"),
    "means": (lambda x: x.mean(1) - x.mean(), "n"),
    "centred": (lambda x: x - x.mean(0, keepdim=True), "n,*"),
    "variances": (lambda x: x.var(0) + x.std(0, correction=0, keepdim=True)[0] * torch.var_mean(x)[0], "*"),
    "normalized": (lambda x: (x - x.mean(0)) / x.std(0), "n,*"),
    "sorted": (lambda x: torch.sort(x, 0).values - torch.sort(x, 0, descending=True).values, "n,*"),
    "order": (lambda x: torch.sort(x, dim=0, stable=True).indices + torch.argsort(x, 0), "n,*"),
    "repeated": (lambda x: x.repeat(3, 1), "3*n,*"),
    "a mask": (lambda x: torch.tril(x @ x.T), "n,n"),
    "by a size": (lambda x: x / x.shape[0] + (x.shape[0] - 1) * 2 - x.sum(0) / (x.shape[0] * 2), "n,*"),
    "a size as elements": (lambda x: torch.full((2, 3), x.shape[0]) + torch.tensor(x.shape[0] * 3), "*"),
    "from a size": (lambda x: torch.arange(x.shape[0], 2 * x.shape[0], dtype=torch.float32), "n"),
    "backwards": (lambda x: torch.arange(x.shape[0] - 1, -1, -1), "n"),
    "reversed": (lambda x: x[torch.arange(x.shape[0] - 1, -1, -1)], "n,*"),
    "picked": (lambda x: x[torch.arange(x.shape[0]), torch.arange(x.shape[0]) % 4], "n"),
    "from the end": (lambda x: x[-torch.arange(1, x.shape[0])], "n-1,*"),
    "the last": (lambda x: x[-1] - x[-2] + x[0], "*"),
    "the last column": (lambda x: x[:, -1], "n"),
    "the last by its place": (lambda x: x[x.shape[0] - 1], "*"),
    "by a root of a size": (lambda x: x * x.shape[0] ** 0.5 + x.shape[0] ** -0.5, "n,*"),
    "by a quotient of sizes": (lambda x: x * (1.0 / x.shape[0]) + x.shape[0] / (2 * x.shape[0] + 1), "n,*"),
    "by an opaque root": (lambda x: x / torch.sym_sqrt(2.0 * torch.sym_float(x.shape[0]) + 1.0), "n,*"),
    "rolled": (lambda x: torch.roll(x, 1, 0) - torch.roll(x, (-2, 1), (0, 1)), "n,*"),
    "medians": (lambda x: x.median(0).values + torch.nanmedian(x, 0).values, "*"),
    "places of medians": (lambda x: (x * 4).int().median(0).indices, "*"),
    "the second least": (lambda x: torch.kthvalue(x, 2, 0).values, "*"),
    "transformed": (
        lambda x: torch.fft.irfft(torch.fft.rfft(x, norm="ortho") * 2) + torch.fft.fft2(x[:, None], dim=(1, 2)).real[:, 0],
        "n,*",
    ),
    "counts of ranges": (lambda x: torch.histc(x, 5, -1, 1), "*"),
    "pooled images": (lambda x: F.max_pool2d(x.reshape(-1, 1, 2, 2).expand(-1, 3, 2, 2), 2, 1, 1), "n,*,*,*"),
    "pooled rows": (lambda x: F.max_pool1d(x.T, 3, 2, 1, return_indices=True)[1], "*,n ceildiv 2"),
    "averages of rows": (lambda x: F.avg_pool1d(x.T, 2, 1) + F.avg_pool1d(x.T, 4, 1, 1), "*,n-1"),
    "averages of images": (lambda x: F.adaptive_avg_pool2d(x.reshape(-1, 1, 2, 2), (1, 2)), "n,*,*,*"),
    "greatest of images": (lambda x: F.adaptive_max_pool2d(x.reshape(-1, 1, 2, 2), (1, 2)), "n,*,*,*"),
    "resized images": (
        lambda x: F.interpolate(x.reshape(-1, 1, 2, 2), scale_factor=2, mode="bilinear"),
        "n,*,*,*",
    ),
    "filled": (lambda x: torch.zeros(x.shape[0], x.shape[0] + 1) + x[:, :1], "n,n+1"),
}


@pytest.mark.parametrize("target", ["numpy", "native"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_sizes_are_expressions_and_values_are_torchs(name: str, target: str):
    function, encoding = FUNCTIONS[name]
    module = imported(function, torch.ones(5, 4), dynamic=({0: N},))
    (func,) = functions(module)
    assert func.function_type.inputs.data[0].encoding.data == "n,*"
    (result,) = func.function_type.outputs.data
    assert getattr(result.encoding, "data", "*") == encoding
    program = compile(module, target=target)
    for n in (3, 4, 8):
        x = torch.randn(n, 4)
        np.testing.assert_allclose(program(x.numpy()), function(x).numpy(), 1e-5, 1e-6)


def test_sizes_derived_from_a_dim_bind_it_and_are_checked():
    module = imported(lambda x, y: (x.sum() + y, y[::2]), torch.ones(4, 3), torch.ones(9), dynamic=({0: B}, {0: 2 * B + 1}))
    (func,) = functions(module)
    assert [t.encoding.data for t in func.function_type.inputs] == ["batch,*", "2*batch+1"]
    assert [t.encoding.data for t in func.function_type.outputs] == ["2*batch+1", "batch+1"]
    program = compile(module, target="numpy")
    assert [r.shape for r in program(np.ones((5, 3), np.float32), np.ones(11, np.float32))] == [(11,), (6,)]
    with pytest.raises(MindError, match=r"E8001.*args_1.*2\*batch\+1"):
        program(np.ones((5, 3), np.float32), np.ones(12, np.float32))


def test_ranges_are_declared_and_checked():
    module = imported(torch.exp, torch.ones(4), dynamic=({0: B},))
    assert declared(module) == ["batch in 3..64"]
    program = compile(module, target="numpy")
    assert program(np.ones(64, np.float32)).shape == (64,)
    for n in (2, 65):
        with pytest.raises(MindError, match=r"E8010.*batch in 3\.\.64"):
            program(np.ones(n, np.float32))


RANGES: dict[tuple[int | None, int | None], list[str]] = {
    (None, None): [],
    (2, None): [],
    (3, None): ["k >= 3"],
    (None, 9): ["k <= 9"],
    (2, 9): ["k <= 9"],
    (4, 9): ["k in 4..9"],
}


@pytest.mark.parametrize("bounds", RANGES, ids=str)
def test_only_bounds_that_say_something_are_declared(bounds: tuple[int | None, int | None]):
    given = {name: n for name, n in zip(("min", "max"), bounds, strict=True) if n is not None}
    assert declared(imported(torch.exp, torch.ones(5), dynamic=({0: Dim("k", **given)},))) == RANGES[bounds]


def test_what_torch_assumed_of_a_size_is_checked_at_the_call():
    program = compile(imported(lambda x: x[:3] * 2, torch.ones(5, 4), dynamic=({0: Dim("n", min=3)},)), target="numpy")
    assert program(np.ones((3, 4), np.float32)).shape == (3, 4)
    with pytest.raises(MindError, match=r"E8010"):
        program(np.ones((2, 4), np.float32))


def test_names_go_to_the_arguments_that_have_them_however_they_are_given():
    rows, columns = Dim("rows"), Dim("columns")

    class Model(torch.nn.Module):
        def forward(self, x: Any, rest: Any) -> Any:
            return x @ rest["w"][0] + rest["b"]

    args = (torch.ones(4, 3), {"w": [torch.ones(3, 5)], "b": torch.ones(5)})
    shapes = [{0: rows}, {"w": [{1: columns}], "b": (columns,)}]
    for dynamic in (tuple(shapes), {"x": shapes[0], "rest": shapes[1]}):
        (func,) = functions(from_torch(Model(), *args, dynamic=dynamic).module)
        encodings = [t.encoding.data for t in func.function_type.inputs]
        assert sorted(encodings) == ["*,columns", "columns", "rows,*"]
        assert func.function_type.outputs.data[0].encoding.data == "rows,columns"


def test_a_program_exported_elsewhere_has_torchs_symbols(tmp_path: Path):
    program = torch.export.export(Function(torch.exp), (torch.ones(4),), dynamic_shapes=(({0: B},),))
    torch.export.save(program, tmp_path / "exp.pt2")
    module, weights = load(tmp_path / "exp.pt2")
    (func,) = functions(module)
    name = func.function_type.inputs.data[0].encoding.data
    assert name.isidentifier()
    assert declared(module) == [f"{name} in 3..64"]
    np.testing.assert_allclose(bind(module, weights)(np.ones(7, np.float32)), np.full(7, np.e), 1e-6)


DIFFERENTIABLE = ["joined", "differences", "padded", "folded", "means", "centred", "normalized", "sorted"]
DIFFERENTIABLE += [
    "by a size",
    "reversed",
    "picked",
    "from the end",
    "the last",
    "pooled images",
    "averages of rows",
    "by a root of a size",
    "rolled",
]


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_derivatives_go_through_sizes_that_are_expressions(name: str):
    function, _ = FUNCTIONS[name]
    module = vjp(imported(lambda x: torch.tanh(function(x)), torch.ones(5, 4), dynamic=({0: N},)))
    gradient = compile(module, "main_grad", target="numpy")
    for n in (3, 6):
        x = torch.randn(n, 4, requires_grad=True)
        value = torch.tanh(function(x))
        seed = torch.randn(value.shape)
        value.backward(seed)
        found = gradient(x.detach().numpy(), seed.numpy())
        np.testing.assert_allclose(found[-1] if isinstance(found, tuple) else found, x.grad.numpy(), 1e-4, 1e-5)


def test_a_number_that_is_no_expression_of_sizes_is_refused():
    with pytest.raises(MindError, match="follows from sizes") as caught:
        imported(lambda x: x * (9 // x.shape[0]), torch.ones(5, 4), dynamic=({0: N},))
    assert caught.value.code == "E8008"


def test_a_size_that_is_data_is_refused_with_all_that_need_it():
    with pytest.raises(MindError) as caught:
        imported(lambda x: torch.nonzero(x), torch.ones(5), dynamic=({0: N},))
    assert caught.value.code in {"E8008", "E7001"}


sympy = pytest.importorskip("sympy", reason="sympy is not installed (make test-all installs it)")
n, m = sympy.symbols("n m", integer=True, nonnegative=True)
EXPRESSIONS = {
    "n": n,
    "7": sympy.Integer(7),
    "2*n+1": 2 * n + 1,
    "m*n": n * m,
    "n*n": n**2,
    "max(n,2)": sympy.Max(n, 2),
    "min(n,2)": sympy.Min(n, 2),
    "m-n": m - n,
}


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_expressions_of_sympy_are_dimensions(text: str):
    from mind_dialect.extents.dims import canonical

    assert dim_of_expression(EXPRESSIONS[text]) == canonical(text)


@pytest.mark.parametrize("e", [n**n, n**100, sympy.sqrt(n), n / 2, sympy.sin(n), sympy.oo, sympy.Symbol("no name"), "n", None])
def test_what_is_no_size_is_unknown(e: Any):
    assert dim_of_expression(e) == "?"


def test_quotients_and_remainders_are_those_of_torch():
    from torch.utils._sympy.functions import FloorDiv, Mod, PythonMod

    for e in (FloorDiv(n + 3, 4), Mod(n, 4), PythonMod(n, 4)):
        dim = dim_of_expression(e)
        assert isinstance(dim, str)
        from mind_dialect.extents import evaluate, parse_extent

        for value in range(30):
            assert evaluate(parse_extent(dim), {"n": value}) == int(e.subs(n, value))
