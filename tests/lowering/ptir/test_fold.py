"""ptir-fold: what folds, to which bits, and what stays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import ptir_forms as forms
from mind_dialect import ptir
from mind_dialect.dominance import walk
from mind_dialect.errors import MindError
from mind_dialect.ptir import ConstantOp, PtirLiteralAttr, PtirOp
from mind_dialect.ptir.legal import LEGAL
from mind_dialect.ptir.types import ALL, DTYPES, SI32, SI64, PtirDType, read_type
from mind_dialect.verify import verify
from mind_lowering.custom_calls import register_custom_call, unregister_custom_call
from mind_lowering.ptir_fold import fold_constants
from mind_lowering.ptir_kernels.formats import array_dtype
from programs import parse
from ptir_evaluator import evaluate, function_of, same_bits
from ptir_oracle import elements, samples
from ptir_random_programs import Maker
from ptir_rows import typed


def constant(values: Any, dtype: PtirDType, shape: tuple[int, ...]) -> Any:
    return ConstantOp(PtirLiteralAttr.from_values(dtype, shape, list(values)))


def left(module: ModuleOp) -> list[str]:
    return [op.OPCODE for op in walk(module) if isinstance(op, PtirOp)]


def checked(module: ModuleOp) -> ModuleOp:
    """The folded module, which gives the same bits, or fails alike."""
    before = module.clone()
    fold_constants(module)
    verify(module)
    a, b = (outcome(m) for m in (before, module))
    assert isinstance(a, str) == isinstance(b, str)
    assert a == b if isinstance(a, str) else all(map(same_bits, a, b))
    assert str(parse(str(module))) == str(module)
    return module


def outcome(module: ModuleOp) -> list[Any] | str:
    func = function_of(module)
    arrays = [np.ones((3,), np.float32) for _ in func.body.block.args]
    try:
        return evaluate(func, arrays)
    except MindError as e:
        return e.code


def without_properties(*operands: str) -> list[str]:
    ops = ptir.OPS_BY_OPCODE
    found = [key for key in LEGAL if key in ops and not ops[key].CODECS and not ops[key].REGION_NAMES]
    return [key for key in found if ops[key].OPERANDS == operands and len(LEGAL[key]) == 1]


UNARY, BINARY = without_properties("x"), without_properties("lhs", "rhs")


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_elementwise_ops_of_every_dtype_fold_to_the_bits_of_a_run(dtype: PtirDType) -> None:
    values = elements(samples(dtype, 16))
    n = len(values)
    for key in (*UNARY, *BINARY):
        op, (legal,) = ptir.OPS_BY_OPCODE[key], LEGAL[key].values()
        if dtype not in legal:
            continue
        x, y = constant(values, dtype, (n,)), constant(values[::-1], dtype, (n,))
        folded = op(x) if key in UNARY else op(x, y)
        module = forms.program("f32[3]", lambda a, folded=folded: [folded, ptir.NegOp(a)])
        integers = dtype.kind in ("signed", "unsigned")
        fails = key in ("div", "remainder") and integers and 0 in values
        assert left(checked(module)) == (["constant", "constant", key, "neg"] if fails else ["constant", "neg"]), key


@pytest.mark.quick
def test_the_tables_of_ops_are_not_empty() -> None:
    assert {"neg", "sqrt", "not", "stop_gradient"} <= set(UNARY)
    assert {"add", "div", "pow", "shift_left"} <= set(BINARY)


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_large_fills_of_integers_fold_to_the_bits_of_a_run(dtype: PtirDType) -> None:
    """Elementwise ops of floats stay, but for comparisons: many numbers are computed by other instructions than one."""
    is_exact = dtype.kind in ("signed", "unsigned", "bool")
    values = elements(samples(dtype, 16))[:6]
    for key in (*UNARY, *BINARY):
        op, (legal,) = ptir.OPS_BY_OPCODE[key], LEGAL[key].values()
        if dtype not in legal or ptir.FUSIBLE.get(op) != "elementwise":
            continue
        for a, b in zip(values, values[::-1], strict=True):
            x, y = (ConstantOp(PtirLiteralAttr.filled(dtype, (3, 1001), v)) for v in (a, b))
            module = forms.program("", lambda op=op, x=x, y=y, key=key: [op(x) if key in UNARY else op(x, y)])
            fails = key in ("div", "remainder") and is_exact and b == 0
            assert (key not in left(checked(module))) == (is_exact and not fails), key


def fill(dtype: str, number: float) -> Any:
    return ConstantOp(PtirLiteralAttr.filled(DTYPES[dtype], (3, 1001), number))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (lambda: ptir.CompareOp(fill("f32", -0.0), fill("f32", 0.0), kind="equal"), "fill true"),
        (lambda: ptir.CompareOp(fill("f32", np.nan), fill("f32", np.nan), kind="less_equal"), "fill false"),
        (lambda: ptir.SelectOp(fill("i1", True), fill("f32", -0.0), fill("f32", 1.0)), "fill -0.0"),
        (lambda: ptir.CastOp(fill("si32", 300), dtype="si8"), "fill 127"),
        (lambda: ptir.TruncateOp(fill("si32", -1), dtype="ui32"), "fill 4294967295"),
        (lambda: ptir.ClampOp(fill("si64", 9), fill("si64", 0), fill("si64", 5)), "fill 5"),
        (lambda: ptir.CastOp(fill("si32", 300), dtype="f32"), None),
        (lambda: ptir.CastOp(fill("f32", 1.5), dtype="si32"), None),
    ],
)
def test_large_fills(body: Any, expected: str | None) -> None:
    module = checked(forms.program("", body))
    assert len(left(module)) == 1 if expected else len(left(module)) == 2
    assert expected is None or expected in str(module)


C = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
FOLDS: dict[str, Any] = {
    "sum": lambda c: ptir.ReduceOp(c, kind="sum", axes=(0,), keepdims=True),
    "cast": lambda c: ptir.CastOp(c, dtype="si8"),
    "compare": lambda c: ptir.CompareOp(c, c, kind="less"),
    "pad": lambda c: ptir.PadOp(c, low=(1, 0), high=(0, 0), interior=(0, 1), pad_value=9.0),
    "concat": lambda c: ptir.ConcatOp(c, c, axis=0),
    "product": lambda c: forms.dot(c, c, (1,), (1,)),
    "sort": lambda c: ptir.SortOp(c, axis=1, descending=True),
    "take": lambda c: ptir.TakeOp(c, constant([1, 0], SI64, (2,))),
    "top_k": lambda c: ptir.AddOp((t := ptir.TopKOp(c, k=2, axis=1, largest=True, indices_dtype=SI32)).results[0],
                                  ptir.CastOp(t.results[1], dtype="f32")),
    "chain": lambda c: ptir.NegOp(ptir.ExpOp(ptir.TanhOp(c))),
    "mask": lambda c: ptir.CompareOp(*(ptir.IotaOp(shape=(2, 2), dtype="si32", axis=a) for a in (0, 1)), kind="less"),
}  # fmt: skip
WINDOW = ("window_dims", "strides", "base_dilation", "window_dilation")
STAYS: dict[str, tuple[Any, list[str]]] = {
    "out of range": (lambda c: ptir.TakeOp(c, constant([2], SI64, (1,))), ["constant", "constant", "take"]),
    "large": (lambda c: ptir.BroadcastToOp(c, result_shape=(1000, 2, 3)), ["constant", "broadcast_to"]),
    "random": (lambda c: ptir.AddOp(c, ptir.RngUniformOp(shape=(2, 3), dtype="f32")), ["constant", "rng_uniform", "add"]),
    "window": (
        lambda c: ptir.ReduceWindowOp(c, kind="sum", padding=((0, 0), (0, 0)), **dict.fromkeys(WINDOW, (1, 1))),
        ["constant", "reduce_window"],
    ),
    "a mask of nobody": (lambda c: ptir.IotaOp(shape=(2, 2), dtype="si32", axis=0), ["iota"]),
}


@pytest.mark.parametrize("name", FOLDS)
def test_folds(name: str) -> None:
    module = forms.program("", lambda: FOLDS[name](constant(C, DTYPES["f32"], (2, 3))))
    assert left(checked(module)) == ["constant"]


@pytest.mark.parametrize("name", STAYS)
def test_stays(name: str) -> None:
    body, expected = STAYS[name]
    module = forms.program("", lambda: body(constant(C, DTYPES["f32"], (2, 3))))
    assert left(checked(module)) == expected


def called(target: str, numbers: list[float], result: str = "f64[2,2]") -> ModuleOp:
    def body() -> Any:
        x = constant(numbers, DTYPES["f64"], (2, 2))
        return list(ptir.CustomCallOp(x, target=target, attrs={}, result_types=[typed(result)]).results)

    module = forms.program("", body)
    fold_constants(module)
    verify(module)
    return module


def test_calls_of_functions_of_this_project_fold() -> None:
    module = called("mind.linalg.inv.v1", [2.0, 0.0, 0.0, 4.0])
    assert left(module) == ["constant"]
    assert "[[0.5, 0.0], [0.0, 0.25]]" in str(module)


@pytest.mark.parametrize(
    ("target", "numbers", "result"),
    [
        ("mind.linalg.inv.v1", [1.0, 1.0, 1.0, 1.0], "f64[2,2]"),
        ("mind.linalg.inv.v1", [2.0, 0.0, 0.0, 4.0], "f64[4]"),
        ("mind.linalg.inv.v1", [2.0, 0.0, 0.0, 4.0], "f32[2,2]"),
        ("mind.linalg.unknown.v1", [2.0, 0.0, 0.0, 4.0], "f64[2,2]"),
        ("acme.scale.v1", [2.0, 0.0, 0.0, 4.0], "f64[2,2]"),
    ],
)
def test_other_calls_stay(target: str, numbers: list[float], result: str) -> None:
    """A function that fails does so in each run; those of others are registered when a program runs."""
    register_custom_call("acme.scale.v1", lambda xp, x: x * 2)
    try:
        assert left(called(target, numbers, result)) == ["constant", "custom_call"]
    finally:
        unregister_custom_call("acme.scale.v1")


def test_arguments_do_not_fold() -> None:
    module = forms.program("f32[3]", lambda x: ptir.AddOp(x, ptir.NegOp(forms.like(x, 2.0))))
    checked(module)
    assert left(module) == ["constant", "add"]
    assert "fill -2.0 : tensor<3xf32>" in str(module)


def test_in_a_branch() -> None:
    def double(a: Any) -> list[Any]:
        return [ptir.AddOp(a, ptir.ExpOp(forms.like(a, 1.0)))]

    module = forms.program("i1[] f32[3]", lambda p, x: ptir.CondOp(p, x, true=double, false=lambda a: [a]))
    fold_constants(module)
    verify(module)
    assert left(module) == ["cond", "constant", "add", "yield", "yield"]


@pytest.mark.parametrize("seed", range(30))
def test_random_programs(seed: int) -> None:
    module = Maker(seed, DTYPES["f32" if seed % 2 else "si16"]).module(20)
    before = module.clone()
    fold_constants(module)
    verify(module)
    rng = np.random.default_rng(seed)
    specs = [read_type(v.type) for v in function_of(module).body.block.args]
    arrays = [np.asarray(rng.integers(-3, 4, s.shape)).astype(array_dtype(s.dtype.name)) for s in specs]
    a, b = (evaluate(function_of(m), arrays) for m in (before, module))
    assert all(map(same_bits, a, b))
