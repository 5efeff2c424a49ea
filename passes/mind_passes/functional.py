"""
Derivatives and batches of programs, from Python: each function takes a module and gives a new one.

    grad(module)                    @f_grad: the gradients of a scalar loss
    value_and_grad(module)          @f_grad: the outputs, then the gradients
    vjp(module)                     @f_grad: takes a cotangent per output; the outputs, then cotangents times the Jacobian
    jvp(module)                     @f_jvp: takes a tangent per input; the outputs, then the Jacobian times the tangents
    hessian_vector_product(module)  @f_hvp: takes a tangent per input; the Hessian of a scalar loss times the tangents
    vmap(module)                    @f_vmap: the function on a batch of inputs

Each is a call of its pass (`autodiff`, `forward`, `vectorize`), whose errors it raises. `function` names the function and may be
left out where there is one, or where the module states its entry; `wrt` selects inputs by index or name, a list or one alone
(`wrt="weights"`), else all floating-point ones, and gradients and tangents are in the order of the inputs, whatever the order in
`wrt`. Functions of Core IR have gradients; the rest is for PTIR, which `convert-mind-to-ptir` makes of them. `div_gradient`
differentiates Core IR's `Div` by the quotient rule, which the specification leaves out. What is no module, such as a Python
function, is E2001.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import SSAValue

from mind_dialect.errors import error
from mind_dialect.program import input_names

from .autodiff import GradientOptions, differentiate
from .forward import ForwardOptions, forward_mode
from .selection import derived_name, select_function
from .vectorize import VectorizeOptions, vectorize

Selection = Sequence[int | str] | int | str | None
"""Inputs by index or name; one may stand alone."""


def grad(
    module: ModuleOp,
    function: str | None = None,
    *,
    wrt: Selection = None,
    output: int | None = None,
    checkpoint: str | None = None,
    div_gradient: bool = False,
) -> ModuleOp:
    """`@f_grad` returns the gradients of the scalar output (of rank 0), one per selected input."""
    options = GradientOptions(_selected(wrt), output, keep_primal=False, checkpoint=checkpoint, div_gradient=div_gradient)
    return differentiate(module, function, options).module


def value_and_grad(
    module: ModuleOp,
    function: str | None = None,
    *,
    wrt: Selection = None,
    output: int | None = None,
    checkpoint: str | None = None,
    div_gradient: bool = False,
) -> ModuleOp:
    """`@f_grad` returns the outputs, then the gradients of the scalar output (of rank 0), one per selected input."""
    options = GradientOptions(_selected(wrt), output, checkpoint=checkpoint, div_gradient=div_gradient)
    return differentiate(module, function, options).module


def vjp(
    module: ModuleOp,
    function: str | None = None,
    *,
    wrt: Selection = None,
    output: int | None = None,
    div_gradient: bool = False,
) -> ModuleOp:
    """`@f_grad` takes a cotangent for `output`, or for each floating-point output, and returns the outputs, then adjoints."""
    options = GradientOptions(_selected(wrt), output, seed="cotangent", div_gradient=div_gradient)
    return differentiate(module, function, options).module


def jvp(module: ModuleOp, function: str | None = None, *, wrt: Selection = None) -> ModuleOp:
    """`@f_jvp` takes a tangent per selected input and returns the outputs, then the tangents of the floating-point ones."""
    return forward_mode(module, function, ForwardOptions(_selected(wrt))).module


def hessian_vector_product(
    module: ModuleOp, function: str | None = None, *, wrt: Selection = None, output: int | None = None
) -> ModuleOp:
    """
    `@f_hvp` takes a tangent per selected input and returns the Hessian of the scalar output times the tangents.

    Forward over reverse: the cost is a small multiple of the gradient's, and no Hessian is ever formed.
    """
    name = derived_name(module, select_function(module, function), "hvp")
    gradient = differentiate(module, function, GradientOptions(_selected(wrt), output, keep_primal=False))
    inputs: dict[SSAValue, int] = {x: i for i, x in enumerate(gradient.primal.body.block.args)}
    if any(x not in inputs for x in gradient.gradients):
        message = f"wrt={wrt} names a value inside @{gradient.primal.sym_name.data}, expected inputs"
        raise error("E7003", message, operation=gradient.primal, name=wrt, known=input_names(gradient.primal))
    moving = tuple(inputs[x] for x in gradient.gradients)
    product = forward_mode(gradient.module, gradient.function.sym_name.data, ForwardOptions(moving, keep_primal=False))
    product.function.sym_name = StringAttr(name)
    return product.module


def vmap(
    module: ModuleOp,
    function: str | None = None,
    *,
    in_axes: int | Sequence[int | None] | None = 0,
    out_axes: int | Sequence[int | None] | None = 0,
    size: int | str | None = None,
    randomness: str = "same",
) -> ModuleOp:
    """
    `@f_vmap` takes the inputs with a batch dimension at `in_axes` and returns outputs with it at `out_axes`.

    An axis, or None, stands for all inputs or outputs, a sequence has one for each. None is an input that is one for the whole
    batch, or an output that does not depend on it.
    `size` is the extent of the batch, or the name of its dimension.
    """
    func = select_function(module, function)
    taken, given = (len(types) for types in (func.function_type.inputs, func.function_type.outputs))
    options = VectorizeOptions(_axes(in_axes, taken), _axes(out_axes, given), size, randomness)
    return vectorize(module, func.sym_name.data, options).module


def _axes(axes: int | Sequence[int | None] | None, count: int) -> tuple[int | None, ...]:
    return (axes,) * count if axes is None or isinstance(axes, int) else tuple(axes)


def _selected(wrt: Selection) -> tuple[int | str, ...] | None:
    return None if wrt is None else (wrt,) if isinstance(wrt, int | str) else tuple(wrt)
