"""
Few rows against many: where both operands lie along the contracted axis, sums run in lanes, some rows of the right one at once.

The vectors of partial sums are folded together by a fixed tree into one vector of results, neighbouring rows side by side. What
comes from memory is read row after row, in the order in which it lies.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ..casts import cast
from ..costs import traffic
from ..ir import Function, LlvmModule
from ..kernel_text import index_of, multiply_add, prefetch, unflattened
from ..lanes import Lanes, ones, register, stored
from ..target_info import LINE, TargetInfo
from .arguments import addresses_of, finish_of
from .product import EmittedProduct
from .weights import corner_of

UNIT_BYTES = 1 << 18
"""Bytes that a unit of work reads, about."""
UNROLL = 2
CHAINS = 4
"""Vectors of partial sums of one row that is read by itself: more than one, as each addition waits for the one before."""
PAGE = 4096
"""Bytes after which machines stop prefetching lines by themselves."""


def emit_dots(f: Function, host: TargetInfo, product: EmittedProduct) -> int:
    """The body of the kernel of a product of few rows; units of work are runs of columns. How many there are."""
    dots, columns = product.cut.dots, product.columns
    run = max(1, UNIT_BYTES // (product.depth * product.rhs.dtype.size * dots)) * dots
    runs = -(-columns // run)
    names = {n: _dots(f.module, host, product, n) for n in dict.fromkeys((dots, columns % dots)) if n and n <= columns}

    def unit(u: str) -> None:
        flat = "0" if not product.batch else u if runs == 1 else f.op(f"udiv i64 {u}, {runs}", "batch")
        v = "0" if runs == 1 else f.op(f"urem i64 {u}, {runs}", "run")
        first = f.mul(v, run)
        end = f.least(f.add(first, str(run)), str(columns // dots * dots))
        if dots in names:
            for j in f.each(first, end, dots, hint="j"):
                f.do(f"call void @{names[dots]}(ptr %args, i64 {flat}, i64 {j})")
        if rest := columns % dots:
            last = f.op(f"icmp eq i64 {v}, {runs - 1}", "last")
            f.when(last, lambda: f.do(f"call void @{names[rest]}(ptr %args, i64 {flat}, i64 {columns - rest})"))

    for u in f.each("%begin", "%end", hint="unit"):
        unit(u)
    return prod(product.batch) * runs


def _dots(module: LlvmModule, host: TargetInfo, product: EmittedProduct, count: int) -> str:
    """The function of all rows against `count` columns from `%column` on."""
    parameters = [("ptr", "args"), ("i64", "batch"), ("i64", "column")]
    f = module.function(module.unique(f"dots.{product.rows}x{count}"), "void", parameters)
    f.notes.append(f"{product.name}: {product.rows} by {count} dot products")
    batch = unflattened(f, "%batch", product.batch)
    sums = _PartialSums(f, host, product, count, batch)
    _results(f, host, product, count, batch, sums.one_by_one() if _reads_rows_in_order(host, product) else sums.side_by_side())
    f.ret()
    return f.name


def _reads_rows_in_order(host: TargetInfo, product: EmittedProduct) -> bool:
    """Return whether rows of the right operand are read one after the other: they come from memory, with little to do to them."""
    rhs = product.rhs
    near = traffic((rhs,)) <= host.l2_bytes // 4
    return product.rows <= 2 and rhs.dtype.size > 1 and product.prologue is None and not near


class _PartialSums:
    """Vectors of partial sums: of each row of the left operand with each of `count` rows of the right one."""

    def __init__(self, f: Function, host: TargetInfo, product: EmittedProduct, count: int, batch: list[str]):
        self.f, self.host, self.product, self.count = f, host, product, count
        bases = addresses_of(f, product, "lhs", "rhs")
        self.a = f.address(stored(product.lhs.dtype), bases["lhs"], index_of(f, product.lhs, [*batch, "0", "0"]))
        self.b = f.address(stored(product.rhs.dtype), bases["rhs"], index_of(f, product.rhs, [*batch, "0", "%column"]))
        self.corner = corner_of(f, product, batch, "0", "%column")
        lanes = self.lanes(None, "sum")
        self.zero = lanes.type(product.total), lanes.constant(product.total, 0)
        self.full, self.rest = product.depth // lanes.width * lanes.width, product.depth % lanes.width

    def lanes(self, mask: str | None, hint: str) -> Lanes:
        return Lanes(self.f, self.host, self.product.cut.width, mask, hint)

    def left(self, k: str, mask: str | None) -> list[str]:
        """Of each row of the left operand a vector."""
        f, view, total = self.f, self.product.lhs, self.product.total
        lanes, places = self.lanes(mask, "a"), [f.add(k, str(r * view.strides[-2])) for r in range(self.product.rows)]
        return [cast(lanes, lanes.load(view.dtype, self.a, at, 1), view.dtype, total) for at in places]

    def right(self, k: str, j: int, mask: str | None) -> str:
        """Of a row of the right operand a vector."""
        view, lanes = self.product.rhs, self.lanes(mask, "b")
        x = lanes.load(view.dtype, self.b, self.f.add(k, str(j * view.strides[-1])), 1)
        return self.corner.number(lanes, self.product.total, x, k, str(j), along_step=True)

    def side_by_side(self) -> list[str]:
        """Of all rows at once."""
        f, host, product, count, width = self.f, self.host, self.product, self.count, self.product.cut.width
        row = product.depth * product.rhs.dtype.size
        far = row <= PAGE and product.columns * row > host.l2_bytes and product.rhs.strides[-1] == product.depth

        def step(k: str, sums: Sequence[str], mask: str | None = None) -> list[str]:
            state, left = list(sums), self.left(k, mask)
            for j in range(count):
                x = self.right(k, j, mask)
                for r, y in enumerate(left):
                    at = r * count + j
                    state[at] = multiply_add(self.lanes(mask, "c"), product.total, y, x, state[at])
            return state

        def iteration(k: str, /, *values: str) -> list[str]:
            found: Sequence[str] = values
            if far:
                _ask(f, product, self.b, k, count)
            for u in range(UNROLL):
                found = step(f.add(k, str(u * width)), found)
            return list(found)

        pairs = self.full // (width * UNROLL) * (width * UNROLL)
        state = f.loop("0", str(pairs), width * UNROLL, iteration, [self.zero] * (product.rows * count), "k")
        if self.full > pairs:
            state = step(str(pairs), state)
        return step(str(self.full), state, ones(width, self.rest)) if self.rest else state

    def one_by_one(self) -> list[str]:
        """Of one row of the right operand after the other."""
        found = [self.of_row(j) for j in range(self.count)]
        return [sums[r] for r in range(self.product.rows) for sums in found]

    def of_row(self, j: int) -> list[str]:
        """Of one row of the right operand: some for each row of the left one, folded in pairs."""
        f, total, width, rows = self.f, self.product.total, self.product.cut.width, self.product.rows
        chains, lanes = CHAINS // rows, self.lanes(None, "c")

        def step(k: str, sums: Sequence[str], mask: str | None = None) -> list[str]:
            x = self.right(k, j, mask)
            return [multiply_add(lanes, total, y, x, s) for y, s in zip(self.left(k, mask), sums, strict=True)]

        def iteration(k: str, /, *values: str) -> list[str]:
            found: list[str] = []
            for u in range(chains):
                found += step(f.add(k, str(u * width)), values[u * rows : (u + 1) * rows])
            return found

        end = self.full // (width * chains) * width * chains
        flat = f.loop("0", str(end), width * chains, iteration, [self.zero] * (rows * chains), "k")
        state = [flat[u * rows : (u + 1) * rows] for u in range(chains)]
        for u, k in enumerate(range(end, self.full, width)):
            state[u] = step(str(k), state[u])
        if self.rest:
            state[-1] = step(str(self.full), state[-1], ones(width, self.rest))
        while len(state) > 1:
            pairs = zip(state[::2], state[1::2], strict=True)
            state = [[lanes.binary("fadd", register(total), x, y) for x, y in zip(*pair, strict=True)] for pair in pairs]
        return state[0]


def _ask(f: Function, product: EmittedProduct, b: str, k: str, count: int) -> None:
    """
    Have the lines brought of as much of the next rows as one iteration reads of these.

    Rows that are read side by side are too short for the machine to see where they go on; together they are one stretch.
    """
    dtype, width = product.rhs.dtype, product.cut.width
    start = f.add(f.mul(k, count), str(count * product.depth))
    for at in range(0, count * width * UNROLL, LINE // dtype.size):
        prefetch(f, f.address(stored(dtype), b, f.add(start, str(at))))


def _results(f: Function, host: TargetInfo, product: EmittedProduct, count: int, batch: list[str], state: list[str]) -> None:
    """Fold the partial sums of each row and hand them to the epilogue."""
    width, dots = product.cut.width, product.cut.dots
    hand = finish_of(f, product)
    zero = Lanes(f, host, width).constant(product.total, 0)
    for r in range(product.rows):
        mine = [*state[r * count : (r + 1) * count], *[zero] * (dots - count)]
        value = folded(Lanes(f, host, width, hint="sum"), register(product.total), mine)
        lanes = Lanes(f, host, dots, ones(dots, count) if count < dots else None, "c")
        at, along = [str(r), "%column"], len(batch) + 1
        if product.swapped:
            at, along = at[::-1], len(batch)
        hand(lanes, [*batch, *at], along, value)


def folded(lanes: Lanes, type: str, vectors: list[str]) -> str:
    """One vector of the sums of some vectors, a power of two of them: neighbours folded into one, then halves onto each other."""
    width, many, bit = lanes.width, len(vectors), 1
    while bit < many:
        vectors = [_paired(lanes, type, bit, a, b) for a, b in zip(vectors[::2], vectors[1::2], strict=True)]
        bit *= 2
    found, left = vectors[0], width
    while left > many:
        low, high = (_places(lanes, type, found, left, start) for start in (0, left // 2))
        left //= 2
        found = lanes.op(f"fadd <{left} x {type}> {low}, {high}")
    return found if left > 1 else lanes.op(f"extractelement <1 x {type}> {found}, i64 0")


def _paired(lanes: Lanes, type: str, bit: int, a: str, b: str) -> str:
    """Sums of lanes whose numbers differ in a bit: those of `a` where it is 0, those of `b` where it is 1."""
    of, width = lanes.of(type), lanes.width
    low, high = (", ".join(f"i32 {(i & ~bit | side) + (width if i & bit else 0)}" for i in range(width)) for side in (0, bit))
    x, y = (lanes.op(f"shufflevector {of} {a}, {of} {b}, <{width} x i32> <{places}>") for places in (low, high))
    return lanes.binary("fadd", type, x, y)


def _places(lanes: Lanes, type: str, x: str, width: int, start: int) -> str:
    places = ", ".join(f"i32 {start + i}" for i in range(width // 2))
    return lanes.op(f"shufflevector <{width} x {type}> {x}, <{width} x {type}> poison, <{width // 2} x i32> <{places}>")
