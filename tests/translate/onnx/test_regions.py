"""RoiAlign and DeformConv, against ONNX Runtime and the reference evaluator, and their derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mind_dialect.errors import MindError
from mind_passes.functional import vjp
from mind_runtime import compile
from mind_translate.onnx import read_onnx

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")
reference: Any = pytest.importorskip("onnx.reference")
h: Any = onnx.helper
Array = np.ndarray[Any, Any]


def normal(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng([seed, *shape]).normal(size=shape).astype(np.float32)


def model(op: str, inputs: list[Array | None], opset: int, **attributes: Any) -> tuple[Any, dict[str, Array]]:
    """A model of one node, some of whose operands are left out, and its feeds."""
    feeds = {f"x{i}": x for i, x in enumerate(inputs) if x is not None}
    values = [h.make_tensor_value_info(k, h.np_dtype_to_tensor_dtype(x.dtype), x.shape) for k, x in feeds.items()]
    node = h.make_node(op, [f"x{i}" if x is not None else "" for i, x in enumerate(inputs)], ["y"], name="n", **attributes)
    graph = h.make_graph([node], "g", values, [onnx.ValueInfoProto(name="y")])
    return h.make_model(graph, opset_imports=[h.make_opsetid("", opset)], ir_version=9), feeds


def by_runtime(made: Any, feeds: dict[str, Array]) -> Array:
    return runtime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, feeds)[0]


def by_reference(made: Any, feeds: dict[str, Array]) -> Array:
    return reference.ReferenceEvaluator(made).run(None, feeds)[0]


def agrees(oracles: list[Any], op: str, inputs: list[Array | None], opset: int, **attributes: Any) -> None:
    made, feeds = model(op, inputs, opset, **attributes)
    for target in ("numpy", "native"):
        found = compile(read_onnx(made.SerializeToString()), target=target)(*feeds.values())
        for oracle in oracles:
            expected = oracle(made, feeds)
            assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def regions(count: int) -> Array:
    """Inside, across the borders, far outside, and turned around."""
    rng = np.random.default_rng(count)
    return np.concatenate([rng.uniform(-8, 10, (count, 2)), rng.uniform(4, 26, (count, 2))], 1).astype(np.float32)


ROIS = [
    (10, {"sampling_ratio": 2}),
    (10, {"sampling_ratio": 1, "mode": "max", "output_height": 2}),
    (16, {"sampling_ratio": 2, "spatial_scale": 0.5}),
    (16, {"sampling_ratio": 3, "coordinate_transformation_mode": "output_half_pixel", "output_width": 4}),
    (16, {"sampling_ratio": 2, "mode": "max", "output_height": 3, "output_width": 2}),
]


@pytest.mark.parametrize(("opset", "attributes"), ROIS)
@pytest.mark.parametrize("shape", [(2, 3, 9, 7), (1, 2, 1, 5)])
def test_regions_of_images(shape: tuple[int, ...], opset: int, attributes: dict[str, Any]) -> None:
    batch = np.random.default_rng(1).integers(0, shape[0], 12)
    oracles = [by_runtime] if opset == 10 else [by_runtime, by_reference]  # the evaluator takes the default of opset 16
    agrees(oracles, "RoiAlign", [normal(*shape), regions(12), batch], opset, **attributes)


def test_regions_of_other_dtypes() -> None:
    half, batch = normal(1, 2, 6, 6).astype(np.float16), np.zeros(3, np.int64)
    made, feeds = model(
        "RoiAlign", [half, np.abs(regions(3)).astype(np.float16) / 4, batch], 16, sampling_ratio=2, output_height=2
    )
    found = compile(read_onnx(made.SerializeToString()))(*feeds.values())
    assert found.dtype == np.float16
    np.testing.assert_allclose(found, by_reference(made, feeds), rtol=2e-2, atol=2e-3)


@pytest.mark.parametrize("target", ["numpy", "native"])
@pytest.mark.parametrize("number", [2, -1])
def test_an_image_that_is_not_there_is_an_error(number: int, target: str) -> None:
    made, feeds = model(
        "RoiAlign", [normal(2, 3, 4, 4), np.array([[0, 0, 3, 3]], np.float32), np.array([number])], 16, sampling_ratio=1
    )
    with pytest.raises(MindError) as caught:
        compile(read_onnx(made.SerializeToString()), target=target)(*feeds.values())
    assert caught.value.code == "E6001"


DEFORMED: dict[str, tuple[int, int, int, int, int, int, bool, bool]] = {
    "plain": (1, 1, 1, 1, 1, 1, False, False),
    "factors and a bias": (2, 1, 1, 1, 1, 0, True, True),
    "groups of offsets, strides": (2, 2, 1, 1, 2, 1, True, False),
    "groups, holes": (1, 1, 2, 2, 1, 0, False, True),
    "groups of both": (2, 4, 4, 1, 1, 2, True, True),
}
"""Images, groups of offsets, groups, dilation, stride, padding, factors, bias."""


def deformed(batch: int, parts: int, groups: int, dilation: int, stride: int, pad: int, *, factors: bool, bias: bool) -> Any:
    """The operands and attributes of a DeformConv of 8 channels with windows of 3 by 2."""
    out = [(n + 2 * pad - (k - 1) * dilation - 1) // stride + 1 for n, k in ((9, 3), (8, 2))]
    inputs = [normal(batch, 8, 9, 8), normal(4, 8 // groups, 3, 2), 2 * normal(batch, parts * 12, *out)]
    inputs += [normal(4) if bias else None, abs(normal(batch, parts * 6, *out)) if factors else None]
    while inputs[-1] is None:
        inputs.pop()
    sizes = {"strides": [stride] * 2, "dilations": [dilation] * 2, "pads": [pad] * 4}
    return inputs, {"group": groups, "offset_group": parts, **sizes}


@pytest.mark.parametrize("name", DEFORMED)
def test_deformed_windows(name: str) -> None:
    *sizes, factors, bias = DEFORMED[name]
    inputs, attributes = deformed(*sizes, factors=factors, bias=bias)
    agrees([by_reference], "DeformConv", inputs, 19, **attributes)


def test_without_offsets_it_is_a_convolution() -> None:
    x, w = normal(2, 3, 7, 8), normal(4, 3, 3, 3)
    made, feeds = model("DeformConv", [x, w, np.zeros((2, 18, 7, 8), np.float32)], 19, pads=[1] * 4)
    plain, _ = model("Conv", [x, w], 19, pads=[1] * 4)
    found = compile(read_onnx(made.SerializeToString()), target="native")(*feeds.values())
    np.testing.assert_allclose(found, by_runtime(plain, {"x0": x, "x1": w}), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["RoiAlign", "DeformConv"])
def test_derivatives_are_those_of_central_differences(name: str) -> None:
    if name == "RoiAlign":
        inputs, attributes = [normal(2, 3, 6, 5), np.abs(regions(4)) / 5, np.array([0, 1, 1, 0])], {"sampling_ratio": 2}
    else:
        inputs, attributes = deformed(1, 2, 2, 1, 1, 1, factors=True, bias=True)
    inputs = [x.astype(np.float64) if x.dtype.kind == "f" else x for x in inputs]
    made, _ = model(name, inputs, 19, **attributes)
    module = read_onnx(made.SerializeToString())
    f, floats = compile(module), [i for i, x in enumerate(inputs) if x.dtype.kind == "f"]
    g = normal(*f(*inputs).shape).astype(np.float64)
    directions = [normal(*x.shape, seed=7).astype(np.float64) if i in floats else 0 for i, x in enumerate(inputs)]
    gradients = compile(vjp(module), "main_grad")(*inputs, g)[-len(floats) :]
    step = 1e-7
    up, down = (
        f(*(x + s * step * t if i in floats else x for i, (x, t) in enumerate(zip(inputs, directions, strict=True))))
        for s in (1, -1)
    )
    slope = ((up - down) * g).sum() / (2 * step)
    np.testing.assert_allclose(sum((a * directions[i]).sum() for a, i in zip(gradients, floats, strict=True)), slope, rtol=1e-5)


NONE = np.zeros(3, np.int64)
REFUSED: dict[str, tuple[str, list[Array | None], dict[str, Any], str]] = {
    "as many samples as a region is wide": ("RoiAlign", [normal(1, 1, 4, 4), regions(3), NONE], {}, "E8008"),
    "a negative number of samples": ("RoiAlign", [normal(1, 1, 4, 4), regions(3), NONE], {"sampling_ratio": -1}, "E8002"),
    "no bins": ("RoiAlign", [normal(1, 1, 4, 4), regions(3), NONE], {"sampling_ratio": 1, "output_width": 0}, "E8002"),
    "regions of three numbers": ("RoiAlign", [normal(1, 1, 4, 4), normal(3, 3), NONE], {"sampling_ratio": 1}, "E3003"),
    "another number of images": ("RoiAlign", [normal(1, 1, 4, 4), regions(4), NONE], {"sampling_ratio": 1}, "E3003"),
    "images of rank 3": ("RoiAlign", [normal(1, 4, 4), regions(3), NONE], {"sampling_ratio": 1}, "E3002"),
    "an unknown pooling": ("RoiAlign", [normal(1, 1, 4, 4), regions(3), NONE], {"sampling_ratio": 1, "mode": "sum"}, "E8002"),
    "offsets of another size": ("DeformConv", [normal(1, 2, 5, 5), normal(3, 2, 3, 3), normal(1, 18, 4, 3)], {}, "E3003"),
    "offsets of another count": ("DeformConv", [normal(1, 2, 5, 5), normal(3, 2, 3, 3), normal(1, 9, 3, 3)], {}, "E3003"),
    "channels of another count": ("DeformConv", [normal(1, 3, 5, 5), normal(3, 2, 3, 3), normal(1, 18, 3, 3)], {}, "E3003"),
    "groups that do not divide": (
        "DeformConv",
        [normal(1, 2, 5, 5), normal(3, 1, 3, 3), normal(1, 18, 3, 3)],
        {"group": 2},
        "E3003",
    ),
    "filters of another rank": ("DeformConv", [normal(1, 2, 5, 5), normal(3, 2, 3), normal(1, 18, 3, 3)], {}, "E3002"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_result_is_refused(name: str) -> None:
    op, inputs, attributes, code = REFUSED[name]
    made, _ = model(op, inputs, 19, **attributes)
    with pytest.raises(MindError) as caught:
        read_onnx(made.SerializeToString())
    assert caught.value.code == code
