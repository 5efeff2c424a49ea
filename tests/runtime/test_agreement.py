"""Whether executors agree: tolerances, refusals, failures, the first op that differs, gradients against differences."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.func import FuncOp

from mind_dialect import ptir
from mind_dialect.errors import MindError, error
from mind_dialect.ptir.types import ALL, DTYPES, Kind
from mind_runtime.agreement import (
    TOLERANCES,
    check_gradients,
    compare,
    draw_arguments,
    first_difference,
    run_everywhere,
    tolerance_of,
)
from mind_runtime.agreement.differences import longest_sum
from mind_runtime.executors import Executor, Request, numpy_program, register_executor
from programs import parse

CHAIN = """
module attributes {ptir.spec_version = "ptir.v0.4"} {
func.func @f(%x: tensor<6x4xf32>, %w: tensor<4x3xf32>) -> (tensor<6x3xf32>, tensor<f32>) {
  %a = ptir.dot_general %x, %w batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0]
    : (tensor<6x4xf32>, tensor<4x3xf32>) -> tensor<6x3xf32>
  %b = ptir.abs %a : tensor<6x3xf32>
  %c = ptir.tanh %b : tensor<6x3xf32>
  %d = ptir.neg %a : tensor<6x3xf32>
  %e = ptir.add %c, %d : tensor<6x3xf32>
  %f = ptir.exp %e : tensor<6x3xf32>
  %s = ptir.reduce %f kind = sum axes = [0, 1] keepdims = false : (tensor<6x3xf32>) -> tensor<f32>
  func.return %f, %s : tensor<6x3xf32>, tensor<f32>
}
}
"""
TAKE = """
module attributes {ptir.spec_version = "ptir.v0.4"} {
func.func @f(%x: tensor<5x2xf32>, %i: tensor<3xsi32>) -> tensor<3x2xf32> {
  %a = ptir.take %x, %i : (tensor<5x2xf32>, tensor<3xsi32>) -> tensor<3x2xf32>
  func.return %a : tensor<3x2xf32>
}
}
"""


def swapped(old: type[Any], new: type[Any]) -> Callable[[Request], Any]:
    """An executor that takes one op for another, as a wrong kernel would."""

    def program(request: Request) -> Any:
        func: FuncOp = request.func.clone()
        for op in [op for op in func.walk() if isinstance(op, old)]:
            block = op.parent
            assert block is not None
            put = new(*op.operands)
            block.insert_op_before(put, op)
            op.results[0].replace_all_uses_with(put.results[0])
            block.erase_op(op)
        return numpy_program(replace(request, func=func))

    return program


@pytest.fixture
def planted() -> Iterator[Callable[[Callable[[Request], Any]], str]]:
    """Registers an executor named `planted`."""

    def plant(program: Callable[[Request], Any]) -> str:
        register_executor("planted", Executor(program))
        return "planted"

    yield plant
    register_executor("planted", None)


def test_every_dtype_of_floats_has_a_tolerance() -> None:
    assert set(TOLERANCES) == {d.name for d in ALL if d.kind in (Kind.FLOAT, Kind.COMPLEX)}


@pytest.mark.parametrize("dtype", TOLERANCES)
def test_tolerances_are_above_rounding(dtype: str) -> None:
    """One rounding to the nearest must not count as a disagreement."""
    bits = {"f64": 53, "cf64": 53, "f32": 24, "cf32": 24, "f16": 11, "bf16": 8, "fp8_e4m3": 4, "fp8_e5m2": 3}[dtype]
    assert TOLERANCES[dtype] >= 2.0**-bits
    assert tolerance_of(DTYPES[dtype], 100) == pytest.approx(10 * TOLERANCES[dtype])


@pytest.mark.parametrize(
    ("left", "right", "agrees"),
    [
        ([1.0, 2.0], [1.0, 2.0 + 1e-5], True),
        ([1.0, 2.0], [1.0, 2.0 + 1e-4], False),
        ([1e-9, 100.0], [2e-9, 100.0], True),  # relative to the largest of the tensor
        ([0.0, 0.0], [0.0, 1e-30], False),  # the larger tensor has nothing larger
        ([math.nan, 1.0], [math.nan, 1.0], True),
        ([math.nan, 1.0], [1.0, 1.0], False),
        ([math.inf, 1.0], [-math.inf, 1.0], False),
        ([math.inf, 1.0], [3e38, 1.0], False),
        ([], [], True),
    ],
)
def test_floats_are_compared_by_the_tolerance(left: list[float], right: list[float], agrees: bool) -> None:
    found = compare(np.array(left, np.float32), np.array(right, np.float32), 1e-5)
    assert found.agrees is agrees, str(found)


def test_integers_types_and_shapes_are_compared_exactly() -> None:
    big = np.array([1 << 60, 5])
    assert compare(big, big.copy(), 1.0).agrees
    found = compare(big, big + np.array([0, 1]), 1.0)
    assert not found.agrees
    assert (found.index, found.values) == ((1,), (5, 6))
    assert not compare(big, big + np.array([1, 0]), 1.0).agrees  # lost where f64 would hold them
    assert "int64[2] and int32[2]" in str(compare(big, big.astype(np.int32), 1.0))
    assert not compare(big, big[:1], 1.0).agrees


def test_the_longest_sum_bounds_the_terms() -> None:
    func = next(iter(parse(CHAIN).body.block.ops))
    assert isinstance(func, FuncOp)
    assert longest_sum(func, {}) == 18


def test_executors_agree_on_a_program() -> None:
    pytest.importorskip("llvmlite")
    module = parse(CHAIN)
    found = run_everywhere(module, "f", draw_arguments(module), ["numpy", "native"])
    assert [outcome.status for outcome in found.outcomes] == ["ran", "ran"]
    assert found.disagreements() == []
    assert found.tolerances == (pytest.approx(1e-5 * math.sqrt(18)),) * 2


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [(ptir.TanhOp, ptir.ExpOp, "ptir.tanh"), (ptir.NegOp, ptir.AbsOp, "ptir.neg"), (ptir.ExpOp, ptir.TanhOp, "ptir.exp")],
)
def test_the_first_op_that_differs_is_found(old: type[Any], new: type[Any], name: str, planted: Any) -> None:
    """Whichever op a wrong executor gets wrong, though the one before it in the text may differ too."""
    module, pair = parse(CHAIN), ("numpy", planted(swapped(old, new)))
    arguments = draw_arguments(module)
    found = run_everywhere(module, None, arguments, pair)
    assert len(found.disagreements()) == 1
    op = first_difference(module, None, arguments, pair)
    assert op is not None
    assert op.name == name
    assert op.parent_op() is next(iter(module.body.block.ops))  # the op of the program, not of a copy


def test_a_wrong_op_whose_result_agrees_is_not_blamed(planted: Any) -> None:
    """`abs` of `abs` for `neg`: on inputs where nothing differs, nothing is found."""
    module, pair = parse(CHAIN), ("numpy", planted(swapped(ptir.AbsOp, ptir.AbsOp)))
    arguments = draw_arguments(module)
    assert run_everywhere(module, None, arguments, pair).disagreements() == []
    assert first_difference(module, None, arguments, pair) is None


def test_refusals_are_listed_and_do_not_count(planted: Any) -> None:
    def refuse(request: Request) -> Any:
        raise error("E8008", "no conversion", target="planted", diagnostics=[])

    module = parse(CHAIN)
    found = run_everywhere(module, None, draw_arguments(module), ["numpy", planted(refuse)])
    assert [(o.status, None if o.error is None else o.error.code) for o in found.outcomes] == [
        ("ran", None),
        ("refused", "E8008"),
    ]
    assert found.pairs() == []


def test_run_time_errors_must_have_one_code(planted: Any) -> None:
    pytest.importorskip("llvmlite")
    module, wrong = parse(TAKE), [np.zeros((5, 2), np.float32), np.array([0, 5, 1], np.int32)]
    found = run_everywhere(module, None, wrong, ["numpy", "native"])
    assert [o.error.code for o in found.outcomes if o.error is not None] == ["E6001", "E6001"]
    assert found.disagreements() == []

    def clamped(request: Request) -> Any:
        program = numpy_program(request)
        real = program.execute
        program.execute = lambda arguments, seed=0: real([arguments[0], np.minimum(arguments[1], 4)], seed)
        return program

    found = run_everywhere(module, None, wrong, ["numpy", planted(clamped)])
    ((left, right),) = found.disagreements()
    assert str(found.difference(left, right)[1]) == "E6001 and results"


def test_names_of_executors_are_checked() -> None:
    module = parse(CHAIN)
    for names, code in ((["numpy", "numpy"], "E7001"), (["numpy", "nowhere"], "E6002")):
        with pytest.raises(MindError) as caught:
            run_everywhere(module, None, draw_arguments(module), names)
        assert caught.value.code == code


def test_drawn_indices_are_inside_what_they_index() -> None:
    module = parse(TAKE)
    drawn = [draw_arguments(module, seed=seed) for seed in range(20)]
    assert max(int(i.max()) for _, i in drawn) == 4
    assert all((x.dtype, x.shape, i.dtype) == (np.float32, (5, 2), np.int32) for x, i in drawn)
    assert np.array_equal(drawn[3][0], draw_arguments(module, seed=3)[0])


def test_special_values_are_drawn_on_demand() -> None:
    module = parse(CHAIN)
    plain, special = draw_arguments(module)[0], draw_arguments(module, special=True)[0]
    assert np.isfinite(plain).all()
    assert np.isnan(special).any()
    assert {np.inf, -np.inf} <= set(special[np.isinf(special)])


def test_gradients_agree_with_differences() -> None:
    module = parse(CHAIN)
    checks = check_gradients(module, None, draw_arguments(module))
    assert len(checks) == 3
    assert all(check.agrees and check.uncertainty < 1e-6 for check in checks), checks


def test_a_wrong_derivative_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The VJP of another function: `tanh` taken for `exp`."""
    from mind_runtime.agreement import gradients

    real = gradients.vjp
    monkeypatch.setattr(gradients, "vjp", lambda module, name: real(parse(str(module).replace("ptir.tanh", "ptir.exp")), name))
    module = parse(CHAIN)
    assert not any(check.agrees for check in check_gradients(module, None, draw_arguments(module)))


BITS = """
module attributes {ptir.spec_version = "ptir.v0.4"} {
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = ptir.bitcast %x dtype = si32 : (tensor<4xf32>) -> tensor<4xsi32>
  %b = ptir.bitcast %a dtype = f32 : (tensor<4xsi32>) -> tensor<4xf32>
  func.return %b : tensor<4xf32>
}
}
"""


@pytest.mark.parametrize(
    ("text", "code"), [(TAKE.replace("xf32", "xsi32"), "E7001"), (BITS, "E2005")], ids=["integers", "bits of floats"]
)
def test_gradients_need_floats_and_a_form_in_f64(text: str, code: str) -> None:
    module = parse(text)
    with pytest.raises(MindError) as caught:
        check_gradients(module, None, draw_arguments(module))
    assert caught.value.code == code


@pytest.mark.parametrize("dtype", ["bf16", "f16", "f32", "f64"])
def test_gradients_of_narrow_floats_are_checked_in_f64(dtype: str) -> None:
    module = parse(CHAIN.replace("f32", dtype))
    assert all(check.agrees and check.uncertainty < 1e-6 for check in check_gradients(module, None, draw_arguments(module)))
    assert f"x{dtype}>" in str(module)  # the module is left as it is


@pytest.mark.parametrize(("checks", "agrees"), [(True, False), (False, True)])
def test_an_executor_without_checks_may_return_anything_where_the_program_is_an_error(checks: bool, agrees: bool) -> None:
    def clamped(request: Request) -> Any:
        made = numpy_program(request)
        run = made.execute
        made.execute = lambda arguments, seed=0: run([arguments[0], np.minimum(arguments[1], 4)], seed)
        return made

    register_executor("clamped", Executor(clamped, checks=checks))
    try:
        x = np.ones((5, 2), np.float32)
        found = run_everywhere(parse(TAKE), "f", [x, np.array([0, 9, 1], np.int32)], ["numpy", "clamped"])
        assert [outcome.status for outcome in found.outcomes] == ["failed", "ran"]
        assert (not found.disagreements()) is agrees
        right = run_everywhere(parse(TAKE), "f", [x, np.array([0, 4, 1], np.int32)], ["numpy", "clamped"])
        assert [outcome.status for outcome in right.outcomes] == ["ran", "ran"]
    finally:
        register_executor("clamped", None)
