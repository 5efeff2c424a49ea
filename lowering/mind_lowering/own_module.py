"""Where the compiled targets begin: one function of PTIR in a module of its own, which they may rewrite as they like."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from mind_dialect.dominance import walk
from mind_dialect.errors import error
from mind_dialect.ptir import FusionOp, StopGradientOp
from mind_dialect.verify import verify
from mind_passes.inline import calls_in, inlined

from .core_to_ptir import converted, is_core
from .numpy import is_lowered
from .ptir_to_xp import check_depth, ptir_block
from .xp import no_outputs


def own_module(func: FuncOp, backend: str) -> tuple[ModuleOp, FuncOp]:
    """
    A verified function of Core IR or PTIR as PTIR without calls, and the new module that holds it; the original stays as it is.

    E4000 and E2007 as for the NumPy target; E6003 for a function that was lowered already, and for regions nested too deeply.
    """
    verify(func)
    if is_lowered(func):
        message = f"@{func.sym_name.data} is lowered already, expected PTIR or Core IR"
        raise error("E6003", message, backend=backend)
    if calls_in(func):
        whole = inlined(func)
        for callee in whole.callees:
            verify(callee)
        func = whole.func
    check_depth(func, backend)
    work = converted(func).func if is_core(func) else func.clone()
    module = ModuleOp([work])
    ending = ptir_block(work).last_op
    if ending is None or not ending.operands:
        raise no_outputs().at(ending or work, "func.return")
    return module, work


def drop_barriers(module: ModuleOp) -> None:
    """Take barriers to derivatives out of a module, in place: they are only copies now. What is in fusions stays."""
    for op in [op for op in walk(module) if isinstance(op, StopGradientOp) and not isinstance(op.parent_op(), FusionOp)]:
        (value,) = op.operands
        value.name_hint = value.name_hint or op.results[0].name_hint
        op.results[0].replace_all_uses_with(value)
        op.detach()
        op.erase()
