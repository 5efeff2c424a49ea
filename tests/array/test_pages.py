"""What is generated or stated about `mind_array` is as the code and the measurements have it: stubs, notebooks, the README."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mind_array as ma
from mind_array import stubs
from mind_array.notebook import html

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))


@pytest.mark.quick
def test_the_stubs_are_those_of_the_table():
    assert stubs.PAGE.read_text(encoding="utf-8") == stubs.text(), "run: python -m mind_array.stubs"


def run_cell(source: str, names: dict[str, Any]) -> Any:
    """Run a cell as a notebook does; the value of its last expression."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "<cell>", "exec"), names)
    return None if last is None else eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_notebook_runs_and_shows_programs(path: Path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    names: dict[str, Any] = {}
    shown = 0
    for cell in cells:
        if cell["cell_type"] == "code":
            value = run_cell("".join(cell["source"]), names)
            if (show := getattr(value, "_repr_html_", None)) is not None:
                shown += 1
                assert show().startswith(("<pre", "<iframe"))
        assert not cell.get("outputs"), "outputs are not checked in"
    assert shown >= 1
    CHECKS[path.stem](names)


def first_steps(names: dict[str, Any]) -> None:
    np.testing.assert_allclose(names["found"].ndarray, 2 * np.array([[1.0, 2], [3, 4]]).sum(0))
    np.testing.assert_allclose(names["result"].ndarray[:, 0], 2.0 ** np.arange(5))
    assert names["message"].startswith("E1101")


def training(names: dict[str, Any]) -> None:
    assert names["losses"][-1] < 0.3 * names["losses"][0]
    assert names["accuracy"] > 0.9


CHECKS = {"first_steps": first_steps, "training": training}


def test_every_notebook_has_a_check():
    assert {p.stem for p in NOTEBOOKS} == set(CHECKS)


def test_modules_are_shown_as_html():
    assert "ptir.mul" in html(ma.trace(lambda x: x * x, ma.spec(3)))


SHELL = """
import sys, types
shown = {}
formatter = types.SimpleNamespace(for_type=shown.__setitem__)
shell = types.SimpleNamespace(display_formatter=types.SimpleNamespace(formatters={"text/html": formatter}))
sys.modules["IPython"] = types.SimpleNamespace(get_ipython=lambda: shell)
import mind_array as ma
from mind_runtime import Program, compile
module = ma.trace(lambda x: x * x, ma.spec(3), name="<b>")
program = compile(module)
print([kind.__name__ for kind in shown])
text = shown[Program](program)
print("ptir.mul" in shown[type(module)](module), "ptir.mul" in text, "calls of NumPy" in text, "<b>" in text, "&lt;b&gt;" in text)
"""


def test_a_notebook_shows_modules_and_programs():
    done = subprocess.run([sys.executable, "-c", SHELL], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.splitlines() == ["['ModuleOp', 'Program']", "True True True False True"]


def test_the_readme_states_what_was_measured():
    page = (ROOT / "benchmarks" / "results" / "array_programs.md").read_text(encoding="utf-8")
    (row,) = re.findall(r"^\| a training step of two layers, 64 examples \| (.*) \|$", page, re.MULTILINE)
    numbers = [float(cell.replace(",", "")) for cell in row.split(" | ")]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (stated,) = re.findall(r"training step of two layers takes ([\d.]+) µs, JAX's takes ([\d.]+) µs", readme)
    assert [float(s) for s in stated] == [round(numbers[1]), round(numbers[3])]
