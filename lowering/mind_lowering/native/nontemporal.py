"""
Stores that go past the caches, for results that would drive everything else out of them.

A store that fills a line of memory need not read the line first, if it is non-temporal; where a kernel moves more than the caches
hold, that saves a third of the traffic. Vectors must be aligned for that: a kernel asks once, and has its loops twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .costs import traffic
from .ir import Function
from .target_info import LINE, SHARED
from .views import Buffer, View

STREAMED = 1.0
"""Bytes that a kernel reads and writes for each of the shared cache, from which on its results go past the caches."""
APART = 2
"""
One in so many of them is enough where lines that are written one after the other lie in pages of their own.

A cache takes those slowly: a transpose of 16 MiB takes 0.6 ms past the caches and 0.8 ms through them, and is level even if its
result is read at once.
"""
LEAST = SHARED[0] // APART
"""The cache of which any kernel's results go past the caches if they do on some machine: for keys of kernels."""


def passing(reads: Sequence[View], writes: Sequence[View], cache: int) -> list[bool]:
    """
    Return which results are written by non-temporal stores, when buffers have their places, past a `cache` of so many bytes.

    Those that are results of the program, so that the next kernel hardly reads them, and much of the traffic.
    """
    total = traffic([*reads, *writes])
    held = {v.base.location for v in reads if isinstance(v.base, Buffer)}
    found: list[bool] = []
    for view in writes:
        base = view.base
        is_result = isinstance(base, Buffer) and base.is_new and base.location not in held
        found.append(is_result and view.is_whole and total >= STREAMED * cache and view.count * view.dtype.size * 8 >= total)
    return found


def twice(f: Function, addresses: Sequence[str], loops: Callable[[bool], None]) -> None:
    """Emit loops that store past the caches, where all addresses are aligned, and as others where they are not."""
    if addresses:
        bits = [f.op(f"ptrtoint ptr {a} to i64", "place") for a in addresses]
        every = bits[0]
        for other in bits[1:]:
            every = f.op(f"or i64 {every}, {other}", "places")
        aligned = f.op(f"icmp eq i64 {f.op(f'and i64 {every}, {LINE - 1}', 'odd')}, 0", "aligned")

        def streamed() -> str:
            loops(True)
            f.do("fence seq_cst")  # such stores are in no order with others
            return "0"

        f.leave(aligned, streamed)
    loops(False)
