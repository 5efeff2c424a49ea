"""
The least time in which this machine reads and writes some bytes, for the rooflines of workloads that memory limits.

Loops of machine code read vectors one after the other, and write as many as the mix of a workload says, with plain stores and
with stores past the caches: the better one counts. Threads go over their parts again and again in one call, so that arrays are
in the caches that have room for them, as in repeated calls of a program, and starting threads takes no part of the time.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from mind_dialect.ptir.types import F32
from mind_lowering.native.host import this_machine
from mind_lowering.native.ir import Function, LlvmModule
from mind_lowering.native.lanes import Lanes
from mind_lowering.native.target_info import TargetInfo
from mind_runtime.native import jit

SECONDS, ROUNDS = 0.02, 5
"""Of one sample, at least; samples of each loop."""
MOST_PARTS = 4
"""The reads, or writes, of a mix in lowest terms, at most."""
VECTORS = 4
"""Of each of them in one iteration."""
_WAYS = {"plain": False, "past": True}
_KIND = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


def mix(read: int, written: int) -> tuple[int, int]:
    """
    Return how many vectors are read for how many that are written.

    >>> mix(16, 16), mix(48, 16), mix(100, 67), mix(1000, 1), mix(1, 50)
    ((1, 1), (3, 1), (3, 2), (1, 0), (1, 4))
    """
    if 2 * MOST_PARTS * written < read:
        return 1, 0
    if read * MOST_PARTS < written:
        return 1, MOST_PARTS
    found = Fraction(written, read).limit_denominator(MOST_PARTS)
    return max(1, found.denominator), found.numerator


def stream_seconds(read: int, written: int, threads: int) -> float:
    """Return the least seconds in which threads read and write so many bytes."""
    host = this_machine()
    reads, writes = mix(read, written)
    block = host.vector_bytes * VECTORS
    count = max(1, (read + written) // (threads * block * (reads + writes)))
    loops, _kept = loops_of(host, reads, writes)
    room = [(_aligned(count * block * reads), _aligned(count * block * max(writes, 1))) for _ in range(threads)]
    least = min(_least(run, room, count) for run in loops.values())
    return least * (read + written) / (count * block * (reads + writes) * threads)


def loops_of(host: TargetInfo, reads: int, writes: int) -> tuple[dict[str, Callable[..., int]], object]:
    """
    Return the loops that read and write so many vectors for each other, by kind of stores, and what must be kept with them.

    Each takes two addresses, how many iterations of `VECTORS` times as many vectors, and how often to do all of them.
    """
    library = jit.load(_text(host, reads, writes), host, list(_WAYS))
    return {way: _KIND(library.addresses[way]) for way in _WAYS}, library


def _aligned(size: int) -> Any:
    """Memory that is there, from a line of the caches on."""
    found = np.ones(size // 4 + 32, np.float32)
    first = -found.ctypes.data % 128 // 4
    return found[first : first + size // 4]


def _text(host: TargetInfo, reads: int, writes: int) -> str:
    """The module of the loops, each a function of two addresses, a number of iterations, and how often to do all of them."""
    module = LlvmModule(host.triple, f"{reads} vectors read for {writes} written")
    for way, past in _WAYS.items():
        parameters = [("ptr", "source"), ("ptr", "target"), ("i64", "count"), ("i64", "times")]
        f = module.function(way, "i64", parameters, internal=False)
        lanes = replace(Lanes(f, host, host.lanes(4)), streamed=past)
        for _ in f.each("0", "%times"):
            sums = f.loop(
                "0", "%count", 1, _iteration(f, lanes, reads, writes), [(lanes.type(F32), lanes.constant(F32, 0))] * VECTORS
            )
            for total in sums:  # so that what is only read is read
                lanes.store(F32, total, "%target", "0", 1)
        f.ret("0")
    return module.text()


def _iteration(f: Function, lanes: Lanes, reads: int, writes: int) -> Callable[..., list[str]]:
    def iteration(i: str, /, *sums: str) -> list[str]:
        first, to = (f.mul(i, n * VECTORS * lanes.width) for n in (reads, writes))
        found: list[str] = []
        for j in range(VECTORS):
            places = [f.add(first, str((j * reads + k) * lanes.width)) for k in range(reads)]
            values = [lanes.load(F32, "%source", place, 1) for place in places]
            total = values[0]
            for value in values[1:]:
                total = lanes.binary("fadd", "float", total, value)
            for k in range(writes):
                lanes.store(F32, total, "%target", f.add(to, str((j * writes + k) * lanes.width)), 1)
            found.append(total if writes else lanes.binary("fadd", "float", sums[j], total))
        return found

    return iteration


def _least(run: Callable[..., int], room: list[tuple[Any, Any]], count: int) -> float:
    """The least seconds of one pass over all of the memory."""

    def seconds(times: int) -> float:
        parts = [(source.ctypes.data, target.ctypes.data, count, times) for source, target in room]
        workers = [threading.Thread(target=run, args=part) for part in parts[1:]]
        start = time.perf_counter()
        for worker in workers:
            worker.start()
        run(*parts[0])
        for worker in workers:
            worker.join()
        return (time.perf_counter() - start) / times

    seconds(1)
    times = max(1, round(SECONDS / max(seconds(2), 1e-6)))
    return min(seconds(times) for _ in range(ROUNDS))
