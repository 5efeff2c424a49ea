"""
Places in the user's code where something happens: the first frame outside of this project and of NumPy's dispatch.

A location is made once per instruction of a code object, as making one costs more than an op.
"""

from __future__ import annotations

import inspect
import os
import sys
from types import CodeType, FrameType

import numpy as np
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr

_INTERNAL = (os.path.dirname(__file__) + os.sep, os.path.dirname(np.__file__) + os.sep)
_PACKAGES = ("dialect", "passes", "lowering", "runtime", "translate", "bridges", "tools")
_INTERNAL_MODULES = ("contextlib", "copy", "functools", "optree", "pickle", "xdsl", *(f"mind_{name}" for name in _PACKAGES))
_is_internal: dict[CodeType, bool] = {}
_locations: dict[tuple[CodeType, int], FileLineColLoc] = {}
MOST_LOCATIONS = 1 << 16
"""So many locations are remembered; beyond, all are forgotten."""


def _internal(frame: FrameType) -> bool:
    code = frame.f_code
    found = _is_internal.get(code)
    if found is None:
        module = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        found = (
            code.co_filename.startswith(_INTERNAL) or module in _INTERNAL_MODULES or code.co_filename.startswith("<mind_array")
        )
        if len(_is_internal) >= MOST_LOCATIONS:
            _is_internal.clear()
        _is_internal[code] = found
    return found


def user_frame() -> FrameType | None:
    """Return the innermost frame of the user's code; None if there is none."""
    frame: FrameType | None = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None:
        code = frame.f_code
        known = _is_internal.get(code)
        if not (_internal(frame) if known is None else known):
            return frame
        frame = frame.f_back
    return None


def user_location() -> FileLineColLoc | None:
    """Return the file, line and column of the user's code that runs."""
    frame = user_frame()
    if frame is None:
        return None
    key = (frame.f_code, frame.f_lasti)
    found = _locations.get(key)
    if found is None:
        if len(_locations) >= MOST_LOCATIONS:
            _locations.clear()
        found = _locations[key] = _made(frame)
    return found


def _made(frame: FrameType) -> FileLineColLoc:
    line, column = frame.f_lineno or 0, 0
    for i, (start, _, start_column, _) in enumerate(frame.f_code.co_positions()):
        if i == frame.f_lasti // 2:
            line, column = start or line, (start_column or 0) + 1
            break
    return FileLineColLoc(StringAttr(frame.f_code.co_filename), IntAttr(line), IntAttr(column))


def user_place() -> str:
    """Return `file.py:12` of the user's code that runs, for messages; empty if there is none."""
    frame = user_frame()
    return "" if frame is None else f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"


def shown(location: object) -> str:
    """Return `file.py:12` of a location."""
    if isinstance(location, FileLineColLoc):
        return f"{os.path.basename(location.filename.data)}:{location.line.data}"
    return "an unknown line"


def function_place(function: object) -> str:
    """Return `file.py:12` of the definition of a function, or its name."""
    code = getattr(inspect.unwrap(function) if callable(function) else function, "__code__", None)
    if isinstance(code, CodeType):
        return f"{os.path.basename(code.co_filename)}:{code.co_firstlineno}"
    return str(getattr(function, "__name__", type(function).__name__))
