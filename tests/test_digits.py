"""The digits demo: it runs, it learns, its loss stays finite in f32, and its gradient is that of JAX and of PyTorch."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mind_passes.autodiff import GradientOptions, differentiate
from mind_runtime import compile
from mind_translate.core_ir import parse_core_ir

ROOT = Path(__file__).parents[1]
PROGRAM = ROOT / "examples" / "mlp.coreir"
PARAMETERS = ("w1", "b1", "w2", "b2")


@pytest.fixture(scope="module")
def loss_and_gradients():
    """The demo's gradient function, compiled: loss, then the gradients of w1, b1, w2, b2."""
    module = parse_core_ir(PROGRAM.read_text(encoding="utf-8"))
    return compile(differentiate(module, "loss", GradientOptions(wrt=PARAMETERS)).module, "loss_grad")


def arguments(scale: float, seed: int = 0) -> list[np.ndarray]:
    """Pixels, one-hot labels and parameters, all f32; the logits grow with `scale`."""
    rng = np.random.default_rng(seed)
    x, y = rng.uniform(size=(128, 64)), np.eye(10)[rng.integers(10, size=128)]
    parameters = [rng.normal(0, scale / 8, shape) for shape in ((64, 64), (64,), (64, 10), (10,))]
    return [a.astype(np.float32) for a in (x, y, *parameters)]


def reference(xp, x, y, w1, b1, w2, b2):
    """The same loss in another array library, with the row's maximum taken off as a textbook would."""
    hidden = xp.maximum(x @ w1 + b1, xp.zeros_like(b1))
    z = hidden @ w2 + b2
    top = xp.amax(z, 1)[:, None]
    return (xp.log(xp.exp(z - top).sum(1)) + top[:, 0] - (z * y).sum(1)).mean()


def test_the_gradient_is_that_of_jax(loss_and_gradients) -> None:
    jax = pytest.importorskip("jax", reason="JAX is not installed (make test-all installs it)")
    given = arguments(1.0)
    loss, gradients = jax.value_and_grad(lambda *a: reference(jax.numpy, *a), argnums=(2, 3, 4, 5))(*given)
    agree(loss_and_gradients(*given), [loss, *gradients])


def test_the_gradient_is_that_of_torch(loss_and_gradients) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed (make test-all installs it)")
    tensors = [torch.from_numpy(a) for a in arguments(1.0)]
    for tensor in tensors[2:]:
        tensor.requires_grad_()
    loss = reference(torch, *tensors)
    loss.backward()
    agree(loss_and_gradients(*arguments(1.0)), [loss.detach().numpy(), *(t.grad.numpy() for t in tensors[2:])])


def agree(found, expected) -> None:
    """f32 results to 1e-5 of the largest entry of each."""
    for ours, theirs in zip(found, expected, strict=True):
        theirs = np.asarray(theirs)
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5 * float(abs(theirs).max()))


def test_the_loss_is_that_of_numpy_in_f64(loss_and_gradients) -> None:
    given = arguments(1.0)
    loss, *_ = loss_and_gradients(*given)
    assert loss == pytest.approx(reference(np, *(a.astype(np.float64) for a in given)), rel=1e-5)


def test_logits_large_and_far_apart_stay_finite_in_f32(loss_and_gradients) -> None:
    """Logits near 500, where a bare exp overflows, and tens apart within a row, more than training ever makes."""
    given = arguments(7.0)
    given[5] += np.float32(500)
    logits = np.maximum(given[0] @ given[2] + given[3], 0) @ given[4] + given[5]
    assert logits.min() > 100
    assert 60 < np.ptp(logits, axis=1).max() < 120
    for result in loss_and_gradients(*given):
        assert np.isfinite(result).all()


def test_the_demo_learns_and_saves_its_curve(tmp_path: Path) -> None:
    for module in ("sklearn", "matplotlib", "rich"):
        pytest.importorskip(module, reason="the extra `demo` is not installed (make test-all installs it)")
    command = [sys.executable, ROOT / "examples" / "digits.py", "--steps", "120", "--out", tmp_path]
    result = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=120, check=False)
    assert result.returncode == 0, result.stderr
    (accuracy,) = re.findall(r"test accuracy ([\d.]+)%", result.stdout)
    assert float(accuracy) > 80
    assert "# @loss_grad" in result.stdout
    assert (tmp_path / "digits_loss.png").read_bytes()[:4] == b"\x89PNG"
