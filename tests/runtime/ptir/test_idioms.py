"""What the lowering takes from before a broadcast still has the shape from after it."""

from __future__ import annotations

import numpy as np
import pytest

from mind_runtime import compile
from programs import parse

UNIT_AXES = [
    (
        "neg of a scalar",
        "",
        "%b = mind.broadcast_to %s shape = [1, 1] : <f32> -> <1x1xf32>\n%y = mind.neg %b : <1x1xf32>",
        (1, 1),
    ),
    (
        "sum of scalars",
        "",
        "%a = mind.broadcast_to %s shape = [1] : <f32> -> <1xf32>\n"
        "%b = mind.broadcast_to %s shape = [1, 1] : <f32> -> <1x1xf32>\n"
        "%y = mind.add %a, %b : (<1xf32>, <1x1xf32>) -> <1x1xf32>",
        (1, 1),
    ),
    (
        "product of matrices",
        ", %m: <2x3xf32>, %n: <3x2xf32>",
        "%a = mind.broadcast_to %m shape = [1, 2, 3] : <2x3xf32> -> <1x2x3xf32>\n"
        "%b = mind.broadcast_to %n shape = [1, 3, 2] : <3x2xf32> -> <1x3x2xf32>\n"
        "%y = mind.matmul %a, %b : (<1x2x3xf32>, <1x3x2xf32>) -> <1x2x2xf32>",
        (1, 2, 2),
    ),
]


@pytest.mark.parametrize(("inputs", "body", "shape"), [row[1:] for row in UNIT_AXES], ids=[row[0] for row in UNIT_AXES])
def test_axes_of_extent_1_are_kept(inputs: str, body: str, shape: tuple[int, ...]):
    result = "<" + "x".join(map(str, shape)) + "xf32>"
    text = f"func.func @f(%s: <f32>{inputs}) -> {result} {{\n{body}\nfunc.return %y : {result}\n}}".replace("<", "tensor<")
    program = compile(parse(text))
    arguments = [np.ones(spec.shape, np.float32) for spec in program.inputs]
    assert program(*arguments).shape == shape
