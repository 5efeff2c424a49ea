"""Who provides the dialect called `shape`: our tools always, the plug-in only while nobody else does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
%a, %b = "test.op"() : () -> (!shape.type, !shape.size)
%0 = shape.join %a, %a : !shape.type
%1 = shape.add %b, %b : !shape.size, !shape.size -> !shape.size
"""
RIVAL = """
from xdsl.ir import Dialect, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import IRDLOperation, irdl_attr_definition, irdl_op_definition
from xdsl.universe import Universe

@irdl_op_definition
class Op(IRDLOperation):
    name = "shape.rival"
    assembly_format = "attr-dict"

UNIVERSE = Universe(all_dialects={"shape": lambda: Dialect("shape", [Op], [])})
"""
FAILING = "raise RuntimeError('this plug-in is broken')"
TIMID = """
from importlib.metadata import entry_points
from xdsl.ir import Dialect
from xdsl.universe import Universe

others = [p for p in entry_points(group="xdsl.universe") if not p.value.startswith("rival_plug_in")]
taken = any("shape" in p.load().all_dialects for p in others)
UNIVERSE = Universe(all_dialects={} if taken else {"shape": lambda: Dialect("shape", [], [])})
"""


def run(tool: str, program: str, path: Path | None = None) -> subprocess.CompletedProcess[str]:
    """A tool, with another plug-in from `path` in its environment."""
    environment = os.environ | ({} if path is None else {"PYTHONPATH": str(path)})
    command = [Path(sys.executable).with_name(tool)]
    return subprocess.run(command, input=program, capture_output=True, text=True, timeout=120, check=False, env=environment)


def plug_in(path: Path, text: str) -> Path:
    """Install a plug-in into a folder."""
    (path / "rival_plug_in.py").write_text(text, encoding="utf-8")
    info = path / "rival-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: rival\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("[xdsl.universe]\nrival = rival_plug_in:UNIVERSE\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("tool", ["xdsl-opt", "mind-opt"])
def test_ours_is_there_when_nobody_has_another(tool: str) -> None:
    result = run(tool, PROGRAM)
    assert result.returncode == 0, result.stderr
    assert "shape.join %a, %a : !shape.shape" in result.stdout


def test_another_dialect_of_that_name_has_the_plug_in_and_ours_the_tool(tmp_path: Path) -> None:
    path = plug_in(tmp_path, RIVAL)
    assert "shape.rival" in run("xdsl-opt", "shape.rival", path).stdout
    assert run("xdsl-opt", PROGRAM, path).returncode != 0
    result = run("mind-opt", PROGRAM, path)
    assert result.returncode == 0, result.stderr
    assert "shape.rival" in run("mind-opt", "shape.rival", path).stderr


def test_two_timid_plug_ins_agree_who_has_it(tmp_path: Path) -> None:
    path = plug_in(tmp_path, TIMID)
    result = run("mind-opt", PROGRAM, path)
    assert result.returncode == 0, result.stderr


def test_we_do_not_hide_that_another_plug_in_is_broken(tmp_path: Path) -> None:
    result = run("xdsl-opt", PROGRAM, plug_in(tmp_path, FAILING))
    assert result.returncode != 0
    assert "this plug-in is broken" in result.stderr
