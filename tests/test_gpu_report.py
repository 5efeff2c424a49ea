"""The report on kernels without a GPU: NVRTC's text, occupancy as CUDA's calculator has it, and bytes counted by hand."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("optree")

import ptir_forms
from mind_dialect import ptir
from mind_dialect.program import functions
from ptir_forms import program

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

import gpu_report
from gpu_report import Usage, occupancy, usages

LOG = """
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'first' for 'sm_90'
ptxas info    : Function properties for first
ptxas         .     16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 16 bytes cumulative stack size, 512 bytes smem
ptxas info    : Compiling entry function 'second' for 'sm_90'
ptxas info    : Function properties for second
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 22 registers
"""


@pytest.fixture
def without_nvrtc(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels are not compiled; each takes 40 registers."""

    def compiled(source: str, architecture: str) -> dict[str, Usage]:
        from mind_lowering.cupy.cuda_cpp.text import _BEGIN  # pyright: ignore[reportPrivateUsage]

        return {found[1]: Usage(40, 0, 0) for found in _BEGIN.finditer(source)}

    monkeypatch.setattr(gpu_report, "compiled", compiled)


def test_a_log_is_read() -> None:
    assert usages(LOG) == {"first": Usage(255, 20, 512), "second": Usage(22, 0, 0)}
    assert usages("") == {}


@pytest.mark.parametrize(
    ("registers", "shared", "block", "architecture", "expected"),
    [
        (32, 0, 256, "90", 64),
        (32, 0, 32, "90", 32),  # 32 blocks of one warp
        (33, 0, 256, "90", 48),  # 40 registers each
        (64, 0, 256, "90", 32),
        (255, 0, 256, "80", 8),
        (255, 0, 512, "80", 0),  # it cannot be launched
        (32, 48 << 10, 128, "90", 16),  # 4 blocks in 228 KiB
        (32, 48 << 10, 128, "80", 12),  # 3 blocks in 164 KiB
        (32, 0, 1024, "80", 64),
        (40, 0, 1024, "80", 32),
    ],
)
def test_occupancy(registers: int, shared: int, block: int, architecture: str, expected: int) -> None:
    assert occupancy(Usage(registers, 0, shared), block, architecture) * gpu_report.WARPS == expected


def steps_of(types: str, make: Any, donated: list[int]) -> list[Any]:
    (func,) = functions(program(types, make))
    return gpu_report.report("", func, donated, "90").steps


@pytest.mark.usefixtures("without_nvrtc")
def test_bytes_are_those_that_must_move() -> None:
    (step,) = steps_of("f32[64,32] f32[32]", lambda x, b: ptir.AddOp(x, ptir.BroadcastToOp(b, result_shape=(64, 32))), [])
    assert step.bytes == 4 * (2 * 64 * 32 + 32)
    assert step.seconds == pytest.approx(step.bytes / 3352.32e9)
    (step,) = steps_of("f32[1000,16] si32[5]", lambda x, i: ptir.NegOp(ptir.TakeOp(x, i)), [])
    assert step.bytes == 4 * (5 * 16 + 5 + 5 * 16)
    (step,) = steps_of("f32[64,64] f32[64,64]", lambda x, y: _product(x, y), [])
    assert step.name == "xp.matmul"
    filled = steps_of("f32[64,64] si32[5,1] f32[5,64]", _updated, [])
    assert [s.bytes for s in filled if s.name == "copy"] == [4 * (64 * 64 + 1)]
    assert step.bytes == 4 * 3 * 64 * 64


@pytest.mark.usefixtures("without_nvrtc")
def test_an_embedding_is_updated_in_place_and_its_gradient_is_no_table() -> None:
    """Of 2,000 rows 512 are looked up: the table is read and written, the sums, their places and the result are small."""

    def step(table: Any, tokens: Any, gradient: Any) -> Any:
        zeros = ptir_forms.like(table, 0.0)
        axes = {"update_window_dims": (1,), "inserted_window_dims": (0,), "scatter_dims_to_operand_dims": (0,)}
        return ptir.TakeOp(table, tokens), ptir.SubOp(table, ptir.ScatterAddOp(zeros, tokens, gradient, **axes))

    steps = steps_of("f32[2000,256] si32[512] f32[512,256]", step, [0])
    table, rows = 4 * 2000 * 256, 4 * 512 * 256
    assert 2 * table + 3 * rows < sum(s.bytes for s in steps) < 2 * table + 7 * rows
    assert max(s.bytes for s in steps if s.name == "copy") < 1.01 * rows


def _updated(x: Any, places: Any, updates: Any) -> Any:
    axes = {"update_window_dims": (1,), "inserted_window_dims": (0,), "scatter_dims_to_operand_dims": (0,)}
    return ptir.AddOp(x, ptir.ScatterAddOp(ptir_forms.like(x, 0.0), places, updates, **axes, index_vector_dim=1))


def _product(x: Any, y: Any) -> Any:
    return ptir.DotGeneralOp(x, y, batch_lhs=(), batch_rhs=(), contract_lhs=(1,), contract_rhs=(0,))


@pytest.mark.usefixtures("without_nvrtc")
def test_the_page_lists_programs_and_their_longest_steps(tmp_path: Path) -> None:
    out = tmp_path / "page.md"
    gpu_report.main(["--small", "--only", "gpt2_train_bf16", "--out", str(out)])
    first = out.read_text(encoding="utf-8")
    gpu_report.main(["--small", "--only", "gpt2_train_bf16", "--out", str(out)])
    assert out.read_text(encoding="utf-8") == first
    assert "| the same with products in bf16, weights in f32 |" in first
    shares = [float(line.split("|")[-2].strip(" %")) for line in first.splitlines() if line.startswith("| `")]
    assert len(shares) == gpu_report.LISTED
    assert shares == sorted(shares, reverse=True)
    assert np.sum(shares) <= 100.5


@pytest.mark.usefixtures("without_nvrtc")
def test_the_option_epilogues_moves_fewer_bytes_and_multiplies_as_much() -> None:
    from peers.gpu_programs import OPTIONS, PROGRAMS

    func, donated = PROGRAMS["gpt2_train_bf16"][1](True)
    every = (gpu_report.DEFAULT, OPTIONS["gpt2_train_bf16_epilogues"])
    plain, merged = (gpu_report.report("", func, donated, "90", options) for options in every)
    products = [[s for s in found.steps if s.name in ("xp.matmul", "k.product_epilogue")] for found in (plain, merged)]
    assert len(products[0]) == len(products[1])
    assert sum(s.bytes for s in merged.steps) < sum(s.bytes for s in plain.steps)
    assert len(merged.steps) <= len(plain.steps), "as many casts of biases as kernels saved, at most"


def test_nvrtc_reports_every_kernel() -> None:
    nvrtc = pytest.importorskip("cupy.cuda", reason="no CuPy: kernels are not compiled by NVRTC")
    assert nvrtc is not None
    (func,) = functions(program("f32[64,32]", lambda x: ptir.TanhOp(x)))
    found = gpu_report.report("", func, [], "90")
    assert set(found.usage) == {step.symbol for step in found.steps}
    assert all(0 < usage.registers <= 255 and usage.spills == 0 for usage in found.usage.values())


@pytest.mark.parametrize("architecture", ["80", "90"])
def test_rows_that_look_up_what_they_read_do_not_spill(architecture: str) -> None:
    pytest.importorskip("cupy.cuda", reason="no CuPy: kernels are not compiled by NVRTC")

    def body(table: Any, indices: Any) -> Any:
        x = ptir.TakeOp(table, indices)
        mean = ptir.MulOp(_sum(x), ptir_forms.like(_sum(x), 1 / 768))
        rest = ptir.SubOp(x, ptir_forms.spread(mean, x))
        square = ptir.MulOp(_sum(ptir.MulOp(rest, rest)), ptir_forms.like(mean, 1 / 768))
        scaled = ptir.MulOp(rest, ptir_forms.spread(ptir.RsqrtOp(square), x))
        return scaled, mean, square

    (func,) = functions(program("f32[50257,768] si32[8192]", body))
    found = gpu_report.report("", func, [], architecture)
    (usage,) = [u for name, u in found.usage.items() if "take" in name]
    assert usage.spills == 0
    assert occupancy(usage, 128, architecture) >= 0.5


def _sum(x: Any) -> Any:
    return ptir.ReduceOp(x, kind="sum", axes=(1,), keepdims=True)
