"""Tests for kinds of Python values that type checkers understand."""

from __future__ import annotations

from typing import Any, TypeGuard

import numpy as np
from typing_extensions import TypeIs


def is_sequence(x: object) -> TypeIs[tuple[Any, ...] | list[Any]]:
    """Return whether a value is a tuple or a list."""
    return isinstance(x, tuple | list)


def is_list(x: object) -> TypeIs[list[Any]]:
    """Return whether a value is a list."""
    return isinstance(x, list)


def is_tuple(x: object) -> TypeIs[tuple[Any, ...]]:
    """Return whether a value is a tuple."""
    return isinstance(x, tuple)


def is_dict(x: object) -> TypeIs[dict[Any, Any]]:
    """Return whether a value is a dict."""
    return isinstance(x, dict)


def is_numpy(x: object) -> TypeGuard[Any]:
    """Return whether a value is a NumPy array or scalar."""
    return isinstance(x, np.ndarray | np.generic)


def is_slice(x: object) -> TypeGuard[Any]:
    """Return whether a value is a slice, whose parts may be of any type."""
    return isinstance(x, slice)


def number_type(x: object) -> type:
    """Return the type of a Python number."""
    return type(x)
