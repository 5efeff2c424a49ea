"""
Three bodies on a figure of eight: masses and velocities are fitted to blurred positions by differentiating the simulation.

    python examples/gallery/orbit_fit.py [--steps N] [--target T] [--out FILE]

The orbit is that of Chenciner and Montgomery (2000), where three equal masses chase each other along one curve.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import mind_array as ma
from pictures import COLOURS, curve, options, picture, said

START = np.array([[0.97000436, -0.24308753], [-0.97000436, 0.24308753], [0.0, 0.0]])
SPEED = np.array([0.93240737, 0.86473146])
TRUTH = np.stack([SPEED / 2, SPEED / 2, -SPEED])
"""Velocities of the three bodies, of mass 1 each, with a gravitational constant of 1."""
PERIOD, COUNT, EVERY, NOISE = 6.32591398, 200, 5, 0.02
WINDOWS = 4


def orbit(params: Any) -> ma.Array:
    """Positions `[COUNT, 3, 2]` over one period, by the leapfrog method, for `speed` `[3, 2]` and `mass` `[3]`."""
    dt = PERIOD / COUNT
    mass = params["mass"]

    def pull(x: ma.Array) -> ma.Array:
        apart = x[None, :, :] - x[:, None, :]
        cubed = (ma.sum(apart * apart, axis=-1) + 1e-12) ** 1.5
        return ma.sum(apart * (mass[None, :] / cubed)[:, :, None], axis=1)

    def step(state: tuple[ma.Array, ma.Array], _: Any) -> tuple[tuple[ma.Array, ma.Array], ma.Array]:
        x, v = state
        v = v + dt / 2 * pull(x)
        x = x + dt * v
        return (x, v + dt / 2 * pull(x)), x

    return ma.scan(step, (ma.asarray(START), params["speed"]), None, length=COUNT)[1]


def misses(params: ma.Array, seen: ma.Array) -> ma.Array:
    """How far positions are from what was seen `[6 COUNT / EVERY]`, for speeds, then masses `[9]`."""
    named = {"speed": ma.reshape(params[:6], (3, 2)), "mass": params[6:]}
    return ma.reshape(orbit(named)[EVERY - 1 :: EVERY] - seen, (-1,))


def guess() -> np.ndarray:
    """Velocities and masses to begin with `[9]`, none of them right."""
    wrong = np.random.default_rng(2).normal(0, 0.04, 6)
    return np.concatenate([TRUTH.ravel() + wrong, [0.95, 1.05, 0.95]])


def fit(params: np.ndarray, seen: np.ndarray, steps: int, target: str) -> tuple[np.ndarray, list[float]]:
    """
    The parameters `[9]` after so many steps of Levenberg (1944) and Marquardt (1963), and the mean square miss before each.

    A step solves a linear problem of the Jacobian, which forward mode makes in one program; what is worse is not taken. The
    first steps look at the begin of the orbit alone, for small errors grow with time.
    """
    both = ma.jit(lambda p, seen: (misses(p, seen), ma.jacfwd(misses)(p, seen)), target=target)
    losses = list[float]()
    for window in np.array_split(np.arange(steps), WINDOWS):
        count = seen.size * (1 + WINDOWS * int(window[0]) // steps) // WINDOWS if len(window) else 0
        damping, whole = 1e-2, [np.asarray(x) for x in both(params, seen)]
        for _ in window:
            losses.append(float(np.mean(whole[0] ** 2)))
            said(losses, steps)
            here, slopes = (x[:count] for x in whole)
            squares = slopes.T @ slopes
            tried = params - np.linalg.solve(squares + damping * np.diag(np.diag(squares)), slopes.T @ here)
            there = [np.asarray(x) for x in both(tried, seen)]
            better = np.sum(there[0][:count] ** 2) < np.sum(here**2)
            params, whole, damping = (tried, there, damping / 3) if better else (params, whole, 4 * damping)
    return params, losses


def observed(seed: int) -> np.ndarray:
    """Positions that somebody saw, not exactly."""
    exact = np.asarray(orbit({"speed": ma.asarray(TRUTH), "mass": ma.ones(3)}))[EVERY - 1 :: EVERY]
    return exact + np.random.default_rng(seed).normal(0, NOISE, exact.shape)


def main(args: Sequence[str] | None = None) -> int:
    """Fit, say how well, and draw."""
    given = options(__doc__, "orbit_fit", 30, args)
    seen, first = observed(0), guess()
    fitted, losses = fit(first, seen, given.steps, given.target)
    speed, mass = np.abs(fitted[:6] - TRUTH.ravel()).max(), np.abs(fitted[6:] - 1).max()
    print(f"velocities are right to {speed:.4f}, masses to {mass:.4f}; positions were to {NOISE}")
    with picture(given.out, 3, 10, 2.8) as (_, (before, after, last)):
        for place, params, title in ((before, first, "first guess"), (after, fitted, "fitted")):
            path = np.asarray(orbit({"speed": ma.asarray(params[:6].reshape(3, 2)), "mass": ma.asarray(params[6:])}))
            for body, (colour, mark) in enumerate(zip(COLOURS, "os^", strict=False)):
                place.plot(seen[:, body, 0], seen[:, body, 1], mark, color=colour, markersize=3, alpha=0.7)
                place.plot(path[:, body, 0], path[:, body, 1], color=colour, linewidth=1)
            place.set(title=title, aspect="equal", xlim=(-1.5, 1.5), ylim=(-0.8, 0.8))
        curve(last, losses, "mean square miss")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
