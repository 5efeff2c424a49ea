"""
Few rows against an operand that is read once, in the order in which it lies: some of its rows at a time, added to sums in cache.

The sums of a run of columns stay in the first cache while the rows of the right operand pass by. A matrix-vector product is as
fast as memory is read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from ..casts import cast
from ..host import Host
from ..ir import Function, Module
from ..lanes import Lanes, ones, register, stored
from .arguments import addresses_of, corner_of, finish_of
from .product import Product, index_of, multiply_add, unflattened

RUNS, SHORTEST, LONGEST = 8, 192, 8192
"""Into how many runs columns are cut, and how many columns these have: long runs are read faster, many are shared out better."""
VECTORS = 2
"""In one turn."""


def emit_stream(f: Function, host: Host, product: Product) -> int:
    """The body of the kernel; units of work are runs of columns. How many there are."""
    columns, depth, group = product.columns, product.depth, product.cut.stream
    length = min(max(SHORTEST, -(-columns // RUNS // 64) * 64), LONGEST)
    runs = -(-columns // length)
    lhs, rhs, partial = product.lhs, product.rhs, product.partial
    assert partial is not None, "planned"
    bases = addresses_of(f, product, "lhs", "rhs", "partial")
    names: dict[tuple[int, int], str] = {}
    own = not (product.epilogue.plain and partial == product.out)

    def function(steps: int, count: int) -> str:
        if (steps, count) not in names:
            names[steps, count] = _rows(f.module, host, product, steps, count)
        return names[steps, count]

    def run(batch: list[str], column: str, count: int) -> None:
        a = f.address(stored(lhs.dtype), bases["lhs"], index_of(f, lhs, [*batch, "0", "0"]))
        b = f.address(stored(rhs.dtype), bases["rhs"], index_of(f, rhs, [*batch, "0", column]))
        y = f.address(register(product.total), bases["partial"], index_of(f, partial, [*batch, "0", column]))
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

        f.loop("0", str(depth // group * group), group, turn, hint="k")
        if rest := depth % group:
            some(str(depth - rest), rest)
        if own:
            _finished(f, host, product, y, batch, column, count)

    def unit(u: str, /, *values: str) -> None:
        *batch, v = unflattened(f, u, [*product.batch, runs]) if product.batch or runs > 1 else ["0"]
        column = f.mul(v, length)
        full, rest = divmod(columns, length)
        if not full or not rest:
            run(batch, column, rest or length)
            return
        f.when(f.op(f"icmp slt i64 {v}, {full}", "whole"), lambda: run(batch, column, length))
        f.when(f.op(f"icmp eq i64 {v}, {full}", "last"), lambda: run(batch, column, rest))

    f.loop("%begin", "%end", 1, unit, hint="unit")
    return prod(product.batch) * runs


def _vectors(f: Function, width: int, count: int, body: Callable[[str, Sequence[str | None]], None]) -> None:
    """`body(first column, masks of the vectors)` along a run."""
    step = width * VECTORS
    full = count // step * step

    def turn(j: str, /, *values: str) -> None:
        body(j, [None] * VECTORS)

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
    width, total, hand = product.cut.width, product.total, finish_of(f, product)
    assert product.partial is not None, "planned"
    step = product.partial.strides[-2]

    def body(j: str, masks: Sequence[str | None]) -> None:
        for q, mask in enumerate(masks):
            lanes = Lanes(f, host, width, mask)
            for r in range(product.rows):
                at, along = [str(r), f.add(column, f.add(j, str(q * width)))], len(batch) + 1
                if product.swapped:
                    at, along = at[::-1], len(batch)
                value = lanes.load(total, y, f.add(j, str(q * width + r * step)), 1)
                hand(lanes, [*batch, *at], along, value)

    _vectors(f, width, count, body)


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

    def body(j: str, masks: Sequence[str | None]) -> None:
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

    _vectors(f, width, count, body)
    f.ret()
    return f.name
