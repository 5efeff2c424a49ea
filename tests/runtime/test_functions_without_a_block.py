"""Functions of several blocks, and declarations: refused alike by everything that compiles a function, on every target."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mind_runtime
from mind_dialect.errors import MindError
from mind_runtime.compilation import find_function
from mind_tools.frontends import parse

MODULE = """module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @several(%x: tensor<2xf32>) -> tensor<2xf32> {
    cf.br ^a(%x : tensor<2xf32>)
  ^a(%y: tensor<2xf32>):
    func.return %y : tensor<2xf32>
  }
  func.func private @none(%x: tensor<2xf32>) -> tensor<2xf32>
}"""
WAYS: dict[str, Callable[[Any, str, str], Any]] = {
    "compile": lambda m, f, t: mind_runtime.compile(m, f, t),
    "donate": lambda m, f, t: mind_runtime.compile(m, f, t, donate=["x"]),
    "bind": lambda m, f, t: mind_runtime.bind(m, {"x": np.zeros(2, np.float32)}, f, t),
    "output_shapes": lambda m, f, t: mind_runtime.output_shapes(m, (2,), function=f),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("function", "blocks"), [("several", 2), ("none", 0)])
@pytest.mark.parametrize("target", ["numpy", "native"])
def test_refused(target: str, function: str, blocks: int, way: str) -> None:
    if target == "native":
        pytest.importorskip("llvmlite")
    with pytest.raises(MindError) as e:
        WAYS[way](parse(MODULE), function, target)
    expected = f"E4000: @{function} is not one block of PTIR: found func.func with {blocks} blocks"
    assert str(e.value).startswith(expected), e.value


@pytest.mark.parametrize("function", ["several", "none"])
def test_refused_for_a_gpu(function: str) -> None:
    """The choice of the function comes before the target looks for a device."""
    with pytest.raises(MindError, match="E4000"):
        find_function(parse(MODULE), function)


def test_the_only_function_is_a_declaration() -> None:
    with pytest.raises(MindError, match=r"E4000: @f is not one block of PTIR: found func.func with 0 blocks"):
        mind_runtime.compile(parse("func.func private @f(%x: tensor<2xf32>) -> tensor<2xf32>"))
