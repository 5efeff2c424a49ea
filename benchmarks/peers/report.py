"""The table and the picture of a run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from statistics import geometric_mean

import numpy as np
from machine import described

from .families import PROGRAMS
from .rounds import Times

LEVEL = 0.95
"""From this ratio on we are level with a peer."""
BUSY = "No round was quiet: other programs had a part of the cores all the time, so ratios only hint at those of a quiet machine."
"""What a page says of a run that was disturbed throughout."""
PACKAGES = ("numpy", "torch", "jax", "onnxruntime", "numba", "llvmlite", "cupy-cuda13x", "cupy-cuda12x")


def ratios(ours: Times, theirs: Times) -> list[float]:
    """Their time by ours, round by round."""
    return [t / o for o, t in zip(ours.seconds, theirs.seconds, strict=True)]


def human(seconds: float) -> str:
    """With a unit."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def best_peer(figures: Mapping[str, Times], ours: str) -> str | None:
    """The fastest side but ours."""
    others = [name for name in figures if not name.startswith("ours")]
    return min(others, key=lambda name: figures[name].median, default=None) if ours in figures else None


def summary(every: Mapping[str, Mapping[str, Times]], ours: str, roofs: Mapping[str, float]) -> list[str]:
    """A line per workload, ours beside the best peer, and the geometric mean."""
    lines = ["| workload | ours | best peer | its time / ours (middle half) | of the roofline | first call |", "|" + " --- |" * 6]
    plain: list[float] = []
    for name, figures in every.items():
        best = best_peer(figures, ours)
        if best is None:
            continue
        mine, low, high = figures[ours], *np.percentile(ratios(figures[ours], figures[best]), (25, 75))
        ratio = figures[best].median / mine.median
        if not PROGRAMS[name].is_convolution:
            plain.append(ratio)
        share = f"{roofs[name] / mine.median:.0%}" if name in roofs else ""
        cells = [PROGRAMS[name].title, human(mine.median), f"{best}, {human(figures[best].median)}"]
        lines.append(f"| {' | '.join([*cells, f'{ratio:.2f} ({low:.2f} to {high:.2f})', share, human(mine.first)])} |")
    if plain:
        mean = geometric_mean(plain)
        level = sum(r >= LEVEL for r in plain)
        lines += ["", f"Convolutions apart, the geometric mean is {mean:.2f}; {level} of {len(plain)} are level or ahead."]
    return lines


def details(every: Mapping[str, Mapping[str, Times]], failures: Mapping[str, Mapping[str, str]]) -> list[str]:
    """All sides of each workload."""
    lines: list[str] = []
    for name, figures in every.items():
        lines += [
            "",
            f"## {PROGRAMS[name].title}",
            "",
            "| side | median | least to most | quiet rounds | first call |",
            "|" + " --- |" * 5,
        ]
        for side in sorted(figures, key=lambda side: figures[side].median):
            t = figures[side]
            quiet = f"{sum(t.quiet)} of {len(t.quiet)}"
            spread = f"{human(min(t.seconds))} to {human(max(t.seconds))}"
            lines.append(f"| {side} | {human(t.median)} | {spread} | {quiet} | {human(t.first)} |")
        lines += [f"\n{side} failed: {why}" for side, why in failures.get(name, {}).items()]
    return lines


def write(
    folder: Path,
    every: Mapping[str, Mapping[str, Times]],
    failures: Mapping[str, Mapping[str, str]],
    ours: str,
    roofs: Mapping[str, float],
    threads: int,
    small: bool,
    what: tuple[str, str, str] = ("native", "The native target beside its peers", ""),
) -> str:
    """Write `native.md` and `native.png`, or others, into a folder; the table. `what` is their name, a title, and a note."""
    stem, title, note = what
    rounds = max((len(t.seconds) for figures in every.values() for t in figures.values()), default=0)
    lines = [
        f"# {title}",
        "",
        f"Medians of {rounds} rounds in which the sides took turns, each with {threads} thread(s) in a new process for each",
        "workload; ratios above 1 mean that ours is faster. The roofline is the least time to move as many bytes (`streams.py`;",
        "on a GPU a copy), or the peak of multiplications in f32, in the same run. First calls are the first ones of these",
        "processes, parsing and compiling included; ours keeps and finds nothing on disk here but Python's bytecode. Later ones",
        "are those of the faster way of the C library's allocator, as it is or keeping what is freed, for each side by itself.",
        *(["Small sizes, for trying out: nothing below says how fast anything is."] if small else []),
        *([] if any(any(t.quiet) for figures in every.values() for t in figures.values()) else [BUSY]),
        f"{described(PACKAGES)}.",
        *([note] if note else []),
        "",
        *summary(every, ours, roofs),
        *details(every, failures),
    ]
    folder.mkdir(parents=True, exist_ok=True)
    text = "\n".join([*lines, ""])
    (folder / f"{stem}.md").write_text(text, encoding="utf-8")
    picture(folder / f"{stem}.png", every, ours)
    return text


def picture(path: Path, every: Mapping[str, Mapping[str, Times]], ours: str) -> None:
    """How many times as long as ours each peer takes, per workload, on a logarithmic axis."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    names = [name for name, figures in every.items() if ours in figures]
    sides = list(dict.fromkeys(side for name in names for side in every[name] if side != ours))
    figure, axes = pyplot.subplots(figsize=(9, 1.5 + 0.55 * len(names)), layout="constrained")
    markers = "osD^vPX*"
    for i, side in enumerate(sides):
        places = [k for k, name in enumerate(names) if side in every[name]]
        values = [every[names[k]][side].median / every[names[k]][ours].median for k in places]
        axes.plot(values, places, markers[i % len(markers)], label=side, markersize=7)
    axes.axvline(1.0, color="black", linewidth=1)
    axes.set_xscale("log")
    axes.set_yticks(range(len(names)), [PROGRAMS[name].title for name in names])
    axes.invert_yaxis()
    axes.grid(axis="x", which="both", alpha=0.3)
    axes.set_xlabel(f"time / time of {ours} (right of 1: ours is faster)")
    if sides:
        axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
