"""Machine code of kernels is kept on disk by content; what is damaged, or cannot be kept, does no harm."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cuda_emulation import nvrtc
from mind_dialect.errors import MindError
from mind_lowering import code_cache
from mind_lowering.cupy.nvrtc import architecture, library, machine_code

SOURCE = 'extern "C" __global__ void f(float* x) { x[threadIdx.x] = x[threadIdx.x] * 0.5f; }'


class Counting:
    """NVRTC as CuPy has it, or a stand-in, which counts what is compiled."""

    def __init__(self, inner: Any = None):
        self.inner, self.compiled = inner, 0
        self.NVRTCError = getattr(inner, "NVRTCError", RuntimeError)

    def __getattr__(self, name: str) -> Any:
        if self.inner is not None:
            return getattr(self.inner, name)
        stand_in = {
            "createProgram": lambda *_: 1,
            "destroyProgram": lambda _: None,
            "getVersion": lambda: (13, 0),
            "getCUBIN": lambda _: b"\x7fELF code",
            "getPTX": lambda _: b".version 9.0",
            "getSupportedArchs": lambda: [75, 90, 120],
        }
        return stand_in[name]

    def compileProgram(self, program: Any, options: Any) -> None:
        self.compiled += 1
        if self.inner is not None:
            self.inner.compileProgram(program, options)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(code_cache.VARIABLE, str(tmp_path))
    return tmp_path / "cupy"


def test_equal_text_is_compiled_once_for_each_machine(own_cache: Path) -> None:
    counting = Counting()
    first = machine_code(SOURCE, "sm_90", counting)
    assert machine_code(SOURCE, "sm_90", counting) == first
    assert counting.compiled == 1
    machine_code(SOURCE, "sm_80", counting)
    machine_code(SOURCE + "\n", "sm_90", counting)
    assert counting.compiled == 3
    assert len(list(own_cache.iterdir())) == 3


@pytest.mark.parametrize("damage", ["cut", "changed", "other"])
def test_a_damaged_file_is_no_find(own_cache: Path, damage: str) -> None:
    counting = Counting()
    first = machine_code(SOURCE, "sm_90", counting)
    (file,) = own_cache.iterdir()
    data = file.read_bytes()
    if damage == "other":
        code_cache.write(file.name, b"no machine code", "cupy")
    else:
        file.write_bytes(data[:-3] if damage == "cut" else data[:-1] + b"?")
    assert machine_code(SOURCE, "sm_90", counting) == first
    assert counting.compiled == 2
    assert machine_code(SOURCE, "sm_90", counting) == first
    assert counting.compiled == 2


@pytest.mark.parametrize("place", ["", "/proc/nowhere", "/dev/null/x"])
def test_without_a_folder_every_time_is_the_first(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(code_cache.VARIABLE, place)
    counting = Counting()
    assert machine_code(SOURCE, "sm_90", counting) == machine_code(SOURCE, "sm_90", counting)
    assert counting.compiled == 2


def test_a_newer_gpu_gets_code_that_its_driver_finishes() -> None:
    counting = Counting()
    assert [architecture(c, counting) for c in ("80", "120", "130")] == ["sm_80", "sm_120", "compute_120"]
    assert machine_code(SOURCE, "compute_120", counting).endswith(b"\0")


def test_nvrtc_itself() -> None:
    counting = Counting(nvrtc())
    assert library().getVersion() == counting.getVersion()
    assert architecture("90") == "sm_90"
    code = machine_code(SOURCE, "sm_90", counting)
    assert code.startswith(b"\x7fELF")
    assert machine_code(SOURCE, "sm_90", counting) == code
    assert counting.compiled == 1
    with pytest.raises(MindError, match="refuses") as e:
        machine_code("no C++", "sm_90", counting)
    assert e.value.code == "E7004"
