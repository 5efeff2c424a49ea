"""docs/shape.md says what the code does: its tables are the code's, and each spelling in them is read as it says."""

from __future__ import annotations

import re

import pytest

import shape_tables
from mind_dialect.errors import CATALOGUE
from mind_dialect.shape import EARLY_OPS, MODERN_OPS, SHAPE_TYPES
from mind_dialect.verify import verify
from mind_passes.shape.modernize import modernize
from programs import parse

PAGE = shape_tables.PAGE.read_text(encoding="utf-8")
VALUES = {
    "s": "!shape.shape",
    "e": "tensor<?xindex>",
    "z": "!shape.size",
    "i": "index",
    "w": "!shape.witness",
    "b": "i1",
    "x": "tensor<?x3xf32>",
    "v": "!shape.value_shape",
    "n": "tensor<3xi32>",
}
INNER = {"assuming_yield": "assuming", "yield": "reduce", "return": "func"}
"""Ops that stand within another, in whose text the table has them."""


def op_of(text: str, name: str):
    """The op of a row of the table, among values of every type."""
    values = "\n".join(f'%{value} = "test.op"() : () -> {type}' for value, type in VALUES.items())
    module = parse(f"{values}\n{text}")
    verify(module)
    return module, next(op for op in module.walk() if op.name == f"shape.{name}")


def joined(text: str) -> str:
    """Text on one line, without the names of results."""
    return re.sub(r"^%\w+(, %\w+)* = ", "", " ".join(text.split()))


def test_the_tables_are_those_of_the_code():
    assert shape_tables.filled(PAGE) == PAGE, "run: python tests/support/shape_tables.py"


def test_a_stale_page_is_found():
    assert shape_tables.filled(PAGE.replace("Sum of two sizes", "Sum of three sizes")) == PAGE
    with pytest.raises(ValueError, match="early ops"):
        shape_tables.filled(PAGE.replace("<!-- early ops -->", ""))


def test_every_op_and_type_stands_in_a_table():
    assert [f"shape.{name}" for name in shape_tables.MODERN] == [op.name for op in MODERN_OPS]
    assert [f"shape.{name}" for name in shape_tables.EARLY] == [op.name for op in EARLY_OPS]
    for type in SHAPE_TYPES:
        assert f"`!{type.name}`" in PAGE


@pytest.mark.parametrize("name", shape_tables.MODERN)
def test_todays_spelling_is_the_one_printed(name: str):
    text = shape_tables.MODERN[name]
    if name in INNER:
        assert text in shape_tables.MODERN[INNER[name]]
        text, name = shape_tables.MODERN[INNER[name]], INNER[name]
    _, op = op_of(text, name)
    assert joined(str(op)) == text


@pytest.mark.parametrize("name", shape_tables.EARLY)
def test_the_early_spelling_becomes_what_the_table_says(name: str):
    text, becomes = shape_tables.EARLY[name]
    module, _ = op_of(text, name)
    modernize(module)
    verify(module)
    assert f"shape.{becomes}" in {op.name for op in module.walk()}
    assert f"shape.{name}" not in {op.name for op in module.walk()}


def test_codes_named_exist():
    for code in re.findall(r"E\d{4}", PAGE):
        assert code in CATALOGUE
