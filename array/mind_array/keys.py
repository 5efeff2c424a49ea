"""Keys of indexing as they are written: their text, their arrays of NumPy, their truth values, and errors that show them."""

from __future__ import annotations

import operator
from typing import Any

from mind_dialect.errors import MindError, brief

from .array import Array
from .dim import Dim
from .faults import ArrayIndexError, fault
from .kinds import is_slice, is_tuple

Key = Any


def index_error(key: Key, shape: Any, issue: str) -> MindError:
    """E6001: a key does not fit a shape."""
    message = f"index {shown_key(key)} of an array of shape {list(shape)}: {issue}"
    return fault("E6001", message, kind=ArrayIndexError, indices=shown_key(key), shape=shape)


def shown_key(key: Key) -> str:
    """A key for messages."""
    keys = key if is_tuple(key) else (key,)
    text = ", ".join(_shown_entry(k) for k in keys)
    return f"[{text}]" if len(text) < 120 else f"[{text[:117]}...]"


def _shown_entry(k: Any) -> str:
    if is_slice(k):
        parts = ["" if v is None else str(v) for v in (k.start, k.stop)]
        return ":".join(parts if k.step is None else [*parts, str(k.step)])
    return "..." if k is Ellipsis else repr(k)


def concrete_key(key: Key) -> Any:
    """A key with NumPy arrays in place of arrays; E1101 for a traced one."""
    if is_tuple(key):
        return tuple([concrete_key(k) for k in key])
    if isinstance(key, Array):
        return key.concrete("an index", "use ma.where(mask, x, other), or x.at[index].set(value)")
    if is_slice(key):
        return slice(*(bound(v) for v in (key.start, key.stop, key.step)))
    return key


def bound(value: Any) -> Any:
    """A bound of a slice as a Python integer; E6001 for what is none."""
    if value is None or type(value) is int or isinstance(value, Dim):
        return value
    if isinstance(value, Array):
        value = value.concrete("a bound of a slice", "sizes must be static; use ma.dynamic_slice(x, start, sizes)")
    try:
        return operator.index(value)
    except TypeError:
        message = f"bound {value!r} of a slice, of type {type(value).__name__}, expected an integer or None"
        raise fault("E6001", message, kind=ArrayIndexError, indices=brief(value), shape=[]) from None
