"""Memory of what functions of attributes return, by the identity of the attribute: to hash one takes longer than most of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

from xdsl.ir import Attribute

ResultT = TypeVar("ResultT")
MOST = 1 << 12
"""Attributes that are remembered for a function, at most."""


def by_identity(function: Callable[[Attribute], ResultT]) -> Callable[[Attribute], ResultT]:
    """
    Return a function that remembers what `function` returned for the attributes that it was called with lately.

    Attributes are immutable, and while one is kept here no other object has its id. Errors are not remembered.
    """
    known: dict[int, tuple[Attribute, ResultT]] = {}

    @wraps(function)
    def remembered(attribute: Attribute) -> ResultT:
        if (found := known.get(id(attribute))) is not None:
            return found[1]
        result = function(attribute)
        if len(known) >= MOST:
            known.clear()
        known[id(attribute)] = attribute, result
        return result

    return remembered
