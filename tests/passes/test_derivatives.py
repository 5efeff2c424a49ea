"""Every row of the derivative table against central differences in f64, once and twice."""

from __future__ import annotations

import re

import numpy as np
import pytest

from derivative_rows import ROWS
from gradcheck import as_tuple, check_vjp
from mind_dialect.core import CORE_OPS, EXTENSION_OPS, CoreOp, DivOp
from mind_passes.autodiff import GradientOptions, differentiate
from mind_passes.derivatives.core import OPTIONAL, REFUSED_UNDER, RULES
from mind_runtime import compile


@pytest.mark.exhaustive
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_rule_agrees_with_central_differences_once_and_twice(row):
    arguments = row.arguments(np.random.default_rng(3))
    module = row.module()
    gradient = check_vjp(module, "f", 0, arguments)
    floats = [x for x in arguments if x.dtype == np.float64]
    g = np.random.default_rng(5).standard_normal(as_tuple(compile(module, "f")(*arguments))[0].shape)
    for k in range(len(floats)):
        check_vjp(gradient, "f_grad", 1 + k, [*arguments, g], rtol=1e-5)


@pytest.mark.parametrize("row", [r for r in ROWS if r.op is not DivOp], ids=lambda row: row.id)
def test_gradient_in_f32_is_that_of_f64_rounded(row):
    results = []
    for dtype in ("f32", "f64"):
        arguments = row.arguments(np.random.default_rng(3), dtype)
        gradient = differentiate(row.module(dtype), "f", GradientOptions(seed="ones"))
        results.append(as_tuple(compile(gradient.module, "f_grad")(*arguments)))
    for narrow, wide in zip(*results, strict=True):
        assert narrow.dtype == np.float32
        np.testing.assert_allclose(narrow, wide, rtol=2e-5, atol=2e-5)


@pytest.mark.quick
def test_every_op_has_a_row_of_rules():
    missing = [op.OPCODE for op in (*CORE_OPS, *EXTENSION_OPS) if op not in RULES]
    assert missing == []
    assert set(RULES) == {*CORE_OPS, *EXTENSION_OPS}


@pytest.mark.quick
def test_every_rule_is_checked_by_a_difference():
    tested = {row.op for row in ROWS}
    assert [op.OPCODE for op, rules in RULES.items() if any(rules) and op not in tested] == []


@pytest.mark.parametrize("op", [*CORE_OPS, *EXTENSION_OPS], ids=lambda op: op.OPCODE)
def test_docstring_says_what_the_table_does(op: type[CoreOp]):
    assert op.__doc__ is not None
    found = re.search(r"Derivative: (.*)\.", op.__doc__)
    assert found is not None
    assert len(RULES[op]) == len(op.OPERANDS)
    if not op.OPERANDS:
        assert found[1].startswith("none, because")
        return
    entries = dict(re.findall(r"(\w+): ([^;]+)", found[1]))
    assert list(entries) == list(op.OPERANDS)
    for name, rule in zip(op.OPERANDS, RULES[op], strict=True):
        assert entries[name].startswith("none, because") == (rule is None), name
    assert ("core-v1.1" in found[1]) == (op in REFUSED_UNDER)
    assert ("div-gradient" in found[1]) == (op in OPTIONAL)
