"""Attention of ONNX in all its forms: against the reference evaluator of the package, and recognised as one op."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mind_dialect.dominance import walk
from mind_dialect.errors import MindError
from mind_dialect.ptir import FusionOp
from mind_lowering.outline import drop_barriers
from mind_lowering.ptir_optimize import optimize
from mind_runtime import compile
from mind_translate.onnx import read_onnx

onnx = pytest.importorskip("onnx")
reference = pytest.importorskip("onnx.reference")
h: Any = onnx.helper
Array = np.ndarray[Any, Any]
random = np.random.default_rng(18)
BATCH, HEADS, ROWS, KEYS, DEPTH, WIDTH = 2, 6, 5, 7, 8, 4
SIXTH = np.linspace(-2, 2, HEADS * ROWS * KEYS, dtype=np.float32).reshape(HEADS, ROWS, KEYS)
HIDDEN = np.where(np.arange(ROWS)[:, None] == 2, False, random.random((ROWS, KEYS)) > 0.4)
"""A mask that leaves the query 2 no key."""


def normal(*shape: int) -> Array:
    return random.normal(size=shape).astype(np.float32)


def apart(heads: int = HEADS, keys: int = KEYS) -> dict[str, Array]:
    """Queries, keys and values, heads before rows."""
    return {
        "Q": normal(BATCH, HEADS, ROWS, DEPTH),
        "K": normal(BATCH, heads, keys, DEPTH),
        "V": normal(BATCH, heads, keys, WIDTH),
    }


def flat(heads: int) -> dict[str, Array]:
    """The same with heads beside each other."""
    return {
        "Q": normal(BATCH, ROWS, HEADS * DEPTH),
        "K": normal(BATCH, KEYS, heads * DEPTH),
        "V": normal(BATCH, KEYS, heads * WIDTH),
    }


def before(heads: int, rows: int = 3) -> dict[str, Array]:
    return {"past_key": normal(BATCH, heads, rows, DEPTH), "past_value": normal(BATCH, heads, rows, WIDTH)}


COUNTS = {"q_num_heads": HEADS, "kv_num_heads": 2}
FORMS: dict[str, tuple[dict[str, Array], dict[str, Any]]] = {
    "plain": (apart(), {}),
    "scale": (apart(), {"scale": 0.3}),
    "causal": (apart(), {"is_causal": 1}),
    "groups": (apart(2), {"is_causal": 1}),
    "one head of keys": (apart(1), {}),
    "heads side by side": (flat(2), COUNTS),
    "cap": (apart(), {"softcap": 1.5}),
    "mask of truths": ({**apart(), "attn_mask": HIDDEN}, {}),
    "bias of heads and groups": ({**apart(2), "attn_mask": SIXTH}, {}),
    "bias of one head and groups": ({**apart(2), "attn_mask": SIXTH[:1]}, {"softcap": 2.0}),
    "causal with a mask": ({**apart(), "attn_mask": HIDDEN}, {"is_causal": 1}),
    "window": (apart(), {"left_window_size": 1, "right_window_size": 2}),
    "causal window": (apart(2), {"left_window_size": 2, "is_causal": 1}),
    "window of no key": (apart(keys=2), {"left_window_size": 0, "right_window_size": 0}),
    "keys of before": ({**apart(2), **before(2)}, {"is_causal": 1}),
    "window over keys of before": ({**apart(2), **before(2)}, {"left_window_size": 4, "is_causal": 1}),
}
OPERANDS = ("Q", "K", "V", "attn_mask", "past_key", "past_value", "nonpad_kv_seqlen")


def model(given: dict[str, Array], *, opset: int = 25, outputs: tuple[str, ...] = ("Y",), **attributes: Any) -> Any:
    names = [name if name in given else "" for name in OPERANDS]
    while not names[-1]:
        names.pop()
    node = h.make_node("Attention", names, list(outputs), **attributes)
    dtypes = {name: h.np_dtype_to_tensor_dtype(x.dtype) for name, x in given.items()}
    values = [h.make_tensor_value_info(name, dtypes[name], x.shape) for name, x in given.items()]
    results = [onnx.ValueInfoProto(name=o) for o in outputs if o]
    graph = h.make_graph([node], "g", values, results)
    return h.make_model(graph, opset_imports=[h.make_opsetid("", opset)], ir_version=10)


def outputs_of(given: dict[str, Array]) -> tuple[str, ...]:
    return ("Y", "present_key", "present_value") if "past_key" in given else ("Y",)


@pytest.mark.parametrize("name", FORMS)
def test_values(name: str) -> None:
    given, attributes = FORMS[name]
    made = model(given, outputs=outputs_of(given), **attributes)
    expected = reference.ReferenceEvaluator(made).run(None, given)
    for target in ("numpy", "native"):
        found = compile(read_onnx(made.SerializeToString()), target=target)(*given.values())
        for x, y in zip(found if isinstance(found, tuple) else (found,), expected, strict=True):
            np.testing.assert_allclose(x, y, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("opset", [23, 24])
@pytest.mark.parametrize("name", ["plain", "groups", "cap", "mask of truths", "heads side by side"])
def test_values_beside_onnx_runtime(name: str, opset: int) -> None:
    runtime = pytest.importorskip("onnxruntime")
    given, attributes = FORMS[name]
    text = model(given, opset=opset, **attributes).SerializeToString()
    (expected,) = runtime.InferenceSession(text, providers=["CPUExecutionProvider"]).run(None, given)
    rows = [r for r in range(ROWS) if name != "mask of truths" or r != 2]  # of a query without keys it has a mean
    found = compile(read_onnx(text))(*given.values())
    np.testing.assert_allclose(found[..., rows, :], expected[..., rows, :], rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("name", FORMS)
def test_each_is_one_op(name: str) -> None:
    given, attributes = FORMS[name]
    module = read_onnx(model(given, outputs=outputs_of(given), **attributes).SerializeToString())
    drop_barriers(module)
    optimize(module)
    assert [op.values()["pattern"] for op in walk(module) if isinstance(op, FusionOp)].count("attention") == 1


def test_scores_are_a_result_by_the_function_body() -> None:
    given, _ = FORMS["groups"]
    made = model(given, outputs=("Y", "", "", "scores"), qk_matmul_output_mode=3)
    expected = reference.ReferenceEvaluator(made).run(None, given)
    for x, y in zip(compile(read_onnx(made.SerializeToString()))(*given.values()), expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize(
    ("given", "attributes", "code"),
    [
        (apart(), {"left_window_size": -2}, "E8002"),
        (flat(2), {"q_num_heads": 5, "kv_num_heads": 2}, "E3003"),
        ({**apart(), "attn_mask": normal(ROWS + 1, KEYS)}, {}, "E3001"),
    ],
    ids=["window", "heads", "mask"],
)
def test_what_does_not_fit(given: dict[str, Array], attributes: dict[str, Any], code: str) -> None:
    with pytest.raises(MindError) as raised:
        read_onnx(model(given, **attributes).SerializeToString())
    assert raised.value.code == code
    assert "(Attention)" in raised.value.message
