"""
A head of attention learns to read backwards, and its map shows it: the task is to repeat a row of digits in reverse.

    python examples/gallery/attention_maps.py [--steps N] [--target T] [--out FILE]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import mind_array as ma
from pictures import Adam, curve, image, options, picture, said

DIGITS, LENGTH, WIDTH, BATCH = 10, 12, 32, 64


def initial(seed: int) -> dict[str, ma.Array]:
    """Embeddings of digits and of places, and the four matrices of a head."""
    rng = np.random.default_rng(seed)
    shapes = {"digits": (DIGITS, WIDTH), "places": (LENGTH, WIDTH), "out": (WIDTH, DIGITS)}
    shapes |= dict.fromkeys(("queries", "keys", "values"), (WIDTH, WIDTH))
    return {name: ma.asarray(rng.normal(0, shape[0] ** -0.5, shape).astype(np.float32)) for name, shape in shapes.items()}


def attention(params: Any, digits: ma.Array) -> tuple[ma.Array, ma.Array]:
    """Logits `[b, LENGTH, DIGITS]` for rows of digits `[b, LENGTH]`, and what each place looks at: `[b, LENGTH, LENGTH]`."""
    x = ma.take(params["digits"], digits, axis=0) + params["places"]
    queries, keys, values = (x @ params[name] for name in ("queries", "keys", "values"))
    weights = ma.nn.softmax(queries @ ma.matrix_transpose(keys) * WIDTH**-0.5, axis=-1)
    return weights @ values @ params["out"], weights


def loss(params: Any, digits: ma.Array, expected: ma.Array) -> ma.Array:
    """The mean cross-entropy of the digits that are expected `[b, LENGTH]`."""
    logits, _ = attention(params, digits)
    chosen = ma.take_along_axis(logits, expected[:, :, None], axis=-1)[:, :, 0]
    return ma.mean(ma.nn.logsumexp(logits, axis=-1) - chosen)


def rows(rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of digits, and the same backwards."""
    made = rng.integers(0, DIGITS, (count, LENGTH)).astype(np.int32)
    return made, np.ascontiguousarray(made[:, ::-1])


def looks(params: Any, digits: np.ndarray) -> np.ndarray:
    """The mean map over some rows `[LENGTH, LENGTH]`."""
    return np.asarray(attention(params, ma.asarray(digits))[1]).mean(axis=0)


def main(args: Sequence[str] | None = None) -> int:
    """Learn, say how well, and draw."""
    given = options(__doc__, "attention_maps", 400, args)
    rng = np.random.default_rng(0)
    adam, losses, maps = Adam(loss, initial(0), 0.01, given.target), list[float](), dict[int, np.ndarray]()
    new, expected = rows(np.random.default_rng(1), 256)
    for step in range(given.steps):
        if step in {0, given.steps // 20, given.steps // 15}:
            maps[step] = looks(adam.params, new)
        losses.append(adam.step(*rows(rng, BATCH)))
        said(losses, given.steps)
    maps[given.steps] = looks(adam.params, new)
    answers = np.asarray(attention(adam.params, ma.asarray(new))[0]).argmax(axis=-1)
    print(f"{100 * np.mean(answers == expected):.1f} % of the digits of new rows are right")
    with picture(given.out, len(maps) + 1, 2.2 * (len(maps) + 1), 2.4) as (figure, axes):
        for place, (step, weights) in zip(axes, maps.items(), strict=False):
            shown = image(place, weights, f"after {step} steps", vmin=0, vmax=1)
            place.set(xlabel="looks at", ylabel="place" if not step else None)
        figure.colorbar(shown, ax=axes[:-1], shrink=0.8)
        curve(axes[-1], losses, "loss")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
