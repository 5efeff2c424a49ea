"""What runs kernels on the CPU finds the faults that it is there to find, and goes on after each."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np
import pytest

from cuda_emulation import ORDERS, EmulationError, library

SIGNATURE = 'extern "C" __global__ void {name}(const float* x, float* y) {{ unsigned i = threadIdx.x; {body} }}'
SUM = "float s = x[i]; for (int d = 16; d; d /= 2) s += __shfl_xor_sync(0xffffffffu, s, d); y[i + 64 * blockIdx.x] = s;"
BODIES = {
    "turned": "__shared__ float s[64]; s[i] = x[i]; __syncthreads(); y[i + 64 * blockIdx.x] = s[63 - i];",
    "summed": SUM,
    "unsynchronised": "__shared__ float s[64]; s[i] = x[i]; y[i + 64 * blockIdx.x] = s[63 - i];",
    "half_a_barrier": "if (i < 40) __syncthreads(); y[i] = 1;",
    "half_a_warp": f"if (i % 2) {{ {SUM} }}",
    "lanes": "y[i] = __shfl_xor_sync(0xffffu, x[i], 1);",
}


@pytest.fixture(scope="module")
def run() -> Callable[..., np.ndarray]:
    """Two blocks of 64 threads, or of as many as there should be."""
    found = library("\n".join(SIGNATURE.format(name=n, body=b) for n, b in BODIES.items()), tuple(BODIES))

    def launched(name: str, order: int = 0, threads: int = 64) -> np.ndarray:
        x, y = np.arange(64, dtype=np.float32), np.empty((2, 64), np.float32)
        entry = getattr(found, f"launch_{name}")
        entry.restype = ctypes.c_char_p
        if (issue := entry((ctypes.c_void_p * 2)(x.ctypes.data, y.ctypes.data), 2, threads, order)) is not None:
            raise EmulationError(issue.decode())
        return y

    return launched


@pytest.mark.parametrize("order", ORDERS)
def test_threads_meet(run: Callable[..., np.ndarray], order: int) -> None:
    x = np.arange(64, dtype=np.float32)
    np.testing.assert_array_equal(run("turned", order), [x[::-1]] * 2)
    np.testing.assert_array_equal(run("summed", order), [np.repeat(x.reshape(2, 32).sum(1), 32)] * 2)


def test_what_a_barrier_is_missing_from_depends_on_the_order(run: Callable[..., np.ndarray]) -> None:
    found = [run("unsynchronised", order) for order in (0, 1)]
    assert not np.array_equal(*found)
    rubbish = np.frombuffer(b"\xa5" * 4, np.float32)[0]
    assert (found[0][1, :32] == rubbish).all()  # not what the block before has left


@pytest.mark.parametrize(
    ("name", "issue"),
    [
        ("half_a_barrier", "a shuffle or barrier that not all threads reach"),
        ("half_a_warp", "a shuffle or barrier that not all threads reach"),
        ("lanes", "a shuffle of some lanes"),
    ],
)
@pytest.mark.parametrize("order", ORDERS)
def test_faults_end_a_launch_and_harm_no_other(run: Callable[..., np.ndarray], name: str, issue: str, order: int) -> None:
    with pytest.raises(EmulationError, match=issue):
        run(name, order)
    test_threads_meet(run, order)


@pytest.mark.parametrize("threads", [33, 2048])
def test_blocks_that_no_device_takes(run: Callable[..., np.ndarray], threads: int) -> None:
    with pytest.raises(EmulationError, match="whole number of warps"):
        run("summed", threads=threads)
