"""Programs of open sizes whose tails are masked: most ops, in the ways that models use them."""

from __future__ import annotations

from typing import Any

import mind_array as ma

Spec = tuple[tuple[int | str, ...], str]


def softmax(x: Any, axis: int) -> Any:
    e = ma.exp(x - ma.max(x, axis=axis, keepdims=True))
    return e / ma.sum(e, axis=axis, keepdims=True)


def attention(q: Any, k: Any, v: Any) -> Any:
    return softmax(q @ k.T, -1) @ v


def scatter(kind: str, axis: int) -> Any:
    return lambda x, i, updates: ma.ptir.scatter_reduce(x, i % 7, updates, kind=kind, axis=axis)


def pad(low: Any, high: Any, value: float) -> Any:
    return lambda x, *like: ma.ptir.pad(x, low=low, high=high, interior=[0] * len(low), pad_value=value)


def top_k(k: int | str, largest: bool) -> Any:
    return lambda x: ma.ptir.top_k(x, k=k, axis=0, largest=largest, indices_dtype=ma.int32)


def steps(start: int, stride: int) -> Any:
    return lambda x: ma.ptir.strided_slice(x, starts=[start], limits=["T"], strides=[stride])


def cumulative_sum(reverse: bool, exclusive: bool = False) -> Any:
    return lambda x: ma.ptir.cumulative_sum(x, axis=0, exclusive=exclusive, reverse=reverse)


def cumulative(kind: str) -> Any:
    return lambda x: ma.ptir.cumulative(x, kind=kind, axis=0, exclusive=False, reverse=True)


class Window:
    def __init__(self, *sizes: Any):
        self.sizes = sizes

    def __call__(self, x: Any, start: Any, *like: Any) -> Any:
        return ma.ptir.dynamic_slice(x, start, sizes=list(self.sizes))


class Update(Window):
    def __call__(self, x: Any, y: Any, start: Any, *like: Any) -> Any:
        return ma.ptir.dynamic_update_slice(x, y, start, sizes=list(self.sizes))


def start(rank: int) -> Spec:
    return ((rank,), "int32")


def segments(kind: str, **promises: bool) -> Any:
    promises = {"indices_are_sorted": False, "unique": False, **promises}
    return lambda x, i: ma.ptir.segment_reduce(x, i % 7, kind=kind, num_segments=7, **promises)


T3, TT, T, BT = (("T", 3), "float32"), (("T", "T"), "float32"), (("T",), "float32"), (("B", "T", 2), "float32")
CASES: dict[str, tuple[Any, list[Spec]]] = {
    "elementwise": (lambda x, y: ma.exp(x) * y + 1, [T3, T3]),
    "sum of tails": (lambda x: ma.sum(x, axis=0), [T3]),
    "sum beside tails": (lambda x: ma.sum(x, axis=1), [T3]),
    "sum of all": (lambda x: ma.sum(x), [BT]),
    "sum of both, then one": (lambda x: (ma.sum(x, axis=(0, 1)), ma.sum(x, axis=0)), [BT]),
    "mean": (lambda x: ma.mean(x, axis=0), [T3]),
    "maximum, then sum": (lambda x: ma.max(x, axis=0) + ma.sum(x, axis=0), [T3]),
    "sum, then maximum": (lambda x: ma.sum(x, axis=0) + ma.max(x, axis=0), [T3]),
    "minimum": (lambda x: ma.min(x, axis=0), [T3]),
    "product": (lambda x: ma.prod(x, axis=0), [T3]),
    "integers": (lambda x: (ma.max(x, axis=0), ma.min(x, axis=0), ma.sum(x, axis=0)), [(("T", 3), "int32")]),
    "unsigned": (lambda x: (ma.max(x, axis=0), ma.min(x, axis=0)), [(("T", 3), "uint8")]),
    "greatest index": (lambda x: (ma.argmax(x, axis=0), ma.argmin(x, axis=0)), [T3]),
    "softmax": (lambda x: softmax(x, -1), [TT]),
    "softmax of columns": (lambda x: softmax(x, 0), [TT]),
    "softmax, then sum": (lambda x: ma.sum(softmax(x, 0) * x, axis=0), [T3]),
    "attention": (attention, [T3, T3, T3]),
    "attention over other keys": (attention, [T3, (("S", 3), "float32"), (("S", 3), "float32")]),
    "contraction": (lambda x, y: x.T @ y, [T3, T3]),
    "rows": (lambda x, y: x @ y, [T3, ((3, 4), "float32")]),
    "batch": (lambda x, y: x @ y, [BT, ((2, 3), "float32")]),
    "transpose": (lambda x: ma.permute_dims(x, (2, 0, 1)), [BT]),
    "reshape": (lambda x: ma.reshape(x, (x.shape[0], 2, 3)) * 2, [(("T", 6), "float32")]),
    "slice beside": (lambda x: x[:, 1:], [T3]),
    "first of a table": (lambda x, table: x + table[: x.shape[0]], [T3, ((7, 3), "float32")]),
    "concat beside": (lambda x, y: ma.concat([x, y], axis=1), [T3, T3]),
    "running sum": (lambda x: ma.cumulative_sum(x, axis=0), [T3]),
    "division of integers": (lambda x, y: x // y, [(("T",), "int32"), (("T",), "int32")]),
    "rows of a table": (lambda x, i: ma.take(x, i, axis=0), [((7, 2), "float32"), (("T",), "int32")]),
    "scattered sums": (scatter("add", 0), [((7, 2), "float32"), (("T", 2), "int32"), (("T", 2), "float32")]),
    "scattered maxima": (scatter("max", 0), [((7, 2), "float32"), (("T", 2), "int32"), (("T", 2), "float32")]),
    "scattered minima": (scatter("min", -1), [((2, 7), "int32"), ((2, "T"), "int32"), ((2, "T"), "int32")]),
    "scattered beside": (scatter("replace", 1), [(("T", 7), "float32"), (("T", 2), "int32"), (("T", 2), "float32")]),
    "scattered sums of both": (scatter("add", 0), [((7, "T"), "float32"), (("B", "T"), "int32"), (("B", "T"), "float32")]),
    "gradient of rows of a table": (
        ma.grad(lambda w, i: ma.sum(ma.exp(ma.take(w, i, axis=0)))),
        [((7, 2), "float32"), (("T",), "int32")],
    ),
    "gradient of rows of an open width": (
        ma.grad(lambda w, i: ma.sum(ma.exp(ma.take(w, i, axis=0)))),
        [((7, "B"), "float32"), (("T",), "int32")],
    ),
    "gradient of elements of each row": (
        ma.grad(lambda w, i: ma.sum(ma.exp(ma.take_along_axis(w, i, axis=1)))),
        [(("T", 7), "float32"), (("T", 2), "int32")],
    ),
    "sums of segments": (segments("sum"), [T3, (("T",), "int32")]),
    "maxima of segments": (segments("max"), [T3, (("T",), "int32")]),
    "padded to a table": (pad((2, 0), ("6-T", 0), 1.5), [T3]),
    "padded to another size": (
        lambda x, y: pad((0, 0), ("B-T", 0), 1.5)(x) * y,
        [T3, (("B", 3), "float32")],
    ),
    "padded to a size": (lambda x, y: pad((1,), ("T-3",), 2.5)(x) + y, [((2,), "float32"), T]),
    "window of an open size": (Window("T", 3), [((7, 3), "float32"), start(2), T3]),
    "window in an open size": (Window(1, 2), [T3, start(2)]),
    "window of one size in another": (Window("T"), [(("B",), "float32"), start(1), T]),
    "windows of two sizes": (Window("T", 2, "B"), [((7, 3, 6), "float32"), start(3), (("T", "B"), "float32")]),
    "update of an open size": (Update("T", 3), [((7, 3), "float32"), T3, start(2)]),
    "update in an open size": (Update(1, 2), [T3, ((1, 2), "float32"), start(2)]),
    "update of one size in another": (Update("T"), [(("B",), "float32"), T, start(1)]),
    "updates of two sizes": (Update("T", 2, "B"), [((7, 3, 6), "float32"), (("T", 2, "B"), "float32"), start(3)]),
    "caches": (Update("B", 2, "T", 3), [(("B", 2, 9, 3), "float32"), (("B", 2, "T", 3), "float32"), start(4)]),
    "concat along": (lambda x, y: ma.concat([x, y], axis=0), [T3, T3]),
    "concat of two sizes": (lambda x, y: ma.concat([x, y, x], axis=1), [(("B", 3), "float32"), (("B", "T"), "float32")]),
    "concat with numbers": (lambda x, y: ma.concat([y, x, y], axis=0), [T, ((2,), "float32")]),
    "sum of a concat": (lambda x, y: ma.sum(ma.concat([x, y], axis=0), axis=0), [T3, (("B", 3), "float32")]),
    "attention with a cache that grows": (
        lambda q, k, v, old_k, old_v: attention(q, ma.concat([old_k, k]), ma.concat([old_v, v])),
        [T3, T3, T3, (("P", 3), "float32"), (("P", 3), "float32")],
    ),
    "reverse": (lambda x: ma.flip(x, axis=0), [T3]),
    "reverse of all": (lambda x: ma.flip(x), [BT]),
    "roll": (lambda x: ma.roll(x, 1, axis=0), [T3]),
    "sort": (lambda x: ma.sort(x, axis=0), [T3]),
    "descending": (lambda x: ma.sort(x, axis=0, descending=True), [T3]),
    "sort of integers": (lambda x: (ma.sort(x, axis=0), ma.sort(x, axis=0, descending=True)), [(("T", 3), "int32")]),
    "order": (lambda x: (ma.argsort(x, axis=0), ma.argsort(x, axis=0, descending=True)), [(("T", 3), "int32")]),
    "median": (lambda x: ma.median(x, axis=0), [T3]),
    "backwards by two": (lambda x: x[::-2], [T3]),
    "gradient of every second": (ma.grad(lambda x: ma.sum(x[1::2] ** 3)), [T3]),
    "greatest two": (top_k(1, True), [T3]),
    "least": (top_k("T", False), [T3]),
    "last": (lambda x: x[-1], [T3]),
    "all but the first": (lambda x: x[1:], [T3]),
    "all but the last": (lambda x: x[:-1] * 2, [T3]),
    "differences": (lambda x: ma.sum(x[1:] - x[:-1], axis=0), [T3]),
    "greatest but one": (lambda x: ma.max(x[1:], axis=0), [T3]),
    "takes from an open size": (lambda x, i: ma.take(x, i % x.shape[0], axis=0), [T3, (("B",), "int32")]),
    "elements of an open size": (
        lambda x, i: ma.take_along_axis(x, i % x.shape[0], axis=0),
        [T3, (("B", 3), "int32")],
    ),
    "scattered into an open size": (
        lambda x, i, updates: ma.ptir.scatter_reduce(x, i % x.shape[0], updates, kind="add", axis=0),
        [T3, (("B", 3), "int32"), (("B", 3), "float32")],
    ),
    "padded before by a size": (pad(("T", 0), (1, 0), 0.5), [(("B", 3), "float32"), T]),
    "padded before up to a table": (pad(("7-T", 0), (0, 0), 0.5), [T3]),
    "padded around": (pad(("T", 0), ("7-T", 1), 0.5), [((2, "B"), "float32"), T]),
    "mean but one": (lambda x: ma.mean(x[1:], axis=0), [T3]),
    "softmax but one": (lambda x: softmax(x[1:], 0), [T3]),
    "products but one": (lambda x, y: x[1:].T @ y[1:], [T3, T3]),
    "sums from the end": (lambda x: ma.flip(ma.cumulative_sum(ma.flip(x, axis=0), axis=0), axis=0), [T3]),
    "reversed sums": (cumulative_sum(True), [T3]),
    "reversed sums without itself": (cumulative_sum(True, True), [T3]),
    "reversed maxima": (cumulative("max"), [T3]),
    "reversed products": (cumulative("prod"), [T3]),
    "every second": (steps(0, 2), [T]),
    "every second from the second": (steps(1, 2), [T]),
    "every third": (lambda x: ma.sum(x[::3] ** 2, axis=0) + x[::3], [T3]),
    "gradient of every third": (ma.grad(lambda x: ma.sum(x[1::3] ** 3)), [T3]),
    "between": (lambda x: ma.ptir.pad(x, low=[1], high=[2], interior=[1], pad_value=0.5), [T]),
    "sum of edges": (lambda x: ma.sum(ma.ptir.pad(x, low=[1], high=[2], interior=[0], pad_value=0.5)), [T]),
    "variance": (lambda x: (ma.var(x, axis=0), ma.std(x, axis=1)), [TT]),
    "gradient of a concat": (
        ma.grad(lambda x, y: ma.sum(ma.exp(ma.concat([x, y], axis=0)) ** 2), argnums=(0, 1)),
        [T3, (("B", 3), "float32")],
    ),
    "gradient of differences": (ma.grad(lambda x: ma.sum((x[1:] - x[:-1]) ** 2)), [T3]),
    "gradient of the last": (ma.grad(lambda x: ma.sum(x[-1] ** 2)), [T3]),
    "gradient of a sort": (ma.grad(lambda x: ma.sum(ma.sort(x, axis=0) ** 3)), [T3]),
    "gradient of a reverse": (ma.grad(lambda x: ma.sum(ma.flip(x, axis=0)[1:] ** 3)), [T3]),
    "size of an expression": (lambda x: x * ma.sum(ma.ones_like(x[1:])), [T]),
    "merge": (lambda x: ma.reshape(x, (-1,)), [T3]),
    "merge with a size after": (lambda x: ma.reshape(x, (-1,)), [((3, "T"), "float32")]),
    "merge of two": (lambda x: ma.reshape(x, (-1, 2)), [BT]),
    "merge of all": (lambda x: ma.reshape(x, (-1,)), [BT]),
    "merge of three": (lambda x: ma.reshape(x, (-1, 2)), [(("B", 3, "T", 2), "float32")]),
    "split": (lambda x: ma.reshape(x[:, :2], (2 * x.shape[0], 1)), [T3]),
    "split again": (
        lambda x: ma.reshape(ma.exp(ma.reshape(x, (-1, 2))) @ ma.ones((2, 6)), (*x.shape[:2], 2, 3)),
        [BT],
    ),
    "split otherwise": (lambda x: ma.reshape(x, (x.shape[1], x.shape[0], 2)), [BT]),
    "sum of a merge": (lambda x: ma.sum(ma.reshape(x, (-1, 2)), axis=0), [BT]),
    "rows of heads": (lambda x: ma.reshape(ma.permute_dims(x, (0, 2, 1, 3)), (-1, 6)), [(("B", 3, "T", 2), "float32")]),
    "gradient of a merge": (ma.grad(lambda x: ma.sum(ma.reshape(x, (-1, 2))[1:] ** 3)), [BT]),
    "cross entropy": (
        ma.grad(
            lambda x, i: (
                -ma.mean(ma.take_along_axis(ma.log(softmax(ma.reshape(x, (-1, 2)), -1)), ma.reshape(i % 2, (-1, 1)), axis=1))
            )
        ),
        [BT, (("B", "T"), "int32")],
    ),
    "positions": (lambda x: x + ma.ptir.iota(shape=(x.shape[0],), dtype=ma.float32, axis=0), [T]),
    "size": (lambda x: x / ma.sum(ma.ones_like(x)), [T]),
}

VALID: dict[str, Any] = {
    "padded to another size": lambda T, B: T <= B,
    "padded to a size": lambda T: T >= 3,
    "window of one size in another": lambda T, B: T <= B,
    "update of one size in another": lambda T, B: T <= B,
}
"""Which sizes a case is valid for, where that is not all."""
