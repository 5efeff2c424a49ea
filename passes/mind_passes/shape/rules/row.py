"""A row of the table of shape rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..emitter import Shape

Row = Callable[..., Shape | Sequence[Shape]]
"""
From an emitter, a verified op and the shapes of its operands to the shapes of its results.

Ranks and properties have been judged before, by the op's own rule; a row says what extents must be to each other.
"""
Values = dict[str, Any]
