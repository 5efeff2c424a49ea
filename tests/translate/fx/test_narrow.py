"""Narrow weights, experts and fake quantisation, against PyTorch: values and derivatives."""

from __future__ import annotations

import importlib
import importlib.util
import itertools
from typing import Any

import numpy as np
import pytest

from mind_dialect.dominance import walk
from mind_dialect.ptir import RaggedDotOp

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from mind_bridges.torch import from_torch  # noqa: E402, after the skip
from torch_rows import Function, Row, check_derivatives, check_values, given, normal, products, run  # noqa: E402

NARROW = torch.bfloat16


def integers(*shape: int) -> Any:
    return torch.randint(-128, 128, shape, dtype=torch.int8)


def ends(*numbers: int) -> Any:
    return torch.tensor(numbers, dtype=torch.int32)


def small(*shape: int) -> Any:
    """Whole numbers, whose products have few digits, so that bf16 rounds every order of a sum alike."""
    return torch.randint(-2, 3, shape).to(NARROW)


FAKE: dict[str, Row] = {
    "per tensor": (lambda x: torch.fake_quantize_per_tensor_affine(x, 0.02, 3, -128, 127), lambda: (3 * normal(5, 7),)),
    "unsigned": (lambda x: torch.fake_quantize_per_tensor_affine(x, 0.05, 100, 0, 255), lambda: (9 * normal(40),)),
    "by tensors": (
        lambda x, s, z: torch.fake_quantize_per_tensor_affine(x, s.detach(), z, 0, 15),
        lambda: (3 * normal(30), torch.tensor(0.3), torch.tensor(7, dtype=torch.int32)),
    ),
    "per channel": (
        lambda x, s, z: torch.fake_quantize_per_channel_affine(x, s.detach(), z, 1, -8, 7),
        lambda: (3 * normal(4, 3), torch.tensor([0.1, 0.5, 1.0]), torch.tensor([0, 2, -3], dtype=torch.int32)),
    ),
}
PRODUCTS: dict[str, Row] = {
    "8-bit integers": (torch._int_mm, lambda: (integers(32, 16), integers(16, 8))),
    "8-bit weights": (
        torch.ops.aten._weight_int8pack_mm, lambda: (normal(32, 16), integers(8, 16), normal(8).abs() / 100)
    ),
    "8-bit floats": (
        lambda x, y: torch._scaled_mm(
            x.to(torch.float8_e4m3fn), y.to(torch.float8_e4m3fn).t(), torch.tensor(2.0), torch.tensor(0.5),
            out_dtype=torch.float32,
        ),
        lambda: (normal(32, 16), normal(16, 16)),
    ),
    "groups of rows": (torch._grouped_mm, lambda: (small(16, 8), small(3, 8, 16), ends(4, 4, 16))),
    "groups of what is summed": (torch._grouped_mm, lambda: (small(16, 16), small(16, 8), ends(0, 8, 16))),
    "groups of columns": (torch._grouped_mm, lambda: (small(3, 16, 8), small(8, 16), ends(0, 8, 16))),
    "a stack": (torch._grouped_mm, lambda: (small(3, 16, 8), small(3, 8, 16))),
}  # fmt: skip
GROUPED = [name for name in PRODUCTS if name.startswith("groups")]


@pytest.mark.parametrize("target", ["numpy", "native"])
@pytest.mark.parametrize("name", [*FAKE, *PRODUCTS])
def test_values(name: str, target: str) -> None:
    check_values((FAKE | PRODUCTS)[name], target)


@pytest.mark.parametrize("name", FAKE)
def test_derivatives_pass_straight_through_where_nothing_saturates(name: str) -> None:
    check_derivatives(FAKE[name])
    row = FAKE[name]
    arguments = given(row)
    (found,) = products(row[0], arguments, [0], [torch.ones_like(arguments[0])])
    assert set(np.unique(found)) == {0.0, 1.0}


@pytest.mark.parametrize("name", GROUPED)
def test_derivatives_of_groups(name: str) -> None:
    """Against torch's own; its kernels and ours sum whole numbers, exactly."""
    function, make = PRODUCTS[name]
    torch.manual_seed(1)
    arguments = [x.requires_grad_(x.dtype is NARROW) for x in make()]
    result = function(*arguments)
    cotangent = small(*result.shape)
    expected = torch.autograd.grad(result, arguments[:2], cotangent)
    found = products(function, [x.detach() for x in arguments], [0, 1], [cotangent])
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours.astype(np.float32), theirs.float())


@pytest.mark.parametrize("name", GROUPED)
def test_groups_are_one_op(name: str) -> None:
    row = PRODUCTS[name]
    module, _ = from_torch(Function(row[0]), *given(row))
    assert sum(isinstance(op, RaggedDotOp) for op in walk(module)) == 1


def by_parts(x: Any, weight: Any, ends: Any) -> Any:
    """What the op of `transformers` for experts computes, each by itself."""
    bounds = [0, *ends.tolist()]
    return torch.cat([x[a:b] @ weight[i] for i, (a, b) in enumerate(itertools.pairwise(bounds))])


def adjoints_by_parts(x: Any, weight: Any, ends: Any, g: Any) -> Any:
    """The adjoints of `by_parts`."""
    moving = [v.detach().requires_grad_() for v in (x, weight)]
    with torch.enable_grad():
        return torch.autograd.grad(by_parts(*moving, ends), moving, g)


def op_of_transformers(name: str) -> Any:
    """An op of `transformers` that has a row; a stand-in of the same name and types where the package is not installed."""
    if importlib.util.find_spec("transformers"):
        importlib.import_module("transformers.integrations.moe")
    elif not hasattr(torch.ops.transformers, name):
        function, types = {
            "grouped_mm_fallback": (by_parts, "(Tensor input, Tensor weight, Tensor offs) -> Tensor"),
            "grouped_mm_fallback_backward": (
                adjoints_by_parts, "(Tensor input, Tensor weight, Tensor offs, Tensor g) -> (Tensor, Tensor)"
            ),
        }[name]  # fmt: skip
        op = torch.library.custom_op(f"transformers::{name}", function, mutates_args=(), schema=types)
        op.register_fake(
            lambda x, w, ends, *g: tuple(map(torch.empty_like, (x, w))) if g else x.new_empty(x.shape[0], w.shape[2])
        )
    return getattr(torch.ops.transformers, name)


@pytest.mark.parametrize("target", ["numpy", "native"])
def test_experts_of_transformers(target: str) -> None:
    """The first expert has two rows, the second none."""
    torch.manual_seed(1)
    x, weight, bounds, g = normal(7, 4), normal(3, 4, 5), ends(2, 2, 7), normal(7, 5)
    forward, backward = op_of_transformers("grouped_mm_fallback"), op_of_transformers("grouped_mm_fallback_backward")
    (found,) = run(forward, (x, weight, bounds), target)
    np.testing.assert_allclose(found, by_parts(x, weight, bounds), 1e-5, 1e-5)
    expected = adjoints_by_parts(x, weight, bounds, g)
    for adjoints in (products(forward, [x, weight, bounds], [0, 1], [g]), run(backward, (x, weight, bounds, g), target)):
        for ours, theirs in zip(adjoints, expected, strict=True):
            np.testing.assert_allclose(ours, theirs, 1e-5, 1e-5)
