"""The targets `onnx` and `iree`: numbers, named dimensions, refusals, what fails in another system, and absent packages."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from mind_dialect import ptir
from mind_dialect.errors import MindError, error
from mind_dialect.ptir.types import read_type
from mind_runtime import compile
from mind_runtime.agreement import run_everywhere
from mind_runtime.executors import Executor, Request, register_executor
from mind_runtime.translated import Run, TranslatedProgram
from programs import parse
from ptir_forms import program

NAMED = """
module attributes {ptir.spec_version = "ptir.v0.4"} {
func.func @f(%x: tensor<?x3xf32, "B,*">) -> tensor<?x3xf32, "B,*"> {
  %0 = ptir.exp %x : tensor<?x3xf32, "B,*">
  func.return %0 : tensor<?x3xf32, "B,*">
}
}
"""
NEEDS = {"onnx": ("onnx", "onnxruntime"), "iree": ("iree.compiler", "iree.runtime")}


@pytest.fixture(params=NEEDS)
def target(request: pytest.FixtureRequest) -> str:
    """A target whose packages are installed."""
    for name in NEEDS[request.param]:
        pytest.importorskip(name, reason=f"{name} is not installed")
    return request.param


def code_of(call: Any) -> str:
    with pytest.raises(MindError) as caught:
        call()
    return caught.value.code


def test_numbers_of_several_results(target: str) -> None:
    module = program("f64[2,3] f64[]", lambda x, y: [ptir.ExpOp(x), ptir.NegOp(y), x])
    x, y = np.linspace(-1, 1, 6).reshape(2, 3), np.array(3.0)
    found = compile(module, target=target)(x, y)
    for a, b in zip(found, (np.exp(x), -y, x), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        assert a.flags.writeable
        assert not np.shares_memory(a, x)


def test_named_dimensions_are_built_for_the_sizes_of_calls(target: str) -> None:
    made = compile(parse(NAMED), target=target)
    for n in (2, 5, 2):
        x = np.full((n, 3), 0.5, np.float32)
        np.testing.assert_allclose(made(x), np.exp(x), rtol=1e-6)


def test_what_has_no_form_is_refused_before_and_at_the_call() -> None:
    for name in NEEDS["onnx"]:
        pytest.importorskip(name, reason=f"{name} is not installed")
    assert code_of(lambda: compile(program("f32[3]", lambda x: ptir.LgammaOp(x)), target="onnx")) == "E8008"
    found = run_everywhere(parse(NAMED.replace("exp", "lgamma")), "f", [np.ones((2, 3), np.float32)], ["numpy", "onnx"])
    assert [outcome.status for outcome in found.outcomes] == ["ran", "refused"]
    assert not found.disagreements()


@pytest.mark.parametrize("name", NEEDS)
def test_an_absent_package_is_one_coded_error(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in NEEDS[name]:
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MindError, match=rf"E6002: the target '{name}' needs .*pip install") as caught:
        compile(parse(NAMED), target=name)
    assert "\n" not in caught.value.message


class Breaking(TranslatedProgram):
    """A system that takes f32 alone, and fails for negative numbers."""

    target = "breaking"

    def build(self, func: Any) -> Run:
        if read_type(func.function_type.inputs.data[0]).dtype.name != "f32":
            raise error("E7004", "breaking does not take this program: f32 wanted", stage="breaking", issue="")

        def run(arguments: Any, seed: int) -> Any:
            if (arguments[0] < 0).any():
                raise ValueError("negative\nand a trace")
            return [np.exp(arguments[0])]

        return run


def test_failures_of_another_system_are_coded() -> None:
    register_executor("breaking", Executor(lambda request: Breaking.of(request)))
    try:
        made = compile(parse(NAMED), target="breaking")
        np.testing.assert_allclose(made(np.ones((1, 3), np.float32)), np.full((1, 3), np.e, np.float32))
        with pytest.raises(MindError, match=r"E6008: @f failed in breaking: negative$"):
            made(-np.ones((1, 3), np.float32))
        assert code_of(lambda: made(np.ones((1, 2), np.float32))) == "E2001"
        wide = program("f64[3]", lambda x: ptir.ExpOp(x))
        assert code_of(lambda: compile(wide, target="breaking")) == "E7004"
        found = run_everywhere(wide, "f", [np.ones(3)], ["numpy", "breaking"])
        assert [outcome.status for outcome in found.outcomes] == ["ran", "refused"]
        assert Breaking.of(Request(compile(parse(NAMED)).function)).explain() == ["@f runs as a whole in breaking"]
    finally:
        register_executor("breaking", None)
