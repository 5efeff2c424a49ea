"""How scripts of the gallery are called, how they learn, and how their pictures look."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import mind_array as ma

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")
"""Of lines, told apart by all kinds of colour vision."""
WITHOUT = "pictures need matplotlib: pip install 'mind-dialect[array,demo,native]'"
Tree = Any
"""Arrays in nested containers."""


def options(doc: str | None, name: str, steps: int, args: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line of a script: `steps`, `target` and `out`; without matplotlib it ends at once and says so."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    parser.add_argument("--steps", type=int, default=steps, metavar="N", help="steps of the optimiser (%(default)s)")
    parser.add_argument("--target", default="native", help="what runs the programs: native, numpy, xla, cupy (%(default)s)")
    parser.add_argument("--out", type=Path, default=Path(f"{name}.svg"), metavar="FILE", help="the picture (%(default)s)")
    found = parser.parse_args(args)
    if found.steps < 1:
        parser.error(f"--steps is {found.steps}, expected at least 1")
    try:
        import matplotlib as _  # noqa: F401
    except ImportError:
        parser.exit(2, f"{WITHOUT}\n")
    return found


class Adam:
    """
    Gradient descent with means of gradients and of their squares, by Kingma and Ba (2015), as one compiled program a step.

    `loss` takes the parameters, then what `step` is given after its number.
    """

    def __init__(self, loss: Callable[..., ma.Array], params: Tree, rate: float, target: str):
        zeros = ma.tree.map(ma.zeros_like, params)
        self.params, self.state, self.count = params, (zeros, zeros), 0

        @ma.jit(target=target)
        def update(params: Tree, state: tuple[Tree, Tree], count: ma.Array, *data: ma.Array) -> tuple[ma.Array, Tree, Any]:
            value, slopes = ma.value_and_grad(loss)(params, *data)
            means = ma.tree.map(lambda m, g: 0.9 * m + 0.1 * g, state[0], slopes)
            squares = ma.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, state[1], slopes)
            size = rate * ma.sqrt(1 - 0.999**count) / (1 - 0.9**count)
            params = ma.tree.map(lambda p, m, v: p - size * m / (ma.sqrt(v) + 1e-8), params, means, squares)
            return value, params, (means, squares)

        self._update = update

    def step(self, *data: Any) -> float:
        """One step; the loss before it."""
        self.count += 1
        count = ma.asarray(float(self.count), dtype=ma.tree.leaves(self.params)[0].dtype)
        value, self.params, self.state = self._update(self.params, self.state, count, *data)
        return float(value)


def said(losses: Sequence[float], steps: int) -> None:
    """Print the last loss, ten times in all."""
    if len(losses) in {1, steps} or len(losses) % max(1, steps // 10) == 0:
        print(f"step {len(losses):>4} of {steps}: loss {losses[-1]:.6f}", flush=True)


@contextmanager
def picture(path: Path, columns: int, width: float, height: float, rows: int = 1) -> Generator[tuple[Any, Any]]:
    """A figure and its axes, saved in the end; the same figure is the same bytes."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    style = {"svg.hashsalt": "mind", "svg.fonttype": "none", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False}
    with mpl.rc_context(style):
        figure, axes = plt.subplots(rows, columns, figsize=(width, height), layout="constrained")
        try:
            yield figure, axes
            path.parent.mkdir(parents=True, exist_ok=True)
            metadata = {"Date": None, "Creator": None} if path.suffix == ".svg" else {}
            figure.savefig(path, dpi=120, metadata=metadata)
            print(f"picture: {path}")
        finally:
            plt.close(figure)


def image(axes: Any, values: Any, title: str, **how: Any) -> Any:
    """An array as a picture without ticks."""
    shown = axes.imshow(values, **{"cmap": "viridis", "interpolation": "nearest", **how})
    axes.set(title=title, xticks=[], yticks=[])
    axes.spines[:].set_visible(False)
    return shown


def curve(axes: Any, losses: Sequence[float], title: str, **how: Any) -> None:
    """The loss of each step, by powers of ten."""
    axes.plot(range(1, len(losses) + 1), losses, **{"color": COLOURS[0], **how})
    axes.set(title=title, xlabel="step", yscale="log")
    axes.grid(alpha=0.3)
