"""Single long lines sorted by pivots, whole or a few ranks of them: the bits of a stable sort."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import mind_runtime
from mind_dialect import ptir
from mind_dialect.ptir.types import BF16, DTYPES, F32, F64, SI32, PtirDType
from mind_lowering.native import TARGETS, quicksorts
from mind_lowering.native.kernel_steps import Sort
from mind_lowering.native.kernels_sorts import MOST_RANKS
from mind_lowering.native.quicksort_steps import LONG, SHORT, is_sorted_in_parts, sorts_by_pivots
from mind_lowering.native.views import Buffer, Use, View
from native_same import block, same, types, way
from ptir_forms import program

__all__ = ["way"]
pytestmark = pytest.mark.usefixtures("way")

ONE_WAY = pytest.mark.parametrize("way", [""], indirect=True)
Patterns = dict[str, Callable[[np.random.Generator, int], np.ndarray]]
PATTERNS: Patterns = {
    "random": lambda rng, n: rng.standard_normal(n),
    "ascending": lambda rng, n: np.sort(rng.standard_normal(n)),
    "descending": lambda rng, n: -np.sort(rng.standard_normal(n)),
    "equal": lambda rng, n: np.full(n, 7.0),
    "few": lambda rng, n: rng.integers(-1, 2, n).astype(float),
    "pipe": lambda rng, n: np.abs(np.arange(n) - n / 3),
    "infinite": lambda rng, n: np.where(rng.random(n) < 0.3, np.inf, rng.standard_normal(n)) * rng.choice([-1, 1], n),
}
"""Lines whose pivots divide them in halves, and lines whose pivots do not."""


def in_order(*, descending: bool) -> Callable[[Any], Any]:
    return lambda x: ptir.SortOp(x, axis=len(x.type.get_shape()) - 1, descending=descending).result


def ranks_of(*ranks: int, descending: bool = False) -> Callable[[Any], Any]:
    """Slices of one element of a vector that is put in order."""

    def found(x: Any) -> list[Any]:
        ordered = in_order(descending=descending)(x)
        return [ptir.SliceOp(ordered, starts=(rank,), sizes=(1,)).result for rank in ranks]

    return found


def expected(x: np.ndarray, *, descending: bool) -> np.ndarray:
    """Python's sort of each line, which is stable: NaN is the greatest, zeros are equal."""
    sign = -1 if descending else 1

    def ordered(line: list[float]) -> list[float]:
        return sorted(line, key=lambda v: (sign * int(v != v), sign * v if v == v else 0))

    return np.array([ordered(line) for line in x.reshape(-1, x.shape[-1]).tolist()], x.dtype).reshape(x.shape)


def line(pattern: str, n: int, dtype: str) -> np.ndarray:
    return (PATTERNS[pattern](np.random.default_rng(n), n) * (1000 if dtype[0] in "iu" else 1)).astype(dtype)


@pytest.mark.exhaustive
@ONE_WAY
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "i8"])
def test_lines_in_order(dtype: str, pattern: str, *, descending: bool) -> None:
    """Of lengths about that of the parts that are sorted in lanes, and of a length that threads share."""
    if pattern == "infinite" and dtype[0] == "i":
        pytest.skip("integers are finite")
    for n in (129, 255, 1025, LONG + 3):
        x = line(pattern, n, dtype)
        found = mind_runtime.compile(program(types(x), in_order(descending=descending)), target="native")(x)
        np.testing.assert_array_equal(np.asarray(found), expected(x, descending=descending))


@pytest.mark.parametrize("dtype", ["f32", "f64", "f16", "si32", "ui32", "si64", "ui64"])
@pytest.mark.exhaustive
@pytest.mark.parametrize("shape", [(300,), (2, 700)])
def test_special_elements_keep_their_order_and_bits(dtype: str, shape: tuple[int, ...]) -> None:
    """NaN, infinities and zeros of both signs; extremes of integers. Lines are apart in memory too."""
    x = block(DTYPES[dtype], shape, 2, special=True)
    for descending in (False, True):
        same(in_order(descending=descending), x)
    if len(shape) > 1:
        same(lambda v: in_order(descending=False)(ptir.TransposeOp(v, perm=(1, 0)).result), np.ascontiguousarray(x.T))


@ONE_WAY
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4"])
@pytest.mark.parametrize("pattern", ["random", "few", "equal"])
@pytest.mark.parametrize("n", [130, 4000, LONG + 1])
def test_a_few_ranks(n: int, pattern: str, dtype: str) -> None:
    x = line(pattern, n, dtype)
    for descending in (False, True):
        ranks = (0, n // 3, n // 3 + 1, n - 1)
        found = mind_runtime.compile(program(types(x), ranks_of(*ranks, descending=descending)), target="native")(x)
        np.testing.assert_array_equal(np.concatenate(found), expected(x, descending=descending)[list(ranks)])


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_lines_that_threads_share(dtype: str) -> None:
    """Three of them, with special elements; apart in memory, too."""
    x = block(DTYPES[dtype], (3, LONG), 2, special=True)
    same(in_order(descending=True), x)


@ONE_WAY
def test_ranks_of_zeros_and_nan() -> None:
    """The elements of equal keys are those of a stable sort also where parts of the line are left alone."""
    x = np.array([0.0, -0.0, 1.0, np.nan, -1.0, -0.0, 0.0] * 200, np.float32)
    for descending in (False, True):
        ranks = (200, 300, 500, 900, 1399)
        found = mind_runtime.compile(program(types(x), ranks_of(*ranks, descending=descending)), target="native")(x)
        wanted = expected(x, descending=descending)[list(ranks)]
        np.testing.assert_array_equal(np.concatenate(found), wanted)
        np.testing.assert_array_equal(np.signbit(np.concatenate(found)), np.signbit(wanted))


@ONE_WAY
def test_other_readers_have_the_whole_order() -> None:
    """No rank is left out where something else than a slice of a few reads the result."""
    x = line("random", 2000, "f4")
    many = tuple(range(MOST_RANKS + 1))

    def both(v: Any) -> list[Any]:
        ordered = in_order(descending=False)(v)
        return [ptir.SliceOp(ordered, starts=(5,), sizes=(1,)).result, ordered]

    found = mind_runtime.compile(program(types(x), both), target="native")(x)
    np.testing.assert_array_equal(found[1], np.sort(x))
    found = mind_runtime.compile(program(types(x), ranks_of(*many)), target="native")(x)
    np.testing.assert_array_equal(np.concatenate(found), np.sort(x)[list(many)])


@ONE_WAY
@pytest.mark.parametrize("n", [1000, LONG + 5])
def test_bad_pivots_are_given_up(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line that is partitioned too often is sorted by bytes."""
    monkeypatch.setattr(quicksorts, "DEPTH", 0)
    for dtype in ("f4", "i8"):
        x = line("random", n, dtype)
        compiled = mind_runtime.compile(program(types(x), in_order(descending=False)), target="native")
        np.testing.assert_array_equal(np.asarray(compiled(x)), np.sort(x))


def step(n: int, lines: int, dtype: PtirDType, *, places: bool = False) -> Sort:
    """A sort of lines along the last axis."""

    def view(kind: PtirDType) -> View:
        return View(Buffer(Use.ARENA, 0, kind, lines * n), kind, (lines, n), (n, 1))

    return Sort("sort", view(dtype), 1, False, view(dtype), view(SI32) if places else None)


@ONE_WAY
def test_which_lines_have_pivots() -> None:
    """Keys of 32 or 64 bits, without places, of long lines, on machines that compress vectors; threads share few lines."""
    best = TARGETS["avx512"]
    assert is_sorted_in_parts(step(LONG, 3, F32), best)
    assert not is_sorted_in_parts(step(LONG, 4, F32), best)
    assert not is_sorted_in_parts(step(LONG - 1, 1, F32), best)
    assert sorts_by_pivots(step(SHORT + 1, 1, F64), best)
    assert not sorts_by_pivots(step(SHORT, 1, F64), best)
    assert not sorts_by_pivots(step(LONG, 1, BF16), best)
    assert not sorts_by_pivots(step(LONG, 1, F32, places=True), best)
    assert [isa for isa, host in TARGETS.items() if sorts_by_pivots(step(LONG, 1, F32), host)] == [
        isa for isa, host in TARGETS.items() if host.has_avx512
    ]
