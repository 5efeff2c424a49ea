"""Squares of vectors that are transposed in registers, and copies through them that one function does for a module."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest

from mind_lowering.native import TARGETS
from mind_lowering.native.ir import LlvmModule
from mind_lowering.native.lanes import Lanes
from mind_lowering.native.program import lower, prepared
from mind_lowering.native.transposes import transposed
from native_control_programs import across
from ptir_evaluator import function_of
from ptir_forms import program

SHUFFLE = re.compile(r"  (\S+) = shufflevector <\d+ x \w+> (\S+), <\d+ x \w+> (\S+), <\d+ x i32> <(.*)>")


@pytest.mark.parametrize("width", [1, 2, 4, 8, 16, 32])
@pytest.mark.parametrize("type", ["float", "double", "i8", "i16", "i32", "i64"])
def test_columns_of_squares(type: str, width: int) -> None:
    """Shuffles are run on the numbers of elements: column `c` has those of place `c` of each row."""
    square = np.arange(width * width).reshape(width, width)
    f = LlvmModule("x").function("f", "void", [])
    columns = transposed(Lanes(f, TARGETS["avx512"], width), type, [f"%row{i}" for i in range(width)])
    values = {f"%row{i}": list(row) for i, row in enumerate(square)}
    for line in f.lines:
        match = SHUFFLE.fullmatch(line)
        assert match is not None, line
        name, a, b, mask = match.groups()
        values[name] = [(values[a] + values[b])[int(lane.split()[1])] for lane in mask.split(", ")]
    assert np.array_equal([values[c] for c in columns], square.T)
    assert len(f.lines) == width * (width.bit_length() - 1)


@pytest.mark.parametrize("isa", TARGETS)
def test_panels_of_many_sizes_share_a_function(isa: str) -> None:
    """Panels of weights that lie across differ in numbers alone, so a program has as much code for many as for one."""
    sizes = [64, 128, 192, 256]
    types = ["f32[7,64]", *(f"f32[{n},{m}]" for m, n in itertools.pairwise(sizes))]
    module = program(" ".join(types), lambda x, a, b, c: [across(across(across(x, a), b), c)])
    text = lower(prepared(function_of(module), TARGETS[isa]), TARGETS[isa], fixed=(1, 2, 3)).text
    functions = re.findall(r"^define internal .*?^}", text, re.MULTILINE | re.DOTALL)
    panels = [function for function in functions if "panels" in function.partition("(")[0]]
    assert len(panels) == 3
    assert all("shufflevector" not in function for function in panels)
    assert text.count("define internal void @squares.") == 1
    assert text.count("call void @squares.") >= 3
