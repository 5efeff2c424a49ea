"""Weights in narrow dtypes: products read them as they are stored. The native target against the NumPy target."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import mind_runtime
from machines import RUNNABLE
from mind_dialect import ptir
from mind_lowering.native import TARGETS
from mind_lowering.native.host import ISA_VARIABLE
from mind_lowering.native.program import lower, prepared
from mind_lowering.ptir_kernels.formats import array_dtype
from mind_runtime.native import jit
from native_checks import assert_close, computed_here, several
from ptir_evaluator import function_of
from ptir_forms import dot, like, program, spread

rng = np.random.default_rng(11)
SHAPES = [(1, 70, 40), (1, 700, 3400), (3, 130, 65), (8, 40, 33), (40, 130, 65), (130, 600, 70), (40, 70, 1)]
"""Rows of activations, depth, columns of weights: of every kind of cut."""


def array(text: str) -> Any:
    name, _, extents = text.rstrip("]").partition("[")
    dims = tuple(int(n) for n in extents.split(",") if n)
    if name.startswith(("si", "ui")):
        info = np.iinfo(array_dtype(name))
        return rng.integers(max(info.min, -128), min(info.max, 255) + 1, dims).astype(array_dtype(name))
    return rng.standard_normal(dims).astype(array_dtype(name))


def both(types: str, body: Callable[..., Any], arrays: list[Any] | None = None) -> Any:
    """A product's program on both targets, within the bound of a sum."""
    module = program(types, body)
    native, reference = (mind_runtime.compile(module, target=t) for t in ("native", "numpy"))
    arrays = arrays or [array(t) for t in types.split()]
    found, expected = native(*arrays), reference(*arrays)
    depth = arrays[0].shape[-1]
    finite = np.isfinite(expected)
    scale = float(np.max(np.abs(expected[finite]), initial=1.0))
    assert_close(found, expected, ulps=8, scale=scale * depth**0.5)
    return native


@pytest.mark.exhaustive
@pytest.mark.parametrize("dims", SHAPES, ids=str)
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("dtype", ["bf16", "f16", "si8", "ui8", "si16", "fp8_e4m3", "fp8_e5m2"])
def test_a_cast_that_products_read(dims: tuple[int, int, int], turned: bool, dtype: str) -> None:
    m, k, n = dims
    w = f"{dtype}[{n},{k}]" if turned else f"{dtype}[{k},{n}]"
    native = both(f"f32[{m},{k}] {w}", lambda x, w: dot(x, ptir.CastOp(w, dtype="f32"), (1,), (int(turned),)))
    if computed_here(dtype) or dtype.startswith("fp8"):
        assert not any("cast" in line for line in native.explain())
        assert any(f"read in {dtype}" in line for line in native.explain()) or n == 1


@pytest.mark.exhaustive
@pytest.mark.parametrize("dims", SHAPES, ids=str)
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("per", ["column", "row", "tensor"])
def test_dequantized(dims: tuple[int, int, int], turned: bool, per: str) -> None:
    m, k, n = dims
    w = f"si8[{n},{k}]" if turned else f"si8[{k},{n}]"
    axis = None if per == "tensor" else int((per == "row") == turned)
    count = {"column": f"[{n}]", "row": f"[{k}]", "tensor": "[]"}[per]

    def body(x: Any, w: Any, s: Any, z: Any) -> Any:
        y = dot(x, ptir.DequantizeOp(w, s, z, axis=axis, output_dtype="f32"), (1,), (int(turned),))
        return ptir.MaximumOp(y, like(y, 0.0))

    native = both(f"f32[{m},{k}] {w} f32{count} si8{count}", body)
    assert any("read in si8 with cast sub mul in" in line for line in native.explain()), native.explain()
    assert not any("dequantize" in line for line in native.explain())


@pytest.mark.parametrize("dims", SHAPES, ids=str)
@pytest.mark.parametrize("side", range(4))
@pytest.mark.parametrize("dtype", ["si8", "fp8_e4m3", "fp8_e5m2"])
def test_a_cast_and_a_scale(dtype: str, dims: tuple[int, int, int], side: int) -> None:
    """Also as the left operand, and with the weights' own axes turned on the way."""
    m, k, n = dims

    def weights(w: Any, s: Any) -> Any:
        wide = ptir.CastOp(w, dtype="f32")
        scaled = ptir.MulOp(wide, spread(s, wide))
        return ptir.TransposeOp(scaled, perm=(1, 0)) if side & 1 else scaled

    def body(x: Any, w: Any, s: Any) -> Any:
        made, axis = weights(w, s), 1 - (side & 1)
        return dot(made, x, (axis,), (1,)) if side & 2 else dot(x, made, (1,), (axis,))

    native = both(f"f32[{m},{k}] {dtype}[{n},{k}] f32[{n},1]", body)
    assert any(f"read in {dtype} with cast mul" in line for line in native.explain()), native.explain()


@pytest.mark.parametrize("isa", RUNNABLE)
@pytest.mark.parametrize("wide", ["f32", "f64"])
@pytest.mark.parametrize("dtype", ["fp8_e4m3", "fp8_e5m2"])
def test_all_numbers_of_8_bits(dtype: str, wide: str, isa: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Subnormal ones, zeros of both signs, infinities and NaN, each alone in its row of the result."""
    monkeypatch.setenv(ISA_VARIABLE, isa)
    w = np.arange(256, dtype=np.uint8).view(array_dtype(dtype)).reshape(1, 256).repeat(2, 0)
    x = np.concatenate([np.ones((33, 1)), np.zeros((33, 1))], 1).astype(wide_dtype := array_dtype(wide))
    module = program(f"{wide}[33,2] {dtype}[2,256]", lambda x, w: dot(x, ptir.CastOp(w, dtype=wide), (1,), (0,)))
    native = mind_runtime.compile(module, target="native")
    assert any(f"read in {dtype}" in line for line in native.explain()), native.explain()
    with np.errstate(invalid="ignore"):
        expected = w[:1].astype(wide_dtype) + w[1:].astype(wide_dtype) * x[:, 1:]
    np.testing.assert_array_equal(native(x, w), expected)


@pytest.mark.parametrize("isa", ["avx512", "avx2", "baseline", "neon", "sve256"])
@pytest.mark.parametrize("rows", [1, 64])
def test_code_that_decodes_fp8(rows: int, isa: str) -> None:
    """The upper half of f16 takes no arithmetic where an instruction converts that."""
    for dtype in ("fp8_e4m3", "fp8_e5m2"):
        module = program(f"f32[{rows},64] {dtype}[64,64]", lambda x, w: dot(x, ptir.CastOp(w, dtype="f32"), (1,), (0,)))
        text = lower(prepared(function_of(module), TARGETS[isa]), TARGETS[isa]).text
        assert jit.assembly(text, TARGETS[isa])
        assert ("fpext" in text) == (dtype == "fp8_e5m2" and TARGETS[isa].half)


@pytest.mark.parametrize("target", ["bf16", "f16"])
def test_fp8_is_cast_where_no_product_in_f32_reads_it(target: str) -> None:
    """Decoding is a part of products: a cast alone runs on NumPy."""
    native = mind_runtime.compile(program("fp8_e4m3[8,16]", lambda w: ptir.CastOp(w, dtype=target)), target="native")
    assert any("kernels do not support fp8_e4m3" in line for line in native.explain())


def test_special_scales_and_bits() -> None:
    """The numbers multiplied are those of the dequantized weights: also where a scale is infinite, NaN or tiny."""
    x = np.eye(6, dtype=np.float32)
    w = rng.integers(-128, 128, (6, 40)).astype(np.int8)
    s = np.concatenate([[np.inf, np.nan, 1e-40, 3e36, 0.0, -0.1], rng.standard_normal(34)]).astype(np.float32)
    z = rng.integers(-128, 128, 40).astype(np.int8)

    def body(x: Any, w: Any, s: Any, z: Any) -> Any:
        return dot(x, ptir.DequantizeOp(w, s, z, axis=1, output_dtype="f32"), (1,), (0,))

    module = program("f32[6,6] si8[6,40] f32[40] si8[40]", body)
    found, expected = (mind_runtime.compile(module, target=t)(x, w, s, z) for t in ("native", "numpy"))
    np.testing.assert_array_equal(found, expected)


def test_a_zero_point_of_zero_costs_nothing() -> None:
    def body(x: Any, w: Any, s: Any) -> Any:
        zero = ptir.CastOp(like(s, 0.0), dtype="si8")
        return dot(x, ptir.DequantizeOp(w, s, zero, axis=0, output_dtype="f32"), (1,), (1,))

    native = both("f32[1,64] si8[40,64] f32[40]", body)
    assert any("read in si8 with cast mul in" in line for line in native.explain())


def wide(w: Any) -> Any:
    return ptir.CastOp(w, dtype="f32")


def product(x: Any, w: Any) -> Any:
    return dot(x, w, (1,), (0,))


def reshaped(w: Any, s: Any) -> Any:
    return ptir.ReshapeOp(ptir.MulOp(c := wide(w), spread(s, c)), new_shape=(8, 5))


OTHERS: dict[str, tuple[str, Callable[..., Any]]] = {
    "somebody else reads it": ("f32[3,8] bf16[8,5]", lambda x, w: [product(x, c := wide(w)), ptir.NegOp(c)]),
    "it is a result": ("f32[3,8] bf16[8,5]", lambda x, w: [product(x, c := wide(w)), c]),
    "it is not exact": ("f32[3,8] si32[8,5]", lambda x, w: product(x, wide(w))),
    "it is narrower": ("bf16[3,8] f32[8,5]", lambda x, w: product(x, ptir.CastOp(w, dtype="bf16"))),
    "its scale does not go through a view": ("f32[3,8] si8[4,10] f32[4,1]", lambda x, w, s: product(x, reshaped(w, s))),
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_computed_before(name: str) -> None:
    types, body = OTHERS[name]
    module = program(types, body)
    native, reference = (mind_runtime.compile(module, target=t) for t in ("native", "numpy"))
    arrays = [array(t) for t in types.split()]
    for a, b in zip(several(native(*arrays)), several(reference(*arrays)), strict=True):
        assert_close(a, b, ulps=8, scale=100)
    assert any("cast" in line for line in native.explain())


def test_both_operands_of_a_batch() -> None:
    """Casts alone go through any product: heads of narrow keys and queries, also by way of views."""
    heads = {"batch_lhs": (0, 2), "batch_rhs": (0, 2), "contract_lhs": (3,), "contract_rhs": (3,)}

    def body(q: Any, k: Any) -> Any:
        return ptir.DotGeneralOp(*(ptir.ReshapeOp(ptir.CastOp(x, dtype="f32"), new_shape=(2, 17, 3, 8)) for x in (q, k)), **heads)

    native = both("bf16[2,17,24] bf16[2,17,24]", body)
    assert not any("cast" in line for line in native.explain())


def test_operands_of_narrow_floats() -> None:
    """`dot_general` of bf16 itself accumulates in f32, with an epilogue in bf16."""

    def body(x: Any, w: Any, b: Any) -> Any:
        y = ptir.DotGeneralOp(x, w, batch_lhs=(), batch_rhs=(), contract_lhs=(1,), contract_rhs=(0,), accum_dtype="f32")
        return ptir.AddOp(y, spread(b, y))

    module = program("bf16[8,64] bf16[64,40] bf16[40]", body)
    x, w, b = (array(t) for t in ("bf16[8,64]", "bf16[64,40]", "bf16[40]"))
    x, w, b = (np.rint(a.astype(np.float32)).astype(a.dtype) for a in (x, w, b))
    native, reference = (mind_runtime.compile(module, target=t) for t in ("native", "numpy"))
    np.testing.assert_array_equal(native(x, w, b).astype(np.float32), reference(x, w, b).astype(np.float32))
    assert len([line for line in native.explain()[1:] if "rows of" not in line]) == 1


def test_narrow_integers_are_multiplied_natively() -> None:
    types = "si8[9,64] si8[64,33]"
    module = program(types, lambda x, w: dot(x, w, (1,), (0,)))
    native, reference = (mind_runtime.compile(module, target=t) for t in ("native", "numpy"))
    arrays = [array(t) for t in types.split()]
    np.testing.assert_array_equal(native(*arrays), reference(*arrays))
    assert "0 ops on NumPy" in native.explain()[0]


@pytest.mark.parametrize("dims", [(1, 70, 40), (1, 700, 3400), (40, 130, 65)], ids=str)
def test_checked(monkeypatch: pytest.MonkeyPatch, dims: tuple[int, int, int]) -> None:
    monkeypatch.setenv("MIND_NATIVE_CHECKS", "1")
    test_dequantized(dims, False, "column")
    test_dequantized(dims, True, "row")
