"""
Operands of a product copied into the order in which tiles read them, in the dtype that is accumulated in.

The right operand becomes panels, each `[depth, columns of a panel]`, filled up with zeros. The left one keeps its order, its
rows so far apart that they do not fight for places in cache.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import prod

from ..casts import cast
from ..ir import Function, vector
from ..kernel_text import argument, divided, index_of, unflattened
from ..lanes import Lanes, ones, register, stored
from ..target_info import TargetInfo
from ..transposes import copy_squares, transposed
from .pack_words import pack_left, pack_right
from .product import EmittedProduct, copied_size, copied_strides, distinct_axes, whole_panel_size
from .weights import Corner, corner
from .word_code import column_offsets, load_words
from .words import TILE_ROWS

LINES = 1 << 13
"""So many elements of the left operand, about, are copied in one unit of work."""


def emit_panels(f: Function, host: TargetInfo, product: EmittedProduct) -> int:
    """All panels of the right operand; a unit of work is a group of them. How many there are."""
    view, cut = product.right, product.cut
    source, target = argument(f, 0, "rhs"), argument(f, 1, "panels")
    extents, size = distinct_axes(view), whole_panel_size(product)

    def unit(u: str) -> None:
        *batch, group = unflattened(f, u, [*extents, product.groups])
        start = index_of(f, view, [*batch, "0", f.mul(group, cut.group * cut.columns)])
        from_ = f.address(stored(view.dtype), source, start)
        matrix = f.op(f"udiv i64 {u}, {product.groups}", "matrix") if prod(extents) > 1 else "0"
        panel = f.add(f.mul(matrix, product.panels), f.mul(group, cut.group))
        to = f.address(register(product.packed), target, f.add(f.mul(panel, size), str(product.heads * cut.columns)))
        at = corner(f, product, 2, batch, "0", f.mul(group, cut.group * cut.columns))

        def copy(columns: int) -> None:
            copy_panels(f, host, product, at, from_, to, columns, str(product.depth), size // cut.columns)

        by_group(f, product, group, copy)

    for u in f.each("%begin", "%end", hint="group"):
        unit(u)
    return prod(extents) * product.groups


def by_group(f: Function, product: EmittedProduct, group: str, then: Callable[[int], None]) -> None:
    """`then(columns)` of the group of panels of a number, of which the last may have fewer."""
    by_part(f, product.columns, product.cut.group * product.cut.columns, group, then)


def by_panel(f: Function, product: EmittedProduct, panel: str, then: Callable[[int], None]) -> None:
    """`then(columns)` of the panel of a number, of which the last may have fewer."""
    by_part(f, product.columns, product.cut.columns, panel, then)


def by_part(f: Function, count: int, size: int, number: str, then: Callable[[int], None]) -> None:
    """`then(size)` of the part of a number, of so many elements cut into parts of a size, of which the last may be shorter."""
    full, rest = divmod(count, size)
    if not rest or not full:
        then(rest or size)
        return
    f.when(f.op(f"icmp slt i64 {number}, {full}", "whole"), lambda: then(size))
    f.when(f.op(f"icmp eq i64 {number}, {full}", "last"), lambda: then(rest))


def copy_panels(
    f: Function,
    host: TargetInfo,
    product: EmittedProduct,
    at: Corner,
    source: str,
    target: str,
    columns: int,
    depth: str,
    apart: int,
) -> None:
    """
    Copy a block of some panels, from `at` on: `depth` steps of `columns` columns, filled up with zeros.

    Panels are `apart` steps long. What the offset of the left operand adds to the sums of their columns is stored before them.
    """
    if product.cut.words is not None and product.cut.words.in_tiles:
        pack_right(f, host, product, (source, target), columns, (at.step, depth), apart)
        return
    _copy_panels(f, host, product, at, (source, target), columns, depth, apart)
    if product.heads:
        _copy_offsets(f, host, product, target, columns, depth, apart)


def _copy_offsets(
    f: Function, host: TargetInfo, product: EmittedProduct, target: str, columns: int, depth: str, apart: int
) -> None:
    """Store what the offset of the left operand adds to the sums of packed columns, a step before their first words."""
    width, wide, words = product.cut.width, product.cut.columns, product.cut.words
    assert words is not None, "planned"
    lanes, total = Lanes(f, host, width, None, "b"), product.total
    vectors = wide // width

    def vector_of(number: str) -> None:
        panel, inside = divided(f, number, vectors)
        first = f.add(f.mul(panel, wide * apart), f.mul(inside, width))
        strip = f.address(register(total), target, first)

        def step(k: str, /, *values: str) -> list[str]:
            return [column_offsets(lanes, words, lanes.load(total, strip, f.mul(k, wide), 1), values[0])]

        (sums,) = f.loop("0", depth, 1, step, [(lanes.type(total), lanes.constant(total, 0))], "k")
        lanes.store(total, sums, strip, str(-wide), 1)

    for number in f.each("0", str(-(-columns // width)), hint="strip"):
        vector_of(number)


def _copy_panels(
    f: Function,
    host: TargetInfo,
    product: EmittedProduct,
    at: Corner,
    ends: tuple[str, str],
    columns: int,
    depth: str,
    apart: int,
) -> None:
    """Copy the steps of a block of some panels, whose first elements are at `ends`."""
    source, target = ends
    view, width, wide = product.rhs, product.cut.width, product.cut.columns
    if view.strides[-2] == 1 and view.strides[-1] != 1 and width > 1:
        full, rest = divmod(columns, width)
        for number in f.each("0", str(full), hint="strip"):
            copy_strip(f, host, product, at, ends, (number, width), depth, apart)
        if rest:
            copy_strip(f, host, product, at, ends, (str(full), rest), depth, apart)
        return
    for k in f.each("0", depth, hint="k"):
        from_ = f.address(stored(view.dtype), source, f.mul(k, product.right.strides[-2]))
        to = f.address(register(product.total), target, f.mul(k, wide))
        for first in range(0, columns, width):
            short = columns - first < width
            lanes = Lanes(f, host, width, ones(width, columns - first) if short else None, "b")
            x = at.read(lanes, product.total, from_, (f.mul(str(first), view.strides[-1]), k, str(first)))
            panel, inside = divmod(first, wide)
            Lanes(f, host, width).store(product.total, x, to, str(panel * wide * apart + inside), 1)


def copy_strip(
    f: Function,
    host: TargetInfo,
    product: EmittedProduct,
    at: Corner,
    ends: tuple[str, str],
    strip: tuple[str, int],
    depth: str,
    apart: int,
) -> None:
    """
    Copy the strip of a number, one vector of columns, which lie along memory, to where they lie across it.

    Squares are transposed in registers. `ends` are the addresses of the first panels, `strip` the number and its columns.
    """
    (source, target), (number, count) = ends, strip
    view, width, total, wide = product.rhs, product.cut.width, product.total, product.cut.columns
    zero, vectors = Lanes(f, host, width).constant(total, 0), wide // width
    panel, inside = divided(f, number, vectors)
    to_strip = f.address(register(total), target, f.add(f.mul(panel, wide * apart), f.mul(inside, width)))
    from_strip = f.address(stored(view.dtype), source, f.mul(number, width * view.strides[-1]))
    at = replace(at, column=f.add(at.column, f.mul(number, width)))

    def square(k: str, mask: str | None, steps: int) -> None:
        from_ = f.address(stored(view.dtype), from_strip, f.mul(k, product.right.strides[-2]))
        to = f.address(register(total), to_strip, f.mul(k, wide))
        lanes, rows = Lanes(f, host, width, mask, "b"), list[str]()
        for j in range(count):
            rows.append(at.read(lanes, total, from_, (str(j * view.strides[-1]), k, str(j)), along_step=True))
        rows += [zero] * (width - count)
        for u, column in enumerate(transposed(lanes, register(total), rows)[:steps]):
            Lanes(f, host, width).store(total, column, to, str(u * wide), 1)

    def squares(end: str) -> None:
        if at.decode is at.words is None and view.dtype is total and count == width and stored(total) == register(total):
            copy_squares(f, host, total, width, (from_strip, to_strip), (view.strides[-1], wide), end)
        else:
            for k in f.each("0", end, width, hint="k"):
                square(k, None, width)

    if depth.isdigit():
        full, rest = divmod(int(depth), width)
        squares(str(full * width))
        if rest:
            square(str(full * width), ones(width, rest), rest)
        return
    # Blocks are whole squares but for the last one, whose rest is known.
    full = f.op(f"and i64 {depth}, {-width}", "full")
    squares(full)
    if rest := product.depth % product.cut.depth % width:
        short = f.op(f"icmp slt i64 {full}, {depth}", "short")
        f.when(short, lambda: square(full, ones(width, rest), rest))


# The left operand


def emit_rows(f: Function, host: TargetInfo, product: EmittedProduct) -> int:
    """A whole copy of the left operand; a unit of work is some lines of one of its matrices. How many there are."""
    view = product.left
    source, target = argument(f, 0, "lhs"), argument(f, 1, "rows")
    extents, size = distinct_axes(view), copied_size(product)
    to_row, to_step = copied_strides(product)
    by_row = to_step == 1
    count, length = (product.rows, product.depth) if by_row else (product.depth, product.rows)
    run = max(1, LINES // length)
    if product.cut.words is not None and product.cut.words.in_tiles:
        run = -(-run // TILE_ROWS) * TILE_ROWS
    pieces = -(-count // run)
    for u in f.each("%begin", "%end", hint="lines"):
        *batch, piece = unflattened(f, u, [*extents, pieces])
        first = f.mul(piece, run)
        some = f.least(f.op(f"sub i64 {count}, {first}", "left"), str(run)) if pieces > 1 else str(count)
        start = index_of(f, view, [*batch, *((first, "0") if by_row else ("0", first))])
        from_ = f.address(stored(view.dtype), source, start)
        matrix = f.op(f"udiv i64 {u}, {pieces}", "matrix") if pieces > 1 else u
        place = f.add(f.mul(matrix, size), f.mul(first, to_row if by_row else to_step))
        rows, depth = (some, str(length)) if by_row else (str(length), some)
        to = f.address(register(product.packed), target, place)
        copy_rows(f, host, product, (from_, to), rows, ("0" if by_row else first, depth))
    return prod(extents) * pieces


def copy_rows(
    f: Function, host: TargetInfo, product: EmittedProduct, ends: tuple[str, str], rows: str, block: tuple[str, str]
) -> None:
    """Copy some rows of the left operand; `ends` are the addresses of the first, `block` the first step and how many."""
    if product.cut.words is not None and product.cut.words.in_tiles:
        pack_left(f, host, product, ends, rows, block)
        return
    (source, target), (_, depth) = ends, block
    view, width, words = product.left, product.cut.width, product.cut.words
    to_row, to_step = copied_strides(product)
    outer, inner = (rows, depth) if to_step == 1 else (depth, rows)
    strides = view.strides[-2:] if to_step == 1 else view.strides[-2:][::-1]
    apart = to_row if to_step == 1 else to_step

    def line(i: str) -> None:
        from_ = f.address(stored(view.dtype), source, f.mul(i, strides[0]))
        to = f.address(register(product.total), target, f.mul(i, apart))

        def some(lanes: Lanes, j: str) -> None:
            index = f.mul(j, strides[1])
            if words is None:
                x = cast(lanes, lanes.load(view.dtype, from_, index, strides[1]), view.dtype, product.total)
            else:
                x = load_words(lanes, words, product.lhs, -1, from_, index, strides[1])
            lanes.store(product.total, x, to, j, 1)

        full = str(int(inner) // width * width) if inner.isdigit() else f.op(f"and i64 {inner}, {-width}", "full")
        for j in f.each("0", full, width, hint="j"):
            some(Lanes(f, host, width, None, "a"), j)
        if inner.isdigit():
            if rest := int(inner) % width:
                some(Lanes(f, host, width, ones(width, rest) if width > 1 else None, "a"), full)
            return

        def short() -> None:
            some(Lanes(f, host, width, active(f, width, full, inner), "a"), full)

        f.when(f.op(f"icmp slt i64 {full}, {inner}", "short"), short)

    for i in f.each("0", outer):
        line(i)


def active(f: Function, width: int, first: str, end: str) -> str | None:
    """The lanes from `first` on that are before `end`."""
    if width == 1:
        return None
    of = vector("i1", width)
    return f.call(f"llvm.get.active.lane.mask.v{width}i1.i64", of, ("i64", first), ("i64", end), hint="active")
