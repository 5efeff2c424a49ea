"""
Few rows against an operand that is read once, in the order in which it lies: some of its rows at a time, added to sums in cache.

Sums stay in cache while the rows of the right operand pass by. These are cut into bands, each with sums of its own, so that
every thread reads memory as it lies; another kernel adds up the sums of the bands, in their order. Where there are too few rows
for that, runs of columns are units of work. A matrix-vector product is as fast as memory is read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from ..casts import cast
from ..ir import Function, LlvmModule
from ..kernel_text import index_of, multiply_add, prefetch, unflattened
from ..lanes import Lanes, register, stored
from ..target_info import LINE, TargetInfo
from .arguments import addresses_of
from .pack import by_part
from .product import EmittedProduct
from .sums import VECTORS, Sums, vectors
from .weights import corner_of

RUNS, SHORTEST = 8, 192
"""Number of runs that columns are cut into where rows are not, and the least columns of each."""
MOST = 8
"""Vectors in one iteration, of a long row."""
AHEAD = 12 << 10
"""So many bytes ahead memory is asked for."""


def emit_stream(f: Function, host: TargetInfo, product: EmittedProduct) -> int:
    """The body of the kernel; units of work are bands of rows, or runs of columns. How many there are."""
    columns, bands, length = product.columns, product.cut.bands, _run(host, product)
    runs, stream = -(-columns // length), _Stream(f, host, product)

    def unit(u: str) -> None:
        *batch, band, v = unflattened(f, u, [*product.batch, bands, runs])
        column = f.mul(v, length)
        by_part(f, columns, length, v, lambda count: stream.run(batch, band, column, count))

    for u in f.each("%begin", "%end", hint="unit"):
        unit(u)
    return prod(product.batch) * bands * runs


class _Stream:
    """Emitter of a unit of work."""

    def __init__(self, f: Function, host: TargetInfo, product: EmittedProduct):
        assert product.partial is not None, "planned"
        self.f, self.host, self.product, self.partial = f, host, product, product.partial
        self.bases = addresses_of(f, product, "lhs", "rhs", "partial")
        self.names: dict[tuple[int, int], str] = {}
        self.room, width = "", product.cut.width
        if _reads_whole_lines(host, product):
            self.apart = (-(-product.columns // width) + 1) * width
            self.room = f.op(f"alloca [{product.rows * self.apart} x {register(product.total)}], align {LINE}", "sums")

    def run(self, batch: list[str], band: str, column: str, count: int) -> None:
        """The sums of a run of columns over the rows of a band."""
        f, product, rhs, apart = self.f, self.product, self.product.rhs, self.partial.strides[-2]
        b = f.address(stored(rhs.dtype), self.bases["rhs"], index_of(f, rhs, [*batch, "0", column]))
        at = [*batch, *([band] if product.cut.bands > 1 else []), "0", column]
        y = f.address(register(product.total), self.bases["partial"], index_of(f, self.partial, at))
        if self.room:
            self.lines(batch, band, b, y, apart)
            return
        sums = Sums(f, self.host, product, y, apart, count)
        sums.clear()

        def some(k: str, steps: int) -> None:
            if (steps, count) not in self.names:
                self.names[steps, count] = _rows(f.module, self.host, product, steps, count)
            place = f"ptr {self.numbers(batch, k)}, ptr {self.row(b, k)}, ptr {y}"
            if product.prologue is not None:
                place += f", ptr %args, i64 {k}, i64 {column}"
            f.do(f"call void @{self.names[steps, count]}({place})")

        self.over(band, some)
        if product.cut.bands == 1 and not (product.epilogue.plain and self.partial == product.out):
            sums.finish(batch, column)

    def lines(self, batch: list[str], band: str, b: str, y: str, apart: int) -> None:
        """The sums over the rows of a band, first as far from the beginning of a line as the rows are."""
        f, product, dtype = self.f, self.product, self.product.rhs.dtype
        name = _line(f.module, self.host, product, self.apart)
        Sums(f, self.host, product, self.room, self.apart, self.apart).clear()
        place = f.op(f"ptrtoint ptr {b} to i64", "place")
        odd = f.op(f"and i64 {place}, {product.cut.width * dtype.size - 1}", "odd")
        shift = f.op(f"udiv i64 {odd}, {dtype.size}", "shift")
        first = f.address("i8", b, f.op(f"sub i64 0, {odd}", "back"))

        def one(k: str, steps: int) -> None:
            place = f"ptr {self.numbers(batch, k)}, ptr {self.row(first, k)}, ptr {self.room}, i64 {shift}"
            f.do(f"call void @{name}({place})")

        self.over(band, one)
        found = f.address(register(product.total), self.room, shift)
        Sums(f, self.host, product, found, self.apart, product.columns).copy(y, apart)

    def over(self, band: str, some: Callable[[str, int], None]) -> None:
        """`some(first row, how many)` over the rows of a band."""
        f, product, (steps, bands) = self.f, self.product, (self.product.cut.stream, self.product.cut.bands)
        whole, rest, first = str(product.depth // steps * steps), product.depth % steps, f.mul(band, product.band)
        end = f.least(f.add(first, str(product.band)), whole) if bands > 1 else whole
        for k in f.each(first if bands > 1 else "0", end, steps, hint="k"):
            some(k, steps)
        if rest and bands == 1:
            some(whole, rest)
        elif rest:
            f.when(f.op(f"icmp eq i64 {band}, {bands - 1}", "last"), lambda: some(whole, rest))

    def numbers(self, batch: list[str], k: str) -> str:
        """The address of the numbers of the left operand that rows from one on are multiplied with."""
        lhs = self.product.lhs
        return self.f.address(stored(lhs.dtype), self.bases["lhs"], index_of(self.f, lhs, [*batch, "0", k]))

    def row(self, b: str, k: str) -> str:
        """The address of a row of the right operand."""
        rhs = self.product.rhs
        return self.f.address(stored(rhs.dtype), b, self.f.mul(k, rhs.strides[-2]))


def _run(host: TargetInfo, product: EmittedProduct) -> int:
    """Return the number of columns of a unit of work: all, if there are other units and the second cache holds their sums."""
    columns, cut = product.columns, product.cut
    most = max(SHORTEST, host.l2_bytes // 4 // (product.rows * product.total.size) // 64 * 64)
    runs = max(-(-columns // most), RUNS if cut.bands == 1 else 1)
    return min(columns, max(SHORTEST, -(-columns // runs // 64) * 64))


def _reads_whole_lines(host: TargetInfo, product: EmittedProduct) -> bool:
    """
    Return whether rows are read by whole lines of memory: where each vector lies in two lines, half as much again is read.

    Arrays of NumPy begin somewhere in a line, and all rows of such a matrix at the same place. Sums are so far into a line too.
    """
    cut, rhs = product.cut, product.rhs
    masked = rhs.dtype.size >= 4 or host.vector_bytes == LINE
    return cut.stream == 1 and cut.bands > 1 and host.vector_bytes > 16 and masked and rhs.strides[-2] % cut.width == 0


def _rows(module: LlvmModule, host: TargetInfo, product: EmittedProduct, steps: int, count: int) -> str:
    """The function that adds what some rows of the right operand give to the sums of a run."""
    parameters = [("ptr", "a"), ("ptr", "b"), ("ptr", "y")]
    if product.prologue is not None:
        parameters += [("ptr", "args"), ("i64", "step"), ("i64", "column")]
    f = module.function(module.unique(f"stream.{steps}x{count}"), "void", parameters)
    f.notes.append(f"{product.name}: {steps} rows of {count} columns")
    lhs, rhs, total, width = product.lhs, product.rhs, product.total, product.cut.width
    assert product.partial is not None, "planned"
    apart, lanes = product.partial.strides[-2], Lanes(f, host, width, hint="a")
    corner = corner_of(f, product, ["0"] * len(product.batch), "%step", "%column")
    one = [
        [
            cast(lanes, lanes.load(lhs.dtype, "%a", str(r * lhs.strides[-2] + u * lhs.strides[-1]), 0), lhs.dtype, total)
            for u in range(steps)
        ]
        for r in range(product.rows)
    ]

    ahead = _prefetch_distance(host, product, steps, count)

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

    vectors(f, width, count, body, 2 * VECTORS if steps == 1 else VECTORS)
    f.ret()
    return f.name


def _line(module: LlvmModule, host: TargetInfo, product: EmittedProduct, apart: int) -> str:
    """
    The function that adds what a row of the right operand gives to sums that are `apart`, by whole lines of memory.

    `b` and `y` begin where vectors do; the row and its sums begin `shift` elements further.
    """
    count = product.columns
    f = module.function(module.unique(f"stream.{count}"), "void", [("ptr", "a"), ("ptr", "b"), ("ptr", "y"), ("i64", "shift")])
    f.notes.append(f"{product.name}: a row of {count} columns, by lines of memory")
    lhs, rhs, total, width = product.lhs, product.rhs, product.total, product.cut.width
    lanes = Lanes(f, host, width, hint="a")
    one = [cast(lanes, lanes.load(lhs.dtype, "%a", str(r * lhs.strides[-2]), 0), lhs.dtype, total) for r in range(product.rows)]

    def add(index: str, mask: str | None) -> None:
        mine = Lanes(f, host, width, hint="y")
        x = cast(mine, Lanes(f, host, width, mask, "b").load(rhs.dtype, "%b", index, 1), rhs.dtype, total)
        for r, number in enumerate(one):
            at = f.add(index, str(r * apart))
            mine.store(total, multiply_add(mine, total, number, x, mine.load(total, "%y", at, 1)), "%y", at, 1)

    def some(j: str, masks: Sequence[str | None]) -> None:
        for q, mask in enumerate(masks, 1):
            add(f.add(j, str(q * width)), mask)

    shift, places = lanes.splat("i64", "%shift"), lanes.count("0")
    add("0", lanes.compare("icmp sge", "i64", places, shift))
    vectors(f, width, (count // width - 1) * width, some, MOST)
    for first in range(count // width * width, count + width, width):
        ends = lanes.binary("add", "i64", shift, lanes.number("i64", count - first))
        add(str(first), lanes.compare("icmp slt", "i64", places, ends))
    f.ret()
    return f.name


def _prefetch_distance(host: TargetInfo, product: EmittedProduct, steps: int, count: int) -> int:
    """
    Return the number of elements to prefetch ahead, in the order in which memory lies; 0 for no prefetch.

    Rows of narrow numbers that are read side by side are so short that machines do not see where they go on; as a stretch of
    memory they are read evenly. What is asked for waits in the second cache.
    """
    rhs, size = product.rhs, steps * count * product.rhs.dtype.size
    in_order = count == product.columns == rhs.strides[-2]
    if steps == 1 or not in_order or rhs.dtype.size >= product.total.size or size > host.l2_bytes // 4:
        return 0
    return steps * count * -(-AHEAD // size)
