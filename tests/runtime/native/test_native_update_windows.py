"""Windows of updated arrays that kernels write where they are: numbers of the NumPy target, and the copies that are not made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from hypothesis import given
from hypothesis import strategies as st

import mind_array as ma

EXTENTS = (7, 21)
"""Short and longer than a vector."""


def box(data: st.DataObject, sizes: Sequence[int]) -> tuple[slice, ...]:
    """Draw a window of the sizes."""
    starts = [data.draw(st.integers(0, n - size)) for n, size in zip(EXTENTS, sizes, strict=True)]
    return tuple(slice(start, start + size) for start, size in zip(starts, sizes, strict=True))


def reading(data: st.DataObject, key: tuple[slice, ...]) -> tuple[slice, ...]:
    """Draw a window of the same sizes, often the same one."""
    return key if data.draw(st.booleans()) else box(data, [k.stop - k.start for k in key])


def update(data: st.DataObject) -> Callable[[list[Any]], list[Any]]:
    """Draw an assignment to a window of one of three arrays of what is computed from windows of some."""
    sizes = [data.draw(st.sampled_from([1, n // 2, n - 1, n])) for n in EXTENTS]
    target, key = data.draw(st.integers(0, 2)), box(data, sizes)
    reads = [(data.draw(st.integers(0, 2)), reading(data, key)) for _ in range(data.draw(st.integers(1, 3)))]
    form = data.draw(st.sampled_from(["sum", "copy", "reversed", "flat", "running", "two"]))
    other = box(data, sizes)

    def apply(arrays: list[Any]) -> list[Any]:
        first, *more = (arrays[i][k] for i, k in reads)
        value = first
        for x in more:
            value = value * 0.5 - x
        if form == "copy":
            value = first
        elif form == "reversed":
            value = value[:, ::-1] + 1.0
        elif form == "flat":
            value = ma.reshape(ma.reshape(value, (-1,)) * 2.0, value.shape)
        elif form == "running":
            value = ma.cumsum(value, axis=1)
        found = list(arrays)
        found[target] = arrays[target].at[key].set(value)
        if form == "two":
            last = (target + 1) % 3
            found[last] = found[last].at[other].add(value)
        return found

    return apply


@given(st.data())
def test_drawn_updates_have_the_numbers_of_numpy(data: st.DataObject) -> None:
    updates = [update(data) for _ in range(data.draw(st.integers(1, 4)))]
    count, kept = data.draw(st.integers(0, 3)), data.draw(st.booleans())

    def step(i: Any, arrays: list[Any]) -> list[Any]:
        for apply in updates:
            arrays = apply(arrays)
        return arrays

    def run(*arrays: Any) -> Any:
        begin = [ma.zeros(EXTENTS), *arrays]
        found = ma.fori_loop(0, count, step, begin) if count else step(0, begin)
        return (*found, begin[1] - found[1]) if kept else found

    rng = np.random.default_rng(0)
    given_arrays = [rng.standard_normal(EXTENTS) for _ in range(2)]
    exact = ma.jit(run)(*given_arrays)
    found = ma.jit(run, target="native")(*given_arrays)
    for x, y in zip(found, exact, strict=True):
        np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=1e-12, atol=1e-12)


def kernels(f: Callable[..., Any], *arrays: Any) -> list[str]:
    """Return the kernels of a loop's body, after its numbers were compared."""

    def run(*arrays: Any) -> Any:
        return ma.fori_loop(0, 5, lambda i, c: f(*c), arrays)

    compiled = ma.jit(run, target="native")
    for x, y in zip(compiled(*arrays), ma.jit(run)(*arrays), strict=True):
        np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=1e-12)
    lines = compiled.lower(*arrays).explain()
    assert " 0 ops on NumPy" in lines[0]
    return [line for line in lines if line.startswith("native    ")]


GRIDS = np.random.default_rng(1).standard_normal((2, 20, 30))
INNER = (slice(1, -1), slice(1, -1))


def neighbours(x: Any) -> Any:
    return 0.25 * (x[1:-1, :-2] + x[1:-1, 2:] + x[:-2, 1:-1] + x[2:, 1:-1])


def test_steps_between_two_grids_are_one_kernel_each() -> None:
    def step(a: Any, b: Any) -> Any:
        b = b.at[INNER].set(neighbours(a))
        return a.at[INNER].set(neighbours(b)), b

    assert not [line for line in kernels(step, *GRIDS) if "copy" in line]


def test_additions_to_a_window_are_in_place() -> None:
    found = kernels(lambda a, b: (a.at[1:].add(0.5 * (b[1:] - b[:-1])).at[:, 0].multiply(2.0), b), *GRIDS)
    assert not [line for line in found if "copy" in line]


def test_borders_are_copied_in_place() -> None:
    def step(a: Any, b: Any) -> Any:
        a = a.at[INNER].set(neighbours(b))
        a = a.at[0].set(a[1])
        a = a.at[:, -1].set(a[:, -2])
        return a.at[-1].set(a[-2] * 2.0), b.at[:, 0].set(0.0)

    assert not [line for line in kernels(step, *GRIDS) if "over [20, 30]" in line]


def test_neighbours_of_the_same_array_need_memory_of_their_own() -> None:
    found = kernels(lambda a, b: (a.at[INNER].set(neighbours(a)), b), *GRIDS)
    assert len([line for line in found if "copy over [18, 28]" in line]) == 1


def test_an_array_that_is_still_read_is_copied() -> None:
    """Its old values go into the other array, after the update."""
    kernels(lambda a, b: (a.at[1:].set(b[:-1] * 2.0), b + a), *GRIDS)
    kernels(lambda a, b: (a.at[1:].set(a[1:] * 2.0), a), *GRIDS)


def test_windows_beyond_the_end_are_clamped() -> None:
    f = lambda x, u: ma.dynamic_update_slice(x, u * 2.0, (5, -3))  # noqa: E731
    x, u = GRIDS[0], GRIDS[1, :18, :4]
    np.testing.assert_array_equal(np.asarray(ma.jit(f, target="native")(x, u)), np.asarray(ma.jit(f)(x, u)))
