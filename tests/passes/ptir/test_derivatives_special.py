"""Derivatives where differences say little: ties, zeros and infinities, barriers, dtypes, the size of what rules build."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp, StringAttr

from mind_dialect.errors import MindError
from mind_dialect.ptir import (
    AbsOp,
    AddOp,
    BroadcastToOp,
    CastOp,
    ClampOp,
    ConstantOp,
    CosOp,
    CumulativeOp,
    DigammaOp,
    DivOp,
    ErfOp,
    Expm1Op,
    ExpOp,
    Log1pOp,
    LogisticOp,
    LogOp,
    MaximumOp,
    MinimumOp,
    MulOp,
    NegOp,
    PowOp,
    PtirOp,
    ReciprocalOp,
    RemainderOp,
    RsqrtOp,
    SelectOp,
    SinOp,
    SqrtOp,
    StopGradientOp,
    SubOp,
    TanhOp,
)
from mind_dialect.ptir_program import SPEC_VERSION, VERSION_ATTRIBUTE
from mind_passes.autodiff import GradientOptions, differentiate
from mind_passes.forward import forward_mode
from mind_passes.ptir.construct import full, mul
from programs import parse
from ptir_derivative_rows import elementwise
from ptir_derivative_rows.base import R, Row
from ptir_derivative_rows.checks import Derivatives, check_narrow, program

INF, NAN = math.inf, math.nan

AT: list[tuple[type[PtirOp], tuple[float, ...], tuple[float | None, ...]]] = [
    (AbsOp, (0.0,), (0.0,)),
    (AbsOp, (-0.0,), (0.0,)),
    (AbsOp, (-INF,), (-1.0,)),
    (ExpOp, (-INF,), (0.0,)),
    (LogOp, (0.0,), (INF,)),
    (LogOp, (INF,), (0.0,)),
    (TanhOp, (INF,), (0.0,)),
    (TanhOp, (-1e3,), (0.0,)),
    (ErfOp, (0.0,), (2 / math.sqrt(math.pi),)),
    (ErfOp, (-INF,), (0.0,)),
    (RsqrtOp, (0.0,), (-INF,)),
    (RsqrtOp, (INF,), (0.0,)),
    (ReciprocalOp, (INF,), (0.0,)),
    (ReciprocalOp, (1e30,), (0.0,)),
    (SqrtOp, (0.0,), (INF,)),
    (SqrtOp, (INF,), (0.0,)),
    (LogisticOp, (1e3,), (0.0,)),
    (LogisticOp, (-1e3,), (0.0,)),
    (Expm1Op, (-1e3,), (0.0,)),
    (Expm1Op, (-40.0,), (math.exp(-40),)),
    (Log1pOp, (-1.0,), (INF,)),
    (Log1pOp, (INF,), (0.0,)),
    (DivOp, (0.0, 2.0), (0.5, 0.0)),
    (DivOp, (1.0, INF), (0.0, 0.0)),
    (DigammaOp, (INF,), (0.0,)),
    (DigammaOp, (0.0,), (INF,)),
    (DigammaOp, (-3.0,), (INF,)),
    (MaximumOp, (1.0, 1.0), (0.5, 0.5)),
    (MaximumOp, (0.0, -0.0), (0.5, 0.5)),
    (MaximumOp, (INF, INF), (0.5, 0.5)),
    (MaximumOp, (-INF, 0.0), (0.0, 1.0)),
    (MinimumOp, (1.0, 1.0), (0.5, 0.5)),
    (MinimumOp, (-INF, 0.0), (1.0, 0.0)),
    (ClampOp, (0.5, -INF, INF), (1.0, 0.0, 0.0)),
    (ClampOp, (0.0, 0.0, 1.0), (0.5, 0.5, 0.0)),
    (ClampOp, (1.0, 0.0, 1.0), (0.5, 0.0, 0.5)),
    (ClampOp, (1.0, 1.0, 1.0), (0.25, 0.25, 0.5)),
    (ClampOp, (0.0, 1.0, 1.0), (0.0, 0.5, 0.5)),
    (ClampOp, (1.0, 2.0, 1.0), (0.0, 0.0, 1.0)),
    (PowOp, (0.0, 2.0), (0.0, 0.0)),
    (PowOp, (0.0, 1.0), (1.0, 0.0)),
    (PowOp, (0.0, 0.0), (0.0, 0.0)),
    (PowOp, (0.0, 0.5), (INF, 0.0)),
    (PowOp, (3.0, 0.0), (0.0, math.log(3))),
    (PowOp, (-2.0, 3.0), (12.0, NAN)),
    (PowOp, (-2.0, 0.0), (-0.0, NAN)),
    (PowOp, (INF, 1.0), (1.0, INF)),
    (RemainderOp, (5.0, INF), (1.0, 0.0)),
    (RemainderOp, (6.0, 2.0), (1.0, -3.0)),
    (RemainderOp, (-7.0, 2.0), (1.0, 3.0)),
]
"""Operands, and the derivative in each; NaN where the function has no real derivative."""


def points(op: type[PtirOp], operands: tuple[float, ...], dtype: str = "f64") -> Row:
    return R(op, " ".join([f"{dtype}[]"] * len(operands)), data=dict(enumerate(operands)))


@pytest.mark.parametrize(("op", "operands", "expected"), AT, ids=lambda x: getattr(x, "OPCODE", str(x)))
@pytest.mark.parametrize("dtype", ["f64", "f32"])
def test_value_at_a_point(op: type[PtirOp], operands: tuple[float, ...], expected: tuple[float, ...], dtype: str):
    d = Derivatives(points(op, operands), dtype)
    one = np.ones((), dtype.replace("f", "float"))
    found = [float(x) for x in d.gradient[0](*d.arguments, one)]
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-37)
    if not all(map(math.isfinite, expected)):
        return  # 0 times an infinity in the other operands
    for i, derivative in enumerate(expected):
        pushed = d.pushed([one if k == i else 0 * one for k in range(len(operands))])
        np.testing.assert_allclose(float(pushed[0]), derivative, rtol=1e-6, atol=1e-37)


@pytest.mark.parametrize(("dtype", "bound"), [("f64", 2e-13), ("f32", 1e-6)])
def test_trigamma(dtype: str, bound: float):
    """The derivative of `digamma` against mpmath, below 0, near poles and far away."""
    mp = pytest.importorskip("mpmath")
    x = np.concatenate([np.linspace(-6.45, 6.55, 131), [1e-3, -1e-3, 0.5, 9.75, 1e3, 1e6]]).astype(dtype.replace("f", "float"))
    with mp.workdps(40):
        expected = [float(mp.psi(1, mp.mpf(float(v)))) for v in x]
    (found,) = Derivatives(R(DigammaOp, f"{dtype}[{len(x)}]", data={0: x.tolist()})).gradient[0](x, np.ones_like(x))
    np.testing.assert_allclose(found, expected, rtol=bound)


@pytest.mark.parametrize(
    ("x", "expected"),
    [((1.0, 3.0, 3.0, 2.0), (1, 3, 0, 0)), ((-INF, -INF, 1.0, NAN), (1, 1, 1, 1)), ((2.0, NAN, 3.0, NAN), (1, 3, 0, 0))],
)
def test_a_running_extreme_passes_its_gradient_to_the_first_that_set_it(x: tuple[float, ...], expected: tuple[float, ...]):
    for sign, kind in ((1, "max"), (-1, "min")):
        for reverse in (False, True):
            order = -1 if reverse else 1
            data = {0: [sign * v for v in x][::order]}
            row = R(CumulativeOp, "f64[4]", kind=kind, axis=0, exclusive=False, reverse=reverse, data=data)
            (found,) = Derivatives(row).gradient[0](*row.point, np.ones(4))
            assert found.tolist() == list(expected)[::order]


def derivative_of_order(row: Row, order: int) -> float:
    """The derivative of a function of one number, the higher ones forward over reverse."""
    gradient = differentiate(row.module(), "f", GradientOptions(seed="one", keep_primal=False))
    module, name, (x,) = gradient.module, gradient.function.sym_name.data, row.values()
    arguments: list[Any] = [x]
    for _ in range(order - 1):
        made = forward_mode(module, name)
        module, name = made.module, made.function.sym_name.data
        arguments += [np.ones(()), *(np.zeros(()) for _ in arguments[1:])]  # each time along x
    return float(program(module, name)(*arguments)[-1])


@pytest.mark.parametrize(("exponent", "expected"), [(1.0, [1, 0, 0]), (2.0, [0, 2, 0]), (3.0, [0, 0, 6]), (0.0, [0, 0, 0])])
def test_powers_at_zero_have_all_derivatives(exponent: float, expected: list[float]):
    row = R(PowOp, "f64[]", data={0: 0.0}, build=lambda x: PowOp(x, full(exponent, x)))
    assert [derivative_of_order(row, n) for n in (1, 2, 3)] == expected


def test_exponent_zero_is_differentiated_too():
    """The mixed derivative of `a^b` is `a^(b-1) (1 + b log a)`: 1/2 at (2, 0), though the first one in a is 0."""
    gradient = differentiate(points(PowOp, (2.0, 0.0)).module(), "f", GradientOptions(seed="one", keep_primal=False))
    made = forward_mode(gradient.module, "f_grad")
    a_adj, b_adj, *tangents = program(made.module, made.function.sym_name.data)(*map(np.array, (2.0, 0.0, 0.0, 1.0)))
    assert (a_adj, b_adj) == (0.0, pytest.approx(math.log(2)))
    assert tangents == [pytest.approx(0.5), pytest.approx(math.log(2) ** 2)]


def test_stopped_gradient_is_a_barrier():
    """Of `x stop(x)` only the first factor varies."""
    row = R(StopGradientOp, "f64[3]", build=lambda x: mul(x, StopGradientOp(x)))
    d = Derivatives(row)
    (x,), (t,), (g,) = d.arguments, d.tangents, d.cotangents
    np.testing.assert_array_equal(d.pulled()[0], [g * x])
    np.testing.assert_array_equal(d.pushed([t]), [t * x])


def test_unselected_infinity_does_not_leak():
    row = R(SelectOp, "i1[2] f64[2] f64[2]", data={0: [True, False], 1: [1.0, INF], 2: [NAN, 2.0]})
    d = Derivatives(row)
    g = np.array([INF, 3.0])
    np.testing.assert_array_equal(d.gradient[0](*d.arguments, g), [[INF, 0], [0, 3]])
    np.testing.assert_array_equal(d.pushed([np.array([5.0, INF]), np.array([NAN, 7.0])]), [[5, 7]])


@pytest.mark.parametrize(("source", "target"), [("f32", "f64"), ("f64", "f32"), ("f64", "f16")])
def test_cast_takes_the_adjoint_back_to_its_dtype(source: str, target: str):
    row = R(CastOp, f"{source}[2]", data={0: [1.5, -0.1]}, dtype=target)
    d = Derivatives(row, source)
    (x_adj,), (t,) = d.pulled()[0], d.pushed(d.tangents)
    np.testing.assert_array_equal(x_adj, d.cotangents[0].astype(x_adj.dtype))
    np.testing.assert_array_equal(t, d.tangents[0].astype(t.dtype))
    assert (x_adj.dtype, t.dtype) == (d.arguments[0].dtype, d.results[0].dtype)


@pytest.mark.parametrize("row", [*elementwise.UNARY[:14], *elementwise.BINARY[:7]], ids=str)
def test_in_f16(row: Row):
    check_narrow(row, "f16", rtol=3e-2)


@pytest.mark.parametrize("dtype", ["bf16", "fp8_e4m3", "fp8_e5m2"])
def test_every_float_dtype_is_differentiated(dtype: str):
    """What the rules build is legal; both modes verify it."""
    for row in [*elementwise.UNARY[:18], *elementwise.BINARY[:9], *elementwise.OTHERS]:
        if dtype in ("bf16", "fp8_e5m2") or row.op is not CastOp:
            differentiate(row.module(dtype), "f", GradientOptions(seed="ones"))
            forward_mode(row.module(dtype), "f")


@pytest.mark.parametrize(("shape", "target"), [("B", "4"), ("?", "B"), ("B", "T")])
def test_repetition_that_only_the_run_knows_is_refused(shape: str, target: str):
    """B may be 1 and repeated, or 4."""
    wanted = int(target) if target.isdigit() else target
    row = R(BroadcastToOp, f"f64[{shape}] f64[{target}]", build=lambda x, y: BroadcastToOp(x, result_shape=(2, wanted)))
    with pytest.raises(MindError, match="cannot tell whether broadcast_to repeats dimension") as caught:
        differentiate(row.module(), "f", GradientOptions(seed="cotangent"))
    assert caught.value.code == "E5006"
    forward_mode(row.module(), "f")


SIZES: dict[type[PtirOp], tuple[int, ...]] = {
    NegOp: (1,),
    AbsOp: (2,),
    ExpOp: (1,),
    LogOp: (1,),
    TanhOp: (3,),
    ErfOp: (4,),
    RsqrtOp: (3,),
    ReciprocalOp: (3,),
    SqrtOp: (2,),
    SinOp: (2,),
    CosOp: (3,),
    LogisticOp: (3,),
    Expm1Op: (2,),
    Log1pOp: (2,),
    AddOp: (0, 0),
    SubOp: (0, 1),
    MulOp: (1, 1),
    DivOp: (1, 3),
    MaximumOp: (5, 5),
    MinimumOp: (5, 5),
    ClampOp: (10, 10, 6),
    PowOp: (8, 5),
    RemainderOp: (0, 5),
}
"""How many ops the derivative in each operand takes beside the op itself; constants are not counted."""


@pytest.mark.parametrize("op", SIZES, ids=lambda op: op.OPCODE)
def test_rules_build_few_ops(op: type[PtirOp]):
    row = R(op, " ".join(["f64[2]"] * len(SIZES[op])))
    for i, expected in enumerate(SIZES[op]):
        options = GradientOptions(wrt=(i,), seed="cotangent", keep_primal=True)
        made = differentiate(row.module(), "f", options).function.body.block.ops
        assert len([o for o in made if not isinstance(o, ConstantOp)]) - 2 == expected, f"operand {i}"


@pytest.mark.parametrize("shape", [(2, 0), (0, 3), (0, 0)], ids=str)
def test_layer_norm_of_no_elements_has_derivatives_of_none(shape: tuple[int, int]):
    """A mean over no features divides by none of them."""
    x, features = "x".join(map(str, shape)), shape[1]
    module = parse(
        f"""func.func @f(%x: tensor<{x}xf64>, %g: tensor<{features}xf64>, %b: tensor<{features}xf64>) -> tensor<f64> {{
  %y = ptir.layer_norm %x, %g, %b epsilon = 0.1 feature_axis = -1
      : (tensor<{x}xf64>, tensor<{features}xf64>, tensor<{features}xf64>) -> tensor<{x}xf64>
  %l = ptir.reduce %y kind = sum axes = [0, 1] keepdims = false : tensor<{x}xf64> -> tensor<f64>
  func.return %l : tensor<f64>
}}"""
    )
    module.attributes[VERSION_ATTRIBUTE] = StringAttr(SPEC_VERSION)
    gradient = differentiate(module, "f", GradientOptions())
    value, *adjoints = program(gradient.module, "f_grad")(np.ones(shape), np.ones(features), np.ones(features))
    assert (float(value), [x.tolist() for x in adjoints]) == (0.0, [np.zeros(shape).tolist(), [0.0] * features, [0.0] * features])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_derivative_of_a_remainder_by_its_divisor_is_the_quotient_truncated(dtype: type[np.floating[Any]]):
    """Of random operands, whose quotients are not representable: with exact fractions, so that no rounding is repeated."""
    random = np.random.default_rng(5)
    a, b = (random.uniform(-20, 20, 2000).astype(dtype) for _ in range(2))
    name = "f64" if dtype is np.float64 else "f32"
    d = Derivatives(R(RemainderOp, f"{name}[2000] {name}[2000]", data={0: a, 1: b}), name)
    _, found = d.gradient[0](a, b, np.ones(2000, dtype))
    expected = [-math.trunc(Fraction(float(p)) / Fraction(float(q))) for p, q in zip(a, b, strict=True)]
    np.testing.assert_array_equal(found, np.array(expected, dtype))


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("edge", ["low", "high", "interior"])
def test_the_padding_of_an_axis_that_only_the_run_knows_is_refused(axis: int, edge: str):
    """With the code that says what to state; padding along the other axis has a derivative."""
    shape, edges = ["2", "2"], {"low": [0, 0], "high": [0, 0], "interior": [0, 0]}
    shape[axis], edges[edge][axis] = "?", 1
    given = "x".join(shape)
    text = f"""func.func @f(%x: tensor<{given}xf64>) -> tensor<OUTxf64> {{
  %y = ptir.pad %x low = LOW high = HIGH interior = INTERIOR pad_value = 0.0 : f64 : tensor<{given}xf64> -> tensor<OUTxf64>
  func.return %y : tensor<OUTxf64>
}}"""

    def padded(of: dict[str, list[int]], out: str) -> ModuleOp:
        values = {"OUT": out, "LOW": str(of["low"]), "HIGH": str(of["high"]), "INTERIOR": str(of["interior"])}
        module = parse(re.sub("|".join(values), lambda match: values[match[0]], text))
        module.attributes[VERSION_ATTRIBUTE] = StringAttr(SPEC_VERSION)
        return module

    with pytest.raises(MindError) as e:
        differentiate(padded(edges, given), "f", GradientOptions(seed="cotangent"))
    assert (e.value.code, "pad %y: " in e.value.message) == ("E5006", True)
    other = {name: values[::-1] for name, values in edges.items()}
    gradient = differentiate(padded(other, given.replace("2", "3")), "f", GradientOptions(seed="cotangent", keep_primal=False))
    shape_out = (3, 2) if axis else (2, 3)
    (found,) = program(gradient.module, "f_grad")(np.ones((2, 2)), np.ones(shape_out))
    assert found.tolist() == [[1.0, 1.0], [1.0, 1.0]]
