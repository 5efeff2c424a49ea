"""The table of ATen ops is closed: every op that torch tags core has a row or a stated reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from mind_translate.fx import DECOMPOSED, KEPT, ROWS, SIZES
from mind_translate.unsupported import Refused

NAMES = Path(__file__).parents[2] / "support" / "core_aten_names.txt"
CORE = frozenset(line for line in NAMES.read_text(encoding="utf-8").split("\n") if line and not line.startswith("#"))


@pytest.mark.quick
def test_every_core_op_has_a_row_or_a_reason() -> None:
    assert len(CORE) > 190
    assert sorted(CORE - ROWS.keys() - SIZES) == []


@pytest.mark.quick
def test_reasons_are_stated_and_for_few() -> None:
    refused = {name: row for name, row in ROWS.items() if isinstance(row, Refused)}
    assert all(row.reason and row.advice for row in refused.values())
    assert len(CORE & refused.keys()) < len(CORE) // 8


@pytest.mark.quick
def test_names_of_other_tables_are_of_this_one() -> None:
    assert set(DECOMPOSED) & CORE <= {name for name, row in ROWS.items() if isinstance(row, Refused)}
    assert not (set(DECOMPOSED) - CORE) & ROWS.keys()


def test_every_overload_that_torch_keeps_has_a_row() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    packets = [name for name in KEPT if "." not in name]
    kept = {f"{name}.{overload}" for name in packets for overload in getattr(torch.ops.aten, name).overloads()}
    kept |= {name for name in KEPT if "." in name}
    assert {name for name in kept if "out" not in name.partition(".")[2].lower()} <= ROWS.keys()


def test_the_frozen_names_are_those_that_torch_tags() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    found: set[str] = set()
    for schema in torch._C._jit_get_all_schemas():
        namespace, _, name = schema.name.partition("::")
        packet = getattr(torch.ops.aten, name, None) if namespace == "aten" else None
        op = getattr(packet, schema.overload_name or "default", None)
        if op is not None and torch.Tag.core in op.tags:
            found.add(f"{name}.{schema.overload_name or 'default'}")
    assert sorted(found - ROWS.keys() - SIZES) == []
    assert found == CORE or torch.__version__.split("+")[0] != "2.13.0"


def test_every_row_is_of_an_op_that_torch_has() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    names = [key for key in (*ROWS, *DECOMPOSED) if not key.startswith("transformers.")]
    unknown = [key for key in names if not hasattr(getattr(torch.ops.aten, key.partition(".")[0], None), key.partition(".")[2])]
    assert unknown == []
