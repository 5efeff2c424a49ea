"""
A model written in JAX is trained on eight devices by a gradient that our pass made: same program, same losses as on one.

    python examples/gallery/sharded.py [--steps N] [--out FILE]

The devices are eight parts of the CPU. The batch is split over all of them, the weights of the wide layer too; XLA places the
sums between devices.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from pictures import COLOURS, curve, options, picture, said

DEVICES, BATCH, INPUTS, WIDTH, RATE = 8, 64, 8, 64, 0.05
SHARDINGS = {"x": "data,_", "y": "data", "w1": "_,data", "b1": "data", "w2": "data"}
"""Of each input, which dimension is split over the devices."""


def loss(w1: Any, b1: Any, w2: Any, x: Any, y: Any) -> Any:
    """The mean square error of a network with one wide layer, as a function of JAX."""
    import jax.numpy as jnp

    return jnp.mean((jnp.tanh(x @ w1 + b1) @ w2 - y) ** 2)


def start() -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Weights, and data: a wave along a direction."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((BATCH, INPUTS))
    weights = {
        "w1": rng.standard_normal((INPUTS, WIDTH)) * INPUTS**-0.5,
        "b1": np.zeros(WIDTH),
        "w2": rng.standard_normal(WIDTH) / 8,
    }
    data = {"x": x, "y": np.sin(2 * x[:, 0] + x[:, 1])}
    return ({n: v.astype(np.float32) for n, v in values.items()} for values in (weights, data))  # type: ignore[return-value]


def programs() -> dict[str, Any]:
    """The gradient of the loss, compiled for one device and for eight."""
    from mind_bridges.jax import from_jax
    from mind_passes.functional import value_and_grad
    from mind_runtime import compile

    weights, data = start()
    module = value_and_grad(from_jax(loss, *weights.values(), *data.values()), wrt=list(weights))
    many = compile(module, "main_grad", target="xla", mesh=f"data={DEVICES}", shardings=SHARDINGS)
    return {"1 device": compile(module, "main_grad", target="xla"), f"{DEVICES} devices": many}


def train(program: Any, steps: int) -> tuple[list[float], list[Any]]:
    """The losses of so many steps, and the arguments of the last one, as they lie on the devices."""
    weights, data = (list(values.values()) for values in start())
    arguments = [program.place(i, array) for i, array in enumerate([*weights, *data])]
    losses = list[float]()
    for _ in range(steps):
        value, *slopes = program(*arguments)
        arguments[: len(slopes)] = [w - RATE * g for w, g in zip(arguments, slopes, strict=False)]
        losses.append(float(value))
        said(losses, steps)
    return losses, arguments


def draw_parts(axes: Any, name: str, array: Any) -> None:
    """Which rows and columns of an array each device has."""
    import matplotlib as mpl

    rows, columns = (*array.shape, 1)[:2]
    for shard in array.addressable_shards:
        where = [s.indices(n)[:2] for s, n in zip(shard.index, array.shape, strict=True)]
        (top, bottom), (left, right) = (*where, (0, 1))[:2]
        colour = mpl.colormaps["viridis"](shard.device.id / (DEVICES - 1))
        place = (left / columns, 1 - bottom / rows)
        axes.add_patch(
            mpl.patches.Rectangle(place, (right - left) / columns, (bottom - top) / rows, facecolor=colour, edgecolor="white")
        )
        middle = ((left + right) / 2 / columns, 1 - (top + bottom) / 2 / rows)
        dark = shard.device.id < DEVICES * 0.6
        axes.text(*middle, shard.device.id, ha="center", va="center", fontsize=7, color="white" if dark else "black")
    axes.set(title=f"{name} {list(array.shape)}", xticks=[], yticks=[], xlim=(0, 1), ylim=(0, 1))
    axes.spines[:].set_visible(False)


def main(args: Sequence[str] | None = None) -> int:
    """Train on one device and on eight, compare, and draw where arrays lie."""
    given = options(__doc__, "sharded", 200, args)
    os.environ.setdefault("XLA_FLAGS", f"--xla_force_host_platform_device_count={DEVICES}")
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    curves, arguments = dict[str, list[float]](), list[Any]()
    for name, program in programs().items():
        curves[name], arguments = train(program, given.steps)
    print("XLA placed between the devices: " + ", ".join(f"{n} {k}" for k, n in program.collectives(*arguments).items()))
    one, many = curves.values()
    print(f"losses differ by {np.max(np.abs(np.subtract(one, many))):.1e} at most")
    with picture(given.out, 6, 10.5, 2.6) as (_, axes):
        for place, name, array in zip(axes, SHARDINGS, (*arguments[3:], *arguments[:3]), strict=False):
            draw_parts(place, name, array)
        for (name, losses), colour, line in zip(curves.items(), COLOURS, ("-", "--"), strict=False):
            curve(axes[-1], losses, "loss", color=colour, linestyle=line, label=name)
        axes[-1].legend(frameon=False)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
