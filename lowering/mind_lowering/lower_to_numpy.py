"""The pass that lowers whole modules to `xp`: Core IR by way of PTIR, PTIR itself, each function by itself."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from mind_dialect.program import functions
from mind_dialect.ptir import PtirOp

from . import xp
from .core_to_ptir import converted, is_core, replace_body
from .ptir_to_xp import lowered_function


def lower_module(module: ModuleOp) -> None:
    """Lower every function that is Core IR or PTIR; those of other dialects alone stay as they are, a mixture is E4000."""
    for func in list(functions(module)):
        if is_core(func):
            replace_body(func, lowered_function(converted(func).func).func)
        elif any(isinstance(op, PtirOp) for op in func.walk()):
            replace_body(func, lowered_function(func).func)


@dataclass(frozen=True)
class LowerToNumpyPass(ModulePass):
    """Lower functions of Core IR and PTIR to calls over an array namespace, values freed at their last use."""

    name = "mind-lower-to-numpy"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        xp.register(ctx)
        lower_module(op)
