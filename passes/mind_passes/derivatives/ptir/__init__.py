"""The derivatives of PTIR by family: reverse and forward rules side by side, joined into one table each."""

from __future__ import annotations

from xdsl.ir import Operation

from ..rules import ForwardRow, Row

REVERSE: dict[type[Operation], Row] = {}
FORWARD: dict[type[Operation], ForwardRow] = {}
REFUSED: dict[type[Operation], str] = {}
"""Ops that cannot be differentiated, with the reason."""
