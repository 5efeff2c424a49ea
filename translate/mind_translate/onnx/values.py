"""Values of ONNX's graphs while they are converted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.ir import SSAValue

from ..unsupported import Refused
from .extents import Array


class Unusable:
    """A value that PTIR cannot hold; whoever reads it is refused."""

    def __init__(self, refused: Refused):
        self.refused = refused


NOTHING = Unusable(Refused("an optional value that is absent", "ask OptionalHasElement before it is read"))
"""An optional value without an element."""


class Sequenced(list[Any]):
    """A sequence of values, known at import."""


Value = SSAValue | Array | Unusable | Sequenced
Values = Sequence[Any]
