"""
The choice of a `ProductCut`: how a product is cut into tiles that fit registers, blocks that fit caches, and units of work.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir.types import Kind, PtirDType

from ..target_info import LINE, WAYS, TargetInfo
from ..views import View
from .words import TILE_ROWS, Words, by_words, words_of

WIDE_PANELS = (8, 6, 4, 3, 2)
"""Numbers of vectors of columns that a panel may have."""
MANY_ROWS, MANY_PANELS = 192, 8
"""More rows are cut into blocks that are units of work, unless they stay in cache while panels pass by, and so many do."""
MOST_DOT_ROWS = 4
"""So many rows at most are multiplied with rows of the other operand by dot products."""
MOST_BANDS, LEAST_BAND, BAND_BYTES = 32, 48, 128 << 10
"""Most bands of rows, and the least rows and bytes of each: no time is lost where one begins."""
LIMITED_TILES = (1, 2)
"""Tiles in a block of rows where a size limits these, about."""
_WORD = 4
"""Bytes of a word of narrow numbers."""
STRETCH = 512
"""So many bytes are read at one place before the next when an operand is copied: single lines come slowly."""


@dataclass(frozen=True)
class ProductCut:
    """Tiling of a product."""

    width: int
    rows: int
    """Of a tile."""
    vectors: int
    """Of columns of a tile."""
    depth: int
    """Of a block of the contracted axis."""
    by_rows: bool
    """True if a unit of work is a block of rows with all columns; else it is a panel of columns with all rows."""
    tiles: int
    """In a block of rows."""
    copy_lhs: bool
    copy_rhs: bool
    group: int = 1
    """Panels in a unit of work, or copied together."""
    dots: int = 0
    """If not 0, no tiles but dot products with so many rows of the other operand at once."""
    stream: int = 0
    """If not 0, no tiles but so many rows of the right operand at a time, added to sums in cache."""
    bands: int = 1
    """Of rows of the right operand, where rows are added to sums: each has sums of its own, which are added up at the end."""
    kept: bool = False
    """True if the right operand is packed as a whole even where a unit of work could pack what it needs."""
    words: Words | None = None
    """If not None, both operands are packed in words of narrow numbers; the contracted axis counts words."""

    @property
    def columns(self) -> int:
        """Of a panel."""
        return self.vectors * self.width

    @property
    def whole_lhs(self) -> bool:
        """Return whether all of the left operand is copied before the product begins."""
        return self.copy_lhs and not self.by_rows

    @property
    def whole_rhs(self) -> bool:
        """Return whether all of the right operand is packed before the product begins."""
        return self.copy_rhs and (self.by_rows or self.kept)


def choose(
    host: TargetInfo, lhs: View, rhs: View, total: PtirDType, *, decoded: bool = False, kept: bool = False, limited: bool = False
) -> ProductCut:
    """
    A cut by the number of registers and the sizes of caches; if `decoded`, tiles do not read the right operand where it lies.

    Panels of columns are units of work where rows are not many, and blocks of rows elsewhere. The right operand is read where
    it lies if its panels are used for few tiles, or are in cache and in order; so is the left one unless its rows conflict there.
    If `kept`, what is packed of the right operand serves many products, not this one alone. If `limited`, a size that is known at
    run time limits the rows, so that small blocks of them are units of work.
    """
    (rows, depth), columns = lhs.shape[-2:], rhs.shape[-1]
    width = host.lanes(total.size)
    if (dots := _dots(host, width, lhs, rhs)) and total.kind is Kind.FLOAT:
        return ProductCut(width, rows, 1, depth, False, 1, False, False, dots=dots)
    if steps := _stream(host, width, lhs, rhs, total, decoded=decoded):
        return ProductCut(width, rows, 1, depth, False, 1, False, False, stream=steps, bands=_bands(rhs))
    words = None if decoded else words_of(host, lhs, rhs, total)
    if words is not None and words.in_tiles:
        return _in_tiles(host, lhs, rhs, words, kept=kept, limited=limited)
    depth = by_words(lhs, words, -1).shape[-1]
    tall, vectors = tile_of(host, total, rows, -(-columns // width), words)
    tiles, panels = -(-rows // tall), -(-columns // (vectors * width))
    copy_rhs = words is not None or _is_rhs_copied(host, rhs, total, tiles, decoded=decoded, kept=kept)
    # Panels twice as large as the first cache do best: sums go to memory half as often as with those that fit.
    block = depth if not copy_rhs else _block(depth, 2 * host.l1_bytes // (vectors * width * total.size))
    near = rows * depth * total.size <= host.l2_bytes // 2 and panels >= MANY_PANELS
    by_rows = (rows > MANY_ROWS and not near) or (tiles > 1 and (panels == 1 or limited))
    copy_lhs = words is not None or _is_lhs_copied(host, lhs, total, tall, panels, by_rows=by_rows)
    together = tiles
    if by_rows:
        most = max(1, host.l2_bytes // 2 // (block * total.size * tall))
        small = panels * vectors * width * depth * total.size <= host.l2_bytes
        together = in_unit(tiles, LIMITED_TILES if limited else (3, 6) if small else (5, 8), most)
    wide = STRETCH // (vectors * width * total.size)
    group = in_unit(panels, (min(2, wide), wide), panels // 8) if copy_rhs else 1
    kept = kept and copy_rhs and not by_rows
    return ProductCut(width, tall, vectors, block, by_rows, together, copy_lhs, copy_rhs, group, kept=kept, words=words)


def _in_tiles(host: TargetInfo, lhs: View, rhs: View, words: Words, *, kept: bool, limited: bool) -> ProductCut:
    """Return a cut for tile registers: four of them hold sums, of two by two tiles, or of one by four where rows are few."""
    (rows, depth), columns, width = by_words(lhs, words, -1).shape[-2:], rhs.shape[-1], TILE_ROWS
    tall, vectors = min(rows, 2 * width), min(-(-columns // width), 2 if rows > width else 4)
    tiles, panels = -(-rows // tall), -(-columns // (vectors * width))
    # Sums of a block cost more than a panel that comes from the second cache.
    block = _block(depth, host.l2_bytes // 8 // (vectors * LINE))
    by_rows = rows > MANY_ROWS or (tiles > 1 and (panels == 1 or limited))
    together = tiles
    if by_rows:
        most = max(1, host.l2_bytes // 2 // (block * _WORD * tall))
        together = in_unit(tiles, LIMITED_TILES if limited else (2, 4), most)
    group = max(1, min(STRETCH // (vectors * LINE), panels // 8))
    kept = kept and not by_rows
    copied = not _is_read_in_place(lhs, words)
    return ProductCut(width, tall, vectors, block, by_rows, together, copied, True, group, kept=kept, words=words)


def _is_read_in_place(lhs: View, words: Words) -> bool:
    """Return whether tiles read rows where they lie: then these are whole tiles, and words of consecutive elements."""
    rows, depth = lhs.shape[-2:]
    return lhs.strides[-1] == 1 and depth % (words.run * words.factors) == 0 and (rows < TILE_ROWS or rows % TILE_ROWS == 0)


def _is_rhs_copied(host: TargetInfo, rhs: View, total: PtirDType, tiles: int, *, decoded: bool, kept: bool) -> bool:
    """Return whether panels of the right operand are packed: not where few tiles read them, or they are in cache and in order."""
    if decoded or rhs.strides[-1] != 1:
        return True
    near = prod(rhs.shape[-2:]) * total.size <= host.l1_bytes
    few = tiles <= (1 if kept else 2)
    return tiles > 1 and not (rhs.dtype is total and (near or few))


def _is_lhs_copied(host: TargetInfo, lhs: View, total: PtirDType, tall: int, panels: int, *, by_rows: bool) -> bool:
    """Return whether rows of the left operand are packed: where many panels read them and they conflict, or are converted."""
    if by_rows:
        far = prod(lhs.shape[-2:]) * total.size > host.l1_bytes
        return panels > 3 and (far or lhs.dtype is not total)
    return panels > 1 and ((lhs.shape[-2] > tall and _rows_conflict(lhs, tall)) or lhs.dtype is not total)


def in_unit(tiles: int, between: tuple[int, int], most: int) -> int:
    """
    Return the number of tiles in a unit of work: so that 2, 4 or 8 threads have about equally much to do.

    Threads take units one after the other, and the last one has fewer tiles.

    >>> in_unit(86, (3, 6), 40), in_unit(66, (3, 6), 40), in_unit(46, (3, 6), 40), in_unit(86, (5, 8), 40), in_unit(43, (3, 6), 2)
    (3, 3, 6, 6, 2)
    """
    low, high = (max(1, min(count, most)) for count in between)

    def iterations(count: int) -> int:
        units, last = divmod(tiles, count)
        ends = ((threads, units // threads * count + last, -(-units // threads) * count) for threads in (2, 4, 8))
        return sum(threads * max(end) for threads, *end in ends)

    return min(range(low, high + 1), key=lambda count: (iterations(count), -count))


def tile_of(host: TargetInfo, total: PtirDType, rows: int, vectors: int, words: Words | None = None) -> tuple[int, int]:
    """
    The rows of a tile and the vectors in each: sums, the vectors of a step and one number of the left operand are in registers.

    >>> from mind_dialect.ptir.types import F32
    >>> from mind_lowering.native.target_info import TARGETS
    >>> [tile_of(TARGETS[isa], F32, 1000, 100) for isa in ("avx512", "avx2", "baseline", "neon")]
    [(12, 2), (6, 2), (4, 2), (12, 2)]
    >>> [tile_of(TARGETS["avx512"], F32, rows, 100) for rows in (1, 3, 4, 6, 13)]
    [(1, 8), (3, 6), (4, 4), (6, 4), (7, 3)]
    """
    fused = host.fma and total.kind is Kind.FLOAT
    room = host.registers - (1 if host.registers <= 16 else 2) - (1 if fused else 2 if words else 4)
    most = min(host.registers * 3 // 8, (room - 2) // 2)
    tall = -(-rows // -(-rows // most))
    wide = next(v for v in WIDE_PANELS if tall * v + (v if tall > 1 else 1) <= room)
    return tall, min(wide, vectors)


def _block(depth: int, fits: int) -> int:
    """Equal blocks of the contracted axis, of about `fits`, in whole cache lines."""
    fits = max(64, fits)
    count = max(1, round(depth / fits))
    return min(depth, -(-depth // count // 16) * 16)


def _rows_conflict(lhs: View, rows: int) -> bool:
    """Return whether rows that are read side by side share so few places in the first cache that they throw each other out."""
    step = lhs.strides[-2] * lhs.dtype.size
    if lhs.strides[-1] != 1 or step % LINE or step == 0:
        return False
    lines, sets = step // LINE, 64
    while lines % 2 == 0 and sets > 1:
        lines, sets = lines // 2, sets // 2
    return rows > sets * WAYS // 2


def _dots(host: TargetInfo, width: int, lhs: View, rhs: View) -> int:
    """With how many rows of the right operand at once dot products are taken; 0 if they are not."""
    rows, depth = lhs.shape[-2:]
    contiguous = lhs.strides[-1] == 1 and rhs.strides[-2] == 1 and rhs.strides[-1] != 1
    if not contiguous or rows > MOST_DOT_ROWS or depth < width // 2 or width == 1:
        return 0
    most = min(8, width)
    while most > 1 and rows * most + rows + (3 if host.fma else 5) > host.registers:
        most //= 2
    return most


def _stream(host: TargetInfo, width: int, lhs: View, rhs: View, total: PtirDType, *, decoded: bool) -> int:
    """
    Return the number of rows of the right operand that are added at a time to sums in cache; 0 if tiles are better.

    One row at a time is memory in its order, which machines bring fastest. Sums are then loaded and stored for each row, which
    is too much where they fill the first cache, or where there is more to do with elements than bytes to bring.
    """
    rows, columns = lhs.shape[-2], rhs.shape[-1]
    if rows > MOST_DOT_ROWS or rhs.strides[-1] != 1 or columns < 2 * width:
        return 0
    if rhs.shape[-2] * columns * total.size <= host.l1_bytes:
        return 0
    if rows <= 2 and rhs.dtype.size > 1 and not decoded and rows * columns * total.size <= host.l1_bytes * 3 // 8:
        return 1
    steps = 8
    while steps > 1 and rows * steps + 2 * rows + 2 > host.registers:
        steps //= 2
    return steps


def _bands(rhs: View) -> int:
    """
    Into how many bands rows of the right operand are cut: enough to share them, so high that adding up their sums is little.

    >>> from mind_dialect.ptir.types import BF16, F32
    >>> from mind_lowering.native.views import Buffer, Use, whole
    >>> shapes = [(768, 768), (768, 3072), (3072, 768), (768, 50257), (100, 4000), (8, 768, 768), (400, 100)]
    >>> [_bands(whole(Buffer(Use.INPUT, 0, F32, 0, ""), shape)) for shape in shapes]
    [16, 16, 32, 16, 1, 4, 1]
    >>> _bands(whole(Buffer(Use.INPUT, 0, BF16, 0, ""), (768, 768)))
    8
    """
    depth, columns = rhs.shape[-2:]
    most = MOST_BANDS // prod(rhs.shape[:-2])
    wanted = min(most, depth // LEAST_BAND, depth * columns * rhs.dtype.size // BAND_BYTES)
    wanted = wanted // 8 * 8 if wanted >= 8 else 4 if wanted >= 4 else 1
    return -(-depth // band_of(depth, wanted))


def band_of(depth: int, bands: int) -> int:
    """Return the number of rows of each of some bands, but for the last."""
    return -(-depth // (bands * 8)) * 8


def better_swapped(host: TargetInfo, lhs: View, rhs: View, total: PtirDType) -> bool:
    """Return whether to compute the transpose: a column becomes a row; few columns become few rows of dot products."""
    rows, columns = lhs.shape[-2], rhs.shape[-1]
    if columns == 1 or rows == 1:
        return rows != 1
    turned = flipped(rhs), flipped(lhs)
    dots = bool(_dots(host, host.lanes(total.size), *turned)) and total.kind is Kind.FLOAT
    return rows > MOST_DOT_ROWS >= columns and dots


def flipped(view: View) -> View:
    """The transpose."""
    (*batch, m, n), (*strides, a, b) = view.shape, view.strides
    return replace(view, shape=(*batch, n, m), strides=(*strides, b, a))
