"""
The function that a transformation of PTIR really works on: a copy without calls and fused groups.

Also here: which functions are there to be transformed, and what options say about the loops in them.
"""

from __future__ import annotations

import re

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, i64
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp

from mind_dialect.dominance import walk
from mind_dialect.errors import error
from mind_dialect.ptir import FusionOp, PtirOp, ScanOp, WhileOp
from mind_dialect.ptir_program import VERSION_ATTRIBUTE

from .derivatives import ptir
from .inline import inline_calls
from .ptir.defuse import defuse

DERIVED = ("mind.grad_of", "mind.jvp_of", "mind.vmap_of")
"""The attributes of a function that was derived from another."""
CHECKPOINT = "ptir.checkpoint"
"""On an op: recompute rather than save what its derivative needs; on a scan also `every-N` or `sqrt`."""
MAX_ITERATIONS = "ptir.max_iterations"
"""On a `while`: how often it turns at most."""
_EVERY = re.compile(r"every-([1-9][0-9]{0,17})")


def is_ptir(func: FuncOp) -> bool:
    """Whether `func` is of PTIR, or of other ops with derivative rules; without any ops, what its module says."""
    ops = [op for op in func.walk() if op is not func and not isinstance(op, ReturnOp | CallOp)]
    if not ops:
        module = func.parent_op()
        return module is not None and VERSION_ATTRIBUTE in module.attributes
    return any(isinstance(op, PtirOp) or type(op) in ptir.REVERSE for op in ops)


def is_derived(func: FuncOp) -> bool:
    """Whether `func` was derived from another function."""
    return any(name in func.attributes for name in DERIVED)


def is_called(module: ModuleOp) -> set[str]:
    """The names of the functions that are called in `module`."""
    return {op.callee.string_value() for op in walk(module) if isinstance(op, CallOp)}


def working_copy(func: FuncOp, *, checkpoint: str | None = None, max_iterations: int | None = None) -> FuncOp:
    """A copy of `func`, in no module, with calls inlined and fusions resolved; options become attributes of its loops."""
    check_checkpoint(checkpoint)
    if max_iterations is not None and not 0 < max_iterations < 1 << 63:
        message = f"max-iterations={max_iterations}, expected a positive number"
        raise error("E7001", message, option="max-iterations")
    made = func.clone()
    if len(made.body.blocks) != 1:
        given = f"{len(made.body.blocks)} blocks"
        message = f"@{func.sym_name.data} has {given}, expected one"
        raise error("E4000", message, operation=func, given=given, expected="one block")
    if any(isinstance(op, CallOp) for op in walk(made)):
        assert func.parent is not None
        func.parent.insert_op_after(made, func)
        try:
            inline_calls(made)
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


def check_checkpoint(text: str | None) -> int | None:
    """The N of `every-N`, 0 for `sqrt`, None for nothing; E7001 for anything else."""
    if text is None:
        return None
    if text == "sqrt":
        return 0
    if (found := _EVERY.fullmatch(text)) is None:
        raise error("E7001", f"checkpoint={text}, expected every-N with a positive number N, or sqrt", option="checkpoint")
    return int(found[1])


__all__ = ["CHECKPOINT", "DERIVED", "MAX_ITERATIONS", "check_checkpoint", "is_called", "is_derived", "is_ptir", "working_copy"]
