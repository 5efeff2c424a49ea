"""load and parse: every form from Python, and what cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest

import mind_runtime
from mind_dialect.build import exp, program, variable
from mind_dialect.errors import MindError, MindParseError
from mind_passes.autodiff import differentiate
from mind_tools.frontends import BINARY_READERS, READERS, SUFFIXES, load, parse
from tool_runs import mind_opt

LOSS = """\
func.func @loss(%x: tensor<2xf32>) -> tensor<f32> {
  %0 = mind.sum %x axes = [] keepdims = false : tensor<2xf32> -> tensor<f32>
  func.return %0 : tensor<f32>
}
"""


def test_every_form_is_read_from_files_and_texts(tmp_path: Path) -> None:
    (tmp_path / "loss.mlir").write_text(LOSS)
    assert str(load(tmp_path / "loss.mlir")) == str(parse(LOSS))
    assert set(SUFFIXES.values()) == {*READERS, *BINARY_READERS}
    for suffix, form in SUFFIXES.items():
        if form in ("stablehlo", *BINARY_READERS):  # no target writes them; tests of their readers do
            continue
        passes = [] if form == "core-ir" else ["--convert-mind-to-ptir"]
        text = mind_opt(*passes, "-t", form, stdin=LOSS).out
        (tmp_path / f"loss.{suffix}").write_text(text)
        (tmp_path / "loss.txt").write_text(text)
        read = load(str(tmp_path / f"loss.{suffix}"))
        assert mind_runtime.compile(read).outputs[0].shape == ()
        assert str(read) == str(load(tmp_path / "loss.txt", form)) == str(parse(text, form))


def test_lenient_reads_ptir_that_states_no_version() -> None:
    text = LOSS.replace("mind.sum %x axes = []", "ptir.reduce %x kind = sum axes = [0]")
    with pytest.raises(MindError, match="E8006"):
        mind_runtime.compile(parse(text))
    assert mind_runtime.compile(parse(text, lenient=True)).outputs[0].shape == ()


def test_what_cannot_be_read_is_coded(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(LOSS)
    (tmp_path / "b.mlir").write_bytes(b"\xff")
    for path, message in (("a.txt", "unknown suffix, expected one of .mlir, .coreir"), ("none.mlir", "No such file"), ("", "")):
        with pytest.raises(MindError, match="E7002") as caught:
            load(tmp_path / path)
        assert message in caught.value.message
    with pytest.raises(MindError, match="E7003: unknown frontend 'caffe', expected one of"):
        parse(LOSS, "caffe")
    with pytest.raises(MindParseError, match="E1001"):
        load(tmp_path / "b.mlir")
    with pytest.raises(MindParseError, match="model:2:8"):
        parse(LOSS.replace("mind.sum", "mind.sun"), name="model")


def test_compile_says_what_it_takes() -> None:
    x = variable("x", "f32", ())
    gradient = differentiate(program("f", x * x))
    for given, hint in (
        (gradient, "found a Gradient; give its .module"),
        (LOSS, r"found a str; mind_tools.frontends has load\("),
        (x * x, r'found an Expression; give program\("f", expression\)'),
        (exp, r"found a function; call it on variables"),
    ):
        with pytest.raises(MindError, match=f"E2001: expected a module, {hint}"):
            mind_runtime.compile(given)  # type: ignore[arg-type]
    assert mind_runtime.compile(gradient.module, "f_grad").outputs[0].shape == ()
