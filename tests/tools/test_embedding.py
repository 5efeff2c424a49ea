"""Our passes in a host's pipeline: the worked example, and hosts that know less or hold more."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from xdsl.context import Context
from xdsl.dialects import arith, builtin, func, scf
from xdsl.dialects.func import FuncOp
from xdsl.parser import Parser
from xdsl.passes import PassPipeline
from xdsl.transforms import get_all_passes as get_xdsl_passes

from mind_dialect import register
from mind_dialect.errors import MindError
from mind_tools.universe import get_all_passes
from programs import parse

PATH = Path(__file__).parents[2] / "examples" / "embedding.py"


@pytest.fixture
def example() -> ModuleType:
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("embedding", PATH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_script_prints_a_module_that_reads_back(example: ModuleType) -> None:
    result = subprocess.run([sys.executable, PATH], capture_output=True, text=True, timeout=120, check=True)
    assert result.stderr == ""
    assert result.stdout.strip() == str(example.run())
    assert parse(result.stdout).is_structurally_equivalent(example.run())


def test_both_projects_passes_did_their_work(example: ModuleType) -> None:
    functions = {f.sym_name.data: f for f in example.run().body.block.ops if isinstance(f, FuncOp)}
    assert functions.keys() == {"loss", "steps", "loss_grad"}
    product = next(op for op in functions["loss"].body.block.ops if op.name == "mind.mul")
    assert [v.name_hint for v in product.operands] == ["x", "w"]  # mind-canonicalize
    assert "arith.addi" not in [op.name for op in functions["steps"].walk()]  # canonicalize
    assert len(functions["loss_grad"].function_type.outputs) == 2  # mind-autodiff, with respect to w


def test_a_pass_registers_what_it_makes_in_a_context_that_knows_nothing_of_ours(example: ModuleType) -> None:
    """A host may hand a module over in memory; folding asks its context for our dialect."""
    ctx = Context()
    for dialect in (builtin.Builtin, func.Func, arith.Arith, scf.Scf):
        ctx.load_dialect(dialect)
    module = Parser(example.host_context(), example.PROGRAM).parse_module()
    passes = {**get_xdsl_passes(), **get_all_passes()}
    PassPipeline.parse_spec(passes, "mind-autodiff,mind-canonicalize,canonicalize,cse,dce").apply(ctx, module)
    module.verify()
    assert "@loss_grad" in str(module)


def test_registering_twice_is_harmless(example: ModuleType) -> None:
    ctx = example.host_context()
    register(ctx)
    register(ctx)


def test_a_mixed_function_is_refused_by_name_and_left_alone_on_request(example: ModuleType) -> None:
    mixed = """
func.func @mixed(%x: tensor<f32>) -> tensor<f32> {
  %one = arith.constant 1 : i32
  %0 = mind.neg %x : tensor<f32>
  func.return %0 : tensor<f32>
}
"""
    for pipeline, code in (("mind-canonicalize", "E4000"), ("mind-autodiff", "E5001")):
        with pytest.raises(MindError, match=rf"{code}.*arith\.constant"):
            example.run(mixed, pipeline)
    assert parse(mixed).is_structurally_equivalent(example.run(mixed, "mind-canonicalize{skip-mixed=true}"))


def test_stock_passes_keep_the_meaning_of_our_ops(example: ModuleType) -> None:
    """No two of our ops are merged, folded or dropped wrongly by xDSL's own canonicalize, cse and dce."""
    once = example.run(pipeline="canonicalize,cse,dce")
    kept = [op.name for op in once.walk() if op.name.startswith("mind.")]
    assert kept == ["mind.mul", "mind.exp", "mind.sum"]
