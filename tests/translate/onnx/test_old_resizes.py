"""Images of opsets 7 to 10 in other sizes, by scales as exporters write them; ONNX Runtime says what they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mind_dialect.errors import MindError
from mind_runtime import compile
from mind_translate.onnx import read_onnx

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

h: Any = onnx.helper
FLOAT, INT64 = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64


def node(op: str, inputs: str, result: str, **attributes: Any) -> Any:
    return h.make_node(op, inputs.split(), [result], **attributes)


def constant(name: str, values: Any, dtype: Any = np.float32) -> Any:
    return h.make_node("Constant", [], [name], value=onnx.numpy_helper.from_array(np.array(values, dtype)))


def model(nodes: list[Any], opset: int, shape: Any, initializers: Any = ()) -> bytes:
    x = h.make_tensor_value_info("x", FLOAT, shape)
    y = h.make_tensor_value_info("y", FLOAT, [None] * len(shape))
    graph = h.make_graph(nodes, "g", [x], [y], list(initializers))
    return h.make_model(graph, opset_imports=[h.make_opsetid("", opset)], ir_version=6).SerializeToString()


def check(made: bytes, x: np.ndarray[Any, Any], *, exact: bool) -> None:
    session = runtime.InferenceSession(made, providers=["CPUExecutionProvider"])
    (expected,) = session.run(None, {"x": x})
    for target in ("numpy", "native"):
        found = compile(read_onnx(made), target=target)(x)
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
        if exact:
            np.testing.assert_array_equal(found, expected)
        else:
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=2e-6)


SCALES = (1.0, 1.5, 2.0, 2.3, 3.0, 7 / 3, 0.5, 0.6, 0.75, 1 / 3, 2 / 3)


@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize(("op", "opset"), [("Upsample", 7), ("Upsample", 9), ("Resize", 10)])
def test_scales_of_all_sizes(op: str, opset: int, mode: str) -> None:
    rng = np.random.default_rng(opset)
    for size in (1, 2, 5, 8):
        for i, scale in enumerate(SCALES):
            other = SCALES[(3 * i + size) % len(SCALES)]
            scales = [1.0, 1.0, scale, other]
            if (min(scales) < 1 and op == "Upsample") or size * min(scales) < 1:
                continue
            x = rng.normal(size=(2, 3, size, size + 1)).astype(np.float32)
            if opset == 7:
                made = model([node("Upsample", "x", "y", mode=mode, scales=scales)], 7, x.shape)
            else:
                made = model([constant("s", scales), node(op, "x s", "y", mode=mode)], opset, x.shape)
            check(made, x, exact=mode == "nearest")


def sizes_of(x: str, begin: int) -> list[Any]:
    """Sizes of an image as an exporter of opset 9 writes them: Shape, Slice by attributes, Cast."""
    return [
        node("Shape", x, f"shape_{x}"),
        node("Slice", f"shape_{x}", f"cut_{x}", axes=[0], starts=[begin], ends=[4]),
        node("Cast", f"cut_{x}", f"sizes_{x}", to=FLOAT),
    ]


CHAINS: dict[str, list[Any]] = {
    "the size of another image": [
        node("MaxPool", "x", "small", kernel_shape=[2, 2], strides=[2, 2]),
        *sizes_of("x", 2),
        *sizes_of("small", 2),
        node("Div", "sizes_x sizes_small", "ratio"),
        constant("ones", [1, 1]),
        node("Concat", "ones ratio", "scales", axis=0),
        node("{op}", "small scales", "y", mode="nearest"),
    ],
    "twice each size, rounded": [
        node("Shape", "x", "shape"),
        constant("two", 2, np.int64),
        constant("factor", 2.0),
        node("Gather", "shape two", "height"),
        node("Cast", "height", "height_f", to=FLOAT),
        node("Mul", "height_f factor", "scaled"),
        node("Floor", "scaled", "target"),
        node("Div", "target height_f", "scale"),
        node("Unsqueeze", "scale", "scale_1", axes=[0]),
        constant("ones", [1, 1]),
        constant("last", [3]),
        node("Concat", "ones scale_1 last", "scales", axis=0),
        node("{op}", "x scales", "y", mode="linear"),
    ],
}


@pytest.mark.parametrize("batch", [2, "N"])
@pytest.mark.parametrize(("op", "opset"), [("Upsample", 9), ("Resize", 10)])
@pytest.mark.parametrize("chain", CHAINS)
def test_scales_that_the_model_computes(chain: str, op: str, opset: int, batch: Any) -> None:
    nodes = [onnx.NodeProto.FromString(proto.SerializeToString()) for proto in CHAINS[chain]]
    for proto in nodes:
        proto.op_type = proto.op_type.format(op=op)
        if proto.op_type == "Slice" and opset == 10:  # its bounds are operands
            starts, ends = (f"{proto.output[0]}_{i}" for i in range(2))
            del proto.attribute[:]
            proto.input.extend([starts, ends])
    more = [constant(f"cut_{x}_{i}", [bound], np.int64) for x in ("x", "small") for i, bound in enumerate((2, 4)) if opset == 10]
    x = np.random.default_rng(3).normal(size=(2, 3, 7, 6)).astype(np.float32)
    check(model([*more, *nodes], opset, [batch, *x.shape[1:]]), x, exact=chain == "the size of another image")


def test_bad_scales_are_refused() -> None:
    for scales, code in (([1, 1, 0, 2], "E8002"), ([1, 1, 2], "E2007"), ([1, 1, -1, 2], "E8002")):
        made = model([constant("s", scales), node("Resize", "x s", "y")], 10, [1, 1, 4, 4])
        with pytest.raises(MindError) as found:
            read_onnx(made)
        assert found.value.code == code
    made = model([constant("s", [1, 1, 2, 2]), node("Resize", "x s", "y")], 10, [1, 1, "H", 4])
    with pytest.raises(MindError, match=r"Resize.* without a size"):
        read_onnx(made)


@pytest.mark.parametrize("scale", [2.0, 1.7, 0.7])
@pytest.mark.parametrize("nearest", ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
def test_coordinates_of_opset_11(scale: float, nearest: str) -> None:
    """Corners of elements from their centres, as converters from TensorFlow write them."""
    attributes = {"coordinate_transformation_mode": "tf_half_pixel_for_nn", "nearest_mode": nearest, "mode": "nearest"}
    nodes = [constant("roi", []), constant("scales", [1, 1, scale, scale]), node("Resize", "x roi scales", "y", **attributes)]
    x = np.random.default_rng(2).standard_normal((1, 2, 7, 10), dtype=np.float32)
    check(model(nodes, 11, [1, 2, 7, 10]), x, exact=True)
