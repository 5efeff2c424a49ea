"""Models of opsets before 13, of which ONNX Runtime says what they compute; images of other sizes: `test_old_resizes.py`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mind_dialect.errors import MindError
from mind_runtime import compile
from mind_translate.onnx import from_onnx, opsets, read_onnx

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

h: Any = onnx.helper
FLOAT = onnx.TensorProto.FLOAT
X = np.random.default_rng(1).normal(size=(2, 3, 4, 5)).astype(np.float32)
X[0, 0, 0, :2] = -0.0, 7.5


def tensor(name: str, values: Any) -> Any:
    return onnx.numpy_helper.from_array(np.asarray(values, np.float32), name)


def model(nodes: list[Any], opset: int, results: list[str], weights: Any = (), shape: Any = None, **more: Any) -> Any:
    """A model of nodes on `x`; the shape of its results is inferred unless it is given."""
    x = h.make_tensor_value_info("x", FLOAT, X.shape)
    outputs = [h.make_tensor_value_info(name, FLOAT, shape) for name in results]
    graph = h.make_graph(nodes, "g", [x], outputs, list(weights))
    imports = [h.make_opsetid("", opset), *more.pop("imports", ())]
    return h.make_model(graph, opset_imports=imports, ir_version=7, **more)


def node(op: str, *inputs: str, to: str = "y", **attributes: Any) -> Any:
    given = [name for name in inputs if name] if inputs else ["x"]
    return h.make_node(op, given, to.split(), name=f"{op} of {to}", **attributes)


FLOATS = [h.make_node("Cast", [name], [f"f{name}"], to=FLOAT) for name in "pq"] + [node("Add", "fp", "fq")]


COUNT, TRUE = onnx.numpy_helper.from_array(np.array(3), "count"), onnx.numpy_helper.from_array(np.array(True), "true")
BODY = h.make_graph(
    [h.make_node("Identity", ["go"], ["on"]), h.make_node("Mul", ["v", "v"], ["w"])],
    "body",
    [
        h.make_tensor_value_info("i", onnx.TensorProto.INT64, []),
        h.make_tensor_value_info("go", onnx.TensorProto.BOOL, []),
        h.make_tensor_value_info("v", FLOAT, X.shape),
    ],
    [h.make_tensor_value_info("on", onnx.TensorProto.BOOL, []), h.make_tensor_value_info("w", FLOAT, X.shape)],
)


def branch(only: Any) -> Any:
    return h.make_graph([only], "branch", [], [h.make_tensor_value_info(only.output[0], FLOAT, X.shape)])


OLD: dict[str, tuple[list[Any], list[int], list[Any]]] = {
    "softmax of all that follows": ([node("Softmax", axis=1)], [7, 11, 12], []),
    "logarithms of softmax": ([node("LogSoftmax", axis=2)], [7, 12], []),
    "the place of the greatest": ([node("ArgMax", axis=2, to="p"), node("ArgMin", axis=3, to="q"), *FLOATS], [7, 11], []),
    "means of windows": ([node("AveragePool", kernel_shape=[2, 2], strides=[1, 2], pads=[1, 0, 0, 1])], [7, 9], []),
    "the greatest of windows": ([node("MaxPool", kernel_shape=[2, 3], pads=[1, 1, 0, 0])], [7, 9], []),
    "channels to places": ([node("Concat", *"xxxx", to="c", axis=1), node("DepthToSpace", "c", blocksize=2)], [7, 10], []),
    "a loop": ([node("Loop", "count", "true", "x", body=BODY)], [9, 11], [COUNT, TRUE]),
    "a constant": ([node("Constant", "", to="c", value=tensor("c", [1, 2, 3, 4, 5])), node("Add", "x", "c")], [7, 11], []),
    "8 bits": (
        [node("QuantizeLinear", "x", "scale", to="q"), node("DequantizeLinear", "q", "scale")],
        [10, 12],
        [tensor("scale", 0.25)],
    ),
    "rows by index": ([node("GatherND", "x", "at")], [11], [onnx.numpy_helper.from_array(np.array([[1, 2], [0, 0]]), "at")]),
    "elements put": (
        [node("Scatter", "x", "at", "new", axis=1)],
        [9],
        [onnx.numpy_helper.from_array(np.full((2, 1, 4, 5), 2), "at"), tensor("new", np.ones((2, 1, 4, 5)))],
    ),
    "an image resized": (
        [node("Resize", "x", "roi", "s", mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")],
        [11, 12],
        [tensor("s", [1, 1, 2, 3]), tensor("roi", [])],
    ),
    "an image repeated": ([node("Upsample", scales=[1.0, 1.0, 2.0, 3.0])], [7, 8], []),
    "an image interpolated": ([node("Upsample", "x", "s", mode="linear")], [9], [tensor("s", [1, 1, 2.5, 3])]),
    "an image by corners": ([node("Resize", "x", "s", mode="linear")], [10], [tensor("s", [1, 1, 0.5, 3])]),
    "the first greatest of all that follows": ([node("Hardmax")], [7, 11, 12], []),
    "the first greatest of an axis": ([node("Hardmax", axis=-1)], [11, 12], []),
    "split": ([node("Split", to="a b", axis=3, split=[1, 4]), node("Mul", "a", "b")], [7, 11], []),
    "an axis more and less": (
        [node("Unsqueeze", axes=[0], to="u"), node("Relu", "u", to="v"), node("Squeeze", "v", axes=[0])],
        [7, 11],
        [],
    ),
    "sums": ([node("ReduceSum", axes=[1, 3], keepdims=0)], [7, 11], []),
    "means": ([node("ReduceMean", axes=[2])], [7, 11], []),
    "a border": ([node("Pad", pads=[0, 1, 0, 0, 0, 0, 0, 2], mode="constant", value=1.5)], [7, 10], []),
    "bounds": ([node("Clip", min=0.0, max=6.0)], [7, 10], []),
    "dropout": ([node("Dropout", ratio=0.5)], [7, 10], []),
    "dropout with a mask that nothing reads": ([node("Dropout", to="y mask", ratio=0.5)], [7, 9], []),
    "a part": ([node("Slice", axes=[1, 3], starts=[0, -3], ends=[2, 5])], [7, 9], []),
    "batch norm": (
        [node("BatchNormalization", "x", "a", "b", "c", "d", epsilon=1e-3)],
        [7, 9],
        [tensor(name, [0.5, 1.0, 2.0]) for name in "abcd"],
    ),
    "the 2 greatest": ([node("TopK", "x", to="y i", k=2, axis=3)], [7, 9], []),
    "a flat product": (
        [node("Flatten", axis=1, to="f"), node("Gemm", "f", "w", "v", alpha=0.5, transB=1)],
        [7, 10],
        [tensor("w", np.random.default_rng(2).normal(size=(30, 60))), tensor("v", np.arange(30.0))],
    ),
    "under a condition": (
        [
            node("ReduceMax", to="m", keepdims=0),
            node("Greater", "m", "zero", to="c"),
            node(
                "If",
                "c",
                then_branch=branch(node("Softmax", axis=1, to="t")),
                else_branch=branch(node("Neg", to="t")),
            ),
        ],
        [11, 12],
        [tensor("zero", 0.0)],
    ),
}
"""Nodes from `x` to `y`, the opsets, and weights."""


def by_runtime(made: Any) -> list[Any]:
    session = runtime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {"x": X})


@pytest.mark.parametrize(("name", "opset"), [(name, opset) for name, (_, every, _) in OLD.items() for opset in every])
def test_older_forms_are_read(name: str, opset: int) -> None:
    nodes, _, weights = OLD[name]
    made = model(nodes, opset, ["y"], weights, X.shape if name == "a loop" else None)
    (expected,) = by_runtime(made)
    for target in ("numpy", "native"):
        found = compile(read_onnx(made.SerializeToString()), target=target)(X)
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", OLD)
def test_missing_operands_and_attributes_are_no_crash(name: str) -> None:
    nodes, (opset, *_), weights = OLD[name]
    whole = model(nodes, opset, ["y"], weights, X.shape)
    for k, proto in enumerate(whole.graph.node):
        for field in ("input", "attribute", "output"):
            for i in range(len(getattr(proto, field))):
                damaged = onnx.ModelProto.FromString(whole.SerializeToString())
                del getattr(damaged.graph.node[k], field)[i]
                with suppress(MindError):  # unless the attribute has a default
                    compile(read_onnx(damaged.SerializeToString()))


def layers(*, lists_weights: bool = False) -> Any:
    """A model with weights, which the oldest models list as inputs, too."""
    rng = np.random.default_rng(3)
    shapes = {"small": (5,), "large": (60, 40), "last": (40,)}
    weights = [tensor(name, rng.normal(size=shape)) for name, shape in shapes.items()]
    nodes = [
        node("Mul", "x", "small", to="scaled"),
        node("Flatten", "scaled", axis=1, to="f"),
        node("Gemm", "f", "large", "last", to="g"),
        node("Softmax", "g", axis=1),
    ]
    made = model(nodes, 11, ["y"], weights, producer_name="someone")
    if lists_weights:
        made.graph.input.extend(h.make_tensor_value_info(name, FLOAT, shape) for name, shape in shapes.items())
    return made


@pytest.mark.parametrize("lists_weights", [False, True])
def test_weights_keep_their_names_order_and_values(lists_weights: bool) -> None:
    made = layers(lists_weights=lists_weights)
    before = made.SerializeToString()
    module, weights = from_onnx(before)
    assert list(weights) == ["small", "large", "last"]
    for stored in made.graph.initializer:
        assert weights[stored.name].tobytes() == onnx.numpy_helper.to_array(stored).tobytes()
    found = compile(module)(X, *weights.values())
    np.testing.assert_allclose(found, by_runtime(made)[0], rtol=1e-5, atol=1e-6)
    assert any("Softmax of y" in str(op.location) for op in module.walk())


def test_weights_in_other_files_are_read(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    onnx.save_model(layers(), str(path), save_as_external_data=True, location="weights.bin", size_threshold=0)
    found = compile(read_onnx(path))(X)
    np.testing.assert_allclose(found, by_runtime(layers())[0], rtol=1e-5, atol=1e-6)


def test_every_op_whose_form_has_changed_is_converted_or_not_for_a_reason() -> None:
    ops = {(s.name, version) for s in onnx.defs.get_all_schemas_with_history() if not s.domain for version in range(7, 13)}
    changed = {(name, version) for name, version in ops if opsets.is_changed(name, version)}
    assert {name for name, version in changed if not opsets.is_read(name, version)} == set(opsets.NOT_READ)
    tested = {p.op_type for nodes, _, _ in OLD.values() for p in nodes_of(nodes)}
    assert opsets.FORMS.keys() <= tested


def nodes_of(nodes: Any) -> Iterator[Any]:
    """Nodes and those of their graphs."""
    for proto in nodes:
        yield proto
        for attribute in proto.attribute:
            yield from nodes_of(attribute.g.node)


@pytest.mark.parametrize("mode", ["softmax", "hardmax"])
def test_all_that_follows_an_axis_may_have_named_sizes(mode: str) -> None:
    made = model([node(mode.title(), axis=2)], 11, ["y"])
    for place, name in ((0, "N"), (2, "H"), (3, "W")):
        made.graph.input[0].type.tensor_type.shape.dim[place].dim_param = name
    np.testing.assert_allclose(compile(read_onnx(made.SerializeToString()))(X), by_runtime(made)[0], rtol=1e-5, atol=1e-7)


def test_bounds_that_an_older_clip_lacks_are_those_of_f32() -> None:
    x = np.array([-np.inf, np.inf, 1.0], np.float32)
    made = h.make_model(
        h.make_graph([node("Clip", min=0.5)], "g", *([h.make_tensor_value_info(n, FLOAT, [3])] for n in "xy")),
        opset_imports=[h.make_opsetid("", 9)],
        ir_version=7,
    )
    session = runtime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    np.testing.assert_array_equal(compile(read_onnx(made.SerializeToString()))(x), session.run(None, {"x": x})[0])


@pytest.mark.parametrize(
    ("only", "opset", "message"),
    [
        (node("Upsample", "x", "s"), 10, "an op that opset 10 and newer lack"),
        (node("Upsample", "x", "s"), 13, "an op that opset 10 and newer lack"),
        (node("BatchNormalization", "x", *"abcd", spatial=0), 7, "statistics of each position"),
        (node("Dropout", to="z y"), 9, "a mask of the dtype of the operand"),
        (node("PRelu", "x", "s"), 6, "its form in opset 6, which opset 13 changed"),
    ],
)
def test_other_old_forms_are_refused(only: Any, opset: int, message: str) -> None:
    weights = [tensor("s", [1, 1, 2, 2]), *(tensor(name, [0.5, 1.0, 2.0]) for name in "abcd")]
    with pytest.raises(MindError, match=message) as found:
        read_onnx(model([only], opset, ["y"], weights).SerializeToString())
    assert found.value.code == "E8008"


def test_functions_of_a_model_may_have_old_forms() -> None:
    body = h.make_function("own", "Mass", ["a"], ["b"], [h.make_node("Softmax", ["a"], ["b"], axis=1)], [h.make_opsetid("", 11)])
    made = model(
        [h.make_node("Mass", ["x"], ["y"], domain="own")], 11, ["y"], imports=[h.make_opsetid("own", 1)], functions=[body]
    )
    np.testing.assert_allclose(compile(read_onnx(made.SerializeToString()))(X), by_runtime(made)[0], rtol=1e-5, atol=1e-7)


def test_a_wrong_model_is_refused_as_it_is() -> None:
    made = model([node("Softmax", axis=9)], 11, ["y"])
    with pytest.raises(MindError, match="Softmax"):
        read_onnx(made.SerializeToString())
