"""Machine code of kernels is kept on disk by content; what is damaged, or cannot be kept, does no harm."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import pytest

from cuda_emulation import nvrtc
from mind_dialect.errors import MindError
from mind_lowering import code_cache
from mind_lowering.cupy.cuda_cpp.nvrtc import architecture, library, machine_code, machine_codes
from mind_lowering.cupy.cuda_cpp.text import modules

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


def test_several_modules_are_compiled_side_by_side_in_their_order() -> None:
    counting, sources = Counting(), [SOURCE + "\n" * i for i in range(5)]
    inside = threading.Barrier(2, timeout=20)

    class Meeting(Counting):
        def compileProgram(self, program: Any, options: Any) -> None:
            if os.cpu_count() != 1 and sources.index(program) < 2:
                inside.wait()  # the first two at once
            counting.compileProgram(program, options)

        def __getattr__(self, name: str) -> Any:
            ways = {"createProgram": lambda source, *_: source, "getCUBIN": lambda program: b"\x7fELF" + program.encode()}
            return ways.get(name) or super().__getattr__(name)

    codes = machine_codes(sources, "sm_90", Meeting())
    assert codes == [b"\x7fELF" + source.encode() for source in sources]
    assert counting.compiled == 5
    assert machine_codes(sources, "sm_90", Meeting()) == codes
    assert counting.compiled == 5


def test_an_error_of_one_of_several_modules_is_that_of_all() -> None:
    class Refusing(Counting):
        def compileProgram(self, program: Any, options: Any) -> None:
            raise RuntimeError("refused")

        def __getattr__(self, name: str) -> Any:
            return (lambda _: "a log") if name == "getProgramLog" else super().__getattr__(name)

    with pytest.raises(MindError, match="a log") as e:
        machine_codes([SOURCE, SOURCE + "\n"], "sm_90", Refusing())
    assert e.value.code == "E7004"


def test_the_kernels_of_a_text_are_in_modules_by_their_names() -> None:
    """Those that take long by themselves; every kernel in one of them, and none twice."""
    names = [f"f_k{i}" for i in range(7)]
    opening = 'extern "C" __global__ void __launch_bounds__(256) '
    kernels = [f"{opening}{n}(float* x)\n{{\n    {'mind::draw();' if n == 'f_k3' else ''}\n}}\n" for n in names]
    found = modules("\n".join(kernels))
    assert [held for _, held in found] == [["f_k3"], ["f_k0", "f_k1", "f_k2", "f_k4"], ["f_k5", "f_k6"]]
    for source, held in found:
        assert [n for n in names if f" {n}(" in source] == held
        assert ("philox" in source) == (held == ["f_k3"])


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
