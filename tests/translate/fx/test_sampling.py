"""Images read between their places (`grid_sample`) as in PyTorch: each mode and padding, values and derivatives."""

from __future__ import annotations

import math
from typing import Any

import pytest

from mind_dialect import ptir

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
from torch.nn import functional as F  # noqa: E402, after the skip

from mind_bridges.torch import from_torch  # noqa: E402, after the skip
from torch_rows import Function, Row, checks_of, normal  # noqa: E402


def sampled(mode: str, padding: str = "zeros", align: bool = False) -> Any:
    return lambda x, g: F.grid_sample(x, g, mode, padding, align)


def with_nan_in_the_corner() -> tuple[Any, Any]:
    """The first element, which places outside must not read."""
    x = normal(1, 2, 3, 4)
    x[:, :, 0, 0] = math.nan
    return x, torch.tensor([[[[0.5, 0.5], [3.0, 3.0], [-2.0, 0.5], [0.1, -4.0]]]])


ROWS: dict[str, Row] = {
    **{
        f"{mode}, {padding}, {align}": (sampled(mode, padding, align), lambda: (normal(2, 3, 5, 4), 1.5 * normal(2, 3, 6, 2)))
        for mode in ("bilinear", "nearest", "bicubic")
        for padding in ("zeros", "border", "reflection")
        for align in (False, True)
    },
    **{
        f"{mode} of one row, {padding}, {align}": (
            sampled(mode, padding, align),
            lambda: (normal(1, 2, 1, 5), 1.5 * normal(1, 3, 2, 2)),
        )
        for mode in ("bilinear", "bicubic")
        for padding in ("border", "reflection")
        for align in (False, True)
    },
    **{f"{mode} beside NaN": (sampled(mode), with_nan_in_the_corner) for mode in ("bilinear", "nearest")},
    "a rotated image": (
        lambda x, m: F.grid_sample(x, F.affine_grid(m, [2, 3, 5, 4], align_corners=False), align_corners=False),
        lambda: (normal(2, 3, 5, 4), torch.eye(2, 3) + 0.2 * normal(2, 2, 3)),
    ),
    "a warped image": (
        lambda x, f: F.grid_sample(x, f.permute(0, 2, 3, 1) / 3, padding_mode="border", align_corners=True),
        lambda: (normal(2, 3, 5, 4), normal(2, 2, 5, 4)),
    ),
    "f64": (sampled("bilinear"), lambda: (normal(1, 2, 3, 4).double(), normal(1, 2, 2, 2).double())),
}
test_values, test_most_rows_have_derivatives, test_derivatives = checks_of(ROWS, 25)


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_each_element_is_looked_up_by_one_index(mode: str) -> None:
    """One gather for each element that a place reads, at indices that no op moves from below 0."""
    module = from_torch(Function(sampled(mode)), normal(2, 3, 5, 4), normal(2, 3, 6, 2)).module
    gathers = sum(isinstance(op, ptir.GatherOp) for op in module.walk())
    assert gathers == {"bilinear": 4, "nearest": 1, "bicubic": 16}[mode]
    assert not any(isinstance(op, ptir.TakeOp | ptir.GatherWindowsOp) for op in module.walk())
