"""Concats and pads that groups read where their parts lie: the same numbers, and copied together only for other readers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import mind_array as ma
import mind_runtime
from mind_lowering import code_cache as cache
from mind_lowering.native import host as host_module
from mind_lowering.native import joins
from native_checks import assert_close, several

N, M = 12, 40
Program = tuple[Callable[..., Any], int]


def rolled(x: Any, *shifts: tuple[int, int]) -> list[Any]:
    return [ma.roll(x, shift, axis) for shift, axis in shifts]


def added(values: list[Any]) -> Any:
    total = values[0]
    for value in values[1:]:
        total = total * 0.5 + value
    return total


def stencil(x: Any, y: Any) -> Any:
    return x + added(rolled(x, (1, 0), (-1, 0), (1, 1), (-1, 1))) * y


def steps(x: Any, y: Any) -> Any:
    return ma.fori_loop(0, 5, lambda i, u: stencil(u, y), x)


def scanned(x: Any, y: Any) -> Any:
    """A step that reads a rotated carry and a rotated row, in a loop that keeps all of them."""
    return ma.scan(lambda h, row: (ma.tanh(ma.roll(h, 3) + ma.roll(row, -1)), h * 2.0), y[0], x)[1]


def branched(x: Any, y: Any) -> Any:
    return ma.cond(ma.sum(x) > 0.0, lambda a, b: ma.roll(a, 2, 0) + b, lambda a, b: ma.roll(b, 2, 1) - a, x, y)


PROGRAMS: dict[str, Program] = {
    "one seam": (lambda x, y: x - ma.roll(x, 1, 0), 0),
    "a seam in the middle": (lambda x, y: ma.roll(x, 17, 1) * y + x, 0),
    "neighbours along two axes": (stencil, 0),
    "in a loop": (steps, 2),
    "in a scan": (scanned, 1),
    "in a branch": (branched, 0),
    "three parts": (lambda x, y: ma.concat([x[:5], y[2:4], x[7:]], axis=0) * ma.tanh(x), 0),
    "a computed part": (lambda x, y: ma.concat([-x[:, M // 2 :], x[:, : M // 2]], axis=1) * y + x, 0),
    "a border": (lambda x, y: ma.pad(x, ((1, 0), (0, 0)), constant_values=2.0)[:-1] + y, 0),
    "a border that is read whole": (lambda x, y: ma.exp(ma.pad(x, ((1, 2), (3, 0)), constant_values=-1.5)), 0),
    "beside what is repeated": (lambda x, y: ma.roll(x, 1, 0) * y[:, :1] + y[0], 0),
    "beside what is transposed": (lambda x, y: ma.roll(x, 1, 0) + ma.reshape(y, (M, N)).T, 0),
    "read by two groups": (lambda x, y: [ma.sort(ma.tanh(r := ma.roll(x, 1, 1)) + x), ma.sort(r * y)], 0),
    "of a rotated array": (lambda x, y: ma.roll(ma.roll(x, 1, 0), 1, 1) + y, 2),
    "a result too": (lambda x, y: [r := ma.roll(x, 1, 0), r + y], 2),
    "summed": (lambda x, y: ma.sum((x - ma.roll(x, 1, 0)) * y), 2),
    "sorted": (lambda x, y: ma.sort(ma.roll(x, 1, 1)), 2),
    "too many boxes": (lambda x, y: added(rolled(x, *((i, i % 2) for i in range(1, 12)))), 22),
}
"""Programs, and the copies that are left: of a loop those of what it begins with, else one for each part."""


def outcome(name: str) -> tuple[list[Any], list[list[Any]], int]:
    """The results of two calls of a program, those of NumPy, and how many copies it has."""
    module = ma.trace(lambda x, y: PROGRAMS[name][0](x, y), *(ma.spec((N, M), np.float32, name=n) for n in "xy"))
    mind_runtime.clear_cache()
    run, reference = mind_runtime.compile(module, target="native"), mind_runtime.compile(module)
    assert "0 ops on NumPy" in run.explain()[0]
    rng, found, expected = np.random.default_rng(2), list[Any](), list[Any]()
    for _ in range(2):
        x, y = (rng.standard_normal((N, M)).astype(np.float32) for _ in range(2))
        found += several(run(x, y))
        expected += several(reference(x, y))
    return found, expected, sum(": copy over" in line for line in run.explain())


@pytest.mark.parametrize("checks", ["", "1"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_those_of_arrays_that_are_copied_together(name: str, checks: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cache.VARIABLE, "")
    monkeypatch.setenv(host_module.CHECKS_VARIABLE, checks)
    copied, _, _ = outcome(name)
    monkeypatch.setattr(joins, "LEAST_BYTES", 0)
    found, expected, copies = outcome(name)
    for got, same, want in zip(found, copied, expected, strict=True):
        assert got.tobytes() == same.tobytes()
        assert_close(got, want, ulps=64, scale=1.0)
    assert copies == PROGRAMS[name][1]
