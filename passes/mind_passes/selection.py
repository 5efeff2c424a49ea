"""The functions of a module that a transformation is for, and the names of those that it adds."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Operation

from mind_dialect.dominance import walk
from mind_dialect.errors import brief, error
from mind_dialect.program import functions, functions_called, holds_core_ir, require_module
from mind_dialect.ptir import PtirOp
from mind_dialect.ptir_program import VERSION_ATTRIBUTE, stated_entry

from .callees import symbol_table_of, symbols_in
from .derivatives import ptir
from .derivatives.custom import references

DERIVED = ("mind.grad_of", "mind.jvp_of", "mind.vmap_of")
"""The attributes of a function that was derived from another: each names the function it was derived from."""
Accepts = Callable[[FuncOp], bool]
"""Predicate of the functions that a transformation is applied to."""


def is_ptir(func: FuncOp) -> bool:
    """Return whether `func` is of PTIR, or of other ops with derivative rules; without any ops, what its module says."""
    ops = [op for op in func.walk() if op is not func and not isinstance(op, ReturnOp | CallOp)]
    if not ops:
        module = func.parent_op()
        return module is not None and VERSION_ATTRIBUTE in module.attributes
    return any(isinstance(op, PtirOp) or type(op) in ptir.REVERSE for op in ops)


def is_ours(func: FuncOp) -> bool:
    """Return whether `func` is of Core IR or PTIR."""
    return holds_core_ir(func) or is_ptir(func)


def primal_functions(module: ModuleOp, accepts: Accepts = is_ours) -> list[FuncOp]:
    """The functions that somebody wrote to be transformed: not derived from another, nor called by another or its rule."""
    called = {(symbol_table_of(op), name.string_value()) for op in walk(module) for name in references(op).values()}
    return [f for f in _written_functions(module, accepts) if _place(f) not in called]


def _written_functions(module: ModuleOp, accepts: Accepts) -> list[FuncOp]:
    """The functions with a body that are not derived from another."""
    derived = set(DERIVED)
    return [f for f in functions(module) if f.body.blocks and derived.isdisjoint(f.attributes) and accepts(f)]


def _place(func: FuncOp) -> tuple[Operation | None, str]:
    """Return what identifies a function: modules in a module may have functions of the same name."""
    return symbol_table_of(func), func.sym_name.data


def own_copy(module: ModuleOp) -> ModuleOp:
    """A copy of `module` to change; E2001 for what is no module."""
    require_module(module)
    return module.clone()


def select_function(module: ModuleOp, name: str | None, accepts: Accepts = is_ours) -> FuncOp:
    """
    The function called `name` (with or without `@`); without a name the only primal one, or of several the stated entry.

    Raises E7003 if there is none, E2001 for what is no module, E2002 for a stated entry that is no function.
    """
    require_module(module)
    if name is not None:
        if called := functions_called(module, name):
            return called[0]
    elif len(primals := primal_functions(module, accepts)) == 1:
        return primals[0]
    elif entry := [f for f in primals if f.sym_name.data == stated_entry(module, (f.sym_name.data for f in functions(module)))]:
        return entry[0]
    known = [f.sym_name.data for f in functions(module)]
    problem = f"no function {name!r}" if name is not None else "which function is meant is not stated"
    raise error("E7003", f"{problem}, expected one of {known}", name=name, known=known)


def functions_to_do(module: ModuleOp, name: str | None, attribute: str, accepts: Accepts = is_ours) -> list[FuncOp]:
    """
    The function called `name`, or without a name every primal one from which none was derived yet, as `attribute` tells.

    E7003 if every function that could be meant is called by another, or if there are only functions to convert first: of
    StableHLO, or of Core IR where `accepts` takes none of it.
    """
    if name is not None:
        return [select_function(module, name, accepts)]
    if not (primals := primal_functions(module, accepts)):
        if written := [f.sym_name.data for f in _written_functions(module, accepts)]:
            message = f"every function is called by another: {brief(written)}; say which is meant with function=NAME"
            raise error("E7003", message, name=None, known=written)
        _refuse_unconverted(module)
    stated = ((symbol_table_of(f), f.attributes.get(attribute)) for f in functions(module))
    done = {(table, name.string_value()) for table, name in stated if isinstance(name, SymbolRefAttr)}
    return [f for f in primals if _place(f) not in done]


def _refuse_unconverted(module: ModuleOp) -> None:
    """Raise E7003 at the first function of StableHLO or Core IR, of which nothing can be derived before it is converted."""
    for func in functions(module):
        if any(op.name.startswith(("stablehlo.", "chlo.")) for op in walk(func)):
            found, cure = "StableHLO", "convert-stablehlo-to-ptir"
        elif holds_core_ir(func):
            found, cure = "Core IR", "convert-mind-to-ptir"
        else:
            continue
        message = f"@{brief(func.sym_name.data)} holds {found}; convert it first, with {cure}"
        raise error("E7003", message, operation=func, name=None, known=[])


def derived_name(module: ModuleOp, func: FuncOp, suffix: str) -> str:
    """The name of a function derived from `func`; E4002 if another symbol next to it has it."""
    name = f"{func.sym_name.data}_{suffix}"
    if name in symbols_in(symbol_table_of(func) or module):
        raise error("E4002", f"@{name} exists already", operation=func, value=name)
    return name
