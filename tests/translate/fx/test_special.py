"""Special functions and polynomials against mpmath in f64, torch in f32 and at special values; derivatives by differences."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
mp = pytest.importorskip("mpmath")

from torch_rows import products, run  # noqa: E402, after the skips

INF, NAN = math.inf, math.nan
LINE = np.concatenate([np.linspace(-12, 12, 97) + 0.013, [-5.0, 5.0, -8.0, 8.0, 2.09, -2.09, 0.5, -0.5, 30.0, -30.0, 1e-9]])
UNIT = np.concatenate([np.geomspace(1e-300, 0.4, 60), np.linspace(0.01, 0.99, 50), 1 - np.geomspace(1e-15, 0.1, 30)])
PLUS = np.concatenate([np.geomspace(1e-3, 60, 50), [5.0, 1.0]])
POLES = np.concatenate([np.linspace(-7.9, 12, 60) + 0.003, [40.0, 1e-3, -1e-3]])

FUNCTIONS: dict[str, tuple[Callable[..., Any], Callable[[Any], Any], np.ndarray]] = {
    "airy_ai": (torch.special.airy_ai, mp.airyai, LINE[np.abs(LINE) < 13]),
    "bessel_j0": (torch.special.bessel_j0, lambda x: mp.besselj(0, x), LINE),
    "bessel_y0": (torch.special.bessel_y0, lambda x: mp.bessely(0, x), PLUS),
    "i0": (torch.special.i0, lambda x: mp.besseli(0, x), LINE),
    "i0e": (torch.special.i0e, lambda x: mp.besseli(0, x) * mp.exp(-abs(x)), LINE),
    "i1": (torch.special.i1, lambda x: mp.besseli(1, x), LINE),
    "i1e": (torch.special.i1e, lambda x: mp.besseli(1, x) * mp.exp(-abs(x)), LINE),
    "ndtri": (torch.special.ndtri, lambda p: quantile(p), UNIT),
    "spherical_bessel_j0": (torch.special.spherical_bessel_j0, lambda x: mp.sin(x) / x, LINE),
    **{f"polygamma {n}": (lambda x, n=n: torch.polygamma(n, x), lambda x, n=n: mp.polygamma(n, x), POLES) for n in range(5)},
    "zeta of 1.5": (lambda q: torch.special.zeta(1.5, q), lambda q: mp.zeta(1.5, q), PLUS),
}
POLYNOMIALS = {"chebyshev_polynomial_t": 1, "chebyshev_polynomial_u": 2, "chebyshev_polynomial_v": 2, "chebyshev_polynomial_w": 2}
"""Of degree 1 each is this number times x, and a constant."""
CONSTANTS = {"chebyshev_polynomial_v": -1, "chebyshev_polynomial_w": 1}
SPECIAL = torch.tensor([0.0, -0.0, INF, -INF, NAN, 1.0, -1.0])


def quantile(p: Any) -> Any:
    """The number below which a normal one is with probability p: a root."""
    start = float(-mp.sqrt(-2 * mp.log(min(p, 1 - p)))) / (1 if min(p, 1 - p) < 0.01 else 2)
    below = mp.findroot(lambda t: mp.log(mp.erfc(-t / mp.sqrt(2)) / 2) - mp.log(min(p, 1 - p)), start)
    return below if p < 0.5 else -below


def polynomial(name: str, n: int, x: Any) -> Any:
    """By the recurrence `p(n + 1) = 2 x p(n) - p(n - 1)`."""
    before, found = mp.mpf(1), POLYNOMIALS[name] * x + CONSTANTS.get(name, 0)
    for _ in range(n):
        before, found = found, 2 * x * found - before
    return before


def values(function: Callable[[Any], Any], points: np.ndarray) -> np.ndarray:
    with mp.workdps(30):
        return np.array([float(mp.re(function(mp.mpf(float(x))))) for x in points])


@pytest.mark.exhaustive
@pytest.mark.parametrize("target", ["numpy", "native"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_in_f64(name: str, target: str) -> None:
    function, exact, points = FUNCTIONS[name]
    (found,) = run(function, (torch.from_numpy(points),), target)
    np.testing.assert_allclose(found, values(exact, points), 1e-12, 1e-14)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_in_f32_are_torchs(name: str) -> None:
    function, _, points = FUNCTIONS[name]
    x = torch.from_numpy(points[(np.abs(points) > 1e-30) & (points < 0.999) | (np.abs(points) > 1.001)].astype(np.float32))
    (found,) = run(function, (x,), "numpy")
    expected = function(x).numpy()
    np.testing.assert_allclose(found, expected, 2e-4 if name.startswith("polygamma") else 2e-5, 2e-5)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", FUNCTIONS)
def test_special_values_are_torchs(name: str) -> None:
    function, _, _ = FUNCTIONS[name]
    x = SPECIAL[:6] if name == "polygamma 1" else SPECIAL  # near a pole torch computes a large number
    (found,) = run(function, (x,), "numpy")
    np.testing.assert_allclose(found, function(x).numpy(), 1e-5, 1e-6)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives(name: str) -> None:
    function, exact, points = FUNCTIONS[name]
    points = points[(points > 1e-3) & (points < 0.97) | (np.abs(points) > 0.02) & (name != "ndtri")]
    with mp.workdps(40):
        wanted = [float(mp.re(mp.diff(exact, mp.mpf(float(x)), h=mp.mpf(10) ** -12))) for x in points]
    x = torch.from_numpy(points)
    (found,) = products(function, [x], [0], [torch.ones_like(x)])
    np.testing.assert_allclose(found, wanted, 1e-8, 1e-8)


ORDERS = torch.tensor([2.0, 2.0, 2.0, 2.0, 1.0, 0.5, INF, INF, NAN, 2.0, 2.5, 3.0, 3.0, 4.0])
SHIFTS = torch.tensor([INF, 0.0, -1.0, -1.5, 2.0, 2.0, 2.0, 0.5, 1.0, NAN, -0.5, 3.0, -2.25, 1e3])


@pytest.mark.parametrize("target", ["numpy", "native"])
def test_zeta_at_special_values(target: str) -> None:
    (found,) = run(torch.special.zeta, (ORDERS, SHIFTS), target)
    expected = torch.special.zeta(ORDERS, SHIFTS).numpy()
    np.testing.assert_allclose(found[ORDERS != INF], expected[ORDERS != INF], 1e-5)


@pytest.mark.exhaustive
@pytest.mark.parametrize("target", ["numpy", "native"])
@pytest.mark.parametrize("shifted", [False, True])
@pytest.mark.parametrize("name", POLYNOMIALS)
def test_polynomials(name: str, shifted: bool, target: str) -> None:
    x = np.concatenate([np.linspace(-1.6, 1.6, 33), [1.0, -1.0, 0.0, 1 + 1e-9, 1 - 1e-9, -1 + 1e-9]])
    x = (x + 1) / 2 if shifted else x
    degrees = np.array([0, 1, 2, 3, 7, 8, 9, 20, -1, -3])
    function = getattr(torch.special, f"shifted_{name}" if shifted else name)
    grid, n = (torch.from_numpy(v.copy()) for v in np.broadcast_arrays(x[:, None], degrees.astype(float)))
    (found,) = run(function, (grid, n), target)
    with mp.workdps(40):
        points = [2 * mp.mpf(float(v)) - 1 if shifted else mp.mpf(float(v)) for v in x]
        wanted = [[float(polynomial(name, int(k), v)) if k >= 0 else 0.0 for k in degrees] for v in points]
    np.testing.assert_allclose(found, wanted, 1e-9, 1e-11)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", POLYNOMIALS)
def test_derivatives_of_polynomials(name: str) -> None:
    x = np.concatenate([np.linspace(-1.6, 1.6, 33), [1.0, -1.0, 0.0]])
    degrees = np.array([0.0, 1.0, 2.0, 3.0, 9.0])
    grid, n = (torch.from_numpy(v.copy()) for v in np.broadcast_arrays(x[:, None], degrees))
    (found,) = products(getattr(torch.special, name), [grid, n], [0], [torch.ones_like(grid)])
    with mp.workdps(40):
        wanted = [[float(mp.diff(lambda t, k=k: polynomial(name, int(k), t), mp.mpf(float(v)))) for k in degrees] for v in x]
    np.testing.assert_allclose(found, wanted, 1e-9, 1e-9)


def test_polynomials_of_nan_and_parts_of_degrees() -> None:
    x, n = torch.tensor([NAN, NAN, 0.5, 0.5, 0.5]), torch.tensor([0.0, 2.0, 2.7, -0.5, -1.0])
    (found,) = run(torch.special.chebyshev_polynomial_t, (x, n), "numpy")
    np.testing.assert_allclose(found, torch.special.chebyshev_polynomial_t(x, n).numpy(), 1e-6)
