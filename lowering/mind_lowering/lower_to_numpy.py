"""The pass that lowers whole modules to `xp`: Core IR by way of PTIR, PTIR itself, each function by itself, without calls."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.passes import ModulePass

from mind_dialect.core import CoreOp
from mind_dialect.dominance import walk
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.program import functions
from mind_dialect.ptir import PtirOp
from mind_passes.callees import calls_in
from mind_passes.inline import inline_module

from . import xp
from .core_to_ptir import converted, is_core, replace_body
from .ptir_to_xp import lowered_function


def lower_module(module: ModuleOp) -> None:
    """
    Lower every function that is Core IR or PTIR; those of other dialects alone stay as they are, a mixture is E4000.

    Calls in a function that holds nothing but ours and calls are put in place; those of other functions stay.
    """
    inline_module(module, functions_of_ours(module).__contains__)
    for func in list(functions(module)):
        if is_core(func):
            replace_body(func, lowered_function(converted(func).func).func)
        elif any(isinstance(op, PtirOp) for op in func.walk()):
            replace_body(func, lowered_function(func).func)


_OURS = (CoreOp, PtirOp)


def functions_of_ours(module: ModuleOp) -> set[FuncOp]:
    """The functions that hold nothing but Core IR or PTIR and calls, and hold or reach some of it."""
    callers: dict[str, list[FuncOp]] = {}
    stack: list[FuncOp] = []
    for func in functions(module):
        stack += [func] if any(isinstance(op, _OURS) for op in walk(func)) else []
        for call in calls_in(func):
            callers.setdefault(call.callee.root_reference.data, []).append(func)
    reaching: dict[FuncOp, None] = {}
    while stack:
        if (func := stack.pop()) not in reaching:
            reaching[func] = None
            stack += callers.get(func.sym_name.data, [])
    return {f for f in reaching if all(op is f or isinstance(op, (*_OURS, CallOp, ReturnOp)) for op in walk(f))}


@dataclass(frozen=True)
class LowerToNumpyPass(ModulePass):
    """Lower functions of Core IR and PTIR to calls over an array namespace, values freed at their last use."""

    name = "mind-lower-to-numpy"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        xp.register(ctx)
        lower_module(op)
