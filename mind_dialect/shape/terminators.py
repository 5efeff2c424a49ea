"""Terminators of the dialect's regions: what they pass on, and when the text leaves them out."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, Block, Operation, Region
from xdsl.printer import Printer
from xdsl.traits import IsTerminator

from ..errors import brief, error
from .base import ShapeOp


def check_passed(op: Operation, block: Block, terminators: Sequence[str]) -> None:
    """E9005 unless `block` ends in one of `terminators`, E9009 unless that passes on the types of the results of `op`."""
    last = block.last_op
    if last is None or last.name not in terminators:
        found = "nothing" if last is None else last.name
        raise error("E9005", f"the region ends in {found}, expected {' or '.join(terminators)}", issue="terminator")
    check_types_passed(last, op.result_types, "results")


def check_types_passed(terminator: Operation, expected: Sequence[Attribute], of: str) -> None:
    """E9009 unless the operands of `terminator` have the expected types."""
    given = terminator.operand_types
    if tuple(given) != tuple(expected):
        shown, wanted = (f"({', '.join(map(brief, types))})" for types in (given, expected))
        raise error("E9009", f"{terminator.name} passes on {shown}, expected the {of} {wanted}", expected=wanted, actual=shown)


def close_region(region: Region, terminator: type[ShapeOp]) -> None:
    """Add the terminator that the text left out, and the block if the region has none."""
    if region.first_block is None:
        region.add_block(Block())
    last_block = region.last_block
    assert last_block is not None
    if last_block.last_op is None or not last_block.last_op.has_trait(IsTerminator, value_if_unregistered=False):
        last_block.add_op(terminator.create())


def print_body(printer: Printer, body: Region, terminator: type[ShapeOp]) -> None:
    """Write a region, without its terminator if that says nothing."""
    block = body.last_block
    last = None if block is None else block.last_op
    silent = isinstance(last, terminator) and not last.operands and not last.attributes and block is body.first_block
    printer.print_string(" ")
    printer.print_region(body, print_block_terminators=not silent)
