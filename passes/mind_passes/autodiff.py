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
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from mind_dialect import register
from mind_dialect.dominance import walk
from mind_dialect.errors import MindError, error
from mind_dialect.names import named_values
from mind_dialect.profiles import parse_profile, profile_of
from mind_dialect.program import core_block, foreign_op, value_ids
from mind_dialect.verify import verify

from .algebra import CoreAlgebra, PtirAlgebra
from .canonicalize import canonicalize
from .derivatives.rules import no_rule
from .gradient import GRAD_OF, GRAD_WRT, GradientOptions, Sweep, stated_name
from .inline import inline_calls
from .loop_options import check_loop_options, check_marks
from .ptir.canonicalize import canonicalize as canonicalize_ptir
from .selection import derived_name, functions_to_do, is_ptir, own_copy, select_function
from .working_copy import working_view


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
    module = own_copy(module)
    return add_gradient(module, select_function(module, function), options or GradientOptions())


def add_gradient(module: ModuleOp, func: FuncOp, options: GradientOptions, name: str | None = None) -> Gradient:
    """Put the gradient function of `func`, called `name`, behind it, in place; a function of Core IR is canonicalised."""
    name = name or derived_name(module, func, "grad")
    check_loop_options(options.checkpoint, options.max_iterations)
    sweep = ptir_sweep(func, name, options) if is_ptir(func) else core_sweep(func, name, options)
    with gradient_errors():
        gradient = sweep.run()
    assert func.parent is not None
    func.parent.insert_op_after(gradient, func)
    with gradient_errors():
        if isinstance(sweep.algebra, CoreAlgebra):
            canonicalize(gradient, keep_names=True)
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
    """
    The sweep of a function of Core IR, which is verified and canonicalised; what it calls is put in its place.

    Canonicalisation leaves alone what `wrt` names: a value merged with another, or looked through, would have another derivative.
    """
    named = named_values(func.body.block) if len(func.body.blocks) == 1 else {}
    values = inline_calls(func)
    if (foreign := foreign_op(func)) is not None and foreign is not func:
        raise no_rule(foreign, "it is no op of Core IR")
    core_block(func)
    named = named_values(func.body.block) | {name: [values.get(x, x) for x in found] for name, found in named.items()}
    profile = parse_profile(options.profile) if options.profile is not None else profile_of(func)
    if options.verify:
        verify(func)
    keys = [stated_name(key) for key in options.wrt or () if isinstance(key, str)]
    with gradient_errors():
        canonicalize(func, keep_names=True, keep=[x for key in keys for x in named.get(key, ())])
        return Sweep(func, name, CoreAlgebra(profile, options.div_gradient), options, named)


def ptir_sweep(func: FuncOp, name: str, options: GradientOptions) -> Sweep:
    """The sweep of a function of PTIR, which stays as it is: calls and fused groups, where it has any, are resolved in a copy."""
    if options.verify:
        verify(func)
    working = working_view(func, checkpoint=options.checkpoint, max_iterations=options.max_iterations)
    check_marks(walk(working))
    return Sweep(working, name, PtirAlgebra(), options, named_values(working.body.block))


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
    Add the reverse-mode gradient @f_grad alongside each function @f of Core IR or PTIR.

    Without `function`, every function gets one that has none, is not itself derived from another, and is not called by another.
    `wrt=x,1` names inputs, by name or place, or values by their ids; by default every floating-point input. `output=1`
    chooses the loss among several outputs. `seed` is `one` for a loss of rank 0 (the default), `ones`, or `cotangent` for an
    extra input per loss. `keep-primal=false` leaves out the outputs of the function, `verify=false` the checks before and
    after. Of Core IR: `profile=core-v1.1` overrides the function's own, `div-gradient=true` differentiates `Div`. Of PTIR:
    `checkpoint=sqrt`, or `every-8`, saves fewer iterations of scans, and recomputes them; `max-iterations=100` bounds the
    iterations of a `while`.
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
        for func in functions_to_do(op, self.function, GRAD_OF):
            add_gradient(op, func, options)


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
