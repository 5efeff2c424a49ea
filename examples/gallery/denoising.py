"""
A small convolutional network takes the noise off handwritten digits.

    python examples/gallery/denoising.py [--steps N] [--target T] [--out FILE]
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

import mind_array as ma
from pictures import Adam, image, options, picture, said

NOISE, CHANNELS, BATCH, TEST, SHOWN = 0.4, 32, 128, 360, 8


def digits() -> tuple[np.ndarray, np.ndarray]:
    """Digits of 8 x 8 pixels in [0, 1], to train on and to test with: `[n, 8, 8, 1]`."""
    from sklearn.datasets import load_digits

    pixels = (load_digits().images / 16).astype(np.float32)[..., None]
    order = np.random.default_rng(0).permutation(len(pixels))
    return pixels[order[TEST:]], pixels[order[:TEST]]


def initial(seed: int) -> list[dict[str, ma.Array]]:
    """Four convolutions of 3 x 3."""
    rng = np.random.default_rng(seed)
    sizes = (1, CHANNELS, CHANNELS, CHANNELS, 1)
    made = [(rng.normal(0, (2 / (9 * m)) ** 0.5, (3, 3, m, n)), np.zeros(n)) for m, n in pairwise(sizes)]
    return [{"w": ma.asarray(w.astype(np.float32)), "b": ma.asarray(b.astype(np.float32))} for w, b in made]


def denoised(params: Any, x: ma.Array) -> ma.Array:
    """What the network takes pictures `[n, h, w, 1]` to be without noise."""
    *hidden, last = params
    for layer in hidden:
        x = ma.nn.relu(ma.nn.conv(x, layer["w"], layer["b"], padding="same"))
    return ma.nn.sigmoid(ma.nn.conv(x, last["w"], last["b"], padding="same"))


def loss(params: Any, noisy: ma.Array, clean: ma.Array) -> ma.Array:
    """The mean square error."""
    return ma.mean((denoised(params, noisy) - clean) ** 2)


def blurred(rng: np.random.Generator, clean: np.ndarray) -> np.ndarray:
    """The same pictures with noise."""
    return clean + rng.normal(0, NOISE, clean.shape).astype(np.float32)


def decibels(found: np.ndarray, clean: np.ndarray) -> float:
    """The ratio of the greatest signal to the error: PSNR."""
    return float(-10 * np.log10(np.mean((found - clean) ** 2)))


def best_linear(noisy: np.ndarray, clean: np.ndarray, new: np.ndarray) -> np.ndarray:
    """What the best matrix makes of pictures, by least squares: the filter of Wiener."""
    flat, wanted = noisy.reshape(len(noisy), -1).astype(np.float64), clean.reshape(len(clean), -1)
    flat, rest = (np.hstack([x, np.ones((len(x), 1))]) for x in (flat, new.reshape(len(new), -1)))
    return (rest @ np.linalg.lstsq(flat, wanted, rcond=None)[0]).reshape(new.shape)


def main(args: Sequence[str] | None = None) -> int:
    """Learn, say how well, and draw."""
    given = options(__doc__, "denoising", 1500, args)
    train, clean = digits()
    rng, noisy = np.random.default_rng(1), blurred(np.random.default_rng(2), clean)
    adam, losses = Adam(loss, initial(0), 0.003, given.target), list[float]()
    for _ in range(given.steps):
        batch = train[rng.integers(0, len(train), BATCH)]
        losses.append(adam.step(blurred(rng, batch), batch))
        said(losses, given.steps)
    found = np.asarray(denoised(adam.params, ma.asarray(noisy)))
    filtered = best_linear(blurred(rng, train), train, noisy)
    numbers = [decibels(x, clean) for x in (noisy, filtered, found)]
    print("PSNR on digits never seen: {:.1f} dB noisy, {:.1f} by the best linear filter, {:.1f} by the network".format(*numbers))
    with picture(given.out, SHOWN, 8, 4.2, rows=4) as (_, axes):
        kinds = (("noisy", noisy), ("linear filter", filtered), ("network", found), ("clean", clean))
        for row, (kind, pictures) in zip(axes, kinds, strict=True):
            for i, place in enumerate(row):
                image(place, pictures[i, ..., 0], kind if i == 0 else "", cmap="gray", vmin=0, vmax=1)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
