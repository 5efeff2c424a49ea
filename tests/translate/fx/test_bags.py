"""Rows of embeddings in bags, of bounded norm, of repeats by data, and of assignments by masks, against PyTorch."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

from mind_dialect.errors import MindError

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
from torch.nn import functional as F  # noqa: E402, after the skip

from mind_bridges.torch import from_torch  # noqa: E402, after the skip
from torch_rows import Function, Row, checks_of, normal, run  # noqa: E402, after the skip

INDICES = torch.tensor([1, 2, 4, 5, 4, 3, 2, 9])
STARTS = torch.tensor([0, 3, 3, 6])
ENDS = torch.tensor([0, 0, 3, 8])


def bags(**options: Any) -> Any:
    return lambda w, i, *o: F.embedding_bag(i, w, *o, **options)


def weighted(w: Any, i: Any, o: Any, f: Any) -> Any:
    return F.embedding_bag(i, w, o, mode="sum", per_sample_weights=f, padding_idx=4)


def assigned(assign: Callable[..., None]) -> Any:
    def function(x: Any, *rest: Any) -> Any:
        x = x.clone()
        assign(x, *rest)
        return x

    return function


def columns(x: Any) -> None:
    x[:, x[0, :, 0] > 0] = 3.0


def columns_of_rows(x: Any, v: Any) -> None:
    x[:, x[0, :, 0] > 0] = v


def last(x: Any) -> None:
    x[..., x[0, 0] > 0] += 0
    x[..., x[0, 0] > 0] = -1.0


def last_only(x: Any) -> None:
    x[..., x[0, 0] > 0] = -1.0


def two_axes(x: Any, v: Any) -> None:
    torch.ops.aten.index_put_(x, [None, x[0] > 0], v, True)


ROWS: dict[str, Row] = {
    **{
        f"{mode} of bags{name}": (bags(mode=mode, **options), lambda more=more: (normal(10, 4), *more))
        for mode in ("sum", "mean", "max")
        for name, options, more in (
            (" of equal sizes", {}, (INDICES.reshape(2, 4),)),
            (" that begin", {}, (INDICES, STARTS)),
            (" that begin and end", {"include_last_offset": True}, (INDICES, ENDS)),
            (" without padding", {"padding_idx": 4}, (INDICES, STARTS)),
            (" of which the first are empty", {}, (INDICES, torch.tensor([0, 0, 8, 8]))),
        )
    },
    "weighted bags": (weighted, lambda: (normal(10, 4), INDICES, STARTS, torch.rand(8))),
    "rows of bounded norm": (lambda w, i: F.embedding(i, w.clone(), max_norm=1.0), lambda: (normal(10, 4), INDICES)),
    "rows of bounded sums": (
        lambda w, i: F.embedding(i, w.clone(), max_norm=2.0, norm_type=1.0),
        lambda: (normal(10, 4), INDICES),
    ),
    "repeats": (
        lambda x, n: x.repeat_interleave(n, 0, output_size=5),
        lambda: (normal(4, 3), torch.tensor([1, 3, 0, 1])),
    ),
    "a number at a mask of a middle axis": (assigned(columns), lambda: (normal(4, 5, 2),)),
    "a row at a mask of a middle axis": (assigned(columns_of_rows), lambda: (normal(4, 5, 2), normal(2))),
    "rows at a mask of a middle axis": (assigned(columns_of_rows), lambda: (normal(4, 5, 2), normal(4, 1, 2))),
    "a number at a mask of the last axis": (assigned(last_only), lambda: (normal(4, 5, 6),)),
    "a sum at a mask of two axes": (assigned(two_axes), lambda: (normal(3, 4, 5), normal(3, 1))),
}
test_values, test_most_rows_have_derivatives, test_derivatives = checks_of(ROWS, 20)


def refused(function: Callable[..., Any], *arguments: Any) -> str:
    with pytest.raises(MindError) as caught:
        from_torch(Function(function), *arguments)
    assert caught.value.code == "E8008"
    return caught.value.message


def test_what_depends_on_counts_is_refused() -> None:
    counts = torch.tensor([1, 2])
    assert "state output_size=" in refused(lambda x, n: x.repeat_interleave(n, 0), torch.ones(2), counts)
    assert "size of the result depends on data" in refused(assigned(last), torch.ones(2, 3, 4))
    assert "scaled by frequency" in refused(bags(mode="sum", scale_grad_by_freq=True), normal(10, 4), INDICES, STARTS)


def test_counts_that_contradict_the_stated_size_are_an_error() -> None:
    for size in (2, 4):
        with pytest.raises(MindError) as caught:
            run(
                lambda x, n, size=size: x.repeat_interleave(n, 0, output_size=size),
                (torch.ones(2), torch.tensor([1, 2])),
                "numpy",
            )
        assert caught.value.code == "E6001"


REDUCED: dict[str, Row] = {
    f"products at indices, {name}, {include}": (
        lambda x, i, u, include=include: x.scatter_reduce(0, i, u, "prod", include_self=include),
        lambda zeros=zeros: (normal(3, 4), torch.tensor([[0, 1, 2, 0], [0, 2, 2, 1]]), with_zeros(normal(2, 4), zeros)),
    )
    for include in (True, False)
    for name, zeros in (("none 0", 0), ("one 0", 1), ("two 0", 2))
} | {
    "products of slices at indices": (
        lambda x, i, u: x.index_reduce(0, i, u, "prod"),
        lambda: (normal(3, 4), torch.tensor([0, 2, 0]), with_zeros(normal(3, 4), 1)),
    ),
}


def with_zeros(x: Any, count: int) -> Any:
    x[:count, 0] = 0
    return x


with warnings.catch_warnings():
    warnings.filterwarnings("ignore", "index_reduce")
    test_products, test_products_have_derivatives, test_derivatives_of_products = checks_of(REDUCED, 6)
