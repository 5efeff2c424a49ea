"""
What was hot an hour ago? Gradient descent through a simulation finds the picture that heat has blurred.

    python examples/gallery/heat_equation.py [--steps N] [--target T] [--out FILE]

The forward model is a scan of explicit Euler steps of the heat equation on a torus; its derivative is made by our pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import mind_array as ma
from pictures import Adam, curve, image, options, picture, said

SIDE, TIMES, FLOW = 48, 30, 0.2


def later(heat: ma.Array) -> ma.Array:
    """The temperatures `[n, m]` after `TIMES` steps."""

    def step(u: ma.Array, _: Any) -> tuple[ma.Array, None]:
        around = ma.roll(u, 1, axis=0) + ma.roll(u, -1, axis=0) + ma.roll(u, 1, axis=1) + ma.roll(u, -1, axis=1)
        return u + FLOW * (around - 4 * u), None

    return ma.scan(step, heat, None, length=TIMES)[0]


def misfit(heat: ma.Array, measured: ma.Array) -> ma.Array:
    """The mean square of what a first picture leads to, less what was measured."""
    return ma.mean((later(heat) - measured) ** 2)


def loss(params: Any, measured: ma.Array) -> ma.Array:
    """The misfit of temperatures between 0 and 1."""
    return misfit(ma.nn.sigmoid(params["heat"]), measured)


def hidden() -> np.ndarray:
    """The picture to find: a ring, a bar and a disc, of temperature 1."""
    y, x = np.mgrid[:SIDE, :SIDE] / SIDE
    ring = np.abs(np.hypot(x - 0.36, y - 0.36) - 0.2) < 0.05
    bar = (np.abs(x - 0.78) < 0.05) & (np.abs(y - 0.45) < 0.3)
    disc = np.hypot(x - 0.36, y - 0.8) < 0.09
    return (ring | bar | disc).astype(np.float32)


def main(args: Sequence[str] | None = None) -> int:
    """Find the picture, say how well, and draw."""
    given = options(__doc__, "heat_equation", 300, args)
    truth = hidden()
    measured = np.asarray(later(ma.asarray(truth)))
    adam = Adam(loss, {"heat": ma.zeros((SIDE, SIDE), dtype=ma.float32)}, 0.3, given.target)
    losses = list[float]()
    for _ in range(given.steps):
        losses.append(adam.step(measured))
        said(losses, given.steps)
    found = np.asarray(ma.nn.sigmoid(adam.params["heat"]))
    right, blurred = (100 * np.mean((values > 0.5) == (truth > 0.5)) for values in (found, measured))
    print(f"{right:.1f} % of the points are found; {blurred:.1f} % in what was measured")
    with picture(given.out, 4, 10, 2.6) as (_, axes):
        for place, values, title in zip(axes, (truth, measured, found), ("hidden", "measured", "found"), strict=False):
            image(place, values, title, cmap="inferno", vmin=0, vmax=1)
        curve(axes[-1], losses, "mean square misfit")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
