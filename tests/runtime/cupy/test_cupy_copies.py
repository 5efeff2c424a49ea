"""
Asynchronous copies of attention's tiles: what was copied is rubbish until the thread waits, and for others until a barrier.

Each wait and each barrier is taken out in turn, which the emulation must notice: by what it refuses, or by wrong results.
"""

from __future__ import annotations

import re
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mind_runtime
from attention_gradients import attend, causal, gradient, qkv
from cuda_emulation import ORDERS, EmulationError, compiler, nvrtc
from fake_device import FakeDevice
from mind_dialect.program import functions
from mind_lowering.cupy.cuda_cpp import text
from mind_lowering.cupy.launching import CupyKernels
from mind_lowering.cupy.options import CupyOptions
from mind_runtime.on_cupy import CupyProgram

sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks"))

from gpu_report import compiled

pytest.importorskip("ml_dtypes", reason="no ml_dtypes: narrow floats have no arrays to compare with")
CASES: dict[str, Any] = {
    "dense": (qkv("bf16", "2,", 70, 100, 16, 16), attend),
    "no rows for the last keys": (qkv("bf16", "", 40, 150, 16, 16), causal(-1e9)),
}


@lru_cache(maxsize=8)
def program(name: str) -> tuple[Any, list[np.ndarray], list[Any]]:
    """A module, arguments, and what NumPy makes of them."""
    types, body = CASES[name]
    module = gradient(types, body)
    plain = mind_runtime.compile(module)
    rng = np.random.default_rng(0)
    values = [rng.standard_normal(s.shape).astype(s.numpy_dtype) for s in plain.inputs]
    found = plain(*values)
    return module, values, list(found)


def differences(name: str) -> list[float]:
    """How far results are from NumPy's, relative to their norm, whatever order threads run in."""
    module, values, wanted = program(name)
    device = FakeDevice()
    made: Any = CupyProgram(next(iter(functions(module.clone()))), CupyKernels(device), (), 1 << 40, CupyOptions(graph=False))
    assert "mind::attend_narrow" in made.cuda
    found: list[float] = []
    for shift in range(len(ORDERS)):
        device.launches = shift  # which says the orders that the kernels run in
        for x, y in zip(made(*values), wanted, strict=True):
            x, y = (np.asarray(v).astype(np.float32) for v in (x, y))
            found.append(float(np.linalg.norm(x - y) / np.linalg.norm(y)))
    return found


@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_numpy_in_every_order(name: str) -> None:
    compiler()
    assert max(differences(name)) < 0.02


MUTANTS = [
    *(("attention.cuh", pattern, 0) for pattern in (r"copies_arrive\(\);", r"__syncthreads\(\);  //", r"\(now \^ 1\) \* of_k")),
    *(("attention_gradient.cuh", r"copies_arrive\(\);", n) for n in range(3)),
    *(("attention_gradient.cuh", r"__syncthreads\(\);  //", n) for n in range(2)),
    *(("attention_gradient.cuh", rf"\(now \^ 1\) \* of_{x}", 0) for x in "qgkv"),
]


@pytest.mark.parametrize(("file", "pattern", "number"), MUTANTS, ids=[f"{f[:-4]} {p} {n}" for f, p, n in MUTANTS])
def test_a_missing_wait_or_barrier_shows(file: str, pattern: str, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler()
    plain = text._file
    whole = plain(file)
    found = list(re.finditer(pattern, whole))[number]
    new = {"c": "", "_": "//"}.get(pattern[0], found[0].replace("(now ^ 1)", "now"))
    changed = whole[: found.start()] + new + whole[found.end() :]
    monkeypatch.setattr(text, "_file", lambda name: changed if name == file else plain(name))
    worst = 0.0
    for name in CASES:
        try:
            worst = max(worst, *(1.0 if np.isnan(d) else d for d in differences(name)))
        except EmulationError:
            worst = 1.0
    assert worst > 0.02


@pytest.mark.parametrize("architecture", ["80", "90"])
def test_tiles_of_the_heads_of_gpt2_stay_in_registers(architecture: str) -> None:
    nvrtc()
    types, body = qkv("bf16", "2,", 1024, 1024, 64, 64), causal(-1e9)
    found = CupyProgram(next(iter(functions(gradient(types, body)))), CupyKernels(FakeDevice()), (), 1 << 40)
    usage = [
        u for source, _ in text.modules(found.cuda) if "mind::attend" in source for u in compiled(source, architecture).values()
    ]
    assert len(usage) == 3
    assert all(u.spills == 0 and u.registers <= 168 and u.shared < 20 << 10 for u in usage), usage
