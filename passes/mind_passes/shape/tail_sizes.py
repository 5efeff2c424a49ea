"""
The sizes of dimensions as numbers at run time: of names those that are inputs, of expressions what is computed of these.

A padded array must hold all elements of each size, so an expression may not fall where one of its names grows: of `T-1` and
`P+T` the bound is the greatest value, of `8-T` it is not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from xdsl.ir import SSAValue

from mind_dialect.extents import Extent, Facts
from mind_dialect.extents.dims import extent_of, names_in
from mind_dialect.extents.monotone import is_nondecreasing
from mind_dialect.extents.operations import Algebra, fold
from mind_dialect.ptir import AddOp, DivOp, MaximumOp, MulOp, PtirOp, SubOp
from mind_dialect.ptir.types import SI64
from mind_dialect.ptir_shapes import UNKNOWN, Dim

from ..ptir.construct import Value, cast, compare, elementwise, scalar, sub

Put = Callable[[Value], SSAValue]
"""Inserts a new op, and the new ones that it uses, and returns its result."""


class Refused(Exception):
    """An op cannot be masked, for the reason in the message."""


@dataclass
class Sizes:
    """The sizes of dimensions of a block, each computed before the first op that needs it."""

    inputs: Mapping[str, SSAValue]
    _known: dict[Dim, SSAValue] = field(default_factory=dict[Dim, SSAValue])
    _grows: set[Dim] = field(default_factory=set[Dim])

    def demand_growing(self, n: Dim, what: str = "a dimension") -> None:
        """Refuse a dimension whose bound may not hold each of its sizes, or whose size is not known."""
        if isinstance(n, int) or n in self.inputs or n in self._grows:
            return
        if n == UNKNOWN or any(name not in self.inputs for name in names_in(n)):
            raise Refused(f"{what} is {n}, expected one of the names, an expression of them or a number")
        facts = _facts(n)
        for name in names_in(n):
            if not is_nondecreasing(extent_of(n), name, facts):
                raise Refused(f"{what} is {n}, which is not known to grow with {name}")
        self._grows.add(n)

    def is_positive(self, n: Dim) -> bool:
        """Return whether a dimension has an element for all sizes of its names."""
        return n > 0 if isinstance(n, int) else n != UNKNOWN and _facts(n).ge(extent_of(n), extent_of(1)) is True

    def of(self, n: Dim, put: Put) -> SSAValue:
        """Return the size of a dimension, a number in si64."""
        if isinstance(n, str) and n in self.inputs:
            return self.inputs[n]
        if n not in self._known:
            self._known[n] = put(self._computed(extent_of(n), put))
        return self._known[n]

    def _computed(self, e: Extent, put: Put) -> Value:
        def number(n: int) -> Value:
            return scalar(n, SI64)

        def of_two(op: type[PtirOp]) -> Callable[[Value, Value], Value]:
            return lambda a, b: put(elementwise(op, put(a), put(b)))

        def quotient(a: Value, b: Value) -> Value:
            return _rounded_down(put(a), put(b), put)

        add, subtract, multiply, larger = (of_two(op) for op in (AddOp, SubOp, MulOp, MaximumOp))
        return fold(e, Algebra(number, self.inputs.__getitem__, add, subtract, multiply, quotient, larger))


def _rounded_down(x: SSAValue, divisor: SSAValue, put: Put) -> SSAValue:
    """Return the quotient by a positive number, rounded down; that of `div` is cut towards 0."""
    quotient = put(elementwise(DivOp, x, divisor))
    rest = put(elementwise(SubOp, x, elementwise(MulOp, quotient, divisor)))
    return put(sub(quotient, cast(compare("less", rest, scalar(0, SI64)), SI64)))


def _facts(n: Dim) -> Facts:
    """Return what is known of the names in a dimension: sizes are at least 1."""
    facts = Facts()
    for name in names_in(n):
        facts.assume_range(name, 1)
    return facts
