"""A sample of the harnesses that come with JAX: values, and our reverse mode of the imported programs against JAX's."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("jax", reason="JAX is not installed (make test-all installs it)")

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
GROUPS = (
    *("acos", "broadcast_in_dim", "complex", "cummax", "custom_linear_solve", "div", "dynamic_update_slice", "erf_inv", "fft"),
    *("integer_pow", "random_uniform", "reduce_max", "sort", "top_k"),
)


@pytest.fixture
def judging(monkeypatch: pytest.MonkeyPatch) -> Any:
    """benchmarks/jax_harnesses.py as a module, where a script would find what it imports."""
    import jax

    monkeypatch.syspath_prepend(str(BENCHMARKS))
    wide = jax.config.jax_enable_x64
    yield importlib.import_module("jax_harnesses")
    jax.config.update("jax_enable_x64", wide)


def test_none_of_a_sample_is_wrong(judging: Any) -> None:
    chosen = [h for h in judging.harnesses(visible=True, most=1) if h.group_name in GROUPS]
    assert len(chosen) >= 10
    passed: list[str] = []
    for harness in chosen:
        case = judging.run_case(harness, ["numpy", "native"])
        for key, outcome in case.outcomes.items():
            assert outcome.status != "wrong", (harness.fullname, key, outcome.reasons)
            passed += [key] if outcome.status == "passed" else []
    assert {"values numpy", "values native", "VJPs numpy", "VJPs native"} <= set(passed)
