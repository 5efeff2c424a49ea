"""
Sums of a few rows while the rows of a matrix pass by: cleared, kept, handed to an epilogue, and added up where they are of bands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir.types import Kind

from ..ir import Function
from ..kernel_text import argument, index_of, unflattened
from ..lanes import Lanes, ones, register
from ..target_info import TargetInfo
from .arguments import finish_of, view_name
from .chain import Finish
from .pack import by_part
from .product import EmittedProduct

VECTORS = 2
"""In one iteration."""
UNIT, TURN = 4096, 256
"""Columns whose sums of all bands are added up in one unit of work, and bytes of each band's in one iteration."""


def vectors(f: Function, width: int, count: int, body: Callable[[str, Sequence[str | None]], None], most: int) -> None:
    """`body(first column, masks of the vectors)` along a run, `most` vectors at a time."""
    step = width * most
    full = count // step * step
    for j in f.each("0", str(full), step, hint="j"):
        body(j, [None] * most)
    whole, rest = divmod(count - full, width)
    masks: list[str | None] = [None] * whole
    if rest:
        masks.append(ones(width, rest))
    if masks:
        body(str(full), masks)


@dataclass(frozen=True)
class Sums:
    """The sums of a run of `count` columns from `y` on, those of rows `apart` from each other."""

    f: Function
    host: TargetInfo
    product: EmittedProduct
    y: str
    apart: int
    count: int

    def clear(self) -> None:
        """They begin with 0."""
        total = self.product.total

        def one(lanes: Lanes, row: int, column: str) -> None:
            lanes.store(total, lanes.constant(total, 0), self.y, self._at(row, column), 1)

        self._each(one)

    def copy(self, target: str, apart: int) -> None:
        """Put them somewhere else."""
        f, total = self.f, self.product.total

        def one(lanes: Lanes, row: int, column: str) -> None:
            value = lanes.load(total, self.y, self._at(row, column), 1)
            lanes.store(total, value, target, f.add(column, str(row * apart)), 1)

        self._each(one)

    def finish(self, batch: list[str], first: str) -> None:
        """Hand them to the epilogue, as those from a column on."""
        f, total = self.f, self.product.total
        hand = _epilogue_passer(f, self.product, finish_of(f, self.product), batch)

        def one(lanes: Lanes, row: int, column: str) -> None:
            hand(lanes, row, f.add(first, column), lanes.load(total, self.y, self._at(row, column), 1))

        self._each(one)

    def _at(self, row: int, column: str) -> str:
        return self.f.add(column, str(row * self.apart))

    def _each(self, body: Callable[[Lanes, int, str], None]) -> None:
        width = self.product.cut.width

        def some(j: str, masks: Sequence[str | None]) -> None:
            for q, mask in enumerate(masks):
                for row in range(self.product.rows):
                    body(Lanes(self.f, self.host, width, mask), row, self.f.add(j, str(q * width)))

        vectors(self.f, width, self.count, some, VECTORS)


def _epilogue_passer(
    f: Function, product: EmittedProduct, finish: Finish, batch: list[str]
) -> Callable[[Lanes, int, str, str], None]:
    """Return an emitter that passes the sums of a row, from a given column on, to the epilogue."""

    def hand(lanes: Lanes, row: int, column: str, value: str) -> None:
        at, along = [str(row), column], len(batch) + 1
        if product.swapped:
            at, along = at[::-1], len(batch)
        finish(lanes, [*batch, *at], along, value)

    return hand


def emit_sums(f: Function, host: TargetInfo, product: EmittedProduct) -> int:
    """The body of the kernel that adds up the sums of bands; units of work are runs of columns. How many there are."""
    view, width, total, columns = product.partial, product.cut.width, product.total, product.columns
    assert view is not None, "planned"
    partial = argument(f, 0, "partial")
    runs, most = -(-columns // UNIT), max(1, TURN // (width * total.size))
    finish = product.finish(f, [argument(f, 1 + i, view_name(v)) for i, v in enumerate(product.epilogue.views)])
    code = "fadd" if total.kind is Kind.FLOAT else "add"

    def row(batch: list[str], r: int, column: str, count: int) -> None:
        base = f.address(register(total), partial, index_of(f, view, [*batch, "0", str(r), column]))
        hand = _epilogue_passer(f, product, finish, batch)

        def body(j: str, masks: Sequence[str | None]) -> None:
            each = [Lanes(f, host, width, mask, "sum") for mask in masks]

            def read(band: str) -> list[str]:
                at = f.add(j, f.mul(band, view.strides[-3]))
                return [lanes.load(total, base, f.add(at, str(q * width)), 1) for q, lanes in enumerate(each)]

            def add(band: str, /, *sums: str) -> list[str]:
                return [lanes.binary(code, register(total), s, x) for lanes, s, x in zip(each, sums, read(band), strict=True)]

            state = [(lanes.type(total), x) for lanes, x in zip(each, read("0"), strict=True)]
            for q, value in enumerate(f.loop("1", str(product.cut.bands), 1, add, state, "band")):
                hand(each[q], r, f.add(column, f.add(j, str(q * width))), value)

        vectors(f, width, count, body, most)

    def unit(u: str) -> None:
        *batch, v = unflattened(f, u, [*product.batch, runs])
        column = f.mul(v, UNIT)

        def every(count: int) -> None:
            for r in range(product.rows):
                row(batch, r, column, count)

        by_part(f, columns, UNIT, v, every)

    for u in f.each("%begin", "%end", hint="unit"):
        unit(u)
    return prod(product.batch) * runs
