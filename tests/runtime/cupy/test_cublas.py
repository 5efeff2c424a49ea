"""The binding of cuBLAS against a cuBLAS that is none: its product, by columns, computed by NumPy on the pointers it is given."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from fake_cublas import FakeCublas
from mind_dialect.errors import MindError
from mind_lowering.cupy.products.cublas import SONAMES, Cublas, layout


def product(a: Any, b: Any, out: Any = None, **options: Any) -> Any:
    out = np.full((*a.shape[:-1], b.shape[-1]), 7, a.dtype) if out is None else out
    assert Cublas(FakeCublas(), None).multiply(a, b, out, **options)
    return out


def numbers(*shape: int, dtype: Any = np.float32, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


SIZES = [(2, 3, 4), (1, 3, 4), (2, 1, 4), (2, 3, 1), (1, 1, 1), (5, 1, 1), (1, 1, 5), (1, 5, 1), (16, 8, 24)]


@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("sizes", SIZES)
def test_any_order_of_the_operands(sizes: tuple[int, int, int], left: bool, right: bool) -> None:
    m, k, n = sizes
    a = numbers(k, m).T if left else numbers(m, k)
    b = numbers(n, k, seed=1).T if right else numbers(k, n, seed=1)
    np.testing.assert_allclose(product(a, b), a @ b, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.complex64, np.complex128])
def test_every_dtype(dtype: Any) -> None:
    a, b = numbers(3, 4, dtype=dtype), numbers(4, 5, dtype=dtype, seed=1)
    np.testing.assert_allclose(product(a, b), a @ b, rtol=4e-3, atol=4e-3)


def test_stacks_parts_of_matrices_and_operands_that_repeat() -> None:
    a, b = numbers(2, 3, 4, 5), numbers(2, 3, 5, 6, seed=1)
    np.testing.assert_allclose(product(a, b), a @ b, rtol=1e-5, atol=1e-5)
    whole = numbers(3, 7, 9)
    np.testing.assert_allclose(product(whole[:, 1:4, 2:6], b[0, :, :4]), whole[:, 1:4, 2:6] @ b[0, :, :4], rtol=1e-5, atol=1e-5)
    same = np.broadcast_to(b[0, 0], (3, 5, 6))
    np.testing.assert_allclose(product(a[1], same), a[1] @ same, rtol=1e-5, atol=1e-5)
    out = np.zeros((3, 6, 4), np.float32).swapaxes(1, 2)
    np.testing.assert_allclose(product(a[0], b[0], out), a[0] @ b[0], rtol=1e-5, atol=1e-5)
    wide = product(numbers(3, 4, dtype=np.float16), numbers(4, 5, dtype=np.float16), np.zeros((3, 5), np.float32))
    assert wide.dtype == np.float32


def test_what_cublas_cannot_read_is_left_to_others() -> None:
    cublas = Cublas(FakeCublas(), None)
    a, b, out = numbers(6, 8), numbers(8, 5), np.zeros((6, 5), np.float32)
    assert not cublas.multiply(a.astype(np.int32), b.astype(np.int32), out.astype(np.int32))
    assert not cublas.multiply(a[::-1], b, out)
    assert not cublas.multiply(a[:, ::2], b[::2], out)
    assert not cublas.multiply(a, b, out.astype(np.float64))
    assert not cublas.multiply(a[:0], b, out[:0])
    assert layout((2, 3, 4, 5), (5 * 4 * 4, 999 * 4, 20, 4), 4) is None


def test_tf32_only_when_asked_and_only_of_f32() -> None:
    library = FakeCublas()
    cublas = Cublas(library, None)
    for dtype in (np.float32, np.float64, np.float16):
        for tf32 in (False, True):
            a, b = numbers(3, 4, dtype=dtype), numbers(4, 5, dtype=dtype)
            cublas.multiply(a, b, np.zeros((3, 5), dtype), tf32=tf32)
    assert library.computes == [68, 77, 70, 70, 68, 68]


def test_each_stream_gets_the_workspace_and_failures_are_coded() -> None:
    class Room:
        ptr, size = 4096, 1 << 20

    library = FakeCublas()
    Cublas(library, Room()).use(17)
    assert (library.streams, library.workspaces) == ([17], [(4096, 1 << 20)] * 2)
    Room.ptr = 8
    with pytest.raises(MindError, match="status 7") as e:
        Cublas(library, Room())
    assert e.value.code == "E6008"


def test_the_library_has_these_functions() -> None:
    pytest.importorskip("cupy", reason="no CuPy, and so no cuBLAS to look into")
    import glob
    import importlib.util

    spec = importlib.util.find_spec("nvidia")
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
    found = [f for place in places for name in SONAMES for f in glob.glob(f"{place}/*/lib/{name}")]
    if not found:
        pytest.skip("no cuBLAS beside CuPy")
    library = ctypes.CDLL(found[0])
    for name in ("cublasCreate_v2", "cublasSetWorkspace_v2", "cublasSetStream_v2", "cublasGemmStridedBatchedEx"):
        assert hasattr(library, name)
