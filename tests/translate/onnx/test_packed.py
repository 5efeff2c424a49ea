"""Products with packed weights of 4 and 8 bits, against ONNX Runtime and a dequantised product in f64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mind_dialect.errors import MindError
from mind_passes.functional import vjp
from mind_runtime import compile
from mind_translate.onnx import read_onnx
from onnx_nodes import node_model

ml_dtypes = pytest.importorskip("ml_dtypes")
onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")
h: Any = onnx.helper
Array = np.ndarray[Any, Any]


def model(arrays: dict[str, Array], **attributes: Any) -> bytes:
    """A model of one node; operands that are empty names are not given."""
    names = ["a", "b", "scales", "zero_points", "g_idx", "bias"]
    inputs = [n if n in arrays else "" for n in names]
    while not inputs[-1]:
        inputs.pop()
    node = h.make_node("MatMulNBits", inputs, ["y"], name="n", domain="com.microsoft", **attributes)
    values = [h.make_tensor_value_info(n, h.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a in arrays.items()]
    graph = h.make_graph([node], "g", values, [onnx.ValueInfoProto(name="y")])
    imports = [h.make_opsetid("", 21), h.make_opsetid("com.microsoft", 1)]
    return h.make_model(graph, opset_imports=imports, ir_version=10).SerializeToString()


def case(k: int, n: int, block: int, bits: int, lead: tuple[int, ...], zeros: bool, bias: bool) -> tuple[dict[str, Array], Array]:
    """The operands of a node, and the weights that they mean."""
    rng = np.random.default_rng([k, n, block, bits])
    blocks = -(-k // block)
    codes = rng.integers(0, 1 << bits, (n, blocks, block))
    points = rng.integers(0, 1 << bits, (n, blocks)) if zeros else np.full((n, blocks), 8 if bits == 4 else 128)
    scales = rng.normal(size=(n, blocks)).astype(np.float32)
    packed = codes[..., ::2] | codes[..., 1::2] << 4 if bits == 4 else codes
    arrays: dict[str, Array] = {
        "a": rng.normal(size=(*lead, k)).astype(np.float32), "b": packed.astype(np.uint8), "scales": scales.reshape(-1),
    }  # fmt: skip
    if zeros:
        even = np.pad(points, ((0, 0), (0, blocks % 2)))
        arrays["zero_points"] = ((even[:, ::2] | even[:, 1::2] << 4) if bits == 4 else points).astype(np.uint8).reshape(-1)
    if bias:
        arrays["bias"] = rng.normal(size=n).astype(np.float32)
    weights = (codes - points[..., None]) * scales[..., None].astype(np.float64)
    return arrays, weights.reshape(n, -1)[:, :k]


@pytest.mark.parametrize("target", ["numpy", "native"])
@pytest.mark.parametrize(("zeros", "bias"), [(False, False), (True, False), (True, True)])
@pytest.mark.parametrize(
    ("k", "n", "block", "bits", "lead"),
    [(64, 5, 16, 4, (3,)), (96, 8, 32, 4, (1,)), (40, 3, 16, 4, (2, 3)), (128, 4, 128, 4, (2,)), (64, 5, 16, 8, (3,))],
)
def test_products_agree(
    k: int, n: int, block: int, bits: int, lead: tuple[int, ...], zeros: bool, bias: bool, target: str
) -> None:
    arrays, weights = case(k, n, block, bits, lead, zeros, bias)
    data = model(arrays, K=k, N=n, block_size=block, bits=bits)
    found = compile(read_onnx(data), target=target)(*arrays.values())
    exact = arrays["a"].astype(np.float64) @ weights.T + (arrays["bias"] if bias else 0)
    np.testing.assert_allclose(found, exact, 0, 1e-5 * float(np.abs(exact).max()))
    theirs = runtime.InferenceSession(data, providers=["CPUExecutionProvider"]).run(None, arrays)[0]
    assert (found.shape, found.dtype) == (theirs.shape, theirs.dtype)
    np.testing.assert_allclose(found, theirs, 0, 1e-4 * float(np.abs(exact).max()))


def test_activations_of_16_bits_are_summed_in_f32() -> None:
    arrays, weights = case(64, 5, 16, 4, (3,), True, False)
    arrays |= {name: arrays[name].astype(np.float16) for name in ("a", "scales")}
    found = compile(read_onnx(model(arrays, K=64, N=5, block_size=16)))(*arrays.values())
    assert found.dtype == np.float16
    np.testing.assert_allclose(found, arrays["a"].astype(np.float64) @ weights.T, rtol=0, atol=0.05)


def test_the_derivative_of_the_activations_is_a_product_with_the_weights() -> None:
    arrays, weights = case(40, 3, 16, 4, (2,), True, False)
    module = vjp(read_onnx(model(arrays, K=40, N=3, block_size=16)), wrt=["a"])
    g = np.random.default_rng(0).normal(size=(2, 3)).astype(np.float32)
    (name,) = [f.sym_name.data for f in module.ops if f.sym_name.data.endswith("_grad")]
    for target in ("numpy", "native"):
        *_, adjoint = compile(module, name, target)(*arrays.values(), g)
        np.testing.assert_allclose(adjoint, g.astype(np.float64) @ weights, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("changed", "attributes", "code", "words"),
    [
        ({}, {"K": 0}, "E8002", "K is 0"),
        ({}, {"block_size": 24}, "E8002", "power of two"),
        ({}, {"bits": 2}, "E8008", "2 bits"),
        ({}, {"N": 6}, "E3003", "B has 160 elements, expected 192"),
        ({}, {"K": 80}, "E3003", "expected 80 columns|B has"),
        ({"scales": np.ones(3, np.float32)}, {}, "E3003", "scales has 3 elements, expected 20"),
        ({"zero_points": np.ones(3, np.uint8)}, {}, "E3003", "zero_points has 3 elements, expected 10"),
        ({"b": np.ones((5, 4, 8), np.int8)}, {}, "E8008", "B of si8"),
        ({"g_idx": np.zeros(64, np.int32)}, {}, "E8008", "g_idx"),
    ],
    ids=str,
)
def test_faults_are_named(changed: dict[str, Array], attributes: dict[str, Any], code: str, words: str) -> None:
    arrays, _ = case(64, 5, 16, 4, (3,), False, False)
    given: dict[str, Any] = {"K": 64, "N": 5, "block_size": 16} | attributes
    with pytest.raises(MindError, match=words) as caught:
        read_onnx(model(arrays | changed, **given))
    assert caught.value.code == code


def test_another_operator_of_the_domain_is_refused() -> None:
    node = h.make_node("Rfft", ["x"], ["y"], domain="com.microsoft")
    graph = h.make_graph([node], "g", [h.make_tensor_value_info("x", 1, [2, 2])], [onnx.ValueInfoProto(name="y")])
    imports = [h.make_opsetid("", 21), h.make_opsetid("com.microsoft", 1)]
    with pytest.raises(MindError, match=r"com\.microsoft\.Rfft") as caught:
        read_onnx(h.make_model(graph, opset_imports=imports, ir_version=10).SerializeToString())
    assert caught.value.code == "E8008"


ROWS = 7
INDEX = np.array([[0, 3, -1], [5, 2, 2]])


def table(kind: str, columns: int, block: int, bits: int, zeros: bool) -> list[Any]:
    """A table of codes, indices of its rows, scales of blocks and their zero points."""
    rng = np.random.default_rng([columns, block, bits])
    blocks = -(-columns // block)
    codes, points = (rng.integers(0, 1 << bits, (ROWS, n)) for n in (columns, blocks + blocks % 2))
    if kind == "bytes" and bits == 4:
        arrays = [(a[:, ::2] | a[:, 1::2] << 4).astype(np.uint8) for a in (codes, points)]
    else:
        low = 8 if kind == "int4" else 0
        dtype = np.dtype(np.uint8) if kind == "bytes" else np.dtype(getattr(ml_dtypes, kind))
        arrays = [(a - low).astype(dtype) for a in (codes, points[:, :blocks])]
    scales = rng.normal(size=(ROWS, blocks)).astype(np.float32)
    return [arrays[0], INDEX, scales, *(arrays[1:] if zeros else [])]


@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize(("columns", "block"), [(64, 16), (32, 32), (48, 16), (40, 16)])
@pytest.mark.parametrize(("kind", "bits"), [("bytes", 4), ("bytes", 8), ("uint4", 4), ("int4", 4)])
def test_rows_of_tables(kind: str, bits: int, columns: int, block: int, zeros: bool):
    agrees_as_tables(table(kind, columns, block, bits, zeros), bits=bits, block_size=block)


def agrees_as_tables(given: list[Any], **attributes: Any) -> None:
    """ONNX Runtime wants tables, scales and zero points as initialisers."""
    text, feeds = node_model("GatherBlockQuantized", given, domain="com.microsoft", quantize_axis=1, **attributes)
    made = onnx.load_from_string(text)
    for name, array in feeds.items():
        if name != "x1":
            made.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    kept = [i for i in made.graph.input if i.name == "x1"]
    del made.graph.input[:]
    made.graph.input.extend(kept)
    text = made.SerializeToString()
    (expected,) = runtime.InferenceSession(text, providers=["CPUExecutionProvider"]).run(None, {"x1": INDEX})
    for target in ("numpy", "native"):
        np.testing.assert_allclose(compile(read_onnx(text), target=target)(INDEX), expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("attributes", "code", "words"),
    [
        ({"block_size": 16, "quantize_axis": 0}, "E8008", "blocks along rows"),
        ({"block_size": 24}, "E8002", "block_size is 24"),
        ({"block_size": 32}, "E3003", "scales have 4 blocks, expected 2"),
        ({"block_size": 16, "bits": 2}, "E8008", "a table of ui8 with 2 bits"),
    ],
)
def test_tables_that_do_not_fit(attributes: dict[str, Any], code: str, words: str):
    given = table("bytes", 64, 16, 4, zeros=False)
    with pytest.raises(MindError, match=words) as caught:
        read_onnx(node_model("GatherBlockQuantized", given, domain="com.microsoft", **attributes)[0])
    assert caught.value.code == code
