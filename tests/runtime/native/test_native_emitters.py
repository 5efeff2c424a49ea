"""Emitters of kernels are loaded on first use: each row of the table names one, and a small program loads few."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys

import pytest

from mind_lowering.native.codegen import EMIT, emitter
from mind_lowering.native.steps import NativeStep

PROGRAM = """
import sys
import mind_array as ma
import mind_runtime
import numpy as np

x = np.linspace(0, 1, 8, dtype=np.float32)
module = ma.trace(lambda x: ma.exp(x) * x, ma.spec(x.shape, x.dtype, name="x"))
program = mind_runtime.compile(module, target="native")
assert np.allclose(program(x), np.exp(x) * x)
print(*sorted(name for name in sys.modules if name.startswith("mind_lowering.native.")))
"""


@pytest.mark.quick
@pytest.mark.parametrize("kind", EMIT, ids=lambda kind: kind.__name__)
def test_each_row_names_an_emitter(kind: type[NativeStep]) -> None:
    assert list(inspect.signature(emitter(kind)).parameters)[:2] == ["f", "host"]
    assert len(inspect.signature(emitter(kind)).parameters) == 4


def test_a_small_program_loads_no_emitter_of_others() -> None:
    environment = {**os.environ, "MIND_CACHE_DIR": ""}
    command = [sys.executable, "-c", PROGRAM]
    loaded = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True, env=environment)
    names = set(loaded.stdout.split())
    used = {f"mind_lowering.native.{name.rpartition('.')[0]}" for name in EMIT.values()} & names
    assert "mind_lowering.native.crossed" in used
    absent = (
        "products.emission",
        "convolutions.emission",
        "rows.emission",
        "attention_kernel",
        "lane_matrices",
        "sorts",
        "scans",
    )
    assert not names & {f"mind_lowering.native.{name}" for name in absent}
