"""Products with epilogues: whole programs with the option on, whose products a cuBLASLt that is none computes, against NumPy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import mind_runtime
from cuda_emulation import compiler
from fake_cublaslt import FakeCublasLt
from fake_device import ON_GPU, compile_on_fake
from fake_gpu import RULES
from mind_dialect.program import functions
from mind_dialect.ptir import FusionOp
from mind_lowering.cupy.lower import lowered_for_cupy
from mind_lowering.cupy.options import CupyOptions
from mind_lowering.cupy.reasons import reasons
from mind_lowering.ptir_optimize import simplify
from mind_passes.fusion.product_epilogues import merge_epilogues
from mind_passes.ptir.patterns.product_epilogue import epilogue_of
from models import gpt2
from models.optimised import optimised
from models.training import AdamW, train_step
from programs import parse

ON = CupyOptions(epilogues=True)
SIZES: Any = {"vocabulary": 16, "context": 8, "width": 32, "layers": 1, "heads": 2, "kv_heads": 2}


def module(compute: str | None) -> Any:
    """A training step, whose moments are 0.1 and 0.001 times the gradients and their squares."""
    config = gpt2.Config(**SIZES, gelu="tanh", compute=compute)
    return optimised(train_step(gpt2.loss_program(config, batch=2, length=8), AdamW(epsilon=1e-3)), split=False)


def arguments(program: Any, compute: str | None) -> list[np.ndarray]:
    config = gpt2.Config(**SIZES, gelu="tanh", compute=compute)
    rng = np.random.default_rng(0)
    known = {"rate": np.float32(0.01), "step": np.float32(1), **gpt2.random_weights(config)}
    known |= {name: rng.integers(0, 16, (2, 8)).astype(np.int32) for name in ("tokens", "targets")}
    return [known.get(s.name, np.zeros(s.shape, s.numpy_dtype)) for s in program.inputs]


def forms(made: Any) -> list[str]:
    """The forms that a module lowered for CuPy calls, in order."""
    calls = [op for op in made.walk() if op.name == "xp.call" and op.function == "k.product_epilogue"]
    return [op.values()["form"] for op in calls]


@pytest.mark.parametrize("compute", [None, "bf16"])
def test_a_training_step_calls_every_form_that_it_needs(compute: str | None) -> None:
    made = lowered_for_cupy(next(iter(functions(module(compute)))), options=ON).func
    assert forms(made) == ["bias", "gelu_aux_bias", "dgelu_bgrad", "bgrad"]
    assert not [op for op in made.walk() if op.name == "ptir.tanh"], "no kernel of ours computes GELU or its derivative"
    assert forms(lowered_for_cupy(next(iter(functions(module(compute))))).func) == []


@pytest.mark.parametrize("compute", [None, "bf16"])
@pytest.mark.parametrize("refuses", [(), (4, 164, 208, 256)], ids=["library", "fallback"])
def test_the_step_is_that_of_numpy_but_for_rounding(
    compute: str | None, refuses: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler()
    pytest.importorskip("ml_dtypes", reason="no ml_dtypes: narrow floats have no arrays to compare with")
    init = FakeCublasLt.__init__
    monkeypatch.setattr(FakeCublasLt, "__init__", lambda self: init(self, refuses))
    whole = module(compute)
    plain = mind_runtime.compile(whole)
    values = arguments(plain, compute)
    before = RULES.log["epilogues"]
    made = compile_on_fake(whole.clone(), options=ON)
    found, wanted = made(*values), plain(*values)
    assert ON_GPU or RULES.log["epilogues"] == before + 4
    captures = RULES.log["captures"]
    for x, y in zip(found, made(*values), strict=True):
        assert np.array_equal(x, y)
    assert ON_GPU or RULES.log["captures"] > captures
    tolerance = 2e-3 if compute is None else 0.04
    assert found[0] == pytest.approx(float(wanted[0]), rel=tolerance)
    for i, (x, y) in enumerate(zip(found, wanted, strict=True)):
        assert (x.dtype, x.shape) == (y.dtype, y.shape)
        assert np.linalg.norm(x - y) <= tolerance * max(np.linalg.norm(y), 1e-6), i


def test_the_body_of_each_product_says_what_the_library_computes() -> None:
    whole = module(None)
    changed = whole.clone()
    assert merge_epilogues(changed)
    changed.verify()
    plain = mind_runtime.compile(whole)
    values = arguments(plain, None)
    for i, (x, y) in enumerate(zip(mind_runtime.compile(changed)(*values), plain(*values), strict=True)):
        np.testing.assert_allclose(x, y, rtol=2e-3, atol=2e-5, err_msg=str(i))


PRODUCT = """builtin.module attributes {{ptir.spec_version = "ptir.v0.4"}} {{
func.func @f(%x: tensor<4x16xf32>, %w: tensor<16x8xf32>, %b: tensor<{bias}xf32>) -> tensor<4x8xf32> {{
  %p = ptir.dot_general %x, %w batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0]
    : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  %rows = ptir.broadcast_to %b result_shape = [4, 8] : tensor<{bias}xf32> -> tensor<4x8xf32>
  %s = ptir.{op} %p, %rows : tensor<4x8xf32>
  {more}
  func.return %s : tensor<4x8xf32> }} }}"""


@pytest.mark.parametrize(
    ("bias", "op", "more", "merged"),
    [
        ("8", "add", "", True),
        ("1", "add", "", False),
        ("4x1", "add", "", False),
        ("4x8", "add", "", False),
        ("8", "sub", "", False),
        ("8", "add", "%n = ptir.neg %s : tensor<4x8xf32>", True),
    ],
)
def test_only_a_vector_that_is_added_to_each_row_is_a_bias(bias: str, op: str, more: str, merged: bool) -> None:
    made = parse(PRODUCT.format(bias=bias, op=op, more=more))
    simplify(made)
    assert merge_epilogues(made) == merged


GELU = """builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
func.func @f(%x: tensor<4x16xf32>, %w: tensor<16x8xf32>, %b: tensor<8xf32>, %c: tensor<8xf32>) -> tensor<4x8xf32> {
  %p = ptir.dot_general %x, %w batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0]
    : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  %rows = ptir.broadcast_to %b result_shape = [4, 8] : tensor<8xf32> -> tensor<4x8xf32>
  %s = ptir.add %p, %rows : tensor<4x8xf32>
  %others = ptir.broadcast_to %c result_shape = [4, 8] : tensor<8xf32> -> tensor<4x8xf32>
  %o = ptir.add %s, %others : tensor<4x8xf32>
  %half = ptir.constant fill 0.5 : tensor<4x8xf32>
  %one = ptir.constant fill 1.0 : tensor<4x8xf32>
  %cubic = ptir.constant fill 0.044715 : tensor<4x8xf32>
  %scale = ptir.constant fill 0.7978846 : tensor<4x8xf32>
  %s2 = ptir.mul %s, %s : tensor<4x8xf32>
  %s3 = ptir.mul %s2, %s : tensor<4x8xf32>
  %c3 = ptir.mul %s3, %cubic : tensor<4x8xf32>
  %inner = ptir.add %s, %c3 : tensor<4x8xf32>
  %scaled = ptir.mul %inner, %scale : tensor<4x8xf32>
  %t = ptir.tanh %scaled : tensor<4x8xf32>
  %t1 = ptir.add %t, %one : tensor<4x8xf32>
  %h = ptir.mul %s, %half : tensor<4x8xf32>
  %y = ptir.mul %h, %t1 : tensor<4x8xf32>
  func.return %y : tensor<4x8xf32> } }"""


def gelu_forms(text: str) -> list[str | None]:
    made = parse(text)
    merge_epilogues(made)
    found = [epilogue_of(op) for op in made.walk() if isinstance(op, FusionOp)]
    return [None if one is None else one.form for one in found]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("fill 0.044715", "fill 0.0448"),
        ("fill 0.7978846", "fill 0.79"),
        ("fill 0.5 ", "fill 0.501 "),
        ("%h = ptir.mul %s,", "%h = ptir.mul %p,"),
        ("%h = ptir.mul %s,", "%h = ptir.mul %o,"),
        ("%inner = ptir.add %s,", "%inner = ptir.add %o,"),
        ("%t1 = ptir.add", "%t1 = ptir.sub"),
        ("ptir.tanh", "ptir.logistic"),
    ],
)
def test_another_function_than_gelu_is_left_alone(old: str, new: str) -> None:
    text = GELU if "%o" in new else _without_others()
    assert old in text
    assert "gelu_bias" not in gelu_forms(text.replace(old, new))
    assert gelu_forms(_without_others()) == ["gelu_bias"]


def _without_others() -> str:
    """The program without the sum that only other functions read."""
    return "\n".join(line for line in GELU.splitlines() if "%o " not in line and "%others" not in line)


def test_a_body_that_computes_something_else_is_no_epilogue() -> None:
    made = parse(_without_others())
    merge_epilogues(made)
    text = str(made)
    assert "product_epilogue" in text
    for old, new in (("fill 0.044715", "fill 0.05"), ("ptir.tanh", "ptir.exp")):
        other = parse(text.replace(old, new))
        (fusion,) = [op for op in other.walk() if isinstance(op, FusionOp)]
        assert epilogue_of(fusion) is None
        assert forms(lowered_for_cupy(next(iter(functions(other))), options=ON).func) != ["gelu_bias"]


def test_inference_has_its_bias_and_gelu_in_products() -> None:
    config = gpt2.Config(**SIZES, gelu="tanh")
    whole = optimised(gpt2.program(replace(config), "full", length=8), split=False)
    made = lowered_for_cupy(next(iter(functions(whole))), options=ON).func
    assert forms(made)[:2] == ["bias", "gelu_bias"]


def test_what_runs_by_the_library_is_explained() -> None:
    func = next(iter(functions(module("bf16"))))
    lines = reasons(func, ON)
    assert [line for line in lines if "cuBLASLt" in line] == [
        "call of dot_general with bias: cuBLASLt",
        "call of dot_general with gelu_aux_bias: cuBLASLt",
        "call of dot_general with dgelu_bgrad: cuBLASLt",
        "call of dot_general with bgrad: cuBLASLt",
    ]
    assert not [line for line in reasons(func) if "cuBLASLt" in line]
