"""The question that a fusion pass asks its target: is a fusion one kernel? A pass by itself, as a flag, takes each for one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mind_dialect.ptir import FusionOp

IsKernel = Callable[[FusionOp], bool]


def always(_: Any) -> bool:
    """Return True: the answer of no target in particular."""
    return True
