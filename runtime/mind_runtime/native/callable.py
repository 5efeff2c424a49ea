"""
Types whose instances are called through native code: a call of one is `mind_call` of `call.ll`, not a method in Python.

`native_type(base)` is a subclass of a class of ours, made as an extension makes one: its instances have room for the address of
the function that a call goes to, and for that of a `Plan`, which says what arguments must be and what to run. A call that the
plan does not cover comes back as `_slowly(...)`, a failure as `failed(status, address of the record)` of the plan's owner: that
is the instance itself, or the program for some sizes of a dynamic one that takes its calls for now.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Collection, Sequence
from math import prod
from typing import Any, TypeVar

import numpy as np

from mind_dialect.lazy_dataclass import dataclass

from . import abi
from .support import LARGE, support

Array = Any
T = TypeVar("T")
MOST_WORDS, MOST_PAIRS, MOST_BYTES = 1 << 12, 1 << 18, 1 << 62
"""Left to Python: longer tables, which a call has on its stack, more pairs that may share memory, more bytes than anybody has."""
_CONTIGUOUS, _ALIGNED, _WRITEABLE = 0x1, 0x100, 0x400
_VECTORCALL, _BASETYPE, _DEFAULT = 1 << 11, 1 << 10, 1 << 18
_TP_CALL, _TP_MEMBERS = 50, 72
_READONLY, _T_ULONGLONG, _T_PYSSIZET = 1, 18, 19


class _Slot(ctypes.Structure):
    _fields_ = [("slot", ctypes.c_int), ("function", ctypes.c_void_p)]


class _Member(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("type", ctypes.c_int),
        ("offset", ctypes.c_ssize_t),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


class _Spec(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("size", ctypes.c_int),
        ("item_size", ctypes.c_int),
        ("flags", ctypes.c_uint),
        ("slots", ctypes.c_void_p),
    ]


_types: dict[type, tuple[Any, Any]] = {}
_lock = threading.Lock()


def native_type(base: type[T]) -> type[T]:
    """
    A subclass of `base` whose instances native code is called through; `base` itself where calls go through Python.

    An instance is not to be called before `plan_calls` was.
    """
    with _lock:
        if base not in _types:
            _types[base] = _made(base)
        return _types[base][0]


def _made(base: type) -> tuple[Any, Any]:
    """The type, and what it goes on reading."""
    if support() is None or base.__basicsize__ != abi.END:
        return base, None
    members = (_Member * 6)(
        _Member(b"__vectorcalloffset__", _T_PYSSIZET, abi.END, _READONLY, None),
        _Member(b"_called", _T_ULONGLONG, abi.END, 0, None),
        _Member(b"_plan_at", _T_ULONGLONG, abi.PLAN, 0, None),
        _Member(b"_owner_at", _T_ULONGLONG, abi.OWNER, 0, None),
        _Member(b"_calls", _T_ULONGLONG, abi.CALLS, 0, None),
        _Member(None, 0, 0, 0, None),
    )
    call = ctypes.cast(ctypes.pythonapi.PyVectorcall_Call, ctypes.c_void_p)
    slots = (_Slot * 3)(_Slot(_TP_MEMBERS, ctypes.addressof(members)), _Slot(_TP_CALL, call.value), _Slot(0, None))
    flags = _VECTORCALL | _BASETYPE | _DEFAULT
    spec = _Spec(f"{base.__module__}.{base.__name__}".encode(), abi.CALLS + 8, 0, flags, ctypes.addressof(slots))
    make = ctypes.pythonapi.PyType_FromSpecWithBases
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object]
    made = make(ctypes.addressof(spec), (base,))
    made.__doc__ = base.__doc__
    made.__copy__ = _itself  # by default a copy would be one of what Python knows of, without plan
    return made, (members, slots, spec)


def _itself(instance: Any) -> Any:
    return instance


def plan_calls(instance: Any, plan: Plan | None, owner: Any = None) -> None:
    """
    Let calls of an instance of a type of `native_type` go by `plan`; without one they are `_slowly`.

    `owner` is whose plan it is: it raises the failures, and keeps the plan for calls in other threads when it is replaced; by
    default the instance.
    """
    found = support()
    if found is not None and hasattr(instance, "_plan_at"):
        fields: Any = instance
        fields._plan_at = 0  # from here on no call begins by the plan before
        fields._owner_at = id(instance if owner is None else owner)
        fields._plan = (plan, owner)
        fields._plan_at = 0 if plan is None else plan.address
        fields._called = found.call


def plan_that_runs(instance: Any) -> Plan | None:
    """Return the plan that calls of an instance go by."""
    return getattr(instance, "_plan", (None,))[0]


def take_count(instance: Any) -> int:
    """Return how many calls of an instance went by its plan since this was asked last; one in another thread may be missed."""
    count = getattr(instance, "_calls", 0)
    if count:
        instance._calls = 0
    return count


@dataclass(frozen=True)
class Argument:
    """The type that an argument or a result must have, and the entry of its address in the table, 0 for none."""

    dtype: Any
    shape: tuple[int, ...]
    place: int
    writeable: bool = False
    alone: int = 0
    """Of an argument, 1 if it may share no memory with others; of a result, the argument whose array it is, or -1."""

    @property
    def bytes(self) -> int:
        """The size of an array."""
        return prod(self.shape) * self.dtype.itemsize


class Plan:
    """The plan of a call, as `%plan` of `arguments.ll`; it holds what that holds the addresses of."""

    def __init__(
        self,
        entry: int,
        inputs: Sequence[Argument],
        outputs: Sequence[Argument],
        template: Sequence[int],
        record: Sequence[int],
        arena: int,
        held: Collection[Any],
        *,
        light: bool = False,
        bound: Collection[Array] = (),
    ):
        found = support()
        assert found is not None, "a plan is made where native code takes calls"
        self._free = found.free
        self._held = (held, bound, entry)
        words = np.array([*template, *record], np.int64)
        ranges = np.array([span for array in bound for span in _range(array)], np.int64)
        into, out = _specs(inputs), _specs(outputs)
        self._arrays = (words, ranges, into, out)
        fresh = all(x.alone < 0 for x in outputs)
        fields = [entry, len(inputs), len(outputs), len(words), _at(words), arena, 0, int(not light), _at(into[0]), _at(out[0])]
        fields += [sum(x.alone for x in inputs), int(fresh), len(bound), _at(ranges), LARGE, len(template)]
        self._fields = np.array(fields, np.int64)
        self.address = _at(self._fields)

    _arena = 6
    """The field that holds its memory: no name of the module, as those are gone when the interpreter ends."""

    def __del__(self) -> None:
        fields = getattr(self, "_fields", None)
        if fields is not None and fields[self._arena]:
            self._free(None, int(fields[self._arena]), 0)


def covers(inputs: Sequence[Argument], outputs: Sequence[Argument], words: int, bound: int, arena: int) -> bool:
    """Return whether a plan may be made."""
    if max([arena, *(x.bytes for x in (*inputs, *outputs))]) >= MOST_BYTES:
        return False
    pairs = (sum(x.alone for x in inputs) + len(outputs)) * (len(inputs) + len(outputs) + bound)
    return support() is not None and 0 < len(outputs) and words + len(inputs) <= MOST_WORDS and pairs <= MOST_PAIRS


def _specs(arguments: Sequence[Argument]) -> tuple[Array, list[Any]]:
    """As an array of `%spec`, with what it points to."""
    rows: list[list[int]] = []
    kept: list[Any] = []
    for x in arguments:
        dims = np.array(x.shape, np.int64)
        flags = _CONTIGUOUS | _ALIGNED | (_WRITEABLE if x.writeable else 0)
        kept += [x.dtype, dims]
        rows.append([id(x.dtype), len(x.shape), _at(dims), flags, x.place, x.bytes, x.alone])
    return np.array(rows, np.int64).reshape(len(rows), 7), kept


def _range(array: Array) -> tuple[int, int]:
    at = _at(array)
    return at, at + array.nbytes


def _at(array: Array) -> int:
    """The address of the elements of an array."""
    return array.__array_interface__["data"][0]
