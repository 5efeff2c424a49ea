"""
Views of the elements of a value: so many elements apart along each axis of some memory, or nowhere as a rule gives them.

Transposes, slices, broadcasts, reversals and most reshapes are another `View` of the same memory, read where it lies; nothing is
copied until a kernel asks for it. A constant of one number and an `iota` are views of no memory: every element is the number, or
the element's index as strides and offset give it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from enum import Enum
from math import prod

from xdsl.ir import SSAValue

from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir import PtirLiteralAttr, PtirOp
from mind_dialect.ptir.types import I1, Kind, PtirDType

from ..launch import views
from ..launch.ref import row_major
from ..launch.views import Ints


class Use(Enum):
    """Use of the memory of a buffer."""

    INPUT = "an argument"
    OUTPUT = "a result"
    CONSTANT = "a constant"
    ARENA = "a part of the arena"
    FOREIGN = "the result of a NumPy kernel"
    KEPT = "packed once for all calls"
    MOVING = "elsewhere in each iteration of a loop"


@dataclass(eq=False)
class Buffer:
    """
    Memory of one value, in row-major order: an address of the launches.

    `value` is the address; while the code of a kernel is generated, the operand of that kernel. `location` and `is_new` are
    stated then: a key that tells the memory from any other, and whether it is a result that the caller gives memory to.
    """

    use: Use
    index: int
    dtype: PtirDType
    count: int
    name: str = ""
    value: SSAValue | None = None
    depth: int = 0
    """Number of regions of branches and loops around the op that it was made for."""
    location: Hashable = None
    is_new: bool = False

    def __post_init__(self) -> None:
        if self.location is None:
            self.location = id(self)

    @property
    def bytes(self) -> int:
        """Its size."""
        return self.count * self.dtype.size

    @property
    def address(self) -> SSAValue:
        """The address of memory that a plan has given."""
        assert self.value is not None, "planned"
        return self.value


@dataclass(frozen=True)
class Indices:
    """The rule that gives each element its index along an axis: what `iota` counts."""


@dataclass(frozen=True)
class Joined:
    """
    The parts of a value that is nowhere as a whole: of each the first index along each axis, and its view.

    Groups read them where they are; for anything else they are copied together. The view of the value has no strides.
    """

    parts: tuple[tuple[Ints, View], ...]


Base = Buffer | PtirLiteralAttr | Indices | Joined


@dataclass(frozen=True)
class Lookup:
    """
    A part of a view's place that is data: the integers of `index` (one of the same shape as the view), `stride` elements each.

    They must be below `extent`, or are `clamped` to 0 .. `extent` - 1. There is no `index` where the group that looks up computes
    it. `origin` is the op that fails where one is outside, along `axis` of its first operand.
    """

    index: View | None
    stride: int
    extent: int
    clamped: bool = False
    origin: PtirOp | None = None
    axis: int = 0


@dataclass(frozen=True)
class View:
    """
    Element `[i, j, ...]` of `dtype` is at `offset + i * strides[0] + j * strides[1] + ...` of `base`, counted in elements.

    `lookups` add to that.
    """

    base: Base
    dtype: PtirDType
    shape: Ints
    strides: Ints
    offset: int = 0
    lookups: tuple[Lookup, ...] = ()

    @property
    def layout(self) -> views.StridedLayout:
        """Return where its elements are, but for lookups."""
        return views.StridedLayout(self.shape, self.strides, self.offset)

    @property
    def count(self) -> int:
        """Return the number of elements."""
        return prod(self.shape)

    @property
    def is_whole(self) -> bool:
        """Return whether it is all of a buffer, in order."""
        whole = isinstance(self.base, Buffer) and self.offset == 0 and self.count * self.dtype.size == self.base.bytes
        return whole and self.is_dense and not self.lookups

    @property
    def room(self) -> int:
        """Return the number of elements of its dtype that its buffer holds."""
        assert isinstance(self.base, Buffer), "in memory"
        return self.base.bytes // self.dtype.size

    @property
    def is_dense(self) -> bool:
        """Return whether its elements follow each other in row-major order."""
        return all(n == 1 or have == want for n, have, want in zip(self.shape, self.strides, row_major(self.shape), strict=True))


def indices_of(views: Iterable[View]) -> list[View]:
    """Return the indices in memory that lookups of views read, in order."""
    return [k.index for view in views for k in view.lookups if k.index is not None]


def whole(buffer: Buffer, shape: Sequence[int]) -> View:
    """All of a buffer."""
    return View(buffer, buffer.dtype, tuple(shape), row_major(shape))


def reordered(view: View, order: Sequence[int]) -> View:
    """All of a buffer with axes in another order in memory, the outermost first."""
    strides = dict(zip(order, row_major([view.shape[a] for a in order]), strict=True))
    return replace(view, strides=tuple(strides[a] for a in range(len(order))))


def literal_of(dtype: PtirDType, number: float) -> PtirLiteralAttr:
    """Return one number, which the dtype has, as a literal of rank 0."""
    kind = bool if dtype is I1 else float if dtype.kind is Kind.FLOAT else int
    return PtirLiteralAttr.from_values(dtype, (), (kind(number),))


def filled(literal: PtirLiteralAttr, shape: Sequence[int]) -> View:
    """One number everywhere."""
    return View(literal, literal.spec[0], tuple(shape), (0,) * len(shape))


def indices(dtype: PtirDType, shape: Sequence[int], axis: int) -> View:
    """Return the view that `iota` gives."""
    return View(Indices(), dtype, tuple(shape), tuple(int(a == axis % len(shape)) for a in range(len(shape))))


def joined(dtype: PtirDType, shape: Sequence[int], parts: Sequence[tuple[Ints, View]]) -> View:
    """Return the view of a value that is nowhere as a whole, given its parts."""
    return View(Joined(tuple(parts)), dtype, tuple(shape), (0,) * len(shape))


def in_memory_of(view: View) -> list[View]:
    """Return the view, or the parts of a value that is nowhere as a whole."""
    return [part for _, part in view.base.parts] if isinstance(view.base, Joined) else [view]


def _laid_out(view: View, layout: views.StridedLayout) -> View:
    return replace(view, shape=layout.shape, strides=layout.strides, offset=layout.offset)


def reshaped(view: View, shape: Sequence[int]) -> View | None:
    """The same elements in row-major order under another shape, if strides can say that."""
    found = views.reshaped(view.layout, tuple(shape))
    return None if found is None else _laid_out(view, found)


def broadcast(view: View, shape: Sequence[int]) -> View:
    """Repeated along new leading axes and along axes of extent 1."""
    return _laid_out(view, views.broadcast(view.layout, tuple(shape)))


def window(view: View, starts: Sequence[int], shape: Sequence[int], steps: Sequence[int]) -> View:
    """Every `steps[i]`-th element from `starts[i]` on, `shape[i]` of them."""
    return _laid_out(view, views.window(view.layout, starts, tuple(shape), steps))


def viewed(view: View, op: PtirOp) -> View | None:
    """The result of an op of `VIEWS`, given its operand; None where strides cannot say it."""
    found = views.view_of(op, view.layout)
    return None if found is None else _laid_out(view, found)


def form(view: View) -> Hashable:
    """Return all of a view that the text of a kernel depends on."""
    return view.dtype, view.shape, view.strides
