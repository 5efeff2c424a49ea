"""LLVM by llvmlite, whose library is opened in a thread while modules that do without it are loaded."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import Any

from mind_dialect.errors import error

_NAME = "llvmlite.binding"
_NOW = 2
"""`RTLD_NOW`, as ctypes opens libraries: it does that under Python's lock, and a second time is quick."""


def require() -> None:
    """Raise E6002 unless llvmlite is there; begin to open its library."""
    try:
        spec = find_spec(_NAME)
    except (ImportError, ValueError):
        spec = None
    if spec is None or spec.origin is None:
        raise _missing()
    _open(Path(spec.origin).with_name("libllvmlite.so"))


@cache
def llvm() -> Any:
    """Return the module `llvmlite.binding`, which has no types; E6002 if it cannot be loaded."""
    try:
        return import_module(_NAME)
    except ImportError:
        raise _missing() from None


@cache
def version() -> str:
    """Return the versions of llvmlite and of LLVM."""
    return f"{import_module('llvmlite').__version__} {llvm().llvm_version_info}"


def begin(work: Callable[[], Any], name: str) -> None:
    """
    Run `work` in a thread.

    The process is not forked meanwhile: the fork would lack the thread, and have the locks that it held.
    """
    thread = Thread(target=work, name=name)
    thread.start()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=thread.join)


@cache
def _open(path: Path) -> None:
    """Open a library in a thread, outside of Python's lock; one that is not there is left to llvmlite."""
    if os.name != "posix":
        return
    system = ctypes.CDLL(None)
    system.dlopen.argtypes, system.dlopen.restype = [ctypes.c_char_p, ctypes.c_int], ctypes.c_void_p
    begin(lambda: system.dlopen(bytes(path), _NOW), "mind-native-library")


def _missing() -> Exception:
    message = "the target 'native' needs the package llvmlite, which is not installed: pip install 'mind-dialect[native]'"
    return error("E6002", message, requested="native", available=["numpy"])
