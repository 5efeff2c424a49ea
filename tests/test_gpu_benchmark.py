"""The benchmark of the CuPy target, tried out where there is no GPU: tiny sizes, the NumPy target in place of ours."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"
SIDES: dict[str, tuple[str, str, dict[str, str]]] = {
    "ours": ("ours, cupy", "by_ours", {"SIDE_TARGET": "numpy"}),
    "torch": ("PyTorch", "by_torch", {}),
    "jax": ("JAX", "by_jax", {}),
}


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The benchmark as a module."""
    pytest.importorskip("psutil", reason="no psutil: benchmarks are not run")
    pytest.importorskip("matplotlib", reason="no matplotlib: benchmarks are not run")
    pytest.importorskip("ml_dtypes", reason="no ml_dtypes: no arrays of bf16")
    monkeypatch.syspath_prepend(str(FOLDER))
    before = set(sys.modules)
    import gpu as module

    yield module
    for name in set(sys.modules) - before:
        if name.split(".")[0] in ("gpu", "peers"):
            del sys.modules[name]


def test_every_workload_runs_is_kept_and_goes_on(gpu: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--small", "--rounds", "1", "--seconds", "0.001", "--out", str(tmp_path), "--sides", "ours"]
    assert gpu.main([*options, "--minutes", "0"], SIDES) == 3
    assert "left for another run: tiny" in capsys.readouterr().out
    first, second = list(gpu.GPU_WORKLOADS)[:2]
    assert gpu.main([*options, "--only", first], SIDES) == 0
    kept = json.loads((tmp_path / "gpu.json").read_text())["every"][first]
    assert gpu.main([*options, "--only", first, second], SIDES) == 0
    held = json.loads((tmp_path / "gpu.json").read_text())["every"]
    assert held[first] == kept
    assert set(held) == {first, second}
    assert gpu.main(options, SIDES) == 0
    held = json.loads((tmp_path / "gpu.json").read_text())
    assert set(held["every"]) == set(gpu.GPU_WORKLOADS)
    assert not any(held["failures"].values()), held["failures"]
    table = (tmp_path / "gpu.md").read_text()
    assert all(w.title in table for w in gpu.GPU_WORKLOADS.values())


def test_the_sides_agree(gpu: Any, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="no PyTorch: no peer")
    pytest.importorskip("jax", reason="no JAX: no peer")
    only = ["layer_norm_gradient", "gpt2_decode_bf16", "gpt2_prefill", "gpt2_train_bf16"]
    options = ["--small", "--rounds", "1", "--seconds", "0.001", "--out", str(tmp_path), "--sides", *SIDES, "--only", *only]
    assert gpu.main(options, SIDES) == 0
    held = json.loads((tmp_path / "gpu.json").read_text())
    assert not any(held["failures"].values()), held["failures"]
    assert all(len(sides) == len(SIDES) for sides in held["every"].values())


def test_without_a_gpu_nothing_is_measured(gpu: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if gpu.machine() is not None:
        pytest.skip("there is a GPU")
    assert gpu.main(["--out", str(tmp_path)]) == 1
    assert "no GPU" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())
