"""
The part of the runtime that is native code itself: `call.ll`, `arguments.ll` and `memory.ll`, linked once per process.

    support()        its functions by address; None where calls go through Python, `why_not()` says why
    empty(...)       a new array whose memory, if it is large, was perhaps that of another one
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from mind_dialect.lazy_dataclass import dataclass
from mind_lowering.memory_need import physical_memory
from mind_lowering.native.host import this_machine

from . import abi
from .jit import load_for_good

Array = Any
LARGE = 1 << 14
"""Bytes from which on an array is made by our allocator: smaller ones do not repay asking NumPy for it."""
KEPT = min(1 << 30, physical_memory() >> 4)
"""At most so many bytes are kept for the next array."""
_lock = threading.Lock()
_HANDLER = ("mind_malloc", "mind_calloc", "mind_realloc", "mind_free")


class _Allocator(ctypes.Structure):
    _fields_ = [("context", ctypes.c_void_p), *((name, ctypes.c_void_p) for name in _HANDLER)]


class _Handler(ctypes.Structure):
    """NumPy's `PyDataMem_Handler`."""

    _fields_ = [("name", ctypes.c_char * 127), ("version", ctypes.c_uint8), ("allocator", _Allocator)]


@dataclass(frozen=True)
class Support:
    """The native code of the runtime: the vectorcall of programs, and the allocator."""

    call: int
    capsule: Any
    set_handler: Callable[[Any], Any]
    keep: Callable[[int], int]
    free: Callable[[int | None, int | None, int], None]


@lru_cache(maxsize=1)
def why_not() -> str | None:
    """Return the reason why there is no native code for calls; None if there is."""
    if not sys.platform.startswith("linux"):
        return "calls go through Python on other systems than Linux"
    if (reason := abi.reason_against()) is not None:
        return reason
    try:
        abi.symbols()
    except (AttributeError, TypeError, ValueError, ImportError) as e:
        return f"Python or NumPy lacks what calls need: {e}"
    return None


@lru_cache(maxsize=1)
def support() -> Support | None:
    """The native code of the runtime, linked once; None where calls go through Python."""
    with _lock:  # a second thread finds what the first one linked
        return _linked()


@lru_cache(maxsize=1)
def _linked() -> Support | None:
    if why_not() is not None:
        return None
    imports = abi.symbols()
    addresses = load_for_good(text(), this_machine(), ["mind_call", "mind_handle_by", "mind_keep", *_HANDLER], imports)
    capsule = _capsule(addresses)
    ctypes.PYFUNCTYPE(None, ctypes.py_object)(addresses["mind_handle_by"])(capsule)
    keep = ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(addresses["mind_keep"])
    keep(KEPT)
    return Support(
        addresses["mind_call"],
        capsule,
        ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(imports["PyDataMem_SetHandler"]),
        keep,
        ctypes.PYFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(addresses["mind_free"]),
    )


def text() -> str:
    """The module, for this machine and for where instances have their plans."""
    files = [Path(__file__).with_name(name).read_text() for name in ("arguments.ll", "call.ll", "memory.ll")]
    made = f'target triple = "{this_machine().triple}"\n' + "\n".join(files)
    for field, offset in {"@PLAN": abi.PLAN, "@OWNER": abi.OWNER, "@CALLS": abi.CALLS}.items():
        made = made.replace(field, str(offset))
    return made


def _capsule(addresses: Mapping[str, int]) -> Any:
    """NumPy's view of the allocator; it stays as long as the process, for arrays that are freed when Python ends."""
    handler = _Handler(b"mind-dialect", 1, _Allocator(None, *(addresses[name] for name in _HANDLER)))
    make = ctypes.pythonapi.PyCapsule_New
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    capsule = make(ctypes.addressof(handler), _CAPSULE, None)
    for held in (handler, capsule, _CAPSULE):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(held))
    return capsule


_CAPSULE = b"mem_handler"


def empty(shape: Sequence[int], dtype: Any) -> Array:
    """A new array of unknown elements, which begins where the widest vector may if it is large."""
    if prod(shape) * np.dtype(dtype).itemsize < LARGE or (found := support()) is None:
        return np.empty(shape, dtype)
    before = found.set_handler(found.capsule)
    try:
        return np.empty(shape, dtype)
    finally:
        found.set_handler(before)


def release() -> None:
    """Give memory that is kept for the next arrays back to the system."""
    if support.cache_info().currsize and (found := support()) is not None:
        found.keep(0)
        found.keep(KEPT)
