"""The shape engine: every operator by every name, against NumPy where NumPy has the rule, and its errors as objects."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mind_dialect import core
from mind_dialect.core import CORE_OPS, EXTENSION_OPS
from mind_dialect.errors import MindError
from mind_dialect.shape_engine import OPERATORS, RuleCategory, infer, rule_category

CHAPTER = {
    "tensor.relu": "elementwise unary",
    "tensor.neg": "elementwise unary",
    "tensor.exp": "elementwise unary",
    "tensor.log": "elementwise unary",
    "tensor.add": "elementwise binary",
    "tensor.sub": "elementwise binary",
    "tensor.mul": "elementwise binary",
    "tensor.div": "elementwise binary",
    "tensor.sum_all": "full reduction",
    "tensor.matmul": "2-D matmul",
}
"""The operators of the chapter "Shapes and dtypes"."""


def test_the_table_is_closed():
    ops = (*CORE_OPS, *EXTENSION_OPS)
    assert set(OPERATORS) == {"Input", *CHAPTER, *(op.OPCODE for op in ops), *(op.name for op in ops)}
    assert {row.category for row in OPERATORS.values()} == set(RuleCategory)
    for op in ops:
        assert OPERATORS[op.OPCODE] is OPERATORS[op.name]


def test_the_chapters_categories():
    assert {name: str(rule_category(name)) for name in OPERATORS if name.startswith("tensor.")} == CHAPTER


def test_ops_of_one_category_share_their_rule():
    rules = {"elementwise binary": core.AddOp.RULE, "elementwise unary": core.ReluOp.RULE}
    for op in (*CORE_OPS, *EXTENSION_OPS):
        rule = OPERATORS[op.name].rule
        assert rule is rules.get(rule_category(op.name), rule)


ROWS = {
    "Input": ([], {"shape": [2, 3]}, (2, 3)),
    "ConstI64": ([], {}, ()),
    "ConstF32": ([], {}, ()),
    "ConstF64": ([], {}, ()),
    "ConstTensor": ([], {"shape": (4,)}, (4,)),
    "Add": ([(2, 1), (3,)], {}, (2, 3)),
    "Sub": ([(), (3,)], {}, (3,)),
    "Mul": ([(0, 1), (1, 3)], {}, (0, 3)),
    "Div": ([(2, 3), (2, 3)], {}, (2, 3)),
    "Sum": ([(3, 4, 5)], {"axes": [1], "keepdims": True}, (3, 1, 5)),
    "Mean": ([(2, 3, 4)], {"axes": [1, 2], "keepdims": False}, (2,)),
    "Reshape": ([(2, 6)], {"new_shape": [3, -1]}, (3, 4)),
    "Transpose": ([(2, 3, 4)], {"permutation": [2, 0, 1]}, (4, 2, 3)),
    "ExpandDims": ([(3, 4)], {"axes": [0, 2]}, (1, 3, 1, 4)),
    "Squeeze": ([(1, 3, 1, 4)], {"axes": [0, 2]}, (3, 4)),
    "Index": ([(3, 4)], {"indices": [0, 0]}, ()),
    "Slice": ([(5, 6)], {"starts": [0, 4], "ends": [5, 2], "steps": [2, 1]}, (3, 0)),
    "Gather": ([(10, 4), (2, 3)], {}, (2, 3, 4)),
    "Dot": ([(2, 3), (3,)], {}, (2,)),
    "MatMul": ([(5, 2, 3), (3, 4)], {}, (5, 2, 4)),
    "Conv2d": ([(1, 5, 5, 3), (3, 3, 3, 8)], {"strides": [2, 2], "padding": "Same"}, (1, 3, 3, 8)),
    "Relu": ([(2, 3)], {}, (2, 3)),
    "Neg": ([()], {}, ()),
    "Exp": ([(0,)], {}, (0,)),
    "Log": ([(7,)], {}, (7,)),
    "ReluGrad": ([(2,), (2,)], {}, (2,)),
    "Reciprocal": ([(2,)], {}, (2,)),
    "BroadcastTo": ([(3, 1)], {"shape": [2, 3, 4]}, (2, 3, 4)),
    "ScatterAdd": ([(2, 3), (2, 3, 4)], {"shape": [10, 4]}, (10, 4)),
    "SliceScatter": ([(2,)], {"shape": [5], "starts": [1], "steps": [2]}, (5,)),
    "IndexScatter": ([()], {"shape": [3, 4], "indices": [2, 1]}, (3, 4)),
    "Conv2dBackwardInput": (
        [(1, 3, 3, 8), (3, 3, 3, 8)],
        {"shape": [1, 5, 5, 3], "strides": [1, 1], "padding": "Valid"},
        (1, 5, 5, 3),
    ),
    "Conv2dBackwardFilter": (
        [(1, 5, 5, 3), (1, 3, 3, 8)],
        {"shape": [3, 3, 3, 8], "strides": [1, 1], "padding": ((0, 0), (0, 0))},
        (3, 3, 3, 8),
    ),
    "tensor.relu": ([(2, 3)], {}, (2, 3)),
    "tensor.neg": ([(2, 3)], {}, (2, 3)),
    "tensor.exp": ([(2, 3)], {}, (2, 3)),
    "tensor.log": ([(2, 3)], {}, (2, 3)),
    "tensor.add": ([(2, 3), (3,)], {}, (2, 3)),
    "tensor.sub": ([(2, 3), (3,)], {}, (2, 3)),
    "tensor.mul": ([(2, 3), (3,)], {}, (2, 3)),
    "tensor.div": ([(2, 3), (3,)], {}, (2, 3)),
    "tensor.sum_all": ([(2, 3)], {}, ()),
    "tensor.matmul": ([(2, 3), (3, 4)], {}, (2, 4)),
}


def test_every_operator_has_a_row():
    assert set(ROWS) == {name for name in OPERATORS if not name.startswith("mind.")}


@pytest.mark.parametrize("name", ROWS)
def test_operators(name: str):
    shapes, attributes, result = ROWS[name]
    assert infer(name, shapes, **attributes) == result
    assert infer(name, [list(s) for s in shapes], **attributes) == result
    for op in (*CORE_OPS, *EXTENSION_OPS):
        if op.OPCODE == name:
            assert infer(op.name, shapes, **attributes) == result


SMALL = [s for rank in range(4) for s in product((0, 1, 2, 3), repeat=rank)]


@given(st.sampled_from(SMALL), st.sampled_from(SMALL))
def test_broadcasting_is_numpys(a: tuple[int, ...], b: tuple[int, ...]):
    try:
        expected = np.broadcast_shapes(a, b)
    except ValueError:
        with pytest.raises(MindError) as e:
            infer("tensor.add", [a, b])
        dimension, (m, n) = e.value.context["dimension"], e.value.context["extents"]
        rank = max(len(a), len(b))
        left, right = (1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b
        assert (e.value.code, e.value.category) == ("E3001", "ShapeError")
        assert (left[dimension], right[dimension]) == (m, n)
        assert m != n
        assert 1 not in (m, n)
    else:
        assert infer("tensor.add", [a, b]) == expected


@pytest.mark.parametrize(("a", "b"), list(product([(), (2,), (2, 3), (3, 2), (4, 2, 3)], repeat=2)))
def test_the_chapters_matmul_is_of_rank_2_only(a: tuple[int, ...], b: tuple[int, ...]):
    if len(a) == len(b) == 2 and a[1] == b[0]:
        assert infer("tensor.matmul", [a, b]) == (a[0], b[1])
        return
    with pytest.raises(MindError) as e:
        infer("tensor.matmul", [a, b])
    assert e.value.category == "ShapeError"
    if len(a) == len(b) == 2:
        assert (e.value.code, e.value.context["extents"]) == ("E3003", (a[1], b[0]))
    else:
        assert (e.value.code, e.value.context["actual"]) == ("E3002", next(len(s) for s in (a, b) if len(s) != 2))


ERRORS = [
    ("tensor.pow", [(2,)], {}, "E7003"),
    ("", [(2,)], {}, "E7003"),
    (None, [(2,)], {}, "E7003"),
    (["Add"], [(2,)], {}, "E7003"),
    ("Add", [(2,)], {}, "E2007"),
    ("Relu", [], {}, "E2007"),
    ("Sum", [(2,)], {"axes": [0]}, "E4000"),
    ("Sum", [(2,)], {"axes": [0], "keepdims": True, "new_shape": []}, "E4000"),
    ("Sum", [(2,)], {"axes": "0", "keepdims": True}, "E4000"),
    ("Sum", [(2,)], {"axes": [2], "keepdims": True}, "E3004"),
    ("Sum", [(2,)], {"axes": [-1], "keepdims": True}, "E3004"),
    ("Relu", [3], {}, "E4000"),
    ("Relu", 3, {}, "E4000"),
    ("Relu", [("2",)], {}, "E4000"),
    ("Relu", [(10**5000,)], {}, "E4000"),
    ("Relu", [(-1,)], {}, "E3006"),
    ("Input", [], {"shape": [0]}, "E3006"),
    ("Sum", [(2,)], {"axes": [0], "keepdims": True, "profile": "core-v2"}, "E7001"),
]


@pytest.mark.parametrize(("name", "shapes", "attributes", "code"), ERRORS)
def test_errors_are_coded_objects(name: str, shapes: list, attributes: dict, code: str):
    with pytest.raises(MindError) as e:
        infer(name, shapes, **attributes)
    assert e.value.code == code


def test_negative_axes_are_core_v1_1s():
    assert infer("Sum", [(2, 3)], axes=[-1], keepdims=False, profile="core-v1.1") == (2,)
