"""
Large pages for weights: memory in small ones is read up to a third slower, as machines bring lines early only within a page.

NumPy asks for large pages only for arrays of 4 MiB and more, each by itself. What is bound to a program stays where it is for
many calls, so that it is worth moving into large pages, of the same contents at the same addresses: a thread of its own does it.

Pages that compiling leaves unused in the heap are returned to the system.
"""

from __future__ import annotations

import ctypes
import errno
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

LARGE = 1 << 21
"""Bytes of a large page."""
BETWEEN = 3 << 12
"""Bytes between neighbours, less than that: what is left of a small page, and what the allocator has of its own."""
LEAST = 64 << 20
"""Bytes of weights from which on it is worth a thread."""
_WANTED, _NOW = 14, 25
"""Of Linux: advice to use large pages, and to do it now (since 6.1; else the system does it in its own time)."""
_SETTING = Path("/sys/kernel/mm/transparent_hugepage/enabled")


def return_heap() -> None:
    """
    Give the system the pages that the heap holds and does not use, where the C library can (glibc).

    Of a module of a megabyte LLVM leaves 10 to 15 MB, in the heaps of the threads that compiled: for as long as a program runs.
    It takes under a millisecond, or about ten in a process whose heap has many gaps.
    """
    if (trim := _trim()) is not None:
        trim(0)


@cache
def _trim() -> Callable[[int], int] | None:
    return getattr(ctypes.CDLL(None), "malloc_trim", None)


def settle(arrays: Iterable[Any]) -> threading.Thread | None:
    """Begin to move arrays into large pages; the thread that does it, None where there is nothing to do or no one to ask."""
    kept = [array for array in arrays if array.nbytes >= LARGE // 2]
    if sum(array.nbytes for array in kept) < LEAST or not _allowed():
        return None
    found = stretches([(array.ctypes.data, array.ctypes.data + array.nbytes) for array in kept])
    thread = threading.Thread(target=move, args=(found, kept), name="mind-pages", daemon=True)
    thread.start()
    return thread


def stretches(places: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """
    The whole large pages of some places in memory, those that are neighbours taken together.

    >>> mib = 1 << 20
    >>> places = [(7 * mib + 16, 9 * mib), (mib, 7 * mib), (20 * mib, 23 * mib), (31 * mib, 32 * mib)]
    >>> [(first // mib, last // mib) for first, last in stretches(places)]
    [(2, 8), (20, 22)]
    """
    joined: list[tuple[int, int]] = []
    for first, last in sorted(places):
        if joined and first - joined[-1][1] < BETWEEN:
            first, last = joined[-1][0], max(last, joined.pop()[1])
        joined.append((first, last))
    whole = [(-(-first // LARGE) * LARGE, last // LARGE * LARGE) for first, last in joined]
    return [(first, last) for first, last in whole if first < last]


def _allowed() -> bool:
    """Return whether this system has large pages that it gives to whom asks for them."""
    try:
        return sys.platform.startswith("linux") and "[never]" not in _SETTING.read_text()
    except OSError:
        return False


def move(found: Sequence[tuple[int, int]], kept: Sequence[Any]) -> int:
    """
    Page by page, so that no one waits for long; how many are large now.

    `kept` are the arrays, which are there until it is done.
    """
    moved, advise = 0, ctypes.CDLL(None, use_errno=True).madvise
    advise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    for first, last in found:
        if advise(first, last - first, _WANTED):
            continue
        for place in range(first, last, LARGE):
            if not advise(place, LARGE, _NOW):
                moved += 1
            elif ctypes.get_errno() in (errno.EINVAL, errno.ENOMEM):
                break
    del kept
    return moved
