"""The derivative tables of PTIR, row by row: differences in f64, adjointness, order 2, f32, JAX; and that nothing is missing."""

from __future__ import annotations

import pytest

from closed_tables import expect_rows
from mind_dialect.ptir import EXTENSION_OPS, PTIR_OPS, PtirOp
from mind_passes.derivatives.ptir import FORWARD, REVERSE
from ptir_derivative_rows import ELEMENTWISE, ROWS, Row, checks

OPS = [*PTIR_OPS, *EXTENSION_OPS]
every = pytest.mark.parametrize("row", ROWS, ids=str)


@pytest.mark.exhaustive
@every
def test_tangents_agree_with_central_differences(row: Row):
    checks.check_forward(row)


@pytest.mark.exhaustive
@every
def test_gradients_agree_with_central_differences(row: Row):
    checks.check_reverse(row)


@pytest.mark.exhaustive
@every
def test_modes_are_adjoint(row: Row):
    checks.check_adjointness(row)


@pytest.mark.exhaustive
@pytest.mark.parametrize("row", [row for row in ROWS if row.smooth], ids=str)
def test_second_derivatives(row: Row):
    checks.check_second_order(row)


@pytest.mark.parametrize("row", [row for row in ELEMENTWISE if row.smooth and row.jax is not None], ids=str)
def test_third_derivatives(row: Row):
    checks.check_third_order(row)


@pytest.mark.exhaustive
@every
def test_derivatives_in_f32_are_those_in_f64_rounded(row: Row):
    checks.check_narrow(row)


@pytest.mark.parametrize("row", [row for row in ROWS if row.jax is not None], ids=str)
def test_derivatives_are_those_of_jax(row: Row):
    jax = pytest.importorskip("jax", reason="the oracle JAX is not installed")
    with jax.enable_x64(True):
        checks.check_jax(row, jax)


TESTED_ELSEWHERE: dict[str, str] = {
    "cond": "tested in test_derivatives_control.py",
    "while": "tested in test_derivatives_control.py",
    "scan": "tested in test_derivatives_control.py",
    "yield": "ends a region, tested with the op that has it",
    "fusion": "tested in test_derivatives_control.py",
    "custom_call": "tested in test_derivatives_custom_call.py",
}
"""Ops without a row here, with the reason."""


def test_names_of_rows_are_distinct():
    names = [str(row) for row in ROWS]
    assert [n for n in names if names.count(n) > 1] == []


@pytest.mark.quick
@pytest.mark.parametrize("op", OPS, ids=lambda op: op.OPCODE)
def test_every_op_has_rules(op: type[PtirOp]):
    if op.OPCODE in TESTED_ELSEWHERE:
        return
    expect_rows("REVERSE of mind_passes/derivatives/ptir", {op} & set(REVERSE), {op})
    expect_rows("FORWARD of mind_passes/derivatives/ptir", {op} & set(FORWARD), {op})


@pytest.mark.quick
@pytest.mark.parametrize("op", OPS, ids=lambda op: op.OPCODE)
def test_every_op_with_rules_has_a_row_of_tests(op: type[PtirOp]):
    if op.OPCODE not in TESTED_ELSEWHERE and op in REVERSE:
        expect_rows("ROWS of tests/support/ptir_derivative_rows", {op} & {row.op for row in ROWS}, {op})
