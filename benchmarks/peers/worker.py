"""
A process of one side: it prepares a workload, then gives samples of its time when asked.

    python -m peers.worker by_torch

A side whose calls return before their work is done, as on a GPU, has `settle`, which waits for it and is timed too.

Requests and replies are lines of JSON: `{"prepare": name, "small": false, "keep": path}` builds a workload, makes the first call
and keeps its results in an `.npz` file. From then on, memory that is freed stays with the process if its calls are faster so, as
with the allocators that peers advise. `{"sample": seconds}` calls it for so long and says how long a call took;
`{"memory": name, "small": false}` says how much memory a workload takes in a new process. What a side prints goes to stderr.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from .families import PROGRAMS

SHORTEST = 0.004
"""Seconds that are timed at once, at least: the clock is read around several calls where one takes less."""
CALLS = 5
"""Over which the memory of calls after the first one is observed: some sides compile again in the second one."""
TRIM_THRESHOLD, MMAP_MAX = -1, -4
"""Options of `mallopt` in the GNU C library: bytes at the end of the heap that go back to the system, arrays mapped singly."""
AS_USUAL, KEPT = {TRIM_THRESHOLD: 64 << 20, MMAP_MAX: 1 << 16}, {TRIM_THRESHOLD: (1 << 31) - 1, MMAP_MAX: 0}
"""Ways of the allocator, the first one as it stands in a process that has run for a while."""
GAIN = 0.97
"""Of the usual way's time below which the other one stays."""
Reply = dict[str, Any]


def memory_in_use() -> dict[str, int]:
    """Return bytes of this process in memory: the peak since the last `restart_peak`, all now, and those of files among them."""
    with open("/proc/self/status", encoding="ascii") as status:
        sizes = dict(line.split(":", 1) for line in status if line.startswith(("Vm", "Rss")))
    names = {"peak": "VmHWM", "now": "VmRSS", "files": "RssFile"}
    return {name: int(sizes[field].split()[0]) << 10 for name, field in names.items()}


def restart_peak() -> None:
    """Let the peak of memory count from here on."""
    with open("/proc/self/clear_refs", "w", encoding="ascii") as refs:
        refs.write("5")


def flat_arrays(results: Sequence[Any]) -> list[Any]:
    """Return results as flat NumPy arrays, floats in f64."""
    found: list[Any] = []
    for result in results:
        for home in ("get", "cpu"):  # of CuPy, of PyTorch
            result = getattr(result, home)() if hasattr(result, home) else result
        result = result.float() if "bfloat16" in str(getattr(result, "dtype", "")) and hasattr(result, "float") else result
        values = np.asarray(result).reshape(-1)
        found.append(values if values.dtype.kind in "biu" else values.astype(np.float64))
    return found


def allocate(way: Mapping[int, int]) -> None:
    """Set the C library's allocator, where it can be set."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    for option, value in way.items() if mallopt else ():
        mallopt(option, value)


class Side:
    """One workload of one side at a time."""

    def __init__(self, module: str):
        side = importlib.import_module(f"peers.{module}")
        self._sides: dict[str, Callable[..., Callable[[], Any]]] = side.SIDES
        self._settle: Callable[[], None] = getattr(side, "settle", lambda: None)
        self._call: Callable[[], Any] = lambda: None
        self._calls = 1

    def prepare(self, name: str, small: bool, keep: str) -> Reply:
        """Build a workload and call it once; the seconds of both. The results are kept in a file."""
        if name not in self._sides:
            return {"missing": True}
        self._call = lambda: None
        gc.collect()
        arrays = PROGRAMS[name].arrays(small)
        start = time.perf_counter()
        self._call = self._sides[name](arrays)
        results = self._call()
        self._settle()
        first = time.perf_counter() - start
        every = cast("Sequence[Any]", results if isinstance(results, (tuple, list)) else [results])
        dtypes = [str(getattr(x, "dtype", "float64")) for x in every]
        np.savez(keep, *flat_arrays(every))
        del results, every
        usual = self._least()
        allocate(KEPT)
        if self._least() > GAIN * usual:
            allocate(AS_USUAL)
        self._calls = max(1, round(SHORTEST / max(self._least(), 1e-8)))
        gc.collect()
        gc.disable()
        return {"first": first, "dtypes": dtypes}

    def _least(self) -> float:
        """The least seconds of a few calls, after others."""
        times: list[float] = []
        for _ in range(3 + CALLS):
            start = time.perf_counter()
            self._call()
            self._settle()
            times.append(time.perf_counter() - start)
        return min(times[3:])

    def sample(self, seconds: float) -> Reply:
        """The median time of a call within some seconds."""
        call, calls, clock = self._call, self._calls, time.perf_counter
        call()
        self._settle()
        times: list[float] = []
        end = clock() + seconds
        while len(times) < 3 or clock() < end:
            start = clock()
            for _ in range(calls):
                call()
            self._settle()
            times.append((clock() - start) / calls)
        return {"seconds": float(np.median(times)), "best": min(times)}

    def memory(self, name: str, small: bool) -> Reply:
        """Return the memory in use after a tiny program has run, in a workload's first call, and in later ones."""
        if name not in self._sides:
            return {"missing": True}
        self._sides["tiny"](PROGRAMS["tiny"].arrays(True))()  # so that all that a side imports is there
        self._settle()
        gc.collect()
        idle = memory_in_use()
        arrays = PROGRAMS[name].arrays(small)
        restart_peak()
        self._call = self._sides[name](arrays)
        self._call()
        self._settle()
        first = memory_in_use()
        del arrays
        gc.collect()
        restart_peak()
        for _ in range(CALLS):
            self._call()
        self._settle()
        return {"idle": idle, "first": first, "later": memory_in_use()}


def main() -> None:
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def reply(content: Reply) -> None:
        print(json.dumps(content), file=replies, flush=True)

    try:
        side = Side(sys.argv[1])
    except ImportError as e:
        reply({"absent": str(e)})
        return
    reply({})
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if "prepare" in request:
                reply(side.prepare(request["prepare"], request["small"], request["keep"]))
            elif "memory" in request:
                reply(side.memory(request["memory"], request["small"]))
            else:
                reply(side.sample(request["sample"]))
        except Exception as e:  # a side that cannot do a workload is reported, the others go on
            reply({"error": f"{type(e).__name__}: {e}"[:2000]})


if __name__ == "__main__":
    main()
