"""
The kernels of a product: loops over units of work, blocks of the contracted axis, panels of columns, tiles of rows.

A unit of work is a block of rows with all columns, or a panel of columns with all rows. What a unit copies for itself goes to the
stack or, if it is much, to a place of its own, by the number of the first unit of the call: calls of disjoint ranges do not meet.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from ..ir import Function
from ..kernel_text import index_of, poll, unflattened
from ..lanes import register, stored
from ..target_info import TargetInfo
from .arguments import addresses_of
from .matrix_tiles import configured, emit_matrix_tile, load_configuration, release
from .pack import by_group, by_panel, copy_panels, copy_rows
from .product import EmittedProduct, copied_batches, copied_size, copied_strides, panel_size, whole_panel_size
from .tile import ProductTile, TileOperand, emit_tile
from .weights import corner_of

LONG = 1 << 24
"""So many steps of a vector in one unit of work are some milliseconds."""


def emit_tiles(f: Function, host: TargetInfo, product: EmittedProduct) -> int:
    """The body of the kernel that runs the tiles of a product; how many units of work it has."""
    return _ProductLoops(f, host, product).emit()


class _ProductLoops:
    def __init__(self, f: Function, host: TargetInfo, product: EmittedProduct):
        self.f, self.host, self.product, self.cut = f, host, product, product.cut
        self.full, self.rest = divmod(product.rows, self.cut.rows)
        self.bases = addresses_of(f, product, "lhs", "rhs", "lhs_copy", "rhs_copy")
        self.known: dict[ProductTile, str] = {}
        self.in_tiles = self.cut.words is not None and self.cut.words.in_tiles
        self.configuration = ""
        """The address of that of tiles."""

    def emit(self) -> int:
        """The loop over units of work; how many there are."""
        f, product, cut = self.f, self.product, self.cut
        each = product.row_blocks if cut.by_rows else product.groups
        extents = [*product.batch, each]
        self.mine = {
            "lhs": self._of_unit("lhs_copy", copied_size(product)) if cut.copy_lhs and cut.by_rows else "",
            "rhs": self._of_unit("rhs_copy", panel_size(product)) if cut.copy_rhs and not cut.whole_rhs else "",
        }
        if self.in_tiles:
            self.configuration = configured(f, product)
            load_configuration(f, self.configuration)
        for u in f.each("%begin", "%end", hint="unit"):
            flat = u if each == 1 else f.op(f"udiv i64 {u}, {each}", "batch")
            *batch, v = unflattened(f, u, extents) if prod(extents) > 1 else ["0"] * len(extents)
            if not product.batch:
                flat = "0"
            (self.rows if cut.by_rows else self.columns)(flat, batch, v)
        if self.in_tiles:
            release(f)
        return prod(extents)

    def _of_unit(self, name: str, size: int) -> str:
        """Memory for what a unit of work copies for itself."""
        if name not in self.bases:
            return self.f.op(f"alloca [{size} x {register(self.product.packed)}], align 64", name)
        return self.f.address(register(self.product.packed), self.bases[name], self.f.mul("%begin", size))

    @property
    def is_long(self) -> bool:
        """Return whether a unit of work takes so long that it looks for signals."""
        cut, product = self.cut, self.product
        rows, columns = (cut.rows * cut.tiles, product.columns) if cut.by_rows else (product.rows, cut.group * cut.columns)
        return rows * columns * product.depth > LONG * cut.width

    def blocks(self, body: Callable[[str, str], None]) -> None:
        """`body(begin, depth)` for each block of the contracted axis."""
        depth = self.product.depth
        if self.product.blocks == 1:
            body("0", str(depth))
            return
        for k in self.f.each("0", str(depth), self.cut.depth, hint="k"):
            if self.is_long:
                self.look_for_signals()
            body(k, self.f.least(self.f.op(f"sub nsw i64 {depth}, {k}", "left"), str(self.cut.depth)))

    def look_for_signals(self) -> None:
        """Poll, with no tile in use: where a signal ends the call, the kernel is left."""
        if not self.in_tiles:
            poll(self.f)
            return
        release(self.f)
        poll(self.f)
        load_configuration(self.f, self.configuration)

    def rows(self, flat: str, batch: list[str], v: str) -> None:
        """A block of rows, all columns."""
        f, cut, product = self.f, self.cut, self.product
        first = f.mul(v, cut.tiles)
        last = f.least(f.add(first, str(cut.tiles)), str(self.full))
        last_block = f.op(f"icmp eq i64 {v}, {self.product.row_blocks - 1}", "last") if self.rest else ""
        row = f.mul(first, cut.rows)

        def block(k: str, depth: str) -> None:
            a, source = self.lhs(batch, row, k)
            if cut.copy_lhs:
                count = f.least(f.op(f"sub nsw i64 {product.rows}, {row}", "left"), str(cut.rows * cut.tiles))
                copy_rows(f, self.host, product, (a, self.mine["lhs"]), count, (k, depth))
                a, source = self.mine["lhs"], TileOperand(product.packed, *copied_strides(product))

            def panel(p: str) -> None:
                b, right = self.rhs(batch, p, k)
                by_panel(f, product, p, lambda columns: tiles(p, b, right, columns))

            def tiles(p: str, b: str, right: TileOperand, columns: int) -> None:
                self.tiles(flat, (first, last), (a, row, source), (b, p, right), columns, (k, depth), last_block)

            for p in f.each("0", str(product.panels), hint="panel"):
                panel(p)

        self.blocks(block)

    def columns(self, flat: str, batch: list[str], group: str) -> None:
        """A group of panels, all rows."""
        f, cut, product = self.f, self.cut, self.product
        first = f.mul(group, cut.group)

        def some(columns: int) -> None:
            def block(k: str, depth: str) -> None:
                a, source = self.lhs(batch, "0", k)
                b, right = self.rhs(batch, first, k)
                across = cut.columns * right.across
                if cut.whole_rhs:
                    across = whole_panel_size(product)
                elif cut.copy_rhs:
                    at = corner_of(f, product, batch, k, f.mul(first, cut.columns))
                    apart = product.heads + cut.depth
                    first_step = f.address(register(product.packed), self.mine["rhs"], str(product.heads * cut.columns))
                    copy_panels(f, self.host, product, at, b, first_step, columns, depth, apart)
                    b, right = first_step, TileOperand(product.packed, 1, cut.columns)
                    across = cut.columns * apart

                def panel(p: str, width: int) -> None:
                    at = f.address(stored(right.dtype), b, f.mul(p, across))
                    every = "0", str(self.full)
                    self.tiles(flat, every, (a, "0", source), (at, f.add(first, p), right), width, (k, depth), "")

                full, rest = divmod(columns, cut.columns)
                for p in f.each("0", str(full), hint="panel"):
                    panel(p, cut.columns)
                if rest:
                    panel(str(full), rest)

            self.blocks(block)

        by_group(f, product, group, some)

    def lhs(self, batch: list[str], row: str, k: str) -> tuple[str, TileOperand]:
        """The left operand from a row and a step on, where it lies or copied as a whole."""
        f, view, product = self.f, self.product.left, self.product
        if self.cut.whole_lhs:
            across, step = copied_strides(product)
            index = f.add(f.mul(row, across), f.mul(k, step))
            for i, copies in zip(batch, copied_batches(view), strict=True):
                index = f.add(index, f.mul(i, copies * copied_size(product)))
            return f.address(register(product.packed), self.bases["lhs_copy"], index), TileOperand(product.packed, across, step)
        address = f.address(stored(view.dtype), self.bases["lhs"], index_of(f, view, [*batch, row, k]))
        return address, TileOperand(view.dtype, view.strides[-2], view.strides[-1])

    def rhs(self, batch: list[str], panel: str, k: str) -> tuple[str, TileOperand]:
        """The right operand from a panel and a step on, where it lies or copied as a whole."""
        f, view, product, wide = self.f, self.product.right, self.product, self.cut.columns
        if self.cut.whole_rhs:
            size = whole_panel_size(product)
            index = f.add(f.mul(panel, size), f.mul(f.add(k, str(product.heads)), wide))
            for i, copies in zip(batch, copied_batches(view), strict=True):
                index = f.add(index, f.mul(i, copies * product.panels * size))
            return f.address(register(product.packed), self.bases["rhs_copy"], index), TileOperand(product.packed, 1, wide)
        address = f.address(stored(view.dtype), self.bases["rhs"], index_of(f, view, [*batch, k, f.mul(panel, wide)]))
        return address, TileOperand(view.dtype, view.strides[-1], view.strides[-2])

    def tiles(
        self,
        flat: str,
        range_: tuple[str, str],
        left: tuple[str, str, TileOperand],
        right: tuple[str, str, TileOperand],
        columns: int,
        block: tuple[str, str],
        last_block: str,
    ) -> None:
        """The tiles of a block of rows and a panel; the last one of all may have fewer rows, `last_block` says where."""
        f, cut = self.f, self.cut
        (first, last), (a, row, _), (b, panel, _) = range_, left, right
        column = f.mul(panel, cut.columns)

        def call(t: str, rows: int) -> None:
            name = self.tile(rows, columns, left[2], right[2])
            at = f.mul(t, cut.rows)
            inside = f.op(f"sub nsw i64 {at}, {row}", "inside") if row != "0" else at
            from_ = f.address(stored(left[2].dtype), a, f.mul(inside, left[2].across))
            depth = f", i64 {block[1]}, i64 {block[0]}" if self.product.blocks > 1 else ""
            f.do(f"call void @{name}(ptr %args, ptr {from_}, ptr {b}, i64 {flat}, i64 {at}, i64 {column}{depth})")

        for t in f.each(first, last, hint="tile"):
            call(t, cut.rows)
        if not self.rest:
            return
        if last_block:
            f.when(last_block, lambda: call(str(self.full), self.rest))
        else:
            call(str(self.full), self.rest)

    def tile(self, rows: int, columns: int, left: TileOperand, right: TileOperand) -> str:
        """The function of a tile."""
        depth = self.product.depth if self.product.blocks == 1 else None
        once = not self.cut.copy_rhs and right.across == 1 and self.full + bool(self.rest) == 1
        panels = self.product.panels * whole_panel_size(self.product) * self.product.total.size
        streamed = once or (self.cut.whole_rhs and panels > self.host.l2_bytes)
        tile = ProductTile(rows, columns, left, right, self.cut.copy_rhs, depth, streamed)
        if tile not in self.known:
            emit = emit_matrix_tile if self.in_tiles else emit_tile
            self.known[tile] = emit(self.f.module, self.host, self.product, tile)
        return self.known[tile]
