"""Checks of arguments that are Python values: functions, whole numbers, names."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from mind_dialect.errors import MindError, brief

from .faults import fault


def check_function(given: object, what: str) -> None:
    """
    Raise E1105 unless `given` can be called.

    >>> check_function(len, "jit")
    """
    if not callable(given):
        actual = type(given).__name__
        raise fault("E1105", f"{what}: {brief(given)} is of type {actual}, expected a function", path=what, actual=actual)


def whole(given: Any, what: str, argument: str, least: int | None = None) -> int:
    """
    Return an integer that is known while a function is traced; E1110 for what is none or is below `least`.

    >>> whole(3, "scan", "length", 0)
    3
    """
    kind = "an integer" if least is None else f"an integer of at least {least}"
    try:
        found: int = given.__index__()
    except MindError:
        raise
    except (AttributeError, TypeError):
        raise fault(
            "E1110", f"{what}: {argument} is {brief(given)}, expected {kind}", argument=argument, value=brief(given)
        ) from None
    if least is not None and found < least:
        raise fault("E1110", f"{what}: {argument} is {found}, expected {kind}", argument=argument, value=found)
    return found


def flag(given: Any, what: str, argument: str) -> bool:
    """
    Return an option that is True or False; E1110 for anything else.

    >>> flag(True, "scan", "reverse")
    True
    """
    if isinstance(given, bool) or type(given).__name__ in ("bool", "bool_"):  # also of NumPy
        return bool(given)
    raise fault("E1110", f"{what}: {argument} is {brief(given)}, expected True or False", argument=argument, value=brief(given))


def checked_names(given: object, what: str, option: str) -> tuple[str, ...]:
    """
    Return the names of parameters that an option gives: one, or several; E7001 for anything else.

    >>> checked_names("x", "jit", "static"), checked_names(["x", "n"], "jit", "static")
    (('x',), ('x', 'n'))
    """
    if isinstance(given, str):
        return (given,)
    if isinstance(given, Collection) and getattr(given, "ndim", 1):  # pyright: ignore[reportUnknownArgumentType]
        names: tuple[Any, ...] = tuple(given)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        if all(isinstance(name, str) for name in names):
            return names
    shown = brief(given)  # pyright: ignore[reportUnknownArgumentType]
    raise fault("E7001", f"{what}: {option}={shown}, expected a name of a parameter, or several", option=option)
