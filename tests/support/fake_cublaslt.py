"""A cuBLASLt that is none: products by columns with the epilogues of its documentation, by NumPy on the pointers it is given."""

from __future__ import annotations

from typing import Any

import numpy as np

from fake_cublas import columns

SIZES = {3: 4, 4: 4, 7: 4, 8: 8, 11: 8, 12: 8, 26: 4}
"""Bytes of each attribute of an operation."""
BIAS, GELU, AUX, DGELU, BGRAD, BGRADA = 4, 32, 128, 64, 16, 256
"""Bits of an epilogue."""


def gelu(x: np.ndarray) -> np.ndarray:
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def gelu_slope(x: np.ndarray) -> np.ndarray:
    """By central differences."""
    x = x.astype(np.float64)
    return (gelu(x + 1e-5) - gelu(x - 1e-5)) / 2e-5


class FakeCublasLt:
    """What a call asks for is kept until it is destroyed; `refuses` are epilogues without an algorithm."""

    def __init__(self, refuses: tuple[int, ...] = ()) -> None:
        self.objects: dict[int, Any] = {}
        self.refuses = refuses
        self.computes: list[int] = []
        self.epilogues: list[int] = []
        self.searches = 0

    def _make(self, pointer: Any, value: Any) -> int:
        number = max(self.objects, default=0) + 1
        self.objects[number] = value
        pointer._obj.value = number
        return 0

    def cublasLtCreate(self, handle: Any) -> int:
        return 0

    def cublasLtMatmulDescCreate(self, pointer: Any, compute: Any, scale: Any) -> int:
        return self._make(pointer, {"compute": compute.value, "scale": scale.value})

    def cublasLtMatrixLayoutCreate(self, pointer: Any, kind: Any, rows: Any, count: Any, leading: Any) -> int:
        sizes = (kind.value, rows.value, count.value, leading.value)
        return self._make(pointer, sizes) if leading.value >= rows.value else 7

    def cublasLtMatmulPreferenceCreate(self, pointer: Any) -> int:
        return self._make(pointer, {})

    def _destroy(self, which: Any) -> int:
        del self.objects[which.value]
        return 0

    cublasLtMatmulDescDestroy = cublasLtMatrixLayoutDestroy = cublasLtMatmulPreferenceDestroy = _destroy

    def cublasLtMatmulDescSetAttribute(self, which: Any, attribute: Any, value: Any, size: Any) -> int:
        if SIZES.get(attribute.value) != size.value:
            return 7
        self.objects[which.value][attribute.value] = value._obj.value
        return 0

    def cublasLtMatmulPreferenceSetAttribute(self, which: Any, attribute: Any, value: Any, size: Any) -> int:
        if size.value != (8 if attribute.value == 1 else 4):
            return 7
        self.objects[which.value][attribute.value] = value._obj.value
        return 0

    def cublasLtMatmulAlgoGetHeuristic(self, handle: Any, desc: Any, *rest: Any) -> int:
        self.searches += 1
        *_, preference, asked, found, count = rest
        assert asked.value == 1
        assert self.objects[preference.value][1] > 0
        if self.objects[desc.value].get(7) in self.refuses:
            return 15  # not supported
        found._obj.algorithm[0] = 42
        count._obj.value = 1
        return 0

    def cublasLtMatmul(self, handle: Any, desc: Any, alpha: Any, a: Any, la: Any, b: Any, lb: Any, beta: Any, *rest: Any) -> int:
        _, _, d, ld, algorithm, *_ = rest
        if algorithm._obj[0] != 42:
            return 7
        wanted = self.objects[desc.value]
        x, y, out = (self._matrix(p, self.objects[layout.value]) for p, layout in ((a, la), (b, lb), (d, ld)))
        x, y = x.T if wanted.get(3) else x, y.T if wanted.get(4) else y
        product = x.astype(np.float32) @ y.astype(np.float32)
        if product.shape != out.shape:
            return 7
        epilogue = wanted.get(7, 1)
        self.epilogues.append(epilogue)
        self.computes.append(wanted["compute"])
        result, vector = product, None
        if epilogue & BIAS:
            result = product + self._vector(wanted, out)[:, None].astype(np.float32)
        if epilogue & AUX:
            if wanted[12] % 8 or wanted[12] < out.shape[0]:
                return 7
            matrix = columns(wanted[11], self._kind(out), *out.shape, wanted[12], 0, 1)[0]
            if epilogue & DGELU:
                result = (product * gelu_slope(matrix.astype(np.float32))).astype(np.float32)
            else:
                matrix[...] = result.astype(out.dtype)
        if epilogue & GELU:
            result = gelu(result)
        if epilogue & DGELU and epilogue & BGRAD:
            vector = result.sum(1)
        if epilogue == BGRADA:
            vector = x.astype(np.float32).sum(1)
        out[...] = result.astype(out.dtype)
        if vector is not None:
            self._vector(wanted, out)[...] = vector.astype(out.dtype)
        return 0

    def _matrix(self, pointer: Any, layout: tuple[int, int, int, int]) -> np.ndarray:
        kind, rows, count, leading = layout
        return columns(pointer.value, kind, rows, count, leading, 0, 1)[0]

    def _kind(self, x: np.ndarray) -> int:
        return {"float16": 2, "bfloat16": 14, "float32": 0}[x.dtype.name]

    def _vector(self, wanted: dict[Any, int], out: np.ndarray) -> np.ndarray:
        assert wanted[26] == self._kind(out), "a vector has the dtype of the product"
        return columns(wanted[8], wanted[26], out.shape[0], 1, out.shape[0], 0, 1)[0, :, 0]
