"""Which of several errors of one op comes first: an op that breaks every rule loses one fault at a time."""

import pytest
from xdsl.dialects.builtin import ArrayAttr, StringAttr
from xdsl.dialects.test import TestOp as Unknown
from xdsl.ir import Operation

from mind_dialect.errors import MindError
from mind_dialect.ptir import GatherOp, TopKOp
from ptir_rows import types


def gather(operands: str, axis: int | None, result: str, **others: str) -> Operation:
    """A gather that nothing checked; without an axis it has a property of the wrong kind."""
    properties = GatherOp.store_properties({"axis": axis}) if axis is not None else {"axis": ArrayAttr([])}
    attributes = {name: StringAttr(value) for name, value in others.items()}
    values = Unknown(result_types=types(operands)).results
    return GatherOp.create(operands=values, properties=properties, attributes=attributes, result_types=types(result))


STEPS = [
    ("E2007", "counts of operands", lambda: gather("f32[2,3]", None, "f32[9]")),
    ("E4000", "kinds of properties", lambda: gather("f32[2,3] f32[2]", None, "f32[9]")),
    ("E2005", "dtypes", lambda: gather("f32[2,3] f32[2]", 7, "f32[9]")),
    ("E3004", "axes", lambda: gather("f32[2,3] si32[2]", 7, "f32[9]")),
    ("E3002", "ranks", lambda: gather("f32[2,3] si32[2]", 1, "f32[9]")),
    ("E3003", "extents", lambda: gather("f32[2,3] si32[9,3]", 1, "f32[9]")),
    ("E4015", "the declared result", lambda: gather("f32[2,3] si32[2,3]", 1, "f32[9]")),
]


@pytest.mark.parametrize(("code", "what", "make"), STEPS, ids=[what for _, what, _ in STEPS])
def test_order_within_an_op(code: str, what: str, make) -> None:
    with pytest.raises(MindError) as raised:
        make().check()
    assert raised.value.code == code


def test_an_op_without_faults_is_what_remains() -> None:
    gather("f32[2,3] si32[2,3]", 1, "f32[2,3]").check()


def test_counts_of_results_come_before_properties() -> None:
    op = TopKOp.create(operands=Unknown(result_types=types("f32[5]")).results, result_types=types("f32[1]"))
    with pytest.raises(MindError, match="E2007"):
        op.check()
