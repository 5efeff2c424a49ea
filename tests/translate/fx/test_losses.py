"""Rows of losses against PyTorch: cross-entropies of classes and of probabilities, also where they are 0 or 1."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mind_dialect.errors import MindError
from mind_passes.functional import hessian_vector_product
from mind_runtime import compile

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
from torch.nn import functional as F  # noqa: E402, after the skip

from mind_bridges.torch import from_torch  # noqa: E402, after the skip
from torch_rows import Function, Row, checks_of, given, normal, products  # noqa: E402, after the skip

CERTAIN = torch.tensor([0.0, 1.0, 0.0, 1.0, 0.3, 1e-30])
TARGETS = torch.tensor([0.0, 1.0, 1.0, 0.0, 0.2, 0.5])


def entropy(reduction: str) -> Any:
    return lambda x, t: F.binary_cross_entropy(x, t.detach(), reduction=reduction)


def classes(**options: Any) -> Any:
    return lambda x, t: F.cross_entropy(x, t, **options)


ROWS: dict[str, Row] = {
    **{f"certain probabilities, {r}": (entropy(r), lambda: (CERTAIN, TARGETS)) for r in ("none", "mean", "sum")},
    **{f"a saturated sigmoid, {r}": (saturated, lambda: (100 * normal(9), torch.rand(9))) for r, saturated in (
        ("mean", lambda x, t: F.binary_cross_entropy(x.sigmoid(), t.detach())),
        ("none", lambda x, t: F.binary_cross_entropy(x.sigmoid(), t.detach(), reduction="none")),
    )},
    "weighted probabilities": (
        lambda x, t, w: F.binary_cross_entropy(x, t, w.detach()),
        lambda: (0.1 + 0.8 * torch.rand(3, 4), torch.rand(3, 4), torch.rand(4)),
    ),
    "a number": (entropy("mean"), lambda: (torch.tensor(0.3), torch.tensor(1.0))),
    "in f64": (entropy("sum"), lambda: (CERTAIN.double(), TARGETS.double())),
    **{
        f"classes, smoothed by {smoothing}, {r}, ignoring {ignored}": (
            classes(label_smoothing=smoothing, reduction=r, ignore_index=ignored),
            lambda ignored=ignored: (normal(2, 5, 3), torch.tensor([[0, 2, ignored], [4, ignored, 1]])),
        )
        for smoothing in (0.0, 0.1)
        for r in ("none", "mean", "sum")
        for ignored in (-100, 3)
    },
    "probabilities of classes": (classes(label_smoothing=0.1), lambda: (normal(4, 5), torch.softmax(normal(4, 5), 1))),
    "a leaky slope between bounds": (lambda x: F.rrelu(x, 0.2, 0.6), lambda: (normal(9),)),
}  # fmt: skip
test_values, test_most_rows_have_derivatives, test_derivatives = checks_of(ROWS, 20)


def test_second_derivatives_are_those_of_the_formula() -> None:
    x, t = torch.tensor([0.2, 0.7], dtype=torch.float64), torch.tensor([0.4, 1.0], dtype=torch.float64)
    module, _ = from_torch(Function(lambda x, t: F.binary_cross_entropy(x, t, reduction="sum")), x, t)
    hessian = hessian_vector_product(module, wrt=[0])
    ones = np.ones(2)
    found = compile(hessian, "main_hvp")(x.numpy(), t.numpy(), ones)
    expected = t / x**2 + (1 - t) / (1 - x) ** 2
    np.testing.assert_allclose(found, expected.numpy(), 1e-12)


def test_targets_have_finite_derivatives() -> None:
    arguments = given((entropy("sum"), lambda: (CERTAIN, TARGETS)))
    (found,) = products(lambda x, t: F.binary_cross_entropy(x, t, reduction="sum"), arguments, [1], [torch.tensor(1.0)])
    assert np.isfinite(found).all()


def test_random_slopes_are_refused() -> None:
    with pytest.raises(MindError, match="rrelu in training mode, whose random numbers") as caught:
        from_torch(Function(lambda x: F.rrelu(x, training=True)), torch.ones(3))
    assert caught.value.code == "E8008"
