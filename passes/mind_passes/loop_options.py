"""Statements of an op about its derivative, and the options that state it for all: checkpoints, and bounds of loops."""

from __future__ import annotations

import re
from collections.abc import Iterable

from xdsl.dialects.builtin import IntegerAttr, StringAttr, UnitAttr
from xdsl.ir import Operation

from mind_dialect.errors import MindError, error
from mind_dialect.ptir import ScanOp, WhileOp

from .emit import place_of, placed

CHECKPOINT = "ptir.checkpoint"
"""On an op: recompute rather than save what its derivative needs; on a scan also `every-N` or `sqrt`."""
RECOMPUTED = "ptir.recomputed"
"""On the copy of an op that a derivative computes again."""
MAX_ITERATIONS = "ptir.max_iterations"
"""On a `while`: how often it iterates at most."""
_EVERY = re.compile(r"every-([1-9][0-9]{0,17})")


def check_checkpoint(text: str) -> int:
    """
    The N of `every-N`, 0 for `sqrt`; E7001 for anything else.

    >>> check_checkpoint("every-8"), check_checkpoint("sqrt")
    (8, 0)
    """
    if text == "sqrt":
        return 0
    if (found := _EVERY.fullmatch(text)) is None:
        raise error("E7001", f"checkpoint={text}, expected every-N with a positive number N, or sqrt", option="checkpoint")
    return int(found[1])


def check_max_iterations(bound: int) -> int:
    """The bound; E7001 unless it is positive and fits 64 bits."""
    if not 0 < bound < 1 << 63:
        raise error("E7001", f"max-iterations={bound}, expected a positive number", option="max-iterations")
    return bound


def check_loop_options(checkpoint: str | None, max_iterations: int | None) -> None:
    """Raise E7001 for an option that no loop could have, even if the function has no loops."""
    if checkpoint is not None:
        check_checkpoint(checkpoint)
    if max_iterations is not None:
        check_max_iterations(max_iterations)


def check_marks(ops: Iterable[Operation]) -> None:
    """Raise E7001, with its place, for an op that says of its derivative what it cannot."""
    for op in ops:
        if not op.attributes:
            continue
        if (mark := op.attributes.get(CHECKPOINT)) is not None and not isinstance(mark, UnitAttr):
            if not (isinstance(op, ScanOp) and isinstance(mark, StringAttr)):
                raise _misfit(op, CHECKPOINT, "a unit attribute, or on a scan every-N or sqrt as a string")
            try:
                check_checkpoint(mark.data)
            except MindError as e:
                raise placed(e, op) from None
        if MAX_ITERATIONS in op.attributes and (not isinstance(op, WhileOp) or max_iterations(op) is None):
            raise _misfit(op, MAX_ITERATIONS, "a positive integer of 64 bits, on a while")


def max_iterations(op: WhileOp) -> int | None:
    """Return the most iterations that the loop states, if it does."""
    found = op.attributes.get(MAX_ITERATIONS)
    return found.value.data if isinstance(found, IntegerAttr) and 0 < found.value.data < 1 << 63 else None


def _misfit(op: Operation, name: str, expected: str) -> MindError:
    message = f"{place_of(op)}: {name} = {op.attributes[name]}, expected {expected}"
    return error("E7001", message, operation=op, option=name)
