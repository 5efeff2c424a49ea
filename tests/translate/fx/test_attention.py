"""Attention of PyTorch in grouped, windowed, biased and capped form: values, derivatives, and one op for each."""

from __future__ import annotations

import math
from typing import Any

import pytest

from mind_dialect.dominance import walk
from mind_dialect.ptir import FusionOp
from mind_lowering.outline import drop_barriers
from mind_lowering.ptir_optimize import optimize

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
from torch.nn import functional as F  # noqa: E402, after the skip

from mind_bridges.torch import from_torch  # noqa: E402, after the skip
from torch_rows import Function, Row, check_derivatives, check_values, given, normal  # noqa: E402

PLACES = torch.arange(7)
BAND = (PLACES[:5, None] >= PLACES - 2) & (PLACES[:5, None] - PLACES < 2)
SLOPES = 2.0 ** -torch.arange(1.0, 5.0)


def heads(keys: int = 4) -> tuple[Any, Any, Any]:
    return normal(2, 4, 5, 8), normal(2, keys, 7, 8), normal(2, keys, 7, 6)


def linear_biases(q: Any, k: Any, v: Any) -> Any:
    """ALiBi: a slope for each head."""
    bias = -SLOPES[:, None, None] * (PLACES[:5, None] - PLACES).abs()
    return F.scaled_dot_product_attention(q, k, v, attn_mask=bias)


def capped(q: Any, k: Any, v: Any) -> Any:
    """As Gemma has it, written out."""
    scores = 5 * torch.tanh(q @ k.transpose(-1, -2) / math.sqrt(8) / 5)
    return torch.softmax(scores.masked_fill(~BAND, -math.inf), -1) @ v


ROWS: dict[str, Row] = {
    "plain": (F.scaled_dot_product_attention, heads),
    "causal": (lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=0.5), heads),
    "groups": (lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True), lambda: heads(2)),
    "groups with biases of heads": (
        lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m, enable_gqa=True),
        lambda: (*heads(2), normal(1, 4, 5, 7)),
    ),
    "groups in a window": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, BAND, enable_gqa=True), lambda: heads(2)
    ),
    "window": (lambda q, k, v: F.scaled_dot_product_attention(q, k, v, BAND), heads),
    "linear biases": (linear_biases, heads),
    "capped": (capped, heads),
    "no heads": (F.scaled_dot_product_attention, lambda: (normal(5, 8), normal(7, 8), normal(7, 6))),
}  # fmt: skip


@pytest.mark.parametrize("target", ["numpy", "native"])
@pytest.mark.parametrize("name", ROWS)
def test_values(name: str, target: str) -> None:
    check_values(ROWS[name], target)


@pytest.mark.parametrize("name", ROWS)
def test_derivatives(name: str) -> None:
    check_derivatives(ROWS[name])


@pytest.mark.parametrize("name", ROWS)
def test_each_is_one_op(name: str) -> None:
    row = ROWS[name]
    module, _ = from_torch(Function(row[0]), *given(row))
    drop_barriers(module)
    optimize(module)
    assert [op.values()["pattern"] for op in walk(module) if isinstance(op, FusionOp)].count("attention") == 1
