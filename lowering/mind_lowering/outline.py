"""Outlining for compiled targets: one function of PTIR in a module of its own, which they may rewrite as they like."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from mind_dialect.dominance import walk
from mind_dialect.errors import error
from mind_dialect.program import functions
from mind_dialect.ptir import FusionOp, StopGradientOp
from mind_dialect.ptir_program import SPEC_VERSION, VERSION_ATTRIBUTE
from mind_dialect.verify import verify
from mind_passes.callees import calls_in
from mind_passes.inline import inlined
from mind_passes.ptir.failing import number_origins
from mind_passes.selection import is_ours

from .core_to_ptir import converted, is_core, replace_body
from .lower_to_numpy import functions_of_ours
from .numpy import is_lowered
from .ptir_to_xp import check_depth, ptir_block
from .xp import no_outputs


def own_module(func: FuncOp, backend: str) -> tuple[ModuleOp, FuncOp]:
    """
    A verified function of Core IR or PTIR as PTIR without calls, and the new module that holds it; the original stays as it is.

    Ops that can fail are numbered, see `original`. E4000 and E2007 as for the NumPy target; E6003 for a function that was lowered
    already, and for regions nested too deeply.
    """
    verify(func)
    if is_lowered(func):
        message = f"@{func.sym_name.data} is lowered already, expected PTIR or Core IR"
        raise error("E6003", message, backend=backend)
    flat, _ = _without_calls(func)
    check_depth(flat, backend)
    work, _ = _as_ptir(flat)
    module = ModuleOp([work])
    ending = ptir_block(work).last_op
    if ending is None or not ending.operands:
        raise no_outputs().at(ending or work, "func.return")
    number_origins(work)
    return module, work


def own_functions(module: ModuleOp, backend: str) -> None:
    """
    Replace each function of Core IR or PTIR of a module by what `own_module` makes of it, in place.

    Declarations, and functions of other dialects alone, stay as they are. Errors are those of `own_module`, and then the module
    is unchanged; E4000 for a mixture is among them.
    """
    calling = functions_of_ours(module)
    chosen = [func for func in functions(module) if func.body.blocks and (is_ours(func) or func in calling)]
    own = [(func, own_module(func, backend)[1]) for func in chosen]
    for func, work in own:
        replace_body(func, work)
    if own:  # Core IR has become PTIR, which states its version
        module.attributes.setdefault(VERSION_ATTRIBUTE, StringAttr(SPEC_VERSION))


def original(func: FuncOp, number: int) -> Operation | None:
    """The op, of `func` or of a function that it calls, that a numbered op of its `own_module` comes from."""
    flat, called = _without_calls(func)
    work, converted_from = _as_ptir(flat)
    op = dict(converted_from).get(next(islice(walk(work), number, None)))
    return op if op is None else called.get(op, op)


def _without_calls(func: FuncOp) -> tuple[FuncOp, Mapping[Operation, Operation]]:
    """A function with what it calls put in place, and where the ops of a new one come from."""
    if not calls_in(func):
        return func, {}
    whole = inlined(func)
    for callee in whole.callees:
        verify(callee)
    return whole.func, whole.origins


def _as_ptir(func: FuncOp) -> tuple[FuncOp, Iterator[tuple[Operation, Operation]]]:
    """A copy of a function as PTIR, and its ops with where they come from."""
    if is_core(func):
        made = converted(func)
        return made.func, zip(made.func.body.block.ops, made.origins, strict=False)
    work = func.clone()
    return work, zip(walk(work), walk(func), strict=True)


def drop_barriers(module: ModuleOp) -> None:
    """Take barriers to derivatives out of a module, in place: they are only copies now. What is in fusions stays."""
    for op in [op for op in walk(module) if isinstance(op, StopGradientOp) and not isinstance(op.parent_op(), FusionOp)]:
        (value,) = op.operands
        value.name_hint = value.name_hint or op.results[0].name_hint
        op.results[0].replace_all_uses_with(value)
        op.detach()
        op.erase()
