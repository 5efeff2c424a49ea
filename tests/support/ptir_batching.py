"""Vectorised programs held against a Python loop over the examples and `np.stack`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

import mind_runtime
from mind_dialect.dominance import walk
from mind_dialect.errors import MindError
from mind_dialect.ptir.types import read_type
from mind_passes.batching import LOOP
from mind_passes.vectorize import VectorizeOptions, vectorize
from ptir_evaluator import evaluate, same_bits

HEAD = 'module attributes {ptir.spec_version = "ptir.v0.4"} {\n'


def loops(func: Operation) -> list[str]:
    """The ops that run once per example."""
    return [op.attributes[LOOP].data for op in walk(func) if LOOP in op.attributes]


def compiled(module: ModuleOp, name: str) -> Any:
    run = mind_runtime.compile(module, name)

    def call(*arrays: Any, **options: Any) -> tuple[Any, ...]:
        found = run(*arrays, **options)
        return found if isinstance(found, tuple) else (found,)

    return call


def failure(run: Any, *arguments: Any, **options: Any) -> MindError:
    with pytest.raises(MindError) as e:
        run(*arguments, **options)
    return e.value


def numbers(*shape: int, seed: int = 0, dtype: str = "float32") -> np.ndarray:
    drawn = np.random.default_rng([seed, *shape]).normal(size=shape) * 3
    return drawn.astype(dtype)


def looped(run: Callable[..., Sequence[Any]], arrays: Sequence[Any], axes: Sequence[int | None], n: int) -> list[list[Any]]:
    """The outputs for each example; a program for one that knows nothing of batches."""
    return [
        list(run(*(x if a is None else np.asarray(np.take(x, i, a)) for x, a in zip(arrays, axes, strict=True))))
        for i in range(n)
    ]


def assert_close(actual: Any, expected: Any, exact: bool, ulps: int = 16) -> None:
    """Bit for bit, or within some units in the last place of the greatest number."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert (actual.dtype, actual.shape) == (expected.dtype, expected.shape)
    if exact or actual.dtype.kind in "biu" or actual.dtype.name in ("int4", "uint4"):
        assert same_bits(actual, expected), (actual, expected)
        return
    wide = np.complex128 if actual.dtype.kind == "c" else np.float64
    digits = {"bfloat16": 8, "float16": 11, "float8_e4m3fn": 4, "float8_e5m2": 3, "float64": 53, "complex128": 53}
    step = 2.0 ** -digits.get(actual.dtype.name, 24)
    a, e = actual.astype(wide), expected.astype(wide)
    finite = np.abs(e[np.isfinite(e)])
    scale = float(finite.max()) if finite.size else 1.0
    np.testing.assert_allclose(a, e, rtol=ulps * step, atol=ulps * step * max(scale, 1e-30), equal_nan=True)


def check(
    module: ModuleOp,
    arrays: Sequence[Any],
    axes: Sequence[int | None],
    n: int,
    *,
    exact: bool,
    size: int | str | None = None,
    runner: Callable[[FuncOp], Callable[..., Sequence[Any]]] | None = None,
) -> FuncOp:
    """Vectorise with batch axes at 0 in all outputs and hold it against the loop; `n` examples, at least one."""
    made = vectorize(module, options=VectorizeOptions(in_axes=tuple(axes), size=n if size is None else size))
    run = runner or (lambda func: lambda *xs: evaluate(func, xs))
    expected = looped(run(made.primal), arrays, axes, n)
    found = run(made.function)(*arrays)
    for i, output in enumerate(found):
        if expected:
            assert_close(output, np.stack([example[i] for example in expected]), exact)
        else:
            spec = read_type(made.primal.function_type.outputs.data[i])
            assert output.shape[0] == 0
            assert all(m == n for m, n in zip(output.shape[1:], spec.shape, strict=True) if isinstance(n, int))
    return made.function
