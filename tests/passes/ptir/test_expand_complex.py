"""Complex numbers as their parts: every op that has a rule gives what its own kernel gives, infinities and zeros included."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from complex_numbers import WIDE, edges, finite, joined
from mind_dialect import ptir
from mind_dialect.program import functions
from mind_dialect.ptir import OPS_BY_OPCODE, PtirOp
from mind_dialect.ptir.legal import LEGAL
from mind_dialect.ptir.types import CF32, CF64
from mind_dialect.verify import verify
from mind_passes.ptir.expand_complex import EXPANSIONS, LEFT, expand_complex, is_complex
from mind_passes.ptir.expand_narrow import MOVES
from mind_runtime import compile
from native_same import types
from ptir_batching_rows import ROWS, inputs
from ptir_forms import program

PRECISIONS = ("f4", "f8")
FUNCTIONS = (
    ptir.NegOp, ptir.ConjOp, ptir.AbsOp, ptir.SignOp, ptir.ExpOp, ptir.LogOp, ptir.SqrtOp, ptir.RsqrtOp, ptir.ReciprocalOp,
)  # fmt: skip


def expanded(module: Any) -> Any:
    copy = module.clone()
    assert expand_complex(copy)
    check(copy)
    return copy


def check(module: Any) -> None:
    """The module is valid, and no op outside of it reads a value of it."""
    verify(module)
    values = [v for op in module.walk() for v in (*op.results, *(a for r in op.regions for b in r.blocks for a in b.args))]
    assert all(use.operation.parent is not None for value in values for use in value.uses)


def results(module: Any, *arrays: Any) -> list[Any]:
    found = compile(module)(*arrays)
    return [np.asarray(y) for y in (found if isinstance(found, tuple) else (found,))]


def ops(module: Any) -> list[PtirOp]:
    return [op for op in module.walk() if isinstance(op, PtirOp)]


def has_whole(module: Any) -> set[type[PtirOp]]:
    """The ops that still take or give whole numbers, but for those that take them apart and join them."""
    ends = (ptir.RealOp, ptir.ImagOp, ptir.ComplexOp)
    return {type(op) for op in ops(module) if any(map(is_complex, (*op.operands, *op.results))) and not isinstance(op, ends)}


def parts(x: Any) -> list[Any]:
    return [x.real, x.imag] if x.dtype.kind == "c" else [x]


def test_every_op_on_complex_numbers_is_expanded_or_stays_for_a_reason() -> None:
    complex_too = {
        OPS_BY_OPCODE[key.split()[0]]
        for key, row in LEGAL.items()
        if key != "while" and any(d in dtypes for dtypes in row.values() for d in (CF32, CF64))
    }
    assert set(EXPANSIONS) | set(LEFT) | MOVES >= complex_too | {ptir.ComplexOp}
    assert not set(LEFT) & (set(EXPANSIONS) | MOVES)
    assert set(LEFT) | set(EXPANSIONS) <= set(OPS_BY_OPCODE.values())
    assert all(LEFT.values())


@pytest.mark.parametrize("dtype", [CF32, CF64], ids=str)
@pytest.mark.parametrize("row", [row for row in ROWS if CF32 in row.legal()], ids=str)
def test_op_rows(row: Any, dtype: Any) -> None:
    module = row.module(dtype)
    arrays = list(inputs(next(functions(module)), row))
    copy = module.clone()
    assert expand_complex(copy) or has_whole(copy) <= {*LEFT, *MOVES, ptir.ReduceOp}
    check(copy)
    for found, wanted in zip(results(copy, *arrays), results(module, *arrays), strict=True):
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
        size = np.abs(wanted[np.isfinite(wanted)]).max(initial=0)
        eps = 2.0 ** (-23 if dtype is CF32 else -52)
        np.testing.assert_allclose(found, wanted, rtol=0, atol=32 * eps * size)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("op", FUNCTIONS, ids=lambda op: op.name)
def test_functions_at_their_edges(op: Any, precision: str) -> None:
    """
    Parts are the same, or finite and within 4 units of the last place of the magnitude.

    Zeros have their signs, but for imaginary parts that are no finite numbers, where C leaves them open, and quotients by roots.
    """
    z = edges(precision)
    module = program(types(z), op)
    (found,), (wanted,) = results(expanded(module), z), results(module, z)
    assert has_whole(expanded(module)) == set()
    with np.errstate(all="ignore"):
        size = np.maximum(np.abs(wanted), np.finfo(precision).tiny)
        for x, y in zip(parts(found), parts(wanted), strict=True):
            same = ((x == y) & (np.signbit(x) == np.signbit(y))) | (np.isnan(x) & np.isnan(y))
            other_zero = (x == 0) & (y == 0) & np.isfinite(z.imag) & (op is not ptir.RsqrtOp)
            close = np.isfinite(x) & np.isfinite(y) & (np.abs(x - y) <= 4 * np.finfo(precision).eps * size) & ~other_zero
            assert (same | close).all(), z[~(same | close)][:5]


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("op", WIDE, ids=lambda op: op.name)
def test_finite_numbers_have_the_values_of_wider_ones(op: Any, precision: str) -> None:
    """Parts are within 6 units of the last place of the magnitude, zeros have their signs, and finite values do not overflow."""
    wide = {"f4": np.complex128, "f8": np.clongdouble}[precision]
    if np.finfo(wide).nmant <= np.finfo(precision).nmant:
        pytest.skip("no wider numbers on this machine")
    z = finite(precision)
    (found,) = results(expanded(program(types(z), op)), z)
    with np.errstate(all="ignore"):
        wanted = WIDE[op](z.astype(wide))
        size = np.maximum(np.abs(wanted), np.finfo(precision).tiny)
        for x, y in zip(parts(found), parts(wanted), strict=True):
            close = np.isfinite(x) & (np.abs(x - y) <= 6 * np.finfo(precision).eps * size)
            same = ((x == y.astype(precision)) | close) & ((y != 0) | (op is ptir.LogisticOp) | (np.signbit(x) == np.signbit(y)))
            assert same.all(), (z[~same][:5], x[~same][:5], y[~same][:5])
    half = len(z) // 2
    assert found[half:].tobytes() == found[:half].conj().tobytes()


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("op", WIDE, ids=lambda op: op.name)
def test_infinities_and_nan_have_the_values_of_numpy(op: Any, precision: str) -> None:
    """Zeros and infinities have their signs, but where C leaves them open: where the angle is no finite number."""
    z = edges(precision)
    z = z[~np.isfinite(z)]
    module = program(types(z), op)
    (found,), (wanted,) = results(expanded(module), z), results(module, z)
    assert has_whole(expanded(module)) == set()
    angle = z.real if op in (ptir.SinOp, ptir.CosOp) else z.imag
    for x, y in zip(parts(found), parts(wanted), strict=True):
        np.testing.assert_allclose(np.abs(x), np.abs(y), rtol=4 * np.finfo(precision).eps)
        is_open = ~np.isfinite(angle) | np.isnan(z) | np.isnan(y) | ((y == 0) & (op is ptir.LogisticOp))
        np.testing.assert_array_equal(np.signbit(x)[~is_open], np.signbit(y)[~is_open])


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("op", [ptir.AddOp, ptir.SubOp, ptir.DivOp], ids=lambda op: op.name)
def test_pairs_at_their_edges(op: Any, precision: str) -> None:
    """Every bit of sums, differences and quotients, but those of NaN."""
    line = edges(precision)[: 37 * 37 : 3]
    x, y = (np.ascontiguousarray(v.ravel()) for v in np.meshgrid(line, line))
    module = program(types(x, y), op)
    for a, b in zip(*(parts(results(m, x, y)[0]) for m in (expanded(module), module)), strict=True):
        assert (((a == b) & (np.signbit(a) == np.signbit(b))) | (np.isnan(a) & np.isnan(b))).all()


def test_products_are_rounded_three_times_at_most() -> None:
    rng = np.random.default_rng(1)
    x, y = (joined(*rng.standard_normal((2, 5000)), "f4") for _ in range(2))
    (found,) = results(expanded(program(types(x, y), ptir.MulOp)), x, y)
    a, b, c, d = (v.astype("f8") for v in (x.real, x.imag, y.real, y.imag))
    for part, wanted, terms in ((found.real, a * c - b * d, (a * c, b * d)), (found.imag, a * d + b * c, (a * d, b * c))):
        assert (np.abs(part - wanted) <= 2.0**-23 * (abs(terms[0]) + abs(terms[1]))).all()


@pytest.mark.parametrize("kind", ["equal", "not_equal"])
def test_comparisons(kind: str) -> None:
    line = joined([0.0, -0.0, 1, 1, np.nan, np.inf], [-0.0, 0.0, 1, 2, 0, np.inf], "f4")
    x, y = (np.ascontiguousarray(v.ravel()) for v in np.meshgrid(line, line))
    module = program(types(x, y), lambda a, b: ptir.CompareOp(a, b, kind=kind))
    np.testing.assert_array_equal(*(results(m, x, y)[0] for m in (expanded(module), module)))


@pytest.mark.parametrize(
    ("left", "right", "batch", "contract", "is_vector"),
    [
        ((5,), (5,), ((), ()), ((0,), (0,)), True),
        ((4, 5), (5,), ((), ()), ((1,), (0,)), True),
        ((5,), (5, 4), ((), ()), ((0,), (0,)), True),
        ((5, 4), (5,), ((), ()), ((0,), (0,)), True),
        ((3, 1, 5), (5, 3, 2), ((0,), (1,)), ((2,), (0,)), True),
        ((3, 5, 2, 4), (4, 3, 2), ((0,), (1,)), ((2, 3), (2, 0)), True),
        ((2, 3), (2, 4), ((), ()), ((0,), (0,)), False),
        ((3,), (4,), ((), ()), ((), ()), False),
    ],
)
def test_products_of_vectors_are_summed_in_place(left: Any, right: Any, batch: Any, contract: Any, is_vector: bool) -> None:
    rng = np.random.default_rng(2)
    x, y = (joined(*rng.standard_normal((2, *shape)), "f8") for shape in (left, right))
    axes = {"batch_lhs": batch[0], "batch_rhs": batch[1], "contract_lhs": contract[0], "contract_rhs": contract[1]}
    module = program(types(x, y), lambda a, b: ptir.DotGeneralOp(a, b, **axes))
    copy = expanded(module)
    assert any(isinstance(op, ptir.DotGeneralOp) for op in ops(copy)) != is_vector
    (found,), (wanted,) = results(copy, x, y), results(module, x, y)
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-14)


@pytest.mark.parametrize("out", [CF32, CF64, None], ids=str)
@pytest.mark.parametrize("right", [(4,), (4, 3)], ids=str)
def test_wider_accumulators_take_products_unrounded(right: tuple[int, ...], out: Any) -> None:
    """Products of 1.0001 and i cancel in the real part, those of 1e30 overflow f32."""
    axes = {"batch_lhs": [], "batch_rhs": [], "contract_lhs": [1], "contract_rhs": [0]}
    for number in (1.0001 + 1j, 1e30 + 1e30j):
        x, y = np.full((5, 4), number, "c8"), np.full(right, number, "c8")
        module = program(types(x, y), lambda a, b: ptir.DotGeneralOp(a, b, accum_dtype=CF64, out_dtype=out, **axes))
        copy = expanded(module)
        (found,), (wanted,) = results(copy, x, y), results(module, x, y)
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, rtol=4 * np.finfo(found.dtype).eps)


def test_what_is_read_often_is_taken_apart_once() -> None:
    table = ptir.PtirLiteralAttr.from_values(CF32, (3,), (1 + 2j, 3j, 2))

    def body(z: Any) -> Any:
        constant = ptir.ConstantOp(table)
        for _ in range(20):
            z = ptir.AddOp(ptir.MulOp(z, constant), z)
        return z

    copy = expanded(program("cf32[3]", body))
    count = [type(op) for op in ops(copy)].count
    assert (count(ptir.ConstantOp), count(ptir.RealOp), count(ptir.ImagOp)) == (2, 1, 1)


def test_parts_of_whole_numbers_are_no_change() -> None:
    module = program("cf32[3]", lambda z: [ptir.RealOp(z), ptir.ImagOp(ptir.FftOp(z, kind="fft", lengths=[3]))])
    before = str(module)
    assert not expand_complex(module)
    assert str(module) == before


def test_what_moves_between_two_ops_is_apart() -> None:
    x = joined(*np.arange(48.0).reshape(2, 4, 6), "f4")

    def body(z: Any) -> Any:
        square = ptir.MulOp(z, z)
        turned = ptir.ReverseOp(ptir.TransposeOp(square, perm=[1, 0]), axes=[0])
        padded = ptir.PadOp(turned, low=[1, 0], high=[0, 2], interior=[0, 1], pad_value=1 - 2j)
        return ptir.NegOp(padded)

    module = program(types(x), body)
    assert has_whole(expanded(module)) == set()
    np.testing.assert_array_equal(results(expanded(module), x)[0], results(module, x)[0])


def test_what_moves_whole_numbers_stays_whole() -> None:
    """The result of a product that is reversed and returned, and an argument that is reversed and read."""
    x = joined(*np.arange(12.0).reshape(2, 6), "f4")
    returned = program(types(x), lambda z: ptir.ReverseOp(ptir.MulOp(z, z), axes=[0]))
    read = program(types(x), lambda z: ptir.NegOp(ptir.ReverseOp(z, axes=[0])))
    for module in (returned, read):
        assert has_whole(expanded(module)) == {ptir.ReverseOp}
        np.testing.assert_array_equal(results(expanded(module), x)[0], results(module, x)[0])


def test_ops_without_a_rule_read_and_give_whole_numbers() -> None:
    x = joined(*np.random.default_rng(3).standard_normal((2, 4, 8)), "f8")

    def body(z: Any) -> list[Any]:
        wave = ptir.PowOp(ptir.FftOp(ptir.MulOp(z, z), kind="fft", lengths=[8]), z)
        return [
            ptir.AbsOp(wave),
            ptir.ReduceOp(wave, kind="prod", axes=[1], keepdims=False),
            ptir.ReduceOp(wave, kind="sum", axes=[0], keepdims=False),
        ]

    module = program(types(x), body)
    assert has_whole(expanded(module)) == {ptir.FftOp, ptir.PowOp, ptir.ReduceOp}
    for found, wanted in zip(results(expanded(module), x), results(module, x), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_constants_are_taken_apart() -> None:
    x = joined([1.0, 2, 3], [0.0, -1, 5], "f4")
    table = ptir.PtirLiteralAttr.from_values(CF32, (3,), (1 + 2j, complex(-0.0, 3), complex(np.inf, -0.0)))

    def body(z: Any) -> Any:
        return ptir.AddOp(z, ptir.ConstantOp(table))

    module = program(types(x), body)
    assert has_whole(expanded(module)) == set()
    assert results(expanded(module), x)[0].tobytes() == results(module, x)[0].tobytes()


def test_programs_without_complex_numbers_are_left_alone() -> None:
    module = program("f32[3] si32[3]", lambda x, i: [ptir.MulOp(x, x), ptir.AddOp(i, i)])
    before = str(module)
    assert not expand_complex(module)
    assert str(module) == before
