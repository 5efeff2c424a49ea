"""The derivatives of the ops with regions."""

from __future__ import annotations

from xdsl.ir import Operation

from mind_dialect.ptir import CondOp, ScanOp, WhileOp

from ..walks import ForwardRow, Row
from .cond import COND, COND_FORWARD
from .scan import SCAN, SCAN_FORWARD
from .while_loop import WHILE, WHILE_FORWARD

REVERSE: dict[type[Operation], Row] = {CondOp: COND, WhileOp: WHILE, ScanOp: SCAN}
FORWARD: dict[type[Operation], ForwardRow] = {CondOp: COND_FORWARD, WhileOp: WHILE_FORWARD, ScanOp: SCAN_FORWARD}
