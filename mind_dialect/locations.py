"""Locations as front ends write them: names and calls around a place in a file."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import ArrayAttr, CallSiteLoc, FileLineColLoc, FusedLoc, NameLoc
from xdsl.ir import Attribute


def file_location(location: Attribute | None) -> FileLineColLoc | None:
    """Return the place in a file that a location names: of a call the callee, of several the first; None if it names none."""
    while location is not None and not isinstance(location, FileLineColLoc):
        match location:
            case NameLoc():
                location = location.location
            case CallSiteLoc():
                location = location.callee
            case FusedLoc():
                location = next(iter(cast(ArrayAttr[Attribute], location.locations)), None)
            case _:
                return None
    return location


def shown_location(location: Attribute | None) -> str:
    """
    Return a location as a message shows it: `file:line:column`, after the name that the front end gave.

    >>> from xdsl.dialects.builtin import IntAttr, StringAttr
    >>> shown_location(NameLoc(StringAttr("add"), FileLineColLoc(StringAttr("f.py"), IntAttr(3), IntAttr(5))))
    'add (f.py:3:5)'
    """
    name = location.desc.data if isinstance(location, NameLoc) else ""
    place = file_location(location)
    at = "" if place is None else f"{place.filename.data}:{place.line.data}:{place.column.data}"
    return f"{name} ({at})" if name and at else name or at
