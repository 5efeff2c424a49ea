"""
The copy of a function that a transformation of PTIR works on: without calls and fused groups, its loops marked by options.

Only calls of functions with derivative rules of their own stay.
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, StringAttr, i64
from xdsl.dialects.func import CallOp, FuncOp

from mind_dialect.dominance import walk
from mind_dialect.errors import error
from mind_dialect.ptir import FusionOp, ScanOp, WhileOp

from .fusion.defuse import defuse
from .inline import inline_calls
from .loop_options import CHECKPOINT, MAX_ITERATIONS, check_loop_options


def working_view(func: FuncOp, *, checkpoint: str | None = None, max_iterations: int | None = None) -> FuncOp:
    """Return what `working_copy` gives, to be read only: `func` itself where there is nothing to change."""
    plain = checkpoint is None and max_iterations is None and len(func.body.blocks) == 1
    if plain and not any(isinstance(op, CallOp | FusionOp) for op in walk(func)):
        return func
    return working_copy(func, checkpoint=checkpoint, max_iterations=max_iterations)


def working_copy(func: FuncOp, *, checkpoint: str | None = None, max_iterations: int | None = None) -> FuncOp:
    """
    A copy of `func`, in no module, with calls inlined and fusions resolved; options become attributes of its loops.

    Calls of functions with derivative rules of their own stay.
    """
    check_loop_options(checkpoint, max_iterations)
    made = func.clone()
    if len(made.body.blocks) != 1:
        given = f"{len(made.body.blocks)} blocks"
        message = f"@{func.sym_name.data} has {given}, expected one"
        raise error("E4000", message, operation=func, given=given, expected="one block")
    if any(isinstance(op, CallOp) for op in walk(made)):
        assert func.parent is not None
        func.parent.insert_op_after(made, func)
        try:
            inline_calls(made, keep_rules=True)
        finally:
            made.detach()
    if any(isinstance(op, FusionOp) for op in walk(made)):
        defuse(made)
    for op in walk(made):
        if isinstance(op, ScanOp) and checkpoint is not None:
            op.attributes.setdefault(CHECKPOINT, StringAttr(checkpoint))
        if isinstance(op, WhileOp) and max_iterations is not None:
            op.attributes.setdefault(MAX_ITERATIONS, IntegerAttr(max_iterations, i64))
    return made
