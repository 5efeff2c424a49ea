"""What runs the tests on a GPU, tried out without one: slices, what is kept, what is left, what is said."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PATH = Path(__file__).with_name("on_gpu.py")


@pytest.fixture
def runner(monkeypatch: pytest.MonkeyPatch) -> Any:
    spec = importlib.util.spec_from_file_location("on_gpu", PATH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "on_gpu", module)
    spec.loader.exec_module(module)
    return module


@pytest.mark.quick
def test_every_file_of_tests_is_in_a_slice(runner: Any) -> None:
    names = {s.name for s in runner.slices()}
    files = {p.stem for p in (PATH.parent / "runtime" / "cupy").glob("test_*.py")}
    assert files <= names
    assert any(n.startswith("memcheck test_cupy") for n in names)
    assert any(n.startswith("racecheck test_cupy") for n in names)
    assert all((PATH.parents[1] / test).exists() for s in runner.slices() for test in s.tests)


def test_without_a_gpu_it_says_what_is_skipped(
    runner: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(runner, "gpu", lambda: None)
    assert runner.main(["--kept", str(tmp_path / "kept.json")]) == 2
    assert "SKIPPED" in capsys.readouterr().out


def test_runs_go_on_where_the_last_one_stopped(
    runner: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept, ran = tmp_path / "kept.json", list[str]()
    monkeypatch.setattr(runner, "gpu", lambda: "a GPU")
    monkeypatch.setattr(runner, "slices", lambda: [runner.Slice(n, ()) for n in "abc"])

    def run(part: Any) -> dict[str, object]:
        ran.append(part.name)
        return {"status": int(part.name == "b" and len(ran) < 4), "seconds": 1, "said": "1 passed"}

    monkeypatch.setattr(runner, "run", run)
    assert runner.main(["--kept", str(kept), "--minutes", "-1"]) == 3
    assert ran == []
    assert runner.main(["--kept", str(kept)]) == 1
    assert "b: FAILED" in capsys.readouterr().out
    assert runner.main(["--kept", str(kept)]) == 0
    assert ran == ["a", "b", "c", "b"]
    assert json.loads(kept.read_text())["a"]["on"] == "a GPU"


def test_a_slice_is_a_process_of_pytest(runner: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    test = tmp_path / "test_it.py"
    test.write_text("import os, mind_runtime\n\ndef test_it():\n    assert os.environ['MIND_TEST_GPU'] == '1'\n")
    found = runner.run(runner.Slice("it", (str(test),)))
    assert found["status"] == 0, found["said"]
    assert "1 passed" in found["said"]
    command = runner.Slice("it", ("x",), "racecheck").command()
    assert command[:3] == ["compute-sanitizer", "--tool", "racecheck"]


def test_the_makefile_has_both() -> None:
    for target, text in (("test-gpu", "on_gpu.py"), ("bench-gpu", "gpu.py")):
        done = subprocess.run(["make", "-n", target], cwd=PATH.parents[1], capture_output=True, text=True, check=False)
        assert text in done.stdout, done.stderr
