"""
Views of the elements of a value: so many elements apart along each axis of some memory, or nowhere as a rule gives them.

Transposes, slices, broadcasts, reversals and most reshapes are another `View` of the same memory, read where it lies; nothing is
copied until a kernel asks for it. A constant of one number and an `iota` are views of no memory: every element is the number, or
the element's index as strides and offset give it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from math import prod
from typing import Any

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.ptir import PtirLiteralAttr, PtirOp
from mind_dialect.ptir.types import PtirDType

Ints = tuple[int, ...]


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


Base = Buffer | PtirLiteralAttr | Indices


@dataclass(frozen=True)
class Lookup:
    """
    A part of a view's place that is data: the integers of `index` (one of the same shape as the view), `stride` elements each.

    They must be below `extent`, or are `clamped` to 0 .. `extent` - 1.
    """

    index: View
    stride: int
    extent: int
    clamped: bool = False


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
    def count(self) -> int:
        """Return the number of elements."""
        return prod(self.shape)

    @property
    def is_whole(self) -> bool:
        """Return whether it is all of a buffer, in order."""
        whole = isinstance(self.base, Buffer) and self.offset == 0 and self.count == self.base.count
        return whole and self.is_dense and not self.lookups

    @property
    def is_dense(self) -> bool:
        """Return whether its elements follow each other in row-major order."""
        return all(n == 1 or have == want for n, have, want in zip(self.shape, self.strides, row_major(self.shape), strict=True))


def row_major(shape: Sequence[int]) -> Ints:
    """
    The strides of elements in row-major order.

    >>> row_major((2, 3, 4))
    (12, 4, 1)
    """
    found: list[int] = []
    step = 1
    for n in reversed(shape):
        found.append(step)
        step *= max(n, 1)
    return tuple(reversed(found))


def whole(buffer: Buffer, shape: Sequence[int]) -> View:
    """All of a buffer."""
    return View(buffer, buffer.dtype, tuple(shape), row_major(shape))


def filled(literal: PtirLiteralAttr, shape: Sequence[int]) -> View:
    """One number everywhere."""
    return View(literal, literal.spec[0], tuple(shape), (0,) * len(shape))


def indices(dtype: PtirDType, shape: Sequence[int], axis: int) -> View:
    """Return the view that `iota` gives."""
    return View(Indices(), dtype, tuple(shape), tuple(int(a == axis % len(shape)) for a in range(len(shape))))


def reshaped(view: View, shape: Sequence[int]) -> View | None:
    """
    The same elements in row-major order under another shape, if strides can say that.

    Each new axis is taken off the front of the old ones, which are joined where they are one axis in effect.
    """
    shape = tuple(shape)
    if view.count == 0:
        return replace(view, shape=shape, strides=row_major(shape))
    old = [(n, s) for n, s in zip(view.shape, view.strides, strict=True) if n != 1]
    strides: list[int] = []
    at = 0
    for n in shape:
        if n == 1:
            strides.append(0)
            continue
        if at < len(old) and old[at][0] == n:
            strides.append(old[at][1])
            at += 1
            continue
        if (found := _split(old, at, n)) is None:
            return None
        strides.append(found)
    return replace(view, shape=shape, strides=tuple(strides))


def _split(old: list[tuple[int, int]], at: int, n: int) -> int | None:
    """Take an axis of extent `n` off the front of the axes from `at` on, joining those that are one in effect; its stride."""
    while old[at][0] % n:
        if at + 1 >= len(old) or old[at][1] != old[at + 1][1] * old[at + 1][0]:
            return None
        old[at : at + 2] = [(old[at][0] * old[at + 1][0], old[at + 1][1])]
    extent, stride = old[at]
    rest = extent // n
    old[at : at + 1] = [(rest, stride)] if rest > 1 else []
    return stride * rest


def _reshape(view: View, op: PtirOp, values: Mapping[str, Any]) -> View | None:
    return reshaped(view, _shape(op))


def _transpose(view: View, op: PtirOp, values: Mapping[str, Any]) -> View | None:
    given: Sequence[int] = values["perm"]
    perm = [a % len(view.shape) for a in given]
    return replace(view, shape=tuple(view.shape[a] for a in perm), strides=tuple(view.strides[a] for a in perm))


def broadcast(view: View, shape: Sequence[int]) -> View:
    """Repeated along new leading axes and along axes of extent 1."""
    missing = len(shape) - len(view.shape)
    old = [*[(1, 0)] * missing, *zip(view.shape, view.strides, strict=True)]
    strides = tuple(0 if extent == 1 != n else stride for (extent, stride), n in zip(old, shape, strict=True))
    return replace(view, shape=tuple(shape), strides=strides)


def _broadcast(view: View, op: PtirOp, values: Mapping[str, Any]) -> View | None:
    return broadcast(view, _shape(op))


def window(view: View, starts: Sequence[int], shape: Sequence[int], steps: Sequence[int]) -> View:
    """Every `steps[i]`-th element from `starts[i]` on, `shape[i]` of them."""
    offset = view.offset + sum(start * stride for start, stride in zip(starts, view.strides, strict=True))
    strides = tuple(stride * step for stride, step in zip(view.strides, steps, strict=True))
    return replace(view, shape=tuple(shape), strides=strides, offset=offset if 0 not in shape else 0)


def _slice(view: View, op: PtirOp, values: Mapping[str, Any]) -> View | None:
    return window(view, values["starts"], _shape(op), [1] * len(view.shape))


def _strided_slice(view: View, op: PtirOp, values: Mapping[str, Any]) -> View | None:
    return window(view, values["starts"], _shape(op), values["strides"])


def _reverse(view: View, op: PtirOp, values: Mapping[str, Any]) -> View | None:
    given: Sequence[int] = values["axes"]
    axes = {a % len(view.shape) for a in given}
    starts = [max(n - 1, 0) if a in axes else 0 for a, n in enumerate(view.shape)]
    return window(view, starts, view.shape, [-1 if a in axes else 1 for a in range(len(view.shape))])


def _same(view: View, op: PtirOp, values: Mapping[str, Any]) -> View | None:
    return view


def _shape(op: PtirOp) -> Ints:
    return tuple(n for n in op.result_spec().shape if isinstance(n, int))


VIEWS: dict[type[PtirOp], Callable[[View, PtirOp, Mapping[str, Any]], View | None]] = {
    ptir.ReshapeOp: _reshape,
    ptir.TransposeOp: _transpose,
    ptir.BroadcastToOp: _broadcast,
    ptir.SliceOp: _slice,
    ptir.StridedSliceOp: _strided_slice,
    ptir.ReverseOp: _reverse,
    ptir.StopGradientOp: _same,
}
"""Ops that are another view of their operand; None where strides cannot say it and the operand must be copied first."""


def viewed(view: View, op: PtirOp) -> View | None:
    """The result of an op of `VIEWS`, given its operand."""
    return VIEWS[type(op)](view, op, op.values())


def form(view: View) -> Hashable:
    """Return all of a view that the text of a kernel depends on."""
    return view.dtype, view.shape, view.strides
