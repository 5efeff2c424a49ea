"""Rows of ATen ops against PyTorch: values and vector-Jacobian products of each, where special cases lie."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mind_dialect.errors import MindError
from mind_runtime import compile

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
from torch.nn import functional as F  # noqa: E402, after the skip

from mind_bridges.torch import from_torch  # noqa: E402, after the skip
from torch_rows import Function, Inputs, Row, checks_of, normal  # noqa: E402


def ints(*shape: int, low: int = -9, high: int = 10) -> Any:
    return torch.randint(low, high, shape)


SPECIAL = torch.tensor([0.0, -0.0, math.inf, -math.inf, math.nan, 1.5, -2.5, 0.5])
ROWS: dict[str, Row] = {
    "sign of NaN": (torch.sign, lambda: (SPECIAL,)),
    "trunc": (torch.trunc, lambda: (SPECIAL,)),
    "round to even": (torch.round, lambda: (SPECIAL,)),
    "relu of specials": (torch.relu, lambda: (SPECIAL,)),
    "clamp by numbers": (lambda x: torch.clamp(x, -1, 1), lambda: (SPECIAL,)),
    "clamp by a NaN": (torch.clamp, lambda: (normal(3), torch.tensor([math.nan, 0.0, 0.0]), torch.tensor([1.0, math.nan, 1.0]))),
    "maximum of NaN": (torch.maximum, lambda: (SPECIAL, SPECIAL.flip(0))),
    "floor division": (lambda x, y: torch.div(x, y, rounding_mode="floor"), lambda: (ints(40), ints(40, low=1))),
    "floor division by negatives": (lambda x: torch.div(x, -3, rounding_mode="floor"), lambda: (ints(40),)),
    "floor division of floats": (
        lambda x, y: torch.div(x, y, rounding_mode="floor"),
        lambda: (3 * normal(9), SPECIAL[[0, 1, 2, 3, 4, 5, 6, 7, 5]]),
    ),
    "truncated division": (lambda x, y: torch.div(x, y, rounding_mode="trunc"), lambda: (ints(40), ints(40, low=1))),
    "remainder": (torch.remainder, lambda: (ints(40), torch.where(ints(40) > 0, 4, -3))),
    "fmod": (torch.fmod, lambda: (normal(40), normal(40))),
    "integer powers": (torch.pow, lambda: (ints(40), ints(40, low=0, high=7))),
    "negative integer powers": (torch.pow, lambda: (torch.tensor([-1, -1, 1, 2, 5, 0]), torch.tensor([-1, -2, -3, -1, -2, 3]))),
    "sums of truths": (lambda x: (x > 0).sum(), lambda: (normal(20),)),
    "true plus true": (lambda x: (x > 0) + (x < 1), lambda: (normal(20),)),
    "narrowing wraps": (lambda x: x.to(torch.int8), lambda: (torch.tensor([127, 128, -129, 300]),)),
    "comparison promotes": (lambda x: x > 0.5, lambda: (ints(9),)),
    "comparison of truths": (lambda x, y: (x > 0) < (y > 0), lambda: (normal(9), normal(9))),
    "mixed dtypes": (lambda x, y: x * y + 1, lambda: (normal(3), ints(3))),
    "biased variance": (lambda x: x.var((0, 2), correction=0), lambda: (normal(3, 1, 4),)),
    "extremes with ties": (lambda x: (x.amax(0), x.max(0), x.min(1)), lambda: (torch.ones(3, 4),)),
    "argmax of NaN": (lambda x: x.argmax(), lambda: (SPECIAL,)),
    "sorted descending": (lambda x: torch.sort(x, dim=0, descending=True), lambda: (normal(5, 3),)),
    "argsort": (lambda x: torch.argsort(x, dim=0), lambda: (normal(5, 3),)),
    "argsort, stable": (lambda x: torch.argsort(x, dim=0, stable=True), lambda: (torch.arange(24).reshape(8, 3) % 3 * 1.0,)),
    "argsort, stable, descending": (
        lambda x: torch.argsort(x, dim=-1, descending=True, stable=True),
        lambda: (torch.arange(24).reshape(3, 8) % 3 * 1.0,),
    ),
    "index with negatives": (
        lambda x, i, j: x[i, :, j],
        lambda: (normal(4, 3, 5), ints(2, 3, low=-4, high=4), ints(3, low=-5, high=5)),
    ),
    "index beside one another": (
        lambda x, i, j: x[:, i, j],
        lambda: (normal(4, 3, 5), ints(2, 3, low=0, high=3), ints(3, low=0, high=5)),
    ),
    "index put": (lambda x, i, v: x.index_put((i,), v), lambda: (normal(5, 3), torch.tensor([4, -5, 2]), normal(3, 3))),
    "index put added": (
        lambda x, i, v: x.index_put((i,), v, accumulate=True),
        lambda: (normal(5, 3), torch.tensor([1, 1, -1]), normal(3, 3)),
    ),
    "a mask that is written": (lambda x, v: torch.where(x > 0, v, x), lambda: (normal(4, 3), normal(3))),
    "masked fill": (lambda x: x.masked_fill(x > 0, -1.0), lambda: (normal(4, 3),)),
    "masked scatter": (lambda x, v: x.masked_scatter(x > 0, v), lambda: (normal(4, 3), normal(12))),
    "scatter of fewer": (
        lambda x, i, v: x.scatter(1, i, v),
        lambda: (normal(4, 5), torch.tensor([[1, 0], [4, 2]]), normal(2, 2)),
    ),
    "scatter sums of fewer": (
        lambda x, i, v: x.scatter_add(0, i, v),
        lambda: (normal(4, 5), torch.tensor([[1, 0], [1, 2]]), normal(2, 2)),
    ),
    "scatter mean": (
        lambda x, i, v: x.scatter_reduce(0, i, v, "mean", include_self=False),
        lambda: (normal(4), torch.tensor([1, 1, 3]), normal(3)),
    ),
    "gather of fewer": (lambda x, i: x.gather(1, i), lambda: (normal(4, 5), torch.tensor([[1, 1], [4, 2]]))),
    "transposed convolution": (
        lambda x, w, b: F.conv_transpose2d(x, w, b, stride=2, padding=1, output_padding=1, groups=2, dilation=2),
        lambda: (normal(2, 4, 5, 6), normal(4, 3, 3, 3), normal(6)),
    ),
    "convolution of one axis": (
        lambda x, w: F.conv1d(x, w, stride=2, padding=3, dilation=2),
        lambda: (normal(2, 3, 9), normal(4, 3, 3)),
    ),
    "maximum of ties in windows": (lambda x: F.max_pool2d(x, 3, 2, 1, ceil_mode=True), lambda: (torch.ones(1, 2, 6, 6),)),
    "indices of a pool": (lambda x: F.max_pool2d(x, 2, return_indices=True), lambda: (normal(2, 3, 6, 4),)),
    "averages without padding": (lambda x: F.avg_pool2d(x, 3, 2, 1, True, False), lambda: (normal(1, 2, 6, 6),)),
    "averages by a divisor": (lambda x: F.avg_pool2d(x, 2, divisor_override=3), lambda: (normal(1, 2, 6, 6),)),
    "uneven adaptive averages": (lambda x: F.adaptive_avg_pool2d(x, (3, 4)), lambda: (normal(1, 2, 7, 6),)),
    "bilinear": (lambda x: F.interpolate(x, scale_factor=1.7, mode="bilinear"), lambda: (normal(1, 2, 5, 6),)),
    "bilinear at corners": (
        lambda x: F.interpolate(x, (7, 3), mode="bilinear", align_corners=True),
        lambda: (normal(1, 2, 5, 6),),
    ),
    "nearest": (lambda x: F.interpolate(x, (7, 3)), lambda: (normal(1, 2, 5, 6),)),
    "reflected padding": (lambda x: F.pad(x, (2, 1, 0, 3), mode="reflect"), lambda: (normal(1, 2, 5, 6),)),
    "padding that cuts": (lambda x: F.pad(x, (-1, 2, 3, -2), value=1.5), lambda: (normal(2, 5, 6),)),
    "folded patches": (lambda x: F.fold(x, (4, 5), (2, 3), stride=2, padding=1), lambda: (normal(2, 12, 9),)),
    "attention of groups": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True),
        lambda: (normal(2, 4, 5, 8), normal(2, 2, 5, 8), normal(2, 2, 5, 8)),
    ),
    "attention of which rows are masked": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, torch.tensor([[True, False], [False, False]])),
        lambda: (normal(1, 2, 4), normal(1, 2, 4), normal(1, 2, 4)),
    ),
    "product of vectors and stacks": (lambda x, y: (x @ y, y @ x[:3]), lambda: (normal(4), normal(2, 4, 3))),
    "stacks that broadcast": (torch.matmul, lambda: (normal(2, 1, 3, 4), normal(5, 4, 2))),
    "distances": (torch.cdist, lambda: (normal(2, 3, 4), normal(2, 5, 4))),
    "a Fourier transform and back": (
        lambda x: torch.fft.irfft2(torch.fft.rfft2(x, norm="ortho") * 2, x.shape),
        lambda: (normal(4, 7),),
    ),
    "group norm": (lambda x, w: F.group_norm(x, 2, w), lambda: (normal(2, 4, 3), normal(4))),
    "log softmax": (lambda x: F.log_softmax(100 * x, 0), lambda: (normal(5, 3),)),
    "strides": (lambda x: torch.as_strided(x, (2, 3), (1, 2), 1), lambda: (normal(4, 3),)),
    "diagonals": (lambda x: torch.diagonal(x, 1, 0, 2), lambda: (normal(3, 2, 5),)),
    "parts that are written by steps": (lambda x, y: torch.slice_scatter(x, y, 1, 1, 6, 2), lambda: (normal(2, 6), normal(2, 3))),
    "detached": (lambda x, y: x.detach() * y + (x.round() - x).detach() + x, lambda: (normal(4), normal(4))),
    "detached integers": (lambda x: x.detach() + 1, lambda: (ints(4),)),
    "a whole range from floats": (lambda x: x + torch.arange(-1.5, 5.5, 1.5, dtype=torch.int64), lambda: (normal(6),)),
    "a range of floats": (lambda x: x + torch.arange(0.5, 2.0, 0.25), lambda: (normal(6),)),
}
test_values, test_most_rows_have_derivatives, test_derivatives = checks_of(ROWS, 35)


REFUSED: dict[str, tuple[Callable[..., Any], Callable[[], Inputs], str]] = {
    "nonzero": (torch.nonzero, lambda: (normal(3),), "nonzero|data"),
    "a sum of truths by index": (
        lambda x, i, v: x.scatter_reduce(0, i, v, "sum"),
        lambda: (normal(4) > 0, torch.tensor([1, 3]), normal(2) > 0),
        "booleans by index",
    ),
    "strides of a transpose": (lambda x: torch.as_strided(x.T, (2, 2), (1, 1)), lambda: (normal(2, 3),), "not contiguous"),
    "a row that is missing": (
        torch.igamma,
        lambda: (normal(2), normal(2)),
        "igamma.default, at .*: an op without an import rule",
    ),
    "a mask that selects": (torch.masked_select, lambda: (normal(3), normal(3) > 0), "size depends on data|data"),
    "unique elements": (torch.unique, lambda: (normal(3),), "size depends on data|data"),
    "random integers": (lambda x: x + torch.randint(3, (2,)), lambda: (normal(2),), "no other library reproduces"),
    "an LU decomposition without pivots": (lambda x: torch.linalg.lu(x, pivot=False), lambda: (normal(3, 3),), "without pivots"),
    "buckets by a size that is data": (
        lambda x, b: torch.bucketize(x, b[b > 0]),
        lambda: (normal(3), torch.tensor([0.0, 1.0])),
        "torch cannot|data",
    ),
    "a logarithm of sums of complex numbers": (
        lambda x: torch.logcumsumexp(x, 0),
        lambda: (torch.complex(normal(3), normal(3)),),
        "logcumsumexp of cf32",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_state_a_reason(name: str) -> None:
    function, arguments, reason = REFUSED[name]
    with pytest.raises(MindError, match=reason) as caught:
        from_torch(Function(function), *arguments())
    assert caught.value.code in ("E8008", "E7001")


@pytest.mark.parametrize("target", ["numpy", "native"])
def test_an_index_out_of_range_is_an_error(target: str) -> None:
    module, _ = from_torch(Function(lambda x, i: x[i]), normal(3), torch.tensor([0, 1]))
    with pytest.raises(MindError) as caught:
        compile(module, target=target)(np.ones(3, np.float32), np.array([0, 3]))
    assert caught.value.code == "E6001"
