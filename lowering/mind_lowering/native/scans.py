"""Running sums, products and extremes along an axis, in its order, each line of its own in a lane."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from mind_dialect.ptir.types import Kind

from .failures import Sites
from .ir import Function
from .lanes import Lanes, register
from .memory import Access
from .ordered import Ordered
from .places import Indexes, Place, Spot
from .products.product import form
from .reductions import combined, identity_of
from .steps import SharedStep, patient
from .target_info import TargetInfo
from .views import Buffer, View

VECTORS = 4


@dataclass
class Scan(SharedStep):
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
        bases = [v.base for v in (self.source, self.target)]
        assert isinstance(bases[0], Buffer), "planned"
        assert isinstance(bases[1], Buffer), "planned"
        return Access(bases[:1], bases[1:])  # type: ignore[arg-type]

    def key(self) -> Hashable:
        return self.kind, form(self.source), form(self.target), self.axis, self.exclusive, self.reverse

    def contents(self) -> str:
        return f"cumulative {self.kind} over {list(self.source.shape)}"

    def emit(self, f: Function, host: TargetInfo, sites: Sites) -> int:
        dtype = self.source.dtype
        loops = Ordered(f, host, sites, self.source.shape, [self.axis], self.addresses, dtype.size, VECTORS)
        source, target = loops.spots(self.addresses, ["x", "sum"])

        def unit(at: Indexes, low: str, high: str) -> None:
            loops.vectors(low, high, VECTORS, lambda index, every: self.lines(loops, (source, target), at, index, every))

        units = loops.units(unit)
        f.ret("0")
        return units

    def lines(self, loops: Ordered, spots: tuple[Spot, Spot], at: Indexes, index: str, every: list[Lanes]) -> None:
        """Some vectors of lines, from one end of the axis to the other."""
        f, dtype = loops.f, self.source.dtype
        n = self.source.shape[self.axis]
        starts = [f.add(index, str(u * loops.width)) for u in range(len(every))]

        def place(spot: Spot, i: str) -> Place:
            """At step `i` of the walk."""
            step = f.op(f"sub nsw i64 {n - 1}, {i}", "back") if self.reverse else i
            return loops.place(spot, {**at, loops.order[0]: step} if loops.order else at)

        def iteration(i: str, /, *values: str) -> list[str]:
            here, there = place(spots[0], i), place(spots[1], f.add(i, str(int(self.exclusive))))
            found: list[str] = []
            for start, lanes, total in zip(starts, every, values, strict=True):
                x = loops.read(here, start, lanes)
                plain = self.kind == "sum" and dtype.kind is Kind.FLOAT
                step = lanes.binary("fadd", register(dtype), total, x) if plain else combined(lanes, self.kind, dtype, total, x)
                found.append(step)
                loops.write(there, start, lanes, step)
            return found

        if self.exclusive:
            first = place(spots[1], "0")
            for start, lanes in zip(starts, every, strict=True):
                loops.write(first, start, lanes, lanes.constant(dtype, identity_of(self.kind, dtype)))
        # -0 is what leaves every number as it is.
        state = [(lanes.type(dtype), lanes.constant(dtype, self.nothing())) for lanes in every]
        patient(f, "0", str(n - int(self.exclusive)), iteration, state)

    def nothing(self) -> float:
        """What leaves every number as it is: of sums -0."""
        dtype = self.source.dtype
        return -0.0 if self.kind == "sum" and dtype.kind is Kind.FLOAT else identity_of(self.kind, dtype)
