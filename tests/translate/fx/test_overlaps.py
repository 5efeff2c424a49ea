"""Windows that are added where they overlap: values and derivatives as in PyTorch, and no scatter where windows are short."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from mind_dialect import ptir

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
from torch.nn import functional as F  # noqa: E402, after the skip

from mind_bridges.torch import from_torch  # noqa: E402, after the skip
from torch_rows import Function, Row, checks_of, normal  # noqa: E402


def folded(*columns: int, **options: Any) -> Row:
    return (lambda x: F.fold(x, **options)), lambda: (normal(*columns),)


def added(shape: Sequence[int], sizes: Sequence[int], dim: int, size: int, step: int) -> Row:
    return (lambda g: torch.ops.aten.unfold_backward(g, sizes, dim, size, step)), lambda: (normal(*shape),)


def spectral(frame: int, hop: int, **options: Any) -> Row:
    def function(x: Any) -> Any:
        z = torch.stft(x, frame, hop, window=torch.hann_window(frame) + 0.5, return_complex=True)
        return torch.istft(z, frame, hop, window=torch.hann_window(frame) + 0.5, **options)

    return function, lambda: (normal(2, 64),)


ROWS: dict[str, Row] = {
    "fold by 1": folded(2, 18, 12, output_size=(5, 6), kernel_size=(3, 3)),
    "fold of one image": folded(12, 9, output_size=(4, 5), kernel_size=(2, 3), stride=(1, 2), padding=(0, 1)),
    "fold with padding": folded(2, 18, 30, output_size=(5, 6), kernel_size=3, padding=1),
    "fold with gaps": folded(1, 4, 4, output_size=(5, 5), kernel_size=2, stride=3),
    "fold side by side": folded(2, 8, 6, output_size=(4, 6), kernel_size=2, stride=2),
    "fold that leaves a border": folded(1, 6, 6, output_size=(7, 6), kernel_size=(3, 2), stride=(3, 2), padding=(0, 0)),
    "windows by 1": added((5, 3), (7,), 0, 3, 1),
    "windows by 2": added((2, 3, 4, 5), (2, 9, 4), 1, 5, 2),
    "windows of the last axis": added((2, 4, 3), (2, 9), -1, 3, 2),
    "windows with gaps": added((3, 2), (12,), 0, 2, 4),
    "windows of one step": added((3, 2), (7,), 0, 2, 2),
    "windows of one signal for all": added((1, 4, 3), (3, 9), 1, 3, 2),
    "a short-time Fourier transform and back": spectral(16, 4),
    "transforms of windows that are no whole steps": spectral(16, 6),
    "transforms cut to a length": spectral(16, 4, length=50),
}
SCATTERED: dict[str, Row] = {
    "fold with dilation": folded(1, 8, 9, output_size=(5, 4), kernel_size=2, dilation=(2, 1)),
    "long windows": added((2, 3, 20), (2, 22), 1, 20, 1),
    "long windows of the first axis": added((3, 2, 20), (22, 2), 0, 20, 1),
}
NOTHING: dict[str, Row] = {"no signals": added((0, 2, 3), (0, 4), 1, 3, 1)}
test_values, test_most_rows_have_derivatives, test_derivatives = checks_of(ROWS | SCATTERED | NOTHING, 15)


@pytest.mark.parametrize("name", ROWS)
def test_no_scatter_is_needed(name: str) -> None:
    function, arguments = ROWS[name]
    module = from_torch(Function(function), *arguments()).module
    assert not any(isinstance(op, ptir.ScatterReduceOp | ptir.ScatterWindowsOp) for op in module.walk())


@pytest.mark.parametrize("name", SCATTERED)
def test_other_windows_are_scattered_once(name: str) -> None:
    function, arguments = SCATTERED[name]
    module = from_torch(Function(function), *arguments()).module
    assert sum(isinstance(op, ptir.ScatterReduceOp | ptir.ScatterWindowsOp) for op in module.walk()) == 1
