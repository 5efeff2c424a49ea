"""Kernels that sizes limit: with memory and tails that are NaN everywhere, each size gives what the sizes' own program gives."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import mind_array as ma
import mind_runtime
from closed_tables import expect_rows
from mind_dialect.program import functions
from mind_lowering.launch.compute_ops import KernelOp
from mind_lowering.native.codegen import EMIT
from mind_lowering.native.limits import LIMITS
from mind_lowering.native.program import lower, prepared
from mind_lowering.native.target_info import TARGETS
from mind_passes.shape.mask_padding import mask_padding
from mind_passes.shape.specialize import specialize
from native_poisoned import limited, padded, poisoned_call

BOUND, TABLE = 50, 6
Spec = tuple[tuple[int | str, ...], str]
F, WIDE, BT, HEADS = "float32", (("T", 300), "float32"), ((2, "T", 48), "float32"), ((1, "T", 64), "float32")


def softmax(x: Any) -> Any:
    e = ma.exp(x - ma.max(x, axis=-1, keepdims=True))
    return e / ma.sum(e, axis=-1, keepdims=True)


def normalized(x: Any) -> Any:
    return x / ma.sqrt(ma.mean(x * x, axis=-1, keepdims=True) + 1e-5)


def heads(x: Any, q: Any, k: Any, v: Any) -> Any:
    """Multi-head causal attention with a residual connection."""

    def split(w: Any) -> Any:
        return ma.permute_dims(ma.reshape(x @ w, (1, x.shape[1], 4, 16)), (0, 2, 1, 3))

    scores = split(q) @ ma.permute_dims(split(k), (0, 1, 3, 2)) * 0.25
    place = ma.ptir.iota(shape=(x.shape[1],), dtype=ma.int32, axis=0)
    scores = ma.where(ma.expand_dims(place, axis=1) >= place, scores, ma.asarray(-ma.inf, dtype=ma.float32))
    return x + ma.reshape(ma.permute_dims(softmax(scores) @ split(v), (0, 2, 1, 3)), x.shape)


W64 = ((64, 64), F)
CASES: dict[str, tuple[Any, list[Spec], int]] = {
    # what is computed, arguments, and how many kernels a size limits at least
    "elementwise": (lambda x, y: ma.exp(x) * y + 1, [WIDE, WIDE], 1),
    "along a vector": (lambda x: ma.tanh(x) * 2, [(("T",), F)], 0),
    "beside a batch": (lambda x: ma.exp(x) + 1, [((3, "T", 200), F)], 1),
    "batch and length": (lambda x: ma.exp(x) + 1, [(("B", "T", 64), F)], 1),
    "transpose": (lambda x: ma.permute_dims(x, (1, 0)) * 2, [WIDE], 1),
    "transpose of a batch": (lambda x: ma.permute_dims(x, (0, 2, 1)) * 2, [BT], 1),
    "sums of rows": (lambda x: ma.sum(x * x, axis=1), [WIDE], 1),
    "sums of columns": (lambda x: ma.sum(x * x, axis=0), [WIDE], 0),
    "sums beside": (lambda x: ma.sum(x, axis=0), [((5, "T", 70), F)], 1),
    "norm of rows": (normalized, [WIDE], 1),
    "softmax of rows": (softmax, [WIDE], 1),
    "softmax of all": (lambda x: softmax(ma.permute_dims(x, (1, 0))), [WIDE], 0),
    "product": (lambda x, w: x @ w, [WIDE, ((300, 70), F)], 1),
    "product of columns": (lambda x, w: w @ ma.permute_dims(x, (1, 0)), [WIDE, ((70, 300), F)], 1),
    "products of a batch": (lambda x, w: ma.tanh(x @ w) + 1, [BT, ((48, 40), F)], 0),
    "product and gate": (lambda x, v, w: (x @ v) / (1 + ma.exp(-(x @ w))), [WIDE, ((300, 70), F), ((300, 70), F)], 2),
    "product with itself": (lambda x: x @ ma.permute_dims(x, (1, 0)), [WIDE], 1),
    "contraction": (lambda x, y: ma.permute_dims(x, (1, 0)) @ y, [WIDE, WIDE], 0),
    "chain": (lambda x, v, w: normalized(ma.tanh(normalized(x) @ v) @ w) + x, [WIDE, ((300, 70), F), ((70, 300), F)], 4),
    "attention": (heads, [HEADS, W64, W64, W64], 7),
    "integers": (lambda x, w: ma.sum(x // w + ma.abs(x), axis=1), [(("T", 300), "int32"), (("T", 300), "int32")], 1),
    "truths": (lambda x: ma.any(x > 0, axis=1) & ma.all(x < 2, axis=1), [WIDE], 1),
    "greatest": (lambda x: (ma.argmax(x, axis=1), ma.argmax(x, axis=0)), [WIDE], 0),
    "running sum": (lambda x: ma.cumulative_sum(ma.exp(x), axis=0), [WIDE], 1),
    "concat": (lambda x, y: ma.concat([x, ma.exp(y)], axis=1), [WIDE, WIDE], 2),
    "table": (lambda t, i: ma.take(t, i, axis=0) * 2, [((TABLE, 300), F), (("T",), "int32")], 1),
    "norm and sums of columns": (lambda x: (normalized(x), ma.sum(normalized(x) * x, axis=0)), [WIDE], 0),
    "transforms": (lambda x: ma.fft.irfft(ma.fft.rfft(ma.exp(x)), n=300), [WIDE], 0),
    "transforms of columns": (lambda x: ma.fft.irfft(ma.fft.rfft(x, axis=0), n=70, axis=0), [((70, "T"), F)], 0),
    "both of a result": (lambda x: (ma.exp(x), ma.sum(ma.exp(x), axis=0)), [WIDE], 0),
}


def module_of(case: str) -> Any:
    body, specs, _ = CASES[case]
    inputs = [ma.spec(shape, getattr(ma, dtype), name=f"x{i}") for i, (shape, dtype) in enumerate(specs)]
    return ma.trace(lambda *xs: body(*xs), *inputs, name="f")


def masked(case: str, bound: int = BOUND) -> tuple[Any, list[str]]:
    """Return the module of a case for a bound of each name, whose sizes are arguments in addition, and the names."""
    module = module_of(case)
    (func,) = functions(module)
    names = mask_padding(func)
    specialize(module, {name: bound if name == "T" else 3 for name in names})
    return module, names


def values(rng: np.random.Generator, shape: Sequence[int], dtype: str) -> Any:
    x = rng.standard_normal(shape)
    return x.astype(dtype) if dtype == F else rng.integers(1, TABLE, shape).astype(dtype)


@pytest.mark.exhaustive
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("case", CASES)
def test_every_size(case: str, threads: int) -> None:
    module, names = masked(case)
    program = mind_runtime.compile(module, target="native", threads=threads)
    dynamic = mind_runtime.compile(module_of(case), specialize="max_programs=0")
    assert limited(program) >= CASES[case][2]
    rng = np.random.default_rng(0)
    sizes = [1, 2, 11, 12, 13, 24, 37, 49, BOUND] if threads == 1 else [5, 26]
    for n, b in product(sizes, (1, 2, 3) if "B" in names else (0,)):
        by_name = {"T": n, "B": b}
        xs = [values(rng, [by_name.get(str(d), d) for d in shape], dtype) for shape, dtype in CASES[case][1]]
        wide = [[{"T": BOUND, "B": 3}.get(str(d), d) for d in shape] for shape, _ in CASES[case][1]]
        tails = [padded(x, shape) for x, shape in zip(xs, wide, strict=True)]
        found = poisoned_call(program, [*tails, *(np.array(by_name[name]) for name in names)])
        wanted = dynamic(*xs)
        for a, w in zip(found, wanted if isinstance(wanted, tuple) else (wanted,), strict=True):
            np.testing.assert_allclose(a[tuple(map(slice, w.shape))], w, rtol=2e-4, atol=2e-4, err_msg=str(by_name))


@pytest.mark.parametrize("size", [BOUND + 1, 1 << 40, (1 << 63) - 1, -1, -(1 << 63)])
def test_a_size_beyond_the_bound_runs_all_units(size: int) -> None:
    """Which nothing but a caller by hand passes: memory beyond the arrays is left alone."""
    module, _ = masked("chain")
    program = mind_runtime.compile(module, target="native")
    rng = np.random.default_rng(1)
    xs = [values(rng, [BOUND if d == "T" else d for d in shape], dtype) for shape, dtype in CASES["chain"][1]]
    for a, b in zip(*(poisoned_call(program, [*xs, np.array(n)]) for n in (size, BOUND)), strict=True):
        np.testing.assert_array_equal(a, b)


def test_no_more_is_computed_than_units_of_the_size() -> None:
    module, _ = masked("chain", 1000)
    program = mind_runtime.compile(module, target="native")
    (y,) = poisoned_call(
        program, [*(np.ones([1000 if d == "T" else d for d in s], t) for s, t in CASES["chain"][1]), np.array(9)]
    )
    assert not np.isnan(y[:9]).any()
    launches = [op for op in program._executable.runner.launches().walk() if isinstance(op, KernelOp) and op.sizes]
    for op in launches:
        for limit in op.word("limits"):
            units = limit.units(9, op.word("grid")[limit.axis])
            assert units * limit.tile <= 64 * limit.scale, op
            assert units < op.word("grid")[limit.axis], op


@pytest.mark.parametrize("isa", TARGETS)
@pytest.mark.parametrize("case", ["chain", "attention", "transpose of a batch", "batch and length", "product with itself"])
def test_grids_are_those_that_are_emitted(case: str, isa: str) -> None:
    """On every kind of machine; the emission compares the units that a kernel has with the grid of its launch."""
    module, _ = masked(case)
    (func,) = functions(module)
    native = lower(prepared(func, TARGETS[isa]), TARGETS[isa])
    for op in native.launches.walk():
        if isinstance(op, KernelOp) and op.sizes:
            assert prod(op.word("grid")) > 1


@pytest.mark.quick
def test_every_kind_of_kernel_has_limits_or_a_reason() -> None:
    expect_rows("LIMITS of mind_lowering/native/limits.py", LIMITS, EMIT)
    assert all(LIMITS.values())


def test_explain_says_what_is_limited_and_why_others_are_not() -> None:
    module, _ = masked("both of a result")
    lines = mind_runtime.compile(module, target="native").explain(rejected=True)
    assert any(line.startswith("without a limit: ") and line.endswith("all that it writes is demanded") for line in lines)
    module, _ = masked("elementwise")
    assert any(line.endswith(", within %T_size") for line in mind_runtime.compile(module, target="native").explain())
