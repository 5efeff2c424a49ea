"""
cuBLASLt by its C interface, for products with an epilogue: a bias, GELU by tanh, and their gradients, as the product is written.

CuPy does not reach cuBLASLt; the library comes with cuBLAS. Nothing is allocated by a call, so that a CUDA graph can hold it.
Matrices are as in `cublas.py`: what is C = A B by rows is C' = B' A' by columns, so that a row here is a column there.
"""

from __future__ import annotations

import ctypes
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from ctypes import byref, c_float, c_int, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from mind_dialect.errors import error
from mind_passes.ptir.patterns.product_epilogue import BGRAD, BIAS, DGELU, DGELU_BGRAD, GELU_AUX_BIAS, GELU_BIAS

from .cublas import F32, F32_TF32, TYPES, Matrices, address, layout, loaded

Array = Any
SONAMES = ("libcublasLt.so.13", "libcublasLt.so.12")
EPILOGUES = {BIAS: 4, GELU_BIAS: 36, GELU_AUX_BIAS: 164, DGELU: 192, DGELU_BGRAD: 208, BGRAD: 256}
"""cublasLtEpilogue_t; the last one is BGRADA, as the right operand is the library's first."""
DTYPES = ("float16", "bfloat16", "float32")
TRANSPOSE_A, TRANSPOSE_B, EPILOGUE, VECTOR, MATRIX, MATRIX_LEADING, VECTOR_TYPE = 3, 4, 7, 8, 11, 12, 26
"""cublasLtMatmulDescAttributes_t: the vector is a bias or its gradient, the matrix what GELU is applied to."""
WORKSPACE, ALIGNMENTS = 1, (5, 6, 7, 8)
"""cublasLtMatmulPreferenceAttributes_t."""
MOST_ALIGNED = 256


class Heuristic(ctypes.Structure):
    """cublasLtMatmulHeuristicResult_t: an algorithm, and what it needs."""

    _fields_ = (
        ("algorithm", c_uint64 * 8),
        ("workspace", c_size_t),
        ("state", c_int),
        ("waves", c_float),
        ("reserved", c_int * 4),
    )


@dataclass
class CublasLt:
    """A handle for one device. Not for several threads at once."""

    library: Any
    handle: Any = None
    found: dict[Any, Heuristic | None] = field(default_factory=dict[Any, "Heuristic | None"])
    """The algorithm for each form, sizes and layouts; None where the library has none."""

    def __post_init__(self) -> None:
        self.handle = c_void_p()
        self._check("cublasLtCreate", byref(self.handle))

    def multiply(
        self,
        form: str,
        operands: Sequence[Array],
        results: Sequence[Array],
        workspace: Any,
        stream: int,
        *,
        tf32: bool = False,
    ) -> bool:
        """
        Enqueue a product and its epilogue; False if the library has no algorithm for it.

        Operands are matrices a and b and the vector or matrix of the form, results the product and its second result.
        """
        a, b, out = operands[0], operands[1], results[0]
        left, right, to = (layout(x.shape, x.strides, x.dtype.itemsize) for x in (a, b, out))
        if left is None or right is None or to is None or to.transposed or a.dtype != b.dtype or a.dtype.name not in DTYPES:
            return False
        sizes = (*a.shape, b.shape[1])
        vector, matrix = _extras(form, operands[2:], results[1:])
        leading = 0 if matrix is None else matrix.strides[0] // matrix.dtype.itemsize
        addresses = [address(x) for x in (b, a, out)]
        aligned = [_alignment(x) for x in (*addresses[:2], addresses[2], addresses[2])]
        key = (form, sizes, left, right, to, leading, a.dtype.name, tf32, tuple(aligned), workspace.size)
        kind = TYPES[a.dtype.name]
        with (
            self._descriptor(form, left, right, kind, vector, matrix, leading, tf32=tf32) as desc,
            self._layouts(kind, sizes, left, right, to) as layouts,
        ):
            if key not in self.found:
                self.found[key] = self._algorithm(desc, layouts, aligned, workspace.size)
            if (algorithm := self.found[key]) is None:
                return False
            one, zero, (x, y, z) = c_float(1), c_float(0), map(c_void_p, addresses)
            arguments = [byref(one), x, layouts[0], y, layouts[1], byref(zero), z, layouts[2], z, layouts[2]]
            room = [c_void_p(workspace.ptr), c_size_t(workspace.size), c_void_p(stream)]
            self._check("cublasLtMatmul", self.handle, desc, *arguments, byref(algorithm.algorithm), *room)
        return True

    @contextmanager
    def _descriptor(
        self, form: str, left: Matrices, right: Matrices, kind: int, vector: Array, matrix: Array, leading: int, *, tf32: bool
    ) -> Generator[Any]:
        """The description of the operation, without sizes."""
        desc = c_void_p()
        self._check("cublasLtMatmulDescCreate", byref(desc), c_int(F32_TF32 if tf32 and kind == 0 else F32), c_int(0))
        values = {
            TRANSPOSE_A: c_int32(right.transposed),
            TRANSPOSE_B: c_int32(left.transposed),
            EPILOGUE: c_uint32(EPILOGUES[form]),
        }
        if vector is not None:
            values |= {VECTOR: c_void_p(address(vector)), VECTOR_TYPE: c_int32(kind)}
        if matrix is not None:
            values |= {MATRIX: c_void_p(address(matrix)), MATRIX_LEADING: c_int64(leading)}
        try:
            for attribute, value in values.items():
                self._set("cublasLtMatmulDescSetAttribute", desc, attribute, value)
            yield desc
        finally:
            self.library.cublasLtMatmulDescDestroy(desc)

    @contextmanager
    def _layouts(self, kind: int, sizes: tuple[int, int, int], left: Matrices, right: Matrices, to: Matrices) -> Generator[Any]:
        """The layouts of the library's first operand, its second, and the product."""
        m, k, n = sizes
        shapes = [(k, n) if right.transposed else (n, k), (m, k) if left.transposed else (k, m), (n, m)]
        made: list[Any] = []
        try:
            for (rows, columns), x in zip(shapes, (right, left, to), strict=True):
                made.append(c_void_p())
                shape = [c_uint64(rows), c_uint64(columns), c_int64(x.leading)]
                self._check("cublasLtMatrixLayoutCreate", byref(made[-1]), c_int(kind), *shape)
            yield made
        finally:
            for one in made:
                self.library.cublasLtMatrixLayoutDestroy(one)

    def _algorithm(self, desc: Any, layouts: Sequence[Any], aligned: Sequence[int], workspace: int) -> Heuristic | None:
        """Return the algorithm that the library takes for the best."""
        preference, found, count = c_void_p(), Heuristic(), c_int(0)
        self._check("cublasLtMatmulPreferenceCreate", byref(preference))
        try:
            self._set("cublasLtMatmulPreferenceSetAttribute", preference, WORKSPACE, c_uint64(workspace))
            for attribute, alignment in zip(ALIGNMENTS, aligned, strict=True):
                self._set("cublasLtMatmulPreferenceSetAttribute", preference, attribute, c_uint32(alignment))
            x, y, z = layouts
            arguments = [self.handle, desc, x, y, z, z, preference, c_int(1), byref(found), byref(count)]
            status = int(self.library.cublasLtMatmulAlgoGetHeuristic(*arguments))
        finally:
            self.library.cublasLtMatmulPreferenceDestroy(preference)
        return found if status == 0 and count.value and found.state == 0 else None

    def _set(self, name: str, target: Any, attribute: int, value: Any) -> None:
        self._check(name, target, c_int(attribute), byref(value), c_size_t(ctypes.sizeof(value)))

    def _check(self, name: str, *arguments: Any) -> None:
        status = int(getattr(self.library, name)(*arguments))
        if status:
            raise error("E6008", f"{name} of cuBLASLt ended with status {status}", device="cuda", status=str(status))


def _extras(form: str, operands: Sequence[Array], results: Sequence[Array]) -> tuple[Array, Array]:
    """Return the vector of a form, and its matrix."""
    if form in (DGELU, DGELU_BGRAD):
        return (results[0] if results else None), operands[0]
    if form == BGRAD:
        return results[0], None
    return operands[0], (results[0] if results else None)


def _alignment(address: int) -> int:
    """Return the greatest power of two, up to 256, that an address is a multiple of."""
    return min(address & -address, MOST_ALIGNED)


@lru_cache(maxsize=1)
def find_library() -> Any:
    """cuBLASLt, which lies next to cuBLAS; E6002 without it."""
    if (found := loaded(SONAMES)) is not None:
        return found
    cure = "pip install 'mind-dialect[cupy]', or leave the option out"
    message = f"the option epilogues of cupy needs cuBLASLt, and none of {list(SONAMES)} can be loaded: {cure}"
    raise error("E6002", message, requested="cublasLt", available=[])
