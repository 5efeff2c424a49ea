"""A real mlir-opt reads the generic form of our modules and gives back the same program."""

from __future__ import annotations

import io
import re
import subprocess
from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.printer import Printer

from programs import parse

FILECHECK = Path(__file__).parents[1] / "filecheck"
PROGRAM = r"""
func.func @f(%x: tensor<2x3xf32> {mind.name = "a \"b\" \\ c"}, %w: tensor<3xf32>) -> (tensor<f32>, tensor<2x2xf32>)
    attributes {mind.profile = "core-v1.1"} {
  %0 = mind.mul %x, %w : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %1 = mind.sum %0 axes = [0, 1] keepdims = false : tensor<2x3xf32> -> tensor<f32>
  %2 = mind.constant [[1.0, nan], [-0.0, 1.0e-07]] : tensor<2x2xf32>
  %3 = mind.constant [[-inf, inf]] : tensor<1x2xf64>
  %4 = mind.constant fill 1 : tensor<20x20xi32>
  %5 = mind.const_f32 -inf : tensor<f32>
  %6 = mind.const_f64 nan : tensor<f64>
  %7 = mind.const_i64 -9223372036854775808 : tensor<i64>
  %8 = mind.slice %x starts = [0, 1] ends = [2, 3] steps = [1, 1] : tensor<2x3xf32> -> tensor<2x2xf32>
  func.return %1, %8 : tensor<f32>, tensor<2x2xf32>
}
"""


def generic(module: ModuleOp) -> str:
    """The generic form, which MLIR reads whatever the dialect."""
    stream = io.StringIO()
    Printer(stream, print_generic_format=True).print_op(module)
    return stream.getvalue()


FILES = sorted(f for f in FILECHECK.glob("**/*.mlir") if re.search("RUN: +MIND_ROUNDTRIP", f.read_text(encoding="utf-8")))
"""The FileCheck files of whole valid programs: every op is in one of them."""


@pytest.mark.parametrize("text", [PROGRAM, *FILES], ids=lambda t: "here" if isinstance(t, str) else str(t.relative_to(FILECHECK)))
def test_mlir_reads_and_returns_the_same_program(text: str | Path, mlir_opt: str) -> None:
    module = parse(text if isinstance(text, str) else text.read_text(encoding="utf-8"))
    command = [mlir_opt, "--allow-unregistered-dialect", "--mlir-print-op-generic"]
    result = subprocess.run(command, input=generic(module), text=True, capture_output=True, check=False)
    assert result.returncode == 0, result.stderr
    returned = parse(result.stdout)
    returned.verify()
    assert returned.is_structurally_equivalent(module)


def test_a_changed_constant_is_another_program() -> None:
    assert not parse(PROGRAM.replace("1.0e-07", "2.0e-07")).is_structurally_equivalent(parse(PROGRAM))
