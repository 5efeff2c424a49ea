"""
The table of the namespace: one row per function, with what protocols, tests and documentation need to know of it.

A row's function is written once, over ops and other rows; `emit` makes it run or record. Tests close the table: each name of the
standard has a row, each row is traced with the dtypes of its category, and its derivative is checked where it has one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeVar

from .arguments import checked

Function = Callable[..., Any]
F = TypeVar("F", bound=Function)


class Derivative(StrEnum):
    """Domain of a function's derivative."""

    SMOOTH = "smooth"
    PIECEWISE = "piecewise"
    NONE = "none"


SMOOTH, PIECEWISE, NONE = Derivative.SMOOTH, Derivative.PIECEWISE, Derivative.NONE


@dataclass(frozen=True)
class Row:
    """
    A function of the namespace.

    `numpy` are names of NumPy functions that it stands for under NEP 13 and NEP 18. `category` is the kind of dtype of its array
    operands, `arrays` how many leading arguments are arrays (-1: a sequence of arrays in the first). `host` says why the function
    runs on concrete arrays only, `call` why it is recorded as a custom call, which the target `native` runs on the host. `domain`
    are the numbers from which tests of derivatives draw.
    """

    name: str
    function: Function
    module: str = ""
    standard: bool = True
    numpy: tuple[str, ...] = ()
    category: str = "all"
    arrays: int = 1
    derivative: Derivative = NONE
    domain: tuple[float, float] = (-2.0, 2.0)
    host: str = ""
    call: str = ""
    ufunc: Any = None
    """The ufunc that concrete arrays of one of `fast` dtypes go to at once; it gives the same bits as the kernel."""
    fast: frozenset[Any] = field(default_factory=frozenset[Any])
    method: bool = False

    @property
    def qualified(self) -> str:
        """The name with its module: `linalg.det`."""
        return f"{self.module}.{self.name}" if self.module else self.name


TABLE: dict[str, Row] = {}
"""Every row by its qualified name, in the order of the files of `rows`."""
BY_NUMPY: dict[str, Row] = {}
"""Rows by the names of the NumPy functions that they stand for."""


def register(row: Row) -> Row:
    """Add a row; the name must be new."""
    assert row.qualified not in TABLE, row.qualified
    TABLE[row.qualified] = row
    for name in row.numpy:
        BY_NUMPY[name] = row
    return row


def row(
    *numpy: str,
    module: str = "",
    standard: bool = True,
    category: str = "all",
    arrays: int = 1,
    derivative: Derivative = NONE,
    domain: tuple[float, float] = (-2.0, 2.0),
    host: str = "",
    call: str = "",
    method: bool = False,
) -> Callable[[F], F]:
    """
    Make the decorated function a row, named as the function without the underscore at its end.

    The row's function checks its arguments; the decorated one, which other rows call, stays as it is.
    """

    def decorate(function: F) -> F:
        name = function.__name__ if function.__name__.startswith("__") else function.__name__.removesuffix("_")
        function.__name__ = function.__qualname__ = name
        function.__module__ = "mind_array" + (f".{module}" if module else "")
        entry = checked(function)
        register(Row(name, entry, module, standard, numpy, category, arrays, derivative, domain, host, call, method=method))
        return function

    return decorate
