"""The derivatives of PTIR by family: reverse and forward rules side by side, joined into one table each."""

from __future__ import annotations

from xdsl.ir import Operation

from ..walks import ForwardRow, Row
from . import (
    calls,
    control,
    convolution,
    cumulative,
    elementwise,
    fourier,
    functions,
    indexing,
    models,
    normalization,
    pooling,
    products,
    reduction,
    structural,
    windows_at,
)

_FAMILIES = (
    elementwise,
    reduction,
    cumulative,
    products,
    pooling,
    convolution,
    structural,
    indexing,
    windows_at,
    fourier,
    normalization,
    models,
    calls,
    functions,
    control,
)
REVERSE: dict[type[Operation], Row] = {op: row for family in _FAMILIES for op, row in family.REVERSE.items()}
FORWARD: dict[type[Operation], ForwardRow] = {op: row for family in _FAMILIES for op, row in family.FORWARD.items()}
