"""
Generated kernels without a GPU: compiled by NVRTC for several architectures, and compiled by g++ and run on the CPU.

On the CPU every array lies between canaries, and a kernel runs once for each order of its threads and blocks:
results must be the same bits.
"""

from __future__ import annotations

import ctypes
import hashlib
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mind_lowering.cupy.cuda_cpp.text import NVRTC_OPTIONS, module_text
from mind_lowering.cupy.kernels.kernel import CudaKernel, Launch
from mind_lowering.ptir_kernels.formats import array_dtype

ARCHITECTURES = ("sm_80", "sm_90", "sm_100")
SUPPORT, HEADER = Path(__file__).parent, "cuda_on_cpu.h"
FLAGS = ("-std=c++17", "-O1", "-ffp-contract=off", "-fwrapv", "-fPIC", "-Wall", "-Wno-unknown-pragmas", "-Wno-unused")
ORDERS = (0, 1, 7, 2)
"""Forwards, backwards, shuffled, and warp by warp, which shows where a barrier is missing."""
_CANARY = 256
_FOLDER: list[tempfile.TemporaryDirectory[str]] = []


class EmulationError(AssertionError):
    """A kernel that did what none may do."""


def nvrtc() -> Any:
    """CuPy's bindings of NVRTC, or a visible skip."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # CuPy's own, about a machine without a GPU
        pytest.importorskip("cupy", reason="no CuPy: kernels are not compiled by NVRTC (pip install '.[cupy]')")
        from cupy.cuda import nvrtc as found
    try:
        found.getVersion()
    except Exception as e:  # a CuPy without the library
        pytest.skip(f"NVRTC does not load: {e}")
    return found


def compiled(text: str, architecture: str) -> bytes:
    """The machine code of a module for an architecture; AssertionError with NVRTC's log, also for warnings."""
    library = nvrtc()
    program = library.createProgram(text, "kernels.cu", (), ())
    try:
        library.compileProgram(program, (f"-arch={architecture}", *NVRTC_OPTIONS))
    except library.NVRTCError as e:
        raise AssertionError(f"{architecture}: {library.getProgramLog(program)}\n{text[-4000:]}") from e
    log = library.getProgramLog(program).strip("\0\n ")
    assert not log, f"{architecture}: {log}"
    return library.getCUBIN(program)


def compiler() -> str:
    """g++, or a visible skip."""
    found = shutil.which("g++")
    if found is None:
        pytest.skip("no g++: kernels are not run on the CPU")
    return found


def gpp(*arguments: str | Path) -> str:
    """What g++ says to these arguments; EmulationError where it ends with a failure."""
    done = subprocess.run([compiler(), *FLAGS, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise EmulationError(done.stderr[:4000])
    return done.stderr


@lru_cache(maxsize=1)
def folder() -> Path:
    """Where kernels are compiled: beside a header that g++ has read before, with what runs them loaded."""
    held = tempfile.TemporaryDirectory()
    _FOLDER.append(held)
    made, runs = Path(held.name), Path(held.name) / "cuda_on_cpu.so"
    shutil.copy(SUPPORT / HEADER, made / HEADER)
    assert not gpp("-x", "c++-header", "-o", made / f"{HEADER}.gch", made / HEADER)
    assert not gpp("-shared", "-o", runs, SUPPORT / "cuda_on_cpu.cpp")
    ctypes.CDLL(str(runs), mode=ctypes.RTLD_GLOBAL)
    return made


@lru_cache(maxsize=64)
def library(text: str, names: tuple[str, ...]) -> ctypes.CDLL:
    """The kernels of a module, each to be called by `launch_NAME`."""
    stem = folder() / hashlib.sha256(text.encode()).hexdigest()[:24]
    parameters = "void** arrays, unsigned grid, unsigned threads, unsigned order"
    entries = [
        f'extern "C" const char* launch_{n}({parameters}) {{ return on_cpu::launch({n}, arrays, grid, threads, order); }}'
        for n in names
    ]
    source, made = stem.with_suffix(".cpp"), stem.with_suffix(".so")
    source.write_text("\n".join([f'#include "{HEADER}"', text, *entries, ""]))
    try:
        warnings_of = gpp("-shared", "-o", made, source)
    except EmulationError as e:
        raise EmulationError(f"{e}\n{text[-4000:]}") from None
    if warnings_of:
        raise EmulationError(f"{warnings_of[:4000]}\n{text[-4000:]}")
    return ctypes.CDLL(str(made))


def guarded(count: int, dtype: np.dtype[Any]) -> tuple[np.ndarray, np.ndarray]:
    """Memory for `count` elements, aligned to 256 bytes, and the bytes around and in it."""
    size = count * dtype.itemsize
    whole = np.full(size + 3 * _CANARY, 0xA5, np.uint8)
    start = _CANARY + (-(whole.ctypes.data + _CANARY)) % _CANARY
    return whole[start : start + size].view(dtype), whole


def rubbish(whole: np.ndarray, inside: np.ndarray) -> bool:
    """Whether bytes around an array have been written to."""
    low = inside.ctypes.data - whole.ctypes.data
    return bool((whole[:low] != 0xA5).any() or (whole[low + inside.nbytes :] != 0xA5).any())


def launch(
    entry: Any, how: Launch, inputs: Sequence[np.ndarray], record: np.ndarray | None = None, order: int = 0
) -> list[np.ndarray]:
    """One launch on the CPU; the arrays that it makes."""
    arrays: list[tuple[np.ndarray, np.ndarray]] = []
    for x in inputs:
        inside, whole = guarded(x.size, x.dtype)
        inside[:] = np.ascontiguousarray(x).reshape(-1)
        arrays.append((inside, whole))
    for dtype, shape in how.outputs:
        arrays.append(guarded(int(np.prod(shape)), array_dtype(dtype.name)))
    if how.scratch:
        arrays.append(guarded(how.scratch, np.dtype("u1")))
        counters, whole = guarded(how.counters, np.dtype("u4"))
        counters[:] = 0
        arrays.append((counters, whole))
    if how.fails:
        assert record is not None
        arrays.append((record, record.view("u1")[:0]))
    if how.grid:
        entry.restype = ctypes.c_char_p
        pointers = (ctypes.c_void_p * len(arrays))(*(inside.ctypes.data for inside, _ in arrays))
        if (issue := entry(pointers, how.grid, how.block, order)) is not None:
            raise EmulationError(issue.decode())
    for i, (inside, whole) in enumerate(arrays):
        if whole.size and rubbish(whole, inside):
            raise EmulationError(f"array {i} of {len(arrays)} is written to beyond its ends")
    made = arrays[len(inputs) : len(inputs) + len(how.outputs)]
    return [inside.reshape(shape) for (inside, _), (_, shape) in zip(made, how.outputs, strict=True)]


def run(
    kernel: CudaKernel, inputs: Sequence[np.ndarray], entry: Any = None, record: np.ndarray | None = None
) -> list[np.ndarray]:
    """What a kernel makes of its inputs, the same in every order of threads and blocks."""
    if entry is None:
        entry = library(module_text([kernel.named("kernel")]), ("kernel",)).launch_kernel
    first: list[np.ndarray] = []
    for order in ORDERS:
        made = launch(entry, kernel.launch, inputs, record, order)
        first = first or made
        for a, b in zip(first, made, strict=True):
            if a.tobytes() != b.tobytes():
                raise EmulationError(f"other results where threads run in order {order}")
    return first
