"""The derivative table beside JAX and PyTorch: the same op, the same cotangent, the same adjoints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from derivative_rows import ROWS
from gradcheck import Row, as_tuple
from mind_dialect import core
from mind_dialect.shapes import conv2d_pads, reduced_axes
from mind_passes.autodiff import GradientOptions, differentiate
from mind_passes.derivatives.core import RULES
from mind_runtime import compile

Forward = Callable[..., Any]


def slices(p: dict[str, Any], shape: tuple[int, ...]) -> tuple[slice, ...]:
    return tuple(slice(s, e, t) for s, e, t in zip(p["starts"], p["ends"], p["steps"], strict=True))


def scattered(p: dict[str, Any], counts: tuple[int, ...]) -> tuple[slice, ...]:
    steps = zip(p["starts"], counts, p["steps"], strict=True)
    return tuple(slice(s, s + (n - 1) * t + 1 if n else s, t) for s, n, t in steps)


def axes_of(p: dict[str, Any], rank: int) -> tuple[int, ...]:
    return tuple(sorted(a % rank for a in p["axes"]))


def keep(p: dict[str, Any]) -> bool:
    return bool(p["keepdims"] and p["axes"])


def jax_forwards() -> dict[type[core.CoreOp], Forward]:
    """Each op in the oracle's own terms, from `(properties, *operands)`."""
    import jax
    import jax.numpy as jnp

    def conv(p: dict[str, Any], x: Any, w: Any) -> Any:
        pads = conv2d_pads(x.shape, w.shape, **p)
        return jax.lax.conv_general_dilated(x, w, p["strides"], pads, dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def reduction(function: Any) -> Forward:
        return lambda p, x: function(x, axis=reduced_axes(x.shape, p["axes"]), keepdims=keep(p))

    window = ("strides", "padding")
    return {
        core.AddOp: lambda p, a, b: a + b,
        core.SubOp: lambda p, a, b: a - b,
        core.MulOp: lambda p, a, b: a * b,
        core.DivOp: lambda p, a, b: a / b,
        core.SumOp: reduction(jnp.sum),
        core.MeanOp: reduction(jnp.mean),
        core.ReshapeOp: lambda p, x: x.reshape(p["new_shape"]),
        core.TransposeOp: lambda p, x: x.transpose(p["permutation"]),
        core.ExpandDimsOp: lambda p, x: jnp.expand_dims(x, axes_of(p, x.ndim + len(p["axes"]))),
        core.SqueezeOp: lambda p, x: jnp.squeeze(x, axes_of(p, x.ndim)),
        core.IndexOp: lambda p, x: x[tuple(p["indices"])],
        core.SliceOp: lambda p, x: x[slices(p, x.shape)],
        core.GatherOp: lambda p, x, i: x[i],
        core.DotOp: lambda p, a, b: a @ b,
        core.MatMulOp: lambda p, a, b: a @ b,
        core.Conv2dOp: conv,
        core.ReluOp: lambda p, x: jnp.where(x > 0, x, 0),
        core.NegOp: lambda p, x: -x,
        core.ExpOp: lambda p, x: jnp.exp(x),
        core.LogOp: lambda p, x: jnp.log(x),
        core.ReluGradOp: lambda p, g, x: jnp.where(x > 0, g, 0),
        core.ReciprocalOp: lambda p, x: 1 / x,
        core.BroadcastToOp: lambda p, x: jnp.broadcast_to(x, p["shape"]),
        core.ScatterAddOp: lambda p, i, u: jnp.zeros(p["shape"], u.dtype).at[i].add(u),
        core.SliceScatterOp: lambda p, u: jnp.zeros(p["shape"], u.dtype).at[scattered(p, u.shape)].set(u),
        core.IndexScatterOp: lambda p, u: jnp.zeros(p["shape"], u.dtype).at[tuple(p["indices"])].set(u),
        core.Conv2dBackwardInputOp: lambda p, g, w: jax.vjp(
            lambda x: conv({k: p[k] for k in window}, x, w), jnp.zeros(p["shape"], g.dtype)
        )[1](g)[0],
        core.Conv2dBackwardFilterOp: lambda p, x, g: jax.vjp(
            lambda w: conv({k: p[k] for k in window}, x, w), jnp.zeros(p["shape"], g.dtype)
        )[1](g)[0],
    }


def torch_forwards() -> dict[type[core.CoreOp], Forward]:
    """The ops for which PyTorch has one of the same meaning."""
    import torch

    def conv(p: dict[str, Any], x: Any, w: Any) -> Any:
        (top, bottom), (left, right) = conv2d_pads(tuple(x.shape), tuple(w.shape), **p)
        padded = torch.nn.functional.pad(x.permute(0, 3, 1, 2), (left, right, top, bottom)).contiguous()
        return torch.nn.functional.conv2d(padded, w.permute(3, 2, 0, 1).contiguous(), stride=p["strides"]).permute(0, 2, 3, 1)

    def reduction(function: Any) -> Forward:
        return lambda p, x: function(x, dim=reduced_axes(tuple(x.shape), p["axes"]), keepdim=keep(p)) if x.ndim else x * 1

    return {
        core.AddOp: lambda p, a, b: a + b,
        core.SubOp: lambda p, a, b: a - b,
        core.MulOp: lambda p, a, b: a * b,
        core.DivOp: lambda p, a, b: a / b,
        core.SumOp: reduction(torch.sum),
        core.MeanOp: reduction(torch.mean),
        core.ReshapeOp: lambda p, x: x.reshape(p["new_shape"]),
        core.TransposeOp: lambda p, x: x.permute(p["permutation"]),
        core.IndexOp: lambda p, x: x[tuple(p["indices"])] if x.ndim else x * 1,
        core.SliceOp: lambda p, x: x[slices(p, tuple(x.shape))],
        core.GatherOp: lambda p, x, i: x[i],
        core.DotOp: lambda p, a, b: a @ b,
        core.MatMulOp: lambda p, a, b: a @ b,
        core.Conv2dOp: conv,
        core.ReluOp: lambda p, x: torch.relu(x),
        core.NegOp: lambda p, x: -x,
        core.ExpOp: lambda p, x: torch.exp(x),
        core.LogOp: lambda p, x: torch.log(x),
        core.ReciprocalOp: lambda p, x: torch.reciprocal(x),
        core.BroadcastToOp: lambda p, x: x.expand(p["shape"]),
    }


def ours(row: Row, arguments: list[np.ndarray], g: np.ndarray) -> list[np.ndarray]:
    """The adjoints of the floating-point operands by our pass."""
    gradient = differentiate(row.module(), "f", GradientOptions(seed="cotangent", keep_primal=False, div_gradient=True))
    return list(as_tuple(compile(gradient.module, "f_grad")(*arguments, g)))


def case(row: Row) -> tuple[list[np.ndarray], np.ndarray]:
    arguments = row.arguments(np.random.default_rng(3))
    y = compile(row.module(), "f")(*arguments)
    return arguments, np.random.default_rng(5).standard_normal(y.shape)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_adjoints_are_those_of_jax(row: Row):
    jax = pytest.importorskip("jax", reason="the oracle JAX is not installed")
    with jax.enable_x64(True):
        forward = jax_forwards()[row.op]
        arguments, g = case(row)
        floats = [i for i, x in enumerate(arguments) if x.dtype == np.float64]

        def function(*values: Any) -> Any:
            given = dict(zip(floats, values, strict=True))
            return forward(row.properties, *(given.get(i, x) for i, x in enumerate(arguments)))

        _, pull_back = jax.vjp(function, *(jax.numpy.asarray(arguments[i]) for i in floats))
        expected = pull_back(jax.numpy.asarray(g))
        for found, wanted in zip(ours(row, arguments, g), expected, strict=True):
            np.testing.assert_allclose(found, np.asarray(wanted), rtol=1e-12, atol=1e-12)


def test_jax_covers_the_table():
    pytest.importorskip("jax", reason="the oracle JAX is not installed")
    assert [op.OPCODE for op, rules in RULES.items() if any(rules) and op not in jax_forwards()] == []


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_adjoints_are_those_of_pytorch(row: Row):
    torch = pytest.importorskip("torch", reason="the oracle PyTorch is not installed")
    if (forward := torch_forwards().get(row.op)) is None:
        pytest.skip(f"PyTorch has no op like {row.op.OPCODE}")
    arguments, g = case(row)
    tensors = [torch.tensor(x, requires_grad=x.dtype == np.float64) for x in arguments]
    forward(row.properties, *tensors).backward(torch.tensor(g))
    expected = [t.grad.numpy() for t in tensors if t.requires_grad]
    for found, wanted in zip(ours(row, arguments, g), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)
