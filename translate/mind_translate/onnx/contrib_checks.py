"""Checks of operators that no schema of the package `onnx` states."""

from __future__ import annotations

from collections.abc import Collection

from xdsl.ir import SSAValue

from mind_dialect.errors import brief, error

from ..unsupported import Refused
from .converter import OnnxConverter, OnnxRow, Values
from .node import Node


def stated(least: int, most: int, attributes: str, row: OnnxRow, *, optional: Collection[int] = ()) -> OnnxRow:
    """
    Return a row that raises E2007 for other numbers of operands, and E4000 for other attributes: no schema states them.

    Of the first `least` operands, the `optional` ones may be missing.
    """
    known = attributes.split()

    def checked(to: OnnxConverter, node: Node) -> SSAValue | Values:
        count = len(node.operands)
        if not least <= count <= most or not all(node.has(i) for i in range(least) if i not in optional):
            expected = f"{least} to {most}" if most != least else least
            raise error("E2007", f"has {count} operands, expected {expected}", expected=expected, actual=count)
        if unknown := [a for a in node.attributes if a not in known]:
            message = f"has no attribute {brief(unknown[0])!r}, expected one of {known}"
            raise error("E4000", message, given=unknown[0], expected=known)
        return row(to, node)

    return checked


def refuse_flags(node: Node, **reasons: str) -> None:
    """Raise `Refused` for an attribute of these that is not 0, with what it asks for."""
    for name, reason in reasons.items():
        if node.int(name):
            raise Refused(f"{reason} ({name} = {node.int(name)})", f"set {name} to 0")


def refuse_operands(node: Node, reasons: dict[int, str], advice: str) -> None:
    """Raise `Refused` for an operand of these that is given, with what it is."""
    for i, reason in reasons.items():
        if node.has(i):
            raise Refused(reason, advice)
