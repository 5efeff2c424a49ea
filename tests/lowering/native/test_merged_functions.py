"""Functions that equal one another but for their names are in a module once."""

from __future__ import annotations

import re
from typing import Any

import pytest

from mind_dialect import ptir
from mind_lowering.native import TARGETS
from mind_lowering.native.ir import Function, LlvmModule
from mind_lowering.native.program import lower, prepared
from ptir_evaluator import function_of
from ptir_forms import program


def doubled(module: LlvmModule, factor: int, type: str = "i64") -> Function:
    """Add a function that multiplies its argument."""
    f = module.function(module.unique("f"), "i64", [(type, "x")])
    f.ret(f.mul("%x", factor))
    return f


def test_a_function_that_equals_a_known_one_is_removed() -> None:
    module = LlvmModule("x")
    first, equal, other, typed = doubled(module, 2), doubled(module, 2), doubled(module, 3), doubled(module, 2, "i32")
    assert [module.merge(f) for f in (first, equal, other, typed)] == ["f", "f", "f.2", "f.3"]
    assert list(module.functions) == ["f", "f.2", "f.3"]


def convolved(x: Any, w: Any) -> Any:
    """An image that keeps its size."""
    window = {"strides": (1, 1), "padding": ((1, 1), (1, 1)), "base_dilation": (1, 1), "window_dilation": (1, 1)}
    return ptir.ConvolutionOp(x, w, **window, feature_group_count=1)


@pytest.mark.parametrize("isa", TARGETS)
def test_convolutions_that_differ_in_what_follows_share_their_padding(isa: str) -> None:
    """The second one ends in tanh, so its tiles have code of their own; what they skip at borders is the same."""
    module = program("f32[1,9,9,16] f32[3,3,16,16] f32[3,3,16,16]", lambda x, w, v: [ptir.TanhOp(convolved(convolved(x, w), v))])
    text = lower(prepared(function_of(module), TARGETS[isa]), TARGETS[isa]).text
    functions = re.findall(r"^define internal \S+ @(\w+)[.\w]*(.*?^})", text, re.MULTILINE | re.DOTALL)
    padding = [body for kind, body in functions if kind == "padding"]
    assert len(padding) == len(set(padding))
    assert 0 < 2 * len(padding) <= sum(kind == "window" for kind, _ in functions)
