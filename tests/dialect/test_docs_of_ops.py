"""What a reader is told about an op, what IRDL knows and what our own tables hold are one and the same."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mind_dialect import Mind
from mind_dialect.core import CORE_OPS, EXTENSION_OPS, OPS_BY_OPCODE, CoreOp
from mind_dialect.types import FLOATS, NUMERIC

OPS = (*CORE_OPS, *EXTENSION_OPS)
CHAPTER = (
    "ConstI64 ConstF32 ConstF64 ConstTensor Add Sub Mul Sum Mean Reshape Transpose ExpandDims Squeeze Index Slice Gather Dot "
    "MatMul Conv2d Relu Neg Exp Log"
).split()
"""The opcodes of the Core IR chapter, `Input` excepted, which is a block argument; `Div` is named there to be rejected."""
PROPERTIES = set("axes keepdims new_shape permutation indices starts ends steps strides padding value".split())
FLOATS_ONLY = {"Relu", "Exp", "Log", "ReluGrad", "Reciprocal"}

each_op = pytest.mark.parametrize("op", OPS, ids=lambda op: op.OPCODE)


@each_op
def test_docstring(op: type[CoreOp]):
    text = op.__doc__
    assert text is not None
    lines = [line.strip() for line in text.strip().splitlines()]
    assert len(lines[0]) > 3
    derivative = [line for line in lines if line.startswith("Derivative: ")]
    assert len(derivative) == 1
    assert lines[-1].endswith("."), "the derivative is the last sentence"


@each_op
def test_derivative_names_operands(op: type[CoreOp]):
    """`operand: rule; operand: rule`, each operand once and in order, or `none, because ...` without operands."""
    line = re.sub(r"\s+", " ", (op.__doc__ or "").partition("Derivative: ")[2]).removeprefix(
        "with the option div-gradient only, "
    )
    named = [name for name in re.findall(r"(?:^|; )(\w+): ", line) if name in op.OPERANDS]
    assert tuple(named) == op.OPERANDS
    if not op.OPERANDS:
        assert line.startswith("none, because ")


@each_op
def test_an_op_has_one_result_and_the_name_of_its_opcode(op: type[CoreOp]):
    definition = op.get_irdl_definition()
    assert [name for name, _ in definition.results] == ["result"]
    assert not definition.regions
    assert not definition.successors
    assert definition.name.replace("_", "") == "mind." + {"ConstTensor": "constant"}.get(op.OPCODE, op.OPCODE.lower())


@each_op
def test_dtypes(op: type[CoreOp]):
    assert op.DTYPES == (FLOATS if op.OPCODE in FLOATS_ONLY else NUMERIC)


def test_the_opcodes_are_those_of_the_chapter():
    names = [op.OPCODE for op in CORE_OPS]
    assert sorted(names) == sorted([*CHAPTER, "Div"])
    assert len(CHAPTER) + 1 == 24, "with Input"
    assert all(op.EXTENSION is None for op in CORE_OPS)
    assert all(op.EXTENSION for op in EXTENSION_OPS)
    assert {o: c.OPCODE for o, c in OPS_BY_OPCODE.items()} == {op.OPCODE: op.OPCODE for op in OPS}


def test_properties_are_named_as_in_the_chapter():
    assert {name for op in CORE_OPS for name in op.CODECS} == PROPERTIES
    assert {name for op in EXTENSION_OPS for name in op.CODECS} - PROPERTIES == {"shape"}


def test_the_dialect_holds_them_in_one_order():
    assert list(Mind.operations)[: len(OPS)] == list(OPS)


def test_no_op_is_forgotten():
    text = "\n".join(p.read_text() for p in (Path(__file__).parents[2] / "mind_dialect" / "core").glob("*.py"))
    assert set(re.findall(r'^    name = "(mind\.\w+)"', text, re.MULTILINE)) == {op.name for op in OPS}
