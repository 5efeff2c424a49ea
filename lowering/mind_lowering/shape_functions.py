"""
Functions that the Python of the target `mind-shape-python` calls: errors with NumPy's wording, and all beyond an operator.

A shape is a tuple of sizes. A size that only the run of the program itself can tell is None; constraints on it are left to that.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NoReturn

from mind_dialect.errors import CATALOGUE, MindError
from mind_dialect.extents.dims import misfit_text
from mind_dialect.ptir_shapes import MAX_EXTENT

Shape = tuple[int | None, ...]


def fail(
    message: str, code: str = "E9020", of: str = "", lhs: object = None, rhs: object = None, names: str = "", **context: object
) -> MindError:
    """
    The coded error of a constraint that does not hold.

    `{lhs}` and `{rhs}` in the message stand for the numbers compared, `names` says of which arguments these are.
    """
    message = message.replace("{lhs}", str(lhs)).replace("{rhs}", str(rhs)) + (f"; {names}" if names else "")
    code = code if code in CATALOGUE else "E9020"
    found = {"op": of, **dict.fromkeys(CATALOGUE[code].context), "reason": message, "extents": (lhs, rhs), **context}
    return MindError(code, f"{of}: {message}" if of else message, found)


def misfit(what: str, given: Shape, expected: str) -> MindError:
    """The error of an input of another rank, or of another size where that is static."""
    return fail(f"{what} has shape {numpy_tuple(given)}, expected {expected}", given=given, expected=expected)


def unequal(what: str, i: int, name: str, found: int, bound: int) -> MindError:
    """The error of a dimension that has another size than its name elsewhere, or than its expression."""
    return fail(misfit_text(what, i, name, found, bound), "E8001", name=name, extents=(bound, found))


def broken(declared: str, *sizes: tuple[str, int]) -> MindError:
    """The error of sizes, with the names that have them, that break what a function declares."""
    given = ", ".join(f"{name} = {n}" for name, n in sizes)
    return fail(f"{given}; declared is {declared!r}", "E8010", declaration=declared, sizes=dict(sizes))


def numpy_tuple(shape: Sequence[object]) -> str:
    """
    A shape in NumPy's messages.

    >>> numpy_tuple((2, 3)), numpy_tuple((2,)), numpy_tuple((None, 2))
    ('(2,3)', '(2,)', '(?,2)')
    """
    texts = ["?" if n is None else str(n) for n in shape]
    return f"({texts[0]},)" if len(texts) == 1 else f"({','.join(texts)})"


def differ(of: str, *shapes: Shape, names: str = "") -> MindError:
    """The error of shapes that must be equal and are not, or must broadcast and do not; `names` as of `fail`."""
    shown = " ".join(map(numpy_tuple, shapes))
    message = f"operands could not be broadcast together with shapes {shown}"
    return fail(message, "E3001", of, names=names, shapes=shapes, dimension=None, extents=None)


def broadcast(of: str, *shapes: Shape) -> Shape:
    """
    The shape that shapes broadcast to.

    >>> broadcast("", (2, 1), (3,)), broadcast("", (None, 3), (1,))
    ((2, 3), (None, 3))
    >>> broadcast("add %3", (2,), (3,))
    Traceback (most recent call last):
    ...
    mind_dialect.errors.MindError: E3001: add %3: operands could not be broadcast together with shapes (2,) (3,)
    """
    found: list[int | None] = [1] * max(map(len, shapes), default=0)
    for shape in shapes:
        for i, n in enumerate(shape, len(found) - len(shape)):
            if n != 1 and n != found[i]:
                if n is None:
                    found[i] = None if found[i] == 1 else found[i]
                elif found[i] is None or found[i] == 1:
                    found[i] = n
                else:
                    raise differ(of, *shapes)
    return tuple(found)


def equal(of: str, *shapes: Shape) -> None:
    """Raise unless all shapes are equal."""
    for shape in shapes[1:]:
        if len(shape) != len(shapes[0]) or any(m != n and None not in (m, n) for m, n in zip(shape, shapes[0], strict=True)):
            raise differ(of, *shapes)


def are_equal(*shapes: Shape) -> bool:
    """Return whether all shapes are equal."""
    return all(shape == shapes[0] for shape in shapes[1:])


def broadcastable(*shapes: Shape) -> bool:
    """Return whether shapes broadcast together."""
    try:
        broadcast("", *shapes)
    except MindError:
        return False
    return True


def extent(shape: Shape, i: int) -> int | None:
    """Extent `i` of a shape; raises if there is none."""
    if not 0 <= i < len(shape):
        raise fail(f"axis {i} is out of bounds for array of dimension {len(shape)}")
    return shape[i]


def split(shape: Shape, i: int) -> tuple[Shape, Shape]:
    """The extents before `i`, which counts from the end if negative, and the others."""
    if not -len(shape) <= i <= len(shape):
        raise fail(f"index {i} is out of bounds for a split of rank {len(shape)}")
    place = i + len(shape) if i < 0 else i
    return shape[:place], shape[place:]


def divide(a: int, b: int) -> int:
    """`a / b`, rounded down."""
    if b == 0:
        raise fail("integer division or modulo by zero")
    return a // b


def size(n: int) -> int:
    """An index as a size."""
    if n < 0:
        raise fail(f"negative size {n}")
    return n


def meet(a: Shape, b: Shape, reason: str | None) -> Shape:
    """Return what is known of one shape that is both."""
    if len(a) != len(b) or any(m != n and None not in (m, n) for m, n in zip(a, b, strict=False)):
        raise fail(reason or f"shapes {numpy_tuple(a)} and {numpy_tuple(b)} differ")
    return tuple(n if m is None else m for m, n in zip(a, b, strict=True))


def meet_size(a: int, b: int, reason: str | None) -> int:
    """Return what is known of one size that is both."""
    if a != b:
        raise fail(reason or f"sizes {a} and {b} differ")
    return a


def extremes(which: str, a: Shape, b: Shape) -> Shape:
    """The larger (`max`) or smaller (`min`) extent in each dimension."""
    if len(a) != len(b):
        raise fail(f"{which} of shapes {numpy_tuple(a)} and {numpy_tuple(b)} of different rank")
    chosen = max if which == "max" else min
    return tuple(None if m is None or n is None else chosen(m, n) for m, n in zip(a, b, strict=True))


def count(shape: Shape) -> int | None:
    """The number of elements of a shape."""
    return None if None in shape else prod(n for n in shape if n is not None)


def bounded(*sizes: int | None) -> None:
    """Raise if a result would have an extent that nothing can hold."""
    for n in sizes:
        if n is not None and not 0 <= n <= MAX_EXTENT:
            raise fail(f"a result has an extent of {n}, expected 0 to {MAX_EXTENT}", "E3006", value=n)


def refuse(reason: str) -> NoReturn:
    """Raise for what cannot succeed whatever the inputs."""
    raise fail(reason)


def show(value: Shape | int | None) -> None:
    """Print a size or shape as `debug_print` does."""
    sizes = ["?" if n is None else str(n) for n in (value if isinstance(value, tuple) else (value,))]
    print(f"[{', '.join(sizes)}]" if isinstance(value, tuple) else sizes[0])


FUNCTIONS = (
    *(
        fail,
        misfit,
        unequal,
        broken,
        differ,
        broadcast,
        equal,
        are_equal,
        broadcastable,
        extent,
        split,
        divide,
        size,
        meet,
        meet_size,
    ),
    *(extremes, count, bounded, refuse, show),
)
"""Functions that the printed Python may call."""
