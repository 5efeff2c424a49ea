"""
Ask all sides in turn, round after round, each in a process of its own, and record whether the machine was idle meanwhile.

Taking turns keeps one side's spinning threads from disturbing another, and lets what changes with time (clocks, neighbours) meet
all. A sample is quiet if the rest of the machine used less than a third of a core while it was taken.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import psutil

HERE = Path(__file__).parents[1]
PATIENCE = 2.0
"""Seconds that a sample waits, at most, for the machine to be quiet."""
LOUD = 0.33
"""Cores that others use above which a sample is not quiet."""
TOLERANCES = {"bfloat16": 24 * 2.0**-8, "float16": 24 * 2.0**-11, "float64": 1e-9, "float32": 1e-3}
"""
Between elements of two sides, which add up and round in different orders, by the dtype of a result.

In the narrow dtypes a few layers round about 18 times, and two sides differ by both: four standard deviations, sqrt(2 * 18)
units of rounding each.
"""
Results = tuple[Sequence[Any], Sequence[str]]
"""The flat arrays of a side, and their dtypes."""


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
    """The process of one side, of this checkout or another one, whose environment is in one of the Makefile's folders."""

    def __init__(self, name: str, module: str, settings: Mapping[str, str], threads: int, checkout: Path = HERE.parent):
        self.name = name
        python = interpreter(checkout)
        assert python is not None, checkout
        path = os.pathsep.join([str(checkout / "examples"), str(checkout / "benchmarks"), os.environ.get("PYTHONPATH", "")])
        cores = sorted(os.sched_getaffinity(0))[:threads] if hasattr(os, "sched_getaffinity") else None
        counts = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), str(threads))
        own = {"SIDE_THREADS": str(threads), "MIND_NUM_THREADS": str(threads), "JAX_PLATFORMS": "cpu", "MIND_CACHE_DIR": ""}
        inherited = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        self._process = subprocess.Popen(
            [python, "-m", "peers.worker", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=checkout,  # which `-m` looks into first, and other folders may have a `models` too
            env={**inherited, **counts, **own, **settings, "PYTHONPATH": path},
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


def write_bytecode(side: Sequence[Any], checkout: Path = HERE.parent) -> str | None:
    """
    Have the bytecode of a side's modules written, which users have on disk; return why the side is absent, if it is.

    The side computes a small workload. Of a checkout, whose modules are loaded as programs need them, all are compiled.
    """
    python = interpreter(checkout)
    assert python is not None, checkout
    subprocess.run([python, "-m", "compileall", "-q", "-x", r"/[.]", checkout], check=False, stdout=subprocess.DEVNULL)
    with TemporaryDirectory() as folder:
        peer = Peer(*side)
        peer.ask(prepare="tiny", small=True, keep=f"{folder}/results.npz")
        peer.close()
    return peer.absent


@contextmanager
def new_peers(sides: Sequence[Sequence[Any]]) -> Generator[list[Peer]]:
    """Start a process for each side, all at once, and end them: what a workload leaves behind is in the way of no other one."""
    with ThreadPoolExecutor(len(sides) or 1) as pool:
        peers = list(pool.map(lambda side: Peer(*side), sides))
    try:
        yield peers
    finally:
        for peer in peers:
            peer.close()


def interpreter(checkout: Path) -> str | None:
    """Return the Python of a checkout's environment: this process's in its own checkout, None where `make` has made none."""
    if checkout == HERE.parent:
        return sys.executable
    pythons = (checkout / name / "bin" / "python" for name in (".venv-bench", ".venv-all"))
    return next((str(python) for python in pythons if python.exists()), None)


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
    results: dict[str, Results] = {}
    live: list[Peer] = []
    with TemporaryDirectory() as folder:
        for i, peer in enumerate(peers):
            reply = peer.ask(prepare=workload, small=small, keep=(path := f"{folder}/{i}.npz"))
            if "error" in reply:
                failures[peer.name] = reply["error"]
            elif "missing" not in reply:
                found[peer.name] = Times(reply["first"])
                with np.load(path) as kept:
                    results[peer.name] = [kept[name] for name in kept.files], reply["dtypes"]
                live.append(peer)
            tick()
    compare(workload, results)
    results.clear()
    for i in range(rounds):
        for k in range(len(live)):
            peer = live[(i + k) % len(live)]
            sampled(peer, seconds, found[peer.name], 0.0 if small else PATIENCE)
        tick()
    return found, failures


def compare(workload: str, results: Mapping[str, Results]) -> None:
    """
    Compare the first results of all sides with those of the first one, element by element; ArithmeticError where they disagree.

    Integers are equal. Floats differ by at most the tolerance of the coarser dtype, times the element and the mean of all.
    """
    names = list(results)
    for name in names[1:]:
        (first, dtypes), (others, their_dtypes) = results[names[0]], results[name]
        for i, (a, b) in enumerate(zip(first, others, strict=False)):
            if a.shape != b.shape:
                raise ArithmeticError(f"{workload}: result {i} has {b.size} elements of {name}, {a.size} of {names[0]}")
            if a.dtype.kind in "biu" and b.dtype.kind in "biu":
                wrong = a != b
            else:
                coarsest = max(_tolerance(dtypes[i]), _tolerance(their_dtypes[i]))
                coarsest = max(coarsest, TOLERANCES["bfloat16"]) if workload.endswith("bf16") else coarsest
                with np.errstate(invalid="ignore"):  # of infinities the difference is NaN
                    wrong = ~(np.abs(a - b) <= coarsest * (np.abs(a) + np.abs(a).mean() + 1e-6))
                wrong &= ~((a == b) | (np.isnan(a) & np.isnan(b)))
            if wrong.any():
                (at,) = np.nonzero(wrong)
                place = int(at[0])
                raise ArithmeticError(
                    f"{workload}: {len(at)} of {a.size} elements of result {i} differ between {name} and {names[0]}: "
                    f"{b[place]} against {a[place]} at {place}"
                )


def _tolerance(dtype: str) -> float:
    """Return the tolerance of a dtype, as a side names it."""
    return next((found for name, found in TOLERANCES.items() if name in dtype), TOLERANCES["float32"])
