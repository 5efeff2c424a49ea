"""
Gradients of attention as kernels that make the weights anew: in the emulation, by NVRTC, and in a training step of a model.

Results are those of the NumPy target, which keeps the weights; of the formulas in f64; and of JAX.
"""

from __future__ import annotations

import re
from functools import lru_cache
from math import inf
from typing import Any

import numpy as np
import pytest

from attention_gradients import CASES, NARROW, attend, causal, gradient, qkv
from cuda_emulation import ARCHITECTURES, compiled, compiler
from cupy_agreement import agree, arguments, in_one_batch
from fake_device import Batch
from mind_lowering.launch.compute_ops import KernelOp
from mind_runtime.on_cupy import CupyProgram
from models import gpt2
from models.training import AdamW, train_step

pytest.importorskip("ml_dtypes", reason="no ml_dtypes: narrow floats have no arrays to compare with")

ALIKE = ("2,35,45,16,24", "maximum", "reciprocal", "few", "causal -inf", "selected -1000000000.0")
"""Their kernels are like those of others; what they are for is seen without kernels, see `test_recompute.py`."""
EVERY = {name: case for name, case in {**CASES, **NARROW}.items() if name not in ALIKE}
COMPILED = ("of one", "bf16 of one")
"""What NVRTC compiles: both forms of tiles."""
WRT = {"queries": (0,), "keys": (1,), "values": (2,)}


@lru_cache(maxsize=1)
def batch() -> tuple[Batch, list[tuple[str, CupyProgram, Any]]]:
    modules = [(name, gradient(*case)) for name, case in EVERY.items()]
    modules += [(name, gradient(qkv("f32", "", 20, 30, 8, 8), attend, wrt)) for name, wrt in WRT.items()]
    return in_one_batch(modules)


def of_case(name: str) -> tuple[CupyProgram, Any]:
    ((made, module),) = [(made, module) for n, made, module in batch()[1] if n == name]
    return made, module


def given(name: str, made: CupyProgram, seed: int) -> list[np.ndarray]:
    values = arguments(made, seed)
    if name == "padded":
        values[3][:] = np.where(np.arange(70) < 20, -inf, 0)
        values[3][60:] = -inf
    return values


def test_results_are_those_of_numpy() -> None:
    compiler()
    for i, (name, made, module) in enumerate(batch()[1]):
        with np.errstate(all="ignore"):
            agree(name, made, module, given(name, made, i))


def test_each_is_kernels_without_scores_in_memory() -> None:
    for name, made, _ in batch()[1]:
        calls = re.findall(r"mind::(attend\w*)<", made.cuda)
        narrow = "_narrow" if name in NARROW and "by 12" not in name else ""
        ends = {"queries": ["queries"], "keys": ["keys"], "values": ["keys"]}.get(name, ["queries", "keys"])
        assert calls == [f"attend{narrow}", *(f"attend_{end}{narrow}" for end in ends)], name
        assert not {"xp.matmul", "k.dot_general", "xp.exp"} & set(re.findall(r"(?:xp|k)\.\w+", made.source)), name


def test_what_a_causal_mask_hides_is_not_looked_at() -> None:
    bounded = {name for name, made, _ in batch()[1] if "limit = last + 1 <" in made.cuda and "limit = first + 0" in made.cuda}
    assert bounded == {n for n in EVERY if n.split()[0] in ("causal", "selected", "padded", "f16") or n.endswith("of one")}


@pytest.mark.parametrize("hidden", [None, -1e9])
def test_results_are_those_of_the_formulas_in_f64(hidden: float | None) -> None:
    compiler()
    made, _ = of_case("20,20,8,8" if hidden is None else "causal shared")
    q, k, v, g = (x.astype(np.float64) for x in arguments(made, 5))
    s = 0.25 * q @ k.swapaxes(-1, -2) + (0 if hidden is None else np.where(np.tri(q.shape[-2]) > 0, 0, hidden))
    p = np.exp(s - s.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    dp = g @ v.swapaxes(-1, -2)
    ds = 0.25 * p * (dp - (p * dp).sum(-1, keepdims=True))
    expected = [p @ v, ds @ k, ds.swapaxes(-1, -2) @ q, p.swapaxes(-1, -2) @ g]
    for x, y in zip(made(*arguments(made, 5)), expected, strict=True):
        np.testing.assert_allclose(x, y, 1e-5, 1e-5)


def test_results_are_those_of_jax() -> None:
    jax = pytest.importorskip("jax", reason="no JAX: no oracle")
    compiler()
    made, _ = of_case("selected -inf")
    q, k, v, g = arguments(made, 6)
    hidden = np.arange(q.shape[1])[:, None] < np.arange(k.shape[1])

    def f(q: Any, k: Any, v: Any) -> Any:
        s = jax.numpy.where(hidden, -inf, 0.25 * q @ k.swapaxes(-1, -2))
        return jax.nn.softmax(s) @ v

    o, back = jax.vjp(f, q, k, v)
    for x, y in zip(made(q, k, v, g), (o, *back(g)), strict=True):
        np.testing.assert_allclose(x, np.asarray(y), 1e-4, 1e-5)


def test_results_are_those_of_differences() -> None:
    compiler()
    made, _ = of_case("f64")
    q, k, v, g = arguments(made, 7)
    rng, step = np.random.default_rng(8), 1e-5
    along = [rng.standard_normal(x.shape) for x in (q, k, v)]
    ends = [made(*(x + sign * step * d for x, d in zip((q, k, v), along, strict=True)), g)[0] for sign in (1, -1)]
    slope = ((ends[0] - ends[1]) * g).sum() / (2 * step)
    found = sum((x * d).sum() for x, d in zip(made(q, k, v, g)[1:], along, strict=True))
    assert abs(slope - found) < 1e-7 * abs(slope)


@pytest.mark.parametrize(("dtype", "depth", "kernels"), [("f32", 128, 3), ("f32", 192, 0), ("f64", 64, 3)])
def test_shared_memory_is_enough_or_weights_are_kept(dtype: str, depth: int, kernels: int) -> None:
    made = Batch()
    program = made.add(gradient(qkv(dtype, "", 40, 40, depth, depth), causal(-1e9)))
    assert len(re.findall(r"mind::attend\w*<", program.cuda)) == kernels
    if kernels:
        compiled(made.text(), "sm_90")


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_nvrtc_compiles_every_form(architecture: str) -> None:
    made = Batch()
    for name in COMPILED:
        made.add(gradient(*EVERY[name]))
    compiled(made.text(), architecture)


@pytest.mark.parametrize(("compute", "suffix"), [(None, ""), ("bf16", "_narrow")])
def test_a_training_step_of_a_model_keeps_no_weights(compute: str | None, suffix: str) -> None:
    config = gpt2.Config(512, context=512, width=64, layers=1, heads=4, kv_heads=2, gelu="tanh", compute=compute)
    made = Batch().add(train_step(gpt2.loss_program(config, batch=1, length=512), AdamW()))
    kernels = re.findall(r"mind::(attend\w*)<", made.cuda)
    assert kernels == [f"attend{suffix}", f"attend_queries{suffix}", f"attend_keys{suffix}"]
    assert made.cuda.count("const I limit = ") == made.cuda.count("+ 1 < 512 ?") == 2  # of the attention, and of its queries
    assert made.runner is not None, made.unplanned
    assert max(op.ref.nbytes for op in made.runner.plan.allocations) < 4 * 512 * 512 * 2
    ops = [op for op in made.runner.plan.func.body.block.ops if isinstance(op, KernelOp)]
    launched = {made.symbols[op.symbol]: op for op in ops}
    inputs = {n.partition("_attention")[2]: len(op.reads) for n, op in launched.items() if "_attention" in n}
    assert inputs == {"": 1, "_gradient_of_queries": 5, "_gradient_of_keys_values": 5}  # queries, keys and values are in one
