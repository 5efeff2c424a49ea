"""Every batching rule against a loop over the examples: every op and dtype, every pattern of batched operands, sizes 0, 1, 3."""

from __future__ import annotations

import pytest

from mind_dialect import ptir
from mind_dialect.ptir.legal import LEGAL
from mind_passes.batching import BATCHING, WITHOUT_RULE
from ptir_batching import check, compiled
from ptir_batching_rows import ROUNDED, ROWS, Row, inputs, patterns
from ptir_evaluator import function_of

WITHOUT_ROW = {"constant", "iota", "rng_uniform", "rng_normal", "cond", "while", "scan", "custom_call", "yield", "fusion"}
"""Ops that have no operands, or have tests of their own."""


def test_every_op_has_a_rule_or_a_reason():
    ops = {*ptir.PTIR_OPS, *ptir.EXTENSION_OPS}
    assert [op.name for op in (*ptir.PTIR_OPS, *ptir.EXTENSION_OPS) if op not in BATCHING and op not in WITHOUT_RULE] == []
    assert set(BATCHING) | set(WITHOUT_RULE) == ops
    assert not set(BATCHING) & set(WITHOUT_RULE)


def test_every_op_and_kind_has_a_row():
    assert {row.key for row in ROWS} == LEGAL.keys() - WITHOUT_ROW


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_rule_is_the_loop_for_every_dtype_and_pattern(row: Row):
    for dtype in row.legal():
        module = row.module(dtype)
        func = function_of(module)
        exact = row.key not in ROUNDED
        for pattern in patterns(len(func.body.block.args)):
            single, many = inputs(func, row), inputs(func, row, seed=1, count=3)
            arrays = [m if flag else s for flag, s, m in zip(pattern, single, many, strict=True)]
            check(module, arrays, [0 if flag else None for flag in pattern], 3, exact=exact)


def run(func):
    return compiled(func.parent_op(), func.sym_name.data)


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_rule_for_static_and_dynamic_batches_of_no_one_and_three_examples(row: Row):
    dtype = next(d for d in row.legal()[::-1] if d.name in ("f32", "si32", "i1", "cf32"))
    module = row.module(dtype)
    func = function_of(module)
    for pattern in patterns(len(func.body.block.args)):
        for n in (0, 1, 3):
            arrays = [
                m if flag else s
                for flag, s, m in zip(pattern, inputs(func, row), inputs(func, row, seed=2, count=n), strict=True)
            ]
            axes = [0 if flag else None for flag in pattern]
            for size in (n, "N"):
                check(
                    module,
                    arrays,
                    axes,
                    n,
                    exact=row.key not in ROUNDED,
                    size=size,
                    runner=lambda func: compiled(func.parent_op(), func.sym_name.data),
                )
