"""The plug-in: light, complete, and every pass and target works from stock xdsl-opt."""

from __future__ import annotations

import importlib.metadata
import json
import shutil
import subprocess
import sys

import pytest
from xdsl.passes import ModulePass, PassPipeline
from xdsl.utils.target import Target

import forked_tools
from mind_dialect import Mind
from mind_tools import universe
from programs import parse

ALLOWED = {"mind_tools", "mind_tools.universe"}
PROBE = """
import sys
from xdsl.universe import Universe
before = set(sys.modules)
import mind_tools.universe
import json
print(json.dumps(sorted(set(sys.modules) - before)))
"""
PROGRAM = """
func.func @f(%x: tensor<3xf32>) -> tensor<f32> {
  %c = mind.constant [nan, -inf, -0.0] : tensor<3xf32>
  %0 = mind.mul %x, %c : tensor<3xf32>
  %1 = mind.sum %0 axes = [] keepdims = false : tensor<3xf32> -> tensor<f32>
  func.return %1 : tensor<f32>
}
"""
PTIR_PROGRAM = """
module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @f(%x: tensor<3xf32>) -> tensor<3xf32> {
    %0 = ptir.exp %x : tensor<3xf32>
    func.return %0 : tensor<3xf32>
  }
}
"""


def _xdsl_opt(*args: str, stdin: str = PROGRAM) -> str:
    command = [shutil.which("xdsl-opt", path=forked_tools.path()) or "xdsl-opt", *args]
    result = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_importing_the_plug_in_imports_nothing_else_of_ours_and_nothing_heavy() -> None:
    """A failing or slow plug-in hurts every xdsl-opt of its user."""
    result = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, check=True)
    new = set(json.loads(result.stdout))
    assert {name for name in new if name.startswith("mind_")} == ALLOWED
    assert not {name.partition(".")[0] for name in new} & {"numpy", "cupy", "jax", "torch", "hypothesis", "scipy"}


def test_the_entry_point_is_ours() -> None:
    (entry,) = [e for e in importlib.metadata.entry_points(group="xdsl.universe") if e.name == "mind"]
    assert entry.load() is universe.MIND_UNIVERSE


def test_every_name_leads_to_what_bears_it() -> None:
    for name, load in universe.DIALECTS.items():
        assert load().name == name
    for name, load in universe.PASSES.items():
        assert issubclass(load(), ModulePass)
        assert load().name == name
    for name, load in universe.TARGETS.items():
        assert issubclass(load(), Target)
        assert load().name == name
    assert universe.DIALECTS["mind"]() is Mind


def test_names_do_not_claim_what_others_may_want() -> None:
    assert all(name.startswith("mind-") for name in (*universe.PASSES, *universe.TARGETS))


def test_for_embedding() -> None:
    passes = universe.get_all_passes()
    assert passes == universe.PASSES
    assert passes is not universe.PASSES
    assert universe.get_all_targets() == universe.TARGETS
    pipeline = PassPipeline.parse_spec(passes, 'mind-autodiff{function="f"},mind-canonicalize')
    assert [p.name for p in pipeline.passes] == ["mind-autodiff", "mind-canonicalize"]


@pytest.mark.parametrize("name", universe.PASSES)
def test_xdsl_opt_runs_every_pass(name: str) -> None:
    of_ptir_alone = name in ("mind-jvp", "mind-vectorize")
    assert "func.func @f" in _xdsl_opt("-p", name, stdin=PTIR_PROGRAM if of_ptir_alone else PROGRAM)


TEXTUAL = [name for name, load in universe.TARGETS.items() if not hasattr(load(), "emit_bytes")]


@pytest.mark.parametrize("name", TEXTUAL)
def test_xdsl_opt_knows_every_target(name: str) -> None:
    assert _xdsl_opt("-t", name, stdin=PTIR_PROGRAM if "-ptir-" in name else PROGRAM)


@pytest.mark.parametrize("generic", [(), ("--print-op-generic",)], ids=["custom", "generic"])
def test_stock_xdsl_opt_round_trips_our_dialect(generic: tuple[str, ...]) -> None:
    once = _xdsl_opt(*generic)
    assert _xdsl_opt(*generic, stdin=once) == once
    assert parse(once).is_structurally_equivalent(parse(PROGRAM))
    if not generic:
        assert "[nan, -inf, -0.0]" in once
