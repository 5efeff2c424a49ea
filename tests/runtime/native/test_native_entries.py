"""Entries of many kernels: they run once a call, so code for them is generated without optimisation. Against NumPy."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import mind_array as ma
import mind_runtime
from mind_lowering import code_cache as cache
from mind_lowering.native.codegen import MANY_CALLS
from mind_lowering.native.program import lower, prepared
from mind_lowering.native.target_info import TARGETS
from mind_runtime.native import codegen
from ptir_evaluator import function_of

rng = np.random.default_rng(3)


def widths(count: int) -> list[int]:
    """The columns of each array of a chain of products, all of other shapes than the last one."""
    return [8 + i % 29 for i in range(count + 1)]


def chain(count: int, *, looped: bool = False) -> Any:
    """The module of a chain of products, each a kernel of its own; `looped` in a loop of two iterations."""
    shapes = [(a, b) for a, b in pairwise(widths(count))]

    def run(x: Any, *weights: Any) -> Any:
        for w in weights:
            x = ma.matmul(x, w)
        return x

    def loop(x: Any, *weights: Any) -> Any:
        return ma.fori_loop(0, 2, lambda _, y: y + ma.sum(run(y, *weights)), x)

    specs = [ma.spec(shape, ma.float32) for shape in [(5, 8), *shapes]]
    return ma.trace(loop if looped else run, *specs)


def text_of(module: Any, isa: str = "avx2") -> str:
    host = TARGETS[isa]
    return lower(prepared(function_of(module), host), host).text


@pytest.mark.parametrize(("count", "looped", "fast"), [(MANY_CALLS, False, True), (8, False, False), (MANY_CALLS, True, False)])
def test_which_entries_are_not_optimised(count: int, looped: bool, fast: bool) -> None:
    text = text_of(chain(count, looped=looped))
    assert ("noinline optnone" in text) == fast
    entries = [line for line in text.splitlines() if line.startswith("define") and "@run." in line]
    assert any(line.endswith(" #1 {") for line in entries) == fast
    assert all(" #0 {" in line for line in text.splitlines() if line.startswith("define") and "@run." not in line)


@pytest.mark.parametrize("isa", ["avx2", "avx512", "neon", "sve256"])
def test_they_have_a_part_of_their_own(isa: str) -> None:
    text = text_of(chain(MANY_CALLS), isa)
    assert len(text) > codegen.PART
    *others, last = codegen.parts_of(text)
    assert others
    assert all(part.optimised and "optnone" in part.text and " #1 {" not in part.text for part in others)
    assert not last.optimised
    assert " #0 {" not in last.text
    assert codegen.objects(text, TARGETS[isa], 1) == codegen.objects(text, TARGETS[isa], 2)


def test_programs_with_such_entries_compute_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cache.VARIABLE, "")
    module = chain(MANY_CALLS)
    native = mind_runtime.compile(module, target="native")
    assert "noinline optnone" in native.source
    n = widths(MANY_CALLS)
    arrays = [rng.standard_normal((5, 8)).astype(np.float32)]
    arrays += [(rng.standard_normal(shape) / shape[0] ** 0.5).astype(np.float32) for shape in pairwise(n)]
    expected = arrays[0].astype(np.float64)
    for w in arrays[1:]:
        expected = expected @ w
    np.testing.assert_allclose(native(*arrays), expected, rtol=1e-3, atol=1e-3 * abs(expected).max())
