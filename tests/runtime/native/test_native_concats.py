"""Parts of a concat, which the kernels that compute them write where they belong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import mind_array as ma
import mind_runtime
from mind_lowering.native import host as host_module
from native_checks import assert_close

N, M = 12, 32
Program = tuple[Callable[..., Any], int]


def turned(x: Any, y: Any) -> Any:
    """A rotary embedding."""
    a, b = x[:, : M // 2], x[:, M // 2 :]
    c, s = y[:, : M // 2], y[:, M // 2 :]
    return ma.concat([a * c - b * s, b * c + a * s], axis=1)


def scanned(x: Any, y: Any) -> Any:
    """A concat in a loop, which is stacked."""

    def step(h: Any, row: Any) -> Any:
        return ma.tanh(h + row), ma.concat([ma.sin(h), ma.cos(row) * h], axis=0)

    return ma.scan(step, y[0], x)[1]


def branched(x: Any, y: Any) -> Any:
    return ma.cond(ma.sum(x) > 0.0, lambda a, b: ma.concat([a + b, a - b]), lambda a, b: ma.concat([a * b, ma.exp(a)]), x, y)


PROGRAMS: dict[str, Program] = {
    "along the last axis": (lambda x, y: ma.concat([ma.tanh(x), x + y], axis=1), 0),
    "along the first axis": (lambda x, y: ma.concat([ma.tanh(x), x + y, ma.exp(y)], axis=0), 0),
    "along a middle axis": (
        lambda x, y: ma.concat([ma.tanh(ma.reshape(x, (3, 4, M))), ma.exp(ma.reshape(y, (3, 4, M)))], axis=1),
        0,
    ),
    "a rotary embedding": (turned, 0),
    "an input among computed parts": (lambda x, y: ma.concat([ma.tanh(x), y, ma.exp(x)], axis=1), 1),
    "a part of a part": (lambda x, y: ma.concat([ma.exp(ma.concat([ma.tanh(x), x * y], axis=1)), ma.concat([x, y], axis=1)]), 3),
    "a concat that is read twice": (lambda x, y: [t := ma.concat([ma.tanh(x), x * y], axis=1), ma.cumulative_sum(t, axis=1)], 0),
    "in an iteration, which begins with a copy": (scanned, 1),
    "in a branch": (branched, 0),
    "a part that is a result, too": (lambda x, y: [t := ma.sort(ma.tanh(x)), ma.concat([t, x + y], axis=1)], 1),
    "a part that is read elsewhere": (lambda x, y: [t := ma.tanh(x), ma.concat([t, ma.sort(x + y)], axis=1)], 2),
    "one value twice": (lambda x, y: ma.concat([t := ma.tanh(x), t], axis=1), 2),
    "short runs": (lambda x, y: ma.concat([ma.tanh(x[:, :3]), ma.exp(y[:, :3])], axis=1), 2),
    "many parts": (lambda x, y: ma.concat([ma.tanh(x[0] * (i + 1.0)) for i in range(65)]), 65),
}
"""Programs of two inputs, and the copies that are left."""


def module_of(name: str) -> Any:
    function, _ = PROGRAMS[name]
    return ma.trace(lambda x, y: function(x, y), *(ma.spec((N, M), np.float32, name=n) for n in "xy"))


def several(results: Any) -> tuple[Any, ...]:
    return results if isinstance(results, tuple) else (results,)


@pytest.mark.parametrize("checks", ["", "1"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_parts_are_written_where_they_belong(name: str, checks: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(host_module.CHECKS_VARIABLE, checks)
    module = module_of(name)
    run = mind_runtime.compile(module, target="native")
    rng = np.random.default_rng(2)
    for _ in range(2):
        x, y = (rng.standard_normal((N, M)).astype(np.float32) for _ in range(2))
        for got, want in zip(several(run(x, y)), several(mind_runtime.compile(module)(x, y)), strict=True):
            assert_close(got, want, ulps=64, scale=1.0)
    lines = run.explain()
    assert not any(line.startswith("numpy") for line in lines)
    assert sum(": copy over" in line for line in lines) == PROGRAMS[name][1]
