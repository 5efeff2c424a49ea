"""
Products in the tile registers of AMX: bytes of all signs exactly, bf16 within the documented bound, and no tile left in use.

Code is generated on every machine, and run where the machine has the registers.
"""

from __future__ import annotations

import ctypes
import re
from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

pytest.importorskip("llvmlite")

from lone_products import Compiled, compiled
from machines import RUNNABLE
from mind_dialect.ptir.types import BF16, F32, SI8, SI32, UI8, UI32, PtirDType
from mind_lowering.native import host as host_module
from mind_lowering.native.ir import LlvmModule
from mind_lowering.native.target_info import TARGETS
from mind_lowering.ptir_kernels.formats import array_dtype
from mind_runtime.native import jit

AMX = TARGETS["avx512amx"]
HERE = pytest.mark.skipif(AMX.isa not in RUNNABLE, reason="no tile registers")
LEAST = 2.0**-126
BYTES = [(SI8, SI8), (SI8, UI8), (UI8, SI8), (UI8, UI8)]
EVERY_PAIR = pytest.mark.parametrize("pair", BYTES, ids=lambda pair: f"{pair[0]} {pair[1]}")
bfloat16 = ml_dtypes.bfloat16
rng = np.random.default_rng(23)


def drawn(dtype: PtirDType, shape: tuple[int, ...], flip: bool = False) -> Any:
    """A matrix, a transpose of what lies in memory if `flip`."""
    shape = shape[::-1] if flip else shape
    if dtype is BF16:
        found = rng.standard_normal(shape).astype(bfloat16)
    else:
        like = np.iinfo(array_dtype(dtype.name))
        found = rng.integers(like.min, like.max, shape, like.dtype, endpoint=True)
    return found.T if flip else found


def product_of(a: Any, b: Any, dtypes: tuple[PtirDType, ...], **options: Any) -> tuple[Compiled, Any]:
    """The product of two arrays in dtypes of operands, result and sums, which is in tiles; its result is not written yet."""
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    out = np.full((*batch, a.shape[-2], b.shape[-1]), 77, bfloat16 if dtypes[2] is BF16 else array_dtype(dtypes[2].name))
    left, right, result, total = dtypes
    made = compiled(options.pop("host", AMX), a, b, out, (left, right, result, total), **options)
    assert made.product.cut.words is not None
    assert made.product.cut.words.in_tiles
    return made, out


def exact(a: Any, b: Any, dtypes: tuple[PtirDType, ...], pieces: int = 1, **options: Any) -> Compiled:
    """Hold a product of bytes against NumPy's modulo 2^32."""
    made, out = product_of(a, b, dtypes, **options)
    made.caller(a, b, out, pieces)()
    np.testing.assert_array_equal(out, np.matmul(a.astype(np.int64), b.astype(np.int64)).astype(out.dtype))
    return made


def bounded(a: Any, b: Any, result: PtirDType = F32, pieces: int = 1, **options: Any) -> Any:
    """Hold a product of bf16 against f64 by the bound of docs/native.md; the result."""
    made, out = product_of(a, b, (BF16, BF16, result, F32), **options)
    made.caller(a, b, out, pieces)()
    x, y = a.astype(np.float64), b.astype(np.float64)
    sums, terms, depth = x @ y, np.abs(x) @ np.abs(y), x.shape[-1]
    factors = np.abs(x).sum(-1)[..., None] + np.abs(y).sum(-2)[..., None, :]
    bound = depth * 2.0**-23 * terms + LEAST * (2 * depth + factors)
    if result is BF16:
        bound += (np.abs(sums) + bound) * 2.0**-8
    assert (np.abs(out.astype(np.float64) - sums) <= bound).all()
    return out


EDGES = [(5, 64, 6), (13, 64, 37), (16, 147, 70), (17, 128, 200), (32, 64, 32), (33, 1000, 64), (200, 520, 33), (224, 4097, 130)]


@pytest.mark.exhaustive
@HERE
@pytest.mark.parametrize("flips", range(4))
def test_bytes_of_all_signs(flips: int) -> None:
    for i, (m, k, n) in enumerate(EDGES):
        pair = BYTES[(i + flips) % len(BYTES)]
        a, b = drawn(pair[0], (m, k), bool(flips & 1)), drawn(pair[1], (k, n), bool(flips & 2))
        exact(a, b, (*pair, SI32, SI32), pieces=1 + i % 3, still=(bool(i & 1), bool(i & 1)))


@HERE
@EVERY_PAIR
def test_extremes_do_not_saturate(pair: tuple[PtirDType, PtirDType]) -> None:
    ends = [(np.iinfo(array_dtype(d.name)).min, np.iinfo(array_dtype(d.name)).max) for d in pair]
    for x in ends[0]:
        for y in ends[1]:
            a, b = (np.full(s, v, array_dtype(d.name)) for s, v, d in zip(((9, 256), (256, 20)), (x, y), pair, strict=True))
            exact(a, b, (*pair, UI32, UI32))


@HERE
def test_sums_wrap() -> None:
    a, b = np.full((9, 140_000), 255, np.uint8), np.full((140_000, 18), 255, np.uint8)
    exact(a, b, (UI8, UI8, SI32, SI32))


@pytest.mark.exhaustive
@HERE
@pytest.mark.parametrize("rows", [5, 15, 16, 17, 31, 32, 33, 48, 65])
def test_edges_of_tiles(rows: int) -> None:
    for columns in (5, 16, 17, 33, 64, 65):
        depth = 64 + (rows * 7 + columns) % 100
        if (rows + columns) % 2:
            bounded(drawn(BF16, (rows, depth), bool(rows % 2)), drawn(BF16, (depth, columns), bool(columns % 4)))
        else:
            exact(drawn(SI8, (rows, depth), bool(rows % 4)), drawn(SI8, (depth, columns)), (SI8, SI8, SI32, SI32))


STRIDED = [
    lambda a, b: (a, b),
    lambda a, b: (a[..., ::-1], b[:, :, ::-1]),
    lambda a, b: (a[:, :, ::2, ::3], b[:, :, :25, ::2]),
    lambda a, b: (a[:, :, :, ::3], b[:, :, ::3]),
    lambda a, b: (np.broadcast_to(a[:1], a.shape), np.broadcast_to(b[:, :1], b.shape)),
    lambda a, b: (np.broadcast_to(a[..., :1], a.shape), b),
    lambda a, b: (a, np.broadcast_to(b[:, :, :1], b.shape)),
    lambda a, b: (np.broadcast_to(a[..., :1], a.shape), np.broadcast_to(b[:, :, :1], b.shape)),
    lambda a, b: (np.broadcast_to(a[:, :, :1], a.shape), np.broadcast_to(b[..., :1], b.shape)),
]


@HERE
@pytest.mark.parametrize("number", range(len(STRIDED)))
@pytest.mark.parametrize("dtype", [SI8, BF16], ids=str)
def test_batches_and_strides(number: int, dtype: PtirDType) -> None:
    a, b = drawn(dtype, (6 * 17, 75)).reshape(3, 2, 17, 75), drawn(dtype, (6 * 75, 37)).reshape(3, 2, 75, 37)
    left, right = STRIDED[number](a, b)
    while left.shape[-1] < 64:
        left, right = np.concatenate([left, left], -1), np.concatenate([right, right], -2)
    if dtype is BF16:
        bounded(left, right, pieces=3)
    else:
        exact(left, right, (SI8, SI8, SI32, SI32), pieces=3)


@HERE
def test_checked_kernels() -> None:
    a, b = drawn(SI8, (37, 75)), drawn(SI8, (75, 37))
    exact(a, b, (SI8, SI8, SI32, SI32), host=replace(AMX, checked=True))


# bf16


@pytest.mark.exhaustive
@HERE
@pytest.mark.parametrize("result", [F32, BF16], ids=str)
@pytest.mark.parametrize("flips", range(4))
def test_bf16_is_within_its_bound(result: PtirDType, flips: int) -> None:
    for i, (m, k, n) in enumerate(EDGES):
        a, b = drawn(BF16, (m, k), bool(flips & 1)), drawn(BF16, (k, n), bool(flips & 2))
        bounded(a, b, result, pieces=1 + i % 3, still=(bool(i & 1), bool(i & 1)))


@HERE
def test_bf16_of_every_magnitude() -> None:
    """Among them numbers below 2^-126, as factors, products and sums, which count as 0."""
    for low, high in ((-133, -100), (-70, -60), (-133, 60), (0, 63), (-66, 10)):
        a, b = (np.ldexp(rng.standard_normal(s), rng.integers(low, high, s)).astype(bfloat16) for s in ((19, 70), (70, 35)))
        bounded(a, b)
    a, b = np.full((16, 64), 2.0**-127, bfloat16), np.full((64, 16), 2.0**127, bfloat16)
    assert (bounded(a, b) == 0).all(), "one of the factors is taken for 0"


@HERE
def test_infinity_and_nan_stay_in_their_rows_and_columns() -> None:
    """What fills up the contracted axis and rows meets no factor that is not finite."""
    for depth in (33, 64, 75):
        a, b = np.ones((19, depth), bfloat16), np.ones((depth, 35), bfloat16)
        a[3, depth - 1], a[5, 2], b[depth - 1, 7] = np.inf, np.nan, -np.inf
        made, out = product_of(a, b, (BF16, BF16, F32, F32))
        made.caller(a, b, out)()
        with np.errstate(invalid="ignore"):
            np.testing.assert_array_equal(out, a.astype(np.float32) @ b.astype(np.float32))


@HERE
def test_pieces_do_not_change_bits() -> None:
    for m, k, n in ((260, 2100, 70), (40, 2100, 300)):
        a, b = drawn(BF16, (m, k)), drawn(BF16, (k, n))
        found = [bounded(a, b, pieces=pieces) for pieces in (1, 2, 5)]
        assert all((x == found[0]).all() for x in found)


def test_other_floats_are_not_in_tiles() -> None:
    for dtypes in ((F32, F32, F32, F32), (BF16, F32, F32, F32), (F32, BF16, F32, F32)):
        a, b = (np.ones((64, 64), bfloat16 if d is BF16 else np.float32) for d in dtypes[:2])
        assert compiled(AMX, a, b, np.ones((64, 64), np.float32), dtypes).product.cut.words is None


# Code, and the state of registers


CODES = {(SI8, SI8): "tdpbssd", (SI8, UI8): "tdpbsud", (UI8, SI8): "tdpbusd", (UI8, UI8): "tdpbuud", (BF16, BF16): "tdpbf16ps"}


@pytest.mark.parametrize("pair", CODES, ids=lambda pair: f"{pair[0]} {pair[1]}")
@pytest.mark.parametrize("shape", [(64, 512, 64), (9, 100, 70), (300, 9000, 40)], ids=str)
def test_code_has_the_instruction(pair: tuple[PtirDType, PtirDType], shape: tuple[int, int, int]) -> None:
    m, k, n = shape
    total = F32 if BF16 in pair else SI32
    made, _ = product_of(drawn(pair[0], (m, k)), drawn(pair[1], (k, n)), (*pair, total, total))
    text = jit.assembly(made.text, AMX)
    assert set(re.findall(r"tdp\w+", text)) == {CODES[pair]}
    assert not re.search(r"vpdp|vdpbf16|vpmadd", text)


def test_tiles_are_in_use_only_between_two_calls_of_a_kernel() -> None:
    """Every way out of a kernel, and every look for signals, follows a release."""
    made, _ = product_of(drawn(SI8, (300, 150_000)), drawn(SI8, (150_000, 200)), (SI8, SI8, SI32, SI32))
    body = made.text[made.text.index("define i64 @k.p(") :]
    body = body[: body.index("\n}")]
    events = re.findall(r"tilerelease|ldtilecfg|%poll\.\d+\(|ret i64|call void @tile", body)
    assert events[-2:] == ["tilerelease", "ret i64"]
    polls = [i for i, event in enumerate(events) if event.startswith("%poll")]
    assert polls, "it is long"
    for i in polls:
        assert (events[i - 1], events[i + 1 : i + 3]) == ("tilerelease", ["ret i64", "ldtilecfg"])


@HERE
def test_registers_are_released() -> None:
    """`sttilecfg` stores zeros where no configuration is loaded."""
    module = LlvmModule(AMX.triple, "state")
    f = module.function("state", "i64", [("ptr", "to")], internal=False)
    f.call("llvm.x86.sttilecfg", "void", ("ptr", "%to"))
    f.ret("0")
    library = jit.load(module.text(), AMX, ["state"])
    state = np.full(64, 1, np.uint8)
    exact(drawn(SI8, (40, 75)), drawn(SI8, (75, 40)), (SI8, SI8, SI32, SI32))
    ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(library.addresses["state"])(state.ctypes.data)
    assert not state.any()


def test_a_machine_that_refuses_registers_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    flags = frozenset().union(*host_module._NEEDS.values())  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(host_module, "_is_aarch64", lambda: False)
    monkeypatch.setattr(host_module, "_flags", lambda: flags)
    for answer, best in ((True, "avx512amx"), (False, "avx512vnni")):
        monkeypatch.setattr(host_module, "_has_tile_data", lambda answer=answer: answer)
        assert host_module.runnable()[0] == best
