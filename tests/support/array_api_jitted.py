"""
`mind_array` as a namespace whose every function traces its call, compiles it and runs it: what the suite is given for `jit`.

Functions that give no arrays, or whose result has a size that depends on data, are called as they are; so are operators' operands
that are Python numbers. `MIND_ARRAY_JIT_TARGET` names the target.
"""

from __future__ import annotations

import os
import sys
from types import ModuleType
from typing import Any

import mind_array as ma
from mind_array.array import Array
from mind_array.table import TABLE

TARGET = os.environ.get("MIND_ARRAY_JIT_TARGET", "numpy")
EAGER = {"asarray", "astype", "from_dlpack", "finfo", "iinfo", "isdtype", "can_cast", "result_type", "__array_namespace_info__"}
"""Functions that make arrays of Python values, or are about dtypes."""
STATIC = {"repeat": (1,)}
"""Array arguments that have to be known while a function is traced, by position."""
_BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift")
_OPERATORS = (
    *(f"__{name}__" for name in (*_BINARY, "lt", "le", "gt", "ge", "eq", "ne", "neg", "pos", "abs", "invert", "getitem")),
    *(f"__r{name}__" for name in _BINARY),
)


def jitted(function: Any, name: str) -> Any:
    """The function, compiled for each call; its arrays are arguments, everything else is part of the traced function."""

    def call(*args: Any, **kwargs: Any) -> Any:
        slots: list[Array] = []

        def hole(x: Any, static: bool = False) -> Any:
            if isinstance(x, Array) and not static:
                slots.append(x)
                return _Hole(len(slots) - 1)
            if type(x) in (list, tuple):
                return type(x)(hole(y) for y in x)
            return x

        given = [hole(x, i in STATIC.get(name, ())) for i, x in enumerate(args)]
        named = {k: hole(v) for k, v in kwargs.items()}

        def traced(*arrays: Array) -> Any:
            return function(*(_filled(x, arrays) for x in given), **{k: _filled(v, arrays) for k, v in named.items()})

        return ma.jit(traced, target=TARGET)(*slots)

    call.__name__ = call.__qualname__ = name
    call.__wrapped__ = function
    return call


class _Hole:
    def __init__(self, place: int):
        self.place = place


def _filled(x: Any, arrays: tuple[Array, ...]) -> Any:
    if isinstance(x, _Hole):
        return arrays[x.place]
    return type(x)(_filled(y, arrays) for y in x) if type(x) in (list, tuple) else x


def _has_mask(args: tuple[Any, ...]) -> bool:
    keys = args[1] if isinstance(args[1], tuple) else (args[1],)
    return any(isinstance(k, Array) and k.dtype == ma.bool for k in keys)


def install() -> None:
    """Fill this module, and let the operators of arrays trace too."""
    modules: dict[str, Any] = {}
    for name in ("", "linalg", "fft"):
        modules[name] = ModuleType(f"{__name__}.{name}".rstrip("."))
    for name in ma.__all__:
        modules[""].__dict__[name] = getattr(ma, name)
    for row in TABLE.values():
        if row.module in modules:
            plain = row.host or row.name in EAGER
            modules[row.module].__dict__[row.name] = row.function if plain else jitted(row.function, row.name)
    modules[""].__dict__.update(linalg=modules["linalg"], fft=modules["fft"], __array_api_version__=ma.__array_api_version__)
    for name in _OPERATORS:
        plain = getattr(Array, name)
        traced = jitted(plain, name)

        def operator(*args: Any, plain: Any = plain, traced: Any = traced, name: str = name) -> Any:
            if any(type(x) is not Array for x in args[:1]) or not all(isinstance(x, Array | int | float | complex) for x in args):
                key = name == "__getitem__" and type(args[0]) is Array and not _has_mask(args)
                return traced(*args) if key else plain(*args)
            if name == "__getitem__" and _has_mask(args):
                return plain(*args)
            return traced(*args)

        setattr(Array, name, operator)
    Array.__array_namespace__ = lambda self, /, *, api_version=None: modules[""]
    sys.modules[__name__] = modules[""]  # names of the standard are those of builtins, which this file uses


install()
