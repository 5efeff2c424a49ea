"""Arrays whose memory a call of a compiled function takes over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..array import Array, may_share
from ..faults import ArrayTypeError, fault


class DonatedArray(Array):
    """An array whose memory a call of a compiled function has taken over."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        message = "this array was donated to a compiled function, which has overwritten its memory; use the function's result"
        raise fault("E2001", message, kind=ArrayTypeError, expected="an array", actual="a donated array")

    def __repr__(self) -> str:
        return "<donated array>"


def give_away(donated: Sequence[int], leaves: Sequence[Any], arrays: Sequence[Any]) -> list[Any]:
    """Return the arguments with donated ones in memory that nothing else has; the arrays they come from are used up."""
    given = list(arrays)
    seen: set[int] = set()
    for i in donated:
        leaf = leaves[i]
        array = arrays[i]
        shares = (type(leaf) is Array and may_share(leaf)) or id(array) in seen or not array.flags.c_contiguous
        seen.add(id(array))
        if shares or not array.flags.writeable:
            given[i] = np.array(array, order="C")
    for i in donated:
        leaf = leaves[i]
        if type(leaf) is Array:
            del leaf.ndarray
            leaf.__class__ = DonatedArray
    return given
