"""Operators that ONNX Runtime fuses, against ONNX Runtime itself; what it does not define is refused."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mind_dialect.errors import MindError
from mind_passes.functional import vjp
from mind_runtime import compile
from mind_translate.onnx import from_onnx, read_onnx
from mind_translate.onnx.contrib_fused import ACTIVATIONS, FUSED
from onnx_nodes import agrees, normal, whole

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")
h: Any = onnx.helper
Shape = tuple[int, ...]
SIMPLIFIED = "SimplifiedLayerNormalization"


def model(op: str, shapes: Sequence[Shape | None], results: Sequence[str] = ("y",), **attributes: Any) -> bytes:
    """A model of one node; an operand without a shape is not given."""
    names = ["" if shape is None else f"x{i}" for i, shape in enumerate(shapes)]
    node = h.make_node(op, names, results, name="n", domain="" if op == SIMPLIFIED else "com.microsoft", **attributes)
    given = [h.make_tensor_value_info(n, 1, s) for n, s in zip(names, shapes, strict=True) if s is not None]
    graph = h.make_graph([node], "g", given, [onnx.ValueInfoProto(name=name) for name in results if name])
    imports = [h.make_opsetid("", 17), h.make_opsetid("com.microsoft", 1)]
    return h.make_model(graph, opset_imports=imports, ir_version=8).SerializeToString()


X, ROW = (2, 3, 8), (8,)
IMAGE, FILTER = (2, 4, 7, 6), (6, 2, 3, 3)
CASES: dict[str, tuple[str, Sequence[Shape | None], Sequence[str], dict[str, Any]]] = {
    "gelu": ("Gelu", [X], ["y"], {}),
    "bias gelu": ("BiasGelu", [X, ROW], ["y"], {}),
    "fast gelu": ("FastGelu", [X], ["y"], {}),
    "fast gelu with a bias": ("FastGelu", [X, ROW], ["y"], {}),
    "quick gelu": ("QuickGelu", [X], ["y"], {}),
    "quick gelu, alpha": ("QuickGelu", [X], ["y"], {"alpha": 0.5}),
    "product": ("FusedMatMul", [X, (8, 5)], ["y"], {}),
    "product, factor": ("FusedMatMul", [X, (2, 8, 5)], ["y"], {"alpha": 0.25}),
    "product, turned": ("FusedMatMul", [(2, 8, 3), (2, 5, 8)], ["y"], {"transA": 1, "transB": 1}),
    "product of matrices, turned": ("FusedMatMul", [(8, 3), (8, 5)], ["y"], {"transA": 1, "alpha": 3.0}),
    "product, batch after rows": (
        "FusedMatMul", [(3, 2, 4, 8), (8, 2, 4, 5)], ["y"], {"transBatchA": 1, "transBatchB": 1, "alpha": 0.5},
    ),
    "product, batch after columns": ("FusedMatMul", [(8, 2, 4, 3), (2, 4, 8, 5)], ["y"], {"transBatchA": 1, "transA": 1}),
    "product, batch of the second after columns": ("FusedMatMul", [(2, 3, 8), (5, 2, 8)], ["y"], {"transBatchB": 1, "transB": 1}),
    "product, the old name": ("TransposeMatMul", [(2, 8, 3), (2, 5, 8)], ["y"], {"transA": 1, "transB": 1, "alpha": 0.5}),
    "squares of distances": ("CDist", [(7, 4), (5, 4)], ["y"], {}),
    "distances": ("CDist", [(7, 4), (5, 4)], ["y"], {"metric": "euclidean"}),
    "places of images": ("GridSample", [(2, 3, 6, 7), (2, 4, 5, 2)], ["y"], {}),
    "places of images, cubic": (
        "GridSample", [(2, 3, 6, 7), (2, 4, 5, 2)], ["y"], {"mode": "bicubic", "padding_mode": "border", "align_corners": 1},
    ),
    "triangle": ("Trilu", [(2, 5, 6)], ["y"], {"upper": 0}),
    "inverse": ("Inverse", [(2, 4, 4)], ["y"], {}),
    "gemm": ("FusedGemm", [(3, 8), (5, 8), (5,)], ["y"], {"transB": 1, "alpha": 0.5, "beta": 2.0, "activation": "Relu"}),
    "gemm, alpha": ("FusedGemm", [(3, 8), (8, 5), (5,)], ["y"], {"activation": "LeakyRelu", "activation_alpha": 0.3}),
    "convolution": ("FusedConv", [IMAGE, FILTER, (6,)], ["y"], {"group": 2, "pads": [1, 1, 1, 1], "activation": "Relu"}),
    "convolution, strides": ("FusedConv", [IMAGE, FILTER], ["y"], {"group": 2, "strides": [2, 1], "activation": "Tanh"}),
    "convolution and a sum": (
        "FusedConv", [IMAGE, FILTER, (6,), (2, 6, 7, 6)], ["y"], {"group": 2, "pads": [1] * 4, "activation": "Relu"},
    ),
    "norm of a sum": ("SkipLayerNormalization", [X, X, ROW, ROW, ROW], ["y", "", "", "total"], {"epsilon": 1e-5}),
    "norm of a sum, no bias": ("SkipLayerNormalization", [X, X, ROW, ROW], ["y"], {"epsilon": 1e-3}),
    "norm of a sum, scales alone": ("SkipLayerNormalization", [X, (1, 3, 8), ROW], ["y"], {}),
    "root mean square of a sum": ("SkipSimplifiedLayerNormalization", [X, X, ROW, ROW], ["y", "", "", "t"], {"epsilon": 1e-2}),
    "root mean square of a sum, no bias": ("SkipSimplifiedLayerNormalization", [X, X, ROW], ["y"], {}),
    "root mean square": (SIMPLIFIED, [X, ROW], ["y"], {"axis": -1, "epsilon": 1e-6, "stash_type": 1}),
}  # fmt: skip
CONVOLUTIONS: dict[str, dict[str, Any]] = {
    "Clip": {"activation_params": [-0.5, 0.75]},
    "HardSigmoid": {"activation_params": [0.3, 0.4]},
    "LeakyRelu": {"activation_params": [0.2]},
    **{name: {} for name in ("Relu", "Sigmoid", "Tanh")},
}
CASES |= {
    f"convolution, {name}": ("FusedConv", [IMAGE, FILTER], ["y"], {"group": 2, "activation": name, **given})
    for name, given in CONVOLUTIONS.items()
}


def arrays(shapes: Sequence[Shape | None]) -> list[Any]:
    rng = np.random.default_rng(3)
    return [rng.standard_normal(shape).astype(np.float32) for shape in shapes if shape is not None]


def several(found: Any) -> list[Any]:
    return [*found] if isinstance(found, tuple | list) else [found]


@pytest.mark.parametrize("target", ["numpy", "native"])
@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_onnx_runtime(name: str, target: str) -> None:
    op, shapes, results, attributes = CASES[name]
    data, given = model(op, shapes, results, **attributes), arrays(shapes)
    session = runtime.InferenceSession(data, providers=["CPUExecutionProvider"])
    expected = session.run(None, {f"x{i}": x for i, x in zip([i for i, s in enumerate(shapes) if s], given, strict=True)})
    found = several(compile(read_onnx(data), target=target)(*given))
    for a, b in zip(found, expected, strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("mask", [None, np.array([[1, 1, 1, 0, 0], [1] * 5], np.int32)], ids=["no mask", "mask"])
@pytest.mark.parametrize("segments", [None, whole(0, 2, np.int32, 2, 5)], ids=["no segments", "segments"])
@pytest.mark.parametrize("places", [None, whole(0, 9, np.int32, 2, 5)], ids=["no places", "places"])
def test_norms_of_embeddings(places: Any, segments: Any, mask: Any) -> None:
    tables = [normal(20, 8), normal(9, 8), None if segments is None else normal(2, 8)]
    given = [whole(0, 20, np.int32, 2, 5), segments, *tables, normal(8), normal(8) * 2, mask, places]
    while given[-1] is None:
        given.pop()
    agrees("EmbedLayerNormalization", given, 3, domain="com.microsoft", epsilon=1e-5)


def test_layouts_of_a_processor_are_refused() -> None:
    values = [h.make_tensor_value_info("x", 1, (1, 8, 4, 4)), onnx.ValueInfoProto(name="y")]
    node = h.make_node("ReorderInput", ["x"], ["y"], domain="com.microsoft.nchwc")
    graph = h.make_graph([node], "g", values[:1], values[1:])
    made = h.make_model(graph, opset_imports=[h.make_opsetid("", 17), h.make_opsetid("com.microsoft.nchwc", 1)], ir_version=8)
    with pytest.raises(MindError, match='optimize the model up to the level "extended", not "all"'):
        read_onnx(made.SerializeToString())


def test_a_model_that_onnx_runtime_optimized(tmp_path: Path) -> None:
    """It writes what it runs: a convolution and its activation become one operator."""
    nodes = [h.make_node("Conv", ["x", "w"], ["c"], pads=[1] * 4, group=2), h.make_node("LeakyRelu", ["c"], ["y"], alpha=0.2)]
    x, w = arrays([IMAGE, FILTER])
    values = [h.make_tensor_value_info(name, 1, shape) for name, shape in (("x", IMAGE), ("y", None))]
    graph = h.make_graph(nodes, "g", values[:1], values[1:], [onnx.numpy_helper.from_array(w, "w")])
    made = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8).SerializeToString()
    options = runtime.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "optimized.onnx")
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    (expected,) = runtime.InferenceSession(made, options, providers=["CPUExecutionProvider"]).run(None, {"x": x})
    assert b"FusedConv" in (tmp_path / "optimized.onnx").read_bytes()
    module, weights = from_onnx(tmp_path / "optimized.onnx")
    program = compile(module)
    found = program(*(weights.get(spec.name, x) for spec in program.inputs))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_each_operator_and_activation_is_tested() -> None:
    assert {op for op, *_ in CASES.values()} | {"EmbedLayerNormalization"} == {name.rpartition(".")[2] for name in FUSED}
    assert {"", *CONVOLUTIONS} == {*ACTIVATIONS}


def test_a_derivative_is_that_of_the_arithmetic() -> None:
    op, shapes, _, attributes = CASES["norm of a sum, no bias"]
    given = [x.astype(np.float64) for x in arrays(shapes)]
    module = read_onnx(model(op, shapes, **attributes))
    value, run = compile(module), compile(vjp(module, wrt=["x0"]), "main_grad")
    rng = np.random.default_rng(1)
    g, v = (rng.standard_normal(X) for _ in range(2))
    narrow = [x.astype(np.float32) for x in given]
    *_, adjoint = run(*narrow, g.astype(np.float32))
    ends = [value(*(x.astype(np.float32) for x in (given[0] + s * 1e-2 * v, *given[1:]))).astype(np.float64) for s in (1, -1)]
    np.testing.assert_allclose((adjoint * v).sum(), (g * (ends[0] - ends[1])).sum() / 2e-2, rtol=1e-2)


@pytest.mark.parametrize(
    ("op", "shapes", "results", "attributes", "code", "words"),
    [
        ("Gelu", [X, ROW], ["y"], {}, "E2007", "2 operands, expected 1"),
        ("BiasGelu", [X, None], ["y"], {}, "E2007", "expected 2"),
        ("QuickGelu", [X], ["y"], {"beta": 1.0}, "E4000", "no attribute 'beta'"),
        ("FusedMatMul", [X, (2, 8, 5)], ["y"], {"transBatchA": 1}, "E3001", "cannot broadcast"),
        ("Inverse", [(8,)], ["y"], {}, "E3002", "rank 1, expected at least 2"),
        ("Inverse", [(3, 4)], ["y"], {}, "E", "square"),
        ("BiasSoftmax", [(4, 3), (5, 3)], ["y"], {"metric": "euclidean"}, "E8008", "ONNX Runtime without an import rule"),
        ("FusedMatMul", [X, (7, 5)], ["y"], {}, "E3003", "cannot multiply"),
        ("FusedConv", [IMAGE, FILTER], ["y"], {"group": 2, "activation": "Sinh"}, "E8008", "the activation Sinh"),
        ("FusedConv", [IMAGE, FILTER], ["y"], {"group": 2, "activation": "x" * 99999}, "E8008", "the activation x+…?"),
        ("SkipSimplifiedLayerNormalization", [X, X, ROW], ["y", "mean"], {}, "E8008", "mean of a norm that has none"),
        ("SkipLayerNormalization", [X, X, (7,)], ["y"], {}, "E3", "7"),
        (SIMPLIFIED, [X, ROW], ["y"], {"axis": 1}, "E8008", "over several axes"),
        (SIMPLIFIED, [X, ROW], ["y"], {"axis": 3}, "E3004", "axis 3"),
    ],
)  # fmt: skip
def test_faults_are_named(op: str, shapes: Any, results: Any, attributes: Any, code: str, words: str) -> None:
    with pytest.raises(MindError, match=words) as caught:
        read_onnx(model(op, shapes, results, **attributes))
    assert caught.value.code.startswith(code)
    assert len(str(caught.value)) < 1000
