"""
Matrix products of the native target against NumPy in a wider precision, on every machine that this one can be taken for.

A sum of K products may be off by c * K * eps * (sum of the magnitudes); c is 1.
"""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import mind_runtime
from lone_products import HOSTS_HERE, compiled
from machines import RUNNABLE
from mind_dialect import ptir
from mind_dialect.ptir.types import BF16, F16, F32, F64, SI8, SI32, SI64, UI32, PtirDType
from mind_lowering.launch.ref import row_major
from mind_lowering.native.ir import Function
from mind_lowering.native.kernel_text import index_of
from mind_lowering.native.lanes import Lanes, register
from mind_lowering.native.products import cut as products_cut
from mind_lowering.native.products import epilogue
from mind_lowering.native.products.chain import BeginFinish, Epilogue, Finish
from mind_lowering.native.target_info import TARGETS, TargetInfo
from mind_lowering.native.views import Buffer, Use, View
from mind_lowering.ptir_kernels.formats import array_dtype
from mind_runtime.native import jit
from ptir_forms import program

MACHINES = pytest.mark.parametrize("host", HOSTS_HERE, ids=RUNNABLE)
WIDE = {"f32": np.float64, "f64": np.longdouble}
rng = np.random.default_rng(7)


def dtype_of(dtype: PtirDType) -> Any:
    return array_dtype(dtype.name)


def operands(shape: tuple[int, int, int], dtype: PtirDType, flips: int, batch: tuple[int, ...] = ()) -> tuple[Any, Any]:
    """Operands of a product `(rows, depth, columns)`; bits of `flips` say which are transposes of what lies in memory."""
    m, k, n = shape
    made = []
    for extents, flip in (((m, k), flips & 1), ((k, n), flips & 2)):
        x = rng.standard_normal((*batch, *(extents[::-1] if flip else extents))).astype(dtype_of(dtype))
        made.append(x.swapaxes(-1, -2) if flip else x)
    return made[0], made[1]


def check(found: Any, a: Any, b: Any, wide: Any = np.float64) -> None:
    """Hold a product against one in a wider precision."""
    a, b = a.astype(wide), b.astype(wide)
    bound = a.shape[-1] * np.finfo(found.dtype).eps * np.matmul(abs(a), abs(b))
    error = abs(found - np.matmul(a, b))
    assert np.all(error <= bound), (np.max(error / bound), np.argwhere(~(error <= bound))[:4])


def multiplied(
    host: TargetInfo, a: Any, b: Any, dtype: PtirDType, pieces: int = 1, still: tuple[bool, bool] = (False, False), **options: Any
) -> Any:
    shape = (*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1])
    out = np.full(shape, 77, dtype_of(dtype))
    compiled(host, a, b, out, (dtype,) * 4, still=still).caller(a, b, out, pieces, **options)()
    return out


@pytest.mark.exhaustive
@MACHINES
@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
@pytest.mark.parametrize("rows", range(1, 18))
def test_shapes_around_the_edges_of_tiles(host: TargetInfo, dtype: PtirDType, rows: int) -> None:
    for columns in range(1, 18):
        depth = (rows * 7 + columns * 3) % 17 + 1
        a, b = operands((rows, depth, columns), dtype, (rows + columns) % 4)
        check(multiplied(host, a, b, dtype), a, b, WIDE[dtype.name])


LARGER = [(1, 300, 200), (3, 257, 129), (200, 300, 1), (40, 1000, 3), (12, 32, 64), (65, 63, 66), (129, 600, 97), (300, 70, 33)]
LARGER += [(260, 530, 270), (31, 1100, 500), (2, 40, 3400)]


@pytest.mark.exhaustive
@MACHINES
@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
@pytest.mark.parametrize("shape", LARGER, ids=lambda s: "x".join(map(str, s)))
@pytest.mark.parametrize("flips", range(4))
def test_larger_shapes(host: TargetInfo, dtype: PtirDType, shape: tuple[int, int, int], flips: int) -> None:
    a, b = operands(shape, dtype, flips)
    check(multiplied(host, a, b, dtype), a, b, WIDE["f32"])


@pytest.mark.exhaustive
@MACHINES
@pytest.mark.parametrize("shape", [(13, 257, 70), (40, 1000, 130), (7, 600, 97), (260, 530, 40)], ids=str)
@pytest.mark.parametrize("flips", range(4))
def test_operands_that_serve_many_products(host: TargetInfo, shape: tuple[int, int, int], flips: int) -> None:
    """Packed as a whole by a kernel of their own, whoever reads them."""
    a, b = operands(shape, F32, flips)
    still = (True, True)
    check(multiplied(host, a, b, F32, still=still), a, b)
    product = compiled(host, a, b, np.zeros((shape[0], shape[2]), np.float32), (F32,) * 4, still=still).product
    assert product.cut.whole_rhs == (product.cut.copy_rhs and shape[0] > 1)


@MACHINES
def test_batches_of_operands_that_serve_many_products(host: TargetInfo) -> None:
    a, b = operands((13, 70, 37), F32, 2, (3, 2))
    for same in (b, np.broadcast_to(b[:1], b.shape), np.broadcast_to(b[:, :1], b.shape)):
        for pieces in (1, 100):
            check(multiplied(host, a, same, F32, pieces, still=(False, True)), a, same)


def test_shapes_reach_every_kind_of_cut() -> None:
    """The shapes above make each kind of cut on one machine or another, of which none has to be there."""
    kinds: set[str] = set()
    for host, shape in itertools.product((TARGETS["avx512"], TARGETS["avx2"]), LARGER):
        for flips in range(4):
            a, b = operands(shape, F32, flips)
            product = compiled(host, a, b, np.zeros((shape[0], shape[2]), np.float32), (F32,) * 4).product
            cut = product.cut
            kinds |= {name for name in ("by_rows", "copy_lhs", "copy_rhs", "dots", "stream") if getattr(cut, name)}
            kinds |= {"blocks"} if product.blocks > 1 else set()
            kinds |= {"swapped"} if product.swapped else set()
            kinds |= {"group"} if cut.group > 1 else set()
            kinds |= {"lhs whole"} if cut.copy_lhs and not cut.by_rows else set()
    assert kinds >= {"by_rows", "copy_lhs", "copy_rhs", "dots", "stream", "blocks", "swapped", "group"}


@pytest.mark.exhaustive
@MACHINES
@pytest.mark.parametrize("pieces", [2, 3, 100])
@pytest.mark.parametrize("shape", [(260, 530, 270), (31, 300, 500), (2, 40, 3400), (3, 257, 129)])
def test_results_do_not_depend_on_how_work_is_shared_out(host: TargetInfo, pieces: int, shape: tuple[int, int, int]) -> None:
    for flips in (0, 3):
        a, b = operands(shape, F32, flips)
        whole = multiplied(host, a, b, F32)
        assert multiplied(host, a, b, F32, pieces, backwards=True).tobytes() == whole.tobytes()


@MACHINES
def test_batches_and_strides(host: TargetInfo) -> None:
    a, b = operands((13, 70, 37), F32, 0, (3, 2))
    for left, right in [
        (a, b),
        (a.swapaxes(0, 1), b.swapaxes(0, 1)),
        (a[:, :, ::-1], b[:, :, :, ::-1]),
        (a[:, :, ::2, ::3], b[:, :, :24, ::2]),
        (np.broadcast_to(a[:1], a.shape), b),
        (a, np.broadcast_to(b[:, :1], b.shape)),
        (np.broadcast_to(a[:, :, :1], (3, 2, 50, 70)), np.broadcast_to(b[..., :1], (3, 2, 70, 40))),
        (a[:, :, :, ::-1], b[:, :, ::-1]),
        (a[:, :, :2], b.swapaxes(-1, -2)[:, :, :70, :].swapaxes(-1, -2)[:, :, :, :37]),
        (a[:, :, :2, 1:], b[:, :, 1:]),
    ]:
        check(multiplied(host, left, right, F32), left, right)
        assert multiplied(host, left, right, F32, 3).tobytes() == multiplied(host, left, right, F32).tobytes()


SPECIAL = [(5, 9, 7), (1, 40, 33), (1, 2000, 40), (40, 33, 1), (30, 17, 50), (100, 40, 70), (3, 70, 30)]


@pytest.mark.exhaustive
@MACHINES
@pytest.mark.parametrize("shape", SPECIAL, ids=lambda s: "x".join(map(str, s)))
@pytest.mark.parametrize("flips", range(4))
def test_special_values(host: TargetInfo, shape: tuple[int, int, int], flips: int) -> None:
    """Infinities and NaN go where they belong and nowhere else, also from the last row, column and step."""
    a, b = (np.rint(x * 2) for x in operands(shape, F32, flips))
    a[-1, -1], b[-1, -1] = np.inf, -np.inf
    a[0, 0], b[0, b.shape[1] // 2] = np.nan, np.inf
    with np.errstate(invalid="ignore"):
        expected = np.array([[np.sum(r.astype(np.float64) * c) for c in b.T.astype(np.float64)] for r in a])
    found = multiplied(host, a, b, F32)
    np.testing.assert_array_equal(found, expected.astype(np.float32))


@pytest.mark.exhaustive
@MACHINES
@pytest.mark.parametrize("shape", [(9, 40, 33), (1, 700, 60), (100, 50, 70), (1, 33, 2000), (200, 600, 100)])
@pytest.mark.parametrize("dtype", [F16, BF16], ids=str)
def test_narrow_floats_accumulate_in_f32(host: TargetInfo, shape: tuple[int, int, int], dtype: PtirDType) -> None:
    if dtype is F16 and not host.half:
        pytest.skip("no conversion")
    for flips in range(4):
        a, b = operands(shape, dtype, flips)
        wide = np.full((shape[0], shape[2]), 77, np.float32)
        compiled(host, a, b, wide, (dtype, dtype, F32, F32)).caller(a, b, wide)()
        check(wide, a, b)
        narrow = np.full(wide.shape, 7, dtype_of(dtype))
        compiled(host, a, b, narrow, (dtype, dtype, dtype, F32)).caller(a, b, narrow)()
        assert np.array_equal(narrow.astype(np.float32), wide.astype(narrow.dtype).astype(np.float32))


@pytest.mark.exhaustive
@MACHINES
@pytest.mark.parametrize("dtype", [SI32, SI64, UI32], ids=str)
@pytest.mark.parametrize("shape", [(7, 20, 19), (1, 300, 60), (60, 300, 1), (90, 300, 90), (3, 70, 30)])
def test_integers_wrap(host: TargetInfo, dtype: PtirDType, shape: tuple[int, int, int]) -> None:
    for flips in range(4):
        a, b = (np.asarray(x * 1e9).astype(np.int64).astype(dtype_of(dtype)) for x in operands(shape, F64, flips))
        np.testing.assert_array_equal(multiplied(host, a, b, dtype), np.matmul(a, b))


@MACHINES
def test_one_lane_is_stored_alone(host: TargetInfo) -> None:
    """The last column of 33, in a dtype narrower than what is computed: nothing after it is written."""
    a, b = operands((1, 3, 33), BF16, 0)
    room = np.full((1, 35), 7, dtype_of(BF16))
    out = room[:, :33]
    compiled(host, a, b, out, (BF16, BF16, BF16, F32)).caller(a, b, out)()
    assert np.all(room[:, 33:] == 7)


def test_nothing_beyond_an_array_is_touched() -> None:
    script = Path(__file__).parents[2] / "support" / "native_guarded.py"
    ran = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, (ran.returncode, ran.stderr[-2000:])


# Epilogues


@dataclass(frozen=True)
class Custom:
    """An epilogue that is no chain of ops."""

    begin: BeginFinish


epilogue.BEGIN[Custom] = lambda of, f, arguments: of.begin(f, arguments)


def shaped(dtype: PtirDType, places: dict[int, Any]) -> Callable[[View], Epilogue]:
    """`max(0, x + bias) + residual`, NaN kept: bias at place 5 of the table, one number a column, the residual at 6."""

    def made(out: View) -> Epilogue:
        buffers = {place: Buffer(Use.INPUT, place, dtype, x.size, location=place) for place, x in places.items()}
        row = (*[0] * (len(out.shape) - 1), 1)
        bias = View(buffers[5], dtype, out.shape, row)
        residual = View(buffers[6], dtype, out.shape, row_major(out.shape))

        def begin(f: Function, arguments: Sequence[str]) -> Finish:
            def finish(lanes: Lanes, at: Sequence[str], along: int, value: str) -> None:
                type = register(dtype)
                b, r = (
                    lanes.load(dtype, base, index_of(f, view, at), view.strides[along])
                    for base, view in zip(arguments, (bias, residual), strict=False)
                )
                x = lanes.binary("fadd", type, value, b)
                x = lanes.select(lanes.compare("fcmp ole", type, x, lanes.number(type, 0)), type, lanes.number(type, 0), x)
                lanes.store(dtype, lanes.binary("fadd", type, x, r), arguments[2], index_of(f, out, at), out.strides[along])

            return finish

        return Epilogue(Custom(begin), (bias, residual), (out,), "test", heavy=out.shape[-1] % 2 == 0)

    return made


@pytest.mark.exhaustive
@MACHINES
@pytest.mark.parametrize(
    "shape", [*LARGER[:8], (260, 530, 268), (2, 40, 3400), (30, 600, 200)], ids=lambda s: "x".join(map(str, s))
)
@pytest.mark.parametrize("flips", range(4))
def test_epilogues(host: TargetInfo, shape: tuple[int, int, int], flips: int) -> None:
    """Of every kind of cut; products are small integers, so that all is exact."""
    a, b = (np.rint(x) for x in operands(shape, F32, flips, (2,)))
    b[1, -1, -1] = np.nan
    out = np.full((2, shape[0], shape[2]), 77, np.float32)
    bias, residual = (np.rint(rng.standard_normal(s) * 9).astype(np.float32) for s in (shape[2], out.shape))
    extra = {5: bias, 6: residual}
    compiled(host, a, b, out, (F32,) * 4, shaped(F32, extra), extra).caller(a, b, out)()
    with np.errstate(invalid="ignore"):
        expected = np.maximum(np.matmul(a.astype(np.float64), b) + bias, 0) + residual
    np.testing.assert_array_equal(out, expected.astype(np.float32))


# Machine code


def inner_loops(assembly: str) -> list[list[str]]:
    """The lines of the loops of tiles that multiply most."""
    found = []
    for function in re.split(r"(?m)^(?=\S*(?:tile|dots|stream)\.[\w.]+:)", assembly)[1:]:
        lines = function.split("\n\n")[0].splitlines()
        places = {m[1]: i for i, line in enumerate(lines) if (m := re.match(r"(\.LBB\w+):", line))}
        for i, line in enumerate(lines):
            if (m := re.match(r"\s+j\w+\s+(\.LBB\w+)", line)) and places.get(m[1], i) < i:
                body = lines[places[m[1]] : i]
                if sum("vfmadd" in x or "mulp" in x for x in body) >= 4:
                    found.append(body)
    return found


def spills(body: list[str]) -> int:
    return sum(bool(re.search(r"mov[au]p.*\(%rsp\)|mov[au]p.*\(%rbp\)", line)) for line in body)


def assembly(host: TargetInfo, shape: tuple[int, int, int], dtype: PtirDType, flips: int = 0) -> str:
    a, b = operands(shape, dtype, flips)
    product = compiled(host, a, b, np.zeros((shape[0], shape[2]), dtype_of(dtype)), (dtype,) * 4)
    return jit.assembly(product.text, host)


X86 = pytest.mark.parametrize("isa", ["avx512", "avx2", "baseline"])


@X86
@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
def test_no_sum_is_kept_in_memory(isa: str, dtype: PtirDType) -> None:
    for rows in (1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 300):
        for columns, flips in ((40, 2), (200, 0), (200, 2), (3400, 0)):
            loops = inner_loops(assembly(TARGETS[isa], (rows, 260, columns), dtype, flips))
            assert loops or columns == 40
            assert not any(map(spills, loops)), (rows, columns, flips)


@pytest.mark.parametrize("isa", ["avx512", "avx2"])
@pytest.mark.parametrize("dtype", [BF16, SI8], ids=str)
def test_no_sum_is_kept_in_memory_where_weights_are_widened(isa: str, dtype: PtirDType) -> None:
    for rows in (1, 3, 5, 12, 40):
        for columns, turned in ((200, False), (200, True), (3400, False)):
            a, b = np.zeros((rows, 260), np.float32), np.zeros((columns, 260) if turned else (260, columns), dtype_of(dtype))
            made = compiled(TARGETS[isa], a, b.T if turned else b, np.zeros((rows, columns), np.float32), (F32, dtype, F32, F32))
            assert not any(map(spills, inner_loops(jit.assembly(made.text, TARGETS[isa])))), (rows, columns, turned)


def test_a_tile_too_large_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products_cut, "tile_of", lambda *_: (18, 2))
    assert any(map(spills, inner_loops(assembly(TARGETS["avx512"], (300, 64, 200), F32))))


@pytest.mark.exhaustive
@pytest.mark.parametrize("shape", [(1, 300, 200), (13, 30, 40), (300, 700, 100), (2, 40, 3400)])
@pytest.mark.parametrize("dtype", [F32, F64, SI32], ids=str)
def test_code_for_other_machines(shape: tuple[int, int, int], dtype: PtirDType) -> None:
    for host in TARGETS.values():
        for flips in range(4):
            a, b = operands(shape, dtype, flips)
            product = compiled(host, a, b, np.zeros((shape[0], shape[2]), dtype_of(dtype)), (dtype,) * 4)
            assert jit.object_code(product.text, host)


# Programs

DOTS = [
    ((2, 12, 16, 8), (2, 12, 24, 8), (0, 1), (0, 1), (3,), (3,)),
    ((2, 16, 12, 8), (2, 24, 12, 8), (0, 2), (0, 2), (3,), (3,)),
    ((7, 3, 5), (5, 3, 4), (), (), (1, 2), (1, 0)),
    ((7, 3, 5), (5, 3, 4), (1,), (1,), (2,), (0,)),
    ((5,), (5,), (), (), (0,), (0,)),
    ((5,), (6,), (), (), (), ()),
    ((3, 4, 5), (6, 4), (), (), (1,), (1,)),
    ((20, 64), (64, 3, 70), (), (), (1,), (0,)),
    ((1, 64), (64, 1), (), (), (1,), (0,)),
    ((2, 3, 4, 5, 6), (6, 2, 7, 4, 3), (0, 2), (1, 3), (1, 4), (4, 0)),
    ((0, 4), (4, 3), (), (), (1,), (0,)),
    ((3, 0), (0, 4), (), (), (1,), (0,)),
]


@pytest.mark.parametrize("form", DOTS, ids=str)
@pytest.mark.parametrize("dtype", [F32, F64, SI32, BF16], ids=str)
def test_dot_general(form: Any, dtype: PtirDType) -> None:
    """Products of any rank in programs, exact on small integers."""
    left, right, *axes = form
    names = ("batch_lhs", "batch_rhs", "contract_lhs", "contract_rhs")
    types = " ".join(f"{dtype}[{','.join(map(str, s))}]" for s in (left, right))
    module = program(types, lambda x, y: ptir.DotGeneralOp(x, y, **dict(zip(names, axes, strict=True))).result)
    native, reference = (mind_runtime.compile(module, target=t) for t in ("native", "numpy"))
    a, b = (rng.integers(-4, 5, s).astype(dtype_of(dtype)) for s in (left, right))
    assert "0 ops on NumPy" in native.explain()[0]
    found, expected = native(a, b), reference(a, b)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    np.testing.assert_array_equal(found.astype(np.float64), expected.astype(np.float64))


def test_the_benchmark_runs(tmp_path: Path) -> None:
    script = Path(__file__).parents[3] / "benchmarks" / "native_products.py"
    command = [sys.executable, str(script), "--small", "--rounds", "1", "--out", str(tmp_path)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert "| f32 | 64 x 64 x 64 | AB |" in (tmp_path / "native_products.md").read_text(encoding="utf-8")
