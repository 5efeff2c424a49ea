"""
Few rows against many: where both operands lie along the contracted axis, sums run in lanes, some rows of the right one at once.

The vectors of partial sums are folded together by a fixed tree into one vector of results, neighbouring rows side by side.
"""

from __future__ import annotations

from math import prod

from ..casts import cast
from ..host import Host
from ..ir import Function, Module
from ..lanes import Lanes, ones, register, stored
from .arguments import addresses_of, corner_of, finish_of
from .cut import LINE
from .product import Product, index_of, multiply_add, prefetch, unflattened

UNIT_BYTES = 1 << 18
"""What a unit of work reads, about."""
UNROLL = 2
PAGE = 4096
"""Where machines stop bringing lines by themselves."""


def emit_dots(f: Function, host: Host, product: Product) -> int:
    """The body of the kernel of a product of few rows; units of work are runs of columns. How many there are."""
    dots, columns = product.cut.dots, product.columns
    run = max(1, UNIT_BYTES // (product.depth * product.rhs.dtype.size * dots)) * dots
    runs = -(-columns // run)
    names = {n: _dots(f.module, host, product, n) for n in dict.fromkeys((dots, columns % dots)) if n and n <= columns}

    def unit(u: str, /, *values: str) -> None:
        flat = "0" if not product.batch else u if runs == 1 else f.op(f"udiv i64 {u}, {runs}", "batch")
        v = "0" if runs == 1 else f.op(f"urem i64 {u}, {runs}", "run")
        first = f.mul(v, run)
        end = f.least(f.add(first, str(run)), str(columns // dots * dots))

        def turn(j: str, /, *values: str) -> None:
            f.do(f"call void @{names[dots]}(ptr %args, i64 {flat}, i64 {j})")

        if dots in names:
            f.loop(first, end, dots, turn, hint="j")
        if rest := columns % dots:
            last = f.op(f"icmp eq i64 {v}, {runs - 1}", "last")
            f.when(last, lambda: f.do(f"call void @{names[rest]}(ptr %args, i64 {flat}, i64 {columns - rest})"))

    f.loop("%begin", "%end", 1, unit, hint="unit")
    return prod(product.batch) * runs


def _dots(module: Module, host: Host, product: Product, count: int) -> str:
    """The function of all rows against `count` columns from `%column` on."""
    f = module.function(
        module.unique(f"dots.{product.rows}x{count}"), "void", [("ptr", "args"), ("i64", "batch"), ("i64", "column")]
    )
    f.notes.append(f"{product.name}: {product.rows} by {count} dot products")
    rows, total, width = product.rows, product.total, product.cut.width
    batch = unflattened(f, "%batch", product.batch)
    bases = addresses_of(f, product, "lhs", "rhs")
    a = f.address(stored(product.lhs.dtype), bases["lhs"], index_of(f, product.lhs, [*batch, "0", "0"]))
    b = f.address(stored(product.rhs.dtype), bases["rhs"], index_of(f, product.rhs, [*batch, "0", "%column"]))
    corner = corner_of(f, product, batch, "0", "%column")

    def step(k: str, values: tuple[str, ...] | list[str], mask: str | None, at: int = 0) -> list[str]:
        state, lanes = list(values), Lanes(f, host, width, mask, "a")
        k = f.add(k, str(at))
        left = [_left(lanes, product, a, f.add(k, str(r * product.lhs.strides[-2]))) for r in range(rows)]
        lanes.hint = "b"
        for j in range(count):
            right = lanes.load(product.rhs.dtype, b, f.add(k, str(j * product.rhs.strides[-1])), 1)
            right = corner.number(lanes, total, right, k, str(j), along_step=True)
            for r in range(rows):
                state[r * count + j] = multiply_add(lanes, total, left[r], right, state[r * count + j])
        return state

    def turn(k: str, /, *values: str) -> list[str]:
        found = list(values)
        if far:
            _ask(f, product, b, k, count)
        for u in range(UNROLL):
            found = step(k, found, None, u * width)
        return found

    row = product.depth * product.rhs.dtype.size
    far = row <= PAGE and product.columns * row > host.l2_bytes and product.rhs.strides[-1] == product.depth
    lanes = Lanes(f, host, width)
    zero, type = lanes.constant(total, 0), lanes.type(total)
    full, rest = product.depth // width * width, product.depth % width
    pairs = full // (width * UNROLL) * (width * UNROLL)
    state = f.loop("0", str(pairs), width * UNROLL, turn, [(type, zero)] * (rows * count), "k")
    if full > pairs:
        state = step(str(pairs), state, None)
    if rest:
        state = step(str(full), state, ones(width, rest))
    _results(f, host, product, count, batch, state)
    f.ret()
    return f.name


def _ask(f: Function, product: Product, b: str, k: str, count: int) -> None:
    """
    Have the lines brought of as much of the next rows as one turn reads of these.

    Rows that are read side by side are too short for the machine to see where they go on; together they are one stretch.
    """
    dtype, width = product.rhs.dtype, product.cut.width
    start = f.add(f.mul(k, count), str(count * product.depth))
    for at in range(0, count * width * UNROLL, LINE // dtype.size):
        prefetch(f, f.address(stored(dtype), b, f.add(start, str(at))))


def _left(lanes: Lanes, product: Product, base: str, index: str) -> str:
    return cast(lanes, lanes.load(product.lhs.dtype, base, index, 1), product.lhs.dtype, product.total)


def _results(f: Function, host: Host, product: Product, count: int, batch: list[str], state: list[str]) -> None:
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
