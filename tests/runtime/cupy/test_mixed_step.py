"""
A training step of mixed precision, from its text and by our autodiff: on the CuPy target what it is on NumPy, one graph.

Weights and the residual stream are f32, or bf16 with the f32 values of weights as part of the state.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pytest

import mind_runtime
from cuda_emulation import compiled, compiler
from fake_device import compile_on_fake
from fake_gpu import FakeMachine
from mind_lowering.cupy.cuda_cpp.text import module_text
from mind_lowering.cupy.kernels import column_sums
from mind_passes.fusion import compact_scatters, rematerialize
from models import gpt2
from models.optimised import optimised
from models.training import AdamW, parameter_names, state_names, train_step
from numpy_launches import on_numpy
from programs import parse

pytest.importorskip("ml_dtypes", reason="no ml_dtypes: narrow floats have no arrays to compare with")
SIZES: Any = {"vocabulary": 40, "context": 8, "width": 32, "layers": 1, "heads": 2, "kv_heads": 2}
CONFIGS = {False: gpt2.Config(**SIZES, gelu="tanh", compute="bf16"), True: gpt2.Config(**SIZES, gelu="tanh", dtype="bf16")}
"""By whether weights are bf16."""


@lru_cache(maxsize=2)
def step(narrow: bool = False) -> tuple[Any, list[np.ndarray], list[int]]:
    """The step read back from its text, arguments for it, and which of them it overwrites."""
    loss = gpt2.loss_program(CONFIGS[narrow], batch=2, length=8)
    module = optimised(parse(str(train_step(loss, AdamW(epsilon=1e-3), narrow=narrow))), split=False)
    program = mind_runtime.compile(module)
    weights, rng = gpt2.random_weights(CONFIGS[narrow]), np.random.default_rng(0)
    known = {"rate": np.float32(0.01), "step": np.float32(1), **weights}
    known |= {f"{name}.exact": w.astype(np.float32) for name, w in weights.items()}
    known |= {name: rng.integers(0, 40, (2, 8)).astype(np.int32) for name in ("tokens", "targets")}
    values = [known.get(s.name, np.zeros(s.shape, s.numpy_dtype)) for s in program.inputs]
    held = state_names(parameter_names(loss), AdamW(), narrow)
    return module, values, [i for i, s in enumerate(program.inputs) if s.name in held]


@pytest.mark.parametrize(("is_large", "narrow"), [(False, False), (True, False), (True, True)])
def test_every_kernel_of_it_does_what_numpy_does(is_large: bool, narrow: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    But for what bf16 rounds elsewhere, as attention keeps its weights in f32. The epsilon makes little of gradients of noise.

    It takes seconds: the kernels of a model, forwards and backwards, are compiled by g++. In a large model, rows are summed
    over the rows too, totals of rows are stored, and gradients of rows of a table are summed elsewhere.
    """
    compiler()
    module, values, donated = step(narrow)
    if is_large:
        monkeypatch.setattr(column_sums, "ENOUGH_BLOCKS", 1)
        monkeypatch.setattr(column_sums, "LEAST_ROWS", 1)
        monkeypatch.setitem(rematerialize.rematerialize.__kwdefaults__, "least_bytes", 0)
        monkeypatch.setattr(compact_scatters.compact_scatters, "__defaults__", (0,))
    made: Any = compile_on_fake(module.clone())
    assert ("column0[" in made.cuda) == ("mind::min_to" in made.cuda) == is_large
    found, expected = made(*values), mind_runtime.compile(module)(*values)
    weights = len(donated) // (4 if narrow else 3)
    assert found[0] == pytest.approx(float(expected[0]), rel=1e-3)
    for i, (x, y) in enumerate(zip(found, expected, strict=True)):
        assert (x.dtype, x.shape) == (y.dtype, y.shape)
        x, y = x.astype(np.float32), y.astype(np.float32)
        if 0 < i <= (2 if narrow else 1) * weights:
            before = values[donated[i - 1]].astype(np.float32)
            assert np.abs(x - y).mean() < 0.1 * np.abs(x - before).mean(), i
        else:
            assert np.linalg.norm(x - y) <= 0.03 * np.linalg.norm(y), i


@pytest.mark.parametrize("narrow", [False, True])
def test_nvrtc_takes_its_kernels(narrow: bool) -> None:
    made: Any = compile_on_fake(step(narrow)[0].clone())
    assert compiled(module_text([made.cuda]), "sm_90")


@pytest.mark.parametrize("narrow", [False, True])
def test_it_is_one_graph_that_works_in_place(narrow: bool) -> None:
    module, values, donated = step(narrow)
    made: Any = on_numpy(module.clone(), donated)
    machine = FakeMachine()
    there = [machine.fresh(x.shape, x.dtype) for x in values]
    for target, x in zip(there, values, strict=True):
        target[...] = x
    places = [there[i].ctypes.data for i in donated]
    for _ in range(3):
        _, *held = made(*there)
        for i, x in zip(donated, held, strict=True):
            there[i] = x
    assert [x.ctypes.data for x in held] == places
    assert [part.graph is not None for part in made.runner.last.parts] == [True]
