"""
Three optimisers learn to tell two spirals apart: one loss, one derivative, three rules for what to do with it.

    python examples/gallery/spirals.py [--steps N] [--target T] [--out FILE]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

import mind_array as ma
from pictures import COLOURS, Adam, Tree, curve, image, options, picture, said

Rule = Callable[[Tree, Tree, Tree], tuple[Tree, Tree]]
RATE = 0.1
SIDE = 120


def spirals(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Points `[2 count, 2]` on two spirals with some noise, and labels `[2 count]`, 0.0 or 1.0."""
    rng = np.random.default_rng(seed)
    turn = np.sqrt(np.linspace(0.02, 1, count)) * 3 * np.pi
    one = np.stack([np.cos(turn), np.sin(turn)], axis=1) * turn[:, None] / (3 * np.pi)
    points = np.concatenate([one, -one]) + rng.normal(0, 0.015, (2 * count, 2))
    return points.astype(np.float32), np.repeat([0, 1], count).astype(np.float32)


def initial(seed: int) -> list[dict[str, ma.Array]]:
    """Weights and biases of three layers."""
    rng = np.random.default_rng(seed)
    sizes = (2, 32, 32, 1)
    made = [(rng.normal(0, (2 / m) ** 0.5, (m, n)), np.zeros(n)) for m, n in pairwise(sizes)]
    return [{"w": ma.asarray(w.astype(np.float32)), "b": ma.asarray(b.astype(np.float32))} for w, b in made]


def logits(params: Any, x: ma.Array) -> ma.Array:
    """How sure the network is of label 1, at each of the points `[n, 2]`: above 0 for yes."""
    *hidden, last = params
    x = 4 * x
    for layer in hidden:
        x = ma.tanh(x @ layer["w"] + layer["b"])
    return (x @ last["w"] + last["b"])[:, 0]


def loss(params: Any, x: ma.Array, labels: ma.Array) -> ma.Array:
    """The mean cross-entropy."""
    found = logits(params, x)
    return ma.mean(ma.nn.softplus(found) - labels * found)


def plain(rate: float, params: Tree, velocity: Tree, slopes: Tree) -> tuple[Tree, Tree]:
    """Gradient descent."""
    return ma.tree.map(lambda p, g: p - rate * g, params, slopes), velocity


def momentum(rate: float, params: Tree, velocity: Tree, slopes: Tree) -> tuple[Tree, Tree]:
    """Gradient descent with momentum."""
    velocity = ma.tree.map(lambda v, g: 0.9 * v + g, velocity, slopes)
    return ma.tree.map(lambda p, v: p - rate * v, params, velocity), velocity


def descend(rule: Callable[..., tuple[Tree, Tree]], steps: int, x: np.ndarray, labels: np.ndarray, target: str) -> list[float]:
    """The losses of so many steps by a rule."""

    @ma.jit(target=target)
    def step(params: Tree, velocity: Tree, x: ma.Array, labels: ma.Array) -> tuple[ma.Array, Tree, Tree]:
        value, slopes = ma.value_and_grad(loss)(params, x, labels)
        return value, *rule(RATE, params, velocity, slopes)

    params = initial(0)
    velocity, losses = ma.tree.map(ma.zeros_like, params), list[float]()
    for _ in range(steps):
        value, params, velocity = step(params, velocity, x, labels)
        losses.append(float(value))
    return losses


def accuracy(params: Any, x: np.ndarray, labels: np.ndarray) -> float:
    """The part of the points that get their label."""
    return float(np.mean((np.asarray(logits(params, ma.asarray(x))) > 0) == (labels > 0.5)))


def main(args: Sequence[str] | None = None) -> int:
    """Learn, say how well, and draw."""
    given = options(__doc__, "spirals", 1000, args)
    (x, labels), (new, expected) = spirals(150, 0), spirals(150, 1)
    curves = {f.__doc__ or "": descend(f, given.steps, x, labels, given.target) for f in (plain, momentum)}
    adam, losses = Adam(loss, initial(0), 0.01, given.target), list[float]()
    for _ in range(given.steps):
        losses.append(adam.step(x, labels))
        said(losses, given.steps)
    curves["Adam."] = losses
    for name, values in curves.items():
        print(f"{name.rstrip('.')}: loss {values[-1]:.4f}")
    print(f"{100 * accuracy(adam.params, new, expected):.1f} % of new points are told apart after Adam")
    ticks = np.linspace(-1.15, 1.15, SIDE, dtype=np.float32)
    grid = np.stack(np.meshgrid(ticks, ticks), axis=-1).reshape(-1, 2)
    sure = ma.nn.sigmoid(logits(adam.params, ma.asarray(grid)))
    with picture(given.out, 2, 8, 3.8) as (_, (left, right)):
        for (name, values), colour, line in zip(curves.items(), COLOURS, ("-", "--", "-."), strict=False):
            curve(left, values, "training curves", color=colour, linestyle=line, label=name.rstrip("."))
        left.legend(frameon=False)
        edges = (-1.15, 1.15, -1.15, 1.15)
        image(
            right,
            np.asarray(sure).reshape(SIDE, SIDE),
            "what the network says",
            cmap="PuOr",
            origin="lower",
            extent=edges,
            vmin=-0.6,
            vmax=1.6,
        )
        for label, mark, colour in ((0, "o", "#7f3b08"), (1, "^", "#2d004b")):
            here = x[labels == label]
            right.plot(here[:, 0], here[:, 1], mark, color=colour, markersize=3, markeredgecolor="white", markeredgewidth=0.3)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
