"""
A tile of results summed in the tile registers of AMX: up to 32 rows by 32 columns, or 16 rows by 64 columns.

There are eight registers of 16 rows of 64 bytes: four hold sums, the others rows of the left operand and of a panel of the right
one. A kernel loads their configuration at its start and releases it at its end, so that no other code finds registers in use.
Results go to the stack, and from there to the epilogue.
"""

from __future__ import annotations

from mind_dialect.ptir.types import UI8

from ..ir import Function, LlvmModule
from ..kernel_text import argument, index_of, unflattened
from ..lanes import register, stored
from ..target_info import LINE, TargetInfo
from .chain import Stored
from .product import EmittedProduct, arguments
from .tile import ProductTile, ProductTileBody, emit_body
from .words import TILE_ROWS, Words

REGISTERS, SUMS = 8, 4
"""Tile registers, and those of them that hold sums, which come first."""
_WORD = 4


def emit_matrix_tile(module: LlvmModule, host: TargetInfo, product: EmittedProduct, tile: ProductTile) -> str:
    """Add a tile to a module; the name of its function."""
    return emit_body(module, host, product, tile, _MatrixTileBody)


def configured(f: Function, product: EmittedProduct) -> str:
    """
    Write the configuration of tile registers to the stack; return its address.

    It is 64 bytes: the palette, a byte at 1 for restarts, the bytes of a row of each register from 16 on, its rows from 48 on.
    """
    data = bytearray(LINE)
    data[0] = 1
    few = min(product.rows, TILE_ROWS)
    for number in range(REGISTERS):
        data[16 + 2 * number] = LINE
        data[48 + number] = few if number < SUMS + _left_registers(product) else TILE_ROWS
    words = ", ".join(f"i64 {int.from_bytes(data[i : i + 8], 'little')}" for i in range(0, LINE, 8))
    address = f.op("alloca <8 x i64>, align 64", "tiles")
    f.do(f"store <8 x i64> <{words}>, ptr {address}, align 64")
    return address


def load_configuration(f: Function, address: str) -> None:
    """Configure the tile registers, which are zero then."""
    f.call("llvm.x86.ldtilecfg", "void", ("ptr", address))


def release(f: Function) -> None:
    """Return the tile registers to their initial state."""
    f.call("llvm.x86.tilerelease", "void")


def _left_registers(product: EmittedProduct) -> int:
    """Return the number of registers for rows of the left operand."""
    return -(-product.cut.rows // TILE_ROWS)


def _multiplication(words: Words) -> str:
    """Return the intrinsic that multiplies two registers and adds to a third."""
    if words.factors == 2:
        return "llvm.x86.tdpbf16ps"
    signs = "".join("u" if dtype is UI8 else "s" for dtype in (words.lhs, words.rhs))
    return f"llvm.x86.tdpb{signs}d"


class _MatrixTileBody(ProductTileBody):
    """Emits a tile whose sums are in tile registers."""

    def whole(self) -> None:
        f, at = self.f, self._placed()
        if at is None:
            self.finish_from(self.summed(str(self.tile.depth)), self.begin_finishing())
        else:
            self.multiply(str(self.tile.depth))
            self.store(*at)
        f.ret()

    def _placed(self) -> tuple[str, int] | None:
        """Return the address of results and the bytes between their rows; None where registers cannot be stored there."""
        f, product, tile, of = self.f, self.product, self.tile, self.product.epilogue.of
        whole = tile.columns % TILE_ROWS == 0 and (tile.rows % TILE_ROWS == 0 or product.rows < TILE_ROWS)
        if not isinstance(of, Stored) or product.swapped or not whole or self.host.checked:
            return None
        out = of.out
        if out.dtype.size != _WORD or out.dtype.kind is not of.total.kind or out.strides[-1] != 1:
            return None
        base = argument(f, len(arguments(product)), "out")
        at = [*unflattened(f, "%batch", product.batch), "%row", "%column"]
        return f.address(stored(out.dtype), base, index_of(f, out, at)), out.strides[-2] * _WORD

    def in_blocks(self) -> None:
        f = self.f
        room = self.summed("%depth")

        def begin() -> str:
            for r in f.each("0", str(self.tile.rows), hint="r"):
                for q, mask in enumerate(self.masks):
                    self._keep(r, q, mask, self.result(room, r, q))
            return ""

        f.leave(f.op("icmp eq i64 %at, 0", "first"), begin)
        type = register(self.total)
        for r in f.each("0", str(self.tile.rows), hint="r"):
            for q in range(self.vectors):
                place = f.address(type, room, f.add(f.mul(r, self.vectors * self.width), str(q * self.width)))
                self.lanes().store(self.total, self._added(r, q, self.result(room, r, q)), place, "0", 1)
        ends = f.op("add nsw i64 %at, %depth", "ends")

        def end() -> str:
            self.finish_from(room, self.begin_finishing())
            return ""

        f.leave(f.op(f"icmp eq i64 {ends}, {self.product.depth}", "last"), end)
        for r in f.each("0", str(self.tile.rows), hint="r"):
            for q, mask in enumerate(self.masks):
                self._keep(r, q, mask, self.result(room, r, q))
        f.ret()

    @property
    def down(self) -> int:
        """The number of registers with rows of results."""
        return -(-self.tile.rows // TILE_ROWS)

    def summed(self, depth: str) -> str:
        """Sum over a block; return the address of the results on the stack, the vectors of each row side by side."""
        count = self.down * self.vectors * TILE_ROWS * TILE_ROWS
        room = self.f.op(f"alloca [{count} x {register(self.total)}], align 64", "results")
        self.multiply(depth)
        self.store(room, self.vectors * LINE)
        return room

    def multiply(self, depth: str) -> None:
        """Sum over a block."""
        for number in range(self.down * self.vectors):
            self.f.call("llvm.x86.tilezero", "void", ("i8", str(number)), immediate=(0,))
        for k in self.f.each("0", depth, TILE_ROWS, "k"):
            self._multiply(k, self.down, self.vectors)

    def store(self, base: str, apart: int) -> None:
        """Store the sums in rows that are some bytes apart."""
        for number in range(self.down * self.vectors):
            r, q = divmod(number, self.vectors)
            place = self.f.address("i8", base, str(r * TILE_ROWS * apart + q * LINE))
            self._move("tilestored64", number, place, apart)

    def _multiply(self, k: str, down: int, wide: int) -> None:
        """One step of as many words as a register has in a row: each left register is used with all right ones."""
        f, lhs, rhs, words = self.f, self.tile.lhs, self.tile.rhs, self.words
        assert words is not None, "planned"
        lefts = range(SUMS, SUMS + _left_registers(self.product))
        rights = range(lefts.stop, REGISTERS)
        a = f.address(stored(lhs.dtype), "%a", f.mul(k, lhs.step), "a")
        b = f.address(stored(rhs.dtype), "%b", f.mul(k, rhs.step), "b")
        loaded: dict[int, int] = {}
        for r in range(down):
            place = f.address(stored(lhs.dtype), a, str(r * TILE_ROWS * lhs.across))
            self._move("tileloadd64", lefts[r], place, lhs.across * lhs.dtype.size)
            for q in range(wide):
                right = rights[q % len(rights)]
                if loaded.get(right) != q:
                    loaded[right] = q
                    place = f.address(stored(rhs.dtype), b, str(q * TILE_ROWS * rhs.across))
                    self._move("tileloadd64", right, place, rhs.step * _WORD)
                numbers = [("i8", str(n)) for n in (r * wide + q, lefts[r], right)]
                f.call(_multiplication(words), "void", *numbers, immediate=(0, 1, 2))

    def _move(self, name: str, number: int, address: str, stride: int) -> None:
        """Load or store a register, whose rows are some bytes apart in memory."""
        f = self.f
        f.call(f"llvm.x86.{name}", "void", ("i8", str(number)), ("ptr", address), ("i64", str(stride)), immediate=(0,))
