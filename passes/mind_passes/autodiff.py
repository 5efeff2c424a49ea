"""
Reverse-mode autodiff: `@f` gets a sibling `@f_grad`.

`@f_grad` has the inputs of `@f` and returns the outputs of `@f` followed by one gradient per differentiated value. The function
is verified, `gradient.Sweep` builds the gradient from the rules of `derivatives`, the result is canonicalised and verified again.
A function of Core IR is canonicalised first, as the contract says (chapter "Static reverse-mode autodiff"); one of PTIR stays as
it is, and what it calls is differentiated with it.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, fields

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from mind_dialect import register
from mind_dialect.dominance import walk
from mind_dialect.errors import MindError, error
from mind_dialect.profiles import parse_profile, profile_of
from mind_dialect.program import core_block, functions, functions_called, holds_core_ir, value_ids
from mind_dialect.verify import verify

from .algebra import CoreAlgebra, PtirAlgebra
from .canonicalize import canonicalize
from .gradient import GRAD_OF, GRAD_WRT, GradientOptions, Sweep
from .inline import inline_calls
from .loop_options import check_marks
from .ptir.canonicalize import canonicalize as canonicalize_ptir
from .working_copy import is_called, is_derived, is_ptir, working_view


@dataclass(frozen=True)
class Gradient:
    """The gradient module: it holds the canonical function and its gradient function, and says which result is whose."""

    module: ModuleOp
    primal: FuncOp
    function: FuncOp
    gradients: dict[SSAValue, SSAValue]
    """From each differentiated value of `primal` to its gradient, a value of `function`."""

    def value_ids(self) -> dict[int, int]:
        """The specification's map from primal ValueId to gradient ValueId."""
        primal, gradient = value_ids(self.primal.body.block), value_ids(self.function.body.block)
        return {primal[x]: gradient[x_adj] for x, x_adj in self.gradients.items()}


def differentiate(module: ModuleOp, function: str | None = None, options: GradientOptions | None = None) -> Gradient:
    """
    Differentiate one function of a copy of `module`: `@function`, or the only one of Core IR.

    Raises the verifier's errors for an invalid function, E5001 for an op without a rule, E5002 when the gradient does not
    verify, E5003 for reduction axes out of range and E5004 for shapes that do not fit or a loss that is no scalar, E5005 for
    integer values, E7001 and E7003 for options that name nothing.
    """
    module = module.clone()
    return add_gradient(module, select_function(module, function), options or GradientOptions())


def select_function(module: ModuleOp, name: str | None) -> FuncOp:
    """
    The function called `name` (with or without `@`), or the only one to differentiate; E7003 if there is none.

    That is one of Core IR or PTIR which is not derived from another, nor called by another.
    """
    candidates = list(functions(module))
    if name is not None:
        if called := functions_called(module, name):
            return called[0]
    elif len(primals := primal_functions(module)) == 1:
        return primals[0]
    known = [f.sym_name.data for f in candidates]
    problem = f"no function {name!r}" if name is not None else "which function is meant is not stated"
    raise error("E7003", f"{problem}, expected one of {known}", name=name, known=known)


def primal_functions(module: ModuleOp) -> list[FuncOp]:
    """The functions that somebody wrote to be differentiated: not derived from another, nor called by another."""
    called = is_called(module)
    return [
        f for f in functions(module) if not is_derived(f) and f.sym_name.data not in called and (holds_core_ir(f) or is_ptir(f))
    ]


def add_gradient(module: ModuleOp, func: FuncOp, options: GradientOptions) -> Gradient:
    """Put the gradient function of `func` behind it, in place; a function of Core IR is canonicalised."""
    name = f"{func.sym_name.data}_grad"
    if any(f.sym_name.data == name for f in functions(module)):
        raise error("E4002", f"@{name} exists already", operation=func, value=name)
    sweep = ptir_sweep(func, name, options) if is_ptir(func) else core_sweep(func, name, options)
    with gradient_errors():
        gradient = sweep.run()
    assert func.parent is not None
    func.parent.insert_op_after(gradient, func)
    with gradient_errors():
        if isinstance(sweep.algebra, CoreAlgebra):
            canonicalize(gradient)
        else:
            canonicalize_ptir(gradient)
    if options.verify:
        try:
            verify(gradient)
        except MindError as e:
            message = f"the gradient of @{func.sym_name.data} does not verify: {e.message}"
            raise error("E5002", message, operation=e.op, inner=e.code) from e
    last = gradient.body.block.last_op
    assert last is not None
    results = last.operands[len(last.operands) - len(sweep.wrt) :]
    originals: dict[SSAValue, SSAValue] = dict(zip(sweep.primal.args, func.body.block.args, strict=True))
    wrt = [originals.get(x, x) for x in sweep.wrt]
    return Gradient(module, func, gradient, dict(zip(wrt, results, strict=True)))


def core_sweep(func: FuncOp, name: str, options: GradientOptions) -> Sweep:
    """The sweep of a function of Core IR, which is verified and canonicalised; what it calls is put in its place."""
    inline_calls(func)
    core_block(func)
    profile = parse_profile(options.profile) if options.profile is not None else profile_of(func)
    if options.verify:
        verify(func)
    # Canonical results have no names; those that canonicalisation leaves in place can still be asked for by theirs.
    ssa_names: dict[SSAValue, str] = {x: x.name_hint for op in func.body.block.ops for x in op.results if x.name_hint is not None}
    with gradient_errors():
        canonicalize(func)
        return Sweep(func, name, CoreAlgebra(profile, options.div_gradient), options, ssa_names)


def ptir_sweep(func: FuncOp, name: str, options: GradientOptions) -> Sweep:
    """The sweep of a function of PTIR, which stays as it is: calls and fused groups, where it has any, are resolved in a copy."""
    if options.verify:
        verify(func)
    working = working_view(func, checkpoint=options.checkpoint, max_iterations=options.max_iterations)
    check_marks(walk(working))
    names: dict[SSAValue, str] = {x: x.name_hint for op in working.body.block.ops for x in op.results if x.name_hint is not None}
    return Sweep(working, name, PtirAlgebra(), options, names)


@contextmanager
def gradient_errors() -> Generator[None]:
    """Shape errors of an unverified function, in autodiff's own categories: InvalidAxis and UnsupportedShape."""
    try:
        yield
    except MindError as e:
        if e.code in ("E3004", "E3005"):
            axis = e.context.get("axis", e.context.get("duplicate"))
            raise error("E5003", e.message, operation=e.op, axis=axis, shape=e.context.get("rank")) from e
        if e.code.startswith("E3"):
            raise error("E5004", e.message, operation=e.op, shapes=e.context.get("shapes", e.context.get("shape"))) from e
        raise


@dataclass(frozen=True)
class MindAutodiffPass(ModulePass):
    """
    Add the reverse-mode gradient @f_grad beside each function @f of Core IR or PTIR.

    Without `function`, every function gets one that has none, is not itself derived from another, and is not called by another.
    The other options are those of `GradientOptions`.
    """

    name = "mind-autodiff"

    function: str | None = None
    wrt: tuple[int | str, ...] | None = None
    output: int | None = None
    seed: str | None = None
    keep_primal: bool = True
    verify: bool = True
    profile: str | None = None
    div_gradient: bool = False
    checkpoint: str | None = None
    max_iterations: int | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        register(ctx)
        options = GradientOptions(**{f.name: getattr(self, f.name) for f in fields(GradientOptions)})
        for func in self._selected(op):
            add_gradient(op, func, options)

    def _selected(self, module: ModuleOp) -> list[FuncOp]:
        if self.function is not None:
            return [select_function(module, self.function)]
        done = {ref.string_value() for f in functions(module) if isinstance(ref := f.attributes.get(GRAD_OF), SymbolRefAttr)}
        return [f for f in primal_functions(module) if f.sym_name.data not in done]


__all__ = [
    "GRAD_OF",
    "GRAD_WRT",
    "Gradient",
    "GradientOptions",
    "MindAutodiffPass",
    "add_gradient",
    "differentiate",
    "select_function",
]
