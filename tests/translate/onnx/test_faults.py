"""Nodes that are wrong in themselves: the coded error names the node, and the operand or attribute."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mind_dialect import MindError
from mind_translate.onnx import read_onnx

onnx = pytest.importorskip("onnx")
h: Any = onnx.helper
F, L, B = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64, onnx.TensorProto.BOOL
X = {"x": (F, [2, 3])}


def model(op: str, operands: str, inputs: Any, results: int = 1, known: Any = None, **attributes: Any) -> bytes:
    """A model of one node, `n`; `_` is an operand that is missing, `known` are initialisers."""
    outputs = [f"y{i}" for i in range(results)]
    node = h.make_node(op, operands.replace("_", "").split(" "), outputs, name="n", **attributes)
    values = [h.make_tensor_value_info(k, t, s) for k, (t, s) in inputs.items()]
    tensors = [onnx.numpy_helper.from_array(np.asarray(v), k) for k, v in (known or {}).items()]
    graph = h.make_graph([node], "g", values, [onnx.ValueInfoProto(name=o) for o in outputs], tensors)
    return h.make_model(graph, opset_imports=[h.make_opsetid("", 21)], ir_version=10).SerializeToString()


IMAGE = {"x": (F, [1, 2, 4, 4])}
LAYER = {"x": (F, [5, 3, 4]), "w": (F, [1, 6, 4]), "r": (F, [1, 6, 6])}
ONE = h.make_graph([h.make_node("Neg", ["x"], ["z"])], "one", [], [onnx.ValueInfoProto(name="z")])
SHAPE = np.array([3, 4])
CASES: dict[str, tuple[bytes, str, str]] = {
    "a missing operand": (model("Gather", "x _", X), "E2007", "operand indices is missing"),
    "too few operands": (model("Add", "x", X), "E2007", "has 1 operands, expected 2"),
    "too few known operands": (model("Add", "c", X, known={"c": np.ones(2)}), "E2007", "has 1 operands, expected 2"),
    "no operands": (model("Ceil", "_", X), "E2007", "operand X is missing"),
    "no operand of many": (model("Sum", "_", X), "E2007", "operand data_0 is missing"),
    "an operand missing in a function": (model("MeanVarianceNormalization", "_", X), "E2007", "operand X is missing"),
    "too many results": (model("Relu", "x", X, 2), "E2007", "has 2 results, expected at most 1"),
    "results that training gives": (model("Dropout", "x", X, 3), "E2007", "has 3 results"),
    "no required attribute": (model("Cast", "x", X), "E8002", "attribute to is missing, expected INT"),
    "an attribute of a wrong type": (model("Cast", "x", X, to=0.5), "E8002", "to is of type FLOAT, expected INT"),
    "a wrong attribute of a known node": (
        model("Concat", "c c", X, known={"c": SHAPE}, axis=[0]),
        "E8002",
        "axis is of type INTS",
    ),
    "an unknown attribute": (model("Ceil", "x", X, axis=0), "E4000", "no attribute 'axis'"),
    "known operands that do not broadcast": (
        model("Add", "c d", X, known={"c": SHAPE, "d": np.arange(3)}),
        "E3001",
        r"\[2\] with \[3\]",
    ),
    "known operands of Div": (model("Div", "c d", X, known={"c": SHAPE, "d": np.arange(3)}), "E3001", r"\[2\] with \[3\]"),
    "known operands of two types": (model("Div", "c d", X, known={"c": np.uint64(19), "d": -1}), "E2004", "ui64"),
    "pads that cut more than there is": (
        model("Pad", "x p", X, known={"p": np.array([0, -2, 0, -2])}),
        "E3006",
        "pads -2 and -2 of an extent of 3",
    ),
    "reflections that cut more than there is": (
        model("Pad", "x p", X, known={"p": np.array([0, -2, 0, -2])}, mode="reflect"),
        "E3006",
        "pads -2 and -2 of an extent of 3",
    ),
    "very many reflections": (
        model("Pad", "x p", X, known={"p": np.array([0, 1 << 62, 0, 0])}, mode="reflect"),
        "E8008",
        "a pad of mode reflect with 4611686018427387907 constants",
    ),
    "very many nearest pixels": (
        model("Resize", "x _ _ p", IMAGE, known={"p": np.array([1, 2, 1 << 40, 4])}),
        "E8008",
        "an image axis with 1099511627776 constants",
    ),
    "very many weights of pixels": (
        model("Resize", "x _ p", IMAGE, known={"p": np.float32([1, 1, 1e15, 1])}, mode="linear"),
        "E8008",
        r"an image axis with [0-9]+ constants",
    ),
    "parts that are no results": (model("Split", "x", X, 2, num_outputs=1), "E8002", "1 parts for 2 results"),
    "very many parts": (model("Split", "x", X, 2, num_outputs=1 << 62), "E8002", "for 2 results"),
    "very many parts of a known array": (model("Split", "c", X, 2, {"c": SHAPE}, num_outputs=1 << 62), "E8002", "for 2 results"),
    "sizes of other axes": (model("CenterCropPad", "x c", X, known={"c": SHAPE}, axes=[0]), "E3002", "2 sizes for 1 axes"),
    "sizes of a resize": (model("Resize", "x _ _ c", X, known={"c": np.array([1, 2, 3])}), "E3002", "3 sizes for 2 axes"),
    "a resize of nothing": (model("Resize", "x _ _ c", {"x": (F, [2, 0])}, known={"c": SHAPE}), "E8002", "an extent of 0"),
    "a range from a vector": (model("Range", "c d d", X, known={"c": SHAPE, "d": 1}), "E3002", r"start has shape \[2\]"),
    "a condition of no elements": (
        model("If", "c", X, known={"c": np.zeros(0, bool)}, then_branch=ONE, else_branch=ONE),
        "E3002",
        r"cond has shape \[0\], expected a scalar",
    ),
    "indices of another rank": (model("GatherElements", "x i", {**X, "i": (L, [2])}), "E3002", "indices has rank 1, expected 2"),
    "updates of another rank": (
        model("ScatterElements", "x i u", {**X, "i": (L, [2, 3]), "u": (F, [2])}),
        "E3002",
        "updates has rank 1",
    ),
    "index vectors of rank 0": (model("ScatterND", "x i x", {**X, "i": (L, [])}), "E3002", "indices are a scalar"),
    "an image of another rank": (model("SpaceToDepth", "x", X, blocksize=2), "E3002", "input has rank 2, expected 4"),
    "a norm of order 0": (model("LpPool", "x", IMAGE, kernel_shape=[2, 2], p=0), "E8002", "p is 0"),
    "strides of another rank": (
        model("MaxUnpool", "x i", {**IMAGE, "i": (L, [1, 2, 4, 4])}, kernel_shape=[2, 2], strides=[1]),
        "E8002",
        "strides has 1",
    ),
    "sequences of another rank": (model("RNN", "x w r", {**LAYER, "x": (F, [5, 3])}), "E3002", "X has rank 2, expected 3"),
    "weights of another rank": (model("RNN", "x w r", {**LAYER, "w": (F, [])}), "E3002", "W has rank 0, expected 3"),
    "states of another rank": (
        model("RNN", "x w r _ _ h", {**LAYER, "h": (F, [6])}),
        "E3002",
        "initial_h has rank 1, expected 3",
    ),
    "directions that differ": (model("RNN", "x w r", LAYER, direction="bidirectional"), "E3002", "R of shape"),
    "blocks of another rank": (
        model("DequantizeLinear", "q s", {"q": (onnx.TensorProto.INT8, [4, 4]), "s": (F, [2])}, block_size=2),
        "E8002",
        "block",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_error_names_node_and_fault(name: str):
    text, code, match = CASES[name]
    with pytest.raises(MindError, match=match) as caught:
        read_onnx(text)
    assert caught.value.code == code
    assert code == "E8008" or str(caught.value).startswith(f"{code}: node 'n' (")


def test_a_refusal_within_a_branch_is_listed():
    """The reason passes through the context managers that build regions."""
    branch = h.make_graph([h.make_node("NonZero", ["x"], ["z"], name="inner")], "b", [], [onnx.ValueInfoProto(name="z")])
    text = model("If", "p", {**X, "p": (B, [])}, then_branch=branch, else_branch=branch)
    with pytest.raises(MindError, match="NonZero, at inner: a result whose size depends on data") as caught:
        read_onnx(text)
    assert caught.value.code == "E8008"
