"""Locations as front ends write them: names and calls around a place in a file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    LocationAttr,
    NameLoc,
    NoneAttr,
    UnknownLoc,
)
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


def fused_location(locations: Iterable[LocationAttr]) -> LocationAttr:
    """
    Return the location of what several ops became: theirs, each once; unknown ones are left out.

    >>> from xdsl.dialects.builtin import IntAttr, StringAttr
    >>> one, two = (FileLineColLoc(StringAttr("f.py"), IntAttr(line), IntAttr(1)) for line in (1, 2))
    >>> [shown_location(place) for place in locations_in(fused_location([one, UnknownLoc(), two, one]))]
    ['f.py:1:1', 'f.py:2:1']
    """
    found = tuple(dict.fromkeys(part for each in locations for part in locations_in(each) if not isinstance(part, UnknownLoc)))
    return FusedLoc(found, NoneAttr()) if len(found) > 1 else found[0] if found else UnknownLoc()


def locations_in(location: LocationAttr) -> Sequence[LocationAttr]:
    """Return the locations that a fused one consists of; any other consists of itself."""
    if not isinstance(location, FusedLoc):
        return (location,)
    parts = cast(ArrayAttr[LocationAttr], location.locations)
    return tuple(found for part in parts for found in locations_in(part))
