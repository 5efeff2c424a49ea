"""Rows of ops beyond core ATen against PyTorch: running extremes, norms, sign bits, adaptive pools, volumes, and others."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from mind_dialect.errors import MindError
from mind_runtime import bind

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
from torch.nn import functional as F  # noqa: E402, after the skip

from mind_bridges.torch import from_torch  # noqa: E402, after the skip
from torch_rows import Function, Row, checks_of, given, normal, outputs, run  # noqa: E402

INF, NAN = math.inf, math.nan
SPECIAL = torch.tensor([0.0, -0.0, INF, -INF, NAN, 1.5, -2.5, 0.5])
TIED = torch.tensor([[2.0, 1.0, 2.0, 3.0, 3.0, 0.0], [-1.0, -INF, NAN, 5.0, NAN, 1.0]])


def pairs() -> tuple[Any, Any]:
    """All pairs of special numbers."""
    return SPECIAL.repeat_interleave(len(SPECIAL)), SPECIAL.repeat(len(SPECIAL))


def at_zero(pole: float) -> tuple[Any, Any]:
    """Factors 0 of logarithms at their pole and near it."""
    return torch.tensor([0.0, -0.0, 0.0, 2.0]), torch.tensor([pole, 3.0, 0.5, 2.0])


def vector_norm(p: float, dims: Any = None, keep: bool = False) -> Any:
    return lambda x: torch.linalg.vector_norm(x, p, dims, keep)


def sampled(mode: str, padding: str, align: bool) -> Any:
    return lambda x, g: F.grid_sample(x, g, mode, padding, align)


ROWS: dict[str, Row] = {
    "fmax of specials": (torch.fmax, pairs),
    "fmin of specials": (torch.fmin, pairs),
    "fmax of ties": (torch.fmax, lambda: (torch.ones(3), torch.tensor([1.0, 2.0, 0.0]))),
    "fmin of integers and floats": (torch.fmin, lambda: (torch.tensor([1, 5]), torch.tensor([2.5, NAN]))),
    "fmax of truths": (lambda x, y: torch.fmax(x > 0, y > 0), lambda: (normal(9), normal(9))),
    "sign bits": (torch.signbit, lambda: (torch.cat([SPECIAL, -SPECIAL]),)),
    "sign bits of integers": (torch.signbit, lambda: (torch.tensor([0, -1, 1]),)),
    "sign bits of bf16": (torch.signbit, lambda: (torch.tensor([-0.0, 0.0, 2.0, -3.0], dtype=torch.bfloat16),)),
    "neighbours of specials": (torch.nextafter, pairs),
    "neighbours": (torch.nextafter, lambda: (torch.tensor([1.0, 2.0, -3.0, 0.5]), torch.tensor([2.0, -1.0, INF, -1.0]))),
    "neighbours that move": (torch.nextafter, lambda: (normal(9), normal(9))),
    **{
        f"norm {p} along {dims}": (vector_norm(p, dims, dims == 1), lambda: (normal(3, 4, 2),))
        for p in (0, 0.5, 1, 2, 3, INF, -INF, -1)
        for dims in (None, 1, (0, 2))
    },
    "norms of zeros": (lambda x: (vector_norm(2)(x), vector_norm(3, 0)(x), vector_norm(1)(x)), lambda: (torch.zeros(3, 2),)),
    "negative norms of zeros": (vector_norm(-2.0), lambda: (torch.tensor([0.0, 1.0]),)),
    "any and all of nothing": (
        lambda x: (x.any(), x.all(), x.any(0), x.all(0), (x > 0).any(), (x > 0).all(1)),
        lambda: (torch.zeros(0, 2),),
    ),
    "xlogy at 0": (lambda x, y: torch.xlogy(x, y.detach()), lambda: at_zero(0.0)),
    "xlog1py at 0": (lambda x, y: torch.special.xlog1py(x, y.detach()), lambda: at_zero(-1.0)),
    "xlogy": (torch.xlogy, lambda: (normal(5), torch.rand(5))),
    "xlogy of specials": (lambda x, y: torch.xlogy(x, y).detach(), pairs),
    "xlog1py of specials": (lambda x, y: torch.special.xlog1py(x, y).detach(), pairs),
    "xlogy with numbers": (lambda x: (torch.xlogy(x, 2), torch.xlogy(3, x)), lambda: (torch.rand(5),)),
    "xlogy of integers": (lambda x: torch.xlogy(x, 2), lambda: (torch.tensor([0, 2]),)),
    "whole quotients by 0": (
        lambda x, y: torch.div(x, y, rounding_mode="floor"),
        lambda: (torch.tensor([-7.0, 7.0, -1.0]), torch.tensor([2.0, 0.0, 0.0])),
    ),
    "powers of 0": (lambda x: (x**0).detach(), lambda: (SPECIAL,)),
    "the derivative of powers of 0": (lambda x: x**0, lambda: (torch.tensor([0.0, -2.0]),)),
    "conjugates": (lambda x: (x.conj(), x @ x.mH, x.conj().imag), lambda: (torch.complex(normal(2, 3), normal(2, 3)),)),
    "norms of nothing": (vector_norm(2, 0), lambda: (torch.zeros(0, 2),)),
    "norms of specials": (lambda x: [vector_norm(p)(x) for p in (0, 0.5, 1, 2, 3, INF, -INF)], lambda: (SPECIAL,)),
    "norms of infinities": (lambda x: [vector_norm(p)(x) for p in (0.5, 1, 2, 3)], lambda: (torch.tensor([INF, 1.0, 0.0]),)),
    "the norm of a number": (vector_norm(2), lambda: (torch.tensor(-3.0),)),
    "norms in f64": (lambda x: torch.linalg.vector_norm(x, 2, dtype=torch.float64), lambda: (normal(5),)),
    "norms of f16": (vector_norm(2), lambda: (300 * torch.ones(9, dtype=torch.float16),)),
    "norms of complex numbers": (vector_norm(3), lambda: (torch.complex(normal(5), normal(5)),)),
    "distances of NaN": (
        lambda x, y: [torch.cdist(x, y, p) for p in (0.5, 1.0, 2.0, 3.0)],
        lambda: (SPECIAL[4:6, None], normal(3, 1)),
    ),
    "differences of p": (lambda x, y: torch.dist(x, y, 3), lambda: (normal(5), normal(5))),
    "variance and mean": (lambda x: torch.var_mean(x, (0, 2), correction=2, keepdim=True), lambda: (normal(3, 2, 4),)),
    "variance and mean of all": (lambda x: torch.var_mean(x, unbiased=False), lambda: (normal(3, 4),)),
    "running maxima": (lambda x: torch.cummax(x, 1), lambda: (TIED,)),
    "running minima": (lambda x: torch.cummin(x, 1), lambda: (TIED,)),
    "running maxima that move": (lambda x: torch.cummax(x, 0), lambda: (normal(7, 3),)),
    "running minima of integers": (lambda x: torch.cummin(x, -1), lambda: (torch.tensor([[3, 1, 1, 2, 0]]),)),
    "running maxima of truths": (lambda x: torch.cummax(x > 0, 0), lambda: (normal(7),)),
    "the running maximum of a number": (lambda x: torch.cummax(x, 0), lambda: (torch.tensor(2.0),)),
    "running maxima of nothing": (lambda x: torch.cummax(x, 1), lambda: (torch.zeros(2, 0),)),
    "running sums of exponentials": (lambda x: torch.logcumsumexp(x, 1), lambda: (normal(3, 9).double(),)),
    "running sums of a wide range": (
        lambda x: torch.logcumsumexp(x, 0),
        lambda: (torch.tensor([-1000.0, 0.0, 1000.0, 999.0, -2000.0]),),
    ),
    "running sums of infinities": (
        lambda x: torch.logcumsumexp(x, 1),
        lambda: (torch.tensor([[-INF, -INF, 0.0, 1.0], [1.0, INF, INF, -INF], [0.0, NAN, 1.0, INF]]),),
    ),
    "the most frequent": (
        lambda x: torch.mode(x, 1),
        lambda: (torch.tensor([[3.0, 1, 3, 1, 2], [5, 4, 3, 2, 1], [0, 7, 7, 7, 0]]),),
    ),
    "the most frequent integers": (lambda x: torch.mode(x, 0, True), lambda: (torch.tensor([[3, 1], [1, 1], [3, 0]]),)),
    "the most frequent of one": (lambda x: torch.mode(x, 0), lambda: (normal(1, 3),)),
    "a diagonal that is written": (lambda x, y: torch.diagonal_scatter(x, y, 1, 0, 2), lambda: (normal(3, 2, 5), normal(2, 3))),
    "a diagonal below": (lambda x, y: torch.diagonal_scatter(x, y, -2), lambda: (normal(5, 4), normal(3))),
    "a diagonal outside": (lambda x, y: torch.diagonal_scatter(x, y, 4), lambda: (normal(5, 4), normal(0))),
    "sliding windows": (lambda x: x.unfold(1, 3, 2), lambda: (normal(2, 8, 3),)),
    "sliding windows of a transpose": (lambda x: x.T.unfold(0, 2, 1), lambda: (normal(4, 5),)),
    "uneven adaptive maxima": (lambda x: F.adaptive_max_pool2d(x, (3, 4), return_indices=True), lambda: (normal(2, 3, 7, 6),)),
    "adaptive maxima of ties": (lambda x: F.adaptive_max_pool2d(x, (3, 2), return_indices=True), lambda: (torch.ones(1, 7, 5),)),
    "adaptive maxima of volumes": (lambda x: F.adaptive_max_pool3d(x, (2, 3, 1)), lambda: (normal(1, 2, 5, 4, 3),)),
    "adaptive maxima of lines": (lambda x: F.adaptive_max_pool1d(x, 3, return_indices=True), lambda: (normal(2, 8),)),
    **{
        f"smooth {mode} resize to {size}": (
            lambda x, mode=mode, size=size, align=align: F.interpolate(x, size, None, mode, align, antialias=True),
            lambda: (normal(1, 2, 9, 6),),
        )
        for mode in ("bilinear", "bicubic")
        for size, align in (((4, 3), False), ((13, 2), False), ((5, 4), True))
    },
    **{
        f"volumes by {mode}, {padding}, {align}": (
            sampled(mode, padding, align),
            lambda: (normal(2, 3, 4, 2, 3), 1.5 * normal(2, 3, 2, 4, 3)),
        )
        for mode in ("bilinear", "nearest")
        for padding in ("zeros", "border", "reflection")
        for align in (False, True)
    },
    "volumes at NaN": (
        sampled("bilinear", "zeros", False),
        lambda: (normal(1, 1, 2, 2, 2), SPECIAL[None, None, None, 2:5, None].repeat(1, 1, 1, 1, 3)),
    ),
    "a batch norm in training": (
        lambda x, w, b, m, v: torch.ops.aten._batch_norm_with_update_functional(x, w, b, m.detach(), v.detach(), 0.1, 1e-5)[0],
        lambda: (normal(4, 3, 5), normal(3), normal(3), normal(3), normal(3).abs()),
    ),
    "buckets": (torch.bucketize, lambda: (torch.cat([normal(9), SPECIAL[:4]]), torch.tensor([-1.0, 0.0, 0.5, 2.0]))),
    "powers of 2": (torch.ldexp, lambda: (normal(5), torch.tensor([0, 3, 2, 1, 5]))),
    "cubic resize": (lambda x: F.interpolate(x, (5, 7), mode="bicubic"), lambda: (normal(1, 2, 3, 4),)),
    "volumes that are resized": (lambda x: F.interpolate(x, (5, 2, 7), mode="trilinear"), lambda: (normal(1, 2, 3, 4, 3),)),
    "a resize without scales": (
        lambda x: torch.ops.aten.upsample_bilinear2d(x, (5, 3), True),
        lambda: (normal(1, 2, 3, 4),),
    ),
    "a part that is copied": (lambda x: torch.narrow_copy(x, 1, 1, 2), lambda: (normal(2, 4),)),
    "batch norm by running statistics": (
        lambda x, w, b, m, v: torch.native_batch_norm(x, w, b, m.detach(), v.detach(), False, 0.1, 1e-5)[0],
        lambda: (normal(4, 3, 5), normal(3), normal(3), normal(3), normal(3).abs()),
    ),
    **{
        f"batch norm by running statistics, {name}": (
            lambda x, w, b, m, v, has=has: F.batch_norm(x, m.detach(), v.detach(), w if has[0] else None, b if has[1] else None),
            lambda x=x: (x(), *(normal(3).to(x().dtype) for _ in range(3)), normal(3).abs().to(x().dtype)),
        )
        for name, has, x in (
            ("of images", (1, 1), lambda: normal(2, 3, 4, 5)),
            ("channels last", (1, 1), lambda: normal(2, 3, 4, 5).to(memory_format=torch.channels_last)),
            ("of a matrix", (1, 1), lambda: normal(7, 3)),
            ("in f64", (1, 1), lambda: normal(2, 3, 5).double()),
            ("in bf16", (1, 1), lambda: normal(2, 3, 5).bfloat16()),
            ("without weights", (0, 1), lambda: normal(2, 3, 5)),
            ("without biases", (1, 0), lambda: normal(2, 3, 5)),
            ("without either", (0, 0), lambda: normal(2, 3, 5)),
        )
    },
    "indices of lower triangles": (lambda x: torch.tril_indices(3, 4, -1) + x.long().sum(), lambda: (normal(2),)),
    "extremes of nothing": (torch.fmax, lambda: (torch.zeros(0), torch.zeros(0))),
    "indices of triangles": (lambda x: torch.triu_indices(3, 4) + x.long().sum(), lambda: (normal(2),)),
}
test_values, test_most_rows_have_derivatives, test_derivatives = checks_of(ROWS, 50)


@pytest.mark.parametrize("target", ["numpy", "native"])
def test_neighbours_and_signs_of_zero_are_exact(target: str) -> None:
    row = (torch.nextafter, pairs)
    (found,), expected = run(*row[:1], given(row), target), torch.nextafter(*pairs()).numpy()
    np.testing.assert_array_equal(np.signbit(found[~np.isnan(found)]), np.signbit(expected[~np.isnan(expected)]))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("scale", [None, (1.7, 0.6)])
@pytest.mark.parametrize("smooth", [False, True])
@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_resizes_in_f64_have_its_precision(mode: str, smooth: bool, scale: Any) -> None:
    def resized(x: Any, align: bool) -> Any:
        size = None if scale else (13, 4)
        return F.interpolate(x, size, scale, mode, align, antialias=smooth)

    x = torch.randn(2, 3, 7, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    for align in (False, True):
        (found,) = run(lambda x, align=align: resized(x, align), (x,), "numpy")
        np.testing.assert_allclose(found, resized(x, align).numpy(), 1e-12, 1e-13)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: torch.cummax(x, 0),
        lambda x: torch.mode(x, 1),
        lambda x: torch.logcumsumexp(x, 1),
        lambda x: torch.linalg.vector_norm(x),
        lambda x: torch.fmax(x, x.flip(1)),
        lambda x: x.unfold(1, 2, 1),
    ],
)
def test_rows_of_any_number(function: Any) -> None:
    dynamic = (({0: torch.export.Dim("rows")},),)
    module, _ = from_torch(Function(function), torch.ones(5, 3), dynamic=dynamic)
    torch.manual_seed(1)
    x = normal(7, 3)
    found = bind(module, {}, target="numpy")(x.numpy())
    for ours, theirs in zip(found if isinstance(found, tuple) else (found,), outputs(function(x)), strict=True):
        np.testing.assert_allclose(ours, theirs.numpy(), 1e-5, 1e-5)


def test_a_running_sum_along_rows_of_any_number_is_refused() -> None:
    dynamic = (({0: torch.export.Dim("rows")},),)
    with pytest.raises(MindError, match="a size that is not known") as caught:
        from_torch(Function(lambda x: torch.logcumsumexp(x, 0)), torch.ones(5, 3), dynamic=dynamic)
    assert caught.value.code == "E8008"


@pytest.mark.parametrize("smooth", [False, True])
def test_an_interpolation_of_integers_is_refused(smooth: bool) -> None:
    resized = Function(lambda x: F.interpolate(x, (5, 7), mode="bilinear", antialias=smooth))
    with pytest.raises(MindError, match="an interpolation of integers") as caught:
        from_torch(resized, torch.zeros(1, 3, 4, 4, dtype=torch.uint8))
    assert caught.value.code == "E8008"
