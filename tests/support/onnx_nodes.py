"""Models of one node, compared with ONNX Runtime or with the evaluator of the package `onnx`."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np

from mind_runtime import compile
from mind_translate.onnx import read_onnx

Array = np.ndarray[Any, Any]
VERSIONS = {"ai.onnx.ml": 3}
"""Of domains; 1 of others."""


def runtime() -> Any:
    """The module `onnxruntime`."""
    return import_module("onnxruntime")


def agrees(
    op: str,
    inputs: Sequence[Any],
    results: int = 1,
    *,
    opset: int = 21,
    domain: str = "",
    known: int = 99,
    by_package: bool = False,
    tolerance: float = 1e-5,
    steps: int = 0,
    **attributes: Any,
) -> None:
    """
    Compare one node with ONNX Runtime, or the evaluator of the package, on numpy and native. None is a missing operand.

    Operands from number `known` on are initialisers. Floats agree within `tolerance` of the number and of 1, integers exactly,
    or within `steps`.
    """
    text, feeds = node_model(op, inputs, results, opset=opset, domain=domain, known=known, **attributes)
    if by_package:
        expected = import_module("onnx.reference").ReferenceEvaluator(text).run(None, feeds)
    else:
        expected = runtime().InferenceSession(text, providers=["CPUExecutionProvider"]).run(None, feeds)
    for target in ("numpy", "native"):
        made = compile(read_onnx(text), target=target)(*feeds.values())
        for x, y in zip([made] if results == 1 else made, expected, strict=True):
            assert (x.shape, x.dtype) == (y.shape, y.dtype)
            if y.dtype.kind in "biu":
                assert np.all(np.abs(x.astype(np.int64) - y.astype(np.int64)) <= steps)
            else:
                np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


def node_model(
    op: str, inputs: Sequence[Any], results: int = 1, *, opset: int = 21, domain: str = "", known: int = 99, **attributes: Any
) -> tuple[bytes, dict[str, Array]]:
    """
    A model of one node, and its inputs by name; operands from number `known` on are initialisers.

    An attribute whose name is taken here ends with an underscore.
    """
    onnx = import_module("onnx")
    h = onnx.helper
    names = ["" if x is None else f"x{i}" for i, x in enumerate(inputs)]
    outputs = [f"y{i}" for i in range(results)]
    node = h.make_node(op, names, outputs, name="n", domain=domain, **{k.rstrip("_"): v for k, v in attributes.items()})
    given = {name: np.asarray(x) for name, x in zip(names, inputs, strict=True) if name}
    stored = {name for name in given if int(name[1:]) >= known}
    dtypes = {name: h.np_dtype_to_tensor_dtype(x.dtype) for name, x in given.items()}
    values = [h.make_tensor_value_info(k, dtypes[k], x.shape) for k, x in given.items() if k not in stored]
    tensors = [onnx.numpy_helper.from_array(given[name], name) for name in sorted(stored)]
    graph = h.make_graph([node], "g", values, [onnx.ValueInfoProto(name=o) for o in outputs], tensors)
    imports = [h.make_opsetid("", opset), *([h.make_opsetid(domain, VERSIONS.get(domain, 1))] if domain else [])]
    text = h.make_model(graph, opset_imports=imports, ir_version=10).SerializeToString()
    feeds = {name: x for name, x in given.items() if name not in stored}
    return text, feeds


def normal(*shape: int) -> Array:
    """Random numbers that depend on the shape alone."""
    return np.random.default_rng(zlib.crc32(repr(shape).encode())).normal(size=shape).astype(np.float32)


def whole(low: int, high: int, dtype: Any, *shape: int) -> Array:
    """Random integers."""
    return np.random.default_rng(zlib.crc32(repr(shape).encode())).integers(low, high, shape).astype(dtype)
