"""Lines along memory that are walked or written across it: squares are transposed in registers, and nothing is gathered."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from mind_dialect import ptir
from mind_dialect.ptir.types import DTYPES
from mind_lowering.native import TARGETS
from mind_lowering.native.program import lower, prepared
from mind_runtime.native import jit
from native_same import block, same, way
from ptir_evaluator import function_of
from ptir_forms import program

__all__ = ["way"]

EDGES = [(0, 5), (1, 40), (2, 1), (3, 17), (7, 8), (8, 7), (9, 16), (15, 15), (16, 64), (17, 65), (33, 63), (65, 9), (130, 33)]
SCANS = {
    "sum": lambda v, **flags: ptir.CumulativeSumOp(v, **flags).result,
    **{kind: lambda v, kind=kind, **flags: ptir.CumulativeOp(v, kind=kind, **flags).result for kind in ("prod", "max", "min")},
}
"""By kind."""


def gathers(module: Any, isa: str) -> int:
    """The gathers and scatters in a program's text, of which code for the target is made."""
    text = lower(prepared(function_of(module), TARGETS[isa]), TARGETS[isa]).text
    jit.assembly(text, TARGETS[isa])
    return sum("call" in line and ("masked.gather" in line or "masked.scatter" in line) for line in text.splitlines())


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(("exclusive", "reverse"), list(itertools.product((False, True), repeat=2)))
def test_scans_of_lines_of_all_lengths(exclusive: bool, reverse: bool) -> None:
    for shape, (kind, scan) in zip(EDGES, itertools.cycle(SCANS.items())):
        x = block(DTYPES["f32"], shape, special=kind != "prod")
        same(lambda v, scan=scan: scan(v, axis=1, exclusive=exclusive, reverse=reverse), x)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("dtype", ["bf16", "f64", "si8", "ui16", "si64"])
def test_scans_of_lines_of_other_dtypes(dtype: str) -> None:
    x = block(DTYPES[dtype], (3, 19, 37), special=True)
    same(lambda v: ptir.CumulativeSumOp(v, axis=2, exclusive=False, reverse=True).result, x)
    same(lambda v: ptir.CumulativeOp(v, kind="max", axis=-1, exclusive=True, reverse=False).result, x)


def test_an_exclusive_scan_of_lines_begins_with_zero_and_keeps_negative_zeros() -> None:
    x = np.full((9, 21), -0.0, np.float32)
    same(lambda v: ptir.CumulativeSumOp(v, axis=1, exclusive=True, reverse=False).result, x)


@pytest.mark.parametrize("isa", TARGETS)
@pytest.mark.parametrize("dtype", ["f32", "f64", "si8"])
def test_scans_of_lines_gather_nothing(dtype: str, isa: str) -> None:
    def scan(v: Any, axis: int) -> Any:
        return [ptir.CumulativeSumOp(v, axis=axis, exclusive=False, reverse=False).result]

    assert gathers(program(f"{dtype}[70,90]", lambda v: scan(v, 1)), isa) == 0
    assert gathers(program(f"{dtype}[70,90]", lambda v: scan(v, 0)), isa) == 0
    reversed_lines = program(f"{dtype}[70,90]", lambda v: scan(ptir.ReverseOp(v, axes=(1,)).result, 1))
    assert gathers(reversed_lines, isa) > 0
