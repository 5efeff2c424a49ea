"""A cuBLAS that is none: its one product, by columns, computed by NumPy on the pointers it is given."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

TYPES = {0: "float32", 1: "float64", 2: "float16", 4: "complex64", 5: "complex128", 14: "bfloat16"}


def columns(pointer: Any, kind: int, rows: int, n: int, leading: int, stride: int, batch: int) -> np.ndarray:
    """Matrices by columns, as a view [batch, rows, n] of the memory at a pointer."""
    from mind_lowering.ptir_kernels.formats import array_dtype

    dtype = array_dtype("bf16") if TYPES[kind] == "bfloat16" else np.dtype(TYPES[kind])
    size = ((batch - 1) * stride + (n - 1) * leading + rows) * dtype.itemsize
    raw = (ctypes.c_char * size).from_address(pointer)
    strides = (stride * dtype.itemsize, dtype.itemsize, leading * dtype.itemsize)
    plain = np.dtype(f"u{dtype.itemsize}") if dtype.kind == "V" else dtype
    return np.ndarray((batch, rows, n), plain, raw, 0, strides).view(dtype)


class FakeCublas:
    """cuBLAS as its documentation has it, on the CPU."""

    def __init__(self) -> None:
        self.workspaces: list[tuple[int, int]] = []
        self.streams: list[int] = []
        self.computes: list[int] = []

    def cublasCreate_v2(self, handle: Any) -> int:
        return 0

    def cublasSetWorkspace_v2(self, handle: Any, pointer: Any, size: Any) -> int:
        self.workspaces.append((pointer.value, size.value))
        return 0 if pointer.value % 256 == 0 else 7

    def cublasSetStream_v2(self, handle: Any, stream: Any) -> int:
        self.streams.append(stream.value)
        return 0

    def cublasGemmStridedBatchedEx(self, handle: Any, ta: Any, tb: Any, m: Any, n: Any, k: Any, alpha: Any, *rest: Any) -> int:
        a, a_type, lda, stride_a, b, b_type, ldb, stride_b, _, c, c_type, ldc, stride_c, batch, compute, _ = rest
        m, n, k, batch = m.value, n.value, k.value, batch.value
        rows_a, rows_b = (k if ta.value else m), (n if tb.value else k)
        if lda.value < max(1, rows_a) or ldb.value < max(1, rows_b) or ldc.value < max(1, m):
            return 7  # as cuBLAS: a parameter is wrong
        x = columns(a.value, a_type.value, rows_a, m if ta.value else k, lda.value, stride_a.value, batch)
        y = columns(b.value, b_type.value, rows_b, k if tb.value else n, ldb.value, stride_b.value, batch)
        x, y = x.swapaxes(1, 2) if ta.value else x, y.swapaxes(1, 2) if tb.value else y
        wide = np.float32 if x.dtype.itemsize == 2 else x.dtype
        target = columns(c.value, c_type.value, m, n, ldc.value, stride_c.value, batch)
        target[...] = (x.astype(wide) @ y.astype(wide)).astype(target.dtype)
        self.computes.append(compute.value)
        return 0
