"""`--lenient`: PTIR written by hand states no version of its contract, and both tools take it for ours."""

from __future__ import annotations

import pytest

from mind_dialect.ptir_program import SPEC_VERSION
from tool_runs import mind_opt, mind_run

SNIPPET = """\
func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = ptir.neg %x : tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
"""
STATED = f'builtin.module attributes {{ptir.spec_version = "{SPEC_VERSION}"}} {{'


@pytest.mark.parametrize("tool", [mind_opt, mind_run])
def test_a_missing_version_is_refused_unless_lenient(tool) -> None:
    assert tool(stdin=SNIPPET).err.startswith("error[E8006]: the module around ptir.neg: ptir.spec_version is nothing")
    assert "E8006" not in tool("--lenient", stdin=SNIPPET).err


def test_a_missing_version_is_said_at_its_place_and_how_to_state_it() -> None:
    assert " --> stdin:2:8\n" in mind_opt(stdin=SNIPPET).err
    assert 'begin with module attributes {ptir.spec_version = "ptir.v0.4"} {' in mind_opt(stdin=SNIPPET).err
    assert " --> stdin:2:1\n" in mind_opt(stdin=f"\nbuiltin.module {{\n{SNIPPET}}}").err


@pytest.mark.parametrize("target", ["ptir-json", "ptir-text", "ptir-snippet"])
def test_core_ir_is_told_what_makes_ptir_of_it(target: str) -> None:
    text = SNIPPET.replace("ptir", "mind")
    refused = mind_opt("-t", target, stdin=text).err
    assert "error[E4000]: mind.neg is an op of Core IR, expected PTIR, which the pass mind-convert-to-ptir makes" in refused
    assert " --> stdin:2:8\n" in refused
    assert mind_opt("--convert-mind-to-ptir", "-t", target, stdin=text).err == ""


def test_what_a_lenient_run_prints_states_the_version() -> None:
    lenient = mind_opt("--lenient", "--cse", stdin=SNIPPET)
    assert (lenient.status, lenient.err) == (0, "")
    assert lenient.out.startswith(STATED)
    assert mind_opt(stdin=lenient.out) == lenient


@pytest.mark.parametrize("tool", [mind_opt, mind_run])
@pytest.mark.parametrize("inner", [False, True])
def test_another_version_is_refused_all_the_same(tool, inner: bool) -> None:
    other = STATED.replace(SPEC_VERSION, "ptir.v0.5") + SNIPPET + "}"
    result = tool("--lenient", stdin=f"builtin.module {{ {other} }}" if inner else other)
    assert result.err.startswith("error[E8006]")
    assert result.status == 1


def test_a_module_without_ptir_gets_no_version() -> None:
    core = SNIPPET.replace("ptir", "mind")
    assert mind_opt("--lenient", stdin=core) == mind_opt(stdin=core)
