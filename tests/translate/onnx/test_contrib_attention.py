"""Attention as ONNX Runtime defines it: projections, masks, rotations and keys of before, against ONNX Runtime itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mind_dialect.errors import MindError
from mind_runtime import compile
from mind_translate.onnx import read_onnx
from mind_translate.onnx.contrib_attention import ATTENTIONS
from onnx_nodes import agrees, node_model, normal, runtime, whole

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
h: Any = onnx.helper
Array = np.ndarray[Any, Any]
DOMAIN = "com.microsoft"
CLOSE = 1e-4
BATCH, ROWS, KEYS, HEADS, SIZE = 2, 5, 7, 3, 4
WIDTH = HEADS * SIZE
Q, K, V = normal(BATCH, ROWS, WIDTH), normal(BATCH, KEYS, WIDTH), normal(BATCH, KEYS, HEADS * 6)
OWN, PAST = normal(BATCH, ROWS, WIDTH) * 1.5, normal(BATCH, HEADS, 3, SIZE)
PADDED = np.array([[1] * KEYS, [1] * 4 + [0] * 3], np.int32)
MULTI_HEAD: dict[str, tuple[list[Any], int, dict[str, Any]]] = {
    "plain": ([Q, K, V], 1, {}),
    "bias": ([Q, K, V, normal(WIDTH * 2 + HEADS * 6)], 1, {"scale": 0.3}),
    "mask of keys": ([Q, K, V, None, PADDED], 1, {}),
    "mask of keys that counts a little": ([Q, K, V, None, PADDED], 1, {"mask_filter_value": -3.0}),
    "numbers of keys": ([Q, K, V, None, np.array([7, 4], np.int32)], 1, {}),
    "mask of queries and keys": ([Q, K, V, None, whole(0, 2, np.int32, BATCH, ROWS, KEYS)], 1, {}),
    "scores added": ([Q, K, V, None, None, normal(1, HEADS, ROWS, KEYS)], 1, {}),
    "scores added for each example": ([Q, K, V, None, None, normal(BATCH, 1, ROWS, KEYS)], 1, {}),
    "causal": ([Q, OWN, OWN * 2], 1, {"unidirectional": 1}),
    "causal with a mask": ([Q, OWN, OWN * 2, None, np.array([[1] * 5, [0, 0, 1, 1, 1]], np.int32)], 1, {"unidirectional": 1}),
    "keys of before": ([Q, OWN, OWN * 2, None, None, None, PAST, PAST * 2], 3, {}),
    "keys of before, causal": ([Q, OWN, OWN * 2, None, None, None, PAST, PAST * 2], 3, {"unidirectional": 1}),
    "keys and values by heads": ([Q, normal(BATCH, HEADS, KEYS, SIZE), normal(BATCH, HEADS, KEYS, SIZE) * 2], 1, {}),
}


@pytest.mark.parametrize("form", MULTI_HEAD)
def test_heads(form: str):
    given, results, attributes = MULTI_HEAD[form]
    agrees("MultiHeadAttention", given, results, domain=DOMAIN, tolerance=CLOSE, num_heads=HEADS, **attributes)


def test_packed_operands_are_those_that_are_apart():
    """ONNX Runtime has them on GPUs only."""
    q, k, v, bias = OWN, OWN * 0.7, OWN * 2, normal(3 * WIDTH)
    apart = [x.reshape(BATCH, ROWS, HEADS, SIZE) for x in (q, k, v)]
    packed = [[np.stack(apart, 3), None, None, bias], [q, np.stack(apart[1:], 3), None, bias]]
    wanted = _results("MultiHeadAttention", [q, k, v, bias], num_heads=HEADS)
    for given in packed:
        np.testing.assert_allclose(_results("MultiHeadAttention", given, num_heads=HEADS), wanted, rtol=1e-5, atol=1e-6)


def _results(op: str, given: list[Any], **attributes: Any) -> Any:
    text, feeds = node_model(op, given, domain=DOMAIN, **attributes)
    return compile(read_onnx(text))(*feeds.values())


X, W, B = normal(BATCH, ROWS, 8), normal(8, 3 * WIDTH), normal(3 * WIDTH)
BEFORE = normal(2, BATCH, HEADS, 3, SIZE)
PROJECTED: dict[str, tuple[list[Any], int, dict[str, Any]]] = {
    "plain": ([X, W, B], 1, {}),
    "no bias": ([X, W], 1, {}),
    "sizes": ([X, normal(8, 2 * WIDTH + 6), normal(2 * WIDTH + 6)], 1, {"qkv_hidden_sizes": [WIDTH, WIDTH, 6]}),
    "causal": ([X, W, B], 1, {"unidirectional": 1}),
    "mask of keys": ([X, W, B, np.array([[1] * 5, [1, 1, 0, 0, 0]], np.int32)], 1, {}),
    "numbers of keys": ([X, W, B, np.array([5, 2], np.int32)], 1, {"scale": 0.25}),
    "keys of before": ([X, W, B, None, BEFORE], 2, {}),
    "keys of before with a mask, causal": (
        [X, W, B, np.array([[1] * 8, [0, 0] + [1] * 6], np.int32), BEFORE], 2, {"unidirectional": 1},
    ),
    "scores added": ([X, W, B, None, None, normal(BATCH, HEADS, ROWS, ROWS)], 1, {}),
}  # fmt: skip


@pytest.mark.parametrize("form", PROJECTED)
def test_projections(form: str):
    given, results, attributes = PROJECTED[form]
    agrees("Attention", given, results, domain=DOMAIN, tolerance=CLOSE, num_heads=HEADS, **attributes)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
@pytest.mark.parametrize("is_padded", [False, True])
def test_projections_of_integers(dtype: Any, is_padded: bool):
    mask = np.array([[1] * 5, [1, 1, 0, 0, 0]], np.int32) if is_padded else None
    given = [whole(0, 100, np.uint8, BATCH, ROWS, 8), whole(0, 100, dtype, 8, 3 * WIDTH), B]
    scales = [np.float32(0.01), np.float32(0.02), mask, np.uint8(5), dtype(3)]
    agrees("QAttention", [*given, *scales], domain=DOMAIN, tolerance=CLOSE, num_heads=HEADS)


@pytest.mark.parametrize("pairs", [0, 1])
@pytest.mark.parametrize("part", [0, 4])
def test_rotations(part: int, pairs: int):
    angles = [normal(20, (part or 8) // 2), normal(20, (part or 8) // 2) * 0.9]
    options = {"interleaved": pairs, "rotary_embedding_dim": part, "num_heads": 3 if part else 0}
    places = whole(0, 20, np.int64, BATCH, ROWS)
    agrees("RotaryEmbedding", [normal(BATCH, ROWS, 24), places, *angles], domain=DOMAIN, **options)
    for given in (places, np.array([4])):
        agrees("RotaryEmbedding", [normal(BATCH, 3, ROWS, 8), given, *angles], domain=DOMAIN, **options)


GROUPS: dict[str, tuple[int, int, list[int], int, dict[str, Any]]] = {
    "first tokens": (5, 0, [4, 4], 5, {}),
    "first tokens, pairs rotated": (5, 0, [4, 4], 5, {"rotary_interleaved": 1}),
    "a window": (5, 0, [4, 4], 5, {"local_window_size": 2}),
    "a cap": (5, 0, [4, 4], 5, {"softcap": 1.5, "scale": 0.2}),
    "the next token": (1, 6, [6, 6], 7, {}),
    "the next token in a window": (1, 6, [6, 6], 7, {"local_window_size": 3}),
    "the next token of examples of different lengths": (1, 6, [6, 3], 7, {}),
    "three more tokens": (3, 6, [8], 9, {}),
    "the next token in a buffer": (1, 12, [6, 2], 7, {}),
    "first tokens in a buffer": (5, 12, [4, 4], 5, {}),
}
"""How many tokens are new and were before, the last key of each example, how many keys there are."""


def groups(rows: int, before: int, last: list[int], total: int, *, packed: bool = False) -> list[Any]:
    """Operands of four heads of queries, which share two of keys."""
    batch, depth = len(last), 16
    q, k = normal(batch, rows, 4 * depth), normal(batch, rows, 2 * depth)
    past, angles = normal(batch, 2, before, depth), normal(30, depth // 2)
    given = [np.concatenate([q, k, k * 1.3], 2), None, None] if packed else [q, k, k * 1.3]
    return [*given, past, past * 0.7, np.array(last, np.int32), np.array(total, np.int32), angles, angles * 0.9]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("form", GROUPS)
def test_groups_of_queries(form: str, packed: bool):
    """Rows of a buffer after the last key are left open."""
    rows, before, last, total, attributes = GROUPS[form]
    given = groups(rows, before, last, total, packed=packed)
    text, feeds = node_model(
        "GroupQueryAttention", given, 3, domain=DOMAIN, num_heads=4, kv_num_heads=2, do_rotary=1, **attributes
    )
    text = _with_initializer(text, "x6", feeds.pop("x6"))
    expected = runtime().InferenceSession(text, providers=["CPUExecutionProvider"]).run(None, feeds)
    for target in ("numpy", "native"):
        found = compile(read_onnx(text), target=target)(*feeds.values())
        np.testing.assert_allclose(found[0], expected[0], rtol=CLOSE, atol=CLOSE)
        for x, y in zip(found[1:], expected[1:], strict=True):
            assert x.shape == y.shape
            for example, end in enumerate(last):
                np.testing.assert_allclose(x[example, :, : end + 1], y[example, :, : end + 1], rtol=CLOSE, atol=CLOSE)


def _with_initializer(text: bytes, name: str, array: Array) -> bytes:
    """The model with an input as an initialiser."""
    model = onnx.load_from_string(text)
    kept = [i for i in model.graph.input if i.name != name]
    del model.graph.input[:]
    model.graph.input.extend(kept)
    model.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    return model.SerializeToString()


def test_keys_of_before_without_sizes():
    """The lengths come from a mask, as exporters write it."""
    given = dict(zip(("q", "k", "v", "pk", "pv"), groups(1, 4, [4, 4], 5)[:5], strict=True))
    nodes = [
        h.make_node("ReduceSum", ["mask", "one"], ["sums"], keepdims=0),
        h.make_node("Sub", ["sums", "one"], ["ends"]),
        h.make_node("Cast", ["ends"], ["last"], to=6),
        h.make_node("Shape", ["mask"], ["shape"], start=1),
        h.make_node("Cast", ["shape"], ["total"], to=6),
        h.make_node(
            "GroupQueryAttention", [*given, "last", "total"], ["y", "k2", "v2"], domain=DOMAIN, num_heads=4, kv_num_heads=2
        ),
    ]
    shapes = {"q": ("b", "s", 64), "k": ("b", "s", 32), "v": ("b", "s", 32), "pk": ("b", 2, "p", 16), "pv": ("b", 2, "p", 16)}
    values = [h.make_tensor_value_info(name, 1, shape) for name, shape in shapes.items()]
    values.append(h.make_tensor_value_info("mask", 7, ("b", "t")))
    results = [onnx.ValueInfoProto(name=name) for name in ("y", "k2", "v2")]
    graph = h.make_graph(nodes, "g", values, results, [onnx.numpy_helper.from_array(np.array([1]), "one")])
    imports = [h.make_opsetid("", 21), h.make_opsetid(DOMAIN, 1)]
    text = h.make_model(graph, opset_imports=imports, ir_version=10).SerializeToString()
    given["mask"] = np.ones((BATCH, 5), np.int64)
    expected = runtime().InferenceSession(text, providers=["CPUExecutionProvider"]).run(None, given)
    for x, y in zip(compile(read_onnx(text))(*given.values()), expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=CLOSE, atol=CLOSE)


def test_each_operator_is_tested():
    tested = {"Attention", "GroupQueryAttention", "MultiHeadAttention", "QAttention", "RotaryEmbedding"}
    assert {name.rpartition(".")[2] for name in ATTENTIONS} == tested


NEXT = groups(1, 6, [6, 6], 7)


@pytest.mark.parametrize(
    ("op", "given", "attributes", "code", "words"),
    [
        ("Attention", [X, W, B], {}, "E8002", "num_heads is 0"),
        ("Attention", [X, W, B], {"num_heads": 5}, "E3003", "12 elements of 5 heads"),
        ("Attention", [X, W, B], {"num_heads": 3, "do_rotary": 1}, "E8008", "rotated queries"),
        ("Attention", [X, W, B, np.array([5, 4, 1, 2], np.int32)], {"num_heads": 3}, "E8008", "mask_index of shape"),
        ("Attention", [X, W, B, whole(0, 2, np.int32, 2, 1, 9, 9)], {"num_heads": 3}, "E8008", "mask_index of rank 4"),
        ("MultiHeadAttention", [Q, K, V, normal(9)], {"num_heads": 3}, "E3003", "9 columns, expected"),
        ("MultiHeadAttention", [Q, K, V, None, PADDED[:, :5]], {"num_heads": 3}, "E3003", "key_padding_mask of 5 keys"),
        ("MultiHeadAttention", [Q, K, V, None, None, None, PAST], {"num_heads": 3}, "E2007", "expected both"),
        ("RotaryEmbedding", [Q, np.array([0]), normal(9, 8), normal(9, 8)], {"num_heads": 3}, "E3003", "8 angles for 4"),
        ("RotaryEmbedding", [Q, np.array([0]), normal(9, 2), normal(9, 2)], {"scale": 2.0}, "E8008", "multiply the result"),
        ("GroupQueryAttention", NEXT, {"num_heads": 4, "kv_num_heads": 3}, "E3003", "4 heads share those of 3 keys"),
        ("GroupQueryAttention", NEXT, {"num_heads": 4, "kv_num_heads": 2, "causal": 0}, "E8008", "see all keys"),
        ("GroupQueryAttention", NEXT, {"num_heads": 4, "kv_num_heads": 2, "smooth_softmax": 1}, "E8008", "one more term"),
        ("GroupQueryAttention", [*NEXT, None, None, normal(4)], {"num_heads": 4, "kv_num_heads": 2}, "E8008", "one more term"),
    ],
)  # fmt: skip
def test_what_has_no_form(op: str, given: list[Any], attributes: dict[str, Any], code: str, words: str):
    with pytest.raises(MindError, match=words) as caught:
        read_onnx(node_model(op, given, domain=DOMAIN, **attributes)[0])
    assert caught.value.code == code
