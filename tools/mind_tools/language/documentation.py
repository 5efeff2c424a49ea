"""Documentation of ops, from the docstrings of their classes."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import cache
from typing import Any

from xdsl.irdl import IRDLOperation

from ..universe import DIALECTS, SHAPE, tool_dialects


@cache
def op_documentation() -> Mapping[str, str]:
    """Each op of our dialects by name, with its documentation."""
    known = tool_dialects()
    ours = [known[name]() for name in (*DIALECTS, *SHAPE) if name in known]
    return {op.name: _text(op) for dialect in ours for op in sorted(dialect.operations, key=lambda op: op.name)}


@cache
def opcode_documentation() -> Mapping[str, str]:
    """Each opcode of Core IR text, with its documentation."""
    from mind_dialect import Mind

    found: dict[str, str] = {}
    for op in Mind.operations:
        opcode: Any = getattr(op, "OPCODE", None)
        if isinstance(opcode, str) and opcode:
            found[opcode] = _text(op)
    return dict(sorted(found.items()))


def _text(op: type[Any]) -> str:
    own = op.__doc__ is not None and op.__doc__ != IRDLOperation.__doc__
    return (inspect.getdoc(op) or "").strip() if own else ""
