"""The best of many elements: stable, in memory that grows with how many are wanted, not with how many there are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import mind_runtime
from mind_dialect import ptir
from native_same import same, way
from ptir_forms import program

__all__ = ["way"]
pytestmark = pytest.mark.usefixtures("way")


def best(k: int, *, largest: bool = False) -> Callable[[Any], Any]:
    return lambda x: list(ptir.TopKOp(x, axis=1, k=k, largest=largest, indices_dtype="si32").results)


def fullest(n: int, k: int, size: int) -> np.ndarray:
    """
    Return a line of which as many elements are kept as there is memory for, where blocks have `size` elements.

    Blocks of one element as great as the threshold, then a whole one; the blocks before it; elements after the last block.
    """
    found = np.full(n, 9.0)
    found[: (k - 1) * size : size] = 5
    found[(k - 1) * size : k * size] = 5
    found[k * size : (2 * k - 1) * size] = np.arange((k - 1) * size) % 5
    found[n // size * size :] = 4
    return found


SHAPES = [(300, 5, 32), (1000, 3, 64), (1000, 50, 16), (4099, 30, 64), (97, 20, 4), (49, 12, 4), (49, 13, None), (48, 2, None)]
"""Elements of a line, how many are wanted, and how many a block has: none where all are put in order."""


@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize(("n", "k", "size"), SHAPES)
def test_ties_at_the_threshold(n: int, k: int, size: int | None, *, largest: bool) -> None:
    rng = np.random.default_rng(n)
    block = size or 4
    lines = [
        np.full(n, 3.0),
        np.where(np.arange(n) % block == block - 1, 1.0, 2.0),
        rng.integers(0, 3, n).astype(float),
        np.arange(n) // block * 1.0,
        np.where(rng.random(n) < 0.5, np.nan, rng.choice([-0.0, 0.0], n)),
    ]
    if size is not None and (2 * k - 1) * size <= n:
        lines.append(fullest(n, k, size))
    for dtype in ("f4", "f8", "i4", "u1"):
        kept = [x for x in lines if dtype[0] == "f" or np.isfinite(x).all()]
        for first in range(0, len(kept), 3):  # more lines would be put in order in lanes
            x = np.stack(kept[first : first + 3]).astype(dtype)
            same(best(k, largest=largest), -x if largest and dtype[0] != "u" else x)


def test_few_lines_are_sifted() -> None:
    compiled = mind_runtime.compile(program("f32[3,300]", best(5)), target="native")
    assert "in lanes" not in " ".join(compiled.explain())


@pytest.mark.parametrize("n", [50_257, 1_000_000])
def test_memory_is_that_of_the_wanted(n: int) -> None:
    compiled = mind_runtime.compile(program(f"f32[4,{n}]", best(50, largest=True)), target="native")
    plan = compiled.arena_plan()
    assert plan is not None
    kept = max(n // 64, 50 * 64 + 50 + n % 64)
    assert plan.bytes <= 4 * 2 * (2 * 4 * kept + 2 * 64)
