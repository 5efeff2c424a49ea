"""Masked tails: with names bound to upper bounds, each size gives what the dynamic program gives, whatever is beyond it."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import counting
import mind_array as ma
import mind_runtime
from mind_dialect import ptir_shapes
from mind_dialect.errors import MindError
from mind_dialect.program import functions
from mind_dialect.ptir import PtirOp
from mind_dialect.verify import verify
from mind_passes.dim_names import names_used
from mind_passes.ptir.building import row_of_kind
from mind_passes.shape.mask_padding import mask_padding
from mind_passes.shape.specialize import specialize
from mind_passes.shape.tail_rules import ROWS
from mind_tools import frontends

BOUND = 5
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


def module_of(case: str) -> Any:
    body, specs = CASES[case]
    inputs = [ma.spec(shape, getattr(ma, dtype), name=f"x{i}") for i, (shape, dtype) in enumerate(specs)]
    return ma.trace(lambda *xs: body(*xs), *inputs, name="f")


def values(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Any:
    if dtype.startswith("float"):
        return rng.standard_normal(shape).astype(dtype)
    return rng.integers(1, 7, shape).astype(dtype)


def padded(x: Any, shape: tuple[int, ...]) -> Any:
    """An array with a tail of what makes anything that reads it wrong."""
    found = np.full(shape, np.nan, x.dtype) if x.dtype.kind == "f" else np.zeros(shape, x.dtype)
    if x.dtype.kind != "f":
        found.reshape(-1)[::2] = np.iinfo(x.dtype).max
        found.reshape(-1)[1::4] = np.iinfo(x.dtype).min
    found[tuple(map(slice, x.shape))] = x
    return found


def bound(case: str, target: str, bounds: dict[str, int] | None = None) -> tuple[Any, list[str]]:
    module = module_of(case)
    (func,) = functions(module)
    names = mask_padding(func)
    verify(module)
    assert set(names) == set(names_used(func))
    specialize(module, bounds or dict.fromkeys(names, BOUND))
    verify(module)
    return mind_runtime.compile(module, target=target), names


def several(found: Any) -> tuple[Any, ...]:
    return found if isinstance(found, tuple) else (found,)


@pytest.mark.parametrize("target", ["numpy", "native"])
@pytest.mark.parametrize("case", CASES)
def test_every_size_gives_what_the_dynamic_program_gives(case: str, target: str) -> None:
    if target == "native":
        pytest.importorskip("llvmlite")
    run, names = bound(case, target)
    dynamic = mind_runtime.compile(module_of(case), specialize="max_programs=0")
    rng = np.random.default_rng(0)
    for sizes in product(range(1, BOUND + 1), repeat=len(names)):
        by_name = dict(zip(names, sizes, strict=True))
        if case in VALID and not VALID[case](**by_name):
            continue
        xs = [values(rng, tuple(by_name.get(str(d), d) for d in shape), dtype) for shape, dtype in CASES[case][1]]
        widened = [tuple(BOUND if isinstance(d, str) else d for d in shape) for shape, _ in CASES[case][1]]
        tails = [padded(x, shape) for x, shape in zip(xs, widened, strict=True)]
        found = several(run(*tails, *(np.array(by_name[name]) for name in names)))
        for a, b in zip(found, several(dynamic(*xs)), strict=True):
            np.testing.assert_allclose(a[tuple(map(slice, b.shape))], b, rtol=2e-5, atol=1e-5, err_msg=str(by_name))


CHECKED: dict[str, tuple[Any, list[Spec]]] = {
    "scattered sums": (
        lambda x, i, updates: ma.ptir.scatter_reduce(x, i, updates, kind="add", axis=0),
        [((7, 2), "float32"), (("T", 2), "int32"), (("T", 2), "float32")],
    ),
    "scattered rows": (
        lambda x, i, updates: ma.ptir.scatter_add(
            x, i, updates, update_window_dims=[1], inserted_window_dims=[0], scatter_dims_to_operand_dims=[0]
        ),
        [((7, 2), "float32"), (("T",), "int32"), (("T", 2), "float32")],
    ),
    "rows of an open size": (lambda x, i: ma.ptir.take(x, i), [T3, ((2,), "int32")]),
    "elements of an open size": (lambda x, i: ma.ptir.gather(x, i, axis=0), [T3, ((2, 3), "int32")]),
    "scattered into an open size": (
        lambda x, i, updates: ma.ptir.scatter_reduce(x, i, updates, kind="add", axis=0),
        [T3, ((2, 3), "int32"), ((2, 3), "float32")],
    ),
    "scattered rows of an open size": (
        lambda x, i, updates: ma.ptir.scatter_add(
            x, i, updates, update_window_dims=[1], inserted_window_dims=[0], scatter_dims_to_operand_dims=[0]
        ),
        [T3, (("T",), "int32"), (("T", 3), "float32")],
    ),
    "sums of segments": (
        lambda x, i: ma.ptir.segment_reduce(x, i, kind="sum", num_segments=7, indices_are_sorted=False, unique=False),
        [T3, (("T",), "int32")],
    ),
}


@pytest.mark.parametrize("target", ["numpy", "native"])
@pytest.mark.parametrize("wrong", [-1, 3, 4, 5, 7])
@pytest.mark.parametrize("case", CHECKED)
def test_an_index_within_the_size_is_still_checked(case: str, wrong: int, target: str) -> None:
    """One that is out of range is an error though those of tails, which are out of range too, are not."""
    if target == "native":
        pytest.importorskip("llvmlite")
    body, specs = CHECKED[case]
    inputs = [ma.spec(shape, getattr(ma, dtype), name=f"x{i}") for i, (shape, dtype) in enumerate(specs)]
    module = ma.trace(lambda *xs: body(*xs), *inputs, name="f")
    (func,) = functions(module)
    mask_padding(func)
    specialize(module, {"T": BOUND})
    run = mind_runtime.compile(module, target=target)
    shapes = [tuple(3 if d == "T" else d for d in shape) for shape, _ in specs]
    rng = np.random.default_rng(0)
    limit = 3 if case.endswith("an open size") else 7
    xs = [values(rng, shape, dtype) % limit for shape, (_, dtype) in zip(shapes, specs, strict=True)]
    widened = [tuple(BOUND if d == "T" else d for d in shape) for shape, _ in specs]
    open_axis = case.endswith("an open size")
    if wrong in (3, 4, 5) and not open_axis:
        return  # inside
    for bad in (False, True):
        if bad:
            xs[1].reshape(-1)[-1] = wrong
        tails = [padded(x, shape) for x, shape in zip(xs, widened, strict=True)]
        if not bad:
            run(*tails, np.array(3))
            continue
        with pytest.raises(MindError, match="E6001: "):
            run(*tails, np.array(3))


WINDOWS = [case for case in CASES if case.startswith(("window", "update", "caches"))]


@pytest.mark.parametrize("target", ["numpy", "native"])
@pytest.mark.parametrize("case", WINDOWS)
def test_windows_from_every_start(case: str, target: str) -> None:
    """Against NumPy, with starts clamped against the sizes, and before and after what there is."""
    if target == "native":
        pytest.importorskip("llvmlite")
    run, names = bound(case, target)
    rng = np.random.default_rng(1)
    for sizes in product(range(1, BOUND + 1), repeat=len(names)):
        by_name = dict(zip(names, sizes, strict=True))
        if case in VALID and not VALID[case](**by_name):
            continue
        xs = [values(rng, tuple(by_name.get(str(d), d) for d in shape), dtype) for shape, dtype in CASES[case][1]]
        widened = [tuple(BOUND if isinstance(d, str) else d for d in shape) for shape, _ in CASES[case][1]]
        x, at = xs[0], next(i for i, x in enumerate(xs) if x.dtype == np.int32)
        limits = [n - m for n, m in zip(x.shape, window_of(case, by_name), strict=True)]
        whole = product(*(range(-1, limit + 2) for limit in limits))
        for starts in list(whole)[:: 1 if x.ndim < 3 else 7]:
            xs[at] = np.array(starts, np.int32)
            tails = [padded(x, shape) for x, shape in zip(xs, widened, strict=True)]
            (found,) = several(run(*tails, *(np.array(by_name[name]) for name in names)))
            first = np.clip(starts, 0, limits)
            inside = tuple(slice(s, s + m) for s, m in zip(first, window_of(case, by_name), strict=True))
            if "update" in case or case == "caches":
                expected = x.copy()
                expected[inside] = xs[1]
            else:
                expected = x[inside]
            np.testing.assert_array_equal(found[tuple(map(slice, expected.shape))], expected, err_msg=str((by_name, starts)))


def window_of(case: str, by_name: dict[str, int]) -> list[int]:
    return [by_name.get(str(n), n) for n in CASES[case][0].sizes]


NOT_FINITE = [np.nan, np.inf, -np.inf]


@pytest.mark.parametrize("case", ["softmax", "softmax of columns", "attention", "attention over other keys"])
def test_parts_of_a_softmax_that_are_not_finite(case: str) -> None:
    """Rows that are NaN stay NaN, and no others become so."""
    run, names = bound(case, "numpy")
    dynamic = mind_runtime.compile(module_of(case), specialize="max_programs=0")
    rng = np.random.default_rng(0)
    for n, bad, at in product((1, 2, 4), NOT_FINITE, range(3)):
        by_name = dict.fromkeys(names, n)
        xs = [values(rng, tuple(by_name.get(str(d), d) for d in shape), dtype) for shape, dtype in CASES[case][1]]
        xs[at % len(xs)].reshape(-1)[:: at + 1] = bad
        widened = [tuple(BOUND if isinstance(d, str) else d for d in shape) for shape, _ in CASES[case][1]]
        tails = [padded(x, shape) for x, shape in zip(xs, widened, strict=True)]
        with np.errstate(all="ignore"):
            found = several(run(*tails, *(np.array(by_name[name]) for name in names)))
            for a, b in zip(found, several(dynamic(*xs)), strict=True):
                np.testing.assert_allclose(a[tuple(map(slice, b.shape))], b, rtol=2e-5, atol=1e-5)


REFUSED: dict[str, tuple[Any, list[Spec], str]] = {
    "rest of a table": (
        lambda x, y: x[y.shape[0] :],
        [((7,), "float32"), T],
        "a dimension is -T\\+7, which is not known to grow",
    ),
    "last of another size": (lambda x, y: x[y.shape[0] - 1 :], [(("B",), "float32"), T], "a dimension is B-T\\+1"),
    "steps from a size": (
        lambda x: ma.ptir.strided_slice(x, starts=["T-1"], limits=["T"], strides=[2]),
        [T],
        "strided_slice takes elements T-1 and on",
    ),
    "falling size": (
        lambda x, y: x[: 7 - y.shape[0]],
        [((7,), "float32"), T],
        "a dimension is -T\\+7, which is not known to grow with T",
    ),
    "transform": (lambda x: ma.real(ma.fft.fft(x)), [(("B", 4), "float32")], "fft has no rule for tails"),
    "norm": (
        lambda x, gamma: ma.ptir.layer_norm(x, gamma, gamma, feature_axis=0, epsilon=1e-5),
        [T, T],
        "layer_norm along a dimension with a tail",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_masked_is_refused_with_the_op_and_the_reason(case: str) -> None:
    body, specs, reason = REFUSED[case]
    inputs = [ma.spec(shape, getattr(ma, dtype), name=f"x{i}") for i, (shape, dtype) in enumerate(specs)]
    (func,) = functions(ma.trace(lambda *xs: body(*xs), *inputs, name="f"))
    with pytest.raises(MindError, match=f"E6003: .*{reason}"):
        mask_padding(func)


def test_a_function_of_static_sizes_stays_as_it_is() -> None:
    module = ma.trace(lambda x: ma.flip(x, axis=0), ma.spec((3,), ma.float32, name="x"), name="f")
    before = str(module)
    (func,) = functions(module)
    assert mask_padding(func) == []
    assert str(module) == before


def test_names_that_the_function_has_not() -> None:
    (func,) = functions(module_of("softmax"))
    with pytest.raises(MindError, match="E7003: no dimension is named N"):
        mask_padding(func, ["N"])


def calls(n: int) -> int:
    """How many functions are called while a function is masked that reads an input in `n` pairs of reductions."""
    body = "".join(
        f'%{kind}{i} = ptir.reduce %x kind = {kind} axes = [0] keepdims = false : tensor<?xf32, "T"> -> tensor<f32>\n'
        for i in range(n)
        for kind in ("sum", "max")
    )
    module = frontends.parse(
        'module attributes {ptir.spec_version = "ptir.v0.4"} {\n'
        f'func.func @f(%x: tensor<?xf32, "T">) -> tensor<f32> {{\n{body}func.return %sum0 : tensor<f32> }} }}'
    )
    (func,) = functions(module)
    return counting.calls(lambda: mask_padding(func))


def test_masks_cost_linear_time() -> None:
    assert calls(200) < 2.2 * calls(100)


def test_rows_are_of_ops_whose_elements_stay_where_they_are() -> None:
    """A class has a row by its base only if its result has the shape of its operands."""
    every, todo = set[type[PtirOp]](), [PtirOp]
    while todo:
        kind = todo.pop()
        every.add(kind)
        todo += kind.__subclasses__()
    elements = {ptir_shapes.elementwise, ptir_shapes.same_shape, ptir_shapes.compare}
    for kind in every:
        if hasattr(kind, "name") and kind not in ROWS and row_of_kind(ROWS, kind) is not None:
            assert kind.RULE in elements, kind
