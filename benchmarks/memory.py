"""
Peak memory of the native target beside its peers: NumPy, PyTorch, torch.compile, JAX, ONNX Runtime and numba.

    python benchmarks/memory.py [--only softmax mlp] [--sides ours numpy jax] [--threads 2] [--small] [--out DIR]

Each side has a new process for each workload. Memory is what Linux counts as resident, so that code, heaps and pages that an
allocator keeps count as a user's machine sees them. The tables go to `memory.md` in the folder of results.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

from machine import described
from native import BESIDE, EVERY, OURS, SIDES
from peers.report import LEVEL, PACKAGES
from peers.rounds import Peer
from rich.progress import track

MIB = 1 << 20
RESULTS = Path(__file__).with_name("results")
LEAST = 4 * MIB
"""Bytes that a side has at least in ratios, and below which of both none is taken: code and heaps vary by as much."""
HEAD = """\
# Peak memory

By `benchmarks/memory.py`, {threads} thread(s), each workload and side in a process of its own, in MiB of resident memory. The
ratios are those of a peer to ours, above 1 where ours takes less: of the peer that is fastest on the pages of times, and of the
one that takes least. Processes that a side starts to compile do not count.

{machine}
"""
Peaks = Mapping[str, Mapping[str, int]]
"""The peak, all memory and that of files, of each state of a process: idle, in the first call, in later ones."""
Figures = Mapping[str, Peaks]
Measure = Callable[[Peaks], int]


def _private(state: Mapping[str, int], size: str) -> int:
    return state[size] - state["files"]


TABLES: dict[str, tuple[Measure, str]] = {
    "Programs": (
        lambda found: max(0, _private(found["later"], "peak") - _private(found["idle"], "now")),
        "The peak in the five calls after the first one, less what the process held after it had run a tiny program and before\n"
        "the inputs were there: inputs, weights, packed weights, temporaries, results and machine code. Pages of files, such\n"
        "as the code of libraries that it used meanwhile, do not count.",
    ),
    "Whole processes": (
        lambda found: max(found["first"]["peak"], found["later"]["peak"]),
        "The peak of all that a process does: Python, imports, parsing, compiling and calls.",
    ),
}
"""By title: what a table shows of a side, and its note."""


def peaks(side: str, name: str, threads: int, small: bool) -> tuple[Peaks | None, str]:
    """Return the peaks of a side in a workload, or None and why there are none: no reason where it lacks the workload."""
    peer = Peer(*SIDES[side], threads)
    try:
        if peer.absent is not None:
            return None, peer.absent
        reply: dict[str, Any] = peer.ask(memory=name, small=small)
    finally:
        peer.close()
    if "error" in reply or "missing" in reply:
        return None, reply.get("error", "")
    return reply, ""


def fastest_peers() -> dict[str, str]:
    """Return the fastest peer of each workload, by its title, as the pages of times have it."""
    found: dict[str, str] = {}
    for page in ("native.md", "native_families.md"):
        for row in (RESULTS / page).read_text(encoding="utf-8").splitlines():
            cells = [cell.strip() for cell in row.strip("|").split("|")]
            if len(cells) == 6:  # title, ours, best peer, ratio, share of the roofline, first call
                found[cells[0]] = cells[2].partition(",")[0]
    return found


def ratio(figures: Figures, measure: Measure, peer: str | None = None) -> tuple[float, str] | None:
    """Return a peer's memory by ours, that of the least one by default, and who it is; None without it, or with too little."""
    others = {side: measure(found) for side, found in figures.items() if side != OURS and peer in (None, side)}
    if OURS not in figures or not others:
        return None
    ours, least = measure(figures[OURS]), min(others, key=others.__getitem__)
    return (max(others[least], LEAST) / max(ours, LEAST), least) if max(ours, others[least]) >= LEAST else None


def mean(ratios: Sequence[float]) -> str:
    """Return the geometric mean of ratios, and how many are level: 0.95 or more."""
    level = sum(r >= LEVEL for r in ratios)
    return f"{geometric_mean(ratios):.2f}, {level} of {len(ratios)} are {LEVEL} or above"


def table(every: Mapping[str, Figures], measure: Measure) -> str:
    """Return a line for each workload, a column for each side; and the geometric means of the ratios."""
    sides, fastest = [side for side, *_ in SIDES.values() if any(side in figures for figures in every.values())], fastest_peers()
    ratios: dict[str, list[float]] = {"fastest peer": [], "least peer": []}
    names = ["workload", *sides, *(f"{peer} / ours" for peer in ratios)]
    text = f"| {' | '.join(names)} |\n|{' --- |' * len(names)}\n"
    for name, figures in every.items():
        title = EVERY[name].title
        cells = [title, *(f"{measure(figures[s]) / MIB:.1f}" if s in figures else "" for s in sides)]
        for kind, peer in zip(ratios, (fastest.get(title, ""), None), strict=True):
            found = ratio(figures, measure, peer)
            cells.append("" if found is None else f"{found[0]:.2f} ({found[1]})")
            ratios[kind] += [] if found is None else [found[0]]
        text += f"| {' | '.join(cells)} |\n"
    return text + "".join(f"\nGeometric mean of {kind} / ours: {mean(found)}.\n" for kind, found in ratios.items() if found)


def page(every: Mapping[str, Figures], failures: Sequence[str], threads: int, small: bool) -> str:
    """Return the page of results."""
    machine = f"{described(PACKAGES)}." + (" Small sizes, for trying out." if small else "")
    text = HEAD.format(threads=threads, machine=machine)
    for title, (measure, note) in TABLES.items():
        text += f"\n## {title}\n\n{note}\n\n{table(every, measure)}"
    held = {side: [figures[side]["idle"]["now"] for figures in every.values() if side in figures] for side, *_ in SIDES.values()}
    idle = ", ".join(f"{side} {median(sizes) / MIB:.0f}" for side, sizes in held.items() if sizes)
    return text + f"\nAfter a tiny program: {idle}.\n" + "".join(f"\n{failure}\n" for failure in failures)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, write the page and print it."""
    parser = argparse.ArgumentParser(description="the peak memory of the native target beside its peers")
    parser.add_argument("--only", nargs="+", choices=list(EVERY), default=list(EVERY), metavar="WORKLOAD")
    parser.add_argument("--sides", nargs="+", choices=BESIDE, default=BESIDE, metavar="SIDE")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="of every side")
    parser.add_argument("--small", action="store_true", help="small sizes, to try the benchmark out")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args(argv)
    options.out.mkdir(parents=True, exist_ok=True)
    every: dict[str, dict[str, Peaks]] = {}
    failures: list[str] = []
    for name in track(options.only, "workloads"):
        every[name] = {}
        for side in options.sides:
            found, why = peaks(side, name, options.threads, options.small)
            if found is not None:
                every[name][SIDES[side][0]] = found
            elif why:
                failures.append(f"{SIDES[side][0]} failed in {EVERY[name].title}: {why}")
        text = page(every, failures, options.threads, options.small)
        (options.out / "memory.md").write_text(text, encoding="utf-8")  # workloads take minutes: what is measured stays
    print((options.out / "memory.md").read_text(encoding="utf-8"))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
