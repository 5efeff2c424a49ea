"""Programs of open sizes whose tails are masked: norms, windows, loops, and windows at indices."""

from __future__ import annotations

from typing import Any

import mind_array as ma
from tail_programs import BT, T3, TT, Spec, T, scatter, softmax


def quantization(x: Any) -> Any:
    how = ma.asarray(0.01, dtype=ma.float32), ma.asarray(3, dtype=ma.int8)
    return ma.ptir.dequantize(ma.ptir.quantize(x, *how, output_dtype=ma.int8), *how)


def windows(kind: str, window: tuple[int, ...], **how: Any) -> Any:
    ones = [1] * len(window)
    how = {"strides": ones, "padding": [(0, 0)] * len(window), "base_dilation": ones, "window_dilation": ones, **how}
    return lambda x: ma.ptir.reduce_window(x, kind=kind, window_dims=window, **how)


def patches(window: tuple[int, ...], **how: Any) -> Any:
    how = {"strides": [1] * len(window), "dilation": [1] * len(window), "pad_value": 0.5, **how}
    return lambda x: ma.ptir.extract_patches(x, window=window, **how)


def convolution(**how: Any) -> Any:
    def body(x: Any, w: Any) -> Any:
        rank = len(x.shape) - 2
        each = {"strides": [1] * rank, "padding": [(0, 0)] * rank, "base_dilation": [1] * rank, "window_dilation": [1] * rank}
        return ma.ptir.convolution(x, w, **{**each, "feature_group_count": 1, **how})

    return body


def scan(body: Any) -> Any:
    return lambda carry, x: ma.scan(body, carry, x)


POINTS = {"index_vector_dim": 1}


def gather(x: Any, i: Any, mode: str, sizes: tuple[int, ...]) -> Any:
    dims = {"offset_dims": [1, 2], "collapsed_slice_dims": [], "start_index_map": [0, 1], **POINTS}
    batches = {"operand_batching_dims": [], "start_indices_batching_dims": []}
    return ma.ptir.gather_windows(x, i, slice_sizes=sizes, mode=mode, **dims, **batches)


def gather_windows(mode: str, sizes: tuple[int, ...]) -> Any:
    return lambda x, i: gather(ma.concat([x, x], axis=0), i % 2, mode, sizes)


def scattered(x: Any, i: Any, updates: Any, kind: str, mode: str) -> Any:
    dims = {"update_window_dims": [1, 2], "inserted_window_dims": [], "scatter_dims_to_operand_dims": [0, 1], **POINTS}
    batches = {"input_batching_dims": [], "scatter_indices_batching_dims": []}
    return ma.ptir.scatter_windows(x, i, updates, kind=kind, mode=mode, unique=False, **dims, **batches)


def scatter_windows(kind: str, mode: str) -> Any:
    return lambda x, i, updates: scattered(x, i % 4, updates, kind, mode)


CASES: dict[str, tuple[Any, list[Spec]]] = {
    "norm": (lambda x, gamma, beta: ma.ptir.layer_norm(x, gamma, beta, feature_axis=1, epsilon=1e-5), [TT, T, T]),
    "norm of a half": (
        lambda x, gamma: ma.ptir.layer_norm(x, gamma, gamma, feature_axis=0, epsilon=0.5),
        [(("T", 3), "float16"), (("T",), "float16")],
    ),
    "norm beside": (lambda x, gamma: ma.ptir.layer_norm(x, gamma, gamma, feature_axis=1, epsilon=0.5), [T3, ((3,), "float32")]),
    "tile": (lambda x: ma.tile(x, (2, 3)), [T3]),
    "tile of both": (lambda x: ma.tile(x, (3, 1, 2)), [BT]),
    "tile by a size": (lambda x, y: ma.ptir.tile(x, repeats=["T", "T"]) + 0 * ma.sum(y), [(("B", 2), "float32"), T]),
    "tile of a number by a size": (lambda x, y: ma.ptir.tile(x, repeats=["T"]) + 0 * ma.sum(y), [((3,), "float32"), T]),
    "transform beside": (lambda x: ma.real(ma.fft.fft(x)), [(("B", 4), "float32")]),
    "bits": (lambda x: ma.ptir.bitcast(x, dtype=ma.int32), [T3]),
    "quantized": (lambda x: quantization(ma.tanh(x)), [T3]),
    **{
        f"{kind} of windows": (windows(kind, window=(3, 1), strides=(2, 1), padding=((1, 2), (0, 0))), [T3])
        for kind in ("sum", "max", "min")
    },
    "windows between": (windows("sum", window=(2, 2), padding=((1, 0), (1, 1)), base_dilation=(2, 1)), [TT]),
    "windows apart": (windows("max", window=(2, 2), padding=((1, 0), (1, 1)), window_dilation=(2, 1)), [(("B", "T"), "int32")]),
    "every second of windows": (windows("sum", window=(1, 1), strides=(2, 3), padding=((0, 0), (0, 1))), [TT]),
    "patches": (patches(window=(2, 3), strides=(2, 1), padding=((1, 1), (1, 2))), [((2, "B", "T", 3), "float32")]),
    "patches beside": (patches(window=(2, 3), padding=((1, 1), (1, 2))), [(("B", 2, 3, 2), "float32")]),
    "convolution": (convolution(padding=((1, 1),)), [(("B", "T", 2), "float32"), ((3, 2, 4), "float32")]),
    "convolution in steps": (
        convolution(strides=(2, 3), padding=((1, 1), (0, 2)), base_dilation=(2, 1), window_dilation=(1, 2)),
        [((2, "B", "T", 2), "float32"), ((2, 3, 2, 4), "float32")],
    ),
    "convolution of channels": (convolution(), [((2, 6, "C"), "float32"), ((3, "C", "T"), "float32")]),
    "convolution in groups": (
        convolution(padding=((1, 1),), feature_group_count=2),
        [(("B", "T", 4), "float32"), ((3, 2, 4), "float32")],
    ),
    "gradient of a convolution": (
        ma.grad(lambda x, w: ma.sum(convolution(padding=((1, 1),))(x, w) ** 2), argnums=(0, 1)),
        [(("B", "T", 2), "float32"), ((3, 2, 4), "float32")],
    ),
    "pooling": (lambda x: ma.nn.max_pool(x, 2, stride=2, padding=1), [((2, "B", "T", 2), "float32")]),
    "means of windows": (lambda x: ma.nn.avg_pool(x, 2, stride=2), [((2, "B", "T", 2), "float32")]),
    "gradient of pooling": (
        ma.grad(lambda x: ma.sum(ma.nn.max_pool(x, 2, stride=1, padding="same") ** 2)),
        [((2, "T", 3, 2), "float32")],
    ),
    "scan": (scan(lambda c, x: (c * 0.5 + x, c * x)), [((3,), "float32"), T3]),
    "scan of an open carry": (scan(lambda c, x: (c * 0.5 + x, ma.sum(c))), [(("B",), "float32"), (("T", "B"), "float32")]),
    "scan with softmax": (scan(lambda c, x: (softmax(c + x, 0), softmax(x, 0))), [(("B",), "float32"), (("T", "B"), "float32")]),
    "scan of a known number": (scan(lambda c, x: (c + ma.sum(x), c + x)), [T, ((3,), "float32")]),
    "scan of all but one": (lambda c, x: scan(lambda c, x: (c * 0.5 + x, c))(c, x[1:]), [((3,), "float32"), T3]),
    "scan that divides": (scan(lambda c, x: (c // x + 7, c)), [((3,), "int32"), (("T", 3), "int32")]),
    "scan of truths": (scan(lambda c, x: (c, x > c)), [((3,), "float32"), T3]),
    "scan within a scan": (
        scan(lambda c, x: (scan(lambda d, y: (d * 0.5 + y, d))(c, x)[0], c)),
        [((2,), "float32"), BT],
    ),
    "gradient of a scan": (
        ma.grad(lambda c, x: ma.sum(scan(lambda c, x: (ma.tanh(c * 0.5 + x), c * x))(c, x)[0] ** 2), argnums=(0, 1)),
        [((3,), "float32"), T3],
    ),
    "scan backwards": (lambda c, x: scan(lambda c, x: (c * 0.5 + x, c))(c, ma.flip(x, axis=0)), [((3,), "float32"), T3]),
    "while": (
        lambda x: ma.while_loop(lambda x: ma.sum(x) < 50, lambda x: ma.abs(x) * 2 + ma.max(x), x),
        [T],
    ),
    "while with a counter": (
        lambda x: ma.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, softmax(c[1], 0) + c[1]), (ma.asarray(0), x)),
        [T3],
    ),
    "branches": (
        lambda x: ma.cond(ma.sum(x) > 0, lambda x: softmax(x, 0), lambda x: x - ma.max(x, axis=0), x),
        [T3],
    ),
    "windows at indices": (gather_windows("clamp", (2, 2)), [T3, (("B", 2), "int32")]),
    "windows at indices, or 0": (gather_windows("fill", (2, 2)), [T3, (("B", 2), "int32")]),
    "windows of a table": (gather_windows("raise", (2, 1)), [((9, 3), "float32"), (("B", 2), "int32")]),
    **{
        f"{kind} at indices": (
            scatter_windows(kind, "drop"),
            [((9, 3), "float32"), (("B", 2), "int32"), (("B", 2, 1), "float32")],
        )
        for kind in ("add", "mul", "min", "max", "replace")
    },
    "windows into an open size": (
        scatter_windows("replace", "drop"),
        [T3, (("B", 2), "int32"), (("B", 1, 1), "float32")],
    ),
    "overwriting": (scatter("replace", 0), [((7, 2), "float32"), (("T", 2), "int32"), (("T", 2), "float32")]),
    "overwriting of an open size": (
        lambda x, i, updates: ma.ptir.scatter_reduce(x, i % x.shape[0], updates, kind="replace", axis=0),
        [T3, (("B", 3), "int32"), (("B", 3), "float32")],
    ),
    "products of groups": (
        lambda x, w, n: ma.ptir.ragged_dot(x, w, n % 2, kind="rows"),
        [(("T", "B"), "float32"), ((2, "B", 3), "float32"), ((2,), "int32")],
    ),
    "sums of groups": (
        lambda x, y, n: ma.ptir.ragged_dot(x, y, n % 4, kind="contract"),
        [T3, (("T", 2), "float32"), (("G",), "int32")],
    ),
    "steps from a size": (
        lambda x: ma.ptir.strided_slice(ma.concat([x, x]), starts=["T-1"], limits=["2*T"], strides=[2]),
        [T],
    ),
    "between, after a size": (
        lambda x, y: ma.ptir.pad(x, low=["T"], high=[2], interior=[1], pad_value=0.5) + 0 * ma.sum(y),
        [(("B",), "float32"), T],
    ),
}
