"""
The CuPy target beside PyTorch, torch.compile and JAX on a GPU, all in one run.

    python benchmarks/gpu.py [--only softmax tiny] [--sides ours jax] [--rounds 7] [--small] [--out DIR] [--minutes 9]

What is measured is kept workload by workload in `gpu.json`, so that a run that was cut short goes on where it stopped; `gpu.md`
and `gpu.png` are written from it. A side whose package is absent, or finds no GPU, is left out, and said to be. The roofline is a
copy of as many bytes on the same GPU in the same run.
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))  # before this folder, which has a `models` too

from peers import report
from peers.rounds import Times, measure, new_peers
from peers.workloads import GPU_WORKLOADS

OURS = "ours, cupy"
_ON_GPU = {"SIDE_DEVICE": "cuda", "JAX_PLATFORMS": ""}
SIDES: dict[str, tuple[str, str, dict[str, str]]] = {
    "ours": (OURS, "by_ours", {"SIDE_TARGET": "cupy"}),
    "ours-tf32": ("ours, cupy{tf32}", "by_ours", {"SIDE_TARGET": "cupy{tf32}"}),
    "torch": ("PyTorch", "by_torch", _ON_GPU),
    "compile": ("torch.compile", "by_torch", {**_ON_GPU, "SIDE_MODE": "compile"}),
    "jax": ("JAX", "by_jax", _ON_GPU),
}
"""By the name that `--sides` takes: how a side is called, its module, its settings."""
BESIDE = ("ours", "torch", "compile", "jax")
COPIED = 1 << 30
"""Bytes that are copied to learn how fast the memory is."""


def machine() -> str | None:
    """The GPU and its driver; None without one."""
    try:
        import cupy

        if not cupy.cuda.runtime.getDeviceCount():
            return None
        properties = cupy.cuda.runtime.getDeviceProperties(0)
        driver = cupy.cuda.runtime.driverGetVersion()
    except Exception:  # no CuPy, no driver, no GPU: whatever it is, there is none
        return None
    return f"{properties['name'].decode()}, CUDA {driver // 1000}.{driver % 1000 // 10}"


def copy_bandwidth(rounds: int = 20) -> float:
    """Bytes read and written in a second by a copy within the memory of the GPU."""
    import cupy

    source = cupy.zeros(COPIED // 2, "uint8")
    target = cupy.empty_like(source)
    best = float("inf")
    for _ in range(rounds):
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        begin.record()
        target.data.copy_from_device_async(source.data, source.nbytes)
        end.record()
        end.synchronize()
        best = min(best, cupy.cuda.get_elapsed_time(begin, end) / 1e3)
    return COPIED / best


def parsed(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="the CuPy target beside its peers")
    parser.add_argument("--only", nargs="+", choices=list(GPU_WORKLOADS), default=list(GPU_WORKLOADS), metavar="WORKLOAD")
    parser.add_argument("--sides", nargs="+", choices=list(SIDES), default=list(BESIDE), metavar="SIDE")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.2, help="of one sample")
    parser.add_argument("--minutes", type=float, default=9.0, help="after which no workload is begun any more")
    parser.add_argument("--small", action="store_true", help="small sizes, to try the benchmark out")
    parser.add_argument("--again", action="store_true", help="measure anew what is kept")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("results"))
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None, sides: dict[str, tuple[str, str, dict[str, str]]] = SIDES) -> int:
    """Measure what is not kept yet, write the table and the picture; status 3 if there is more to do."""
    options = parsed(argv)
    found = machine()
    if found is None and sides is SIDES:
        print("no GPU that CuPy can use: nothing is measured")
        return 1
    end = time.monotonic() + 60 * options.minutes
    kept = Kept(options.out / "gpu.json", found or "no GPU", anew=options.again)
    left: list[str] = []
    here: list[tuple[Any, ...]] = [(*sides[side], 1) for side in options.sides]
    for name in options.only:
        if name in kept.every:
            continue
        if time.monotonic() > end:
            left.append(name)
            continue
        print(name, flush=True)
        with new_peers(here) as peers:
            for peer in [peer for peer in peers if peer.absent is not None]:
                print(f"{peer.name} is left out: {peer.absent}")
            present = [peer for peer in peers if peer.absent is None]
            kept.add(name, *measure(present, name, options.rounds, options.seconds, options.small, lambda: None))
    write(options, kept, copy_bandwidth() if found is not None else None)
    if left:
        print(f"left for another run: {', '.join(left)}")
    return 3 if left else 0


class Kept:
    """What was measured, in a file that runs add to. Another GPU starts anew."""

    def __init__(self, path: Path, machine: str, *, anew: bool):
        self.path, self.machine = path, machine
        self.every: dict[str, dict[str, Times]] = {}
        self.failures: dict[str, dict[str, str]] = {}
        if not anew and path.exists():
            held: dict[str, Any] = json.loads(path.read_text())
            if held["machine"] == machine:
                self.failures = held["failures"]
                self.every = {w: {side: Times(**t) for side, t in sides.items()} for w, sides in held["every"].items()}

    def add(self, name: str, figures: dict[str, Times], failures: dict[str, str]) -> None:
        """Keep a workload."""
        self.every[name], self.failures[name] = figures, failures
        every = {w: {side: asdict(t) for side, t in sides.items()} for w, sides in self.every.items()}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(json.dumps({"machine": self.machine, "every": every, "failures": self.failures}, indent=1))


def write(options: argparse.Namespace, kept: Kept, bandwidth: float | None) -> None:
    """The table and the picture."""
    roofs: dict[str, float] = {}
    for name in kept.every:
        moved = sum(GPU_WORKLOADS[name].moved(GPU_WORKLOADS[name].arrays(options.small))) if bandwidth else 0
        if bandwidth and moved > 1 << 20:
            roofs[name] = moved / bandwidth
    rate = "" if bandwidth is None else f" A copy moves {bandwidth / 1e9:.0f} GB/s there."
    note = f"{kept.machine}, {datetime.date.today().isoformat()}.{rate}"
    what = ("gpu", "The CuPy target beside its peers", note)
    print(report.write(options.out, kept.every, kept.failures, OURS, roofs, 1, options.small, what))


if __name__ == "__main__":
    raise SystemExit(main())
