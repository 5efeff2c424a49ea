"""The architectures that the benchmarks measure, small: outputs and gradients of all weights are PyTorch's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mind_dialect.program import input_names
from mind_passes.functional import vjp
from mind_runtime import compile
from mind_runtime.compilation import find_function

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from mind_bridges.torch import from_torch  # noqa: E402, after the skip
from mind_bridges.torch_export import as_array  # noqa: E402, after the skip

NAMES = ["GPT-2", "Llama", "BERT", "ViT", "Whisper encoder", "ResNet-18, half", "ResNet-50", "MobileNetV2", "U-Net level"]
SIZES = {"WIDTH": 32, "HEADS": 4, "LAYERS": 2, "TOKENS": 12, "WORDS": 50}


def made(name: str, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any]:
    """
    A small model with random weights, and its argument.

    Where rounding decides whether a `relu` meets 0, gradients are those of either side. With seed 1 no one of ResNet-50 meets
    less than 7e-7 of its greatest; with seed 0, one meets 6e-8.
    """
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    import imported_models

    for size, value in SIZES.items():
        monkeypatch.setattr(imported_models, size, value)
    torch.manual_seed(1)
    make, argument, _ = imported_models.MODELS[name]
    model, x = make().eval(), argument(2)
    step = {"ResNet-18, half": 2, "ResNet-50": 7, "MobileNetV2": 7, "U-Net level": 4}.get(name, 1)
    return model, x[..., ::step, ::step].contiguous() if step > 1 else x


def test_every_architecture_is_tested(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    import imported_models

    assert list(imported_models.MODELS) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_outputs_and_gradients(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Outputs within 1e-5, and each adjoint within 1e-4 of its greatest magnitude, on both executors."""
    pytest.importorskip("llvmlite", reason="llvmlite is not installed")
    model, x = made(name, monkeypatch)
    y = model(x)
    cotangent = torch.randn_like(y)
    y.backward(cotangent)
    module, weights = from_torch(model, x)
    wanted = {n: p.grad for n, p in model.named_parameters() if p.grad is not None}
    assert set(wanted) <= set(weights)
    gradient = vjp(module, wrt=list(wanted), output=0)
    order = [n for n in input_names(find_function(module, None)) if n in wanted]
    assert len(order) == len(wanted) > 20
    whole = max(float(g.abs().max()) for g in wanted.values())
    for target in ("numpy", "native"):
        found = compile(gradient, "main_grad", target)(*weights.values(), as_array(x), as_array(cotangent))
        np.testing.assert_allclose(found[0], as_array(y), 0, 1e-5 * max(1.0, float(y.detach().abs().max())), err_msg=target)
        for n, adjoint in zip(order, found[-len(order) :], strict=True):
            expected = as_array(wanted[n])
            own = float(np.abs(expected).max())
            scale = own if own > 1e-4 * whole else whole  # the adjoint of a bias of keys is 0 but for rounding
            np.testing.assert_allclose(adjoint, expected, 0, 1e-4 * scale, err_msg=f"{n} on {target}")
