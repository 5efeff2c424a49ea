"""The embedding example: our pass inside a pipeline of xDSL's own, the result run by xDSL's interpreter."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from mind_dialect.program import functions

FILE = Path(__file__).parents[1] / "examples" / "foreign_flow.py"


@pytest.fixture(scope="module")
def example() -> ModuleType:
    """The example as a module."""
    spec = importlib.util.spec_from_file_location("foreign_flow", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_descent_finds_the_least_squares_solution(example: ModuleType) -> None:
    x, y = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [2.0, -1.0]]), np.random.default_rng(0).normal(size=4)
    solution, *_ = np.linalg.lstsq(x, y, rcond=None)
    np.testing.assert_allclose(example.fit(example.compiled(), x, y), solution, atol=1e-6)


def test_their_passes_move_our_ops(example: ModuleType) -> None:
    """Loop-invariant code motion takes our constant out of the loop: our ops are pure and say so."""
    fit = next(f for f in functions(example.compiled()) if f.sym_name.data == "fit")
    assert [op.name for op in fit.body.block.ops if op.name.startswith("mind.")] == ["mind.const_f64"]


def test_it_runs_as_a_program(example: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    example.main()
    assert capsys.readouterr().out.splitlines()[-1] == "fitted [ 3. -2.]"
