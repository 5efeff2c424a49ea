"""Complex numbers as kernels: parts read where they lie, written beside each other, in every layout."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import mind_runtime
from complex_numbers import WIDE, edges, finite
from mind_dialect import ptir
from mind_dialect.program import functions
from mind_passes.ptir.expand_complex import expand_complex
from native_same import outcome, types, way
from ptir_forms import program

__all__ = ["way"]
rng = np.random.default_rng(0)


def numbers(*shape: int, bits: int = 32) -> Any:
    return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(f"c{bits // 4}")


def checked(body: Callable[..., Any], *arrays: Any, exact: bool = True, on_numpy: int = 0) -> Any:
    """Results are those of NumPy on the parts, bit by bit if `exact`; so many ops have no kernel."""
    module = program(types(*arrays), body)
    native = mind_runtime.compile(module, target="native")
    assert native.explain()[0].split(", ")[1].split()[0] == str(on_numpy), native.explain()
    parts = module.clone()
    expand_complex(parts)
    found, wanted, whole = (run(*arrays) for run in (native, mind_runtime.compile(parts), mind_runtime.compile(module)))
    for x, y, z in zip(*(r if isinstance(r, tuple) else (r,) for r in (found, wanted, whole)), strict=True):
        x, y, z = (np.asarray(v) for v in (x, y, z))
        assert (x.dtype, x.shape) == (z.dtype, z.shape)
        if exact:
            assert x.tobytes() == y.tobytes()
        eps = np.finfo(z.dtype).eps if z.dtype.kind in "fc" else 0
        np.testing.assert_allclose(x, z, rtol=0, atol=64 * eps * np.abs(z).max(initial=0))
    return native


SHAPES = [(), (1,), (3,), (16,), (37,), (1000,), (4, 5), (16, 16), (3, 129), (2, 3, 33), (0,), (5, 0)]


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("bits", [32, 64])
def test_shapes(shape: tuple[int, ...], bits: int) -> None:
    x, y = numbers(*shape, bits=bits), numbers(*shape, bits=bits)
    checked(lambda a, b: ptir.MulOp(a, b), x, y)
    checked(lambda a, b: [ptir.ConjOp(a), ptir.AddOp(a, ptir.ConjOp(b)), ptir.RealOp(a), ptir.ImagOp(b)], x, y)


@pytest.mark.usefixtures("way")
def test_one_kernel_writes_both_parts() -> None:
    native = checked(lambda a, b: ptir.DivOp(ptir.MulOp(a, b), ptir.SubOp(a, b)), numbers(300), numbers(300))
    assert "1 native kernel," in native.explain()[0]


@pytest.mark.usefixtures("way")
def test_views() -> None:
    """Transposed, reversed, sliced, repeated: operands of a product, and its result."""
    x, y = numbers(24, 40), numbers(40, 24)
    checked(lambda a, b: ptir.MulOp(ptir.TransposeOp(a, perm=[1, 0]), b), x, y)
    checked(lambda a, b: ptir.MulOp(ptir.ReverseOp(a, axes=[1]), ptir.TransposeOp(b, perm=[1, 0])), x, y)
    checked(lambda a, b: ptir.TransposeOp(ptir.MulOp(a, a), perm=[1, 0]), x, y)
    checked(lambda a, b: ptir.StridedSliceOp(ptir.MulOp(b, b), starts=[3, 1], limits=[39, 23], strides=[2, 3]), x, y)
    checked(lambda a, b: ptir.NegOp(ptir.StridedSliceOp(b, starts=[3, 1], limits=[39, 23], strides=[2, 3])), x, y)
    checked(lambda a, b: ptir.MulOp(ptir.BroadcastToOp(a, result_shape=[7, 40]), b), numbers(40), numbers(7, 40))
    checked(lambda a, b: ptir.MulOp(ptir.BroadcastToOp(a, result_shape=[40, 7]), b), numbers(40, 1), numbers(40, 7))
    checked(lambda a, b: ptir.ConcatOp(ptir.MulOp(a, a), ptir.NegOp(a), axis=0), x, y)
    checked(lambda a, b: ptir.RealOp(ptir.SliceOp(a, starts=[3, 4], sizes=[1, 1])), x, y)
    checked(lambda a, b: ptir.ImagOp(ptir.SliceOp(a, starts=[23, 39], sizes=[1, 1])), x, y)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("axes", [[0], [1], [2], [0, 1], [0, 2], [0, 1, 2]], ids=str)
def test_sums(axes: list[int]) -> None:
    x = numbers(5, 18, 35)
    checked(lambda a: ptir.ReduceOp(a, kind="sum", axes=axes, keepdims=False), x, exact=False)
    checked(lambda a: ptir.ReduceOp(ptir.MulOp(a, ptir.ConjOp(a)), kind="sum", axes=axes, keepdims=True), x, exact=False)
    checked(lambda a: ptir.CumulativeSumOp(a, axis=axes[0], exclusive=False, reverse=len(axes) > 1), x)


@pytest.mark.usefixtures("way")
def test_products() -> None:
    plain = {"batch_lhs": [], "batch_rhs": [], "contract_lhs": [1], "contract_rhs": [0]}
    for x, y in ((numbers(33, 40), numbers(40, 17)), (numbers(33, 40), numbers(40)), (numbers(1, 40), numbers(40, 9))):
        checked(lambda a, b: ptir.DotGeneralOp(a, b, **plain), x, y, exact=False)
    batched = {"batch_lhs": [0], "batch_rhs": [0], "contract_lhs": [2], "contract_rhs": [1]}
    checked(lambda a, b: ptir.DotGeneralOp(a, b, **batched), numbers(3, 8, 9, bits=64), numbers(3, 9, 5, bits=64), exact=False)


@pytest.mark.usefixtures("way")
def test_updates() -> None:
    x, updates, ids = numbers(12, 3), numbers(20, 3), rng.integers(0, 12, 20).astype("i4")
    checked(
        lambda a, u, i: ptir.SegmentReduceOp(u, i, kind="sum", num_segments=12, indices_are_sorted=False, unique=False),
        x,
        updates,
        ids,
        exact=False,
    )
    where = np.repeat(ids[:, None], 3, 1)
    checked(lambda a, i, u: ptir.ScatterReduceOp(a, i, u, kind="add", axis=0), x, where, updates, exact=False)
    checked(lambda a, u, i: ptir.TakeOp(ptir.NegOp(a), i), x, updates, ids)


def _forgetting(module: Any) -> Any:
    """A module whose function returns its first argument in place of its result."""
    copy = module.clone()
    (func,) = functions(copy)
    ending = func.body.block.last_op
    assert ending is not None
    ending.operands = [func.body.block.args[0]]
    func.update_function_type()
    return copy


def test_an_index_out_of_range_is_that_of_the_op() -> None:
    """Looked up, added and forgotten: the error is that of the NumPy target, word for word."""
    x, bad = numbers(12, 3), np.array([3, 12, *[0] * 10], "i4")
    everywhere = np.where(np.arange(36) == 7, 12, 1).reshape(12, 3).astype("i4")
    lookup = program(types(x, bad), lambda a, i: ptir.NegOp(ptir.TakeOp(ptir.NegOp(a), i)))
    update = program(types(x, everywhere), lambda a, i: ptir.ScatterReduceOp(a, i, ptir.ConjOp(a), kind="add", axis=0))
    for module, ids in ((lookup, bad), (update, everywhere), (_forgetting(lookup), bad), (_forgetting(update), everywhere)):
        native = mind_runtime.compile(module, target="native")
        assert " 0 ops on NumPy" in native.explain()[0]
        error, _ = outcome(native, (x, ids))
        assert error == outcome(mind_runtime.compile(module), (x, ids))[0]
        assert error[:1] == ("E6001",)


@pytest.mark.usefixtures("way")
def test_transforms_between_elementwise_ops() -> None:
    x, h = numbers(6, 64), numbers(64)

    def body(a: Any, b: Any) -> Any:
        wave = ptir.MulOp(ptir.FftOp(a, kind="fft", lengths=[64]), ptir.BroadcastToOp(b, result_shape=[6, 64]))
        return ptir.AbsOp(ptir.FftOp(wave, kind="ifft", lengths=[64]))

    checked(body, x, h, exact=False)


@pytest.mark.usefixtures("way")
def test_functions_without_a_rule_take_whole_numbers() -> None:
    x = numbers(50)
    checked(lambda a: ptir.AddOp(ptir.PowOp(ptir.MulOp(a, a), a), a), x, exact=False, on_numpy=1)


FUNCTIONS = (
    ptir.ExpOp, ptir.LogOp, ptir.SqrtOp, ptir.SinOp, ptir.CosOp, ptir.TanhOp, ptir.LogisticOp, ptir.Expm1Op, ptir.Log1pOp,
)  # fmt: skip


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("precision", ["f4", "f8"])
@pytest.mark.parametrize("op", FUNCTIONS, ids=lambda op: op.name)
def test_functions(op: Any, precision: str) -> None:
    """Within 10 units of the last place of the magnitude of NumPy on the parts, at all edges, zeros with their signs."""
    z = np.concatenate([edges(precision), finite(precision)])
    module = program(types(z), op)
    native = mind_runtime.compile(module, target="native")
    assert "1 native kernel, 0 ops on NumPy" in native.explain()[0]
    expand_complex(module)
    found, wanted = native(z), mind_runtime.compile(module)(z)
    with np.errstate(all="ignore"):
        size = np.maximum(np.abs(wanted), np.finfo(precision).tiny)
        for x, y in ((found.real, wanted.real), (found.imag, wanted.imag)):
            same = (x == y) | (np.isnan(x) & np.isnan(y))
            close = np.isfinite(x) & np.isfinite(y) & (np.abs(x - y) <= 10 * np.finfo(precision).eps * size)
            same = (same | close) & ((np.signbit(x) == np.signbit(y)) | (x != 0) | (y != 0))
            assert same.all(), (z[~same][:5], x[~same][:5], y[~same][:5])


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("shape", [(), (1,), (5, 7), (33,)], ids=str)
def test_loops_and_branches(shape: tuple[int, ...]) -> None:
    """Carried and stacked numbers, in a loop around a branch."""
    start, rows, flags = numbers(*shape), numbers(6, *shape), np.array([1, 0, 1, 1, 0, 1], bool)

    def choose(carried: Any, row: Any, flag: Any) -> list[Any]:
        (found,) = ptir.CondOp(
            flag, carried, row, true=lambda a, b: [ptir.MulOp(a, b)], false=lambda a, b: [ptir.SubOp(a, ptir.ConjOp(b))]
        ).results
        return [found, ptir.AbsOp(found), ptir.NegOp(found)]

    def body(z: Any, zs: Any, f: Any) -> Any:
        return ptir.ScanOp(z, zs, f, carry_count=1, scan_output_count=2, body=choose).results

    checked(body, start, rows, flags)


@pytest.mark.usefixtures("way")
def test_constants() -> None:
    table = ptir.PtirLiteralAttr.from_values(ptir.types.CF32, (3,), (1 + 2j, complex(-0.0, 3), complex(2, -0.0)))
    fill = ptir.PtirLiteralAttr.filled(ptir.types.CF32, (3,), 2 - 1j)
    for literal in (table, fill):
        checked(lambda a, literal=literal: ptir.MulOp(a, ptir.ConstantOp(literal)), numbers(3))
        checked(lambda a, literal=literal: [ptir.NegOp(a), ptir.ConstantOp(literal)], numbers(3))


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("precision", ["f4", "f8"])
@pytest.mark.parametrize("op", WIDE, ids=lambda op: op.name)
def test_errors_of_functions(op: Any, precision: str) -> None:
    """Within 5 units of the last place of the magnitude of the values of wider numbers."""
    wide = {"f4": np.complex128, "f8": np.clongdouble}[precision]
    if np.finfo(wide).nmant <= np.finfo(precision).nmant:
        pytest.skip("no wider numbers on this machine")
    z = finite(precision)
    found = mind_runtime.compile(program(types(z), op), target="native")(z)
    with np.errstate(all="ignore"):
        wanted = WIDE[op](z.astype(wide))
        error = np.abs(found - wanted) / np.maximum(np.abs(wanted), np.finfo(precision).tiny)
    assert error[np.isfinite(found)].max() <= 5 * np.finfo(precision).eps


@pytest.mark.parametrize("seed", range(40))
def test_drawn_programs(seed: int) -> None:
    """Chains of functions, products and moves, whose results are those of NumPy on whole numbers."""
    drawn = np.random.default_rng(seed)
    shape = tuple(int(n) for n in drawn.integers(1, 9, drawn.integers(1, 4)))

    def body(*arguments: Any) -> list[Any]:
        values = list(arguments)
        for _ in range(8):
            x, y = (values[i] for i in drawn.integers(0, len(values), 2))
            kind = drawn.integers(0, 4)
            if kind < 2:
                values.append(FUNCTIONS[drawn.integers(0, len(FUNCTIONS))](ptir.MulOp(x, ptir.ConjOp(y))))
            elif kind == 2:
                values.append((ptir.AddOp, ptir.SubOp, ptir.MulOp)[drawn.integers(0, 3)](x, y))
            else:
                values.append(ptir.ReverseOp(ptir.TanhOp(x), axes=[0]))
        return [v.result for v in values[-3:]]

    arrays = [numbers(*shape, bits=64) for _ in range(2)]
    module = program(types(*arrays), body)
    native = mind_runtime.compile(module, target="native")
    assert " 0 ops on NumPy" in native.explain()[0]
    for found, wanted in zip(native(*arrays), mind_runtime.compile(module)(*arrays), strict=True):
        known = np.isfinite(wanted) & (np.abs(wanted) < 1e100)
        np.testing.assert_allclose(found[known], wanted[known], rtol=1e-7, atol=1e-7)
