"""Every operator of ONNX has a row, a function body or a reason."""

from __future__ import annotations

from pathlib import Path

import pytest

import mind_translate.onnx.table as table
from mind_translate.onnx.contrib import CONTRIB
from mind_translate.unsupported import Refused

NAMES = (Path(__file__).parents[2] / "support" / "onnx_names.txt").read_text(encoding="ascii").split()
"""The operators of onnx 1.23.2, every domain and opset."""


@pytest.mark.parametrize("name", NAMES)
def test_an_operator_has_a_row_or_a_reason(name: str):
    row = table.ROWS.get(name)
    assert (row is None) == (name in table.BY_FUNCTION)
    if isinstance(row, Refused):
        assert row.reason
        assert row.advice


def test_no_row_is_for_an_operator_that_is_not_there():
    assert sorted([*table.ROWS, *table.BY_FUNCTION]) == sorted([*NAMES, *CONTRIB])


def test_the_names_are_those_of_the_package():
    defs = pytest.importorskip("onnx.defs")
    known = {(f"{s.domain}." if s.domain else "") + s.name for s in defs.get_all_schemas_with_history()}
    assert known - {*NAMES} == set()


@pytest.mark.parametrize("name", sorted(table.BY_FUNCTION))
def test_a_function_body_is_there(name: str):
    defs = pytest.importorskip("onnx.defs")
    domain, _, short = name.rpartition(".")
    schema = defs.get_schema(short, domain)
    assert schema.has_function or schema.has_context_dependent_function


def test_the_page_lists_each_operator_of_onnx_runtime():
    page = (Path(__file__).parents[3] / "docs" / "onnx.md").read_text(encoding="utf-8")
    assert [name for name in CONTRIB if f"`{name.rpartition('.')[2]}`" not in page] == []
