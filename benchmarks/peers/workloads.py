"""What is computed, on which arrays; sizes are those of real use, or small ones to try the benchmark out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from models import gpt2, resnet34

Arrays = Mapping[str, Any]
RATE = 0.01
"""Of learning, in the steps of the network of three layers."""
TINY_TURNS = 5
"""Of four ops each."""
HEADS = 12
EPSILON = 1e-5


@dataclass(frozen=True)
class Workload:
    """
    `arrays(small)` are the inputs by name; `moved`, bytes read and bytes written, and `flops` say what nobody can do without.

    `steps` says that calls change the arrays, so that only the first results of the sides are alike.
    """

    title: str
    arrays: Callable[[bool], Arrays]
    moved: Callable[[Arrays], tuple[int, int]] = lambda _: (0, 0)
    flops: Callable[[Arrays], int] = lambda _: 0
    steps: bool = False
    is_convolution: bool = False


def normal(seed: int, **shapes: tuple[int, ...]) -> dict[str, Any]:
    """Arrays of random numbers by name."""
    rng = np.random.default_rng(seed)
    return {name: rng.standard_normal(shape, dtype=np.float32) for name, shape in shapes.items()}


def _chain(n: int) -> Callable[[bool], Arrays]:
    return lambda small: normal(1, **dict.fromkeys("abc", (min(n, 1000) if small else n,)))


def _rows(small: bool) -> tuple[int, int]:
    return (8, 64) if small else (4096, 1024)


def _logits(small: bool) -> Arrays:
    n, m = _rows(small)
    return {**normal(3, x=(n, m)), "labels": np.random.default_rng(3).integers(0, m, n).astype(np.int32)}


def _norm(small: bool) -> Arrays:
    n, m = _rows(small)
    return normal(4, x=(n, m), gamma=(m,), beta=(m,))


def _norm_gradient(small: bool) -> Arrays:
    return {**_norm(small), **normal(5, dy=_rows(small))}


def _mlp(small: bool) -> Arrays:
    sizes, batch = ([12, 8, 6, 4], 5) if small else ([784, 512, 256, 10], 128)
    held = normal(6, x=(batch, sizes[0]))
    held["labels"] = np.random.default_rng(6).integers(0, sizes[-1], batch).astype(np.int32)
    for i, (n, m) in enumerate(pairwise(sizes)):
        held |= {name: w * np.float32((2 / n) ** 0.5) for name, w in normal(7 + i, **{f"w{i}": (n, m)}).items()}
        held[f"b{i}"] = np.zeros(m, np.float32)
    return held


def layer_shapes(width: int) -> dict[str, tuple[int, ...]]:
    """The weights of a layer of GPT-2."""
    return {
        **dict.fromkeys(("ln_1.gamma", "ln_1.beta", "ln_2.gamma", "ln_2.beta"), (width,)),
        **{"attention.w_qkv": (width, 3 * width), "attention.b_qkv": (3 * width,)},
        **{"attention.w_out": (width, width), "attention.b_out": (width,)},
        **{"feed_forward.w_in": (width, 4 * width), "feed_forward.b_in": (4 * width,)},
        **{"feed_forward.w_out": (4 * width, width), "feed_forward.b_out": (width,)},
    }


def _layer(small: bool) -> Arrays:
    width, length = (24, 8) if small else (768, 128)
    held = {name: 0.02 * x for name, x in normal(8, **layer_shapes(width)).items()}
    held |= {name: held[name] + np.float32(1) for name in held if name.endswith("gamma")}
    return {"x": normal(9, x=(length, width))["x"], **held}


def decode_config(small: bool, dtype: str = "f32") -> gpt2.Config:
    """The GPT-2 that decodes, with the GELU of its published weights."""
    dtype = {"float32": "f32", "bfloat16": "bf16"}.get(dtype, dtype)
    if small:
        sizes: Any = {"vocabulary": 64, "context": 16, "width": 24, "layers": 2, "heads": HEADS, "kv_heads": HEADS}
        return gpt2.Config(**sizes, gelu="tanh", dtype=dtype)
    return gpt2.Config(gelu="tanh", dtype=dtype)


def config_of(arrays: Arrays) -> gpt2.Config:
    """The GPT whose weights are among some arrays."""
    vocabulary, width = arrays["tok_embeddings.weight"].shape
    layers = sum(name.endswith("ln_1.gamma") for name in arrays)
    heads = {24: 2, 256: 4}.get(width, HEADS)
    dtype = {"float32": "f32", "bfloat16": "bf16"}[arrays["lm_head"].dtype.name]
    sizes: Any = {"vocabulary": vocabulary, "context": len(arrays["pos_embeddings"]), "width": width, "layers": layers}
    return gpt2.Config(**sizes, heads=heads, kv_heads=heads, gelu="tanh", dtype=dtype)


def _narrow(arrays: Callable[[bool], Arrays]) -> Callable[[bool], Arrays]:
    """The same arrays, floats in bf16."""

    def made(small: bool) -> Arrays:
        import ml_dtypes

        return {n: x.astype(ml_dtypes.bfloat16) if x.dtype == np.float32 else x for n, x in arrays(small).items()}

    return made


def _prefill(small: bool) -> Arrays:
    config = train_config(True) if small else gpt2.Config(gelu="tanh")
    draw = np.random.default_rng(14).integers(0, config.vocabulary, config.context).astype(np.int32)
    places = np.arange(config.context, dtype=np.int32)
    return {"tokens": draw, "positions": places, **gpt2.random_weights(config)}


def _train_gpt2(small: bool) -> Arrays:
    """GPT-2 small, 8 sequences of 1,024."""
    config, batch = (train_config(True), 2) if small else (gpt2.Config(gelu="tanh"), 8)
    draw = np.random.default_rng(13).integers(0, config.vocabulary, (2, batch, config.context)).astype(np.int32)
    return {"tokens": draw[0], "targets": draw[1], **gpt2.random_weights(config)}


def _decode(small: bool) -> Arrays:
    """The last token that fits into the caches, against random keys and values."""
    config, capacity = decode_config(small), 16 if small else 128
    shapes = {name: tuple(spec.shape) for name, spec in gpt2.caches(config, capacity).items()}
    last = np.array([capacity - 1], np.int32)
    given = {"tokens": np.array([7], np.int32), "positions": last, "cache_start": np.array([0, capacity - 1, 0], np.int32)}
    return {**given, **gpt2.random_weights(config), **normal(10, **shapes)}


def _image(batch: int) -> Callable[[bool], Arrays]:
    def arrays(small: bool) -> Arrays:
        side, channels = (6, 8) if small else (56, 64)
        held = normal(11, x=(batch, side, side, channels), weight=(channels, channels, 3, 3))
        return {**held, "weight": held["weight"] * np.float32(0.05), "bias": np.zeros(channels, np.float32)}

    return arrays


def resnet_config(small: bool, batch: int = 1) -> resnet34.Config:
    """The ResNet of some images."""
    found = resnet34.Config(image=32, classes=10, channels=(4, 8, 12, 16)) if small else resnet34.REAL
    return replace(found, batch=batch)


def _resnet(batch: int) -> Callable[[bool], Arrays]:
    def arrays(small: bool) -> Arrays:
        config = resnet_config(small, min(batch, 2) if small else batch)
        shape = (config.batch, config.colours, config.image, config.image)
        return {**normal(12, image=shape), **resnet34.random_weights(config)}

    return arrays


def train_config(small: bool) -> gpt2.Config:
    """The GPT that is trained."""
    if small:
        return gpt2.Config(vocabulary=16, context=8, width=24, layers=1, heads=2, kv_heads=2, gelu="tanh")
    return gpt2.Config(vocabulary=256, context=64, width=256, layers=4, heads=4, kv_heads=4, gelu="tanh")


def _train(small: bool) -> Arrays:
    config, batch = train_config(small), 2 if small else 8
    draw = np.random.default_rng(13).integers(0, config.vocabulary, (2, batch, config.context)).astype(np.int32)
    return {"tokens": draw[0], "targets": draw[1], **gpt2.random_weights(config)}


def _conv_flops(a: Arrays) -> int:
    return 2 * prod(a["x"].shape) * 9 * a["weight"].shape[0]


def moves(*read: str, written: Sequence[str] = ()) -> Callable[[Arrays], tuple[int, int]]:
    """Bytes of arrays that are read, and of ones as large as those that are written."""
    return lambda a: (sum(a[n].nbytes for n in read), sum(a[n].nbytes for n in written))


def _weights(a: Arrays) -> tuple[int, int]:
    """Bytes of what decoding reads: all but the rows of the embeddings that are not looked up."""
    return sum(x.nbytes for name, x in a.items() if "embeddings" not in name), 0


def _matmul_flops(tokens: Callable[[Arrays], int], passes: int = 1) -> Callable[[Arrays], int]:
    """Twice the elements of each matrix of weights for each token, so many passes."""
    return lambda a: passes * 2 * tokens(a) * sum(x.size for n, x in a.items() if x.ndim == 2 and n[0] != "x" and ".w" in f".{n}")


WORKLOADS: dict[str, Workload] = {
    "tiny": Workload("20 ops on 8 elements", lambda small: normal(0, a=(8,), b=(8,))),
    "chain1k": Workload("8 ops on 1,000 elements", _chain(1000), moves("a", "b", "c", written="c")),
    "chain10M": Workload("8 ops on 10 million elements", _chain(10_000_000), moves("a", "b", "c", written="c")),
    "softmax": Workload("softmax of 4096 rows of 1024", lambda small: normal(2, x=_rows(small)), moves("x", written="x")),
    "cross_entropy": Workload("cross entropy, value and gradient", _logits, moves("x", written="x")),
    "layer_norm": Workload("layer norm", _norm, moves("x", written="x")),
    "layer_norm_gradient": Workload("layer norm, value and gradients", _norm_gradient, moves("x", "dy", written="xx")),
    "mlp": Workload("training step of 784-512-256-10", _mlp, flops=_matmul_flops(lambda a: a["x"].shape[0], 3), steps=True),
    "gpt2_layer": Workload("a layer of GPT-2, 128 tokens", _layer, flops=_matmul_flops(lambda a: a["x"].shape[0])),
    "gpt2_decode": Workload("a token of GPT-2 small", _decode, _weights, steps=True),
    "conv1": Workload("convolution 3x3, 56x56x64", _image(1), flops=_conv_flops, is_convolution=True),
    "conv8": Workload("convolution 3x3, 8 images 56x56x64", _image(8), flops=_conv_flops, is_convolution=True),
    "resnet34": Workload("ResNet34, one image", _resnet(1), is_convolution=True),
    "gpt_train": Workload("training step of a GPT of 3.3M parameters", _train, steps=True),
}

GPU_WORKLOADS: dict[str, Workload] = {
    **{name: WORKLOADS[name] for name in ("tiny", "chain10M", "softmax", "cross_entropy", "layer_norm", "layer_norm_gradient")},
    "gpt2_decode": WORKLOADS["gpt2_decode"],
    "gpt2_decode_bf16": Workload("a token of GPT-2 small in bf16", _narrow(_decode), _weights, steps=True),
    "gpt2_prefill": Workload("GPT-2 small on 1,024 tokens", _prefill),
    "gpt2_train": Workload("training step of GPT-2 small, 8 times 1,024 tokens", _train_gpt2, steps=True),
    "gpt2_train_bf16": Workload("the same with products in bf16, weights in f32", _train_gpt2, steps=True),
    "resnet34": WORKLOADS["resnet34"],
    "resnet34_64": Workload("ResNet34, 64 images", _resnet(64), is_convolution=True),
}
"""What is measured on a GPU."""
EVERY = {**WORKLOADS, **GPU_WORKLOADS}
