"""
Lowered values as the values that a branch or a loop passes on, and back.

    !shape.size       an index, and an i1 that says whether it is valid
    !shape.shape      an index per extent, and an i1 that says whether it is valid
    !shape.witness    an i1
    all else          itself

The i1 is left out where all that is passed on is known to be valid.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, SSAValue

from mind_dialect.shape.types import ShapeType, SizeType, WitnessType, index

from .numbers import VALID, Check, Numbers
from .operands import Holds, Lowered, Refused, Shape, SizeOperand, size, truth

PASSED_ON = (SizeType, ShapeType, WitnessType)
"""The types of the dialect that branches and loops may pass on."""


@dataclass(frozen=True)
class PassedOn:
    """The form in which a value is passed on: `count` numbers, and a validity if `checked`, with reasons why it may fail."""

    type: Attribute
    count: int = 1
    checked: bool = False
    reasons: tuple[str, ...] = ()

    @property
    def types(self) -> list[Attribute]:
        """The types of the values."""
        if isinstance(self.type, WitnessType):
            return [i1]
        if not isinstance(self.type, SizeType | ShapeType):
            return [self.type]
        return [*[index] * self.count, *[i1] * self.checked]

    def packed(self, to: Numbers, x: Lowered) -> list[SSAValue]:
        """Return the values for `x`, which is of the dialect; refused for a shape of another rank."""
        if isinstance(self.type, WitnessType):
            return [to.truth(truth(x))]
        numbers, check = _numbers(to, x)
        if len(numbers) != self.count:
            raise Refused(f"it passes on shapes of ranks {self.count} and {len(numbers)}, expected one rank")
        return [*map(to.number, numbers), *([to.truth(check.holds)] if self.checked else [])]

    def unpacked(self, to: Numbers, values: Sequence[SSAValue]) -> Lowered:
        """Return what values stand for."""
        if isinstance(self.type, WitnessType):
            return Holds(values[0], self.reasons)
        if not isinstance(self.type, SizeType | ShapeType):
            return values[0]
        numbers = values[: self.count]
        if not self.checked:
            for n in numbers:
                to.know_natural(n)
        check = Check(values[-1], self.reasons) if self.checked else VALID
        return SizeOperand(numbers[0], check) if isinstance(self.type, SizeType) else Shape(tuple(numbers), check)


def _numbers(to: Numbers, x: Lowered) -> tuple[list[Any], Check]:
    """Return the numbers of a size or shape, and whether they are valid, so that none that is valid is negative."""
    if isinstance(x, Shape):
        return list(x.extents), x.check
    found = size(to, x)
    return [found.n], found.check if found.natural else to.all_of([found.check, to.natural(found.n)])


def packing(to: Numbers, x: Lowered, type: Attribute, *, checked: bool | None = None) -> PassedOn:
    """Return how to pass on a value of a type; without `checked` it has a validity unless it is known to be valid here."""
    if not isinstance(type, PASSED_ON):
        return PassedOn(type)
    if isinstance(type, WitnessType):
        return PassedOn(type, reasons=x.reasons if isinstance(x, Holds) else ())
    numbers, check = _numbers(to, x)
    return PassedOn(type, len(numbers), to.known(check.holds) is not True if checked is None else checked, check.reasons)


def joined(a: PassedOn, b: PassedOn) -> PassedOn:
    """Return how to pass on either of two values of one type."""
    return PassedOn(a.type, a.count, a.checked or b.checked, tuple(dict.fromkeys((*a.reasons, *b.reasons))))
