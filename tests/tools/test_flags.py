"""Passes as flags: what a command line folds to, and in which order passes run."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.universe import Universe
from xdsl.utils.arg_spec import parse_pipeline

from mind_dialect.errors import MindError
from mind_tools.flags import AFTER, PASS_ALIASES, TARGET_ALIASES, fold
from tool_runs import mind_opt


@dataclass(frozen=True)
class Example(ModulePass):
    """A pass with every kind of option."""

    name = "mind-autodiff"
    function: str | None = None
    wrt: tuple[int | str, ...] | None = None
    keep_primal: bool = False
    maybe: bool | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        raise NotImplementedError


PASSES = dict.fromkeys(
    ("canonicalize", "mind-canonicalize", "mind-autodiff", "mind-lower-to-numpy", "cse", "dce"), lambda: Example
)

FOLDS = {
    "": [],
    "f.mlir --cse": ["-p", "cse", "f.mlir"],
    "--cse f.mlir --dce": ["-p", "cse,dce", "f.mlir"],
    "--dce --cse": ["-p", "dce,cse"],
    "--cse -p dce --cse": ["-p", "cse,dce,cse"],
    "--cse -pdce --cse": ["-p", "cse,dce,cse"],
    "--cse --passes dce": ["-p", "cse,dce"],
    "--passes=dce --cse": ["-p", "dce,cse"],
    "--pass-pipeline=builtin.module(dce,cse) --dce": ["-p", "dce,cse,dce"],
    "--pass-pipeline builtin.module(dce)": ["-p", "dce"],
    "--pass-pipeline=any(dce)": ["-p", "dce"],
    "-p cse,dce": ["-p", "cse,dce"],
    "--autodiff": ["-p", "mind-autodiff"],
    "--mind-autodiff": ["-p", "mind-autodiff"],
    "--lower-to-numpy --autodiff": ["-p", "mind-lower-to-numpy,mind-autodiff"],
    "--canonicalize": ["-p", "canonicalize,mind-canonicalize{skip-mixed=true}"],
    "--canonicalize=fold-floats=true": ["-p", "canonicalize,mind-canonicalize{skip-mixed=true fold-floats=true}"],
    "--mind-canonicalize": ["-p", "mind-canonicalize"],
    "-p canonicalize": ["-p", "canonicalize"],
    "--autodiff=wrt=0,1": ["-p", "mind-autodiff{wrt=0,1}"],
    "--autodiff={wrt=0,1}": ["-p", "mind-autodiff{wrt=0,1}"],
    "--autodiff=wrt=x,1,y": ["-p", 'mind-autodiff{wrt="x",1,"y"}'],
    "--autodiff=function=@loss": ["-p", 'mind-autodiff{function="loss"}'],
    "--autodiff=function=loss": ["-p", 'mind-autodiff{function="loss"}'],
    '--autodiff=function="a_b"': ["-p", 'mind-autodiff{function="a_b"}'],
    "--autodiff=profile=core-v1.1": ["-p", 'mind-autodiff{profile="core-v1.1"}'],
    "--autodiff=keep-primal": ["-p", "mind-autodiff{keep-primal=true}"],
    "--autodiff=keep_primal": ["-p", "mind-autodiff{keep_primal=true}"],
    "--autodiff=maybe": ["-p", "mind-autodiff{maybe=true}"],
    "--autodiff=function": ["-p", "mind-autodiff{function}"],
    "--autodiff=keep-primal=false": ["-p", "mind-autodiff{keep-primal=false}"],
    "--autodiff=": ["-p", "mind-autodiff"],
    "-t numpy": ["-t", "mind-numpy"],
    "-tnumpy": ["-t", "mind-numpy"],
    "--target=core-ir": ["-t", "mind-core-ir"],
    "--target core-ir --cse": ["-p", "cse", "-t", "mind-core-ir"],
    "-t numpy{x=1}": ["-t", "mind-numpy{x=1}"],
    "-t mlir": ["-t", "mlir"],
    "--time-passes --cse": ["-p", "cse", "--time-passes"],
    "-o --cse": ["-o", "--cse"],
    "-f mlir --cse": ["-p", "cse", "-f", "mlir"],
    "-- --cse": ["--", "--cse"],
    "--nonsense": ["--nonsense"],
}


@pytest.mark.parametrize("line", FOLDS)
def test_fold(line: str) -> None:
    assert fold(line.split(), PASSES) == FOLDS[line]


def test_options_with_spaces() -> None:
    folded = fold(['--autodiff=function=loss  wrt=0,"a b" keep-primal'], PASSES)
    assert folded == ["-p", 'mind-autodiff{function="loss" wrt=0,"a b" keep-primal=true}']
    (spec,) = parse_pipeline(folded[1])
    assert Example.from_spec(spec) == Example(function="loss", wrt=(0, "a b"), keep_primal=True)


@pytest.mark.parametrize("value", ['a"b', "a\\b", "loss-grad", "1e5", "0x10", "a.b", "-1", "true"])
def test_any_word_reaches_the_pass_as_it_is(value: str) -> None:
    if '"' in value:
        with pytest.raises(MindError, match="E7001"):
            fold([f"--autodiff=function={value}"], PASSES)
        return
    (spec,) = parse_pipeline(fold([f"--autodiff=wrt={value}"], PASSES)[1])
    (given,) = spec.parameters["wrt"]
    assert str(given).lower() == value


@pytest.mark.parametrize(
    "line", ["--autodiff==", "--autodiff=wrt=", "--autodiff=wrt=0,,1", "--autodiff=a:b", "-p", "-t", "-o", '--cse=a="']
)
def test_unreadable_options_are_coded(line: str) -> None:
    with pytest.raises(MindError) as caught:
        fold(line.split(), PASSES)
    assert caught.value.code == "E7001"


def test_aliases_are_free_and_lead_to_what_exists() -> None:
    known = Universe.get_multiverse()
    assert not set(PASS_ALIASES) & set(known.all_passes)
    assert not set(TARGET_ALIASES) & set(known.all_targets)
    assert set(PASS_ALIASES.values()) | {name for name, _ in AFTER.values()} | set(AFTER) <= set(known.all_passes)
    assert set(TARGET_ALIASES.values()) <= set(known.all_targets)


def test_no_pass_hides_an_option_of_the_tool() -> None:
    """The fold takes every `--name` of a pass, so no option may have one."""
    options = set(re.findall(r"--([\w-]+)", mind_opt("--help").out.partition("\nexample")[0]))
    assert {"strict", "verify-all", "split-input-file"} <= options
    assert not options & set(Universe.get_multiverse().all_passes)


def test_passes_run_in_the_order_of_the_command_line() -> None:
    text = '%0 = "test.op"() : () -> i32'
    lines = mind_opt("--dce", "--cse", "-p", "dce,canonicalize", "--autodiff", "--time-passes", stdin=text).err.splitlines()
    ran = [line.split()[1] for line in lines if line.startswith("Pass ")]
    assert ran == ["dce", "cse", "dce", "canonicalize", "mind-autodiff"]


def test_an_alias_works_in_a_pipeline_too() -> None:
    lines = mind_opt("-p", "cse,autodiff{keep-primal=true}", "--time-passes", stdin='"test.op"() : () -> ()').err.splitlines()
    assert [line.split()[1] for line in lines if line.startswith("Pass ")] == ["cse", "mind-autodiff"]
