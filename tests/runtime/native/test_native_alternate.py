"""Every other element on the native target: two vectors of neighbours and a shuffle, not a gather; scatters without far lanes."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import mind_runtime
from machines import RUNNABLE
from mind_dialect import ptir
from mind_dialect.ptir.types import SI32, known_extents
from mind_lowering.native.host import CHECKS_VARIABLE, ISA_VARIABLE
from mind_lowering.native.program import lower, prepared
from mind_lowering.native.target_info import TARGETS
from mind_lowering.ptir_kernels.formats import array_dtype
from ptir_evaluator import function_of
from ptir_forms import program


def pool(x: Any, step: int = 2) -> Any:
    """A max pool along the last axis, whose lanes run along windows."""
    places = {"window_dims": (1, 3), "strides": (1, step), "padding": ((0, 0), (0, 0)), "window_dilation": (1, 1)}
    index = ptir.WindowArgOp(x, kind="max", output_dtype=SI32, **places).result
    return ptir.TakeOp(ptir.ReshapeOp(x, new_shape=(math.prod(known_extents(x.type)),)).result, index).result


def gathers(module: Any, isa: str) -> int:
    text = lower(prepared(function_of(module), TARGETS[isa]), TARGETS[isa]).text
    return sum("call" in line and "masked.gather" in line for line in text.splitlines())


@pytest.mark.parametrize("isa", ["avx512", "avx2", "baseline", "neon"])
def test_no_gathers(isa: str) -> None:
    """Neither for whole vectors nor for the rest of a row; far elements are gathered."""
    assert gathers(program("f32[8,201]", pool), isa) == 0
    assert gathers(program("f32[8,201]", lambda x: pool(x, step=9)), isa) > 0


@pytest.mark.parametrize("dtype", ["f32", "f64", "f16", "bf16", "si8", "ui8", "si16", "si32", "si64"])
@pytest.mark.parametrize("isa", RUNNABLE)
def test_values(isa: str, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of all lengths, with checks of what is read."""
    monkeypatch.setenv(ISA_VARIABLE, isa)
    monkeypatch.setenv(CHECKS_VARIABLE, "1")
    rng = np.random.default_rng(0)
    for n in (3, 4, 9, 17, 33, 34, 63, 70, 131):
        module = program(f"{dtype}[3,{n}]", pool)
        x = rng.integers(0, 100, (3, n)).astype(array_dtype(dtype))
        found, expected = (mind_runtime.compile(module, target=target)(x) for target in ("native", "numpy"))
        assert found.tobytes() == expected.tobytes()


def test_nothing_beyond_an_array_is_read() -> None:
    script = Path(__file__).parents[2] / "support" / "native_guarded_steps.py"
    ran = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, (ran.returncode, ran.stderr[-2000:])


@pytest.mark.parametrize("kind", ["add", "max", "replace"])
@pytest.mark.parametrize("isa", RUNNABLE)
def test_updates_of_rows(isa: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of equal indices in a row, updates are combined in their order; each row is a unit of its own, read along its memory."""
    monkeypatch.setenv(ISA_VARIABLE, isa)
    monkeypatch.setenv(CHECKS_VARIABLE, "1")

    def body(x: Any, index: Any, updates: Any) -> Any:
        return ptir.ScatterReduceOp(x, index, updates, kind=kind, axis=2).result

    module = program("f32[3,5,40] si64[3,5,70] f32[3,5,70]", body)
    rng = np.random.default_rng(1)
    x, updates = rng.standard_normal((3, 5, 40)).astype(np.float32), rng.standard_normal((3, 5, 70)).astype(np.float32)
    index = rng.integers(0, 40, (3, 5, 70))
    found = mind_runtime.compile(module, target="native")(x, index, updates)
    expected = x.copy()
    for at in np.ndindex(index.shape):
        place, new = (*at[:2], index[at]), updates[at]
        expected[place] = {"add": expected[place] + new, "max": max(expected[place], new), "replace": new}[kind]
    assert found.tobytes() == expected.tobytes()
    assert gathers(module, isa) == 0
