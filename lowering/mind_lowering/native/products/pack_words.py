"""
Operands copied for tiles of words (`words.py`): lines of 16 words, filled up with zeros where the contracted axis ends.

Rows of the left operand hold their words in order, 16 to a line. A panel of the right operand has a line for each word of the
contracted axis and 16 columns. What lies in memory along the other axis is transposed in registers, 16 lines at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from mind_dialect.ptir.types import SI32, UI8, UI16

from ..ir import Function
from ..kernel_text import divided
from ..lanes import Lanes, ones, stored
from ..target_info import TargetInfo
from ..transposes import transposed
from .product import EmittedProduct, copied_strides
from .words import TILE_ROWS

_ZERO = "zeroinitializer"
_Ends = tuple[str, str]


def pack_left(f: Function, host: TargetInfo, product: EmittedProduct, ends: _Ends, rows: str, block: _Ends) -> None:
    """Copy some rows of the left operand; `ends` are the addresses of the first, `block` its first step and how many it has."""
    _LeftPacker(f, host, product, ends, block).copy(rows)


def pack_right(
    f: Function, host: TargetInfo, product: EmittedProduct, ends: _Ends, columns: int, block: _Ends, apart: int
) -> None:
    """Copy a block of some panels, which are `apart` steps long; `ends` and `block` as for rows."""
    _RightPacker(f, host, product, ends, block).copy(columns, apart)


class _WordPacker:
    """Packs one operand, whose elements are `step` apart along the contracted axis and `across` along the other one."""

    def __init__(
        self, f: Function, host: TargetInfo, product: EmittedProduct, ends: _Ends, block: _Ends, strides: tuple[int, int]
    ):
        words = product.cut.words
        assert words is not None, "planned"
        self.f, self.host, self.product, self.block = f, host, product, block
        self.source, self.target = ends
        self.factors, self.run = words.factors, words.run
        self.dtype = UI8 if words.factors == 4 else UI16
        self.across, self.step = strides

    def runs(self, copy: Callable[[str, int], None]) -> None:
        """`copy(k, count)` for each run of words of the block, from the k-th word on with so many factors: the last has fewer."""
        f, (first, depth), full = self.f, self.block, self.run * self.factors
        whole, rest = divmod(self.product.lhs.shape[-1], full)
        end = f.least(f.add(first, depth), str(whole * self.run))
        count = end if first == "0" else f.op(f"sub nsw i64 {end}, {first}", "whole")
        for k in f.each("0", count, self.run, "k"):
            copy(k, full)
        if rest and self.product.blocks == 1:
            copy(count, rest)
        elif rest:
            ends = f.op(f"icmp eq i64 {f.add(first, depth)}, {self.product.depth}", "ends")
            f.when(ends, lambda: copy(count, rest))

    def along(self, base: str, count: int) -> str:
        """Return a line of words along the contracted axis, of which so many factors are read."""
        if self.step == 1:
            wide = self.run * self.factors
            lanes = Lanes(self.f, self.host, wide, None if count == wide else ones(wide, count), "w")
            return self._words(lanes.load(self.dtype, base, "0", 1))
        counts = [-(-max(count - i, 0) // self.factors) for i in range(self.factors)]
        return self._gathered(base, self.step * self.factors, [self._first(n) for n in counts])

    def across_words(self, base: str, lanes: Lanes, count: int) -> str:
        """Return a line of words along the other axis, of which so many factors are read."""
        if count <= 0:
            return _ZERO
        if self.across == 1 and count >= self.factors:
            return self._interleaved(base, lanes)
        return self._gathered(base, self.across, [lanes] * min(count, self.factors))

    def _first(self, count: int) -> Lanes | None:
        if count == 0:
            return None
        short = count < TILE_ROWS
        return Lanes(self.f, self.host, TILE_ROWS, ones(TILE_ROWS, count) if short else None, "w", counted=count * short)

    def _words(self, x: str) -> str:
        wide = f"<{self.run * self.factors} x {stored(self.dtype)}>"
        return self.f.op(f"bitcast {wide} {x} to <{self.run} x i32>", "w")

    def _interleaved(self, base: str, lanes: Lanes) -> str:
        """Return the words of as many lines of consecutive elements as a word has factors."""
        f, type = self.f, stored(self.dtype)
        lines = [lanes.load(self.dtype, base, str(i * self.step), 1) for i in range(self.factors)]
        width = TILE_ROWS
        while len(lines) > 1:
            of, picks = f"<{width} x {type}>", _picks(range(2 * width))
            lines = [
                f.op(f"shufflevector {of} {a}, {of} {b}, {picks}", "w") for a, b in zip(lines[::2], lines[1::2], strict=True)
            ]
            width *= 2
        of, picks = f"<{width} x {type}>", _picks(i % self.factors * TILE_ROWS + i // self.factors for i in range(width))
        return self._words(f.op(f"shufflevector {of} {lines[0]}, {of} poison, {picks}", "w"))

    def _gathered(self, base: str, stride: int, lanes: list[Lanes | None]) -> str:
        """Return words from vectors of each of their factors."""
        word = _ZERO
        for i, some in enumerate(lanes):
            if some is None:
                continue
            x = some.convert("zext", stored(self.dtype), "i32", some.load(self.dtype, base, str(i * self.step), stride))
            if stride == 0 and some.mask is not None:
                x = some.select(some.mask, "i32", x, some.number("i32", 0))
            x = some.binary("shl", "i32", x, some.number("i32", i * self.dtype.bits)) if i else x
            word = some.binary("or", "i32", word, x) if i else x
        return word

    def at(self, base: str, *places: tuple[str, int]) -> str:
        """Return an address of the source some elements after another."""
        index = "0"
        for place, stride in places:
            index = self.f.add(index, self.f.mul(place, stride))
        return self.f.address(stored(self.dtype), base, index)

    def store(self, word: str, index: str) -> None:
        """Put a line at an index of the target."""
        Lanes(self.f, self.host, TILE_ROWS).store(SI32, word, self.target, index, 1)

    def square(self, lines: list[str]) -> list[str]:
        """Return the transpose of lines, those that are missing of zeros."""
        lanes = Lanes(self.f, self.host, TILE_ROWS, hint="w")
        return transposed(lanes, "i32", [*lines, *[_ZERO] * (TILE_ROWS - len(lines))])


def _picks(places: Iterable[int]) -> str:
    """Return the mask of a shuffle."""
    mask = [f"i32 {place}" for place in places]
    return f"<{len(mask)} x i32> <{', '.join(mask)}>"


class _LeftPacker(_WordPacker):
    def __init__(self, f: Function, host: TargetInfo, product: EmittedProduct, ends: _Ends, block: _Ends):
        across, step = product.lhs.strides[-2:]
        super().__init__(f, host, product, ends, block, (across, step))
        self.apart = copied_strides(product)[0]

    def copy(self, rows: str) -> None:
        """Copy so many rows."""
        f = self.f
        if self.across != 1 or self.step == 1:
            for i in f.each("0", rows, hint="row"):
                self.runs(lambda k, count, i=i: self.line(i, k, count))
            return
        full = str(int(rows) // TILE_ROWS * TILE_ROWS) if rows.isdigit() else f.op(f"and i64 {rows}, {-TILE_ROWS}", "full")
        for i in f.each("0", full, TILE_ROWS, "row"):
            self.runs(lambda k, count, i=i: self.turned(i, k, count, self._first(TILE_ROWS)))
        if not (rest := self.product.rows % TILE_ROWS):
            return
        last = self._first(rest)
        if rows.isdigit():
            if full != rows:
                self.runs(lambda k, count: self.turned(full, k, count, last))
            return
        short = f.op(f"icmp slt i64 {full}, {rows}", "short")
        f.when(short, lambda: self.runs(lambda k, count: self.turned(full, k, count, last)))

    def line(self, i: str, k: str, count: int) -> None:
        """Copy a run of the words of a row."""
        base = self.at(self.source, (i, self.across), (k, self.step * self.factors))
        self.store(self.along(base, count), self.f.add(self.f.mul(i, self.apart), k))

    def turned(self, i: str, k: str, count: int, lanes: Lanes | None) -> None:
        """Copy a run of the words of 16 rows, which are consecutive in memory."""
        assert lanes is not None
        base = self.at(self.source, (i, self.across), (k, self.step * self.factors))
        lines: list[str] = []
        for w in range(-(-count // self.factors)):
            from_ = self.at(base, (str(w * self.factors), self.step))
            lines.append(self.across_words(from_, lanes, count - w * self.factors))
        for r, line in enumerate(self.square(lines)):
            self.store(line, self.f.add(self.f.mul(self.f.add(i, str(r)), self.apart), k))


class _RightPacker(_WordPacker):
    def __init__(self, f: Function, host: TargetInfo, product: EmittedProduct, ends: _Ends, block: _Ends):
        step, across = product.rhs.strides[-2:]
        super().__init__(f, host, product, ends, block, (across, step))

    def copy(self, columns: int, apart: int) -> None:
        """Copy so many columns of panels, which are `apart` steps long."""
        f, (full, rest) = self.f, divmod(columns, TILE_ROWS)
        if self.step == 1 and self.across != 1:
            for number in f.each("0", str(full), hint="strip"):
                self.runs(lambda k, count, number=number: self.turned(self.strip(number, apart), k, (TILE_ROWS, count)))
            if rest:
                self.runs(lambda k, count: self.turned(self.strip(str(full), apart), k, (rest, count)))
            return
        strips = [(self.strip(str(i), apart), min(TILE_ROWS, columns - i * TILE_ROWS)) for i in range(full + bool(rest))]
        self.runs(lambda k, count: self.lines(strips, k, count))

    def strip(self, number: str, apart: int) -> _Ends:
        """Return the address of the first elements of 16 columns, and the index of their first words."""
        f, wide = self.f, self.product.cut.columns
        panel, inside = divided(f, number, wide // TILE_ROWS)
        to = f.add(f.mul(panel, wide * apart), f.mul(inside, TILE_ROWS))
        return self.at(self.source, (number, TILE_ROWS * self.across)), to

    def lines(self, strips: list[tuple[_Ends, int]], k: str, count: int) -> None:
        """Copy a run of words of some strips of columns: a line of each strip for each word."""
        f, wide = self.f, self.product.cut.columns

        def line(w: str, left: int) -> None:
            word = f.add(k, w)
            for (base, to), columns in strips:
                lanes = self._first(columns)
                assert lanes is not None
                from_ = self.at(base, (word, self.step * self.factors))
                self.store(self.across_words(from_, lanes, left), f.add(to, f.mul(word, wide)))

        whole, rest = divmod(count, self.factors)
        for w in f.each("0", str(whole), hint="word"):
            line(w, self.factors)
        if rest:
            line(str(whole), rest)
        for w in f.each(str(whole + bool(rest)), str(self.run), hint="word"):
            line(w, 0)

    def turned(self, ends: _Ends, k: str, extents: tuple[int, int]) -> None:
        """Copy a run of words of columns that lie along memory."""
        f, (base, to), (columns, factors), wide = self.f, ends, extents, self.product.cut.columns
        base = self.at(base, (k, self.step * self.factors))
        columns_ = [self.along(self.at(base, (str(j), self.across)), factors) for j in range(columns)]
        for w, line in enumerate(self.square(columns_)):
            self.store(line, f.add(to, f.mul(f.add(k, str(w)), wide)))
