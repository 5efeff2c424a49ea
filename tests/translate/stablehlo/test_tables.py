"""Every op of StableHLO, CHLO and Shardy has a row or a reason, and no row is for an op that they do not have."""

from __future__ import annotations

from pathlib import Path

import pytest

from mind_dialect.stablehlo import OP_TYPES
from mind_translate.stablehlo.table import OPERANDS, POINTWISE, ROWS
from mind_translate.unsupported import Refused

NAMES = [
    line
    for line in (Path(__file__).parents[2] / "support" / "stablehlo_names.txt").read_text().splitlines()
    if not line.startswith("#")
]


def test_the_frozen_names_are_those_of_the_dialects() -> None:
    assert sorted(NAMES) == sorted(OP_TYPES)
    assert len(NAMES) == 187


@pytest.mark.parametrize("name", NAMES)
def test_every_op_has_a_row_or_a_reason(name: str) -> None:
    assert name in ROWS, f"table ROWS has no row for {name}"
    row = ROWS[name]
    if isinstance(row, Refused):
        assert row.reason, f"the reason why {name} is refused is empty"
    else:
        assert callable(row)


def test_no_row_is_for_an_op_that_there_is_not() -> None:
    assert set(ROWS) - set(NAMES) == {"func.call", "enzyme.autodiff", "enzyme.fwddiff"}


def test_every_row_says_how_many_operands_it_takes() -> None:
    rows = {name for name, row in ROWS.items() if not isinstance(row, Refused)}
    assert rows - set(OPERANDS) == set()
    assert set(OPERANDS) <= set(ROWS)


def test_pointwise_ops_have_rows() -> None:
    assert set(ROWS) >= POINTWISE


def test_jaxlib_defines_the_frozen_names() -> None:
    stablehlo = pytest.importorskip(
        "jaxlib.mlir.dialects._stablehlo_ops_gen", reason="no jaxlib: its op names cannot be looked up"
    )
    from jaxlib.mlir.dialects import _chlo_ops_gen, _sdy_ops_gen

    defined = {
        value.OPERATION_NAME
        for module in (stablehlo, _chlo_ops_gen, _sdy_ops_gen)
        for value in vars(module).values()
        if isinstance(value, type) and isinstance(getattr(value, "OPERATION_NAME", None), str)
    }
    assert defined, "no op found"
    assert sorted(defined) == sorted(NAMES)
