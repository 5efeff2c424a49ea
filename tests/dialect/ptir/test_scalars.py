"""The rows of elementwise ops: there is one for each, and each name in it is one that the other side has."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects import math

from closed_tables import expect_rows
from mind_dialect import ptir
from mind_dialect.ptir.legal import LEGAL
from mind_dialect.ptir.scalars import BINARY, SCALARS, UNARY
from mind_dialect.stablehlo.dialect import Chlo, Stablehlo

LISTS = {
    "UNARY": (UNARY, (*ptir.UNARY_OPS, *ptir.UNARY_EXTENSIONS, *ptir.FUNCTIONS, ptir.DigammaOp, ptir.ConjOp), ptir.UnaryOp),
    "BINARY": (BINARY, (*ptir.BINARY_OPS, *ptir.BINARY_EXTENSIONS, *ptir.FUNCTIONS), ptir.BinaryOp),
}
CUDA = Path(__file__).parents[3] / "lowering/mind_lowering/cupy/cuda_cpp/mind.cuh"


@pytest.mark.quick
@pytest.mark.parametrize("name", LISTS)
def test_every_elementwise_op_has_a_row(name: str) -> None:
    table, ops, family = LISTS[name]
    opcodes = {op.OPCODE for op in ops if issubclass(op, family)}
    expect_rows(f"{name} of mind_dialect/ptir/scalars.py", table, opcodes)


@pytest.mark.parametrize("opcode", SCALARS)
def test_every_name_is_one(opcode: str) -> None:
    row = SCALARS[opcode]
    assert next(iter(LEGAL[opcode].values())) == row.dtypes
    assert row.array is None or callable(getattr(np, row.array))
    assert row.mlir is None or f"math.{row.mlir}" in {op.name for op in math.Math.operations}
    ours = {op.name for op in (*Stablehlo.operations, *Chlo.operations)}
    prefix = "" if (row.stablehlo or "").startswith("chlo.") else "stablehlo."
    assert row.stablehlo is None or f"{prefix}{row.stablehlo}" in ours
    fusible = ptir.OPS_BY_OPCODE[opcode] in ptir.FUSIBLE
    assert not fusible or f" {row.cuda or opcode}(" in CUDA.read_text()
    assert row.instructions >= 1
