"""
Weights of a product in their own narrow dtype: read as they are stored, widened and scaled in registers.

Half or a quarter of the memory is read. The numbers that are multiplied are the very ones that the cast, or the multiplication
with a scale, would have given.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field

from mind_dialect.ptir.types import PtirDType

from ..casts import cast
from ..ir import Function
from ..kernel_text import argument
from ..lanes import Lanes
from ..views import View

Decode = Callable[[Lanes, Sequence[str], int, str], str]
"""Elements as numbers that are multiplied, given lanes, the indices of the first, the axis of the lanes, and elements."""


@dataclass(frozen=True)
class Prologue:
    """
    Conversion of each element of the right operand when it is read, before it is multiplied.

    `begin(f, arguments)` is called in each function that reads elements, with the addresses of the first elements of `reads`,
    which have the axes of the operand and are the same in all of its matrices. Texts of equal keys are equal.
    """

    begin: Callable[[Function, Sequence[str]], Decode]
    reads: Sequence[View]
    key: Hashable
    words: str


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

    def number(self, lanes: Lanes, total: PtirDType, x: str, step: str, column: str, *, along_step: bool = False) -> str:
        """Return the factors for elements `x` from a place on, lanes along columns or along the contracted axis."""
        if self.decode is None:
            return cast(lanes, x, self.source.dtype, total)
        f, rank = lanes.function, len(self.batch)
        at = [*self.batch, f.add(self.step, step), f.add(self.column, column)]
        return self.decode(lanes, at, rank if along_step else rank + 1, x)


def corner(
    f: Function, source: View, prologue: Prologue | None, first: int, batch: Sequence[str], step: str = "0", column: str = "0"
) -> Corner:
    """The beginning of a part of the right operand; its prologue's addresses are the arguments from `first` on."""
    if prologue is None:
        return Corner(source)
    addresses = [argument(f, first + i, f"w{i}") for i in range(len(prologue.reads))]
    return Corner(source, prologue.begin(f, addresses), batch, step, column)
