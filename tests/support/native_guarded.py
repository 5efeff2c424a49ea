"""
Products whose arrays end where memory ends, or begin where it begins: one element beyond is a fault that ends the process.

    python native_guarded.py
"""

from __future__ import annotations

import ctypes
import mmap
from math import prod
from typing import Any

import numpy as np

from lone_products import HOSTS_HERE, compiled
from mind_dialect.ptir.types import BF16, F32, F64, PtirDType
from mind_lowering.native.target_info import TargetInfo
from mind_lowering.ptir_kernels.formats import array_dtype

PAGE = mmap.PAGESIZE
SHAPES = [(1, 300, 77), (3, 257, 129), (77, 300, 1), (12, 33, 65), (13, 70, 31), (129, 300, 97), (300, 70, 33), (30, 600, 300)]
SHAPES += [(1, 3, 33), (2, 30, 1700), (5, 5, 5), (4, 100, 3)]
_libc = ctypes.CDLL(None, use_errno=True)


def guarded(shape: tuple[int, ...], dtype: Any, *, at_end: bool) -> Any:
    """An array between pages that nobody may touch, at the end of what is between them or at its beginning."""
    size = prod(shape) * np.dtype(dtype).itemsize
    inside = -(-size // PAGE) * PAGE
    room = np.frombuffer(mmap.mmap(-1, inside + 2 * PAGE), np.uint8)
    for start in (0, inside + PAGE):
        assert _libc.mprotect(ctypes.c_void_p(room.ctypes.data + start), ctypes.c_size_t(PAGE), 0) == 0
    first = PAGE + (inside - size if at_end else 0)
    return room[first : first + size].view(dtype).reshape(shape)


def main() -> None:
    """Run them all."""
    rng = np.random.default_rng(3)
    for host in HOSTS_HERE:
        for dtype in (F32, F64, BF16) if host is HOSTS_HERE[0] else (F32,):
            for number, (m, k, n) in enumerate(SHAPES):
                for flips in range(4) if dtype is F32 else (number % 4,):
                    at_end, of = bool((number + flips) % 3), array_dtype(dtype.name)
                    a = guarded((k, m) if flips & 1 else (m, k), of, at_end=at_end)
                    b = guarded((n, k) if flips & 2 else (k, n), of, at_end=at_end)
                    out = guarded((m, n), of, at_end=at_end)
                    a[...], b[...] = rng.integers(-2, 3, a.shape), rng.integers(-2, 3, b.shape)
                    left, right = a.T if flips & 1 else a, b.T if flips & 2 else b
                    total = F32 if dtype is BF16 else dtype
                    compiled(host, left, right, out, (dtype, dtype, dtype, total)).caller(left, right, out)()
                    expected = (left.astype(np.float64) @ right.astype(np.float64)).astype(of)
                    assert np.array_equal(out.astype(np.float64), expected.astype(np.float64)), (host.isa, dtype, m, k, n, flips)
        for dtype in (F32, BF16):
            lines(host, dtype, rng)


def lines(host: TargetInfo, dtype: PtirDType, rng: Any) -> None:
    """Rows that begin in the middle of a line, or end there, the last one before what nobody may touch."""
    of = array_dtype(dtype.name)
    for at_end, (first, last) in ((False, (0, 685)), (True, (13, 688)), (True, (0, 688))):
        a, b = np.ones((1, 400), of), guarded((400, 688), of, at_end=at_end)
        b[...] = rng.integers(-2, 3, b.shape)
        right, out = b[:, first:last], np.zeros((1, last - first), np.float32)
        compiled(host, a, right, out, (dtype, dtype, F32, F32)).caller(a, right, out)()
        assert np.array_equal(out, np.sum(right.astype(np.float32), 0, keepdims=True)), (host.isa, dtype, first)


if __name__ == "__main__":
    main()
