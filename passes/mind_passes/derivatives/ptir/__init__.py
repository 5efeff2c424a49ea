"""The derivatives of PTIR by family: reverse and forward rules side by side, joined into one table each."""

from __future__ import annotations

from xdsl.ir import Operation

from ..rules import ForwardRow, Row
from . import (
    calls,
    control,
    convolution,
    elementwise,
    indexing,
    models,
    normalization,
    pooling,
    products,
    reduction,
    structural,
)

_FAMILIES = (
    elementwise,
    reduction,
    products,
    pooling,
    convolution,
    structural,
    indexing,
    normalization,
    models,
    calls,
    control,
)
REVERSE: dict[type[Operation], Row] = {op: row for family in _FAMILIES for op, row in family.REVERSE.items()}
FORWARD: dict[type[Operation], ForwardRow] = {op: row for family in _FAMILIES for op, row in family.FORWARD.items()}
REFUSED: dict[type[Operation], str] = {}
"""Ops that cannot be differentiated, with the reason."""
