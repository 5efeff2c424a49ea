"""Images and signals whose batch or length has a name: what has a row for known sizes alone is decomposed by torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mind_runtime import compile

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
from torch.nn import functional as F  # noqa: E402, after the skip

from mind_bridges.torch import from_torch  # noqa: E402, after the skip
from torch_rows import Function, normal  # noqa: E402

N = torch.export.Dim("n", min=4, max=99)
SIGNALS: dict[str, Callable[..., Any]] = {
    "reflected": lambda x: F.pad(x, (2, 1), mode="reflect"),
    "replicated": lambda x: F.pad(x, (2, 1), mode="replicate"),
    "nearest": lambda x: F.interpolate(x, scale_factor=2),
    "nearest exact": lambda x: F.interpolate(x, scale_factor=2, mode="nearest-exact"),
    "rolled": lambda x: torch.roll(x, (7, -9, 1), (0, 2, 1)),
    "rolled as a whole": lambda x: torch.roll(x, -5),
}
BATCHES: dict[str, tuple[Callable[..., Any], tuple[int, ...]]] = {
    "frames of a spectrum": (
        lambda x: torch.istft(torch.stft(x, 8, 4, window=torch.ones(8), return_complex=True), 8, 4, window=torch.ones(8)),
        (32,),
    ),
    "folded": (lambda x: F.fold(x, (4, 5), 2), (8, 12)),
    "sampled": (lambda x: F.grid_sample(x, torch.tanh(x[..., :2].transpose(1, 3)), align_corners=False), (2, 5, 6)),
    "places": (lambda x: torch.bucketize(x, torch.linspace(-1, 1, 99)), (3,)),
    "nearest pixels": (lambda x: F.interpolate(x, scale_factor=2), (2, 3, 4)),
}


def check(function: Callable[..., Any], axis: int, shape: Callable[[int], tuple[int, ...]]) -> None:
    """Compare programs of an axis whose size has a name with torch, for several sizes."""
    program = compile(from_torch(Function(function), normal(*shape(8)), dynamic=(({axis: N},),)).module)
    for n in (4, 5, 11):
        x = normal(*shape(n))
        np.testing.assert_allclose(program(x.numpy()), function(x).numpy(), 1e-5, 1e-5)


@pytest.mark.parametrize("axis", [0, 2])
@pytest.mark.parametrize("name", SIGNALS)
def test_signals(name: str, axis: int) -> None:
    check(SIGNALS[name], axis, lambda n: (n, 2, 8) if axis == 0 else (2, 2, n))


@pytest.mark.parametrize("name", BATCHES)
def test_batches(name: str) -> None:
    function, shape = BATCHES[name]
    check(function, 0, lambda n: (n, *shape))
