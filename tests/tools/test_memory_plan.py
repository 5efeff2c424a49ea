"""`mind-run --memory=FILE.svg`: a picture of the plan that runs, with every temporary at its place and its time."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

import mind_runtime
from mind_lowering.memory_plan import Block, MemoryPlan
from mind_tools.frontends import parse
from tool_runs import mind_run

PROGRAM = """
module attributes {ptir.spec_version = "ptir.v0.4"} {
func.func @f(%x: tensor<?x64xf32, "B,*">, %w: tensor<64x64xf32>) -> tensor<?x64xf32, "B,*"> {
  %"a<b" = ptir.dot_general %x, %w batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0]
    : (tensor<?x64xf32, "B,*">, tensor<64x64xf32>) -> tensor<?x64xf32, "B,*">
  %t = ptir.sort %"a<b" axis = 0 descending = false : tensor<?x64xf32, "B,*">
  %u = ptir.dot_general %t, %w batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0]
    : (tensor<?x64xf32, "B,*">, tensor<64x64xf32>) -> tensor<?x64xf32, "B,*">
  %v = ptir.sort %u axis = 1 descending = false : tensor<?x64xf32, "B,*">
  func.return %v : tensor<?x64xf32, "B,*">
}
}
"""
TARGETS = ["numpy", "native"]
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def program(tmp_path: Path) -> Path:
    (file := tmp_path / "f.mlir").write_text(PROGRAM.replace('%"a<b"', "%a"), encoding="utf-8")
    return file


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("sizes", ["static", "open"])
def test_a_picture_is_written_beside_the_report(target: str, sizes: str, program: Path, tmp_path: Path) -> None:
    if target == "native":
        pytest.importorskip("llvmlite")
    if sizes == "static":
        text = program.read_text(encoding="utf-8").replace('?x64xf32, "B,*"', "32x64xf32")
        program.write_text(text, encoding="utf-8")
    np.savez(tmp_path / "in.npz", x=np.ones((32, 64), np.float32), w=np.ones((64, 64), np.float32))
    picture = tmp_path / "plan.svg"
    done = mind_run(
        program, "--target", target, "--all", tmp_path / "in.npz", "--save", tmp_path / "o.npz", f"--memory={picture}"
    )
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith("memory: planned peak ")
    tips = [title.text or "" for title in ET.parse(picture).iter(f"{SVG}title")]
    assert tips
    assert all(" bytes at " in tip and ", steps " in tip for tip in tips)
    assert sum("8,192 bytes" in tip for tip in tips) >= 2  # each temporary of 32 x 64 f32


def test_native_blocks_lie_in_the_arena_and_share_only_in_place() -> None:
    pytest.importorskip("llvmlite")
    static = PROGRAM.replace('%"a<b"', "%a").replace('?x64xf32, "B,*"', "32x64xf32")
    compiled = mind_runtime.compile(parse(static), target="native")
    plan = compiled.arena_plan(np.ones((32, 64), np.float32), np.ones((64, 64), np.float32))
    assert plan is not None
    assert plan.blocks
    assert max(b.offset + b.bytes for b in plan.blocks) <= plan.bytes
    for a, b in combinations(plan.blocks, 2):
        together = min(a.last, b.last) - max(a.first, b.first)
        apart = a.offset + a.bytes <= b.offset or b.offset + b.bytes <= a.offset
        assert apart or together < 0 or (together == 0 and a.offset == b.offset), (a, b)


def test_names_are_escaped_and_rectangles_are_in_proportion() -> None:
    plan = MemoryPlan('@f "<&>"', 100, (Block("<a & b>", 0, 50, 0, 1), Block("c", 50, 25, 1, 3)))
    root = ET.fromstring(plan.svg())
    assert root.get("aria-label") == '@f "<&>"'
    tips = [title.text for title in root.iter(f"{SVG}title")]
    assert tips == ["<a & b>: 50 bytes at 0, steps 0 to 1", "c: 25 bytes at 50, steps 1 to 3"]
    first, second = [[float(r.get(n, "nan")) for n in ("x", "y", "width", "height")] for r in list(root.iter(f"{SVG}rect"))[1:]]
    assert first[3] == pytest.approx(2 * second[3], abs=0.2)
    assert second[2] == pytest.approx(1.5 * first[2], abs=0.2)
    assert second[1] + second[3] == pytest.approx(first[1], abs=0.2)  # it begins where the first one ends


def test_a_plan_without_blocks_is_a_picture_too() -> None:
    assert not list(ET.fromstring(MemoryPlan("@f", 0, ()).svg()).iter(f"{SVG}title"))


def test_options_that_are_wrong(program: Path, tmp_path: Path) -> None:
    done = mind_run(program, "--all", "random:0", f"--memory={tmp_path / 'absent' / 'plan.svg'}")
    assert done.status == 1
    assert "error[E7" in done.err
    assert "Traceback" not in done.err


def test_xla_plans_by_itself(tmp_path: Path) -> None:
    pytest.importorskip("jax")
    (file := tmp_path / "f.mlir").write_text(PROGRAM.replace('%"a<b"', "%a").replace('?x64xf32, "B,*"', "4x64xf32"))
    done = mind_run(file, "--target", "xla", "--all", "random:0", f"--memory={tmp_path / 'plan.svg'}")
    assert (done.status, "error[E7001]" in done.err, (tmp_path / "plan.svg").exists()) == (1, True, False)
