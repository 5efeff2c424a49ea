"""Functions replaced by what they were converted to, in place; attributes that only we understand go."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from mind_dialect.dominance import walk

OURS = ("mind.", "ptir.")
"""Attributes of these dialects mean nothing to a tool that does not know them."""


def without_ours(attributes: Mapping[str, Attribute]) -> dict[str, Attribute]:
    """Return the attributes that other tools understand."""
    return {name: a for name, a in attributes.items() if not name.startswith(OURS)}


def replace_functions(module: ModuleOp, converted: Iterable[tuple[FuncOp, FuncOp]]) -> None:
    """
    Give each first function of a pair the body and signature of the second, which stands in no module and is used up.

    If there is a pair, modules keep only the attributes that other tools understand.
    """
    replaced = False
    for func, new in converted:
        func.properties, func.attributes = new.properties, new.attributes
        func.body.detach_block(old := func.body.block)
        new.body.move_blocks(func.body)
        old.erase(safe_erase=False)
        replaced = True
    if replaced:
        for op in walk(module):
            if isinstance(op, ModuleOp):
                op.attributes = without_ours(op.attributes)
