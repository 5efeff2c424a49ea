"""
A step with weights and residual stream in bf16 against the same model in f32 from the same weights.

The f32 values of weights are a state that updates change; the narrow weights are those values, rounded.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pytest

import mind_runtime
from mind_dialect.errors import MindError
from models import gpt2
from models.optimised import optimised
from models.training import AdamW, Momentum, Optimiser, parameter_names, state_names, train_step

bf16: Any = pytest.importorskip("ml_dtypes", reason="no ml_dtypes: no arrays of bf16").bfloat16
SIZES: Any = {"vocabulary": 50, "context": 32, "width": 32, "layers": 2, "heads": 2, "kv_heads": 2}
BATCH, LENGTH = 8, 32


@lru_cache(maxsize=8)
def program(optimiser: Optimiser, narrow: bool) -> tuple[Any, list[str]]:
    """Return a step, and the names of its state."""
    loss = gpt2.loss_program(gpt2.Config(**SIZES, gelu="tanh", dtype="bf16" if narrow else "f32"), batch=BATCH, length=LENGTH)
    module = optimised(train_step(loss, optimiser, narrow=narrow), split=False)
    return mind_runtime.compile(module), state_names(parameter_names(loss), optimiser, narrow)


def weights() -> dict[str, np.ndarray]:
    """Return weights that bf16 has."""
    found = gpt2.random_weights(gpt2.Config(**SIZES))
    return {name: np.asarray(w, np.float32).astype(bf16).astype(np.float32) for name, w in found.items()}


def text(of: int = 50) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {name: rng.integers(0, of, (BATCH, LENGTH)).astype(np.int32) for name in ("tokens", "targets")}


def run(
    optimiser: Optimiser, narrow: bool, rate: float, steps: int, tokens: int = 50
) -> tuple[list[float], dict[str, np.ndarray]]:
    """Return the losses of some steps, and the state after them."""
    step, held = program(optimiser, narrow)
    state: dict[str, np.ndarray] = weights()
    state |= {f"{name}.exact": w for name, w in state.items()}
    losses: list[float] = []
    for i in range(1, steps + 1):
        known = {**text(tokens), "rate": np.float32(rate), "step": np.float32(i), **state}
        given = [np.asarray(known.get(s.name, np.zeros(s.shape))).astype(s.numpy_dtype) for s in step.inputs]
        loss, *new = step(*given)
        losses.append(float(loss))
        state |= dict(zip(held, new, strict=True))
    return losses, state


@pytest.mark.parametrize("tokens", [50, 1], ids=["any", "one token"])
def test_gradients_are_near_those_of_f32(tokens: int) -> None:
    """
    256 gradients of the row of one token are summed too: in bf16 the sum would stop growing.

    Layer norms and losses in bf16 would have errors half as large again.
    """
    (near,), narrow = run(Momentum(), True, 0.0, 1, tokens)
    (far,), wide = run(Momentum(), False, 0.0, 1, tokens)
    assert near == pytest.approx(far, rel=2e-3)
    every = [name for name in wide if name.endswith(".velocity")]
    assert len(every) == len(weights())
    norm = max(float(np.linalg.norm(wide[name])) for name in every)
    for name in every:
        difference = float(np.linalg.norm(narrow[name].astype(np.float32) - wide[name]))
        assert narrow[name].dtype == np.float32
        assert difference < 0.02 * float(np.linalg.norm(wide[name])) + 2e-4 * norm, name


def test_it_learns_as_f32_does_and_rounds_the_exact_weights() -> None:
    narrow, state = run(AdamW(epsilon=1e-3), True, 3e-3, 12)
    wide, other = run(AdamW(epsilon=1e-3), False, 3e-3, 12)
    assert wide[-1] < 0.9 * wide[0]
    assert narrow == pytest.approx(wide, rel=0.01)
    for name, before in weights().items():
        exact = state[f"{name}.exact"]
        assert exact.dtype == np.float32
        assert state[name].dtype == bf16
        assert state[name].tobytes() == exact.astype(bf16).tobytes()
        assert np.abs(exact - other[name]).mean() < 0.25 * np.abs(other[name] - before).mean(), name


def test_small_updates_are_not_lost() -> None:
    """Three updates of less than half the last bit of bf16 change the exact weights alone, and add up."""
    _, state = run(AdamW(), True, 1e-5, 3)
    before = weights()["blocks.0.ln_1.gamma"]
    exact, narrow = state["blocks.0.ln_1.gamma.exact"], state["blocks.0.ln_1.gamma"]
    assert (narrow.astype(np.float32) == before).all()
    assert (exact != before).all()


def test_weights_of_f32_cannot_be_narrow() -> None:
    loss = gpt2.loss_program(gpt2.Config(**SIZES), batch=1, length=4)
    with pytest.raises(MindError, match="kept narrow") as caught:
        train_step(loss, AdamW(), narrow=True)
    assert caught.value.code == "E2005"
