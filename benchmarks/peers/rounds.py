"""
All sides asked in iteration, round after round, each in a process of its own; and whether the machine was theirs meanwhile.

Iterations keep one side's spinning threads from disturbing another, and let what changes with time (clocks, neighbours) meet
all. A sample is quiet if the rest of the machine used less than a third of a core while it was taken.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import psutil

HERE = Path(__file__).parents[1]
PATIENCE = 2.0
"""Seconds that a sample waits, at most, for the machine to be quiet."""
LOUD = 0.33
"""Cores that others use above which a sample is not quiet."""
TOLERANCE = 1e-3
"""Between results of sides, of the greatest mean, in f32."""


@dataclass
class Times:
    """Of one side and one workload: seconds per call of each round, which were quiet, those of the first call."""

    first: float
    seconds: list[float] = field(default_factory=list[float])
    quiet: list[bool] = field(default_factory=list[bool])

    @property
    def median(self) -> float:
        """Of the quiet rounds, if there are three."""
        kept = [s for s, quiet in zip(self.seconds, self.quiet, strict=True) if quiet]
        return median(kept if len(kept) >= 3 else self.seconds)


class Peer:
    """The process of one side."""

    def __init__(self, name: str, module: str, settings: Mapping[str, str], threads: int):
        self.name = name
        path = os.pathsep.join([str(HERE.parent / "examples"), str(HERE), os.environ.get("PYTHONPATH", "")])
        cores = sorted(os.sched_getaffinity(0))[:threads] if hasattr(os, "sched_getaffinity") else None
        counts = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), str(threads))
        own = {"SIDE_THREADS": str(threads), "MIND_NUM_THREADS": str(threads), "JAX_PLATFORMS": "cpu", "MIND_CACHE_DIR": ""}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "peers.worker", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=HERE.parent,  # which `-m` looks into first, and other folders may have a `models` too
            env={**os.environ, **counts, **own, **settings, "PYTHONPATH": path},
        )
        self.process = psutil.Process(self._process.pid)
        if cores is not None and threads < len(os.sched_getaffinity(0)):
            self.process.cpu_affinity(cores)
        self.absent: str | None = self._read().get("absent")

    def ask(self, **request: Any) -> dict[str, Any]:
        """The reply to a request."""
        assert self._process.stdin is not None
        try:
            print(json.dumps(request), file=self._process.stdin, flush=True)
        except BrokenPipeError:
            return {"error": "the process ended"}
        return self._read()

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        return json.loads(line) if line else {"error": f"the process ended with {self._process.wait()}"}

    def busy(self) -> float:
        """Seconds of processor time that it used."""
        times = self.process.cpu_times()
        return times.user + times.system

    def close(self) -> None:
        """End the process."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()


def machine_busy() -> float:
    """Seconds of processor time that the machine used."""
    times = psutil.cpu_times()
    beside = ("idle", "iowait", "guest", "guest_nice")  # a guest's time is in the user's already
    return sum(times) - sum(getattr(times, name, 0.0) for name in beside)


def wait_for_quiet(patience: float) -> None:
    """Until the rest of the machine does little, or patience is out."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        before = machine_busy()
        time.sleep(0.05)
        if machine_busy() - before < LOUD * 0.05:
            return


def sampled(peer: Peer, seconds: float, times: Times, patience: float) -> None:
    """One more sample."""
    wait_for_quiet(patience)
    machine, own, start = machine_busy(), peer.busy(), time.monotonic()
    reply = peer.ask(sample=seconds)
    others = (machine_busy() - machine - (peer.busy() - own)) / (time.monotonic() - start)
    if "error" in reply:
        raise RuntimeError(f"{peer.name}: {reply['error']}")
    times.seconds.append(reply["seconds"])
    times.quiet.append(others < LOUD)


def measure(
    peers: Sequence[Peer], workload: str, rounds: int, seconds: float, small: bool, tick: Callable[[], None]
) -> tuple[dict[str, Times], dict[str, str]]:
    """The times of each side that has the workload, and why others have none. The sides' results are compared."""
    found: dict[str, Times] = {}
    failures: dict[str, str] = {}
    results: dict[str, Any] = {}
    live: list[Peer] = []
    for peer in peers:
        reply = peer.ask(prepare=workload, small=small)
        if "error" in reply:
            failures[peer.name] = reply["error"]
        elif "missing" not in reply:
            found[peer.name] = Times(reply["first"])
            results[peer.name] = reply["results"]
            live.append(peer)
        tick()
    compare(workload, results)
    for i in range(rounds):
        for k in range(len(live)):
            peer = live[(i + k) % len(live)]
            sampled(peer, seconds, found[peer.name], 0.0 if small else PATIENCE)
        tick()
    return found, failures


def compare(workload: str, results: Mapping[str, Any]) -> None:
    """ArithmeticError where sides disagree on what they computed first."""
    tolerance = TOLERANCE * (30 if workload.endswith("bf16") else 1)
    names = list(results)
    for name in names[1:]:
        for ours, theirs in zip(results[names[0]], results[name], strict=False):
            scale = max(abs(ours[0]), 1e-6)
            worst = max(abs(a - b) for a, b in zip(ours, theirs, strict=True))
            if not worst <= tolerance * 10 * scale:
                raise ArithmeticError(f"{workload}: {name} and {names[0]} differ: {theirs} against {ours}")
