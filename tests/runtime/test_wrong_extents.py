"""A wrong extent of an argument: one code wherever it is given, and the dimension in the message."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

import mind_runtime
from mind_dialect.errors import MindError
from mind_tools.frontends import parse

DIMS = ["B", "T", "64"]
NAMED = ", ".join("*" if d.isdigit() else d for d in DIMS)
TYPES = {"dynamic": f'tensor<?x?x64xf32, "{NAMED.replace(" ", "")}">', "static": "tensor<2x3x64xf32>"}
SHAPES = {"dynamic": ("B", "T", 64), "static": (2, 3, 64)}
WAYS: dict[str, Callable[[Any, Any, tuple[int, ...]], Any]] = {
    "call": lambda module, run, shape: run(np.ones((2, 3, 64), np.float32), np.ones(shape, np.float32)),
    "output_shapes of a program": lambda module, run, shape: run.output_shapes((2, 3, 64), shape),
    "output_shapes of a module": lambda module, run, shape: mind_runtime.output_shapes(module, (2, 3, 64), shape),
    "out": lambda module, run, shape: run(*[np.ones((2, 3, 64), np.float32)] * 2, out=np.ones(shape, np.float32)),
}


def module(kind: str) -> Any:
    type = TYPES[kind]
    return parse(f"""module attributes {{ptir.spec_version = "ptir.v0.4"}} {{
  func.func @heads(%a: {type}, %b: {type}) -> {type} {{
    %c = ptir.add %a, %b : {type}
    func.return %c : {type}
  }}
}}""")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("target", ["numpy", "native"])
def test_the_message_names_the_dimension(target: str, kind: str, way: str) -> None:
    if target == "native":
        pytest.importorskip("llvmlite")
    made = module(kind)
    run = mind_runtime.compile(made, target=target)
    assert way == "out" or WAYS[way](made, run, (2, 3, 64)) is not None
    for axis, wrong in product(range(3), (0, 1, 65)):
        shape = tuple(wrong if i == axis else n for i, n in enumerate((2, 3, 64)))
        expected = SHAPES[kind][axis]
        if isinstance(expected, str) and way == "out":
            continue  # which only the run can tell
        with pytest.raises(MindError) as caught:
            WAYS[way](made, run, shape)
        if isinstance(expected, str):
            assert caught.value.code == "E8001", caught.value
        else:
            assert caught.value.code == "E2001", caught.value
            assert caught.value.message.endswith(f"dimension {axis} is {wrong}, expected {expected}"), caught.value
    for shape in ((), (64,), (2, 3), (1, 2, 3, 64)):
        with pytest.raises(MindError) as caught:
            WAYS[way](made, run, shape)
        assert caught.value.code == "E2001", caught.value
        assert caught.value.message.endswith(f"it has {len(shape)} dimensions, expected 3"), caught.value
