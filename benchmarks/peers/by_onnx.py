"""Those workloads that ONNX Runtime has ops for, as ONNX models; weights are part of the model, threads by `SIDE_THREADS`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from models import resnet34 as sizes

from . import workloads
from .workloads import EPSILON, HEADS, TINY_TURNS, Arrays

NAME = "ONNX Runtime"
Call = Callable[[], Any]


class Graph:
    """Nodes of a model, each with one result that bears its number."""

    def __init__(self, constants: Mapping[str, Any] | None = None):
        self.nodes: list[Any] = []
        self.constants = dict(constants or {})

    def add(self, op: str, *operands: str, count: int = 1, **attributes: Any) -> Any:
        """The name of the result, or the names of several."""
        names = [f"v{len(self.nodes)}_{i}" for i in range(count)]
        self.nodes.append(helper.make_node(op, operands, names, **attributes))
        return names[0] if count == 1 else names

    def number(self, value: Any) -> str:
        """A constant."""
        name = f"c{len(self.constants)}"
        self.constants[name] = np.asarray(value)
        return name

    def caller(self, inputs: Arrays, output: str) -> Call:
        """A call of the model on its inputs."""
        given = [helper.make_tensor_value_info(n, TensorProto.FLOAT, a.shape) for n, a in inputs.items()]
        kept = [numpy_helper.from_array(np.ascontiguousarray(a), n) for n, a in self.constants.items()]
        result = helper.make_tensor_value_info(output, TensorProto.FLOAT, None)
        graph = helper.make_graph(self.nodes, "workload", given, [result], kept)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = int(os.environ.get("SIDE_THREADS", "1"))
        options.log_severity_level = 3
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        feed = dict(inputs)
        return lambda: session.run(None, feed)[0]


def tiny(arrays: Arrays) -> Call:
    graph, x = Graph(), "a"
    for _ in range(TINY_TURNS):
        x = graph.add("Sub", graph.add("Relu", graph.add("Add", graph.add("Mul", x, "b"), "a")), "b")
    return graph.caller(arrays, x)


def chain(arrays: Arrays) -> Call:
    graph = Graph()
    kept = graph.add("Relu", graph.add("Add", graph.add("Mul", "a", "b"), "c"))
    product = graph.add("Mul", kept, graph.add("Exp", graph.add("Neg", "a")))
    return graph.caller(arrays, graph.add("Mul", graph.add("Sub", product, "b"), "c"))


def softmax(arrays: Arrays) -> Call:
    graph = Graph()
    return graph.caller(arrays, graph.add("Softmax", "x", axis=1))


def layer_norm(arrays: Arrays) -> Call:
    graph = Graph({"gamma": arrays["gamma"], "beta": arrays["beta"]})
    return graph.caller({"x": arrays["x"]}, graph.add("LayerNormalization", "x", "gamma", "beta", epsilon=EPSILON))


def gpt2_layer(arrays: Arrays) -> Call:
    x = arrays["x"]
    length, width = x.shape
    graph = Graph({name: a for name, a in arrays.items() if name != "x"})

    def linear(x: str, part: str) -> str:
        group, which = part.split(".")
        return graph.add("Add", graph.add("MatMul", x, f"{group}.w_{which}"), f"{group}.b_{which}")

    def norm(x: str, name: str) -> str:
        return graph.add("LayerNormalization", x, f"{name}.gamma", f"{name}.beta", epsilon=EPSILON)

    def heads(x: str, perm: Sequence[int]) -> str:
        return graph.add("Transpose", graph.add("Reshape", x, split), perm=perm)

    split = graph.number(np.array([length, HEADS, width // HEADS]))
    joined, mask = graph.number(np.array([length, width])), graph.number(np.triu(np.full((length,) * 2, -1e9, np.float32), 1))
    scale = graph.number(np.float32((width // HEADS) ** -0.5))
    q, k, v = graph.add("Split", linear(norm("x", "ln_1"), "attention.qkv"), count=3, axis=1, num_outputs=3)
    scores = graph.add("MatMul", heads(q, (1, 0, 2)), heads(k, (1, 2, 0)))
    shares = graph.add("Softmax", graph.add("Add", graph.add("Mul", scores, scale), mask), axis=-1)
    y = graph.add("Transpose", graph.add("MatMul", shares, heads(v, (1, 0, 2))), perm=(1, 0, 2))
    y = graph.add("Add", "x", linear(graph.add("Reshape", y, joined), "attention.out"))
    hidden = graph.add("Gelu", linear(norm(y, "ln_2"), "feed_forward.in"), approximate="tanh")
    return graph.caller({"x": x}, graph.add("Add", y, linear(hidden, "feed_forward.out")))


def convolution(arrays: Arrays) -> Call:
    """On images of ONNX's order, channels before places, so that nothing is turned in the time measured; the result is turned."""
    graph = Graph({name: arrays[name] for name in ("weight", "bias")})
    y = graph.add("Conv", "x", "weight", "bias", pads=[1, 1, 1, 1])
    call = graph.caller({"x": np.ascontiguousarray(arrays["x"].transpose(0, 3, 1, 2))}, y)
    return lambda: call().transpose(0, 2, 3, 1)


def resnet34(arrays: Arrays) -> Call:
    graph = Graph({name: a for name, a in arrays.items() if name != "image"})
    config = workloads.resnet_config(arrays["image"].shape[-1] < 224)
    window, stride = config.stem

    def unit(x: str, name: str, stride: int, padding: int) -> str:
        return graph.add("Conv", x, f"{name}.weight", f"{name}.bias", strides=[stride] * 2, pads=[padding] * 4)

    x = graph.add("Relu", unit("image", "conv1", stride, window // 2))
    x = graph.add("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    for block in sizes.blocks(config):
        y = graph.add("Relu", unit(x, f"{block.name}.conv1", block.stride, 1))
        y = unit(y, f"{block.name}.conv2", 1, 1)
        x = unit(x, f"{block.name}.downsample", block.stride, 0) if block.downsample else x
        x = graph.add("Relu", graph.add("Add", y, x))
    x = graph.add("Flatten", graph.add("GlobalAveragePool", x))
    return graph.caller({"image": arrays["image"]}, graph.add("Gemm", x, "fc.weight", "fc.bias"))


SIDES: dict[str, Callable[[Arrays], Call]] = {
    "tiny": tiny,
    "chain1k": chain,
    "chain10M": chain,
    "softmax": softmax,
    "layer_norm": layer_norm,
    "gpt2_layer": gpt2_layer,
    "conv1": convolution,
    "conv8": convolution,
    "resnet34": resnet34,
}
