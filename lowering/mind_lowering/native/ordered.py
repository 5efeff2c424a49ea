"""
Loops some of whose axes have an order: along those steps follow each other, along the others nothing depends on anything.

Units of work are places along the axes without order, so what is combined at one place is always combined by one thread, in the
order of the axes that have one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from ..launch.views import Ints
from .failures import Sites
from .ir import Function
from .kernel_text import patiently, unflattened
from .lanes import Lanes
from .nest import axes_of
from .places import Indexes, Places
from .target_info import TargetInfo
from .views import View


class Ordered(Places):
    """
    The loops over `shape`, where `order` are the axes with an order; strides of views are in that shape.

    Lanes, for dtypes of `size` bytes, run along an axis without order, if there is one; a unit of work is `vectors` of them. If
    not `spreads`, they need a view that is consecutive along it: else each unit is one place along all axes without order.
    """

    def __init__(
        self,
        f: Function,
        host: TargetInfo,
        sites: Sites,
        shape: Ints,
        order: Sequence[int],
        views: Sequence[View],
        size: int,
        vectors: int,
        *,
        spreads: bool = True,
    ):
        super().__init__(f, host, sites, axes_of(shape, order, [v.strides for v in views]))
        free = [i for i, a in enumerate(self.axes) if not a.reduced]
        self.order = [i for i, a in enumerate(self.axes) if a.reduced]
        self.width = host.lanes(max(4, size))
        self.along = min(free, key=lambda i: (*self.axes[i].cost(self.width), -i), default=None)
        if not spreads and self.along is not None and 1 not in self.axes[self.along].strides:
            self.along = None
        self.width = min(self.width, 1 << (self.extent - 1).bit_length())
        self.kept = [i for i in free if i != self.along]
        self.chunk = self.width * vectors

    def units(self, body: Callable[[Indexes, str, str], None]) -> int:
        """`body(indices, low, high)` for each unit: from one to another place along the lanes; how many units there are."""
        f, extents = self.f, [*(self.axes[i].extent for i in self.kept), -(-self.extent // self.chunk)]
        for u in f.each("%begin", "%end", hint="unit"):
            *at, block = unflattened(f, u, extents) if prod(extents) > 1 else ["0"] * len(extents)
            low = f.mul(block, self.chunk)
            body(dict(zip(self.kept, at, strict=True)), low, f.least(f.add(low, str(self.chunk)), str(self.extent)))
        return prod(extents)

    def vectors(self, low: str, high: str, unroll: int, body: Callable[[str, list[Lanes]], None]) -> None:
        """`body(index, lanes)` for the vectors from `low`, where a unit begins, to `high`, `unroll` at a time."""
        f, n, width = self.f, self.extent, self.width
        whole, full = n - n % (width * unroll), n - n % width
        for index in f.each(low, f.least(high, str(whole)), width * unroll, hint="x"):
            body(index, [self.lanes() for _ in range(unroll)])
        if full == n and whole == n:
            return

        def rest() -> None:
            for index in f.each(str(whole), str(full), width, hint="x"):
                body(index, [self.lanes()])
            if full < n:
                body(str(full), [self.lanes(n - full)])

        f.when(f.op(f"icmp eq i64 {high}, {n}", "last"), rest)

    def in_order(self, at: Indexes, body: Callable[[Indexes], None], axes: Sequence[int] | None = None) -> None:
        """`body(indices)` for each step of the axes that have an order, outermost first."""
        axes = self.order if axes is None else axes
        if not axes:
            body(at)
            return
        for index in patiently(self.f, "0", str(self.axes[axes[0]].extent), hint="s"):
            self.in_order({**at, axes[0]: index}, body, axes[1:])
