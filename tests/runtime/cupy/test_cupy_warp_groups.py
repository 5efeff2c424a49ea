"""
Attention by `wgmma`: what four warps multiply together is rubbish unless it is fenced, committed and awaited.

The emulation reads the right operand by its descriptor, and only what was shown to it. Each fence, wait and barrier is taken out,
and each number of a descriptor changed in turn, which must show: by what the emulation refuses, or by wrong results.
"""

from __future__ import annotations

import ctypes
import re
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mind_runtime
from attention_gradients import attend, causal, qkv
from cuda_emulation import ORDERS, EmulationError, compiled, compiler, library, nvrtc
from fake_device import FakeDevice
from mind_dialect.program import functions
from mind_lowering.cupy.cuda_cpp import text
from mind_lowering.cupy.cuda_cpp.nvrtc import with_features
from mind_lowering.cupy.launching import CupyKernels
from mind_lowering.cupy.options import CupyOptions
from mind_lowering.cupy.prepare import prepared
from mind_runtime.on_cupy import CupyProgram
from ptir_forms import program

sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks"))

from gpu_report import compiled as usage_of

pytest.importorskip("ml_dtypes", reason="no ml_dtypes: narrow floats have no arrays to compare with")
ON = CupyOptions(graph=False, warp_groups=True)
CASES: dict[str, Any] = {
    "dense": (qkv("bf16", "2,", 70, 100, 64, 64), attend),
    "f16": (qkv("f16", "", 9, 130, 64, 64), attend),
    "causal": (qkv("bf16", "", 150, 150, 64, 64), causal(-1e9)),
}


@lru_cache(maxsize=8)
def case(name: str) -> tuple[Any, list[np.ndarray], np.ndarray]:
    """A module, arguments, and what NumPy makes of them."""
    types, body = CASES[name]
    module = program(types, body)
    plain = mind_runtime.compile(module)
    rng = np.random.default_rng(0)
    values = [rng.standard_normal(s.shape).astype(s.numpy_dtype) for s in plain.inputs]
    return module, values, np.asarray(plain(*values)).astype(np.float32)


def on_device(name: str, options: CupyOptions = ON) -> tuple[FakeDevice, Any]:
    device = FakeDevice()
    return device, CupyProgram(next(iter(functions(case(name)[0].clone()))), CupyKernels(device), (), 1 << 40, options)


def worst_difference(name: str, orders: int = len(ORDERS)) -> float:
    """How far results are from NumPy's, relative to their norm, whatever order threads run in."""
    _, values, wanted = case(name)
    device, made = on_device(name)
    assert "mind::attend_warp_group" in made.cuda
    found: list[float] = []
    for shift in range(orders):
        device.launches = shift  # which says the orders that the kernels run in
        x = np.asarray(made(*values)).astype(np.float32)
        found.append(float(np.linalg.norm(x - wanted) / np.linalg.norm(wanted)))
    return max(1.0 if np.isnan(d) else d for d in found)


@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_numpy_in_every_order(name: str) -> None:
    compiler()
    assert worst_difference(name) < 0.01


MUTANTS = {
    "no fence of registers before scores": (r"group_fence\(\);\n", 0, "\n"),
    "no fence of registers before results": (r"group_fence\(\);\n", 1, "\n"),
    "no commit of scores": (r"group_commit\(\);\n", 0, "\n"),
    "no wait for scores": (r"group_wait\(\);\n", 0, "\n"),
    "no wait for results": (r"group_wait\(\);\n", 1, "\n"),
    "shared memory is not shown": (r"shared_fence\(\);\n", 0, "\n"),
    "shown before it is copied": (r"copies_arrive\(\);\n        shared_fence\(\);", 0, "shared_fence(); copies_arrive();"),
    "no barrier": (r"__syncthreads\(\);  //", 0, "//"),
    "the next tile over this one": (r"\(now \^ 1\) \* of_k", 0, "now * of_k"),
    "no swizzle where it is copied": (r"\(c % 8 \^ r % 8\)", 0, "(c % 8)"),
    "no swizzle in the descriptor": (r" \| 1ull << 62", 0, ""),
    "a swizzle of 64 bytes": (r"1ull << 62", 0, "2ull << 62"),
    "a swizzle of 32 bytes": (r"1ull << 62", 0, "3ull << 62"),
    "atoms of half the height": (r"atom = 1024", 0, "atom = 512"),
    "steps along keys of another width": (r"i % 4 \* 16", 0, "i % 4 * 8"),
    "steps along values of another height": (r"i \* 16 \* 64", 0, "i * 8 * 64"),
    "values by rows": (r"multiply_group<S, true>", 0, "multiply_group<S, false>"),
    "keys by columns": (r"multiply_group<S, false>", 0, "multiply_group<S, true>"),
    "tiles at no multiple of an atom": (r"\*ks = tiles,", 0, "*ks = (tiles += 64),"),
    "warps that multiply by different matrices": (r"i % 4 \* 16, 16, atom", 0, "(threadIdx.x / 64 + i) % 4 * 16, 16, atom"),
}


def changed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pattern, number, new = MUTANTS[name]
    plain = text._file
    whole = plain("warp_group.cuh")
    found = list(re.compile(pattern).finditer(whole, whole.index("MIND ui64 descriptor")))[number]
    text_of = whole[: found.start()] + new + whole[found.end() :]
    monkeypatch.setattr(text, "_file", lambda file: text_of if file == "warp_group.cuh" else plain(file))


@pytest.mark.parametrize("name", MUTANTS)
def test_a_fault_shows(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler()
    changed(name, monkeypatch)
    try:
        worst = worst_difference("causal")
    except EmulationError:
        worst = 1.0
    assert worst > 0.01


def test_it_is_off_by_default_and_marked_in_the_ir() -> None:
    assert "attend_warp_group" not in on_device("dense", CupyOptions())[1].cuda
    (func,) = functions(case("dense")[0])
    assert str(prepared(func, ON)).count("mind.warp_group") == 2
    assert "mind.warp_group" not in str(prepared(func))


def test_other_depths_stay_as_they_are() -> None:
    for types, name in (("bf16", "attend_narrow"), ("f32", "attend")):
        (func,) = functions(program(qkv(types, "", 70, 70, 32, 32), attend))
        assert "mind.warp_group" not in str(prepared(func, ON))
        assert f"mind::{name}<" in CupyProgram(func, CupyKernels(FakeDevice()), (), 1 << 40, ON).cuda


def test_code_for_sm_90_has_the_features_of_that_machine() -> None:
    every = [text.module_text([on_device("dense", options)[1].cuda]) for options in (ON, CupyOptions())]
    assert [with_features(source, machine) for source in every for machine in ("sm_80", "sm_90", "sm_100")] == [
        *("sm_80", "sm_90a", "sm_100"),
        *("sm_80", "sm_90", "sm_100"),
    ]


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90", "sm_90a", "sm_100"])
def test_nvrtc_takes_it_for_every_machine(architecture: str) -> None:
    made = on_device("dense")[1]
    assert compiled(text.module_text([made.cuda]), architecture)


def test_only_sm_90a_multiplies_by_groups() -> None:
    lib = nvrtc()
    made = on_device("dense")[1]
    for machine, products in (("compute_90a", 8), ("compute_90", 0)):
        source = lib.createProgram(text.module_text([made.cuda]), "kernels.cu", (), ())
        lib.compileProgram(source, (f"-arch={machine}", *text.NVRTC_OPTIONS))
        assert str(lib.getPTX(source)).count("wgmma.mma_async") == products


def test_it_does_not_spill() -> None:
    nvrtc()
    types, body = qkv("bf16", "2,", 1024, 1024, 64, 64), causal(-1e9)
    made = CupyProgram(next(iter(functions(program(types, body)))), CupyKernels(FakeDevice()), (), 1 << 40, ON)
    (source,) = [source for source, _ in text.modules(made.cuda) if "mind::attend" in source]
    (usage,) = usage_of(source, "90").values()
    assert usage.spills == 0
    assert usage.registers <= 128
    assert usage.shared <= 33 << 10


LAYOUT = """
typedef mind::Pack<mind::ui16, 8> Eight;
extern "C" __global__ void layout(const unsigned short* tile, const unsigned long long* descriptor, unsigned short* out) {
    alignas(1024) __shared__ unsigned short held[8192];
    for (int i = threadIdx.x; i < 1024; i += 32) mind::put_eight(held + 8 * i, reinterpret_cast<const Eight*>(tile)[i]);
    mind::shared_fence();
    __syncthreads();
    const mind::ui64 whole = mind::shared_address(held) >> 4 | *descriptor;
    for (int i = threadIdx.x; i < 1024; i += 32)
        for (int by_columns = 0; by_columns < 2; ++by_columns)
            out[1024 * by_columns + i] = on_cpu::group_element(whole, by_columns, i / 16, i % 16);
}
"""


def canonical(mode: int, by_columns: bool, leading: int, stride: int) -> np.ndarray:
    """
    Byte offsets of the elements [n, k], by shapes and strides of CUTLASS's canonical layouts, in pieces of 16 bytes.

    K-major: Swizzle o ((8, n), 2) : ((width, stride), 1), without a swizzle ((1, stride), leading); MN-major: Swizzle o
    ((width, n), (8, k)) : ((1, leading), (width, stride)), without a swizzle ((-, stride), (1, leading)).
    """
    width = {0: 1, 1: 8, 2: 4, 3: 2}[mode]
    n, k = np.meshgrid(np.arange(64), np.arange(16), indexing="ij")
    if by_columns:
        piece, inside = n // 8, n % 8
        if mode:
            at = piece % width + piece // width * leading + k % 8 * width + k // 8 * stride
        else:
            at = piece * stride + k % 8 + k // 8 * leading
    else:
        piece, inside = k // 8, k % 8
        at = n % 8 * width + n // 8 * stride + piece if mode else n % 8 + n // 8 * stride + piece * leading
    bits = {0: 0, 1: 3, 2: 2, 3: 1}[mode]
    swizzled = at ^ (at >> 3 & ((1 << bits) - 1))  # Swizzle<bits, 4, 3> of bytes
    return swizzled * 16 + inside * 2


@pytest.mark.parametrize("mode", range(4))
def test_the_emulation_reads_by_the_canonical_layouts(mode: int) -> None:
    compiler()
    source = text.module_text(["// mind::attend_warp_group mind::attend\n", LAYOUT])
    entry = library(source, ("layout",)).launch_layout
    entry.restype = ctypes.c_char_p
    tile = np.arange(8192, dtype=np.uint16)
    leading, stride = {0: (8, 16), 1: (128, 64), 2: (64, 32), 3: (32, 16)}[mode]
    descriptor = np.array([leading << 16 | stride << 32 | mode << 62], np.uint64)
    out = np.zeros((2, 64, 16), np.uint16)
    pointers = (ctypes.c_void_p * 3)(*(x.ctypes.data for x in (tile, descriptor, out)))
    assert entry(pointers, 1, 32, 0) is None
    for by_columns in range(2):
        np.testing.assert_array_equal(out[by_columns], tile[canonical(mode, bool(by_columns), leading, stride) // 2])
