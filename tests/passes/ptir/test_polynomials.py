"""Elementwise code as polynomials: their values are those of NumPy at random points, whatever the form of the code."""

from __future__ import annotations

import random
from math import prod
from typing import Any

import numpy as np
import pytest
from xdsl.ir import SSAValue

import mind_runtime
import ptir_forms as forms
from mind_dialect import ptir
from mind_dialect.program import functions
from mind_passes.ptir.polynomials import CUBIC, MOST_FACTORS, MOST_TERMS, SCALE, Polynomials

TYPES = "f64[4] f64[4] f64[4]"


def code(seed: int) -> Any:
    """Random sums, differences and products of three arrays and of numbers."""
    rng = random.Random(seed)

    def body(*arrays: Any) -> Any:
        values = list(arrays)
        for _ in range(rng.randrange(2, 9)):
            x, y = rng.choice(values), rng.choice([*values, forms.like(values[0], rng.choice([-2.0, 0.5, 3.0]))])
            kind = rng.choice([ptir.AddOp, ptir.SubOp, ptir.MulOp, ptir.NegOp, ptir.DivOp, ptir.PowOp])
            if kind is ptir.NegOp:
                values.append(kind(x))
            elif kind in (ptir.DivOp, ptir.PowOp):
                values.append(kind(x, forms.like(x, 4.0 if kind is ptir.DivOp else rng.choice([2.0, 3.0]))))
            else:
                values.append(kind(x, y))
        return values[-1]

    return body


def value_of(found: Polynomials, result: SSAValue, points: dict[SSAValue, np.ndarray]) -> np.ndarray:
    """A polynomial at points of its variables; those of tanh are computed from theirs."""
    by_number = {n: v for v, n in found.numbers.items()}

    def of(number: int) -> np.ndarray:
        variable = by_number[number]
        if isinstance(variable, tuple):
            x = sum(of(n) for n in variable)
            return np.tanh(SCALE * (x + CUBIC * x**3))
        return points[variable]

    terms = [c * prod((of(n) for n in m), start=np.ones(4)) for m, c in found.of(result).items()]
    return sum(terms, start=np.zeros(4))


@pytest.mark.parametrize("seed", range(60))
def test_values_are_those_of_numpy(seed: int) -> None:
    module = forms.program(TYPES, code(seed))
    func = next(iter(functions(module)))
    block = func.body.block
    assert block.last_op is not None
    result = block.last_op.operands[0]
    arrays = list(np.random.default_rng(seed).uniform(-2, 2, (3, 4)))
    expected = mind_runtime.compile(module)(*arrays)
    found = Polynomials()
    if found.of(result) == found.variable(result):
        return  # too long, or an argument
    points = dict(zip(block.args, arrays, strict=True))
    if all(isinstance(v, tuple) or v in points for v in found.numbers):
        np.testing.assert_allclose(value_of(found, result, points), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("gradient", [False, True])
def test_gelu_and_its_derivative_are_those_of_central_differences(gradient: bool) -> None:
    module = forms.program("f64[4] f64[4]", lambda x, y: ptir.AddOp(x, y))
    block = next(iter(functions(module))).body.block
    assert block.last_op is not None
    found = Polynomials()
    sum_ = found.of(block.last_op.operands[0])
    wanted = found.gelu_tanh_gradient(sum_) if gradient else found.gelu_tanh(sum_)
    x, y = np.random.default_rng(0).uniform(-3, 3, (2, 4))

    def gelu(x: np.ndarray) -> np.ndarray:
        return 0.5 * x * (1 + np.tanh(SCALE * (x + CUBIC * x**3)))

    found._found[block.last_op.operands[0]] = wanted
    at = value_of(found, block.last_op.operands[0], {block.args[0]: x, block.args[1]: y})
    expected = (gelu(x + y + 1e-6) - gelu(x + y - 1e-6)) / 2e-6 if gradient else gelu(x + y)
    np.testing.assert_allclose(at, expected, rtol=1e-6, atol=1e-8)


def test_long_polynomials_are_variables() -> None:
    def powers(x: Any, y: Any) -> Any:
        s = ptir.AddOp(x, y)
        for _ in range(4):
            s = ptir.MulOp(s, s)
        return s

    block = next(iter(functions(forms.program("f64[4] f64[4]", powers)))).body.block
    assert block.last_op is not None
    found = Polynomials().of(block.last_op.operands[0])
    assert len(found) <= MOST_TERMS
    assert all(len(m) <= MOST_FACTORS for m in found)


def test_sums_that_share_a_part_have_two_variables_for_tanh() -> None:
    def body(x: Any, y: Any, z: Any) -> Any:
        def tanh(s: Any) -> Any:
            cube = ptir.MulOp(ptir.MulOp(ptir.MulOp(s, s), s), forms.like(s, CUBIC))
            return ptir.TanhOp(ptir.MulOp(ptir.AddOp(s, cube), forms.like(s, SCALE)))

        return ptir.SubOp(tanh(ptir.AddOp(x, y)), tanh(ptir.AddOp(x, z)))

    block = next(iter(functions(forms.program(TYPES, body)))).body.block
    assert block.last_op is not None
    found = Polynomials()
    assert sorted(found.of(block.last_op.operands[0]).values()) == [-1.0, 1.0]
    assert sum(isinstance(v, tuple) for v in found.numbers) == 2
