"""Custom calls differentiate through rules that others register, and are refused by name without."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from xdsl.ir import Operation, SSAValue

from mind_dialect.errors import MindError
from mind_dialect.ptir import CosOp, CustomCallOp, ExpOp
from mind_lowering.custom_calls import register_custom_call, unregister_custom_call
from mind_passes.autodiff import GradientOptions, differentiate
from mind_passes.derivatives.ptir.calls import register_call
from mind_passes.derivatives.walks import Whole, WholeForward
from mind_passes.forward import forward_mode
from mind_passes.ptir.construct import add, broadcast, cast, full, make, mul, spec
from ptir_derivative_rows import checks
from ptir_derivative_rows.base import R, Row
from ptir_rows import types

SQUARE, BOTH = "tests.square.v1", "tests.sin_and_exp.v1"


@pytest.fixture(autouse=True)
def functions() -> Iterator[None]:
    register_custom_call(SQUARE, lambda xp, x: x * x)
    register_custom_call(BOTH, lambda xp, x, n: (xp.sin(x), n, xp.exp(x)))
    yield
    for target in (SQUARE, BOTH):
        unregister_custom_call(target)
        register_call(target)


def square(arguments: str = "f64[2,3]") -> Row:
    def call(x: SSAValue) -> Operation:
        return CustomCallOp(x, target=SQUARE, attrs={}, result_types=[x.type])

    return R(CustomCallOp, arguments, build=call)


def both() -> Row:
    def call(x: SSAValue, n: SSAValue) -> Operation:
        return CustomCallOp(x, n, target=BOTH, attrs={}, result_types=[x.type, n.type, x.type])

    return R(CustomCallOp, "f64[3] si32[]", build=call, data={1: 4})


def doubled(op: CustomCallOp, g: SSAValue) -> Operation:
    return mul(mul(g, op.operands[0]), full(2.0, g))


def test_one_line_makes_a_call_differentiable():
    register_call(SQUARE, reverse=(doubled,), forward=lambda op, ts: doubled(op, ts[0]))
    row = square()
    checks.check_forward(row)
    checks.check_reverse(row)
    checks.check_adjointness(row)
    checks.check_second_order(row)


def parts(op: CustomCallOp, vs: Sequence[SSAValue | None]) -> list[Operation]:
    x = op.operands[0]
    factors = [make(CosOp, x), None, make(ExpOp, x)]
    return [mul(v, f) for v, f in zip(vs, factors, strict=True) if v is not None and f is not None]


def adjoints(walk: Any, op: CustomCallOp, gs: Sequence[SSAValue | None]) -> list[Operation | None]:
    found = parts(op, gs)
    return [add(*found) if len(found) == 2 else found[0], None]


def tangents(walk: Any, op: CustomCallOp, ts: Sequence[SSAValue | None]) -> list[Operation | None]:
    first, last = parts(op, [ts[0], None, ts[0]])
    return [first, None, last]


def test_several_results_take_one_rule_for_all():
    register_call(BOTH, reverse=Whole(adjoints, lambda flows, op: [1, 0, 1]), forward=WholeForward(tangents))
    row = both()
    checks.check_forward(row)
    checks.check_reverse(row)
    checks.check_adjointness(row)


def test_a_rule_may_depend_on_the_call():
    register_call(SQUARE, reverse=lambda op: (doubled,) if len(op.operands) == 1 else ())
    checks.check_reverse(square())


def refused(row: Row, derivative: Any, **options: Any) -> str:
    with pytest.raises(MindError) as e:
        derivative(row.module(), "f", **options)
    assert e.value.code == "E5001"
    assert e.value.context["op"] == "custom_call"
    return e.value.message


def test_without_a_rule_the_target_is_named():
    found = refused(square(), differentiate, options=GradientOptions(seed="cotangent"))
    assert found == (
        "custom_call %1: cannot be differentiated: no reverse rule is registered for 'tests.square.v1'; "
        "register_call('tests.square.v1', reverse=...) gives it one"
    )
    register_call(SQUARE, reverse=(doubled,))
    assert "no forward rule is registered for 'tests.square.v1'" in refused(square(), forward_mode)


def test_rules_that_do_not_fit_are_refused():
    options = GradientOptions(seed="cotangent", output=0)
    register_call(SQUARE, reverse=(doubled, None), forward=lambda op, ts: doubled(op, ts[0]))
    assert "2 rules for 1 operands" in refused(square(), differentiate, options=options)
    register_call(BOTH, reverse=(doubled, None), forward=lambda op, ts: doubled(op, ts[0]))
    assert "2 floating-point results" in refused(both(), differentiate, options=options)
    assert "2 floating-point results" in refused(both(), forward_mode)


def test_a_call_that_nothing_varies_in_needs_no_rule():
    def body(x: SSAValue, n: SSAValue) -> Operation:
        call = CustomCallOp(n, target=SQUARE, attrs={}, result_types=types("si32[]"))
        return mul(x, broadcast(cast(call, spec(x).dtype), (3,)))

    row = R(CustomCallOp, "f64[3] si32[]", build=body, data={1: 4})
    d = checks.Derivatives(row)
    np.testing.assert_allclose(d.pulled()[0][0], 16 * d.cotangents[0])


def test_a_target_needs_a_namespace_and_a_version():
    with pytest.raises(MindError, match="expected a namespace and a version"):
        register_call("square", reverse=(doubled,))
