"""What we ask of CuPy is there under these names, as far as that can be seen without a GPU."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import pytest

import mind_lowering
import mind_runtime

FILES = (
    *(Path(mind_runtime.__file__).parent / f"cupy/{name}.py" for name in ("gpu", "arguments", "runner", "tape", "lanes")),
    *(Path(mind_lowering.__file__).parent / f"cupy/{name}.py" for name in ("launching", "cuda_cpp/nvrtc")),
)


@pytest.fixture(scope="module")
def cupy() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("cupy", reason="no CuPy: its names cannot be looked up")


def test_every_name_of_cupy_in_our_text_exists(cupy: Any) -> None:
    text = "\n".join(path.read_text() for path in FILES)
    names = set(re.findall(r"\bcupy\.((?:cuda|ndarray|copyto|array|asarray)(?:\.\w+)*)", text.replace("self.cupy", "cupy")))
    names |= {f"cuda.{name}" for name in re.findall(r"\bcuda\.(\w+)", text)}
    ours = {"cuda.nvrtc.createProgram", "cuda.function", "cuda.nvrtc"}
    assert {"cuda.UnownedMemory", "cuda.MemoryPointer", "cuda.using_allocator", "cuda.Stream"} <= names
    for name in sorted((names | ours) - {"cuda.cublas"}):
        found = cupy
        for part in name.split("."):
            assert hasattr(found, part), name
            found = getattr(found, part)


@pytest.mark.parametrize(
    ("where", "names"),
    [
        ("cuda.Stream", ("begin_capture", "end_capture", "record", "wait_event", "__enter__")),
        ("cuda.Graph", ("launch",)),
        ("cuda.Event", ("record", "synchronize")),
        ("cuda.MemoryPool", ("malloc",)),
        ("cuda.MemoryPointer", ("ptr", "copy_from_device_async", "__add__")),
        ("cuda.Device", ("attributes", "compute_capability", "mem_info", "id")),
        ("cuda.function.Module", ("load", "get_function")),
        ("ndarray", ("data", "flags", "set", "get", "fill", "device", "nbytes", "strides")),
        ("cuda.runtime", ("getDeviceCount", "getDeviceProperties", "driverGetVersion", "CUDARuntimeError")),
        (
            "cuda.nvrtc",
            ("createProgram", "compileProgram", "getCUBIN", "getPTX", "getProgramLog", "getSupportedArchs", "NVRTCError"),
        ),
    ],
)
def test_what_its_objects_can_do(cupy: Any, where: str, names: tuple[str, ...]) -> None:
    found = cupy
    for part in where.split("."):
        found = getattr(found, part)
    assert [n for n in names if not hasattr(found, n)] == []


def test_arrays_over_memory_that_is_ours(cupy: Any) -> None:
    import numpy as np

    from mind_lowering.ptir_kernels.formats import array_dtype
    from mind_runtime.cupy.gpu import Gpu, Room

    cuda = cupy.cuda
    machine = object.__new__(Gpu)
    machine.cupy, machine.device = cupy, 0
    pointer = cuda.MemoryPointer(cuda.UnownedMemory(4096, 1024, None, 0), 0)
    room = Room(pointer, 4096, 1024)
    for name in ("f32", "i1", "si64", "f16", *(["bf16"] if pytest.importorskip("ml_dtypes") else [])):
        dtype = array_dtype(name)
        size = dtype.itemsize
        made = machine.array(room, 256, (3, 4), (4 * size, size), dtype)
        assert (made.data.ptr, made.shape, made.dtype, made.flags.c_contiguous) == (4352, (3, 4), dtype, True)
        assert machine.room_of(made).address == machine.address(made) == 4352
        turned = machine.array(room, 0, (4, 3), (size, 4 * size), dtype)
        assert not turned.flags.c_contiguous
        assert machine.is_here(turned)
    assert machine.array(room, 0, (), (), np.dtype("float32")).shape == ()
