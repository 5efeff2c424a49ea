"""
The layout of Python's objects that native code reads: addresses of functions of Python and NumPy, and a check of fields.

`arguments.ll` reads the fields of arrays itself. That they lie where it looks is no promise of Python, so arrays of every kind
are made and compared here first; where a field is elsewhere, or several threads may run Python at once, calls go through Python.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np

_API = {"PyArray_Type": 2, "PyArray_NewFromDescr": 94, "PyDataMem_SetHandler": 304}
"""Places in the table of functions that NumPy exports, which are part of its ABI."""
_PYTHON = (
    "Py_IncRef",
    "Py_DecRef",
    "PyErr_Clear",
    "PyEval_SaveThread",
    "PyEval_RestoreThread",
    "PyObject_GetAttrString",
    "PyObject_Vectorcall",
    "PyObject_CallMethod",
    "PyTuple_New",
    "PyTuple_Size",
    "PyTuple_GetItem",
    "PyTuple_SetItem",
    "PyTuple_Type",
)
TYPE, DATA, RANK, DIMS, DTYPE, FLAGS = 8, 16, 24, 32, 56, 64
"""Offsets of the fields of an array that `arguments.ll` reads."""
OUT = sys.intern("out")


class _Plain:
    """A class like any other."""


END = _Plain.__basicsize__
"""The size of an instance of a plain class; objects that are called natively have the address of their function there."""
PLAN, OWNER, CALLS = END + 8, END + 16, END + 24
"""Offsets in those of the address of their plan, of the object whose plan it is, and of the number of calls by the plan."""


def reason_against() -> str | None:
    """Return the reason why native code may not take calls from Python here; None where it may."""
    if sys.implementation.name != "cpython" or ctypes.sizeof(ctypes.c_void_p) != 8 or sys.byteorder != "little":
        return "this is no CPython of 64 bits"
    if "t" in getattr(sys, "abiflags", "") or hasattr(sys, "getobjects"):  # no lock, or lists of all objects
        return "this build of Python counts references in another way"
    wrong = next((name for array in _samples() if (name := _misplaced(array)) is not None), None)
    return None if wrong is None else f"arrays of this NumPy have another layout: {wrong}"


def symbols() -> Mapping[str, int]:
    """The addresses of what `call.ll` and `arguments.ll` use; AttributeError, TypeError or ValueError where there is none."""
    found = {name: _address(getattr(ctypes.pythonapi, name)) for name in _PYTHON}
    table = _table()
    found |= {name: table[place] for name, place in _API.items()}
    found["mind_out"] = id(OUT)
    if found["PyArray_Type"] != id(np.ndarray):
        raise ValueError("NumPy's table of functions begins elsewhere")
    return found


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def _table() -> Any:
    """NumPy's table of functions."""
    core = import_module("numpy._core._multiarray_umath" if hasattr(np, "_core") else "numpy.core._multiarray_umath")
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return ctypes.cast(pointer(core._ARRAY_API, None), ctypes.POINTER(ctypes.c_size_t))


def _samples() -> list[Any]:
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    odd = np.frombuffer(bytes(41), np.uint8)[1:].view(np.float64)
    return [x, x[:, ::2], x.T, odd, np.zeros((), np.int64), np.zeros((0, 3), np.bool_), np.zeros(5, ">i4"), np.asfortranarray(x)]


def _misplaced(array: Any) -> str | None:
    """The first field of an array that is not where it should be."""
    at = id(array)
    word = ctypes.c_size_t.from_address
    dims = word(at + DIMS).value
    checks = (
        ("type", word(at + TYPE).value, id(np.ndarray)),
        ("data", word(at + DATA).value, array.__array_interface__["data"][0]),
        ("rank", ctypes.c_int.from_address(at + RANK).value, array.ndim),
        ("dtype", word(at + DTYPE).value, id(array.dtype)),
        ("flags", ctypes.c_int.from_address(at + FLAGS).value & 0x0F03, array.flags.num & 0x0F03),
    )
    wrong = next((name for name, found, expected in checks if found != expected), None)
    if wrong is None and tuple(ctypes.c_ssize_t.from_address(dims + 8 * i).value for i in range(array.ndim)) != array.shape:
        wrong = "shape"
    return wrong
