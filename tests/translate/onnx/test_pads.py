"""Pads of each mode, negative ones among them, against ONNX Runtime."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from mind_runtime import compile
from mind_translate.onnx import read_onnx

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

X = np.arange(1, 13, dtype=np.float32).reshape(6, 2)


def padded(mode: str, low: int, high: int) -> Any:
    """A model that pads the first axis of `X`."""
    h, kind = onnx.helper, onnx.TensorProto.FLOAT
    pads = onnx.numpy_helper.from_array(np.array([low, 1, high, 0], np.int64), "pads")
    given, made = h.make_tensor_value_info("x", kind, X.shape), h.make_tensor_value_info("y", kind, None)
    graph = h.make_graph([h.make_node("Pad", ["x", "pads"], ["y"], mode=mode)], "pads", [given], [made], [pads])
    return h.make_model(graph, opset_imports=[h.make_opsetid("", 19)], ir_version=9).SerializeToString()


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "wrap"])
def test_what_pads_cut_off_is_not_seen_by_the_others(mode: str) -> None:
    """ONNX Runtime has no reflections that are longer than what is left, so these are left out."""
    for low, high in itertools.product((-4, -2, -1, 0, 1, 3, 5), repeat=2):
        left = 6 + min(low, 0) + min(high, 0)
        if left < 1 or (mode == "reflect" and max(low, high) >= left):
            continue
        made = padded(mode, low, high)
        (expected,) = runtime.InferenceSession(made, providers=["CPUExecutionProvider"]).run(None, {"x": X})
        np.testing.assert_array_equal(compile(read_onnx(made))(X), expected, err_msg=f"{low} {high}")
