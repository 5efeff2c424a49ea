"""Products with what follows them as their epilogue, in programs: the native target against the NumPy target."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from xdsl.ir import Block

pytest.importorskip("llvmlite")

import mind_runtime
from lone_products import compiled
from mind_dialect import ptir
from mind_dialect.ptir.types import F32
from mind_lowering.native import detect
from mind_lowering.native.failures import Failure
from mind_lowering.native.products.chain import Chain, Epilogue
from mind_lowering.native.products.epilogue import FLAG
from mind_lowering.native.program import lower, prepared
from mind_lowering.native.views import Buffer, Use, View
from mind_lowering.ptir_kernels.formats import array_dtype
from mind_runtime.compilation import find_function
from native_checks import assert_close, several
from ptir_forms import dot, gelu, gelu_tanh, like, program, reduce, shape, spread
from ptir_rows import typed

rng = np.random.default_rng(5)


def arrays_of(types: str, *, special: bool = False) -> list[Any]:
    """Arrays of `f32[2,3] si8[4]`; floats small integers and halves, some of them infinite or NaN if `special`."""
    made = []
    for text in types.split():
        name, _, extents = text.rstrip("]").partition("[")
        x = rng.integers(-4, 5, tuple(int(n) for n in extents.split(",") if n)) / (2 if name[0] in "fb" else 1)
        if special and x.size:
            for value in (np.inf, -np.inf, np.nan):
                x.flat[rng.integers(x.size)] = value
        made.append(x.astype(array_dtype(name)))
    return made


def held(types: str, body: Callable[..., Any], *, special: bool = False, scale: float | None = 64, ulps: float = 16) -> Any:
    """A program on both targets; the native one."""
    module = program(types, body)
    native, reference = (mind_runtime.compile(module, target=t) for t in ("native", "numpy"))
    arrays = arrays_of(types, special=special)
    for a, b in zip(several(native(*arrays)), several(reference(*arrays)), strict=True):
        assert_close(a, b, ulps=ulps, scale=scale)
    return native


def lines(native: Any) -> list[str]:
    return [line for line in native.explain()[1:] if not any(word in line for word in ("copy", "panels", "rows of", "sums of"))]


def product(x: Any, w: Any) -> Any:
    return dot(x, w, (len(shape(x)) - 1,), (0,))


def relu(x: Any) -> Any:
    return ptir.MaximumOp(x, like(x, 0.0))


EPILOGUES: dict[str, tuple[str, Callable[..., Any]]] = {
    "bias": ("f32[7]", lambda y, b: ptir.AddOp(y, spread(b, y))),
    "bias and relu": ("f32[7]", lambda y, b: relu(ptir.AddOp(y, spread(b, y)))),
    "gelu": ("f32[7]", lambda y, b: gelu(ptir.AddOp(y, spread(b, y)))),
    "tanh gelu": ("f32[7]", lambda y, b: gelu_tanh(ptir.AddOp(y, spread(b, y)))),
    "residual": ("f32[5,7]", lambda y, r: ptir.AddOp(r, y)),
    "turned residual": ("f32[7,5]", lambda y, r: ptir.AddOp(ptir.TransposeOp(r, perm=(1, 0)), y)),
    "one number a row": ("f32[5,1]", lambda y, r: ptir.MulOp(spread(r, y), y)),
    "one number": ("f32[]", lambda y, r: ptir.MulOp(spread(r, y), y)),
    "mask": ("f32[5,7]", lambda y, h: ptir.SelectOp(ptir.CompareOp(h, like(h, 0.0), kind="greater"), y, like(y, 0.0))),
    "truths": ("i1[5,7]", lambda y, m: ptir.SelectOp(m, y, like(y, -np.inf))),
    "descent": ("f32[5,7]", lambda y, w: ptir.SubOp(w, ptir.MulOp(y, like(y, 0.125)))),
    "two results": ("f32[7]", lambda y, b: [z := ptir.AddOp(y, spread(b, y)), relu(z)]),
    "the product too": ("f32[5,7]", lambda y, r: [y, ptir.AddOp(y, r)]),
    "a cast": ("bf16[7]", lambda y, b: ptir.AddOp(ptir.CastOp(y, dtype="bf16"), spread(b, y))),
    "a sum of columns": ("f32[5,7]", lambda y, m: [z := ptir.MulOp(y, m), reduce(z, "sum", 0, keepdims=False)]),
    "a sum of rows": ("f32[5,7]", lambda y, m: reduce(ptir.MulOp(y, m), "sum", 1)),
    "counted": (
        "f32[7]",
        lambda y, b: ptir.AddOp(y, ptir.CastOp(ptir.IotaOp(shape=shape(y), dtype="si32", axis=0), dtype="f32")),
    ),
}
"""What follows a product of 5 rows and 7 columns, and of what else it takes the types."""
SIZES = {"5": (5, 31, 130, 1), "7": (7, 65, 33, 300)}


@pytest.mark.exhaustive
@pytest.mark.parametrize("size", range(4))
@pytest.mark.parametrize("name", EPILOGUES)
@pytest.mark.parametrize("special", [False, True])
def test_epilogues(name: str, size: int, special: bool) -> None:
    """One kernel, and with it a sum that follows; of every kind of cut, also with infinities and NaN."""
    other, body = EPILOGUES[name]
    rows, columns = SIZES["5"][size], SIZES["7"][size]
    other = other.replace("5", str(rows)).replace("[7", f"[{columns}").replace(",7", f",{columns}").replace("f1[", "f16[")
    types = f"f32[{rows},70] f32[70,{columns}] {other}"
    native = held(types, lambda x, w, *others: body(product(x, w), *others), special=special, ulps=70)
    found = lines(native)
    assert len(found) == 1 + name.startswith("a sum"), found
    assert ", then " in found[0] or name == "a sum of rows"  # which is a row kernel with what it sums


@pytest.mark.exhaustive
@pytest.mark.parametrize("depth", [3, 700, 1500])
@pytest.mark.parametrize("shape", [(1, 40), (40, 1), (3, 50), (50, 3), (30, 17), (130, 70), (2, 3400)], ids=str)
@pytest.mark.parametrize("turned", range(4))
def test_every_cut(depth: int, shape: tuple[int, int], turned: int) -> None:
    """Long sums in blocks, few rows, few columns, operands as they lie and transposed: exact, as all are small integers."""
    m, n = shape
    types = f"f32[{f'{depth},{m}' if turned & 1 else f'{m},{depth}'}] f32[{f'{n},{depth}' if turned & 2 else f'{depth},{n}'}]"

    def body(x: Any, w: Any, b: Any, r: Any) -> Any:
        y = dot(x, w, (0 if turned & 1 else 1,), (1 if turned & 2 else 0,))
        return ptir.AddOp(relu(ptir.AddOp(y, spread(b, y))), r)

    native = held(f"{types} f32[{n}] f32[{m},{n}]", body, ulps=0)
    assert len(lines(native)) == 1


def test_batches_and_heads() -> None:
    """Scores with a mask of every batch, and weights of every place of a batch."""
    heads = {"batch_lhs": (0, 2), "batch_rhs": (0, 2), "contract_lhs": (3,), "contract_rhs": (3,)}

    def scores(q: Any, k: Any, m: Any) -> Any:
        s = ptir.DotGeneralOp(q, k, **heads)
        return ptir.AddOp(ptir.MulOp(s, like(s, 0.25)), spread(m, s))

    assert len(lines(held("f32[2,17,3,8] f32[2,19,3,8] f32[17,19]", scores))) == 1
    assert len(lines(held("f32[2,17,3,8] f32[2,19,3,8] f32[2,1,1,19]", scores))) == 1

    def dense(x: Any, w: Any, b: Any, r: Any) -> Any:
        y = dot(x, w, (2,), (0,))
        return ptir.AddOp(ptir.AddOp(y, spread(b, y)), r)

    assert len(lines(held("f32[3,17,40] f32[40,9] f32[9] f32[3,17,9]", dense))) == 1


def test_what_joins_no_axes_is_copied() -> None:
    def body(x: Any, w: Any, r: Any) -> Any:
        y = dot(x, w, (2,), (0,))
        return ptir.AddOp(y, ptir.TransposeOp(r, perm=(1, 0, 2)))

    native = held("f32[3,17,40] f32[40,9] f32[17,3,9]", body)
    assert sum("copy" in line for line in native.explain()) == 1


def test_a_weight_is_updated_in_place() -> None:
    """A donated weight less a step: the result has the memory of the weight, unless that is a factor too."""

    def step(x: Any, g: Any, w: Any) -> Any:
        d = dot(x, g, (0,), (0,))
        return ptir.SubOp(w, ptir.MulOp(d, like(d, 0.5)))

    module = program("f32[30,600] f32[30,70] f32[600,70]", step)
    x, g, w = arrays_of("f32[30,600] f32[30,70] f32[600,70]")
    expected = mind_runtime.compile(module)(x, g, w)
    found = mind_runtime.compile(module, target="native", donate=["arg2"])(x, g, w)
    np.testing.assert_array_equal(found, expected)
    assert np.shares_memory(found, w)

    square = program("f32[40,40]", lambda w: ptir.SubOp(w, dot(w, w, (1,), (0,))))
    (w,) = arrays_of("f32[40,40]")
    expected = mind_runtime.compile(square)(w.copy())
    np.testing.assert_array_equal(mind_runtime.compile(square, target="native", donate=["arg0"])(w), expected)


def test_integers_that_fail_are_no_epilogue() -> None:
    """A division names its op and its numbers, as it does alone."""

    def body(x: Any, w: Any, d: Any) -> Any:
        return ptir.DivOp(dot(x, w, (1,), (0,)), d)

    native = held("si32[5,6] si32[6,7] si32[5,7]", lambda x, w, d: body(x, w, ptir.AddOp(ptir.AbsOp(d), like(d, 1))))
    assert not any(", then" in line for line in native.explain())


@pytest.mark.parametrize("dtype", ["fp8_e4m3", "fp8_e5m2"])
def test_a_dtype_without_arithmetic_has_no_epilogue(dtype: str) -> None:
    """Of 8-bit floats the product is NumPy's; what follows in f32 is computed here."""

    def body(x: Any, y: Any) -> Any:
        z = ptir.DotGeneralOp(x, y, batch_lhs=(), batch_rhs=(), contract_lhs=(1,), contract_rhs=(1,), out_dtype="f32")
        return ptir.MulOp(z, like(z, 0.5))

    held(f"{dtype}[32,16] {dtype}[16,16]", body)


def test_sums_in_i32_have_epilogues() -> None:
    native = held("si32[5,60] si32[60,70] si32[70]", lambda x, w, b: ptir.AddOp(y := product(x, w), spread(b, y)))
    assert len(lines(native)) == 1


CHECKED = pytest.mark.parametrize("shape", [(1, 40, 50), (3, 700, 65), (2, 40, 3400), (40, 700, 65), (200, 40, 33)], ids=str)


@CHECKED
def test_kernels_that_are_checked(monkeypatch: pytest.MonkeyPatch, shape: tuple[int, int, int]) -> None:
    monkeypatch.setenv("MIND_NATIVE_CHECKS", "1")
    m, k, n = shape
    types = f"f32[{m},{k}] f32[{k},{n}] f32[{n}] f32[{m},{n}]"

    def body(x: Any, w: Any, b: Any, r: Any) -> Any:
        return ptir.AddOp(gelu(ptir.AddOp(y := product(x, w), spread(b, y))), r)

    held(types, body)
    made = lower(prepared(find_function(program(types, body), "f"), detect()), detect())
    assert any(site.failure is Failure.OUTSIDE for site in made.sites)


@CHECKED
def test_places_outside_are_seen(shape: tuple[int, int, int]) -> None:
    """An operand of an epilogue that is said to have one element less than it has."""
    m, k, n = shape
    a, b, r, out = (np.ones(s, np.float32) for s in ((m, k), (k, n), (m, n), (m, n)))
    block = Block(arg_types=[typed(f"f32[{m},{n}]")] * 2)
    block.add_op(add := ptir.AddOp(*block.args))

    def made(size: int) -> Callable[[View], Epilogue]:
        def chain(view: View) -> Epilogue:
            other = View(Buffer(Use.INPUT, 5, F32, size, location=5), F32, (m, n), (n, 1))
            return Chain(block.args[0], F32, [add], {block.args[1]: other}, [(add.result, view)]).epilogue()

        return chain

    for size, outside in ((m * n, False), (m * n - 1, True)):
        kernels = compiled(replace(detect(), checked=True), a, b, out, (F32,) * 4, made(size), {5: r})
        run = kernels.caller(a, b, out, pieces=2)
        if outside:
            with pytest.raises(AssertionError):
                run()
            assert kernels.record[0] == m * n - 1
        else:
            run()
            np.testing.assert_array_equal(out, k + 1)
        assert kernels.record[FLAG] == 0
