"""Sizes that a model computes from its dimensions, of any number of examples, beside ONNX's reference evaluator."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from mind_dialect.program import functions
from mind_runtime import compile
from mind_translate.onnx import read_onnx

onnx = pytest.importorskip("onnx")

HALF = (
    ("Gather", ("s", "zero"), ("n",)),
    ("Div", ("n", "two"), ("half",)),
    ("Add", ("n", "half"), ("size",)),
    ("ConstantOfShape", ("size",), ("y",)),
)
PRODUCT = (
    ("ReduceProd", ("s",), ("size",)),
    ("Reshape", ("x", "size"), ("y",)),
)
LONGER = (
    ("Gather", ("s", "zero"), ("n",)),
    ("Concat", ("x", "x"), ("xx",)),
    ("Shape", ("xx",), ("t",)),
    ("Gather", ("t", "zero"), ("m",)),
    ("Sub", ("m", "two"), ("size",)),
    ("Concat", ("size", "six"), ("shape",)),
    ("Expand", ("one", "shape"), ("y",)),
)
EXTRA: dict[str, dict[str, Any]] = {"Concat": {"axis": 0}, "ReduceProd": {"keepdims": 1}}


def model(nodes: Sequence[tuple[str, tuple[str, ...], tuple[str, ...]]]) -> Any:
    helper, proto = onnx.helper, onnx.TensorProto
    integers = {"zero": 0, "two": 2, "six": 6}
    constants = [helper.make_tensor(name, proto.INT64, [1], [n]) for name, n in integers.items()]
    constants.append(helper.make_tensor("one", proto.FLOAT, [1], [1.0]))
    graph = helper.make_graph(
        [helper.make_node("Shape", ["x"], ["s"]), *(helper.make_node(k, i, o, **EXTRA.get(k, {})) for k, i, o in nodes)],
        "main",
        [helper.make_tensor_value_info("x", proto.FLOAT, ["N", 6])],
        [helper.make_tensor_value_info("y", proto.FLOAT, None), helper.make_tensor_value_info("size", proto.INT64, None)],
        constants,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])


@pytest.mark.parametrize(
    ("nodes", "dim"),
    [(HALF, "N+(N floordiv 2)"), (PRODUCT, "6*N"), (LONGER, "2*N-2,*")],
    ids=["a quotient", "a product", "a difference"],
)
def test_sizes_are_expressions_of_dimensions(nodes: Any, dim: str) -> None:
    reference = pytest.importorskip("onnx.reference")
    made = model(nodes)
    module = read_onnx(made.SerializeToString())
    (func,) = functions(module)
    assert f'"{dim}"' in str(func.function_type.outputs.data[0])
    program = compile(module)
    for n in (1, 2, 5):
        x = np.arange(6.0 * n, dtype=np.float32).reshape(n, 6)
        for found, expected in zip(program(x), reference.ReferenceEvaluator(made).run(None, {"x": x}), strict=True):
            np.testing.assert_array_equal(found, expected)


def clamped(bounds: tuple[int, int, int], extent: int) -> list[int]:
    """The places of a slice in the words of the specification, whose start of one backwards Python clamps to -1."""
    start, end, step = bounds
    start, end = (place + extent if place < 0 else place for place in (start, end))
    low, high = (0, extent) if step > 0 else (-1, extent - 1)
    return list(range(min(max(start, 0), high), min(max(end, low), high if step < 0 else extent), step))


@pytest.mark.parametrize("is_constant", [True, False], ids=["folded", "computed"])
@pytest.mark.parametrize("extent", [1, 4])
def test_slices_clamp_their_bounds(extent: int, is_constant: bool) -> None:
    helper, proto = onnx.helper, onnx.TensorProto
    places, steps = (-(1 << 63), -9, -5, -4, -1, 0, 2, 4, 9), (-3, -1, 1, 2)
    every = list(itertools.product(places, places, steps))
    nodes = [helper.make_node("Slice", ["x", f"s{s}", f"s{e}", "s0", f"s{t}"], [f"y{i}"]) for i, (s, e, t) in enumerate(every)]
    nodes.append(helper.make_node("Concat", [f"y{i}" for i in range(len(every))], ["y"], axis=0))
    x = np.arange(extent, dtype=np.int64)
    weights = [helper.make_tensor(f"s{n}", proto.INT64, [1], [n]) for n in {*places, *steps}]
    inputs = [helper.make_tensor_value_info("x", proto.INT64, [extent])]
    graph = helper.make_graph(
        nodes,
        "main",
        [] if is_constant else inputs,
        [helper.make_empty_tensor_value_info("y")],
        [*weights, onnx.numpy_helper.from_array(x, "x")] if is_constant else weights,
    )
    program = compile(read_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)]).SerializeToString()))
    found = program() if is_constant else program(x)
    np.testing.assert_array_equal(found, [n for bounds in every for n in clamped(bounds, extent)])
