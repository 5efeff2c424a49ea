"""
LLVM IR text as functions in this process: compiled (`codegen.py`) or found on disk (`code_cache`), and linked.

What a library holds is freed with it.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import threading
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

from mind_lowering import code_cache as cache
from mind_lowering.native import TargetInfo

from .codegen import assembly, initialise, names_of, object_code, objects, packed, unpacked
from .llvm import llvm, version
from .settings import threads_of

__all__ = ["Library", "assembly", "code_name", "find", "load", "load_for_good", "machine_of", "object_code"]
_FORMAT = "2"
"""Of what is kept on disk; a change makes older files unknown."""
SUPPORT = ".support"
"""The suffix of the names of files that hold no program."""
LIBRARIES = 64
"""So many libraries one engine links."""
_lock = threading.Lock()
_numbers = itertools.count()


class Library:
    """Some compiled functions by name; their code lives as long as this does."""

    def __init__(self, engine: Any, tracker: Any, names: Sequence[str], size: int):
        # the finalizer holds both, so that a collection of garbage cannot let the engine go before what it linked
        weakref.finalize(self, _release, [tracker, engine]).atexit = False
        self.addresses: dict[str, int] = {name: tracker[name] for name in names}
        self.bytes = size
        """Of the object code."""


def _release(held: list[Any]) -> None:
    """Let a library go, then its engine, if it was the last one."""
    held.pop(0)
    held.clear()


def load(text: str, host: TargetInfo, names: Sequence[str]) -> Library:
    """
    The functions `names` of a module, from the cache on disk or compiled now.

    E7004 for text that LLVM refuses: a fault of the compiler, never of a program.
    """
    name = code_name(text, host)
    if (found := find(name, names)) is not None:
        return found
    code = objects(text, host, threads_of())
    cache.write(name, packed(code))
    return _library(code, names)


def find(name: str, names: Sequence[str]) -> Library | None:
    """The functions `names` of a module whose code is on disk under a name of `code_name`; None if it is not."""
    if (code := cache.read(name)) is None:
        return None
    try:
        return _library(unpacked(code), names)
    except (RuntimeError, KeyError, ValueError):  # made by something else under the same name
        return None


def code_name(text: str, host: TargetInfo) -> str:
    """Under which name the code of a module is on disk."""
    return cache.key(_FORMAT, text, *machine_of(host))


def machine_of(host: TargetInfo) -> tuple[str, ...]:
    """Return what code depends on in addition to its text: LLVM's names for the machine, and its version."""
    return (*names_of(host), version())


def load_for_good(text: str, host: TargetInfo, names: Sequence[str], imports: Mapping[str, int]) -> Mapping[str, int]:
    """
    The addresses of the functions `names` of a module whose code stays as long as the process: what is called when Python ends.

    `imports` are the addresses of what the module declares and the process does not export by name. Code is generated in a
    seventh of the time: what runs once a call needs no more.
    """
    name = code_name(text, host) + SUPPORT
    with _lock:
        made: tuple[Any, Any] | None = None
        if (code := cache.read(name)) is not None:
            with contextlib.suppress(RuntimeError, KeyError):
                made = _linked([code], names, _engine(), imports)
        if made is None:
            code = object_code(text, host, optimised=False)
            cache.write(name, code)
            made = _linked([code], names, _engine(), imports)
        for held in made:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(held))
        return {name: made[1][name] for name in names}


def _engine() -> Any:
    """
    A linker of LLVM.

    It is JITLink, which takes one block of memory for all sections of an object. LLVM's older linker takes one for each kind of
    section, in a large process more than 2 GiB from one another, which ends the process: addresses within an object have 32 bits.
    """
    initialise()
    machine = llvm().Target.from_default_triple().create_target_machine(reloc="pic", codemodel="small")
    return llvm().create_lljit_compiler(machine, use_jit_link=True)


class _Engines:
    """LLVM's linkers, one after the other: each keeps a little of every library that it linked, until it goes itself."""

    def __init__(self) -> None:
        self._engine: Any = None
        self._left = 0

    def next(self) -> Any:
        """The engine to link the next library with; it lives as long as one of its libraries does."""
        if self._left == 0:
            self._engine = _engine()
            self._left = LIBRARIES
        self._left -= 1
        return self._engine


_engines = _Engines()


def _library(code: Sequence[bytes], names: Sequence[str]) -> Library:
    with _lock:
        return Library(*_linked(code, names, _engines.next()), names, sum(map(len, code)))


def _linked(
    code: Sequence[bytes], names: Sequence[str], engine: Any, imports: Mapping[str, int] | None = None
) -> tuple[Any, Any]:
    """The engine, and what holds the code in it."""
    builder = llvm().JITLibraryBuilder()
    for part in code:
        builder.add_object_img(part)
    builder.add_current_process()
    for name in names:
        builder.export_symbol(name)
    for name, address in (imports or {}).items():
        builder.import_symbol(name, address)
    return engine, builder.link(engine, f"mind{next(_numbers)}")
