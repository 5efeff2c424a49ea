"""
The lattice of sizes and shapes before a program runs: values, their order, and every function of the shape dialect.

    size   3 | "B" | "?" | Invalid(reason)          known, named, unknown, or no size at all
    shape  (3, "B", "?") | UNRANKED | Invalid(reason)

A value stands for the sizes or shapes that it may turn out to be. `"?"` may be any size, a name the one size that it has
throughout a call, Invalid none: where it stands, the program is wrong for all inputs. So `x` is below `y` in the order when it
says more: Invalid below every ranked shape, a size below `"?"`, every shape below UNRANKED. Of sizes without names, `join` is
the greatest lower bound and `generalize` the least upper bound. A name and a size (or two names) that must be equal may well
be: their join is the size (the first name in alphabetical order), which is above what both allow, and never below it.

Functions give the least value above all results that are possible when nothing fails, Invalid if none is, except that sums and
products with an unknown size are unknown, as the specification has it. The leftmost invalid operand gives the reason. Sizes
are at most 2^63 - 1 and ranks at most `MAX_RANK`; beyond is Invalid. Source: the early specification of MLIR's shape dialect,
with its upstream successor for what that lacks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import reduce, wraps
from math import prod
from typing import TypeVar, cast

from ..errors import brief
from ..extents.dims import add_dims, are_equal, are_unequal, floordiv_dims, max_dims, min_dims, mul_dims, simplicity
from ..ptir_shapes.dims import MAX_EXTENT, UNKNOWN

MAX_RANK = 1000
"""Shapes of more dimensions are Invalid: nothing that computes has them, and their text would have no bound."""


@dataclass(frozen=True, slots=True)
class Invalid:
    """No size or shape: what it is computed from is contradictory. Two are equal whatever their reasons."""

    reason: str = field(compare=False)


@dataclass(frozen=True, slots=True)
class Unranked:
    """Any shape whatsoever."""


UNRANKED = Unranked()
Size = int | str | Invalid
Extent = int | str
Ranked = tuple[Extent, ...]
Shape = Ranked | Unranked | Invalid
Truth = bool | None
"""None is unknown."""

A = TypeVar("A")
B = TypeVar("B")
R = TypeVar("R")


def of_valid(function: Callable[[A, B], R]) -> Callable[[A | Invalid, B | Invalid], R | Invalid]:
    """`function` of two values, or the leftmost invalid one."""

    @wraps(function)
    def propagating(a: A | Invalid, b: B | Invalid) -> R | Invalid:
        return a if isinstance(a, Invalid) else b if isinstance(b, Invalid) else function(a, b)

    return propagating


def invalid(*values: object) -> Invalid | None:
    """The leftmost invalid value, if any."""
    for value in values:
        if isinstance(value, Invalid):
            return value
    return None


def ranked(extents: Sequence[Size]) -> Ranked | Invalid:
    """
    The shape of these extents.

    >>> ranked([3, "?", "B"]), ranked([3, -1])
    ((3, '?', 'B'), Invalid(reason='negative extent -1 in [3, -1]'))
    """
    if len(extents) > MAX_RANK:
        return Invalid(f"rank {len(extents)} is more than {MAX_RANK}")
    for extent in extents:
        if isinstance(extent, Invalid):
            return extent
        if isinstance(extent, int) and extent < 0:
            return Invalid(f"negative extent {extent} in {brief(list(extents))}")
    return tuple(extents)  # pyright: ignore[reportReturnType]


def show(value: Size | Shape) -> str:
    """
    In the specification's syntax, names included.

    >>> show((3, "?", "B")), show(UNRANKED), show(Invalid("why")), show("?"), show(())
    ('[3, ?, B]', '[*]', '[invalid]', '?', '[]')
    """
    if isinstance(value, Invalid):
        return "[invalid]"
    if isinstance(value, Unranked):
        return "[*]"
    return f"[{', '.join(map(str, value))}]" if isinstance(value, tuple) else str(value)


# The order


@of_valid
def join_size(a: Extent, b: Extent) -> Size:
    """
    Return the greatest lower bound: what is known of one size that is both.

    >>> join_size("?", 3), join_size("B", 3), join_size("C", "B"), join_size("P+T", "T"), join_size(3, 4)
    (3, 3, 'B', 'T', Invalid(reason='sizes 3 and 4 differ'))
    """
    if a == b or b == UNKNOWN:
        return a
    if a == UNKNOWN:
        return b
    if are_unequal(a, b):
        return Invalid(f"sizes {a} and {b} differ")
    return min(a, b, key=simplicity)


def join(a: Shape, b: Shape, error: str | None = None) -> Shape:
    """
    Return the greatest lower bound: what is known of one shape that is both; upstream calls it `meet`. `error` is the reason if
    it is none.

    >>> join(UNRANKED, (1, "?")), join((1, 2), (1, "?")), join((), UNRANKED), join(("?", 3), (2, "?"))
    ((1, '?'), (1, 2), (), (2, 3))
    >>> join((), ("?", "?"))
    Invalid(reason='shapes [] and [?, ?] differ in rank')
    """
    if isinstance(a, Invalid) or isinstance(b, Invalid):
        return a if isinstance(a, Invalid) else b
    if isinstance(a, Unranked) or a == b:
        return b
    if isinstance(b, Unranked):
        return a
    if len(a) != len(b):
        return Invalid(error or f"shapes {brief(show(a))} and {brief(show(b))} differ in rank")
    found: list[Extent] = []
    for i, (m, n) in enumerate(zip(a, b, strict=True)):
        extent = m if m == n or n == UNKNOWN else n if m == UNKNOWN else join_size(m, n)
        if isinstance(extent, Invalid):
            return Invalid(error or f"shapes {brief(show(a))} and {brief(show(b))} differ at dimension {i}: {m} and {n}")
        found.append(extent)
    return tuple(found)


def generalize_size(a: Size, b: Size) -> Size:
    """
    Return the least upper bound: what is known of a size that is one or the other.

    >>> generalize_size(3, 3), generalize_size(3, 4), generalize_size("B", 3), generalize_size(3, Invalid("why"))
    (3, '?', '?', 3)
    """
    if isinstance(a, Invalid) or isinstance(b, Invalid):
        return b if isinstance(a, Invalid) and not isinstance(b, Invalid) else a
    return a if a == b else UNKNOWN


def generalize(a: Shape, b: Shape) -> Shape:
    """
    Return the least upper bound: what is known of a shape that is one or the other, as after two branches.

    >>> generalize((1, 2), (1, 3)), generalize((1,), (1, 3)), generalize(Invalid("why"), (3,))
    ((1, '?'), Unranked(), (3,))
    """
    if isinstance(a, Invalid) or isinstance(b, Invalid):
        return b if isinstance(a, Invalid) and not isinstance(b, Invalid) else a
    if isinstance(a, Unranked) or isinstance(b, Unranked) or len(a) != len(b):
        return UNRANKED
    return tuple(m if m == n else UNKNOWN for m, n in zip(a, b, strict=True))


# Sizes


def _checked(n: int, expression: Callable[[], str]) -> Size:
    return n if -MAX_EXTENT <= n <= MAX_EXTENT else Invalid(f"size overflow: {brief(expression())} does not fit 64 bits")


@of_valid
def add(a: Extent, b: Extent) -> Size:
    """
    The sum; unknown if either is.

    >>> add(2, 3), add(2, "?"), add("B", 0), add("B", 1), add(2**62, 2**62).reason
    (5, '?', 'B', 'B+1', 'size overflow: 4611686018427387904 + 4611686018427387904 does not fit 64 bits')
    """
    if isinstance(a, int) and isinstance(b, int):
        return _checked(a + b, lambda: f"{a} + {b}")
    return a if b == 0 else b if a == 0 else add_dims(a, b)


@of_valid
def mul(a: Extent, b: Extent) -> Size:
    """
    The product; unknown if either is, also where the other is 0.

    >>> mul(2, 3), mul("?", 0), mul("B", 1), mul("B", 2)
    (6, '?', 'B', '2*B')
    """
    if isinstance(a, int) and isinstance(b, int):
        return _checked(a * b, lambda: f"{a} * {b}")
    return a if b == 1 else b if a == 1 else mul_dims(a, b)


@of_valid
def div(a: Extent, b: Extent) -> Size:
    """
    The quotient, rounded down.

    >>> div(7, 2), div("?", 2), div("B", 1), div("4*B", 2), div("?", 0)
    (3, '?', 'B', '2*B', Invalid(reason='integer division or modulo by zero'))
    """
    if b == 0:
        return Invalid("integer division or modulo by zero")
    if isinstance(a, int) and isinstance(b, int):
        return _checked(a // b, lambda: f"{a} / {b}")
    return a if b == 1 else floordiv_dims(a, b)


@of_valid
def max_size(a: Extent, b: Extent) -> Size:
    """
    The larger size.

    >>> max_size(2, 3), max_size("B", 0), max_size("?", 3), max_size("B", "B")
    (3, 'B', '?', 'B')
    """
    if isinstance(a, int) and isinstance(b, int):
        return max(a, b)
    return max_dims(a, b)


@of_valid
def min_size(a: Extent, b: Extent) -> Size:
    """
    The smaller size.

    >>> min_size(2, 3), min_size("?", 0), min_size("?", 3)
    (2, 0, '?')
    """
    if isinstance(a, int) and isinstance(b, int):
        return min(a, b)
    return 0 if 0 in (a, b) and UNKNOWN in (a, b) else min_dims(a, b)


# Shapes


def _extentwise(name: str, of_sizes: Callable[[Size, Size], Size], a: Shape, b: Shape) -> Shape:
    """`of_sizes` of the extents of two shapes of one rank."""
    if isinstance(a, Invalid) or isinstance(b, Invalid):
        return a if isinstance(a, Invalid) else b
    if isinstance(a, Unranked):
        if isinstance(b, Unranked):
            return UNRANKED
        a = (UNKNOWN,) * len(b)
    elif isinstance(b, Unranked):
        b = (UNKNOWN,) * len(a)
    if len(a) != len(b):
        return Invalid(f"{name} of shapes {brief(show(a))} and {brief(show(b))} of different rank")
    return ranked(list(map(of_sizes, a, b)))


def max_shape(a: Shape, b: Shape) -> Shape:
    """
    The larger extent in each dimension.

    >>> max_shape((2, 3), (4, 1)), max_shape((2, 3), UNRANKED), max_shape((2,), (2, 3)).reason
    ((4, 3), ('?', '?'), 'max of shapes [2] and [2, 3] of different rank')
    """
    return _extentwise("max", max_size, a, b)


def min_shape(a: Shape, b: Shape) -> Shape:
    """
    The smaller extent in each dimension.

    >>> min_shape((2, 3), (4, 1))
    (2, 1)
    """
    return _extentwise("min", min_size, a, b)


def num_elements(shape: Shape) -> Size:
    """
    The product of the extents; of large ones and a 0 it is 0.

    >>> num_elements((2, 3)), num_elements(()), num_elements((3, "?")), num_elements((3, "B")), num_elements((2**62, 2, 0))
    (6, 1, '?', '3*B', 0)
    """
    if not isinstance(shape, tuple):
        return shape if isinstance(shape, Invalid) else UNKNOWN
    sizes = [extent for extent in shape if isinstance(extent, int)]
    if len(sizes) < len(shape):
        return reduce(mul_dims, [extent for extent in shape if isinstance(extent, str)], prod(sizes))
    return _checked(prod(sizes), lambda: f"the product of {show(shape)}")


def rank(shape: Shape) -> Size:
    """
    The number of dimensions.

    >>> rank((2, "?")), rank(UNRANKED)
    (2, '?')
    """
    return len(shape) if isinstance(shape, tuple) else shape if isinstance(shape, Invalid) else UNKNOWN


@of_valid
def get_extent(shape: Ranked | Unranked, dim: Extent) -> Size:
    """
    The extent of dimension `dim`; NumPy's wording if there is none.

    >>> get_extent((2, 3), 1), get_extent((2, 3), "?"), get_extent(("B", "B"), "?"), get_extent(UNRANKED, 0)
    (3, '?', 'B', '?')
    >>> get_extent((2, 3), 2)
    Invalid(reason='axis 2 is out of bounds for array of dimension 2')
    """
    rank = len(shape) if isinstance(shape, tuple) else MAX_RANK
    if (isinstance(dim, int) and not 0 <= dim < rank) or rank == 0:
        return Invalid(f"axis {dim} is out of bounds for array of dimension {rank}")
    if not isinstance(shape, tuple):
        return UNKNOWN
    if isinstance(dim, int):
        return shape[dim]
    return shape[0] if shape.count(shape[0]) == rank else UNKNOWN


def eq(*shapes: Shape) -> Truth:
    """
    Return whether all shapes are equal, if that is certain; two that are invalid are.

    >>> eq((2, "B"), (2, "B")), eq((2,), ("?",)), eq(("?", 2), ("?", 3)), eq((), UNRANKED), eq(("?",), (2,), (3,))
    (True, None, False, None, False)
    """
    first = shapes[0] if shapes else UNRANKED
    bad = sum(isinstance(shape, Invalid) for shape in shapes)
    if bad or len(shapes) < 2:
        return bad in (0, len(shapes))
    if isinstance(reduce(join, shapes), Invalid):
        return False
    return True if all(_are_equal(first, shape) for shape in shapes) else None


def _are_equal(a: Shape, b: Shape) -> bool:
    ranked = isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b)
    return ranked and all(map(are_equal, cast(Ranked, a), cast(Ranked, b)))


def any_of(*shapes: Shape) -> Shape:
    """
    Some shape that all of them are; what differs is undefined, so nothing is known of it.

    >>> any_of((2, "?"), ("?", 3)), any_of((2,), (3,)), any_of()
    ((2, 3), Unranked(), Unranked())
    """
    if (bad := invalid(*shapes)) is not None:
        return bad
    found = reduce(join, shapes, UNRANKED)
    return UNRANKED if isinstance(found, Invalid) else found
