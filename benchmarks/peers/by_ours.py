"""
The workloads as PTIR, printed, read back and compiled for one of our targets (`SIDE_TARGET`, by default `native`).

Gradients are made by the autodiff pass. Names of inputs are those of the arrays; weights of inference are bound once.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.dialects.func import Func

import mind_array as ma
import mind_dialect
from mind_array import Array
from mind_dialect.mlir_parser import MindParser
from mind_dialect.program import functions, input_names
from mind_passes.functional import value_and_grad, vjp
from mind_runtime import bind, compile
from models import gpt2, resnet34
from models.layers import conv2d, cross_entropy, layer_norm, linear, relu, softmax
from models.optimised import optimised
from models.training import AdamW, Optimiser, train_step

from . import families, workloads
from .workloads import RATE, TINY_TURNS, Arrays

TARGET = os.environ.get("SIDE_TARGET", "native")
TRAINING = "native{flush-subnormals}" if TARGET == "native" else TARGET
"""Of training steps, whose gradients become subnormal numbers: PyTorch flushes them here too, and XLA always."""
if TARGET.startswith("cupy"):
    from mind_dialect.errors import MindError
    from mind_lowering.cupy.launching import require

    try:
        require()
    except MindError as e:
        raise ImportError(e.message) from None
NAME = f"ours, {TARGET}"
Call = Callable[[], Any]


def read_back(module: ModuleOp) -> ModuleOp:
    """The module that its own text says."""
    ctx = Context()
    for dialect in (Builtin, Func):
        ctx.load_dialect(dialect)
    mind_dialect.register(ctx)
    return MindParser(ctx, str(module)).parse_module()


def placed(array: Any) -> Any:
    """An array where programs of the target have theirs."""
    if not TARGET.startswith("cupy"):
        return array
    import cupy

    return cupy.asarray(array)


def settle() -> None:
    """Wait for what runs on a GPU."""
    if TARGET.startswith("cupy"):
        import cupy

        cupy.cuda.Device().synchronize()


def caller(module: ModuleOp, arrays: Arrays, function: str | None = None) -> Call:
    """A call of the function of a module on arrays, which are in its inputs' order."""
    program = compile(read_back(module), function, TARGET)
    given = [placed(np.ascontiguousarray(arrays[spec.name])) for spec in program.inputs]
    return lambda: program(*given)


def module_of(function: Callable[..., Any], arrays: Arrays, *names: str, parameters: Sequence[str] = ()) -> ModuleOp:
    """The module of a function whose inputs are like some arrays, those of `parameters` weights."""

    def spec(name: str) -> Any:
        return ma.spec(arrays[name].shape, arrays[name].dtype, name=name, parameter=name in parameters)

    return ma.trace(function, *(spec(name) for name in (*names, *parameters)))


def tiny(arrays: Arrays) -> Call:
    def tiny(a: Array, b: Array) -> Array:
        x = a
        for _ in range(TINY_TURNS):
            x = ma.maximum(x * b + a, 0.0) - b
        return x

    return caller(module_of(tiny, arrays, "a", "b"), arrays)


def chain(arrays: Arrays) -> Call:
    def chain(a: Array, b: Array, c: Array) -> Array:
        return (ma.maximum(a * b + c, 0.0) * ma.exp(-a) - b) * c

    return caller(module_of(chain, arrays, *"abc"), arrays)


def shares(arrays: Arrays) -> Call:
    return caller(module_of(softmax, arrays, "x"), arrays)


def surprise(arrays: Arrays) -> Call:
    def loss(x: Array, labels: Array) -> Array:
        return cross_entropy(x, labels)

    return caller(value_and_grad(module_of(loss, arrays, "x", "labels"), wrt=["x"]), arrays, "loss_grad")


def norm(arrays: Arrays) -> ModuleOp:
    """A layer norm."""

    def norm(x: Array, gamma: Array, beta: Array) -> Array:
        return layer_norm(x, gamma, beta)

    return module_of(norm, arrays, "x", "gamma", "beta")


def norm_gradient(arrays: Arrays) -> Call:
    program = compile(read_back(vjp(norm(arrays))), "norm_grad", TARGET)
    given = [placed(arrays[name]) for name in ("x", "gamma", "beta", "dy")]
    return lambda: program(*given)


@dataclass(frozen=True)
class Descent:
    """Steps along the gradient."""

    STATE: Sequence[str] = ()

    def update(self, weight: Array, gradient: Array, state: Sequence[Array], rate: Array, step: Array) -> Sequence[Array]:
        return [weight - gradient * RATE]


def steps(loss: ModuleOp, optimiser: Optimiser, arrays: Arrays, *data: str) -> Call:
    """Training steps, whose weights and state are overwritten in place."""
    module = read_back(train_step(loss, optimiser))
    (func,) = functions(module)
    held = input_names(func)[len(data) + 2 :]
    program = compile(optimised(module, split=False), target=TRAINING, donate=held)
    begun = [arrays[n].copy() if n in arrays else np.zeros_like(arrays[n.rsplit(".", 1)[0]]) for n in held]
    state = [placed(x) for x in begun]
    given = [placed(arrays[name]) for name in data]
    rate, count = placed(np.array(RATE, np.float32)), placed(np.array(1, np.float32))

    def call() -> Any:
        value, *new = program(*given, rate, count, *state)
        state[:] = new
        return value

    return call


def mlp(arrays: Arrays) -> Call:
    def loss(x: Array, labels: Array, *held: Array) -> Array:
        for i in range(3):
            x = linear(x, held[2 * i], held[2 * i + 1])
            x = relu(x) if i < 2 else x
        return cross_entropy(x, labels)

    held = [f"{kind}{i}" for i in range(3) for kind in "wb"]
    return steps(module_of(loss, arrays, "x", "labels", parameters=held), Descent(), arrays, "x", "labels")


def gpt2_layer(arrays: Arrays) -> Call:
    length, width = arrays["x"].shape
    config = gpt2.Config(context=length, width=width, heads=workloads.HEADS, kv_heads=workloads.HEADS, layers=1, gelu="tanh")
    names = list(workloads.layer_shapes(width))

    def layer(x: Array, *held: Array) -> Array:
        return gpt2.Layer(config, "layer", {f"layer.{n}": w for n, w in zip(names, held, strict=True)}).apply(x)

    module = optimised(read_back(module_of(layer, arrays, "x", parameters=names)))
    program = bind(module, {n: a for n, a in arrays.items() if n != "x"}, target=TARGET)
    x_placed = placed(arrays["x"])
    return lambda: program(x_placed)


def gpt2_prefill(arrays: Arrays) -> Call:
    config, length = workloads.config_of(arrays), len(arrays["tokens"])
    module = optimised(read_back(gpt2.program(config, "full", length=length)))
    names = gpt2.parameters(config)
    program = bind(module, {name: arrays[name] for name in names}, target=TARGET)
    given = [placed(arrays[spec.name]) for spec in program.inputs]
    return lambda: program(*given)


def gpt2_decode(arrays: Arrays) -> Call:
    config = workloads.decode_config(arrays["tok_embeddings.weight"].shape[1] < 768, arrays["lm_head"].dtype.name)
    capacity = arrays["blocks.0.attention.k_cache"].shape[1]
    module = optimised(read_back(gpt2.program(config, "decode", capacity=capacity)))
    weights = {name: arrays[name] for name in gpt2.parameters(config)}
    caches = list(gpt2.caches(config, capacity))
    program = bind(module, weights, target=TARGET, donate=caches)
    state = [placed(arrays[name].copy()) for name in caches]
    given = [placed(arrays[name]) for name in ("tokens", "positions", "cache_start")]

    def call() -> Any:
        logits, *new = program(*given, *state)
        state[:] = new
        return logits[0]

    return call


def convolution(arrays: Arrays) -> Call:
    def convolution(x: Array, weight: Array, bias: Array) -> Array:
        return conv2d(x, weight, bias, padding=1)

    module = optimised(read_back(module_of(convolution, arrays, "x", parameters=("weight", "bias"))))
    program = bind(module, {name: arrays[name] for name in ("weight", "bias")}, target=TARGET)
    x_placed = placed(arrays["x"])
    return lambda: program(x_placed)


def resnet(arrays: Arrays) -> Call:
    config = workloads.resnet_config(arrays["image"].shape[-1] < 224, len(arrays["image"]))
    module = optimised(read_back(resnet34.program(config)))
    program = bind(module, {n: a for n, a in arrays.items() if n != "image"}, target=TARGET)
    image = placed(arrays["image"])
    return lambda: program(image)


def gpt_train(arrays: Arrays, compute: str | None = None) -> Call:
    batch, length = arrays["tokens"].shape
    config = replace(workloads.config_of(arrays), compute=compute)
    return steps(gpt2.loss_program(config, batch=batch, length=length), AdamW(), arrays, "tokens", "targets")


class Functions:
    """Our functions that families of programs use."""

    exp, log, sqrt, erf, tanh, where, roll = ma.exp, ma.log, ma.sqrt, ma.erf, ma.tanh, ma.where, ma.roll
    sigmoid = ma.nn.sigmoid

    @staticmethod
    def sum(x: Array, axis: int) -> Array:
        return ma.sum(x, axis=axis)

    @staticmethod
    def scan(step: Callable[..., Any], state: Any, rows: Any) -> Any:
        return ma.scan(step, state, rows)[1]

    @staticmethod
    def loop(count: int, step: Callable[[Any], Any], state: Any) -> Any:
        return ma.fori_loop(0, count, lambda _, state: step(state), state)


LOSS = partial(families.loss, Functions)


def lstm(x: Array, w_x: Array, w_h: Array, bias: Array) -> Array:
    return families.lstm(Functions, x, w_x, w_h, bias)


def embedding(table: Array, tokens: Array, dy: Array) -> Any:
    rows, pull = ma.vjp(lambda table: ma.take(table, tokens, axis=0), table)
    return rows, *pull(dy)


def hessian_vector(x: Array, y: Array, w0: Array, w1: Array, v0: Array, v1: Array) -> Any:
    return ma.jvp(lambda *w: ma.grad(LOSS, (0, 1))(*w, x, y), (w0, w1), (v0, v1))[1]


def per_example(x: Array, y: Array, w0: Array, w1: Array) -> Any:
    return ma.vmap(ma.grad(LOSS, (0, 1)), (None, None, 0, 0))(w0, w1, x, y)


def along(x: Array, axis: int) -> Array:
    """Softmax along an axis."""
    e = ma.exp(x - ma.max(x, axis=axis, keepdims=True))
    return e / ma.sum(e, axis=axis, keepdims=True)


def batch_norm(x: Array, gamma: Array, beta: Array) -> Array:
    centred = x - ma.mean(x, axis=(0, 1, 2), keepdims=True)
    deviation = ma.sqrt(ma.mean(centred * centred, axis=(0, 1, 2), keepdims=True) + workloads.EPSILON)
    return centred / deviation * gamma + beta


MATRICES: Any = {"batch_lhs": (), "batch_rhs": (), "contract_lhs": (1,), "contract_rhs": (0,)}


def row_int4(x: Array, codes: Array, scales: Array) -> Array:
    """Both codes of each byte along a new axis, decoded."""
    shifts, mask = ma.asarray([0, 4], dtype=ma.uint8), ma.asarray(15, dtype=ma.uint8)
    numbers = ma.astype(ma.bitwise_right_shift(ma.expand_dims(codes, axis=-1), shifts) & mask, ma.float32) - 8.0
    weights = ma.reshape(numbers * scales[:, :, None, None], (codes.shape[0], -1))
    return ma.matmul(x, ma.permute_dims(weights, (1, 0)))


def sinks(u: Array, rate: Array) -> Array:
    return families.sinks(Functions, u, rate)


def convolved(x: Array, weight: Array) -> Array:
    return ma.nn.conv(x, weight, padding=1, groups=x.shape[-1] // weight.shape[-2])


def strided(x: Array, weight: Array) -> Array:
    return ma.nn.conv(x, weight, stride=2, padding=1, groups=x.shape[-1] // weight.shape[-2])


def pooled(x: Array) -> Array:
    return ma.nn.max_pool(x, 3, stride=2, padding=1)


def derived(function: Callable[..., Any]) -> Callable[[Arrays], Call]:
    """A family: a function of its arrays but the last, which is a cotangent, and its gradients."""

    def side(arrays: Arrays) -> Call:
        module = vjp(module_of(function, arrays, *list(arrays)[:-1]))
        program = compile(read_back(module), f"{function.__name__}_grad", TARGET)
        given = [placed(x) for x in arrays.values()]
        return lambda: program(*given)

    return side


def on(function: Callable[..., Any]) -> Callable[[Arrays], Call]:
    """A family: a function of its arrays."""
    return lambda arrays: caller(module_of(function, arrays, *arrays), arrays)


SIDES: dict[str, Callable[[Arrays], Call]] = {
    "cumsum": on(lambda x: ma.cumulative_sum(x, axis=1)),
    "transpose": on(lambda x: ma.permute_dims(x, (1, 0))),
    "transpose_add": on(lambda x, y: x + ma.permute_dims(y, (1, 0))),
    "softmax_middle": on(lambda x: along(x, 1)),
    "softmax_first": on(lambda x: along(x, 0)),
    "top_k": on(lambda x: ma.top_k(x, 50)),
    "sort": on(lambda x: ma.sort(x, axis=1)),
    "black_scholes": on(partial(families.black_scholes, Functions)),
    "batch_norm": on(batch_norm),
    "int8": on(lambda x, y: ma.ptir.dot_general(x, y, **MATRICES, accum_dtype=ma.int32, out_dtype=ma.int32)),
    "row_int4": on(row_int4),
    "depthwise": derived(convolved),
    "depthwise_strided": derived(strided),
    "dense": derived(convolved),
    "max_pool": derived(pooled),
    "bodies": on(partial(families.bodies, Functions)),
    "lstm": derived(lstm),
    "selective_scan": on(partial(families.selective_scan, Functions)),
    "embedding": on(embedding),
    "histogram": on(lambda x: ma.bincount(ma.astype(x * 256.0, ma.int32), minlength=256)),
    "stencil": on(partial(families.heat, Functions)),
    "stencil_gradient": derived(sinks),
    "mandelbrot": on(partial(families.mandelbrot, Functions)),
    "hessian_vector": on(hessian_vector),
    "per_example": on(per_example),
    "tiny": tiny,
    "chain1k": chain,
    "chain10M": chain,
    "softmax": shares,
    "cross_entropy": surprise,
    "layer_norm": lambda arrays: caller(norm(arrays), arrays),
    "layer_norm_gradient": norm_gradient,
    "mlp": mlp,
    "gpt2_layer": gpt2_layer,
    "gpt2_decode": gpt2_decode,
    "conv1": convolution,
    "conv8": convolution,
    "resnet34": resnet,
    "gpt_train": gpt_train,
    "gpt2_train": gpt_train,
    "gpt2_train_bf16": partial(gpt_train, compute="bf16"),
    "resnet34_64": resnet,
    "gpt2_decode_bf16": gpt2_decode,
    "gpt2_prefill": gpt2_prefill,
}
