"""
Branches and loops within one native call: the numbers of NumPy, nothing copied from iteration to iteration, memory as planned.
"""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

pytest.importorskip("llvmlite")

import mind_runtime
import ptir_control_programs
from mind_dialect import ptir
from mind_dialect.errors import MindError
from mind_dialect.ptir.types import SI32
from mind_lowering.custom_calls import register_custom_call, unregister_custom_call
from mind_lowering.native import host as host_module
from mind_passes.autodiff import GradientOptions, differentiate
from native_checks import assert_close, several
from native_control_programs import BOTH, add, dot, neg, scan
from programs import parse
from ptir_confused_programs import CONFUSED
from ptir_control_programs import control_programs, number
from ptir_evaluator import evaluate, function_of
from ptir_forms import like, program, reduce
from ptir_smooth_programs import Maker
from ptir_wide_programs import WideMaker


def compiled(module: Any, *name: str, **options: Any) -> Any:
    return mind_runtime.compile(module, *name, target="native", **options)


def is_native(run: Any) -> bool:
    return not any(line.startswith("numpy") for line in run.explain())


def inputs_of(run: Any, seed: int) -> list[Any]:
    """Arguments: integers are numbers of iterations from 0 up, truths and floats random."""
    rng = np.random.default_rng(seed)
    found: list[Any] = []
    for spec in run.inputs:
        dtype = spec.numpy_dtype
        if dtype == np.int32:
            found.append(np.full(spec.shape, seed % 4, dtype))
        elif dtype == np.bool_:
            found.append(np.asarray(rng.integers(0, 2, spec.shape) == 1) if spec.shape else np.asarray(bool(seed % 2)))
        else:
            found.append(np.asarray(rng.standard_normal(spec.shape)).astype(dtype))
    return found


@pytest.mark.exhaustive
@pytest.mark.parametrize("checks", ["", "1"])
@pytest.mark.parametrize("name", BOTH)
def test_branches_and_loops(name: str, checks: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(host_module.CHECKS_VARIABLE, checks)
    module = program(*BOTH[name])
    run, reference = compiled(module), mind_runtime.compile(module)
    assert is_native(run)
    donated = compiled(module, donate=[s.name for s in run.inputs if s.shape])
    for seed in range(5):
        arrays = inputs_of(run, seed)
        kept = [a.copy() for a in arrays]
        expected = several(reference(*arrays))
        for found, want in zip(several(run(*arrays)), expected, strict=True):
            assert_close(found, want, ulps=64, scale=1.0)
        for array, same in zip(arrays, kept, strict=True):
            np.testing.assert_array_equal(array, same)
        results = several(donated(*arrays))
        for found, want in zip(results, expected, strict=True):
            assert_close(found, want, ulps=64, scale=1.0)
        for i, found in enumerate(results):
            assert not any(np.may_share_memory(found, other) for other in results[:i])


# Random programs


def two_inputs() -> list[Any]:
    return [np.arange(1, 5, dtype=np.float32), np.array([[10, 20], [30, 40]], np.float32)]


def held_against_the_evaluator(text: str) -> None:
    module = parse(text)
    expected = evaluate(function_of(module), two_inputs())
    names = [spec.name for spec in mind_runtime.compile(module).inputs]
    for donate in ([], names):
        run = compiled(module, donate=donate)
        for _ in range(2):
            arguments = two_inputs()
            found = several(run(*arguments))
            for got, want in zip(found, expected, strict=True):
                np.testing.assert_array_equal(got, want)
            for i, got in enumerate(found):
                assert not any(np.may_share_memory(got, other) for other in found[:i])
            if not donate:
                for argument, original in zip(arguments, two_inputs(), strict=True):
                    np.testing.assert_array_equal(argument, original)


@pytest.mark.parametrize("checks", ["", "1"])
def test_random_programs(checks: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without scatters, which would put loops on NumPy."""
    monkeypatch.setenv(host_module.CHECKS_VARIABLE, checks)
    monkeypatch.setattr(ptir_control_programs, "_scatter", ptir_control_programs._update)
    settings(
        max_examples=15 if checks else 40,
    )(given(control_programs())(held_against_the_evaluator))()


@pytest.mark.parametrize("name", CONFUSED)
def test_values_that_share_memory_are_not_confused(name: str) -> None:
    held_against_the_evaluator(CONFUSED[name])


# Threads


def test_threads_share_the_kernels_of_a_iteration() -> None:
    module = program(
        "f32[160,160] f32[160,160] f32[3,160,160]",
        lambda a, w, s: scan(
            lambda a, w, r: [ptir.TanhOp(add(dot(a, w), r)), ptir.SubOp(w, ptir.MulOp(dot(r, a), like(r, 0.01)))],
            a,
            w,
            s,
            carries=2,
        ),
    )
    rng = np.random.default_rng(0)
    arrays = [(rng.standard_normal(shape) / 13).astype(np.float32) for shape in ((160, 160), (160, 160), (3, 160, 160))]
    alone, expected = compiled(module, threads=1)(*arrays), mind_runtime.compile(module)(*arrays)
    shared = compiled(module, threads=4)
    for _ in range(5):
        for found, same, want in zip(shared(*arrays), alone, expected, strict=True):
            np.testing.assert_array_equal(found, same)
            assert_close(found, want, ulps=500, scale=1.0)


# Failures, bounds, signals


def test_failures_in_loops_name_their_op() -> None:
    module = program(
        "si32[3] si32[5,3]",
        lambda a, s: scan(lambda a, r: [add(a, chosen_div(a, r)), add(a, a)], a, s, stacks=1),
    )
    run, reference = compiled(module), mind_runtime.compile(module)
    assert is_native(run)
    a, s = np.arange(1, 4, dtype=np.int32), np.full((5, 3), 2, np.int32)
    for found, want in zip(run(a, s), reference(a, s), strict=True):
        assert_close(found, want)
    s[3, 1] = 0
    errors: list[MindError] = []
    for target in (run, reference):
        with pytest.raises(MindError) as e:
            target(a, s)
        errors.append(e.value)
    assert [e.code for e in errors] == ["E8004", "E8004"]
    assert errors[0].message == errors[1].message
    assert isinstance(errors[0].op, ptir.DivOp)
    assert_close(run(a, np.abs(s) + 1)[0], reference(a, np.abs(s) + 1)[0])


def chosen_div(a: Any, r: Any) -> Any:
    """A division, in a branch of a loop."""
    less = ptir.CompareOp(reduce(r, "sum", 0, keepdims=False), number(SI32, (), 1 << 20), kind="less")
    return ptir.CondOp(less, a, r, true=lambda a, r: [ptir.DivOp(a, r)], false=lambda a, r: [a]).results[0]


def test_more_iterations_than_a_gradient_was_promised_fail_as_on_numpy() -> None:
    module = program(
        "f32[] f32[]",
        lambda x, limit: ptir.WhileOp(
            x,
            limit,
            cond=lambda x, limit: [ptir.CompareOp(x, limit, kind="less"), x, limit],
            body=lambda x, limit: [add(x, ptir.MulOp(x, x)), limit],
        ).results[:1],
    )
    slope = differentiate(module, "f", GradientOptions(max_iterations=4)).module
    run, reference = compiled(slope, "f_grad"), mind_runtime.compile(slope, "f_grad")
    few, many = [(np.float32(0.5), np.float32(limit)) for limit in (2, 1e6)]
    for found, want in zip(run(*few), reference(*few), strict=True):
        assert_close(found, want, ulps=8)
    codes: list[str] = []
    for target in (run, reference):
        with pytest.raises(MindError) as e:
            target(*many)
        codes.append(e.value.code)
    assert codes[0] == codes[1]


HEAD = """%r{0} = ptir.cond %p{0}, %x{0}, %p{0} : (tensor<i1>, tensor<4xf32>, tensor<i1>) -> tensor<4xf32> true {{
^bb0(%x{1}: tensor<4xf32>, %p{1}: tensor<i1>):
"""
TAIL = """ptir.yield %r{1} : tensor<4xf32>
}} false {{
^bb0(%y{0}: tensor<4xf32>, %q{0}: tensor<i1>):
ptir.yield %y{0} : tensor<4xf32>
}}
"""


def nested(depth: int) -> str:
    """Branches in branches in branches, as text."""
    heads = "".join(HEAD.format(k, k + 1) for k in range(depth))
    tails = "".join(TAIL.format(k, k + 1) for k in reversed(range(depth)))
    body = f"{heads}%r{depth} = ptir.neg %x{depth} : tensor<4xf32>\n{tails}func.return %r0 : tensor<4xf32>"
    func = f"func.func @f(%x0: tensor<4xf32>, %p0: tensor<i1>) -> tensor<4xf32> {{ {body} }}"
    return f'module attributes {{ptir.spec_version = "ptir.v0.4"}} {{ {func} }}'


def test_deep_nests() -> None:
    run = compiled(parse(nested(60)))
    assert is_native(run)
    np.testing.assert_array_equal(run(np.ones(4, np.float32), np.asarray(True)), -np.ones(4, np.float32))
    np.testing.assert_array_equal(run(np.ones(4, np.float32), np.asarray(False)), np.ones(4, np.float32))


def test_too_deep_nests_are_refused_as_on_numpy() -> None:
    module = parse(nested(81))
    for target in ("native", "numpy"):
        with pytest.raises(MindError, match=f"nested deeper than 80 are not supported on {target}") as e:
            mind_runtime.compile(module, target=target)
        assert e.value.code == "E6003"


# Gradients, fallback, what is told


def recurrent(h: Any, w: Any, v: Any, xs: Any) -> Any:
    """The sum of the states of a recurrent network."""
    made = scan(
        lambda h, w, v, x: [t := ptir.TanhOp(add(dot(h, w), dot(x, v))).results[0], w, v, t], h, w, v, xs, carries=3, stacks=1
    )
    return [reduce(ptir.ReshapeOp(made[3], new_shape=(made[3].type.element_count(),)), "sum", 0, keepdims=False)]


def gated(h: Any, c: Any, w: Any, v: Any, xs: Any) -> Any:
    """The same of a network with gates."""

    def body(h: Any, c: Any, w: Any, v: Any, x: Any) -> Any:
        gates = add(dot(h, w), dot(x, v))
        i, f, o, g = (ptir.SliceOp(gates, starts=(0, 5 * k), sizes=(3, 5)) for k in range(4))
        kept = ptir.MulOp(ptir.LogisticOp(f), c)
        c = add(kept, ptir.MulOp(ptir.LogisticOp(i), ptir.TanhOp(g)))
        return [ptir.MulOp(ptir.LogisticOp(o), ptir.TanhOp(c)).results[0], c, w, v]

    h = scan(body, h, c, w, v, xs, carries=4)[0]
    return [reduce(ptir.ReshapeOp(h, new_shape=(15,)), "sum", 0, keepdims=False)]


@pytest.mark.parametrize(
    ("types", "network"),
    [
        ("f64[3,5] f64[5,5] f64[4,5] f64[7,3,4]", recurrent),
        ("f64[3,5] f64[3,5] f64[5,20] f64[4,20] f64[7,3,4]", gated),
    ],
)
def test_gradients_of_recurrent_networks(types: str, network: Any) -> None:
    module = differentiate(program(types, network), "f").module
    run, reference = compiled(module, "f_grad"), mind_runtime.compile(module, "f_grad")
    assert is_native(run)
    arrays = inputs_of(run, 1)
    for found, want in zip(run(*arrays), reference(*arrays), strict=True):
        assert_close(found, want, ulps=500, scale=1.0)


def gradients_agree(program: Any, seed: int) -> None:
    """Gradients of the first result of `@f` by native code are those on NumPy."""
    module = differentiate(program, "f", GradientOptions(output=0)).module
    run, reference = compiled(module, "f_grad"), mind_runtime.compile(module, "f_grad")
    arrays = inputs_of(run, seed)
    for found, want in zip(run(*arrays), reference(*arrays), strict=True):
        finite = np.abs(want[np.isfinite(want)])
        np.testing.assert_allclose(found, want, rtol=1e-9, atol=1e-9 * max(1, finite.max(initial=0)))


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", [29, 37, 85, 128, 130, 154, 168, 178, 233, 334, 338, 352, 366, 496, 678])
def test_random_gradients(seed: int) -> None:
    """Where memory was once confused."""
    gradients_agree(Maker(Random(seed)).module(6, 2), seed)


@pytest.mark.parametrize("seed", range(8))
def test_random_gradients_of_ops_of_every_family(seed: int) -> None:
    gradients_agree(WideMaker(Random(seed)).module(6, 2), seed)


def test_an_op_without_a_kernel_puts_its_loop_on_numpy_and_is_named() -> None:
    def iteration(a: Any, r: Any) -> Any:
        called = ptir.CustomCallOp(add(a, r), target="native.tests.v1", attrs={}, result_types=[a.type])
        return [add(a, called)]

    module = program("f32[4] f32[3,4]", lambda a, s: [neg(v) for v in scan(iteration, neg(a), s)])
    register_custom_call("native.tests.v1", lambda xp, x: x * xp.float32(2))
    try:
        run, reference = compiled(module), mind_runtime.compile(module)
        arrays = inputs_of(run, 0)
        assert_close(run(*arrays), reference(*arrays))
    finally:
        unregister_custom_call("native.tests.v1")
    lines = run.explain()
    (line,) = [line for line in lines if line.startswith("numpy")]
    assert line.startswith("numpy   scan")
    assert "in it custom_call" in line
    assert line.endswith("its function is a Python function")
    assert sum(line.startswith("native") for line in lines) == 2


def test_what_runs_in_a_loop_is_told_indented() -> None:
    module = program(
        "f32[4] f32[3,4] i1[]",
        lambda a, s, p: scan(
            lambda a, p, r: [ptir.CondOp(p, a, r, true=lambda a, r: [add(a, r)], false=lambda a, r: [neg(a)]).results[0], p],
            a,
            p,
            s,
            carries=2,
        )[:1],
    )
    assert compiled(module).explain()[1:] == [
        "native  @k.copy: copy over [4]",
        "native  scan, 3 iterations",
        "native    cond",
        "native      @k.add: add over [4]",
        "native      @k.neg: neg over [4]",
    ]
