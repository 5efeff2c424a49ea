"""
Packing of operands of products: as seldom as may be.

What works on values that no iteration of a loop changes is done before the loop, and what works on nothing but constants, and on
inputs that are the same in each call, once for all calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

from .plan import Ahead, NativePlan
from .views import Buffer, View

MOST_KEPT = 256 << 20
"""Bytes at most that a program has in memory that stays."""


def lasting(planner: NativePlan, views: Sequence[View], size: int) -> Ahead | None:
    """
    All calls, or the outermost loop whose iterations all find views as they are, if there is one and `size` more bytes may stay.
    """
    if planner.kept + size > MOST_KEPT:
        return None
    bases = [v.base for view in views for v in (view, *(k.index for k in view.lookups)) if isinstance(v.base, Buffer)]
    return next((loop for loop in (planner.once, *planner.loops) if all(map(loop.holds, bases))), None)


def beforehand(planner: NativePlan, views: Sequence[View], size: int) -> AbstractContextManager[None]:
    """Let what is planned, which works on views and makes `size` bytes, be done as seldom as may be."""
    loop = lasting(planner, views, size)
    return nullcontext() if loop is None else loop.appending(planner)
