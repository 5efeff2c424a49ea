"""The workloads in PyTorch, eager or, with `SIDE_MODE=compile`, by torch.compile; threads by `SIDE_THREADS`."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch.nn import functional as F

from models import resnet34 as sizes
from models.peers import by_torch

from . import families, workloads
from .workloads import EPSILON, HEADS, RATE, TINY_TURNS, Arrays

DEVICE = os.environ.get("SIDE_DEVICE", "cpu")
COMPILED = os.environ.get("SIDE_MODE") == "compile"
NAME = "torch.compile" if COMPILED else "PyTorch"
if DEVICE == "cuda" and not torch.cuda.is_available():
    raise ImportError("PyTorch finds no GPU")
torch.set_flush_denormal(True)  # before its threads begin, which inherit it
torch.set_num_threads(int(os.environ.get("SIDE_THREADS", "1")))
Call = Callable[[], Any]


def tensors(arrays: Arrays) -> dict[str, Any]:
    """Tensors that share memory with the arrays, or on a GPU; indices as PyTorch has them."""
    held = {name: tensor(array) for name, array in arrays.items()}
    return {name: t.long() if t.dtype is torch.int32 else t for name, t in held.items()}


def tensor(array: Any) -> Any:
    """One tensor; bf16, which PyTorch does not take from NumPy, by its bits."""
    narrow = array.dtype.name == "bfloat16"
    made = torch.from_numpy(array.view("int16") if narrow else array)
    return (made.view(torch.bfloat16) if narrow else made).to(DEVICE)


def settle() -> None:
    """Wait for what runs on a GPU."""
    if DEVICE == "cuda":
        torch.cuda.synchronize()


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    return torch.compile(function, fullgraph=True) if COMPILED else function


def caller(function: Callable[..., Any], *arguments: Any) -> Call:
    """Calls without gradients."""
    run = compiled(function)

    def call() -> Any:
        with torch.inference_mode():
            return run(*arguments)

    return call


def tiny(arrays: Arrays) -> Call:
    def iterations(a: Any, b: Any) -> Any:
        x = a
        for _ in range(TINY_TURNS):
            x = torch.relu(x * b + a) - b
        return x

    return caller(iterations, *tensors(arrays).values())


def chain(arrays: Arrays) -> Call:
    return caller(lambda a, b, c: (torch.relu(a * b + c) * torch.exp(-a) - b) * c, *tensors(arrays).values())


def softmax(arrays: Arrays) -> Call:
    return caller(lambda x: torch.softmax(x, 1), tensors(arrays)["x"])


def cross_entropy(arrays: Arrays) -> Call:
    t = tensors(arrays)
    x, labels = t["x"].requires_grad_(), t["labels"]
    loss = compiled(F.cross_entropy)

    def call() -> Any:
        x.grad = None
        value = loss(x, labels)
        value.backward()
        return value.detach(), x.grad

    return call


def norm(x: Any, gamma: Any, beta: Any) -> Any:
    return F.layer_norm(x, x.shape[-1:], gamma, beta, EPSILON)


def layer_norm(arrays: Arrays) -> Call:
    return caller(norm, *tensors(arrays).values())


def layer_norm_gradient(arrays: Arrays) -> Call:
    *given, dy = tensors(arrays).values()
    for t in given:
        t.requires_grad_()
    run = compiled(norm)

    def call() -> Any:
        for t in given:
            t.grad = None
        y = run(*given)
        y.backward(dy)
        return y.detach(), *(t.grad for t in given)

    return call


def mlp(arrays: Arrays) -> Call:
    t = tensors(arrays)
    x, labels = t["x"], t["labels"]
    held = [t[f"{kind}{i}"].clone().requires_grad_() for i in range(3) for kind in "wb"]
    optimiser = torch.optim.SGD(held, lr=RATE)

    def loss(x: Any, labels: Any, w: list[Any]) -> Any:
        h = torch.relu(torch.addmm(w[1], x, w[0]))
        h = torch.relu(torch.addmm(w[3], h, w[2]))
        return F.cross_entropy(torch.addmm(w[5], h, w[4]), labels)

    run = compiled(loss)

    def call() -> Any:
        optimiser.zero_grad(set_to_none=True)
        value = run(x, labels, held)
        value.backward()
        optimiser.step()
        return value.detach()

    return call


def attended(q: Any, k: Any, v: Any) -> Any:
    """Causal attention, heads joined."""
    y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(-3, -2)
    return y.reshape(*y.shape[:-2], -1)


def layer(x: Any, w: dict[str, Any], heads: int = HEADS) -> Any:
    """A layer of GPT-2 on `[..., T, width]`."""
    h = affine(norm(x, w["ln_1.gamma"], w["ln_1.beta"]), w["attention.w_qkv"], w["attention.b_qkv"])
    q, k, v = (t.unflatten(-1, (heads, -1)).transpose(-3, -2) for t in h.chunk(3, -1))
    x = x + affine(attended(q, k, v), w["attention.w_out"], w["attention.b_out"])
    h = affine(norm(x, w["ln_2.gamma"], w["ln_2.beta"]), w["feed_forward.w_in"], w["feed_forward.b_in"])
    return x + affine(F.gelu(h, approximate="tanh"), w["feed_forward.w_out"], w["feed_forward.b_out"])


def affine(x: Any, w: Any, b: Any) -> Any:
    """`x @ w + b`; where products are narrow, as the one op that autocast knows, else the sum would be wide again."""
    return F.linear(x, w.T, b) if torch.is_autocast_enabled(DEVICE) else x @ w + b


def gpt2_layer(arrays: Arrays) -> Call:
    t = tensors(arrays)
    batched = {n: w for n, w in t.items() if n != "x"}
    return caller(lambda x: layer(x[None], batched)[0], t["x"])


def gpt2_decode(arrays: Arrays) -> Call:
    config = workloads.decode_config(arrays["tok_embeddings.weight"].shape[1] < 768)
    capacity = arrays["blocks.0.attention.k_cache"].shape[1]
    peer = by_torch.GPT2(config, arrays, capacity)
    for i, caches in enumerate(peer.caches):
        for cache, kind in zip(caches, "kv", strict=True):
            cache[:] = torch.from_numpy(arrays[f"blocks.{i}.attention.{kind}_cache"])

    def call() -> Any:
        peer.length = capacity - 1
        return peer(arrays["tokens"])[0]

    return call


def convolution(arrays: Arrays) -> Call:
    t = tensors(arrays)
    x = t["x"].permute(0, 3, 1, 2)  # channels last in memory, as PyTorch is fastest
    weight = t["weight"].contiguous(memory_format=torch.channels_last)
    return caller(lambda x, w, b: F.conv2d(x, w, b, padding=1).permute(0, 2, 3, 1), x, weight, t["bias"])


def resnet34(arrays: Arrays) -> Call:
    t = tensors(arrays)
    blocks = sizes.blocks(workloads.resnet_config(arrays["image"].shape[-1] < 224, len(arrays["image"])))
    last = torch.channels_last
    w = {name: v.contiguous(memory_format=last) if v.ndim == 4 else v for name, v in t.items()}

    def network(x: Any) -> Any:
        def unit(x: Any, name: str, stride: int = 1, padding: int = 0) -> Any:
            return F.conv2d(x, w[f"{name}.weight"], w[f"{name}.bias"], stride=stride, padding=padding)

        x = F.max_pool2d(F.relu(unit(x.contiguous(memory_format=last), "conv1", 2, 3)), 3, 2, 1)
        for block in blocks:
            y = unit(F.relu(unit(x, f"{block.name}.conv1", block.stride, 1)), f"{block.name}.conv2", 1, 1)
            x = F.relu(y + (unit(x, f"{block.name}.downsample", block.stride) if block.downsample else x))
        return x.mean((2, 3)) @ w["fc.weight"] + w["fc.bias"]

    return caller(network, t["image"])


def layer_weights(w: dict[str, Any], i: int) -> dict[str, Any]:
    """The weights of layer `i`, by their names in it."""
    return {n.removeprefix(f"blocks.{i}."): v for n, v in w.items() if n.startswith(f"blocks.{i}.")}


def logits_of(tokens: Any, w: dict[str, Any], config: Any) -> Any:
    """A GPT on `[..., T]` tokens."""
    x = F.embedding(tokens, w["tok_embeddings.weight"]) + w["pos_embeddings"]
    for i in range(config.layers):
        x = layer(x, layer_weights(w, i), config.heads)
    return norm(x, w["final_ln.gamma"], w["final_ln.beta"]) @ w["lm_head"]


def gpt2_prefill(arrays: Arrays) -> Call:
    config, t = workloads.config_of(arrays), tensors(arrays)
    return caller(lambda tokens: logits_of(tokens[None], t, config)[0], t["tokens"])


def gpt2_decode_with_caches(arrays: Arrays) -> Call:
    """As `gpt2_decode`, by functions that torch.compile takes, where the tensors are; caches are overwritten."""
    config, t = workloads.config_of(arrays), tensors(arrays)
    place, heads = int(arrays["positions"][0]), len(arrays["blocks.0.attention.k_cache"])

    def decode(tokens: Any) -> Any:
        x = F.embedding(tokens, t["tok_embeddings.weight"]) + t["pos_embeddings"][place : place + 1]
        for i in range(config.layers):
            w = layer_weights(t, i)
            h = norm(x, w["ln_1.gamma"], w["ln_1.beta"]) @ w["attention.w_qkv"] + w["attention.b_qkv"]
            q, k, v = (part.unflatten(-1, (heads, -1)).transpose(-3, -2) for part in h.chunk(3, -1))
            w["attention.k_cache"][:, place : place + 1] = k
            w["attention.v_cache"][:, place : place + 1] = v
            kept = (w[f"attention.{kind}_cache"][:, : place + 1] for kind in "kv")
            y = F.scaled_dot_product_attention(q, *kept).transpose(-3, -2).reshape(x.shape)
            x = x + y @ w["attention.w_out"] + w["attention.b_out"]
            h = norm(x, w["ln_2.gamma"], w["ln_2.beta"]) @ w["feed_forward.w_in"] + w["feed_forward.b_in"]
            x = x + F.gelu(h, approximate="tanh") @ w["feed_forward.w_out"] + w["feed_forward.b_out"]
        return (norm(x, t["final_ln.gamma"], t["final_ln.beta"]) @ t["lm_head"])[0]

    return caller(decode, t["tokens"])


def gpt_train(arrays: Arrays, *, narrow: bool = False) -> Call:
    """Training steps; `narrow` ones by autocast, with products in bf16."""
    config = workloads.config_of(arrays)
    t = tensors(arrays)
    names = [n for n in t if n not in ("tokens", "targets")]
    held = {n: t[n].clone().requires_grad_() for n in names}
    decayed, other = ([w for w in held.values() if (w.ndim > 1) is yes] for yes in (True, False))
    groups = [{"params": decayed, "weight_decay": 0.1}, {"params": other, "weight_decay": 0.0}]
    optimiser = torch.optim.AdamW(groups, lr=RATE, betas=(0.9, 0.99), fused=True)

    def loss(tokens: Any, targets: Any, w: dict[str, Any]) -> Any:
        return F.cross_entropy(logits_of(tokens, w, config).flatten(0, 1), targets.flatten())

    run = compiled(loss)

    def call() -> Any:
        optimiser.zero_grad(set_to_none=True)
        with torch.autocast(DEVICE, torch.bfloat16, enabled=narrow):
            value = run(t["tokens"], t["targets"], held)
        value.backward()
        optimiser.step()
        return value.detach()

    return call


def batch_norm(x: Any, gamma: Any, beta: Any) -> Any:
    return F.batch_norm(x.permute(0, 3, 1, 2), None, None, gamma, beta, True, 0.0, EPSILON).permute(0, 2, 3, 1)


def halves(parts: Any) -> Any:
    return torch.stack(parts, -1).float()


def convolved(x: Any, weight: Any, stride: int = 1) -> Any:
    filters = weight.permute(3, 2, 0, 1)
    groups = x.shape[-1] // filters.shape[1]
    return F.conv2d(x.permute(0, 3, 1, 2), filters, stride=stride, padding=1, groups=groups).permute(0, 2, 3, 1)


def pooled(x: Any) -> Any:
    return F.max_pool2d(x.permute(0, 3, 1, 2), 3, 2, 1).permute(0, 2, 3, 1)


class Functions:
    """The functions of PyTorch that families of programs use."""

    exp, sum, tanh, where, roll, loop = torch.exp, torch.sum, torch.tanh, torch.where, torch.roll, staticmethod(families.looped)

    @staticmethod
    def scan(step: Callable[..., Any], state: Any, rows: Any) -> Any:
        return families.scanned(step, state, rows, torch.stack)


def lstm(x: Any, w_x: Any, w_h: Any, bias: Any) -> Any:
    """PyTorch's own, which `torch.nn.LSTM` calls."""
    begin = x.new_zeros(1, x.shape[1], w_h.shape[0])
    weights = [w_x.T, w_h.T, bias, torch.zeros_like(bias)]
    return torch.lstm(x, (begin, begin), weights, True, 1, 0.0, False, False, False)[0]


def hessian_vector(x: Any, y: Any, w0: Any, w1: Any, v0: Any, v1: Any) -> Any:
    gradient = torch.func.grad(partial(families.loss, torch), (0, 1))
    return torch.func.jvp(lambda *w: gradient(*w, x, y), (w0, w1), (v0, v1))[1]


def per_example(x: Any, y: Any, w0: Any, w1: Any) -> Any:
    return torch.func.vmap(torch.func.grad(partial(families.loss, torch), (0, 1)), (None, None, 0, 0))(w0, w1, x, y)


def embedding(arrays: Arrays) -> Call:
    t = tensors(arrays)
    t["table"].requires_grad_()
    run = compiled(lambda table, tokens: F.embedding(tokens, table))

    def call() -> Any:
        rows = run(t["table"], t["tokens"])
        return rows.detach(), *torch.autograd.grad(rows, [t["table"]], t["dy"])

    return call


def derived(function: Callable[..., Any]) -> Callable[[Arrays], Call]:
    """A family: a function of its arrays but the last, which is a cotangent, and its gradients."""

    def side(arrays: Arrays) -> Call:
        *given, dy = tensors(arrays).values()
        for t in given:
            t.requires_grad_()
        run = compiled(function)

        def call() -> Any:
            y = run(*given)
            return y.detach(), *torch.autograd.grad(y, given, dy)

        return call

    return side


def on(function: Callable[..., Any]) -> Callable[[Arrays], Call]:
    """A family: a function of its arrays."""
    return lambda arrays: caller(function, *tensors(arrays).values())


SIDES: dict[str, Callable[[Arrays], Call]] = {
    "cumsum": on(lambda x: torch.cumsum(x, 1)),
    "transpose": on(lambda x: x.T.contiguous()),
    "transpose_add": on(lambda x, y: x + y.T),
    "softmax_middle": on(lambda x: torch.softmax(x, 1)),
    "softmax_first": on(lambda x: torch.softmax(x, 0)),
    "top_k": on(lambda x: tuple(torch.topk(x, 50, 1))),
    "sort": on(lambda x: torch.sort(x, 1).values),
    "black_scholes": on(partial(families.black_scholes, torch)),
    "batch_norm": on(batch_norm),
    "int8": on(torch._int_mm),
    "row_int4": on(lambda x, codes, scales: x @ families.decoded(halves, codes, scales).T),
    "depthwise": derived(convolved),
    "depthwise_strided": derived(lambda x, weight: convolved(x, weight, 2)),
    "dense": derived(convolved),
    "max_pool": derived(pooled),
    "bodies": on(partial(families.bodies, torch)),
    "lstm": derived(lstm),
    "embedding": embedding,
    "histogram": on(lambda x: torch.bincount((x * 256).int(), minlength=256)),
    "hessian_vector": on(hessian_vector),
    "per_example": on(per_example),
    "tiny": tiny,
    "chain1k": chain,
    "chain10M": chain,
    "softmax": softmax,
    "cross_entropy": cross_entropy,
    "layer_norm": layer_norm,
    "layer_norm_gradient": layer_norm_gradient,
    "mlp": mlp,
    "gpt2_layer": gpt2_layer,
    "conv1": convolution,
    "conv8": convolution,
    "resnet34": resnet34,
    "gpt_train": gpt_train,
    "gpt2_train": gpt_train,
    "gpt2_train_bf16": partial(gpt_train, narrow=True),
    "gpt2_prefill": gpt2_prefill,
    "gpt2_decode_bf16": gpt2_decode_with_caches,
    **({"gpt2_decode": gpt2_decode_with_caches} if DEVICE == "cuda" else {}),
    "resnet34_64": resnet34,
}
if not COMPILED:  # the peer of the examples, which changes what it holds, is not compiled; loops would be unrolled, for minutes
    SIDES["gpt2_decode"] = gpt2_decode
    SIDES["selective_scan"] = on(partial(families.selective_scan, Functions))
    SIDES["stencil"] = on(partial(families.heat, Functions))
    SIDES["stencil_gradient"] = derived(partial(families.sinks, Functions))
    SIDES["mandelbrot"] = on(partial(families.mandelbrot, Functions))
