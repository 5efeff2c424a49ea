"""Rows about the order of elements, writes by index, storage, and sums of products against PyTorch."""

from __future__ import annotations

import math
import warnings
from typing import Any

import pytest

from mind_dialect.errors import MindError

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
from torch.nn import functional as F  # noqa: E402, after the skip

from torch_rows import Row, checks_of, normal, run  # noqa: E402, after the skip

NAN = math.nan
WITH_NAN = torch.tensor([[1.0, NAN, 0.0], [2.0, 1.0, 5.0], [NAN, NAN, NAN]])
INTEGERS = torch.tensor([3, -4, 0, 12, 7])
LABELS = torch.tensor([[1, 0, -1, 2], [3, -1, 0, 0], [-1, 1, 2, 3], [0, 1, 2, 3]])
SORTED = torch.tensor([0.0, 1.0, 1.0, 2.0])


def reduced(kind: str, include: bool) -> Any:
    return lambda x, i, s: torch.scatter_reduce(x, x.ndim - 1, i, s, kind, include_self=include)


def by_slices(kind: str, include: bool) -> Any:
    def function(x: Any, i: Any, s: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch calls it beta
            return torch.index_reduce(x, 1, i, s, kind, include_self=include)

    return function


def by_scatter(kind: str) -> Any:
    def function(x: Any, i: Any, s: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch deprecates it
            return torch.scatter(x.detach(), 1, i, s.detach(), reduce=kind)

    return function


def fixed(function: Any) -> Any:
    """A function whose derivative is not compared."""
    return lambda *xs: function(*(x.detach() for x in xs))


def written() -> tuple[Any, ...]:
    return normal(2, 3), torch.tensor([[0, 0], [1, 2]]), normal(2, 2)


KINDS = [(kind, include) for kind in ("sum", "prod", "mean", "amax", "amin") for include in (True, False)]
LONG = torch.cat(
    [torch.sort(torch.randn(95, generator=torch.Generator().manual_seed(0)))[0].repeat_interleave(2), torch.tensor([NAN])]
)
ROWS: dict[str, Row] = {
    "the second least": (lambda x: torch.kthvalue(x, 2, 1), lambda: (normal(3, 4),)),
    "the third least integer": (lambda x: torch.kthvalue(x, 3, 0, True), lambda: (INTEGERS,)),
    "the least of a number": (lambda x: torch.kthvalue(x, 1, 0), lambda: (normal(),)),
    "medians of rows": (lambda x: torch.median(x, 1), lambda: (normal(3, 4),)),
    "medians of columns": (lambda x: torch.median(x, -2, True), lambda: (normal(5, 4),)),
    "medians with NaN": (lambda x: torch.median(x, 1), lambda: (WITH_NAN,)),
    "medians beside NaN": (lambda x: torch.nanmedian(x, 1), lambda: (WITH_NAN,)),
    "medians of integers": (lambda x: (*torch.median(x, 0), torch.median(x), torch.nanmedian(x)), lambda: (INTEGERS,)),
    "the median": (torch.median, lambda: (normal(3, 4),)),
    "the median of equals": (torch.median, lambda: (torch.tensor([1.0, 2.0, 2.0, 2.0, 3.0]),)),
    "the median of infinities": (torch.median, lambda: (torch.tensor([math.inf, math.inf, 1.0]),)),
    "the median with NaN": (torch.median, lambda: (WITH_NAN,)),
    "the median beside NaN": (torch.nanmedian, lambda: (WITH_NAN,)),
    "the median of nothing": (torch.median, lambda: (torch.zeros(0),)),
    "the median of a number": (lambda x: torch.median(x, 0), lambda: (normal(),)),
    "places": (torch.searchsorted, lambda: (SORTED, torch.tensor([[1.0, 0.5], [NAN, 3.0]]))),
    "places in rows": (
        lambda s, x: torch.searchsorted(s, x, right=True, out_int32=True),
        lambda: (torch.stack([SORTED, torch.tensor([1.0, 2.0, 3.0, NAN])]), torch.tensor([[1.0, 0.5], [3.0, NAN]])),
    ),
    "the place of a number": (lambda s: torch.searchsorted(s, 1, side="right"), lambda: (torch.tensor([0, 1, 1, 2]),)),
    "places in a long sequence": (
        torch.searchsorted,
        lambda: (LONG, torch.cat([LONG[::7], LONG[::5] + 0.01, torch.tensor([-math.inf, math.inf, NAN, -99.0, 99.0])])),
    ),
    "places in a long sequence from the right": (
        lambda s, x: (torch.searchsorted(s, x, right=True), torch.bucketize(x, s), torch.bucketize(x, s, right=True)),
        lambda: (LONG, torch.cat([LONG[::7], LONG[::5] + 0.01, torch.tensor([-math.inf, math.inf, NAN, -99.0, 99.0])])),
    ),
    **{
        f"places in rows of {n}": (
            lambda s, x: (torch.searchsorted(s, x), torch.searchsorted(s, x, right=True, out_int32=True)),
            lambda n=n: (torch.sort(normal(2, 3, n), -1)[0], torch.cat([normal(2, 3, 9), torch.full((2, 3, 1), 99.0)], -1)),
        )
        for n in (63, 64, 65, 127, 128, 129)
    },
    "places of a number in a long sequence": (lambda s: torch.searchsorted(s, 0.5), lambda: (LONG,)),
    "places of integers in a long sequence": (
        torch.searchsorted,
        lambda: (torch.arange(200) // 3, torch.tensor([[-1, 0, 1], [5, 66, 67]])),
    ),
    "places of integers in floats": (torch.searchsorted, lambda: (LONG, torch.tensor([-1, 0, 1, 2**24 + 1]))),
    "places of no elements in a long sequence": (torch.searchsorted, lambda: (LONG, torch.zeros(0))),
    "buckets of integers": (torch.bucketize, lambda: (torch.arange(-3, 9), torch.tensor([0.5, 1.0, 4.0]))),
    "buckets without bounds": (torch.bucketize, lambda: (torch.arange(3), torch.zeros(0))),
    "places in an order": (
        lambda s, x: torch.searchsorted(s, x, sorter=torch.argsort(s)),
        lambda: (SORTED.flip(0), torch.tensor([0.5, 1.5])),
    ),
    "the bucket of a number": (lambda s: torch.bucketize(0.3, s), lambda: (SORTED,)),
    "a histogram": (fixed(lambda x: torch.histc(x, 4, -1, 1)), lambda: (normal(99),)),
    "a histogram of the whole range": (fixed(lambda x: torch.histc(x, 5)), lambda: (normal(99),)),
    "a histogram of equals": (fixed(lambda x: torch.histc(x, 4)), lambda: (torch.ones(5),)),
    "a histogram of nothing": (fixed(lambda x: torch.histc(x, 4)), lambda: (torch.ones(0),)),
    "sums by index": (by_scatter("add"), written),
    "products by index": (by_scatter("multiply"), written),
    "products with a number": (fixed(lambda x, i, s: torch.scatter(x, 1, i, 2.5, reduce="multiply")), written),
    **{
        f"scatter {kind} {include}": (fixed(reduced(kind, include)) if kind == "prod" else reduced(kind, include), written)
        for kind, include in KINDS
    },
    **{
        f"scatter integers {kind} {include}": (
            reduced(kind, include),
            lambda: (INTEGERS, torch.tensor([0, 0, 2, 1]), torch.tensor([-9, 4, -7, 3])),
        )
        for kind, include in KINDS
    },
    **{
        f"slices {kind} {include}": (
            fixed(by_slices(kind, include)) if kind == "prod" else by_slices(kind, include),
            lambda: (normal(2, 3), torch.tensor([0, 0]), normal(2, 2)),
        )
        for kind, include in KINDS[2:]
    },
    "elements by place": (torch.ops.aten.put, lambda: (normal(2, 3), torch.tensor([0, -1]), normal(2))),
    "sums by place": (
        lambda x, i, s: torch.ops.aten.put(x, i, s, True),
        lambda: (normal(2, 3), torch.tensor([[0, 0]]), normal(1, 2)),
    ),
    "elements of a view": (
        fixed(lambda x, s: torch.as_strided_scatter(x, s, (2, 2), (1, 2), 1)),  # torch's derivative is not its slope
        lambda: (normal(3, 3), normal(2, 2)),
    ),
    "bits": (lambda x: x.detach().view(torch.int32), lambda: (normal(5),)),
    "bits of pairs": (lambda x: x.detach().view(torch.float64), lambda: (normal(3, 4),)),
    "bits in halves": (lambda x: x.detach().view(torch.int16), lambda: (normal(3, 4),)),
    "bits of truths": (lambda x: (x > 0).view(torch.uint8), lambda: (normal(3, 4),)),
    "sums of products": (
        lambda c, x, y: torch.addbmm(c, x, y, beta=0.5, alpha=2),
        lambda: (normal(2, 4), normal(3, 2, 5), normal(3, 5, 4)),
    ),
    "sums of products and a row": (torch.addbmm, lambda: (normal(4), normal(3, 2, 5), normal(3, 5, 4))),
    "bilinear forms": (F.bilinear, lambda: (normal(2, 3), normal(2, 4), normal(5, 3, 4), normal(5))),
    "convolutions of time": (
        lambda x, w, b: torch.conv_tbc(x, w, b, 1),
        lambda: (normal(6, 2, 3), normal(3, 3, 4), normal(4)),
    ),
    **{
        f"margins, {reduction}": (
            lambda x, reduction=reduction: F.multilabel_margin_loss(x, LABELS, reduction=reduction),
            lambda: (normal(4, 4),),
        )
        for reduction in ("none", "mean", "sum")
    },
    "margins of one row": (lambda x: F.multilabel_margin_loss(x, LABELS[0]), lambda: (normal(4),)),
    "adjoints of maxima": (
        fixed(lambda g, x, i: torch.ops.aten.max_pool2d_with_indices_backward(g, x, [2, 2], [1, 1], [0, 0], [1, 1], False, i)),
        lambda: (
            normal(1, 2, 3, 3),
            x := normal(1, 2, 4, 4),
            F.max_pool2d(x, 2, 1, return_indices=True)[1],
        ),
    ),
}
test_values, test_most_rows_have_derivatives, test_derivatives = checks_of(ROWS, 28)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: torch.as_strided_scatter(x, x[:2], (2, 3), (1, 1)), "overlaps itself"),
        (lambda x: torch.complex(x, x).view(torch.float32), "as_real"),
        (lambda x: torch.bincount(x.long(), minlength=9), "size depends on data"),
        (lambda x: torch.rand_like(x), "rand_like, whose random numbers"),
        (lambda x: torch.linalg.matrix_exp(torch.complex(x, x)), "matrix exponential"),
    ],
)
def test_what_has_no_form_has_a_reason(function: Any, message: str) -> None:
    x = torch.ones(3) if "bincount" in message or "depends" in message else torch.ones(3, 3)
    with pytest.raises(MindError, match=message) as caught:
        run(function, (x,), "numpy")
    assert caught.value.code == "E8008"
