# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
"""
Kinds of arguments of the functions of the namespace, and the check of a call against them.

A parameter has a kind by its annotation, else by its name. Options, such as a flag or a whole number, are checked before the
function runs; others are checked by the function itself, and by their kind where it fails with an error that has no code.
Such an error with no argument at fault goes through unchanged: it is of a function that the caller gave.
"""

from __future__ import annotations

import inspect
import operator
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, NoReturn, TypeVar

import numpy as np

from mind_dialect.errors import MindError, brief

from .array import Array
from .dim import Dim
from .dtypes import as_dtype, kind_of, ptir_dtype
from .faults import fault
from .kinds import is_sequence

F = TypeVar("F", bound=Callable[..., Any])


def _is_flag(x: Any) -> bool:
    return isinstance(x, bool | np.bool_) or (isinstance(x, int) and x in (0, 1)) or (isinstance(x, Array) and not x.ndim)


def _is_whole(x: Any) -> bool:
    if type(x) is int or isinstance(x, Dim):
        return True
    if isinstance(x, Array):
        return not x.ndim and kind_of(x.dtype) in "iu"
    try:
        operator.index(x)
    except TypeError:
        return False
    return True


def _is_real(x: Any) -> bool:
    return isinstance(x, int | float | Dim | np.integer | np.floating) or (
        isinstance(x, Array | np.ndarray) and not x.ndim and _is_array(x)
    )


def _is_array(x: Any) -> bool:
    """Return whether a value is an array of a dtype of ours, or a number."""
    if isinstance(x, np.ndarray | np.generic):
        try:
            ptir_dtype(x.dtype)
        except MindError:
            return False
        return True
    return isinstance(x, Array | Dim | int | float | complex)


def _is_array_like(x: Any) -> bool:
    """Return whether a value is an array or a number, or nested sequences of one depth of them."""
    return _extents(x) is not None


def _extents(x: Any) -> tuple[int, ...] | None:
    """Return the shape of an array, a number or nested sequences; None for anything else and for uneven ones."""
    if not is_sequence(x):
        return (x.shape if isinstance(x, Array | np.ndarray) else ()) if _is_array(x) else None
    inner = [_extents(part) for part in x]
    return None if None in inner or len(set(inner)) > 1 else (len(x), *(inner[0] or () if inner else ()))


def _are_blocks(x: Any) -> bool:
    """Return whether a value is a sequence of arrays, nested in any way."""
    return is_sequence(x) and all(_are_blocks(part) if is_sequence(part) else _is_array(part) for part in x)


def _are_wholes(x: Any) -> bool:
    """Return whether a value is a sequence or an array of whole numbers."""
    return (
        _is_array(x) and kind_of(x.dtype) in "iub"
        if isinstance(x, Array | np.ndarray)
        else is_sequence(x) and all(map(_is_whole, x))
    )


def _are_several(x: Any) -> bool:
    return _is_whole(x) or _are_wholes(x)


def _are_nested(x: Any) -> bool:
    return all(map(_are_nested, x)) if is_sequence(x) else _are_several(x)


def _are_places(x: Any) -> bool:
    return isinstance(x, slice) or (_are_several(x) and not isinstance(x, bool))


def _are_pads(x: Any) -> bool:
    return isinstance(x, str) or (not isinstance(x, np.ndarray | Array) and _are_nested(x))


def _are_reals(x: Any) -> bool:
    return (
        _is_array(x) and kind_of(x.dtype) != "c"
        if isinstance(x, Array | np.ndarray)
        else all(map(_is_real, x))
        if is_sequence(x)
        else _is_real(x)
    )


def _is_pair(x: Any) -> bool:
    return is_sequence(x) and len(x) == 2 and all(map(_is_real, x))


def _are_pairs(x: Any) -> bool:
    return is_sequence(x) and len(x) == 2 and all(pair is None or _is_pair(pair) for pair in x)


def _is_dtype(x: Any) -> bool:
    try:
        as_dtype(x)
    except MindError:
        return False
    return True


@dataclass(frozen=True)
class Kind:
    """
    A kind of argument: its description, the predicate, and whether it is checked before the function runs.

    All values of `types`, the usual ones, are accepted without a call of the predicate.
    """

    expected: str
    accepts: Callable[[Any], bool]
    early: bool = False
    types: tuple[type, ...] = ()


FLAG = Kind("True or False", _is_flag, early=True, types=(bool,))
WHOLE = Kind("an integer", _is_whole, early=True, types=(int,))
REAL = Kind("a real number", _is_real, early=True, types=(int, float))
WORD = Kind("a string", lambda x: isinstance(x, str), early=True, types=(str,))
FUNCTION = Kind("a function", callable, early=True)
WHOLES = Kind("a sequence of integers", _are_wholes)
SEVERAL = Kind("an integer or a sequence of integers", _are_several)
NESTED = Kind("an integer, or sequences of integers", _are_nested)
PADS = Kind("an integer, sequences of integers, or a string", _are_pads, early=True)
PLACES = Kind("an integer, a slice or a sequence of integers", _are_places)
PAIR = Kind("a pair of numbers", _is_pair)
PAIRS = Kind("a pair of numbers, or None, for each axis", _are_pairs)
REALS = Kind("a real number or a sequence of them", _are_reals)
LIST = Kind("a list", is_sequence)
DTYPE = Kind("a dtype", _is_dtype)
DEVICE = Kind("'cpu'", lambda x: isinstance(x, str), early=True)
ARRAY = Kind("an array or a number", _is_array_like)
ARRAYS = Kind("a sequence of arrays", _are_blocks)
ORDER = Kind("a number or a string", lambda x: isinstance(x, str) or _is_real(x), early=True)
ANY = Kind("anything", lambda x: True)

BY_ANNOTATION = {
    "bool": FLAG,
    "int": WHOLE,
    "int | slice | Sequence[int]": PLACES,
    "float": REAL,
    "str": WORD,
    "Sequence[int]": WHOLES,
    "int | Sequence[int]": SEVERAL,
    "int | tuple[int, int]": SEVERAL,
    "float | Sequence[float]": REALS,
    "tuple[float, float]": PAIR,
    "Sequence[tuple[float, float] | None]": PAIRS,
    "Callable[..., Any]": FUNCTION,
}
BY_NAME = {
    **dict.fromkeys(("axis", "shape", "sizes", "dimensions", "dims", "shift", "repetitions", "repeats", "reps"), SEVERAL),
    **dict.fromkeys(("stride", "dilation", "window", "source", "destination", "kth", "newshape"), SEVERAL),
    **dict.fromkeys(("axes", "pad_width"), NESTED),
    **dict.fromkeys(("keepdims", "stable", "copy"), FLAG),
    **dict.fromkeys(("side", "norm", "mode"), WORD),
    **dict.fromkeys(("dtype", "type", "from_", "to"), DTYPE),
    **dict.fromkeys(("arrays", "condlist", "choicelist", "choices", "keys", "multi_index"), ARRAYS),
    **dict.fromkeys(("args", "kwargs", "options", "optimize", "key", "kind", "arrays_and_dtypes"), ANY),
    **{"indices_or_sections": SEVERAL, "ord": ORDER, "device": DEVICE, "padding": PADS, "funclist": LIST},
}
"""Kinds of parameters that have no annotation, or `Any`; one that is not here is an array."""


def kind_of_parameter(p: inspect.Parameter) -> Kind:
    """Return the kind of a parameter; arguments that are None pass where that is its default."""
    text = p.annotation if isinstance(p.annotation, str) else "Any"
    return BY_ANNOTATION.get(text.removesuffix(" | None")) or BY_NAME.get(p.name, ARRAY)


def _may_be_none(p: inspect.Parameter) -> bool:
    return p.default is None or (isinstance(p.annotation, str) and p.annotation.endswith("| None"))


def _refuse(function: str, p: inspect.Parameter, value: Any, kind: Kind, cause: Exception | None = None) -> NoReturn:
    """Raise the error for an argument of another kind: E2001 for one that should be an array, E1110 for others."""
    shown = repr(value) if isinstance(value, str) else brief(value)
    message = f"{function}: {p.name} is {shown}, of type {type(value).__name__}, expected {kind.expected}"
    if kind in (ARRAY, ARRAYS):
        raise fault("E2001", message, expected=kind.expected, actual=type(value).__name__) from cause
    raise fault("E1110", message, argument=p.name, value=brief(value)) from cause


def _refuse_any(function: str, signature: inspect.Signature, args: Any, options: Any, cause: Exception) -> None:
    """Raise the error for the first argument of another kind, if there is one."""
    try:
        given = signature.bind(*args, **options).arguments
    except TypeError:  # Python's own message names the function and the argument
        return
    for name, value in given.items():
        p = signature.parameters[name]
        kind = kind_of_parameter(p)
        for x in value if p.kind is p.VAR_POSITIONAL else () if p.kind is p.VAR_KEYWORD else (value,):
            if not (x is None and _may_be_none(p)) and not kind.accepts(x):
                _refuse(function, p, x, kind, cause)


def checked(function: F, name: str | None = None) -> F:
    """
    Return the function with its arguments checked: one of another kind than its parameter ends in a coded error.

    >>> checked(lambda x, axis: x, "f")(1.0, axis="a")
    1.0
    """
    title = name or function.__name__
    signature = inspect.signature(function)
    early = {p.name: (p, kind) for p in signature.parameters.values() if (kind := kind_of_parameter(p)).early}
    positions = tuple(
        (i, *early[p.name])
        for i, p in enumerate(signature.parameters.values())
        if p.name in early and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    )
    first = positions[0][0] if positions else sys.maxsize
    named = tuple((n, p, kind, kind.types) for n, (p, kind) in early.items() if p.kind is not p.POSITIONAL_ONLY)

    @wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        if len(args) > first:
            for i, p, kind in positions:
                if i >= len(args):
                    break
                if type(x := args[i]) not in kind.types and not kind.accepts(x) and not (x is None and _may_be_none(p)):
                    _refuse(title, p, x, kind)
        if options:
            for n, p, kind, types in named:
                if n in options and type(x := options[n]) not in types and not kind.accepts(x):
                    if x is not None or not _may_be_none(p):
                        _refuse(title, p, x, kind)
        try:
            return function(*args, **options)
        except MindError:
            raise
        except Exception as e:
            _refuse_any(title, signature, args, options, e)
            raise

    return call  # pyright: ignore[reportReturnType]
