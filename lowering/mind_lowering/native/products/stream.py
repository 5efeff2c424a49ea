"""
Few rows against an operand that is read once, in the order in which it lies: some of its rows at a time, added to sums in cache.

Sums stay in cache while the rows of the right operand pass by. These are cut into bands, each with sums of its own, so that
every thread reads memory as it lies; another kernel adds up the sums of the bands, in their order. Where there are too few rows
for that, runs of columns are units of work. A matrix-vector product is as fast as memory is read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from mind_dialect.ptir.types import Kind

from ..casts import cast
from ..host import Host
from ..ir import Function, Module
from ..lanes import Lanes, ones, register, stored
from ..steps import argument
from .arguments import addresses_of, corner_of, finish_of, view_name
from .cut import LINE
from .pack import by_part
from .product import Finish, Product, index_of, multiply_add, prefetch, unflattened

RUNS, SHORTEST = 8, 192
"""Into how many runs columns are cut where rows are not, and how many columns these have at least."""
VECTORS, MOST = 2, 4
"""In one turn, of some rows and of a single one."""
AHEAD = 12 << 10
"""So many bytes ahead memory is asked for."""
UNIT, TURN = 4096, 256
"""Columns whose sums of all bands are added up in one unit of work, and bytes of each band's in one turn."""


def emit_stream(f: Function, host: Host, product: Product) -> int:
    """The body of the kernel; units of work are bands of rows, or runs of columns. How many there are."""
    columns, depth, group, bands = product.columns, product.depth, product.cut.stream, product.cut.bands
    length = _run(host, product)
    runs = -(-columns // length)
    lhs, rhs, partial = product.lhs, product.rhs, product.partial
    assert partial is not None, "planned"
    bases = addresses_of(f, product, "lhs", "rhs", "partial")
    names: dict[tuple[int, int], str] = {}
    own = bands == 1 and not (product.epilogue.plain and partial == product.out)

    def function(steps: int, count: int) -> str:
        if (steps, count) not in names:
            names[steps, count] = _rows(f.module, host, product, steps, count)
        return names[steps, count]

    def run(batch: list[str], band: str, column: str, count: int) -> None:
        a = f.address(stored(lhs.dtype), bases["lhs"], index_of(f, lhs, [*batch, "0", "0"]))
        b = f.address(stored(rhs.dtype), bases["rhs"], index_of(f, rhs, [*batch, "0", column]))
        at = [*batch, *([band] if bands > 1 else []), "0", column]
        y = f.address(register(product.total), bases["partial"], index_of(f, partial, at))
        _cleared(f, host, product, y, count)

        def some(k: str, steps: int) -> None:
            from_ = f.address(stored(lhs.dtype), a, f.mul(k, lhs.strides[-1]))
            rows = f.address(stored(rhs.dtype), b, f.mul(k, rhs.strides[-2]))
            place = f"{from_}, ptr {rows}, ptr {y}"
            if product.prologue is not None:
                place += f", ptr %args, i64 {k}, i64 {column}"
            f.do(f"call void @{function(steps, count)}(ptr {place})")

        def turn(k: str, /, *values: str) -> None:
            some(k, group)

        whole, rest = str(depth // group * group), depth % group
        first = f.mul(band, product.band)
        f.loop(first, f.least(f.add(first, str(product.band)), whole) if bands > 1 else whole, group, turn, hint="k")
        if rest and bands == 1:
            some(whole, rest)
        elif rest:
            f.when(f.op(f"icmp eq i64 {band}, {bands - 1}", "last"), lambda: some(whole, rest))
        if own:
            _finished(f, host, product, y, batch, column, count)

    def unit(u: str, /, *values: str) -> None:
        *batch, band, v = unflattened(f, u, [*product.batch, bands, runs])
        column = f.mul(v, length)
        by_part(f, columns, length, v, lambda count: run(batch, band, column, count))

    f.loop("%begin", "%end", 1, unit, hint="unit")
    return prod(product.batch) * bands * runs


def _run(host: Host, product: Product) -> int:
    """How many columns a unit of work has: all, if there are other units and the second cache holds their sums with ease."""
    columns, cut = product.columns, product.cut
    most = max(SHORTEST, host.l2_bytes // 4 // (product.rows * product.total.size) // 64 * 64)
    runs = max(-(-columns // most), RUNS if cut.bands == 1 else 1)
    return min(columns, max(SHORTEST, -(-columns // runs // 64) * 64))


def _vectors(f: Function, width: int, count: int, body: Callable[[str, Sequence[str | None]], None], most: int = VECTORS) -> None:
    """`body(first column, masks of the vectors)` along a run, `most` vectors at a time."""
    step = width * most
    full = count // step * step

    def turn(j: str, /, *values: str) -> None:
        body(j, [None] * most)

    f.loop("0", str(full), step, turn, hint="j")
    whole, rest = divmod(count - full, width)
    masks: list[str | None] = [None] * whole
    if rest:
        masks.append(ones(width, rest))
    if masks:
        body(str(full), masks)


def _cleared(f: Function, host: Host, product: Product, y: str, count: int) -> None:
    """Sums begin with 0."""
    width, total = product.cut.width, product.total
    assert product.partial is not None, "planned"
    step = product.partial.strides[-2]

    def body(j: str, masks: Sequence[str | None]) -> None:
        for q, mask in enumerate(masks):
            lanes = Lanes(f, host, width, mask)
            for r in range(product.rows):
                lanes.store(total, lanes.constant(total, 0), y, f.add(j, str(q * width + r * step)), 1)

    _vectors(f, width, count, body)


def _finished(f: Function, host: Host, product: Product, y: str, batch: list[str], column: str, count: int) -> None:
    """Hand the sums of a run to the epilogue."""
    width, total = product.cut.width, product.total
    hand = _handing(f, product, finish_of(f, product), batch)
    assert product.partial is not None, "planned"
    step = product.partial.strides[-2]

    def body(j: str, masks: Sequence[str | None]) -> None:
        for q, mask in enumerate(masks):
            lanes = Lanes(f, host, width, mask)
            for r in range(product.rows):
                value = lanes.load(total, y, f.add(j, str(q * width + r * step)), 1)
                hand(lanes, r, f.add(column, f.add(j, str(q * width))), value)

    _vectors(f, width, count, body)


def _handing(f: Function, product: Product, finish: Finish, batch: list[str]) -> Callable[[Lanes, int, str, str], None]:
    """What hands the sums of a row from a column on to an epilogue."""

    def hand(lanes: Lanes, row: int, column: str, value: str) -> None:
        at, along = [str(row), column], len(batch) + 1
        if product.swapped:
            at, along = at[::-1], len(batch)
        finish(lanes, [*batch, *at], along, value)

    return hand


def _rows(module: Module, host: Host, product: Product, steps: int, count: int) -> str:
    """The function that adds what some rows of the right operand give to the sums of a run."""
    parameters = [("ptr", "a"), ("ptr", "b"), ("ptr", "y")]
    if product.prologue is not None:
        parameters += [("ptr", "args"), ("i64", "step"), ("i64", "column")]
    f = module.function(module.unique(f"stream.{steps}x{count}"), "void", parameters)
    f.notes.append(f"{product.name}: {steps} rows of {count} columns")
    lhs, rhs, total, width = product.lhs, product.rhs, product.total, product.cut.width
    assert product.partial is not None, "planned"
    apart = product.partial.strides[-2]
    lanes = Lanes(f, host, width, hint="a")
    corner = corner_of(f, product, ["0"] * len(product.batch), "%step", "%column")
    one = [
        [
            cast(lanes, lanes.load(lhs.dtype, "%a", str(r * lhs.strides[-2] + u * lhs.strides[-1]), 0), lhs.dtype, total)
            for u in range(steps)
        ]
        for r in range(product.rows)
    ]

    ahead = _ahead(host, product, steps, count)

    def body(j: str, masks: Sequence[str | None]) -> None:
        for line in range(0, len(masks) * width * steps * rhs.dtype.size if ahead else 0, LINE):
            at = f.add(f.mul(j, steps), str(ahead + line // rhs.dtype.size))
            prefetch(f, f.address(stored(rhs.dtype), "%b", at), level=2)
        for q, mask in enumerate(masks):
            mine = Lanes(f, host, width, mask, "b")
            at = f.add(j, str(q * width))
            sums = [mine.load(total, "%y", f.add(at, str(r * apart)), 1) for r in range(product.rows)]
            for u in range(steps):
                x = mine.load(rhs.dtype, "%b", f.add(at, str(u * rhs.strides[-2])), 1)
                x = corner.number(mine, total, x, str(u), at)
                sums = [multiply_add(mine, total, one[r][u], x, s) for r, s in enumerate(sums)]
            for r, s in enumerate(sums):
                mine.store(total, s, "%y", f.add(at, str(r * apart)), 1)

    _vectors(f, width, count, body, MOST if steps == 1 else VECTORS)
    f.ret()
    return f.name


def _ahead(host: Host, product: Product, steps: int, count: int) -> int:
    """
    How many elements ahead memory is asked for, in the order in which it lies; 0 for nothing.

    Rows of narrow numbers that are read side by side are so short that machines do not see where they go on; as a stretch of
    memory they are read evenly. What is asked for waits in the second cache.
    """
    rhs, size = product.rhs, steps * count * product.rhs.dtype.size
    in_order = count == product.columns == rhs.strides[-2]
    if steps == 1 or not in_order or rhs.dtype.size >= product.total.size or size > host.l2_bytes // 4:
        return 0
    return steps * count * -(-AHEAD // size)


def emit_sums(f: Function, host: Host, product: Product) -> int:
    """The body of the kernel that adds up the sums of bands; units of work are runs of columns. How many there are."""
    view, width, total, columns = product.partial, product.cut.width, product.total, product.columns
    assert view is not None, "planned"
    partial = argument(f, 0, "partial")
    runs, vectors = -(-columns // UNIT), max(1, TURN // (width * total.size))
    finish = product.epilogue.begin(f, [argument(f, 1 + i, view_name(v)) for i, v in enumerate(product.epilogue.views)])
    code = "fadd" if total.kind is Kind.FLOAT else "add"

    def row(batch: list[str], r: int, column: str, count: int) -> None:
        base = f.address(register(total), partial, index_of(f, view, [*batch, "0", str(r), column]))
        hand = _handing(f, product, finish, batch)

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

        _vectors(f, width, count, body, vectors)

    def unit(u: str, /, *values: str) -> None:
        *batch, v = unflattened(f, u, [*product.batch, runs])
        column = f.mul(v, UNIT)

        def every(count: int) -> None:
            for r in range(product.rows):
                row(batch, r, column, count)

        by_part(f, columns, UNIT, v, every)

    f.loop("%begin", "%end", 1, unit, hint="unit")
    return prod(product.batch) * runs
