"""
Products of narrow numbers by the machine's dot product instructions: 32-bit words, each of some steps of the contracted axis.

    sum over k of a[k] * b[k] = sum over words w of dot(a[w], b[w])

Both operands are packed in words, and every tile works on words as it does on numbers. Sums in 32 bits are modulo 2^32, so their
order is free, and results equal those of plain multiplication for all operands: no instruction here saturates.

`vpdpbusd` multiplies unsigned by signed bytes. Where both operands are signed, the left one is packed with 128 added, and each
tile subtracts 128 times the sums of its columns, which are stored before each packed panel:
`sum a*b = sum (a + 128)*b - 128 * sum b`. Unsigned operands are multiplied as pairs of 16-bit integers.

Instructions of AMX multiply tiles of up to 16 rows of 16 words (`matrix_tiles.py`). Operands are packed as they are, and the
contracted axis is filled up with zeros. Pairs of bf16 are summed in f32; factors, products and sums below 2^-126 count as 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir.types import BF16, F32, SI8, SI16, SI32, UI8, UI32, PtirDType

from ..target_info import TargetInfo
from ..views import View

OFFSET = 128
"""The number added to signed bytes to make them unsigned."""
LEAST_LINES = 4
"""Rows and columns from which on tiles of words are better than vectors, if the depth fills one: measured."""
TILE_ROWS = 16
"""Rows of a tile register of AMX, and words in each, at most."""
_Pair = tuple[PtirDType, PtirDType]


@dataclass(frozen=True)
class Words:
    """
    The layout of packed operands in words: `lhs` and `rhs` are the dtypes of their factors, `factors` to a word.

    `offset` is true if the factors of the left operand have `OFFSET` added.
    """

    instruction: str
    factors: int
    lhs: PtirDType
    rhs: PtirDType
    offset: bool = False
    run: int = 1
    """Words of the contracted axis that one instruction takes; packed operands are filled up to a multiple."""

    @property
    def in_tiles(self) -> bool:
        """Return whether the instruction multiplies tiles of rows by tiles of columns."""
        return self.run > 1


@dataclass(frozen=True)
class DotInstruction:
    """An instruction of `TargetInfo.dots`: layouts of the words it multiplies, by dtypes of the operands."""

    factors: int
    layouts: Mapping[_Pair, _Pair]
    totals: Sequence[PtirDType] = (SI32, UI32)
    run: int = 1
    """As `Words.run`."""


def words_of(host: TargetInfo, lhs: View, rhs: View, total: PtirDType) -> Words | None:
    """
    Return the words that a product of `[rows, depth]` and `[depth, columns]` is computed in; None if it is not.

    Sums have 32 bits, operands 8 or 16, and the depth is a multiple of the factors in a word where it is not filled up.
    """
    operands = lhs.dtype, rhs.dtype
    for name in host.dots:
        row = DOTS[name]
        if total in row.totals and (layout := row.layouts.get(operands)) is not None and _pays(row, lhs, rhs):
            return Words(name, row.factors, *layout, offset=operands[0] is SI8 and layout[0] is UI8, run=row.run)
    return None


def _pays(row: DotInstruction, lhs: View, rhs: View) -> bool:
    """Return whether an instruction applies to operands; tiles, whether they are better than vectors."""
    (rows, depth), columns = lhs.shape[-2:], rhs.shape[-1]
    if row.run == 1:
        return depth % row.factors == 0
    return min(rows, columns) >= LEAST_LINES and depth >= row.run * row.factors


def by_words(view: View, words: Words | None, axis: int) -> View:
    """Return a view as one of words along an axis: each element is the first factor of a word."""
    if words is None:
        return view
    shape, strides = list(view.shape), list(view.strides)
    shape[axis] = -(-shape[axis] // (words.factors * words.run)) * words.run
    strides[axis] *= words.factors
    return View(view.base, view.dtype, tuple(shape), tuple(strides), view.offset)


_SAME_SIGN: Mapping[_Pair, _Pair] = {(SI8, SI8): (SI8, SI8), (UI8, UI8): (UI8, UI8)}
_16_BITS = (SI8, UI8, SI16)
_IN_16_BITS: Mapping[_Pair, _Pair] = {(a, b): (SI16, SI16) for a in _16_BITS for b in _16_BITS}
_BYTES: Mapping[_Pair, _Pair] = {(a, b): (a, b) for a in (SI8, UI8) for b in (SI8, UI8)}
DOTS: Mapping[str, DotInstruction] = {
    "amx.int8": DotInstruction(4, _BYTES, run=TILE_ROWS),
    "amx.bf16": DotInstruction(2, {(BF16, BF16): (BF16, BF16)}, (F32,), run=TILE_ROWS),
    "vpdpbusd": DotInstruction(4, {(UI8, SI8): (UI8, SI8), (SI8, UI8): (SI8, UI8), (SI8, SI8): (UI8, SI8)}),
    "vpmaddwd": DotInstruction(2, _IN_16_BITS),
    "neon.dot": DotInstruction(4, _SAME_SIGN),
    "sve.dot": DotInstruction(4, _SAME_SIGN),
}
"""By the names in `TargetInfo.dots`."""
