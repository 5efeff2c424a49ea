"""Other systems' own parsers and verifiers take our text: that of every op, kind and dtype, and that of models."""

from __future__ import annotations

import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from mind_dialect.program import functions
from mind_lowering.ptir_to_stablehlo import ExportOptions, converted
from mind_lowering.ptir_to_stablehlo.text import printed
from ptir_batching_rows import ROWS
from ptir_programs import regions_module


@cache
def everything(only: str | None = None) -> str:
    """A module with a function for each row and dtype, or for the dtype `only`."""
    found: list[FuncOp] = []
    options = ExportOptions(checks=only is None)
    for row in ROWS:
        for dtype in row.legal():
            if only in (None, dtype.name):
                func = next(functions(row.module(dtype)))
                found.append(converted(func, options, f"f{len(found)}").func)
    found.append(converted(next(functions(regions_module())), options, "regions").func)
    return printed(ModuleOp(found))


def test_jaxlib_verifies_everything() -> None:
    pytest.importorskip("jax", reason="JAX is not installed")
    from mind_runtime.xla.artifact import portable_artifact

    assert len(portable_artifact(everything())) > 10_000


def tool(name: str) -> str:
    """A program of IREE beside this Python, or on the path; or a visible skip."""
    beside = Path(sys.executable).with_name(name)
    if (found := str(beside) if beside.exists() else shutil.which(name)) is None:
        pytest.skip(f"no {name} (pip install iree-base-compiler)")
    return found


def run(command: list[str], text: str) -> None:
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr[:2000]


def test_iree_verifies_everything() -> None:
    run([tool("iree-opt"), "-", "-o", "-"], everything())


def test_iree_converts_what_works_on_f32() -> None:
    """But for scatters of windows, for which it has no form."""
    compiler = tool("iree-compile")
    of_windows = [row for row in ROWS if row.key == "scatter_add" and row.name in ("vector", "windows")]
    kept = [row for row in ROWS if row not in of_windows and not row.key.startswith("scatter_windows")]
    made = [
        converted(next(functions(row.module(dtype))), ExportOptions(), f"f{i}").func
        for i, row in enumerate(kept)
        for dtype in row.legal()
        if dtype.name == "f32"
    ]
    run([compiler, "--compile-to=input", "--iree-input-type=stablehlo", "-", "-o", "-"], printed(ModuleOp(made)))
