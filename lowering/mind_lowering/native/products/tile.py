"""
A tile of results: some rows by some vectors of columns, summed in registers over a block of the contracted axis.

For each step some vectors of columns are loaded, and one number of each row is multiplied with all of them. A tile is a function
of its own: registers are given out for it alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir.types import Kind, PtirDType

from ..casts import cast
from ..ir import Function, LlvmModule, LoopBody
from ..kernel_text import index_of, multiply_add, prefetch, unflattened
from ..lanes import Lanes, ones, register, stored
from ..target_info import TargetInfo
from .arguments import addresses_of, finish_of
from .product import EmittedProduct
from .word_code import multiply_add_words

UNROLL = 4
"""Steps of the contracted axis in one iteration."""
AHEAD = 8
"""So many steps ahead memory is asked for."""


@dataclass(frozen=True)
class TileOperand:
    """Access of a tile to an operand: its dtype, and its strides per row or column and per step of the contracted axis."""

    dtype: PtirDType
    across: int
    step: int


@dataclass(frozen=True)
class ProductTile:
    """A tile: `rows` by `columns`; `depth` of a block if all blocks are alike."""

    rows: int
    columns: int
    lhs: TileOperand
    rhs: TileOperand
    padded: bool
    """True if the right operand has whole vectors, also where columns end."""
    depth: int | None
    streamed: bool
    """True if the right operand comes from memory, so that it is asked for early."""


PARAMETERS = (("ptr", "args"), ("ptr", "a"), ("ptr", "b"), ("i64", "batch"), ("i64", "row"), ("i64", "column"))
"""Of every tile: the table of addresses, both operands' first elements, what is computed; with blocks also which one."""


def emit_tile(module: LlvmModule, host: TargetInfo, product: EmittedProduct, tile: ProductTile) -> str:
    """Add a tile to a module; the name of its function."""
    return emit_body(module, host, product, tile, ProductTileBody)


def emit_body(
    module: LlvmModule, host: TargetInfo, product: EmittedProduct, tile: ProductTile, kind: type[ProductTileBody]
) -> str:
    """Add a tile of a kind to a module; the name of its function."""
    blocks = product.blocks > 1
    parameters = [*PARAMETERS, ("i64", "depth"), ("i64", "at")] if blocks else list(PARAMETERS)
    f = module.function(module.unique(f"tile.{tile.rows}x{tile.columns}"), "void", parameters)
    f.notes.append(f"{product.name}: {tile.rows} by {tile.columns} results")
    body = kind(f, host, product, tile)
    if blocks and product.partial is not None:
        body.in_blocks()
    else:
        body.whole()
    return f.name


class ProductTileBody:
    """Emits a tile whose sums are in vector registers."""

    def __init__(self, f: Function, host: TargetInfo, product: EmittedProduct, tile: ProductTile):
        self.f, self.host, self.product, self.tile = f, host, product, tile
        self.width, self.total = product.cut.width, product.total
        whole, rest = divmod(tile.columns, self.width)
        self.masks = [None] * whole + ([ones(self.width, rest) if self.width > 1 else None] if rest else [])
        self.vectors = len(self.masks)
        self.partial = addresses_of(f, product, "partial").get("partial")
        self.words = product.cut.words

    def lanes(self, mask: str | None = None, hint: str = "c") -> Lanes:
        return Lanes(self.f, self.host, self.width, mask, hint)

    # Sums

    def sums(self, depth: str) -> Sequence[str]:
        """The sums over a block, all vectors of a row side by side."""
        f, tile = self.f, self.tile
        lanes = self.lanes()
        zero = lanes.constant(self.total, 0)
        state: Sequence[str] = [zero] * (tile.rows * self.vectors)
        types = [lanes.type(self.total)] * len(state)
        if depth.isdigit():
            full = str(int(depth) // UNROLL * UNROLL)
        else:
            full = f.op(f"and i64 {depth}, {-UNROLL}", "full")
        iteration = self._iteration(UNROLL)
        state = f.loop("0", full, UNROLL, iteration, list(zip(types, state, strict=True)), "k")
        if depth.isdigit():
            rest = int(depth) - int(full)
            return (rest and self._iteration(rest)(full, *state)) or state
        return f.loop(full, depth, 1, self._iteration(1), list(zip(types, state, strict=True)), "k")

    def without_offsets(self, found: Sequence[str]) -> Sequence[str]:
        """The sums without what the offset of the left operand adds to them, which is stored a step before the panel."""
        if not self.product.heads:
            return found
        columns = [self._column("%b", q * self.width - self.tile.rhs.step, None) for q in range(self.vectors)]
        return [self.lanes().binary("sub", "i32", x, columns[i % self.vectors]) for i, x in enumerate(found)]

    def _iteration(self, steps: int) -> LoopBody:
        f, tile = self.f, self.tile

        def iteration(k: str, /, *values: str) -> list[str]:
            state = list(values)
            a = f.address(stored(tile.lhs.dtype), "%a", f.mul(k, tile.lhs.step), "a")
            b = f.address(stored(tile.rhs.dtype), "%b", f.mul(k, tile.rhs.step), "b")
            if tile.streamed:
                self._ask(b, steps)
            for u in range(steps):
                self._step(state, a, b, u)
            return state

        return iteration

    def _step(self, state: list[str], a: str, b: str, u: int) -> None:
        """One step of the contracted axis."""
        tile, width = self.tile, self.width
        columns = [self._column(b, u * tile.rhs.step + q * width * tile.rhs.across, mask) for q, mask in enumerate(self.masks)]
        lanes = self.lanes(hint="c")
        for r in range(tile.rows):
            one = self.lanes(hint="a").load(tile.lhs.dtype, a, str(u * tile.lhs.step + r * tile.lhs.across), 0)
            one = cast(lanes, one, tile.lhs.dtype, self.total)
            for q, column in enumerate(columns):
                place = r * self.vectors + q
                state[place] = self._multiply_add(lanes, one, column, state[place])

    def _multiply_add(self, lanes: Lanes, a: str, b: str, c: str) -> str:
        if self.words is None:
            return multiply_add(lanes, self.total, a, b, c)
        return multiply_add_words(lanes, self.words, a, b, c)

    def _column(self, b: str, index: int, mask: str | None) -> str:
        lanes = self.lanes(None if self.tile.padded else mask, "b")
        x = lanes.load(self.tile.rhs.dtype, b, str(index), self.tile.rhs.across)
        return cast(lanes, x, self.tile.rhs.dtype, self.total)

    def _ask(self, b: str, steps: int) -> None:
        """Have the lines of some later steps brought."""
        rhs = self.tile.rhs
        line = 64 // rhs.dtype.size
        for u in range(steps):
            for column in range(0, self.tile.columns, line):
                prefetch(self.f, self.f.address(stored(rhs.dtype), b, str((AHEAD + u) * rhs.step + column)))

    # Results

    def whole(self) -> None:
        """The sums over all of the contracted axis, finished."""
        self.finish(self.without_offsets(self.sums(str(self.tile.depth))))
        self.f.ret()

    def in_blocks(self) -> None:
        """The sums of a block: kept if it is the first, added to those kept; finished if it is the last."""
        f = self.f
        found = self.sums("%depth")
        whole = self.product.cut.whole_rhs  # then the offsets of all blocks are stored before the first one
        if not whole:
            found = self.without_offsets(found)

        def begin() -> str:
            self._each(self.without_offsets(found) if whole else found, self._keep)
            return ""

        f.leave(f.op("icmp eq i64 %at, 0", "first"), begin)
        ends = f.op("add nsw i64 %at, %depth", "ends")
        last = f.op(f"icmp eq i64 {ends}, {self.product.depth}", "last")
        places = [(r, q) for r in range(self.tile.rows) for q in range(self.vectors)]
        added = [self._added(r, q, value) for (r, q), value in zip(places, found, strict=True)]

        def end() -> str:
            self.finish(added)
            return ""

        f.leave(last, end)
        self._each(added, self._keep)
        f.ret()

    def _each(self, found: Sequence[str], action: Callable[[int, int, str | None, str], None]) -> None:
        for r in range(self.tile.rows):
            for q, mask in enumerate(self.masks):
                action(r, q, mask, found[r * self.vectors + q])

    def _place(self, r: int | str, q: int) -> str:
        product = self.product
        assert product.partial is not None, "planned"
        assert self.partial is not None, "planned"
        at = [*unflattened(self.f, "%batch", product.batch), *self._at(r, q)]
        return self.f.address(register(self.total), self.partial, index_of(self.f, product.partial, at))

    def _at(self, r: int | str, q: int) -> list[str]:
        return [self.f.add("%row", str(r)), self.f.add("%column", str(q * self.width))]

    def _keep(self, r: int | str, q: int, mask: str | None, value: str) -> None:
        self.lanes(mask).store(self.total, value, self._place(r, q), "0", 1)

    def _added(self, r: int | str, q: int, value: str) -> str:
        lanes = self.lanes(self.masks[q])
        before = lanes.load(self.total, self._place(r, q), "0", 1)
        code = "fadd" if self.total.kind is Kind.FLOAT else "add"
        return lanes.binary(code, register(self.total), before, value)

    def begin_finishing(self) -> Callable[[str, int, str | None, str], None]:
        """Begin the epilogue; what hands it a vector of results, by its row, its number and its mask."""
        f, product = self.f, self.product
        batch = unflattened(f, "%batch", product.batch)
        hand = finish_of(f, product)
        columns = [f.add("%column", str(q * self.width)) for q in range(self.vectors)]

        def one(row: str, q: int, mask: str | None, value: str) -> None:
            at, along = [row, columns[q]], len(batch) + 1
            if product.swapped:
                at, along = at[::-1], len(batch)
            hand(self.lanes(mask), [*batch, *at], along, value)

        return one

    def finish(self, found: Sequence[str]) -> None:
        """Hand all results to the epilogue; if that is long, from memory in a loop over rows."""
        f, product = self.f, self.product
        one = self.begin_finishing()
        if not product.epilogue.heavy or self.tile.rows == 1:
            for r in range(self.tile.rows):
                row = f.add("%row", str(r))
                for q, mask in enumerate(self.masks):
                    one(row, q, mask, found[r * self.vectors + q])
            return
        type, lanes = register(self.total), self.lanes()
        room = f.op(f"alloca [{len(found)} x {lanes.of(type)}], align 64", "results")
        for i, value in enumerate(found):
            f.do(f"store {lanes.of(type)} {value}, ptr {f.address(type, room, str(i * self.width))}, align 64")

        self.finish_from(room, one)

    def finish_from(self, room: str, one: Callable[[str, int, str | None, str], None]) -> None:
        """Hand results to the epilogue from memory, in a loop over rows."""
        f = self.f
        for r in f.each("0", str(self.tile.rows), hint="r"):
            row = f.add("%row", r)
            for q, mask in enumerate(self.masks):
                one(row, q, mask, self.result(room, r, q))

    def result(self, room: str, r: str, q: int) -> str:
        """Return a vector of the results of a row that are in memory."""
        f, type, lanes = self.f, register(self.total), self.lanes()
        index = f.add(f.mul(r, self.vectors * self.width), str(q * self.width))
        return lanes.op(f"load {lanes.of(type)}, ptr {f.address(type, room, index)}, align 8")
