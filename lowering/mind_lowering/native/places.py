"""
Addresses of views while loops run, and loads and stores of some lanes of them.

A `Spot` is a view and its address, a `Place` is a spot at indices that loops have reached. `Places` is what loops of every kind
build on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir import PtirLiteralAttr
from mind_dialect.ptir.types import PtirDType

from .casts import constant, counted
from .failures import Failure, Sites
from .ir import Function
from .kernel_text import argument, fail_where, prefetch
from .lanes import Lanes, ones, register, stored
from .nest import Axis
from .target_info import LINE, TargetInfo
from .views import Buffer, Indices, Lookup, View

Indexes = dict[int, str]
"""For each axis, by number, the index that a loop has reached."""


@dataclass
class Spot:
    """A view in the nest: how far it moves along each axis, and the address of its first element."""

    view: View
    hint: str
    strides: list[int]
    base: str
    lookups: list[tuple[Lookup, Spot]]
    """The lookups whose indices are in memory, and where."""
    shift: int = 0
    """Elements from the first one of the view to that at the indices 0: below 0 where windows begin before it."""

    @property
    def in_memory(self) -> bool:
        """Return whether it is read or written, not made."""
        return isinstance(self.view.base, Buffer)


@dataclass
class Place:
    """
    A spot at some indices, the axis of the lanes left open: an address, or the value that all lanes have.

    `index` is the same address, in elements from the spot's first one.
    """

    spot: Spot
    text: str
    index: str = "0"
    is_value: bool = False
    along: Sequence[tuple[Lookup, Place]] = ()
    """Lookups that differ from lane to lane."""


class Places:
    """Reading and writing in one function, lanes along the axis `along`, `width` of them."""

    def __init__(self, f: Function, host: TargetInfo, sites: Sites, axes: Sequence[Axis]):
        self.f, self.host, self.sites, self.axes = f, host, sites, axes
        self.along: int | None = None
        self.width = 1

    @property
    def extent(self) -> int:
        """Return the number of elements that the lanes run along."""
        return 1 if self.along is None else self.axes[self.along].extent

    def lanes(self, count: int = 0) -> Lanes:
        """The lanes of one vector, the first `count` of them if that is not 0."""
        mask = ones(self.width, count) if count and self.width > 1 else None
        return Lanes(self.f, self.host, self.width, mask, counted=count)

    def spots(self, views: Sequence[View], hints: Sequence[str]) -> list[Spot]:
        """
        Load the address of each view; the strides of view `k` are those that each axis has for it.

        The first of them have hints; the rest are indices of lookups, in the order in which the first ones look them up.
        """
        counter = iter(range(len(views)))
        every: list[Spot] = []
        for k, view in enumerate(views):
            hint = hints[k] if k < len(hints) else "v"
            base = argument(self.f, next(counter), hint) if isinstance(view.base, Buffer) else ""
            every.append(Spot(view, hint, [axis.strides[k] for axis in self.axes], base, []))
        indices: Iterator[Spot] = iter(every[len(hints) :])
        for spot in every[: len(hints)]:
            spot.lookups = [(lookup, next(indices)) for lookup in spot.view.lookups if lookup.index is not None]
        return every[: len(hints)]

    def stride(self, spot: Spot) -> int:
        """Return the stride of a spot along the lanes."""
        return 0 if self.along is None else spot.strides[self.along]

    def is_in_lines(self, spot: Spot, stride: int = 1) -> bool:
        """
        Return whether every run along the lanes begins at a line of memory, if the first one does, and vectors help there.

        `stride` is that of the lanes: 2 for the real parts of complex numbers, which are written with the imaginary ones.
        """
        size = spot.view.dtype.size
        others = [s for i, s in enumerate(spot.strides) if i != self.along]
        return self.stride(spot) == stride and self.width * size in (16, 32, 64) and not any(s * size % LINE for s in others)

    def place(self, spot: Spot, at: Indexes) -> Place:
        """Return the place of a spot at some indices."""
        view = spot.view
        index = str(view.offset) if isinstance(view.base, Indices) else str(spot.shift)
        for i, stride in enumerate(spot.strides):
            if i in at and stride:
                index = self.f.add(index, self.f.mul(at[i], stride))
        along: list[tuple[Lookup, Place]] = []
        for lookup, other in spot.lookups:
            place = self.place(other, at)
            if self.stride(other):
                along.append((lookup, place))
                continue
            one = Lanes(self.f, self.host, 1, hint=other.hint)
            found = self.looked_up(lookup, other.view.dtype, self.read(place, "0", one), one)
            index = self.f.add(index, self.f.mul(found, lookup.stride))
        if isinstance(view.base, PtirLiteralAttr):
            return Place(spot, constant(self.lanes(), view.base), is_value=True, along=along)
        if isinstance(view.base, Indices):
            return Place(spot, index, along=along)
        return Place(spot, self.f.address(stored(view.dtype), spot.base, index), index, along=along)

    def is_run(self, place: Place) -> bool:
        """Return whether lanes are next to each other in memory, from a place on."""
        return place.spot.in_memory and not place.is_value and not place.along and self.stride(place.spot) == 1

    def ask_for(self, place: Place, index: str, *, write: bool = False) -> None:
        """Ask for the line of memory of the element at an index from a place on, to read or to write it."""
        prefetch(self.f, self.f.address(stored(place.spot.view.dtype), place.text, index), write=write)

    def uniform(self, place: Place) -> Place:
        """A place that does not move along the lanes, read."""
        if place.is_value or self.stride(place.spot) or place.along or not place.spot.in_memory:
            return place
        lanes = Lanes(self.f, self.host, self.width, hint=place.spot.hint)
        self.guard(place, "0", lanes)
        return Place(place.spot, lanes.load(place.spot.view.dtype, place.text, "0", 0), is_value=True)

    def looked_up(self, lookup: Lookup, dtype: PtirDType, index: str, lanes: Lanes) -> str:
        """Indices of a dtype as i64, clamped, or the kernel is left."""
        wide = lanes.convert("sext", register(dtype), "i64", index)
        if lookup.clamped:
            wide = lanes.intrinsic("smax", "i64", wide, lanes.number("i64", 0))
            return lanes.intrinsic("smin", "i64", wide, lanes.number("i64", lookup.extent - 1))
        outside = lanes.compare("icmp uge", "i64", wide, lanes.number("i64", lookup.extent))
        numbers = [("i64", wide, True), ("i64", lanes.number("i64", lookup.axis), True)]
        fail_where(lanes, self.sites, outside, Failure.INDEX, lookup.origin, numbers)
        return wide

    def look_up(self, lookup: Lookup, place: Place, index: str, lanes: Lanes) -> str:
        """Read indices that are at a place; as i64, clamped, or the kernel is left."""
        return self.looked_up(lookup, place.spot.view.dtype, self.read(place, index, lanes), lanes)

    def read(self, place: Place, index: str, lanes: Lanes) -> str:
        """One operand in some lanes."""
        spot = place.spot
        if isinstance(spot.view.base, PtirLiteralAttr):
            for lookup, other in place.along:  # which is the same wherever it is looked up, but must be there
                self.look_up(lookup, other, index, lanes)
            return constant(lanes, spot.view.base)
        if place.is_value:
            return place.text
        stride, view = self.stride(spot), spot.view
        lanes.hint = spot.hint
        if isinstance(view.base, Indices):
            return counted(lanes, self.offsets(place, index, lanes, place.text), view.dtype)
        if place.along and lanes.width > 1:
            offsets = self.offsets(place, index, lanes)
            self.guard_each(place, offsets, lanes)
            return lanes.load_from(view.dtype, place.text, offsets)
        base = place.text
        for lookup, other in place.along:
            found = self.look_up(lookup, other, index, lanes)
            base = self.f.address(stored(view.dtype), base, self.f.mul(found, lookup.stride))
        if not place.along:
            self.guard(place, index, lanes)
        return lanes.load(view.dtype, base, self.f.mul(index, stride), stride)

    def guard(self, place: Place, index: str, lanes: Lanes) -> None:
        """Return early, in checked kernels, unless the first and the last of some lanes are inside of the memory."""
        view, stride = place.spot.view, self.stride(place.spot)
        if not self.host.checked or not isinstance(view.base, Buffer):
            return
        one = Lanes(self.f, self.host, 1)
        first = self.f.add(place.index, self.f.mul(index, stride))
        last = self.f.add(first, str(((lanes.counted or lanes.width) - 1) * stride))
        for at in (first, last):
            beyond = one.compare("icmp uge", "i64", self.f.add(at, str(view.offset)), str(view.room))
            fail_where(one, self.sites, beyond, Failure.OUTSIDE, None, [("i64", at, True)])

    def guard_each(self, place: Place, offsets: str, lanes: Lanes) -> None:
        """As `guard`, of lanes each at a place of its own."""
        view = place.spot.view
        if not self.host.checked or not isinstance(view.base, Buffer):
            return
        start = lanes.splat("i64", self.f.add(place.index, str(view.offset)))
        at = lanes.binary("add", "i64", start, offsets)
        beyond = lanes.compare("icmp uge", "i64", at, lanes.number("i64", view.room))
        fail_where(lanes, self.sites, beyond, Failure.OUTSIDE, None, [("i64", at, True)])

    def offsets(self, place: Place, index: str, lanes: Lanes, start: str = "0") -> str:
        """Emit the offset of each lane of a spot whose lookups may differ from lane to lane, in elements from `start` on."""
        stride = self.stride(place.spot)
        total = lanes.count(self.f.add(start, self.f.mul(index, stride)), stride)
        for lookup, other in place.along:
            total = self._moved(total, lookup, self.look_up(lookup, other, index, lanes), lanes)
        return total

    def _moved(self, offsets: str, lookup: Lookup, found: str, lanes: Lanes) -> str:
        part = lanes.binary("mul", "i64", found, lanes.number("i64", lookup.stride))
        return lanes.binary("add", "i64", offsets, part)

    def pick(self, place: Place, index: str, lanes: Lanes, dtype: PtirDType, computed: str) -> str:
        """Return the elements of a table in some lanes, at indices of a dtype that are in the lanes."""
        view, stride = place.spot.view, self.stride(place.spot)
        (lookup,) = view.lookups
        start = lanes.count(self.f.mul(index, stride), stride)
        offsets = self._moved(start, lookup, self.looked_up(lookup, dtype, computed, lanes), lanes)
        self.guard_each(place, offsets, lanes)
        if lanes.width > 1:
            return lanes.load_from(view.dtype, place.text, offsets)
        return lanes.load(view.dtype, place.text, offsets, 0)

    def write(self, place: Place, index: str, lanes: Lanes, value: str) -> None:
        """Put one output where it belongs."""
        stride = self.stride(place.spot)
        assert not place.along, "places of results do not differ from lane to lane"
        self.guard(place, index, lanes)
        lanes.store(place.spot.view.dtype, value, place.text, self.f.mul(index, stride), stride)

    def write_pair(self, places: Sequence[Place], index: str, lanes: Lanes, values: Sequence[str]) -> None:
        """Put two outputs where they belong, whose elements alternate in memory."""
        first, width = places[0], lanes.width
        if width == 1:
            for place, value in zip(places, values, strict=True):
                self.write(place, index, lanes, value)
            return
        for place in places:
            self.guard(place, index, lanes)
        dtype, count = first.spot.view.dtype, 2 * lanes.counted
        order = ", ".join(f"i32 {lane // 2 + lane % 2 * width}" for lane in range(2 * width))
        pair = ", ".join(f"{lanes.type(dtype)} {value}" for value in values)
        both = lanes.op(f"shufflevector {pair}, <{2 * width} x i32> <{order}>")
        wide = Lanes(self.f, self.host, 2 * width, ones(2 * width, count) if count else None, counted=count)
        wide.streamed = lanes.streamed
        wide.store(dtype, both, first.text, self.f.mul(index, 2), 1)
