"""
Kernels of single ops, as steps: what sorts, scans, scatters, checks of indices and random numbers read and write.

Their text is made in `sorts.py`, `scans.py`, `scatters.py` and `random_numbers.py`.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import prod

from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir import PtirOp

from .groups import layout
from .memory import Access, buffers_of, rounded_up
from .sort_keys import Keys
from .steps import NativeStep
from .target_info import TargetInfo
from .views import Buffer, View, form, indices_of

MOST_UNITS = 32
"""Units of work of a sort, at most: each has memory of its own."""
FEW = 48
"""So many keys of a line are inserted one by one."""
BLOCKS = (64, 32, 16, 8, 4)
"""The best of many are looked for in blocks of so many elements, the first of which there are enough."""


@dataclass
class Sort(NativeStep):
    """
    The best `count` elements of each line of `source` along `axis`, best first, in `values`, and their places in `places`.

    `room` is memory to work in. If there are `ranks`, only elements of these places in the order are read of `values`.
    """

    name: str
    source: View
    axis: int
    descending: bool
    values: View
    places: View | None
    room: Buffer | None = None
    ranks: tuple[int, ...] = ()

    @property
    def lines(self) -> Sequence[View]:
        """The views of lines: source, values and, if there are any, places."""
        return [self.source, self.values, *([] if self.places is None else [self.places])]

    @property
    def keys_alone(self) -> bool:
        """Return whether keys are moved without the places they came from."""
        return self.places is None and self.source.shape[self.axis] > FEW

    @property
    def units(self) -> int:
        """The number of units of work that have room of their own."""
        return min(MOST_UNITS, prod(n for a, n in enumerate(self.source.shape) if a != self.axis))

    @property
    def block(self) -> int | None:
        """The elements of a block where the best are sifted by the least keys of blocks; None where all are put in order."""
        n, count = self.source.shape[self.axis], self.values.shape[self.axis]
        return next((b for b in BLOCKS if n // b >= count), None) if n > FEW and not self.keys_alone else None

    @property
    def held(self) -> int:
        """
        The most elements of a line that are put in order.

        Of those that are sifted, fewer blocks than are wanted have keys before the threshold. Of the others, blocks are looked
        into until as many elements are found as are wanted; and there are elements after the last whole block.
        """
        n, count = self.source.shape[self.axis], self.values.shape[self.axis]
        if (size := self.block) is None:
            return n
        return min(n, max(n // size, count * size + count + n % size))

    @property
    def parts(self) -> tuple[int, int]:
        """The bytes of an array of keys and of an array of places."""
        keys = rounded_up(self.held * Keys(self.source.dtype, False).bits // 8)
        return keys, 0 if self.keys_alone else rounded_up(4 * self.held)

    @property
    def room_of_unit(self) -> int:
        """The bytes that a unit of work needs: keys and places, twice."""
        return 2 * sum(self.parts)

    @property
    def addresses(self) -> Sequence[View]:
        room = [] if self.room is None else [View(self.room, self.room.dtype, (self.room.count,), (1,))]
        return [*self.lines, *room]

    def access(self) -> Access:
        bases = buffers_of(self.addresses)
        return Access(bases[:1], bases[1:])

    def cost(self, host: TargetInfo) -> float:
        """Some ten nanoseconds an element."""
        return self.source.count * 10.0

    def key(self) -> Hashable:
        places = None if self.places is None else form(self.places)
        return form(self.source), self.axis, self.descending, form(self.values), places, self.ranks

    def contents(self) -> str:
        count, n = self.values.shape[self.axis], self.source.shape[self.axis]
        what = "sort" if self.places is None else f"the first {count}"
        what = f"ranks {list(self.ranks)}" if self.ranks else what
        return f"{what} of {n} along axis {self.axis} of {list(self.source.shape)}"


@dataclass
class LaneSort(Sort):
    """A sort of lines together, one in each lane of a vector, without memory to work in."""

    def cost(self, host: TargetInfo) -> float:
        """A fifth of that of lines by themselves."""
        return super().cost(host) / 5

    def contents(self) -> str:
        return f"{super().contents()}, in lanes"


@dataclass
class Scan(NativeStep):
    """
    The sums (or other `kind`) of `source` along `axis` up to each element.

    Without itself if `exclusive`, from the end if `reverse`.
    """

    name: str
    kind: str
    source: View
    target: View
    axis: int
    exclusive: bool
    reverse: bool

    @property
    def addresses(self) -> Sequence[View]:
        return [self.source, self.target]

    def access(self) -> Access:
        return Access(buffers_of([self.source]), buffers_of([self.target]))

    def key(self) -> Hashable:
        return self.kind, form(self.source), form(self.target), self.axis, self.exclusive, self.reverse

    def contents(self) -> str:
        return f"cumulative {self.kind} over {list(self.source.shape)}"


@dataclass(frozen=True)
class Column:
    """Indices along one axis of the operand: a view, how far the operand moves, and what windows of `window` may begin below."""

    index: View
    stride: int
    axis: int
    extent: int
    window: int = 1

    @property
    def limit(self) -> int:
        """Return the number of places that a window may begin at."""
        return self.extent - self.window + 1


@dataclass
class IndexCheck(NativeStep):
    """Fails where an index of an op is outside, and where ids that are promised to ascend, or to differ, do not."""

    name: str
    op: PtirOp
    columns: Sequence[Column]
    ascending: bool = False
    unique: View | None = None
    """A byte for each id, if they are promised to differ."""

    @property
    def sources(self) -> Sequence[PtirOp]:
        return [self.op]

    @property
    def addresses(self) -> Sequence[View]:
        return [*(c.index for c in self.columns), *([] if self.unique is None else [self.unique])]

    def access(self) -> Access:
        return Access(buffers_of(c.index for c in self.columns), buffers_of(self.addresses[len(self.columns) :]))

    def key(self) -> Hashable:
        columns = tuple([(form(c.index), c.axis, c.extent, c.window) for c in self.columns])
        return columns, self.ascending, self.unique is not None and self.unique.count

    def contents(self) -> str:
        return f"indices of {self.op.OPCODE}"


@dataclass
class Scatter(NativeStep):
    """
    `updates`, each combined with the element of `target` that its indices say; `kind` is add, mul, max, min or replace.

    `target` is a view in the shape of the updates that does not move along axes of indices alone; `columns` are views in that
    shape too. Along the axes in `order`, updates may meet at one place. Updates that are looked up are so at indices in memory.
    """

    name: str
    op: PtirOp
    kind: str
    updates: View
    target: View
    columns: Sequence[Column]
    order: Sequence[int]

    @property
    def views(self) -> Sequence[View]:
        """Return the updates, the target, and the indices by which the former are looked up and the latter is."""
        return [self.updates, self.target, *indices_of([self.updates]), *(c.index for c in self.columns)]

    @property
    def addresses(self) -> Sequence[View]:
        return [v for v in self.views if isinstance(v.base, Buffer)]

    def access(self) -> Access:
        return _reading(self.addresses, self.target)

    def key(self) -> Hashable:
        columns = tuple([(form(c.index), c.stride, c.limit) for c in self.columns])
        looked_up = tuple([form(index) for index in indices_of([self.updates])])
        return self.kind, layout(self.updates), looked_up, self.updates.shape, form(self.target), columns, tuple(self.order)

    def contents(self) -> str:
        return f"{self.op.OPCODE} of {list(self.updates.shape)}"


@dataclass
class PrivateScatter(NativeStep):
    """
    `updates`, each combined with an element of one of the tables of its part, which is as far in as its index says.

    `tables` are `[parts, tables of a part, elements]`; the kernel begins with filling them. Updates and indices have one axis.
    """

    name: str
    op: PtirOp
    kind: str
    updates: View
    column: Column
    tables: View

    @property
    def sources(self) -> Sequence[PtirOp]:
        return [self.op]

    @property
    def addresses(self) -> Sequence[View]:
        return [v for v in (self.updates, self.column.index, self.tables) if isinstance(v.base, Buffer)]

    def access(self) -> Access:
        return _reading(self.addresses, self.tables)

    def cost(self, host: TargetInfo) -> float:
        """About a nanosecond an update."""
        return float(self.updates.count)

    def key(self) -> Hashable:
        column = form(self.column.index), self.column.axis, self.column.limit, self.column.window
        return self.kind, layout(self.updates), self.updates.shape, column, form(self.tables)

    def contents(self) -> str:
        parts, tables, count = self.tables.shape
        return f"{self.op.OPCODE} of {list(self.updates.shape)} in {parts} parts, each in {tables} private tables of {count}"


def _reading(addresses: Sequence[View], target: View) -> Access:
    """Return the access of a kernel that writes one of its views and reads the others."""
    found = Access()
    for view in addresses:
        if isinstance(view.base, Buffer):
            (found.writes if view is target else found.reads).append(view.base)
    return found


@dataclass
class Draw(NativeStep):
    """
    Random numbers in `target`.

    `ordinal` tells the draws of a program apart, and the numbers in `iterations`, the outermost loop's first, those of
    iterations.
    """

    name: str
    normal: bool
    target: View
    ordinal: int
    iterations: Sequence[View] = ()

    @property
    def addresses(self) -> Sequence[View]:
        return [self.target, *self.iterations]

    def access(self) -> Access:
        target, *iterations = buffers_of(self.addresses)
        return Access(iterations, [target])

    def cost(self, host: TargetInfo) -> float:
        """A nanosecond for a uniform number, six for a normal one."""
        return self.target.count * (6.0 if self.normal else 1.0)

    def key(self) -> Hashable:
        return self.normal, self.target.dtype, self.target.count, self.ordinal, len(self.iterations)

    def contents(self) -> str:
        return f"{'rng_normal' if self.normal else 'rng_uniform'} of {list(self.target.shape)}"
