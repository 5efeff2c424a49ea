"""Narrow dtypes computed in wide ones: every op of a narrow dtype gives the bits of the narrow op."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mind_dialect import ptir
from mind_dialect.program import functions
from mind_dialect.ptir import EXTENSION_OPS, PTIR_OPS, PtirOp
from mind_dialect.ptir.types import BF16, F16, PtirDType, read_type
from mind_dialect.verify import verify
from mind_lowering.ptir_kernels.formats import array_dtype
from mind_passes.ptir.expand_narrow import CONVERSIONS, LEFT, MOVES, WIDE, expand_narrow, moves
from mind_runtime import compile
from ptir_batching_rows import ROWS, inputs
from ptir_forms import program

NARROW = list(WIDE)
pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")


def expanded(module: Any, is_computed: Any = lambda op: False) -> Any:
    copy = module.clone()
    expand_narrow(copy, is_computed)
    verify(copy)
    return copy


def results(module: Any, arrays: Any) -> list[Any]:
    found = compile(module)(*arrays)
    return [np.asarray(y) for y in (found if isinstance(found, tuple) else (found,))]


def same_bits(module: Any, arrays: Any, name: str) -> None:
    for found, wanted in zip(results(expanded(module), arrays), results(module, arrays), strict=True):
        assert found.dtype == wanted.dtype, name
        nan = found != found
        np.testing.assert_array_equal(nan, wanted != wanted, err_msg=name)
        np.testing.assert_array_equal(found[~nan], wanted[~nan], err_msg=name)


def test_every_op_is_expanded_or_stays_for_a_reason() -> None:
    """What is neither among those that move nor left is computed in a wide dtype by the general rule."""
    assert set(LEFT) | MOVES <= {*PTIR_OPS, *EXTENSION_OPS}
    assert not set(LEFT) & (MOVES | set(CONVERSIONS))
    assert all(LEFT.values())
    computed = {*PTIR_OPS, *EXTENSION_OPS} - set(LEFT) - MOVES - set(CONVERSIONS)
    rows = {type(op) for row in ROWS for d in row.legal() if d in WIDE for op in row.module(d).walk()}
    assert computed - rows == {ptir.IotaOp, ptir.RemainderOp} - rows


def is_narrow(op: Any) -> bool:
    return isinstance(op, PtirOp) and any(read_type(v.type).dtype in WIDE for v in (*op.operands, *op.results))


@pytest.mark.parametrize("row", [row for row in ROWS if any(d in WIDE for d in row.legal())], ids=str)
def test_op_rows(row: Any) -> None:
    for dtype in [d for d in row.legal() if d in WIDE]:
        module = row.module(dtype)
        arrays = list(inputs(next(functions(module)), row))
        same_bits(module, arrays, f"{row} {dtype}")
        left = [op for op in expanded(module).walk() if is_narrow(op) and not isinstance(op, CONVERSIONS)]
        assert all(type(op) in LEFT for op in left), f"{row} {dtype}"


@pytest.mark.parametrize("dtype", [d for d in NARROW if not d.is_float], ids=str)
@pytest.mark.parametrize(
    "op", [ptir.ShiftLeftOp, ptir.ShiftRightArithmeticOp, ptir.ShiftRightLogicalOp, ptir.DivOp, ptir.RemainderOp, ptir.MulOp],
    ids=lambda op: op.name,
)  # fmt: skip
def test_integers_at_their_edges(op: Any, dtype: PtirDType) -> None:
    info = np.iinfo(array_dtype(dtype.name))
    numbers = np.unique(np.clip([info.min, -77, -1, 0, 1, 5, 8, info.bits - 1, info.bits, 33, info.max], info.min, info.max))
    left, right = (np.ascontiguousarray(v.ravel()).astype(array_dtype(dtype.name)) for v in np.meshgrid(numbers, numbers))
    if op in (ptir.DivOp, ptir.RemainderOp):
        left, right = left[right != 0], right[right != 0]
    n = len(left)
    same_bits(program(f"{dtype}[{n}] {dtype}[{n}]", lambda a, b: [op(a, b)]), [left, right], f"{op.name} {dtype}")


@pytest.mark.parametrize("kind", ["max", "min", "sum", "prod"])
@pytest.mark.parametrize("dtype", NARROW, ids=str)
def test_reductions_of_nothing_have_the_narrow_identity(dtype: PtirDType, kind: str) -> None:
    module = program(f"{dtype}[2,0]", lambda x: ptir.ReduceOp(x, kind=kind, axes=(1,), keepdims=False))
    same_bits(module, [np.zeros((2, 0), array_dtype(dtype.name))], kind)


@pytest.mark.parametrize(
    ("source", "accum", "out"),
    [("si8", "si32", None), ("si8", "si32", "si32"), ("si8", "si16", "f32"), ("ui8", "si64", "si8"), ("f16", "f32", "f32"),
     ("bf16", "f64", None), ("f32", "f64", "f16"), ("si32", "si64", "si32"), ("ui16", "ui32", "ui8"), ("f16", "f16", None)],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["sum", "max"])
def test_accumulators(source: str, accum: str, out: str | None, kind: str) -> None:
    given: dict[str, Any] = {"accum_dtype": accum} | ({"out_dtype": out} if out else {})
    module = program(f"{source}[3,40]", lambda x: ptir.ReduceOp(x, kind=kind, axes=(1,), keepdims=False, **given))
    x = np.random.default_rng(0).integers(0, 100, (3, 40)).astype(compile(module).inputs[0].numpy_dtype)
    same_bits(module, [x], f"{source} {accum} {out}")
    both = program(f"{source}[3,40] {source}[40,2]", lambda x, w: ptir.DotGeneralOp(
        x, w, batch_lhs=(), batch_rhs=(), contract_lhs=(1,), contract_rhs=(0,), **given))  # fmt: skip
    same_bits(both, [x, np.ascontiguousarray(x.ravel()[:80].reshape(40, 2))], f"dot {source} {accum} {out}")


def hard_numbers(dtype: PtirDType) -> Any:
    """Numbers near each halfway point between neighbours of a 16-bit float, in f64: on it, and a hair to either side."""
    bits = np.arange(1 << 16, dtype=np.uint16).view(array_dtype(dtype.name)).astype(np.float64)
    found = np.unique(bits[np.isfinite(bits)])
    middles = (found[1:] + found[:-1]) / 2
    step = (found[-1] - found[-2]) / 2
    middles = np.concatenate([middles, [found[-1] + step, found[0] - step]])
    eps = 2.0**-50
    return np.concatenate([found, middles, middles * (1 + eps), middles * (1 - eps), [np.nan, np.inf, -np.inf, 1e300, -1e300]])


@pytest.mark.parametrize("to", [F16, BF16], ids=str)
@pytest.mark.filterwarnings("ignore:(overflow|invalid value):RuntimeWarning")
def test_floats_are_rounded_once(to: PtirDType) -> None:
    numbers = hard_numbers(to)
    same_bits(program(f"f64[{len(numbers)}]", lambda x: ptir.CastOp(x, dtype=to.name)), [numbers], f"f64 to {to}")


@pytest.mark.parametrize("to", [F16, BF16], ids=str)
@pytest.mark.parametrize("source", ["si8", "ui16", "si32", "ui32", "si64"])
@pytest.mark.filterwarnings("ignore:(overflow|invalid value):RuntimeWarning")
def test_integers_are_rounded_once(source: str, to: PtirDType) -> None:
    numbers = np.zeros(1)
    module = program(f"{source}[1]", lambda x: ptir.CastOp(x, dtype=to.name))
    info = np.iinfo(compile(module).inputs[0].numpy_dtype)
    numbers = hard_numbers(to)
    whole = numbers[np.isfinite(numbers) & (np.abs(numbers) < 2.0**62)].astype(np.int64)
    found = np.unique(np.concatenate([whole, whole + 1, whole - 1, [info.min, info.max, info.max - 1]]).astype(object))
    kept = np.array([n for n in found if info.min <= n <= info.max], info.dtype)
    same_bits(program(f"{source}[{len(kept)}]", lambda x: ptir.CastOp(x, dtype=to.name)), [kept], f"{source} to {to}")


@pytest.mark.parametrize("to", ["si8", "ui8", "si16", "ui16", "ui32", "f16", "bf16", "i1", "si32", "si64", "f32", "f64"])
@pytest.mark.parametrize("source", ["si8", "ui8", "si16", "ui16", "ui32", "f16", "bf16", "i1", "si32", "si64", "f32", "f64"])
@pytest.mark.filterwarnings("ignore:(overflow|invalid value):RuntimeWarning")
def test_conversions_saturate_and_truncation_wraps(source: str, to: str) -> None:
    edges = [0, 1, -1, 127, 128, -128, -129, 255, 256, 32767, 32768, -32769, 65535, 65536, 2**31, -(2**31) - 1, 2**32, 2**63 - 1]
    made = program(f"{source}[{len(edges) + 6}]", lambda x: ptir.CastOp(x, dtype=to))
    dtype = compile(made).inputs[0].numpy_dtype
    if source.startswith(("f", "b")):
        values = np.array([*edges, 0.5, -0.9, 254.7, np.nan, np.inf, -np.inf], np.float64).astype(dtype)
    else:
        values = np.array([*edges, 3, 5, 7, 9, 11, 13], np.int64).astype(dtype)
    same_bits(made, [values], f"{source} to {to}")
    if source.startswith(("si", "ui")) and to.startswith(("si", "ui")):
        same_bits(program(f"{source}[{len(values)}]", lambda x: ptir.TruncateOp(x, dtype=to)), [values], "truncate")


def test_moves_and_loops_stay_narrow_and_their_bodies_are_expanded() -> None:
    def made(x: Any, xs: Any) -> Any:
        body: Any = lambda c, row: [ptir.AddOp(c, row), ptir.MulOp(c, row)]  # noqa: E731
        scanned = ptir.ScanOp(x, xs, carry_count=1, scan_output_count=1, body=body)
        return [ptir.TransposeOp(scanned.results[1], perm=(1, 0)), scanned.results[0]]

    module = program("si8[2] si8[3,2]", made)
    copy = module.clone()
    expand_narrow(copy, moves)
    verify(copy)
    scan = next(op for op in copy.walk() if isinstance(op, ptir.ScanOp))
    assert all(read_type(v.type).dtype.name == "si8" for v in scan.results)
    assert all(
        read_type(op.results[0].type).dtype.name == "si32" for op in scan.walk() if isinstance(op, ptir.AddOp | ptir.MulOp)
    )
    assert [op for op in copy.walk() if isinstance(op, ptir.TransposeOp) and read_type(op.results[0].type).dtype.name == "si8"]
    same_bits(module, [np.array([100, -100], np.int8), np.array([[50, -50], [3, 4], [-7, 9]], np.int8)], "scan")


def test_wide_programs_stay_as_they_are() -> None:
    module = program("f32[4] f32[4]", lambda x, y: ptir.MulOp(ptir.ExpOp(x), y))
    assert str(expanded(module)) == str(module)


def test_named_dimensions() -> None:
    def body(x: Any, y: Any) -> Any:
        return ptir.MaximumOp(ptir.AddOp(x, y), ptir.CastOp(ptir.CastOp(x, dtype="f32"), dtype="si8"))

    module = program("si8[N,3] si8[N,3]", body)
    x = np.arange(-12, 12, dtype=np.int8).reshape(8, 3) * 10
    same_bits(module, [x, x[::-1].copy()], "named")
