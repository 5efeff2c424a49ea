"""Every row of the derivative table against central differences in f64, once and twice."""

from __future__ import annotations

import re

import numpy as np
import pytest

from gradcheck import Row, as_tuple, away_from_zero, check_vjp, positive
from mind_dialect.core import (
    CORE_OPS,
    EXTENSION_OPS,
    AddOp,
    BroadcastToOp,
    Conv2dBackwardFilterOp,
    Conv2dBackwardInputOp,
    Conv2dOp,
    CoreOp,
    DivOp,
    DotOp,
    ExpandDimsOp,
    ExpOp,
    GatherOp,
    IndexOp,
    IndexScatterOp,
    LogOp,
    MatMulOp,
    MeanOp,
    MulOp,
    NegOp,
    ReciprocalOp,
    ReluGradOp,
    ReluOp,
    ReshapeOp,
    ScatterAddOp,
    SliceOp,
    SliceScatterOp,
    SqueezeOp,
    SubOp,
    SumOp,
    TransposeOp,
)
from mind_passes.autodiff import GradientOptions, differentiate
from mind_passes.derivatives.core import OPTIONAL, REFUSED_UNDER, RULES
from mind_runtime import compile

CUSTOM = ((1, 0), (2, 1))
ROWS = [
    *(Row(op, shapes) for op in (AddOp, SubOp, MulOp) for shapes in (
        [(2, 3), (2, 3)], [(2, 1), (3,)], [(), (2, 3)], [(), ()], [(4, 1, 3), (2, 1)], [(1, 1), (1,)], [(0, 3), (1, 3)])),
    Row(DivOp, [(2, 1), (3,)], domain=away_from_zero),
    *(Row(op, [(3, 4, 2)], {"axes": axes, "keepdims": keepdims})
      for op in (SumOp, MeanOp) for axes in ((), (1,), (0, 2), (0, 1, 2)) for keepdims in (False, True)),
    Row(SumOp, [()], {"axes": (), "keepdims": False}),
    Row(SumOp, [(0, 3)], {"axes": (0,), "keepdims": False}),
    Row(MeanOp, [(1, 3)], {"axes": (0,), "keepdims": False}),
    Row(ReshapeOp, [(2, 6)], {"new_shape": (3, -1)}),
    Row(ReshapeOp, [(1, 1)], {"new_shape": ()}),
    Row(TransposeOp, [(2, 3, 4)], {"permutation": (2, 0, 1)}),
    Row(TransposeOp, [()], {"permutation": ()}),
    Row(ExpandDimsOp, [(3, 4)], {"axes": (0, 2)}),
    Row(ExpandDimsOp, [(3, 4)], {"axes": (-1,)}),
    Row(SqueezeOp, [(1, 3, 1)], {"axes": (0, 2)}),
    Row(IndexOp, [(3, 4)], {"indices": (2, 1)}),
    Row(IndexOp, [()], {"indices": ()}),
    Row(SliceOp, [(5, 6)], {"starts": (1, 0), "ends": (5, 6), "steps": (2, 4)}),
    Row(SliceOp, [(5, 6)], {"starts": (9, 0), "ends": (5, 6), "steps": (2, 4)}),
    Row(GatherOp, [(5, 3), (2, 2)], indices={1: [[0, 4], [4, 4]]}),
    Row(GatherOp, [(5,), ()], indices={1: 3}),
    Row(DotOp, [(4,), (4,)]),
    Row(DotOp, [(3, 4), (4,)]),
    Row(DotOp, [(4,), (4, 3)]),
    Row(DotOp, [(2, 4), (4, 3)]),
    Row(MatMulOp, [(2, 3), (3, 4)]),
    Row(MatMulOp, [(5, 2, 3), (3, 4)]),
    Row(MatMulOp, [(5, 1, 2, 3), (4, 3, 2)]),
    Row(MatMulOp, [(1, 2, 3), (6, 3, 2)]),
    Row(Conv2dOp, [(2, 5, 6, 3), (3, 2, 3, 4)], {"strides": (1, 1), "padding": "Valid"}),
    Row(Conv2dOp, [(1, 5, 6, 2), (2, 3, 2, 3)], {"strides": (2, 1), "padding": "Same"}),
    Row(Conv2dOp, [(1, 5, 6, 2), (3, 3, 2, 1)], {"strides": (2, 2), "padding": CUSTOM}),
    Row(ReluOp, [(2, 3)], domain=away_from_zero),
    Row(NegOp, [(2, 3)]),
    Row(ExpOp, [(2, 3)]),
    Row(ExpOp, [()]),
    Row(LogOp, [(2, 3)], domain=positive),
    Row(ReluGradOp, [(2, 3), (2, 3)], domain=away_from_zero),
    Row(ReciprocalOp, [(2, 3)], domain=away_from_zero),
    Row(BroadcastToOp, [(3, 1)], {"shape": (2, 3, 4)}),
    Row(BroadcastToOp, [()], {"shape": (2, 3)}),
    Row(BroadcastToOp, [(1, 3)], {"shape": (0, 3)}),
    Row(ScatterAddOp, [(2, 2), (2, 2, 3)], {"shape": (5, 3)}, indices={0: [[0, 4], [4, 4]]}),
    Row(SliceScatterOp, [(2, 2)], {"shape": (5, 6), "starts": (1, 0), "steps": (2, 4)}),
    Row(SliceScatterOp, [(0, 2)], {"shape": (5, 6), "starts": (9, 0), "steps": (2, 4)}),
    Row(IndexScatterOp, [()], {"shape": (3, 4), "indices": (2, 1)}),
    Row(Conv2dBackwardInputOp, [(1, 3, 6, 3), (2, 3, 2, 3)],
        {"shape": (1, 5, 6, 2), "strides": (2, 1), "padding": "Same"}),
    Row(Conv2dBackwardFilterOp, [(1, 5, 6, 2), (1, 2, 4, 1)],
        {"shape": (3, 3, 2, 1), "strides": (2, 2), "padding": CUSTOM}),
]  # fmt: skip


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


def test_every_op_has_a_row_of_rules():
    missing = [op.OPCODE for op in (*CORE_OPS, *EXTENSION_OPS) if op not in RULES]
    assert missing == []
    assert set(RULES) == {*CORE_OPS, *EXTENSION_OPS}


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
