"""The derivatives of PTIR by family: reverse and forward rules side by side, joined into one table each."""

from __future__ import annotations

from xdsl.ir import Operation

from ..rules import ForwardRow, Row
from . import control, elementwise, structural

REVERSE: dict[type[Operation], Row] = {**elementwise.REVERSE, **structural.REVERSE, **control.REVERSE}
FORWARD: dict[type[Operation], ForwardRow] = {**elementwise.FORWARD, **structural.FORWARD, **control.FORWARD}
REFUSED: dict[type[Operation], str] = {}
"""Ops that cannot be differentiated, with the reason."""
