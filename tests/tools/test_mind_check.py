"""`mind-check`: its matrix, its exit status, what it says of a wrong executor, and its errors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mind_runtime.agreement import TOLERANCES
from mind_runtime.executors import Executor, numpy_program, register_executor
from tool_runs import mind_check

pytest.importorskip("llvmlite")

ROOT = Path(__file__).parents[2]
CORE = """
func.func @loss(%x: tensor<2x3xf32>, %w: tensor<3xf32>) -> tensor<f32> {
  %0 = mind.mul %x, %w : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %1 = mind.exp %0 : tensor<2x3xf32>
  %2 = mind.sum %1 axes = [0, 1] keepdims = false : (tensor<2x3xf32>) -> tensor<f32>
  func.return %2 : tensor<f32>
}
"""
NAMED = """
module attributes {ptir.spec_version = "ptir.v0.4"} {
func.func @f(%x: tensor<?x3xf32, "B,*">) -> tensor<?x3xf32, "B,*"> {
  %0 = ptir.exp %x : tensor<?x3xf32, "B,*">
  func.return %0 : tensor<?x3xf32, "B,*">
}
}
"""


@pytest.fixture
def off_by_one() -> Iterator[None]:
    """An executor whose results are greater by 1."""

    def program(request: Any) -> Any:
        made = numpy_program(request)
        run = made.execute
        made.execute = lambda arguments, seed=0: run(arguments, seed) + 1
        return made

    register_executor("planted", Executor(program))
    yield
    register_executor("planted", None)


def test_executors_that_agree_end_with_0(tmp_path: Path) -> None:
    (file := tmp_path / "loss.mlir").write_text(CORE)
    done = mind_check(file, "--executors", "numpy,native", "--grad")
    assert (done.status, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0].split() == ["numpy", "native"]
    assert lines[1].split()[:2] == ["numpy", "-"]
    assert float(lines[1].split()[2]) <= 1
    assert lines[2].split() == ["native", "-"]
    assert [line.split(":")[1] for line in lines[3:]] == [" agrees"] * 3


def test_all_executors_are_taken_and_absent_ones_named(tmp_path: Path) -> None:
    (file := tmp_path / "loss.mlir").write_text(CORE)
    done = mind_check(file)
    assert done.status == 0, done.err
    assert "numpy" in done.out.splitlines()[0]
    assert "cupy: not available: E6002 " in done.out or "cupy" in done.out.splitlines()[0]


def test_a_disagreement_is_printed_with_its_op(off_by_one: None, tmp_path: Path) -> None:
    (file := tmp_path / "loss.mlir").write_text(CORE)
    done = mind_check(file, "--executors", "numpy,planted")
    assert (done.status, done.err) == (1, "")
    assert "!" in done.out.splitlines()[1]
    assert "numpy and planted disagree: result 0: " in done.out
    assert "the first op that differs: %" in done.out
    assert f'at loc("{file}":' in done.out


def test_a_special_input_file_and_sizes(tmp_path: Path) -> None:
    (file := tmp_path / "named.mlir").write_text(NAMED)
    np.savez(tmp_path / "in.npz", x=np.array([[np.nan, 1, -np.inf]], np.float32))
    for options in (["--inputs", tmp_path / "in.npz"], ["--size", "B=7"], ["--special", "--seed", "3"]):
        done = mind_check(file, "--executors", "numpy,native", *options)
        assert (done.status, done.err) == (0, ""), done.out


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--executors", "nowhere"], "E6002"),
        (["--executors", "numpy,numpy"], "E7001"),
        (["--function", "other"], "E7003"),
        (["--size", "B"], "E7001"),
        (["--size", "B=-1"], "E7001"),
        (["--size", "B=1"], "E7003"),
        (["--seed", "-1"], "E7001"),
        (["--seed", "x"], "E7001"),
        (["--inputs", "absent.npz"], "E7002"),
        (["--nothing"], "E7001"),
    ],
)
def test_errors_are_coded(options: list[str], code: str, tmp_path: Path) -> None:
    (file := tmp_path / "loss.mlir").write_text(CORE)
    done = mind_check(file, *options)
    assert done.status == 1
    assert f"error[{code}]" in done.err
    assert "Traceback" not in done.err


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "bad.mlir").write_text("func.func @f(")
    for name, code in (("absent.mlir", "E7002"), ("bad.mlir", "E1"), ("name.xyz", "E7002")):
        done = mind_check(tmp_path / name)
        assert (done.status, f"error[{code}" in done.err, "Traceback" in done.err) == (1, True, False), done.err


def test_it_reads_stdin() -> None:
    assert mind_check("-", "--executors", "numpy", stdin=CORE).status == 0


def test_the_page_has_the_table_of_tolerances() -> None:
    page = (ROOT / "docs" / "tools.md").read_text(encoding="utf-8")
    section = page.partition("## mind-check")[2].partition("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| `") and "--" not in line]
    shown = {name.strip("` "): float(value) for names, value in rows for name in names.split(",")}
    assert shown == TOLERANCES
