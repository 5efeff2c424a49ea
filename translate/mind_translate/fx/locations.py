"""Locations of nodes: lines of the user's model, not of torch's own modules or of code that torch generated."""

from __future__ import annotations

import re
from typing import Any

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, LocationAttr, NameLoc, StringAttr, UnknownLoc

_FRAME = re.compile(r'File "([^"]+)", line (\d+), in')
_LIBRARY = re.compile(r"/(site|dist)-packages/(torch|transformers|torchvision)/|/torch/(nn|_\w+)/")


def location_of(node: Any) -> LocationAttr:
    """The line of the user's model that a node comes from, under the path of its module."""
    stack: dict[str, Any] = node.meta.get("nn_module_stack") or {}
    path = next((str(entry[0]) for entry in reversed(list(stack.values())) if entry and entry[0]), "")
    path = re.sub(r"^L\[?['\"]?self['\"]?\]?\.?", "", path)
    frames: list[tuple[str, str]] = _FRAME.findall(node.meta.get("stack_trace") or "")
    own = [f for f in frames if not _LIBRARY.search(f[0]) and not f[0].startswith("<")] or frames
    if not own:
        return NameLoc(StringAttr(path), UnknownLoc()) if path else UnknownLoc()
    place = FileLineColLoc(StringAttr(own[-1][0]), IntAttr(int(own[-1][1])), IntAttr(1))
    return NameLoc(StringAttr(path), place) if path else place
