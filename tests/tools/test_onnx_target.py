"""`mind-opt -t onnx`: a model in a file or a pipe, never on a terminal, and all that has no form in one error."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import numpy as np
import pytest

from mind_dialect.errors import MindError
from mind_lowering.ptir_to_onnx import OnnxTarget
from mind_tools import universe
from mind_tools.mind_opt import main
from tool_runs import mind_opt, mind_run

AXPY = """
func.func @axpy(%a: tensor<f32>, %x: tensor<3xf32>, %y: tensor<3xf32> {mind.name = "the y"}) -> tensor<3xf32> {
  %0 = mind.mul %a, %x : (tensor<f32>, tensor<3xf32>) -> tensor<3xf32>
  %sum = mind.add %0, %y : tensor<3xf32>
  func.return %sum : tensor<3xf32>
}
"""
REFUSED = """
module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @f(%x: tensor<3xf32>) -> tensor<3xf32> {
    %0 = ptir.lgamma %x : tensor<3xf32>
    %1 = ptir.digamma %0 : tensor<3xf32>
    func.return %1 : tensor<3xf32>
  }
}
"""


class Stream(io.TextIOWrapper):
    """A stdout over bytes that may be a terminal."""

    def __init__(self, *, terminal: bool):
        super().__init__(io.BytesIO())
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


def to_stream(file: Path, monkeypatch: pytest.MonkeyPatch, *, terminal: bool) -> bytes:
    stream = Stream(terminal=terminal)
    monkeypatch.setattr(sys, "stdout", stream)
    with pytest.raises(SystemExit) as ended:
        main([str(file), "-t", "onnx"])
    monkeypatch.undo()
    assert (ended.value.code == 0) is not terminal
    return stream.buffer.getvalue()  # type: ignore[attr-defined]


def test_a_file_that_reads_as_the_same_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    onnx = pytest.importorskip("onnx", reason="onnx is not installed")
    (file := tmp_path / "axpy.mlir").write_text(AXPY)
    done = mind_opt(file, "-t", "onnx", "-o", tmp_path / "axpy.onnx")
    assert (done.status, done.out, done.err) == (0, "", "")
    model = onnx.load(tmp_path / "axpy.onnx")
    assert [i.name for i in model.graph.input] == ["a", "x", "the y"]
    given = ["a=2", "x=[1,2,3]", "the y=[1,1,1]"]
    found = [mind_run(path, *given, "--save", tmp_path / f"{path.suffix}.npz") for path in (file, tmp_path / "axpy.onnx")]
    assert [run.status for run in found] == [0, 0], found
    ours, back = (next(iter(np.load(tmp_path / f"{suffix}.npz").values())) for suffix in (".mlir", ".onnx"))
    np.testing.assert_array_equal(ours, back)
    assert to_stream(file, monkeypatch, terminal=False) == (tmp_path / "axpy.onnx").read_bytes()


def test_a_terminal_gets_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    (file := tmp_path / "axpy.mlir").write_text(AXPY)
    assert to_stream(file, monkeypatch, terminal=True) == b""
    assert (
        "error[E7001]: an ONNX model is bytes, not text: write it to a file by mind-opt -t onnx -o FILE"
        in capsys.readouterr().err
    )


def test_a_stream_of_text_and_split_input_are_refused(tmp_path: Path) -> None:
    (file := tmp_path / "axpy.mlir").write_text(AXPY)
    with pytest.raises(MindError, match="E7001"):
        OnnxTarget().emit(None, None, io.StringIO())  # type: ignore[arg-type]
    done = mind_opt(file, "-t", "onnx", "--split-input-file", "-o", tmp_path / "axpy.onnx")
    assert (done.status, (tmp_path / "axpy.onnx").exists()) == (1, False)
    assert "error[E7001]: -t mind-onnx writes one model, expected no --split-input-file" in done.err


def test_all_that_has_no_form_is_one_error_and_no_file(tmp_path: Path) -> None:
    pytest.importorskip("onnx", reason="onnx is not installed")
    (file := tmp_path / "f.mlir").write_text(REFUSED)
    done = mind_opt(file, "-t", "onnx", "-o", tmp_path / "f.onnx")
    assert (done.status, done.err.count("error[E8008]"), (tmp_path / "f.onnx").exists()) == (1, 1, False)
    assert "ptir.lgamma" in done.err
    assert "ptir.digamma" in done.err


def test_which_function(tmp_path: Path) -> None:
    (file := tmp_path / "two.mlir").write_text(AXPY + AXPY.replace("@axpy", "@other"))
    for options, code in (("-t", "onnx"), "E7001"), (("-t", "onnx{function=absent}"), "E7003"):
        done = mind_opt(file, *options, "-o", tmp_path / "out.onnx")
        assert (done.status, f"error[{code}]" in done.err) == (1, True), done.err


def test_the_target_is_the_only_one_that_writes_bytes() -> None:
    assert [name for name, load in universe.TARGETS.items() if hasattr(load(), "emit_bytes")] == ["mind-onnx"]
