"""
Conversion targets by name, what they give, and a cache of what they gave.

A target takes a verified, optimised module and emits the text of another one, with the names that its functions have there.
Turning that into machine code, and running it, is not its business.
"""

from __future__ import annotations

import importlib
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import ModuleOp

from mind_dialect.errors import MindError, error
from mind_dialect.program import functions

from .naming import entrypoint_name, fnv1a_64, program_hash


@dataclass(frozen=True)
class ConversionOptions:
    """`entrypoint_override` replaces the function's name in that of its entry point; only for a program of one function."""

    entrypoint_override: str | None = None

    def digest(self) -> int:
        """A hash of the options, the same in every process."""
        return fnv1a_64(repr(self.entrypoint_override).encode())


@dataclass(frozen=True)
class ConvertedEntrypoint:
    """A function of the program and the symbol it has in the converted module."""

    ptir: str
    symbol: str


@dataclass(frozen=True)
class ConvertedIR:
    """The text of the converted module and its entry points, in the program's order."""

    module: str
    entrypoints: tuple[ConvertedEntrypoint, ...]


class ConversionTarget(ABC):
    """A target of conversion. `version` changes whenever the same program would give another text."""

    name: str
    file_extension: str
    version: int = 0

    @abstractmethod
    def check(self, module: ModuleOp, options: ConversionOptions) -> None:
        """Raise a coded error unless `convert` can take the program; E8008 lists all that is in the way."""

    @abstractmethod
    def convert(self, module: ModuleOp, options: ConversionOptions) -> ConvertedIR:
        """The program as a module of the target; `module` is left as it is. Raises what `check` raises."""


def entrypoints(module: ModuleOp, options: ConversionOptions) -> tuple[ConvertedEntrypoint, ...]:
    """
    The entry point of every function, named as in `naming`.

    Raises E7001 for an override where there is not one function, and where two names would become one symbol.
    """
    names = [func.sym_name.data for func in functions(module)]
    if options.entrypoint_override is not None and len(names) != 1:
        message = f"entrypoint_override {options.entrypoint_override!r} for functions {names}, expected one function"
        raise error("E7001", message, option="entrypoint_override")
    hash = program_hash(module)
    found: dict[str, str] = {}
    for name in names:
        symbol = entrypoint_name(name if options.entrypoint_override is None else options.entrypoint_override, hash)
        if symbol in found:
            message = f"functions {found[symbol]!r} and {name!r} would both be called {symbol}; rename one"
            raise error("E7001", message, option="entrypoint")
        found[symbol] = name
    return tuple(ConvertedEntrypoint(name, symbol) for symbol, name in found.items())


def rename_functions(module: ModuleOp, points: tuple[ConvertedEntrypoint, ...]) -> None:
    """Give the functions of a converted module the symbols of their entry points."""
    symbols = {point.ptir: point.symbol for point in points}
    for func in tuple(functions(module)):
        func.properties["sym_name"] = type(func.sym_name)(symbols[func.sym_name.data])


_BUILT_IN: dict[str, tuple[str, str]] = {
    "linalg": ("mind_lowering.ptir_to_linalg", "LinalgTarget"),
    "stablehlo": ("mind_lowering.ptir_to_stablehlo", "StablehloTarget"),
}
"""Our own targets: the module and the class, imported when asked for."""
_targets: dict[str, ConversionTarget] = {}
_lock = threading.Lock()


def register_conversion_target(target: ConversionTarget) -> None:
    """Make a target known under its name; a later one of the same name replaces it."""
    with _lock:
        _targets[target.name] = target


def get_conversion_target(name: str) -> ConversionTarget | None:
    """The target of that name, if there is one."""
    with _lock:
        if name not in _targets and name in _BUILT_IN:
            module, attribute = _BUILT_IN[name]
            made = cast("type[ConversionTarget]", getattr(importlib.import_module(module), attribute))
            _targets[name] = made()
        return _targets.get(name)


def list_conversion_targets() -> list[str]:
    """The names of all targets, sorted."""
    with _lock:
        return sorted({*_targets, *_BUILT_IN})


@dataclass(frozen=True)
class ConversionCacheKey:
    """
    All that a conversion depends on.

    The names of functions count, as they are in what comes out; those of values do not.
    """

    program_hash: int
    target: str
    target_version: int
    options_hash: int
    device_caps_hash: int | None = None

    @staticmethod
    def of(
        module: ModuleOp, target: ConversionTarget, options: ConversionOptions, device_caps_hash: int | None = None
    ) -> ConversionCacheKey:
        """The key of one conversion."""
        return ConversionCacheKey(program_hash(module), target.name, target.version, options.digest(), device_caps_hash)


class ConversionCache:
    """Conversions by key: each is built once, also when several threads ask at once; a coded error is remembered too."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: dict[ConversionCacheKey, _Entry] = {}

    def get_or_convert(self, key: ConversionCacheKey, build: Callable[[], ConvertedIR]) -> ConvertedIR:
        """Return what `build` gave for `key`, calling it only the first time."""
        with self._lock:
            entry = self._entries.setdefault(key, _Entry())
        with entry.lock:
            if entry.found is None:
                try:
                    entry.found = build()
                except MindError as e:
                    entry.found = e
        if isinstance(entry.found, MindError):
            raise entry.found.with_traceback(None)
        return entry.found

    def __len__(self) -> int:
        return len(self._entries)


class _Entry:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.found: ConvertedIR | MindError | None = None
