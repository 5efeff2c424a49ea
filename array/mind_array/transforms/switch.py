"""`switch`: one of several functions by an index, as `cond` of `cond`: as many decisions as the bits of their number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..array import Array
from ..checks import check_function
from ..dtypes import int64, kind_of, uint64
from ..faults import fault
from ..operands import array_of, cast
from ..rows import elementwise as e
from .control import cond


def switch(index: Any, branches: Sequence[Callable[..., Any]], /, *operands: Any) -> Any:
    """
    Return `branches[index](*operands)`; an index beyond the ends is that of the first or last function.

    `index` is an integer array of rank 0 (E2001 else); a Python integer decides at once. All functions must return the same
    container of the same dtypes and shapes; E1104 names the first place where they differ. Without functions it is E1110.
    """
    functions = [*branches]
    if not functions:
        raise fault("E1110", "switch: no branches, expected at least one function", argument="branches", value="[]")
    for function in functions:
        check_function(function, "switch")
    if type(index) is int:
        return functions[max(0, min(index, len(functions) - 1))](*operands)
    place = array_of(index, "switch", "index")
    if kind_of(place.dtype) not in "iu" or place.shape:
        actual = f"{place.dtype}{list(place.shape)}"
        raise fault("E2001", f"switch: index is {actual}, expected an integer of rank 0", expected="int64[]", actual=actual)
    if place.dtype == uint64:  # in which a number beyond the last one does not fit int64
        place = e.minimum(place, len(functions) - 1)
    return _between(cast(place, int64), functions, 0)(*operands)


def _between(index: Array, functions: Sequence[Callable[..., Any]], first: int) -> Callable[..., Any]:
    """The function that calls one of `functions`, whose indices begin at `first`."""
    if len(functions) == 1:
        return functions[0]
    half = len(functions) // 2
    low, high = (_between(index, part, first + start) for part, start in ((functions[:half], 0), (functions[half:], half)))

    def chosen(*operands: Any) -> Any:
        return cond(e.less(index, first + half), low, high, *operands)

    return chosen
