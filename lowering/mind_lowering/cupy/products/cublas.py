"""
cuBLAS by its C interface, for products of matrices in memory of a GPU.

CuPy's own bindings refuse every call while a CUDA graph is captured; cuBLAS does not, if it was given a workspace before. So a
handle of ours has a workspace of ours, and nothing is allocated by a call. Matrices are in row-major order, or transposed, with
any distance between rows and between matrices of a stack: what is C = A B by rows is C' = B' A' by columns, as cuBLAS has it.

A library is anything with cuBLAS's functions, as a test's own that computes on the CPU.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence
from ctypes import byref, c_double, c_float, c_int, c_longlong, c_void_p
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Any, NamedTuple

from mind_dialect.errors import error

Array = Any
SONAMES = ("libcublas.so.13", "libcublas.so.12")
WORKSPACE_BYTES = 32 << 20
"""Of workspace, what cuBLAS recommends for Hopper; more than it asks for on older machines."""
_N, _T = 0, 1
_DEFAULT_ALGORITHM = -1
TYPES = {"float16": 2, "bfloat16": 14, "float32": 0, "float64": 1, "complex64": 4, "complex128": 5}
"""cudaDataType by the name of an array's dtype."""
F32, F32_TF32, _F64 = 68, 77, 70
"""cublasComputeType."""


class Matrices(NamedTuple):
    """The layout of a stack of matrices: by rows or, `transposed`, by columns; distances are in elements."""

    transposed: bool
    leading: int
    stride: int


def layout(shape: Sequence[int], strides: Sequence[int], itemsize: int) -> Matrices | None:
    """
    Return the layout in which cuBLAS can read an array of matrices along its last two axes; None if it cannot.

    >>> layout((3, 4), (16, 4), 4), layout((3, 4), (4, 12), 4), layout((2, 3, 4), (48, 16, 4), 4), layout((3, 4), (32, 8), 4)
    (Matrices(transposed=False, leading=4, stride=0), Matrices(transposed=True, leading=3, stride=0), \
Matrices(transposed=False, leading=4, stride=12), None)
    """
    *outer, rows, columns = shape
    if any(s % itemsize for s in strides):
        return None
    *jumps, down, right = [s // itemsize for s in strides]
    jump = 0
    if prod(outer) > 1:
        steps = [(n, s) for n, s in zip(outer, jumps, strict=True) if n != 1]
        jump = steps[-1][1]
        if any(a != b * n for (_, a), (n, b) in pairwise(steps)) or jump < 0:
            return None
    if (right == 1 or columns == 1) and (down >= columns or rows == 1):
        return Matrices(False, max(down if rows > 1 else columns, columns, 1), jump)
    if (down == 1 or rows == 1) and (right >= rows or columns == 1):
        return Matrices(True, max(right if columns > 1 else rows, rows, 1), jump)
    return None


@dataclass
class Cublas:
    """A handle for one device, with its workspace. Not for several threads at once."""

    library: Any
    workspace: Any
    """Memory that what follows may use, with its address in `ptr` and bytes in `size`; None for cuBLAS's own."""
    handle: Any = None

    def __post_init__(self) -> None:
        self.handle = c_void_p()
        self._check("cublasCreate_v2", byref(self.handle))
        if self.workspace is not None:
            self._workspace()

    def _workspace(self) -> None:
        self._check("cublasSetWorkspace_v2", self.handle, c_void_p(self.workspace.ptr), ctypes.c_size_t(self.workspace.size))

    def use(self, stream: int) -> None:
        """Run what follows on a stream, which makes cuBLAS forget the workspace."""
        self._check("cublasSetStream_v2", self.handle, c_void_p(stream))
        if self.workspace is not None:
            self._workspace()

    def multiply(self, a: Array, b: Array, out: Array, *, tf32: bool = False) -> bool:
        """
        `out = a @ b` over stacks of one shape, which any of `a` and `b` may repeat by strides of 0; False if cuBLAS cannot.

        Of f16 and bf16 the sums are in f32. `out` may have the operands' dtype, or be f32 for narrow ones.
        """
        m, k, n = a.shape[-2], a.shape[-1], b.shape[-1]
        left, right, to = (layout(x.shape, x.strides, x.dtype.itemsize) for x in (a, b, out))
        kind, wide = TYPES.get(a.dtype.name), TYPES.get(out.dtype.name)
        if left is None or right is None or to is None or kind is None or wide is None or a.dtype != b.dtype:
            return False
        largest = max(m, k, n, prod(out.shape[:-2]), left.leading, right.leading, to.leading)
        if wide not in (kind, 0) or not min(m, k, n, prod(out.shape)) or largest >= 1 << 31:
            return False
        if to.transposed:
            return self.multiply(b.swapaxes(-1, -2), a.swapaxes(-1, -2), out.swapaxes(-1, -2), tf32=tf32)
        compute, alpha, beta = _numbers(a.dtype.name, tf32=tf32)
        arguments = [
            *(self.handle, c_int(_T if right.transposed else _N), c_int(_T if left.transposed else _N)),
            *(c_int(n), c_int(m), c_int(k), byref(alpha)),
            *(c_void_p(address(b)), c_int(kind), c_int(right.leading), c_longlong(right.stride)),
            *(c_void_p(address(a)), c_int(kind), c_int(left.leading), c_longlong(left.stride)),
            *(byref(beta), c_void_p(address(out)), c_int(wide), c_int(to.leading), c_longlong(to.stride)),
            *(c_int(prod(out.shape[:-2])), c_int(compute), c_int(_DEFAULT_ALGORITHM)),
        ]
        self._check("cublasGemmStridedBatchedEx", *arguments)
        return True

    def _check(self, name: str, *arguments: Any) -> None:
        status = int(getattr(self.library, name)(*arguments))
        if status:
            raise error("E6008", f"{name} of cuBLAS ended with status {status}", device="cuda", status=str(status))


def _numbers(dtype: str, *, tf32: bool) -> tuple[int, Any, Any]:
    """Return the type that cuBLAS computes in, and 1 and 0 as it takes them."""
    if dtype in ("float64", "complex128"):
        kind, compute = c_double, _F64
    else:
        kind, compute = c_float, F32_TF32 if tf32 and dtype in ("float32", "complex64") else F32
    if dtype.startswith("complex"):
        return compute, (kind * 2)(1, 0), (kind * 2)(0, 0)
    return compute, kind(1), kind(0)


def address(x: Array) -> int:
    """Return the address of an array, on the GPU or, in tests, in memory."""
    return x.ctypes.data if hasattr(x, "ctypes") else x.data.ptr


def loaded(names: Iterable[str]) -> Any | None:
    """Return the first library of some names that can be loaded."""
    for name in names:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


def find_library() -> Any:
    """cuBLAS as CuPy has loaded it; E6002 without it."""
    if (found := loaded(SONAMES)) is not None:
        return found
    message = f"products on the GPU need cuBLAS, and none of {list(SONAMES)} can be loaded: pip install 'mind-dialect[cupy]'"
    raise error("E6002", message, requested="cublas", available=[])
