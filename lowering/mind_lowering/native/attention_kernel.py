"""
The kernel of an attention: for each block of rows scores by tiles, softmax of each row in cache, sums of values by tiles.

Where all keys are too many for the stack they come in blocks, and what was summed is scaled down by how much the greatest score
has grown. A row all of whose scores are -inf is NaN, as it is when it is computed at once, or 0 if the softmax is guarded. Units
of work depend on shapes alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mind_dialect.elements import UnfitError
from mind_passes.ptir.patterns.causal import Bounds

from . import vmath
from .attention import AttentionStep
from .failures import Failure, Sites
from .ir import Function, LlvmModule
from .kernel_text import argument, index_of, unflattened
from .lanes import Lanes, halves, ones, register, stored
from .products.epilogue import emitted, look_at_flag
from .products.pack import by_panel
from .products.product import EmittedProduct, arguments, copied_batches
from .products.tile import ProductTile, TileOperand, emit_tile
from .reductions import extreme, part
from .target_info import TargetInfo

VANISHING = {"float": 104.0, "double": 746.0}
"""The exponential of a number so far below 0 is 0."""
UNROLL = 4
"""Vectors of a row in one iteration of a loop."""


@dataclass
class _Block:
    """A block of rows: its batch as indices and as one number, its first row, its tiles from `first` to `last`."""

    batch: Sequence[str]
    flat: str
    row: str
    count: str
    first: str
    last: str
    ends: str
    """Predicate of the block with the last rows, fewer than a tile has; empty if there are none."""


def emit_attention(f: Function, host: TargetInfo, step: AttentionStep, sites: Sites) -> int:
    """Emit the kernel of an attention; how many units of work it has."""
    if host.checked:
        sites.add(Failure.OUTSIDE, None)
    units = _AttentionBody(f, host, step).emit()
    if host.checked:
        look_at_flag(f)
    f.ret("0")
    return units


class _AttentionBody:
    def __init__(self, f: Function, host: TargetInfo, step: AttentionStep):
        self.f, self.host, self.step = f, host, step
        self.scores, self.total = emitted(step.scores), step.scores.total
        self.sums = emitted(step.sums)
        self.type, self.tall = register(self.total), step.scores.cut.rows
        self.full, self.rest = divmod(self.scores.rows, self.tall)
        self.known: dict[tuple[int, ProductTile], str] = {}
        self.rows: dict[int, str] = {}

    def emit(self) -> int:
        """The loop over units of work; how many there are."""
        f, step, span = self.f, self.step, self.tall * self.step.tiles
        names = ["queries", "keys", "values", *(f"e{i}" for i in range(len(step.reads))), "out"]
        self.bases = [argument(f, i, name) for i, name in enumerate(names)]
        self.p = self.room(span * step.apart, "scores")
        self.state = [self.room(span, name) for name in ("totals", "greatest")]
        self.kept = self.room(span * self.sums.partial.strides[-2], "sums") if self.sums.partial is not None else ""
        self.tables = [self.table(self.scores, self.bases[3:-1]), self.table(self.sums, ["", self.bases[-1]])]
        blocks = -(-self.scores.rows // span)
        for u in f.each("%begin", "%end", hint="unit"):
            *batch, number = unflattened(f, u, [*self.scores.batch, blocks])
            flat = "0" if not batch else f.op(f"udiv i64 {u}, {blocks}", "batch") if blocks > 1 else u
            row, first = f.mul(number, span), f.mul(number, step.tiles)
            last = f.least(f.add(first, str(step.tiles)), str(self.full))
            count = f.least(f.op(f"sub nsw i64 {self.scores.rows}, {row}", "left"), str(span))
            ends = f.op(f"icmp eq i64 {number}, {blocks - 1}", "last") if self.rest else ""
            self.unit(_Block(batch, flat, row, count, first, last, ends))
        units = blocks
        for n in self.scores.batch:
            units *= n
        return units

    def room(self, count: int, hint: str) -> str:
        """Memory on the stack."""
        return self.f.op(f"alloca [{count} x {self.type}], align 64", hint)

    def table(self, product: EmittedProduct, reads: Sequence[str]) -> str:
        """A table of addresses for the tiles of a product: the record, then those that its epilogue is given."""
        f, first = self.f, 1 + len(arguments(product))
        table = f.op(f"alloca [{first + len(product.epilogue.views)} x ptr], align 64", "table")
        f.do(f"store ptr {f.op('load ptr, ptr %args, align 8', 'record')}, ptr {table}, align 8")
        for i, address in enumerate(reads):
            if address:
                f.do(f"store ptr {address}, ptr {f.address('ptr', table, str(first + i))}, align 8")
        return table

    def put(self, which: int, place: int, address: str) -> None:
        """Put an address into a table."""
        f = self.f
        f.do(f"store ptr {address}, ptr {f.address('ptr', self.tables[which], str(1 + place))}, align 8")

    def before(self, address: str, *steps: tuple[str, int]) -> str:
        """An address so far before another that indices counted from the beginning lead there."""
        f, index = self.f, "0"
        for i, stride in steps:
            index = f.add(index, f.mul(i, -stride))
        return f.address(self.type, address, index)

    def unit(self, block: _Block) -> None:
        """A block of rows."""
        sums = self.sums
        first = len(arguments(sums))
        self.put(1, first, self.before(self.state[0], (block.row, 1)))
        if sums.partial is not None:
            place = list(arguments(sums)).index("partial")
            self.put(1, place, self.before(self.kept, (block.row, sums.partial.strides[-2])))
            self.begin(block)
        self.each_block(block, lambda k, depth: self.keys(block, k, depth))

    def begin(self, block: _Block) -> None:
        """Nothing is summed yet, and nothing is less than the greatest score so far."""
        f, one = self.f, Lanes(self.f, self.host, 1)
        for r in f.each("0", block.count, hint="row"):
            for place, value in zip(self.state, (0.0, float("-inf")), strict=True):
                one.store(self.total, one.constant(self.total, value), place, r, 1)

    def each_block(self, block: _Block, body: Callable[[str, int], None]) -> None:
        """`body(first, count)` for each block of keys; for those that a causal mask hides only where they have weights."""
        f, keys, size = self.f, self.scores.columns, self.sums.cut.depth
        full, rest = divmod(keys, size)
        end = str(full * size)

        def others(first: str) -> None:
            for k in f.each(first, end, size, hint="k"):
                body(k, size)
            if rest:
                body(end, rest)

        if self.step.bounds is None:
            others("0")
            return
        seen = f.greatest(f.add(f.add(block.row, block.count), str(self.step.bounds.past - 1)), "0")
        stop = f.mul(f.op(f"udiv i64 {f.add(seen, str(size - 1))}, {size}", "blocks"), size)
        for k in f.each("0", f.least(stop, end), size, hint="k"):
            body(k, size)
        inside = f.op(f"icmp sgt i64 {stop}, {end}", "inside")
        goes_on = f.op(f"or i1 {inside}, {self.has_hidden_weights(block, self.step.bounds)}", "on")
        f.when(goes_on, lambda: others(f.least(stop, end)))
        self.weighted(block, "0", 0, str(keys))

    def has_hidden_weights(self, block: _Block, bounds: Bounds) -> str:
        """Return whether a row has no score so far that leaves a hidden one a weight of 0."""
        f, one = self.f, Lanes(self.f, self.host, 1)
        try:
            self.total.element.check(bounds.hidden)
            low = bounds.hidden + VANISHING[self.type]
        except UnfitError:  # the number of a wider dtype, whose scores are cast after the mask
            low = float("-inf")
        least = one.constant(self.total, low)

        def row(r: str, /, *found: str) -> list[str]:
            above = one.compare("fcmp ogt", self.type, one.load(self.total, self.state[1], r, 1), least)
            return [f.op(f"and i1 {found[0]}, {above}", "above")]

        (above,) = f.loop("0", block.count, 1, row, [("i1", "true")], hint="row")
        return f.op(f"xor i1 {above}, true", "hidden")

    def keys(self, block: _Block, k: str, count: int) -> None:
        """A block of keys: scores, softmax as far as it is known, sums."""
        f, scores, wide = self.f, self.scores, self.scores.cut.columns
        place = len(arguments(scores)) + len(scores.epilogue.reads)
        self.put(0, place, self.before(self.p, (block.row, self.step.apart), (k, 1)))
        q = f.address(stored(scores.lhs.dtype), self.bases[0], index_of(f, scores.lhs, [*block.batch, block.row, "0"]))
        source = TileOperand(scores.lhs.dtype, scores.lhs.strides[-2], scores.lhs.strides[-1])

        def panel(p: str) -> None:
            b = self.copy(scores, self.bases[1], block.batch, p, "0")
            by_panel(f, scores, p, lambda columns: self.run(0, block, (q, source), (b, f.mul(p, wide)), columns, ""))

        first = f.op(f"udiv i64 {k}, {wide}", "panel") if k != "0" else "0"
        for p in f.each(first, f.add(first, str(-(-count // wide))), hint="panel"):
            panel(p)
        room = f"ptr {self.p}, ptr {self.state[0]}, ptr {self.state[1]}, ptr {self.kept or 'null'}"
        f.do(f"call void @{self.softmax(count)}({room}, i64 {block.count})")
        at = k
        if self.step.bounds is not None:  # the last block is not known beforehand: one without keys follows it
            at = f.op(f"select i1 {f.op(f'icmp eq i64 {k}, 0', 'first')}, i64 0, i64 -1", "at")
        self.weighted(block, k, count, at)

    def weighted(self, block: _Block, k: str, count: int, place: str) -> None:
        """The sums of values for a block of keys: the first one at place 0, the last one ends with the last key."""
        f, sums = self.f, self.sums
        source, at = TileOperand(self.total, self.step.apart, 1), f", i64 {count}, i64 {place}" if sums.blocks > 1 else ""

        def panel(p: str) -> None:
            b = self.copy(sums, self.bases[2], block.batch, p, k)
            column = f.mul(p, sums.cut.columns)
            by_panel(f, sums, p, lambda columns: self.run(1, block, (self.p, source), (b, column), columns, at))

        for p in f.each("0", str(sums.panels), hint="panel"):
            panel(p)

    def copy(self, product: EmittedProduct, base: str, batch: Sequence[str], panel: str, k: str) -> str:
        """Return the address of a panel of a copied operand, from a step on."""
        f, wide = self.f, product.cut.columns
        index = f.add(f.mul(panel, wide * product.depth), f.mul(k, wide))
        for i, copies in zip(batch, copied_batches(product.rhs), strict=True):
            index = f.add(index, f.mul(i, copies * product.panels * wide * product.depth))
        return f.address(self.type, base, index)

    def run(
        self, which: int, block: _Block, left: tuple[str, TileOperand], right: tuple[str, str], columns: int, at: str
    ) -> None:
        """The tiles of a block of rows and a panel."""
        f, (a, source), (b, column) = self.f, left, right

        def call(t: str, rows: int) -> None:
            row = f.mul(t, self.tall)
            inside = f.op(f"sub nsw i64 {row}, {block.row}", "inside")
            from_ = f.address(stored(source.dtype), a, f.mul(inside, source.across))
            name = self.tile(which, rows, columns, source)
            place = f"ptr {self.tables[which]}, ptr {from_}, ptr {b}, i64 {block.flat}, i64 {row}, i64 {column}"
            f.do(f"call void @{name}({place}{at})")

        for t in f.each(block.first, block.last, hint="tile"):
            call(t, self.tall)
        if block.ends:
            f.when(block.ends, lambda: call(str(self.full), self.rest))

    def tile(self, which: int, rows: int, columns: int, left: TileOperand) -> str:
        """The function of a tile."""
        product = (self.scores, self.sums)[which]
        depth = product.depth if product.blocks == 1 else None
        tile = ProductTile(rows, columns, left, TileOperand(self.total, 1, product.cut.columns), True, depth, False)
        if (which, tile) not in self.known:
            self.known[which, tile] = emit_tile(self.f.module, self.host, product, tile)
        return self.known[which, tile]

    def softmax(self, count: int) -> str:
        """The function of the rows of a block of so many keys."""
        if count not in self.rows:
            self.rows[count] = _rows(self.f.module, self.host, self.step, count)
        return self.rows[count]


def _rows(module: LlvmModule, host: TargetInfo, step: AttentionStep, count: int) -> str:
    """A function: scores of some rows become their exponentials, and what was summed is scaled and added to."""
    parameters = [("ptr", "scores"), ("ptr", "totals"), ("ptr", "greatest"), ("ptr", "sums"), ("i64", "rows")]
    f = module.function(module.unique(f"weights.{count}"), "void", parameters)
    f.notes.append(f"{step.name}: softmax of rows of {count}")
    row = _Row(f, host, step, count)
    for r in f.each("0", "%rows", hint="row"):
        row.emit(r)
    f.ret()
    return f.name


class _Row:
    """One row of scores."""

    def __init__(self, f: Function, host: TargetInfo, step: AttentionStep, count: int):
        self.f, self.host, self.step = f, host, step
        self.total, self.width = step.scores.total, step.scores.cut.width
        self.type = register(self.total)
        whole, rest = divmod(count, self.width)
        self.iterations, left = divmod(whole, UNROLL)
        self.masks: list[str | None] = [None] * left + ([ones(self.width, rest) if self.width > 1 else None] if rest else [])

    def emit(self, r: str) -> None:
        """Its greatest score, its exponentials, their sum."""
        f, total, one = self.f, self.total, Lanes(self.f, self.host, 1)
        p = f.address(self.type, "%scores", f.mul(r, self.step.apart))
        low = one.constant(total, float("-inf"))

        def greatest(lanes: Lanes, index: str, state: str) -> str:
            x = lanes.load(total, p, index, 1)
            x = x if lanes.mask is None else lanes.select(lanes.mask, self.type, x, lanes.constant(total, float("-inf")))
            return extreme(lanes, "max", total, state, x)

        most = self.folded(self.over(greatest, float("-inf")), lambda lanes, a, b: extreme(lanes, "max", total, a, b))
        before = factor = ""
        if self.step.sums.blocks > 1:
            before = one.load(total, "%greatest", r, 1)
            most = extreme(one, "max", total, before, most)
            one.store(total, most, "%greatest", r, 1)
        if self.step.sums.blocks > 1 or self.step.guarded:
            # Scores that are all -inf so far are not shifted: their exponentials are 0 and not NaN.
            most = one.select(one.compare("fcmp oeq", self.type, most, low), self.type, one.constant(total, 0), most)
        if before:
            factor = vmath.call(one, vmath.SCORE, self.type, [one.binary("fsub", self.type, before, most)])
        spread = Lanes(f, self.host, self.width, hint="most").splat(self.type, most)

        def weigh(lanes: Lanes, index: str, state: str) -> str:
            x = lanes.binary("fsub", self.type, lanes.load(total, p, index, 1), spread)
            x = vmath.call(lanes, vmath.SCORE, self.type, [x])
            lanes.store(total, x, p, index, 1)
            x = x if lanes.mask is None else lanes.select(lanes.mask, self.type, x, lanes.constant(total, 0))
            return lanes.binary("fadd", self.type, state, x)

        found = self.folded(self.over(weigh, 0.0), lambda lanes, a, b: lanes.binary("fadd", self.type, a, b))
        if factor:
            found = one.binary("fadd", self.type, one.binary("fmul", self.type, one.load(total, "%totals", r, 1), factor), found)
            self.scale(r, factor)
        one.store(total, found, "%totals", r, 1)

    def over(self, body: Callable[[Lanes, str, str], str], start: float) -> list[str]:
        """`body(lanes, index, state)` along the row, `UNROLL` states side by side that begin with a number."""
        f, width = self.f, self.width
        lanes = Lanes(f, self.host, width)
        begin = lanes.constant(self.total, start)

        def iteration(index: str, /, *values: str) -> list[str]:
            return [body(Lanes(f, self.host, width), f.add(index, str(u * width)), v) for u, v in enumerate(values)]

        end = self.iterations * UNROLL * width
        state = f.loop("0", str(end), UNROLL * width, iteration, [(lanes.type(self.total), begin)] * UNROLL, "x")
        for i, mask in enumerate(self.masks):
            state[i % UNROLL] = body(Lanes(f, self.host, width, mask), str(end + i * width), state[i % UNROLL])
        return state

    def folded(self, state: list[str], combine: Callable[[Lanes, str, str], str]) -> str:
        """One number of some vectors: neighbours first, then the halves."""
        lanes = Lanes(self.f, self.host, self.width)
        while len(state) > 1:
            state = [combine(lanes, a, b) for a, b in zip(state[::2], state[1::2], strict=True)]
        found, width = state[0], self.width
        for half in halves(self.width):
            lower, upper = (part(lanes, self.type, found, width, half, start) for start in (0, half))
            found, width = combine(lanes.narrowed(half), lower, upper), half
        return found

    def scale(self, r: str, factor: str) -> None:
        """Scale the sums of values of a row by a factor."""
        f, total, width, kept = self.f, self.total, self.width, self.step.sums.partial
        assert kept is not None, "planned"
        lanes = Lanes(f, self.host, width, hint="sum")
        times, base = lanes.splat(self.type, factor), f.address(self.type, "%sums", f.mul(r, kept.strides[-2]))
        for at in range(0, kept.strides[-2], width):
            lanes.store(total, lanes.binary("fmul", self.type, lanes.load(total, base, str(at), 1), times), base, str(at), 1)
