"""
Weights of a product in their own narrow dtype: read as they are stored, widened and scaled in registers.

Half or a quarter of the memory is read. The numbers that are multiplied are the very ones that the cast, or the multiplication
with a scale, would have given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir.types import PtirDType

from ..casts import cast
from ..ir import Function
from ..kernel_text import argument
from ..lanes import Lanes
from ..views import View
from .chain import Decode
from .product import EmittedProduct, arguments
from .word_code import load_words
from .words import Words


@dataclass(frozen=True)
class Corner:
    """
    Beginning of a part of the right operand in a function that reads it, and what becomes of its elements.

    `batch`, `step` and `column` are indices; without `decode` elements are converted alone.
    """

    source: View
    decode: Decode | None = None
    batch: Sequence[str] = field(default_factory=tuple[str, ...])
    step: str = "0"
    column: str = "0"
    words: Words | None = None

    def read(self, lanes: Lanes, total: PtirDType, base: str, at: tuple[str, str, str], *, along_step: bool = False) -> str:
        """
        Return the factors from a place on as `number` does, or words of them.

        `at` are the index from `base` on, the step and the column.
        """
        index, step, column = at
        stride = self.source.strides[-2] if along_step else self.source.strides[-1]
        if self.words is None:
            x = lanes.load(self.source.dtype, base, index, stride)
            return self.number(lanes, total, x, step, column, along_step=along_step)
        stride *= self.words.factors if along_step else 1
        return load_words(lanes, self.words, self.source, -2, base, index, stride)

    def number(self, lanes: Lanes, total: PtirDType, x: str, step: str, column: str, *, along_step: bool = False) -> str:
        """Return the factors for elements `x` from a place on, lanes along columns or along the contracted axis."""
        if self.decode is None:
            return cast(lanes, x, self.source.dtype, total)
        f, rank = lanes.function, len(self.batch)
        at = [*self.batch, f.add(self.step, step), f.add(self.column, column)]
        return self.decode(lanes, at, rank if along_step else rank + 1, x)


def corner(f: Function, product: EmittedProduct, first: int, batch: Sequence[str], step: str = "0", column: str = "0") -> Corner:
    """The beginning of a part of the right operand; its prologue's addresses are the arguments from `first` on."""
    if product.decode is None or product.prologue is None:
        return Corner(product.rhs, step=step, words=product.cut.words)
    addresses = [argument(f, first + i, f"w{i}") for i in range(len(product.prologue.reads))]
    return Corner(product.rhs, product.decode(f, addresses), batch, step, column)


def corner_of(f: Function, product: EmittedProduct, batch: Sequence[str], step: str = "0", column: str = "0") -> Corner:
    """Return the corner of the right operand that is read by a function of the part that multiplies."""
    names = list(arguments(product))
    first = names.index("w0") if "w0" in names else 0
    return corner(f, product, first, batch, step, column)
