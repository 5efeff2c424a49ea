"""The options of the target cupy: the same words for the printed target, the runtime and the tools."""

from __future__ import annotations

import pytest

import mind_runtime
from mind_dialect.errors import MindError
from mind_lowering.cupy.options import CupyOptions
from mind_lowering.target_options import read_target
from programs import parse
from tool_runs import mind_opt

TEXT = """module attributes {ptir.spec_version = "ptir.v0.4"} {
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> { %y = ptir.neg %x : tensor<4xf32> func.return %y : tensor<4xf32> } }"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cupy", CupyOptions()),
        ("cupy{}", CupyOptions()),
        ("cupy{tf32}", CupyOptions(tf32=True)),
        ("cupy{tf32=on fast-reduce}", CupyOptions(tf32=True, fast_reduce=True)),
        ("cupy{tf32=true,graph=off}", CupyOptions(tf32=True, graph=False)),
        ("cupy{warp-groups}", CupyOptions(warp_groups=True)),
        ("cupy{graph=false tf32=off}", CupyOptions(graph=False)),
    ],
)
def test_words_in_braces(text: str, expected: CupyOptions) -> None:
    name, words = read_target(text)
    found = CupyOptions.of(words)
    assert (name, found) == ("cupy", expected)
    assert CupyOptions.of(read_target(f"cupy{{{found}}}")[1]) == found


@pytest.mark.parametrize(
    "text", ["cupy{fast}", "cupy{tf32=maybe}", "cupy{tf32 tf32=off}", "cupy{tf32", "numpy{tf32}", "native{x}"]
)
def test_other_words_are_refused(text: str) -> None:
    with pytest.raises(MindError) as e:
        mind_runtime.compile(parse(TEXT), target=text)
    assert e.value.code == "E7001"


@pytest.mark.parametrize(
    ("options", "status"),
    [("tf32=on graph=off", 0), ("fast-reduce", 0), ("warp-groups=on epilogues=off", 0), ("tf32=perhaps", 1), ("quick", 1)],
)
def test_the_printed_target_knows_them_too(options: str, status: int) -> None:
    run = mind_opt("-t", f"cupy{{{options}}}", stdin=TEXT)
    assert run.status == status, run.err
    assert status == 0 or "E7001" in run.err or "E700" in run.err
