"""
Errors in the terms of the caller: coded, of the built-in exception class that NumPy raises, and with the line of the user's code.

A `MindError` of the dialect becomes one here that is also a `TypeError`, `ValueError` or `IndexError`, by its code, so that code
written for NumPy catches what it expects.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any

import numpy as np

from mind_dialect.errors import MindError, error

from .places import user_place


class ArrayTypeError(MindError, TypeError):
    """A coded error about dtypes, kinds of arguments or containers."""


class ArrayValueError(MindError, ValueError):
    """A coded error about values, shapes and options."""


class ArrayIndexError(MindError, IndexError, ValueError):
    """A coded error about axes and indices, as NumPy's `AxisError`: both an `IndexError` and a `ValueError`."""


class ArrayTracingError(MindError, TypeError, RuntimeError):
    """A coded error about the use of a traced array."""


class ArrayAttributeError(MindError, AttributeError):
    """A coded error about a name that the namespace or an array lacks."""


class ArrayNotImplementedError(MindError, NotImplementedError):
    """A coded error about what an operation does not support."""


class ArrayOverflowError(MindError, OverflowError):
    """A coded error about a Python number that a dtype cannot hold."""


class ArrayLinAlgError(MindError, np.linalg.LinAlgError):
    """A coded error about a matrix that a decomposition fails for; a `ValueError`, as NumPy's."""


class ArrayZeroDivisionError(MindError, ZeroDivisionError):
    """A coded error about an integer divided by zero."""


_PLACED = re.compile(r" \([^()]+:\d+\)$")
_BY_CODE: dict[str, type[MindError]] = {
    **dict.fromkeys(("E2001", "E2003", "E2004", "E2005", "E2007", "E1104", "E1105", "E1107"), ArrayTypeError),
    **dict.fromkeys(("E1101", "E1102", "E1103", "E1106", "E1108", "E1109"), ArrayTracingError),
    **dict.fromkeys(("E3004", "E3005", "E6001", "E4012"), ArrayIndexError),
    "E8004": ArrayZeroDivisionError,
    "E5001": ArrayNotImplementedError,
    "E7003": ArrayValueError,
    "E6003": ArrayNotImplementedError,
}


def similar(name: str, known: Sequence[str]) -> str:
    """Return the end of a message that lists names like `name`, empty where there are none."""
    near = get_close_matches(name, known, 3)
    return f"; there are {', '.join(near)}" if near else ""


def fault(code: str, message: str, *, kind: type[MindError] | None = None, place: str | None = None, **context: Any) -> MindError:
    """
    Make a coded error whose message ends with the line of the user's code; `context` is what the catalogue lists for the code.

    >>> str(fault("E3004", "axis 3 is out of range for rank 2", place="model.py:4", axis=3, rank=2))
    'E3004: axis 3 is out of range for rank 2 (model.py:4)'
    """
    return at_user(error(code, message, **context), kind, place)


def translated(found: MindError) -> MindError:
    """Return an error of the dialect as one of this package; one that is so already stays as it is."""
    return found if is_ours(found) else at_user(found, None, None)


def is_ours(found: MindError) -> bool:
    """Return whether an error is one of this package."""
    return isinstance(found, _CLASSES)


def at_user(found: MindError, kind: type[MindError] | None, place: str | None) -> MindError:
    """
    Return an error as one of this package, its message ending with a place: that of the user's code unless given.

    A place that the message has stays: the error arose in the user's code, and passes have named the op since.
    """
    cls = kind or _BY_CODE.get(found.code, ArrayValueError)
    where = "" if _PLACED.search(found.message) else user_place() if place is None else place
    message = f"{found.message} ({where})" if where else found.message
    return cls(found.code, message, found.context, found.op, found.category)


_CLASSES = (
    *(ArrayTypeError, ArrayValueError, ArrayIndexError, ArrayTracingError, ArrayAttributeError, ArrayNotImplementedError),
    *(ArrayOverflowError, ArrayZeroDivisionError, ArrayLinAlgError),
)


@contextmanager
def in_user_terms() -> Generator[None]:
    """Let errors of the dialect leave the block as errors of this package."""
    try:
        yield
    except MindError as e:
        if isinstance(e, _CLASSES):
            raise
        raise translated(e) from None
