"""
Extents up to which callers read each result, in the attribute `mind.extents` of a function:

    func.func @f(%x: tensor<8xf32>, %T_size: tensor<si64>) -> tensor<8xf32> attributes {mind.extents = [array<i64: 1>]}

Each result has a list, one integer per dimension: the number of the argument that holds how many elements are read along it, or
-1 for all of them. The argument is a number in si64. Elements beyond may be anything, so no kernel has to compute them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, FunctionType
from xdsl.ir import Attribute, Operation

from .codecs import INTEGERS
from .errors import MindError, brief, error
from .ptir.types import SI64, read_type

READ_EXTENTS = "mind.extents"
"""The attribute of a function, a list of integers for each result."""
ALL = -1
"""Of a dimension all of whose elements are read."""


def read_extents(func: Operation) -> tuple[tuple[int, ...], ...] | None:
    """
    Return for each result the numbers of the arguments that hold how much of it is read; None if the function states nothing.

    E4000 for an attribute that does not fit the function's type, which names the result.
    """
    given, type = func.attributes.get(READ_EXTENTS), func.properties.get("function_type")
    if given is None:
        return None
    lists = cast("ArrayAttr[Attribute]", given).data if isinstance(given, ArrayAttr) else ()
    given = cast("Attribute", given)
    if not isinstance(type, FunctionType) or len(lists) != len(type.outputs):
        raise _wrong(given, "a list of integers for each result")
    found = tuple([INTEGERS.value(each) for each in lists])
    for i, (numbers, result) in enumerate(zip(found, type.outputs, strict=True)):
        if len(numbers) != len(read_type(result).shape):
            raise _wrong(given, f"{len(read_type(result).shape)} integers for result {i}")
        for number in numbers:
            if number != ALL and not (0 <= number < len(type.inputs.data) and is_size(type.inputs.data[number])):
                raise _wrong(given, f"-1 or the number of an argument of type tensor<si64> for result {i}")
    return found


def state_read_extents(func: Operation, extents: Sequence[Sequence[int]]) -> None:
    """State how much of each result of a function is read."""
    func.attributes[READ_EXTENTS] = ArrayAttr([INTEGERS.attribute(list(numbers)) for numbers in extents])


def wrong_read_extents(func: Operation) -> Iterator[MindError]:
    """Yield what is wrong with the attribute of a function, as `read_extents` raises it."""
    try:
        read_extents(func)
    except MindError as e:
        yield e.at(func, func.name)


def is_size(type: Attribute) -> bool:
    """Return whether an argument of a type may hold an extent: a number in si64."""
    try:
        return read_type(type) == (SI64, ())
    except MindError:
        return False


def _wrong(given: Attribute, expected: str) -> MindError:
    shown = brief(given)
    return error("E4000", f"{READ_EXTENTS} is {shown}, expected {expected}", given=shown, expected=expected)
