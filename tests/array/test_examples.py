"""The programs of `examples/array` run, and give what NumPy, or plain arithmetic, says they should."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "array"
Names = dict[str, Any]


def training(names: Names) -> None:
    losses = names["losses"]
    assert losses[0] == pytest.approx(1.1, abs=0.4)
    assert losses[-1] < 0.4 * losses[0]


def custom_rule(names: Names) -> None:
    np.testing.assert_allclose(names["gradient"].ndarray, [0.2, 1, -1])


def lstm(names: Names) -> None:
    """Against central differences of the same recurrence in NumPy."""
    w, u, b, xs = (np.asarray(names[n]) for n in ("w", "u", "b", "xs"))

    def total(w: Any, u: Any, b: Any) -> float:
        h = c = np.zeros((2, 4))
        found = 0.0
        for x in xs:
            i, f, g, o = np.split(x @ w + h @ u + b, 4, axis=-1)
            gate = [1 / (1 + np.exp(-v)) for v in (i, f, o)]
            c = gate[1] * c + gate[0] * np.tanh(g)
            h = gate[2] * np.tanh(c)
            found += (h**2).sum()
        return found

    rng, step = np.random.default_rng(0), 1e-6
    directions = [rng.standard_normal(a.shape) for a in (w, u, b)]
    sides = [total(*(a + s * step * d for a, d in zip((w, u, b), directions, strict=True))) for s in (1, -1)]
    found = sum((np.asarray(g) * d).sum() for g, d in zip(names["gradients"], directions, strict=True))
    assert found == pytest.approx((sides[0] - sides[1]) / (2 * step), rel=1e-6)


def per_example(names: Names) -> None:
    w, v, x, y = names["params"]["w"], names["params"]["v"], names["x"], names["y"]
    for i, found in enumerate(names["found"].tolist()):
        hidden = np.tanh(x[i] @ w)
        g = 2 * (hidden @ v - y[i])
        parts = [g * hidden, np.outer(x[i], g * v * (1 - hidden**2))]
        assert found == pytest.approx(np.sqrt(sum((p**2).sum() for p in parts)))


def batch_sizes(names: Names) -> None:
    assert [r.shape for r in names["results"]] == [(1, 8), (5, 8), (32, 8)]
    assert "1 signatures" in repr(names["predict"])
    for r in names["results"]:
        np.testing.assert_allclose(np.asarray(r).sum(-1), 1)


def static_arguments(names: Names) -> None:
    x = names["x"]
    np.testing.assert_allclose(names["shallow"].ndarray, np.tanh(x @ names["w"]))
    for _ in range(3):
        x = np.sin(x @ names["w"])
    np.testing.assert_allclose(names["deep"].ndarray, x)
    assert "2 signatures" in repr(names["net"])


def random_keys(names: Names) -> None:
    noisy, x = (np.asarray(names[n]) for n in ("noisy", "x"))
    kept = noisy != 0
    assert 0 < kept.sum() < x.size
    np.testing.assert_allclose(noisy[kept], 2 * x[kept], rtol=1e-6)
    assert names["mask"].dtype == bool


def updates(names: Names) -> None:
    x = np.zeros((6, 6))
    x[0, :] = 1.0
    x[2:5, ::2] += 1.0
    x[names["rows"], names["columns"]] = 7.0
    x[x < 1] = -1.0
    np.testing.assert_array_equal(names["found"].ndarray, x)


def stages(names: Names) -> None:
    lowered = names["lowered"]
    assert "ptir.dot_general" in str(lowered.ptir)
    assert lowered._repr_html_().startswith("<pre")


def numpy_code(names: Names) -> None:
    np.testing.assert_allclose(names["found"].ndarray, names["expected"], rtol=1e-4, atol=1e-6)


def own_passes(names: Names) -> None:
    assert len(names["counts"]) == 1
    for result in names["results"]:
        np.testing.assert_array_equal(result.ndarray, np.full(3, 4.0))


def files(names: Names) -> None:
    (value, params), (expected, others) = names["found"], names["expected"]
    assert float(value) == pytest.approx(float(expected))
    for name in params:
        np.testing.assert_allclose(np.asarray(params[name]), np.asarray(others[name]))


CHECKS: dict[str, Callable[[Names], None]] = {
    f.__name__: f
    for f in (training, custom_rule, lstm, per_example, batch_sizes, static_arguments, random_keys, updates, stages, numpy_code)
} | {f.__name__: f for f in (own_passes, files)}


@pytest.mark.parametrize("name", CHECKS)
def test_an_example_does_what_it_says(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    names = runpy.run_path(str(FOLDER / f"{name}.py"))
    assert capsys.readouterr().out.strip()
    CHECKS[name](names)


def test_every_example_has_a_check() -> None:
    assert {f.stem for f in FOLDER.glob("*.py")} == set(CHECKS)
