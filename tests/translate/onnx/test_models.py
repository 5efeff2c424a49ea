"""Models: values as ONNX Runtime and the reference evaluator have them, gradients as central differences; bad models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mind_dialect import MindError
from mind_runtime import compile
from mind_tools.frontends import load
from mind_translate.onnx import from_onnx, read_onnx

onnx = pytest.importorskip("onnx")
h: Any = onnx.helper
F, D, L = onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE, onnx.TensorProto.INT64


def model(
    nodes: list[Any], inputs: dict[str, tuple[Any, list[Any]]], outputs: list[str], weights: Any = None, opset: int = 18
) -> Any:
    """A model; outputs state no type."""
    tensors = [onnx.numpy_helper.from_array(np.asarray(v), k) for k, v in (weights or {}).items()]
    values = [h.make_tensor_value_info(k, t, s) for k, (t, s) in inputs.items()]
    results = [onnx.ValueInfoProto(name=o) for o in outputs]
    graph = h.make_graph(nodes, "g", values, results, tensors)
    return h.make_model(graph, opset_imports=[h.make_opsetid("", opset)], ir_version=9)


def n(op: str, inputs: str, outputs: str, **attributes: Any) -> Any:
    """A node; `_` is an operand that is missing."""
    return h.make_node(op, [i.replace("_", "") for i in inputs.split()], outputs.split(), name=f"n_{op}", **attributes)


def mlp(dtype: Any, kind: Any) -> Any:
    """Two layers with a softmax."""
    rng = np.random.default_rng(0)
    weights = {k: rng.normal(size=s).astype(dtype) for k, s in {"w": (3, 4), "b": (4,), "v": (4, 2)}.items()}
    nodes = [n("Gemm", "x w b", "h"), n("Gelu", "h", "a"), n("MatMul", "a v", "y"), n("Softmax", "y", "p")]
    return model(nodes, {"x": (kind, ["batch", 3])}, ["p"], weights, 20)


def same(proto: Any, *arguments: Any, target: str = "numpy") -> None:
    """Compare with the reference evaluator."""
    from onnx.reference import ReferenceEvaluator

    names = [i.name for i in proto.graph.input]
    expected = ReferenceEvaluator(proto).run(None, dict(zip(names, arguments, strict=True)))
    made = compile(read_onnx(proto.SerializeToString()), target=target)
    found = made(*arguments)
    for x, y in zip([found] if len(expected) == 1 else found, expected, strict=True):
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("target", ["numpy", "native"])
@pytest.mark.parametrize("batch", [1, 5])
def test_a_perceptron_of_any_batch(target: str, batch: int):
    same(mlp(np.float32, F), np.random.default_rng(1).normal(size=(batch, 3)).astype(np.float32), target=target)


def test_onnx_runtime_agrees(tmp_path: Path):
    runtime = pytest.importorskip("onnxruntime")
    proto = mlp(np.float32, F)
    x = np.random.default_rng(1).normal(size=(2, 3)).astype(np.float32)
    onnx.save(proto, tmp_path / "m.onnx")
    (expected,) = runtime.InferenceSession(str(tmp_path / "m.onnx")).run(None, {"x": x})
    np.testing.assert_allclose(compile(load(tmp_path / "m.onnx"))(x), expected, rtol=1e-5)


def test_shapes_that_a_model_computes():
    """As exporters write `x.reshape(x.shape[0], x.shape[1], 2, -1)` and heads of attention."""
    nodes = [
        n("Shape", "x", "s"),
        n("Gather", "s zero", "b", axis=0),
        n("Gather", "s one", "t", axis=0),
        n("Unsqueeze", "b axes", "b1"),
        n("Unsqueeze", "t axes", "t1"),
        n("Concat", "b1 t1 rest", "to", axis=0),
        n("Reshape", "x to", "r"),
        n("Transpose", "r", "y", perm=[0, 2, 1, 3]),
    ]
    weights = {"zero": np.int64(0), "one": np.int64(1), "axes": np.array([0]), "rest": np.array([2, -1])}
    proto = model(nodes, {"x": (F, ["batch", "time", 6])}, ["y"], weights)
    same(proto, np.random.default_rng(0).normal(size=(2, 5, 6)).astype(np.float32))


def test_parameters_by_name_and_their_gradients():
    """In f64, by the VJP and by central differences along random directions of all inputs, weights included."""
    from mind_runtime.agreement import check_gradients

    proto = mlp(np.float64, D)
    proto.graph.node[1].op_type = "Tanh"
    proto.graph.node.append(n("ReduceSumSquare", "p", "loss", keepdims=0))
    proto.graph.output[0].name = "loss"
    module, weights = from_onnx(proto.SerializeToString(), dims={"batch": 2})
    assert list(weights) == ["w", "b", "v"]
    program = compile(module)
    assert [spec.name for spec in program.inputs] == ["x", *weights]
    arguments = [np.random.default_rng(2).normal(size=(2, 3)), *weights.values()]
    np.testing.assert_allclose(program(*arguments), compile(read_onnx(proto.SerializeToString()))(arguments[0]), rtol=1e-14)
    checks = check_gradients(module, "main", arguments, 0)
    assert checks
    assert all(check.agrees for check in checks)
    assert any(abs(check.by_vjp) > 1e-3 for check in checks)


def body(outputs: list[str], nodes: list[Any], inputs: dict[str, Any]) -> Any:
    """A graph inside a node."""
    values = [h.make_tensor_value_info(k, t, s) for k, (t, s) in inputs.items()]
    kinds = {o: (onnx.TensorProto.BOOL if o == "go" else F) for o in outputs}
    return h.make_graph(nodes, "body", values, [h.make_tensor_value_info(o, kinds[o], None) for o in outputs])


@pytest.mark.parametrize("target", ["numpy", "native"])
def test_loops_and_branches(target: str):
    step = body(
        ["go", "w", "row"],
        [n("Mul", "v x", "w"), n("Identity", "w", "row"), n("Identity", "c", "go")],
        {"i": (L, []), "c": (onnx.TensorProto.BOOL, []), "v": (F, [3])},
    )
    counted = model(
        [n("Loop", "trips start x", "last rows", body=step)],
        {"x": (F, [3])},
        ["last", "rows"],
        {"trips": np.int64(4), "start": True},
    )
    x = np.array([1, 2, -0.5], np.float32)
    same(counted, x, target=target)
    below = body(
        ["go", "w"],
        [n("Add", "v x", "w"), n("ReduceMax", "w", "m", keepdims=0), n("Less", "m limit", "go")],
        {"i": (L, []), "c": (onnx.TensorProto.BOOL, []), "v": (F, [3])},
    )
    until = model(
        [n("Loop", "_ start x", "last", body=below)], {"x": (F, [3])}, ["last"], {"start": True, "limit": np.float32(9)}
    )
    same(until, x, target=target)
    branches = {k: body(["y"], [n(op, "x x", "y")], {}) for k, op in {"then_branch": "Add", "else_branch": "Mul"}.items()}
    proto = model([n("If", "p", "y", **branches)], {"p": (onnx.TensorProto.BOOL, []), "x": (F, [3])}, ["y"])
    same(proto, np.array(True), x, target=target)
    same(proto, np.array(False), x, target=target)


# What is refused


def test_all_that_has_no_form_is_one_error():
    nodes = [n("RandomNormalLike", "x", "a"), n("RandomNormalLike", "a", "b"), n("NonZero", "x", "c"), n("Relu", "c", "d")]
    with pytest.raises(MindError) as caught:
        read_onnx(model(nodes, {"x": (F, [3])}, ["b", "d"]).SerializeToString())
    assert caught.value.code == "E8008"
    lines = caught.value.context["diagnostics"]
    assert [line.partition(":")[0] for line in lines] == ["RandomNormalLike, at n_RandomNormalLike", "NonZero, at n_NonZero"]


def refused(proto: Any, code: str, match: str) -> None:
    """A model is a coded error."""
    data = proto if isinstance(proto, bytes) else proto.SerializeToString()
    with pytest.raises(MindError, match=match) as caught:
        read_onnx(data, "m.onnx")
    assert caught.value.code == code


def test_bad_models():
    x = {"x": (F, [3])}
    whole = mlp(np.float32, F).SerializeToString()
    refused(whole[: len(whole) // 2], "E1007", "not an ONNX model")
    refused(b"", "E1007", "has no ir_version")
    refused(model([n("Add", "x w", "y")], x, ["y"]), "E2002", "'w' .of n_Add")
    refused(model([n("Add", "x b", "a"), n("Relu", "a", "b")], x, ["b"]), "E4001", "cycle: 'b'")
    refused(model([n("Relu", "x", "y"), n("Relu", "x", "y")], x, ["y"]), "E4002", "twice: 'y'")
    refused(model([n("Relu", "x", "y")], x, ["y"], opset=99), "E8006", "opset 99")
    refused(model([n("PRelu", "x x", "y")], x, ["y"], opset=6), "E8008", "opset 6")
    refused(model([n("Add", "x w", "y")], x, ["y"], {"w": np.ones(4, np.float32)}), "E3001", "node 'n_Add'")
    refused(model([n("Relu", "x x", "y")], x, ["y"]), "E2007", "has 2 operands")
    refused(model([n("Relu", "x", "y", alpha=1.0)], x, ["y"]), "E4000", "no attribute 'alpha'")
    refused(model([n("Softmax", "x", "y", axis=7)], x, ["y"]), "E3004", "axis 7")
    refused(model([n("Softmax", "x", "y", axis=0.5)], x, ["y"]), "E8002", "expected INT")
    refused(model([n("Nonsense", "x", "y")], x, ["y"]), "E8008", "no opset of the model has")


def test_a_source_of_another_type_is_a_coded_error():
    for read in (read_onnx, from_onnx):
        with pytest.raises(MindError, match=r"the bytes of a model .*, found ModelProto") as caught:
            read(mlp(np.float32, F))  # pyright: ignore[reportArgumentType]
        assert caught.value.code == "E2001"


def test_misfits_of_initialisers_are_listed():
    inputs = {"x": (F, [3]), "w": (F, [2]), "v": (D, [3])}
    proto = model([n("Add", "x w", "y")], inputs, ["y"], {"w": np.ones(3, np.float32), "v": np.ones(3, np.float32)})
    refused(proto, "E3010", r"(?s)2 initializers.*w: shape \[3\], declared \[2\].*v: f32, declared f64")


def test_external_data_stays_in_the_folder(tmp_path: Path):
    (tmp_path / "secret.bin").write_bytes(np.full(3, 7, "<f4").tobytes())
    inside = tmp_path / "model"
    inside.mkdir()
    (inside / "w.bin").write_bytes(np.array([1, 2, 3], "<f4").tobytes())
    (inside / "link.bin").symlink_to(tmp_path / "secret.bin")
    proto = model([n("Add", "x w", "y")], {"x": (F, [3])}, ["y"], {"w": np.ones(3, np.float32)})
    tensor = proto.graph.initializer[0]
    for location, found in {"w.bin": None, "../secret.bin": "outside", "link.bin": "outside", "no.bin": "not a file"}.items():
        tensor.raw_data = b""
        onnx.external_data_helper.set_external_data(tensor, location)
        tensor.ClearField("raw_data")
        (inside / "m.onnx").write_bytes(proto.SerializeToString())
        if found is None:
            np.testing.assert_array_equal(compile(load(inside / "m.onnx"))(np.zeros(3, np.float32)), [1, 2, 3])
            continue
        with pytest.raises(MindError, match=found) as caught:
            load(inside / "m.onnx")
        assert caught.value.code == "E7002"
    refused(proto, "E7002", "expected a model from a file")


def test_hostile_names():
    nodes = [h.make_node("Add", ['a"\n%x', "módulo"], ["out // }"], name="\x00")]
    proto = model(nodes, {'a"\n%x': (F, [2]), "módulo": (F, ["b\n c"])}, ["out // }"])
    proto.graph.input[1].type.tensor_type.shape.dim[0].dim_value = 2
    module, weights = from_onnx(proto.SerializeToString())
    assert weights == {}
    made = compile(module)
    assert [spec.name for spec in made.inputs] == ['a"\n%x', "módulo"]
