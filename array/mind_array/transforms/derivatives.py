"""
Derivatives of Python functions: `grad`, `value_and_grad`, `vjp`, `jvp`, `hvp`.

Each traces the function, lets `mind_passes` transform it, and puts the result where it is called. So they nest in any order, with
each other and with `vmap` and `jit`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mind_dialect.errors import MindError
from mind_passes.autodiff import differentiate
from mind_passes.forward import ForwardOptions, forward_mode
from mind_passes.functional import hessian_vector_product
from mind_passes.gradient import GradientOptions

from .. import tree
from ..array import Array
from ..checks import check_function, flag, whole
from ..dtypes import kind_of
from ..faults import fault
from ..kinds import is_sequence
from ..operands import array_of
from ..places import function_place
from ..staging import Function, Staged, apply, at_op, leaf_names, named, outputs_of, stage, symbol

Argnums = int | Sequence[int]


def positions(argnums: Argnums, count: int, what: str) -> tuple[int, ...]:
    each: Sequence[Any] = argnums if is_sequence(argnums) else (argnums,)
    given = [whole(i, what, "argnums") for i in each]
    for i in given:
        if not -count <= i < count:
            expected = f"0 to {count - 1}" if count else "a positional argument to differentiate by"
            message = f"{what}: argnums {argnums} with {count} positional arguments, expected {expected}"
            raise fault("E1110", message, argument="argnums", value=str(argnums))
    return tuple(i % count for i in given)


def selected(
    function: Function, arguments: tuple[Any, ...], keywords: dict[str, Any], argnums: Argnums, what: str
) -> tuple[list[int], list[Any]]:
    """The numbers of the leaves to differentiate by, and the containers of the selected arguments; E5005 for integers."""
    check_function(function, what.partition(" ")[0])
    chosen = positions(argnums, len(arguments), what)
    labels = leaf_names(function, arguments, keywords)
    ends: list[int] = [0]
    for argument in arguments:
        ends.append(ends[-1] + len(tree.leaves(argument)))
    leaves = tree.leaves(arguments)
    found: list[int] = []
    for i in chosen:
        for n in range(ends[i], ends[i + 1]):
            dtype = array_of(leaves[n], what).dtype
            if kind_of(dtype) not in "fc":
                instead = "capture it" if what.startswith(("vjp", "jvp", "hvp")) else "leave it out of argnums"
                message = f"{what}: {labels[n]} is {dtype}, expected floating-point; {instead}, or cast it"
                raise fault("E5005", message, type=str(dtype))
            found.append(n)
    return found, [tree.structure(arguments[i]) for i in chosen]


def _grouped(gradients: Sequence[Array], structures: Sequence[Any], single: bool) -> Any:
    """Gradients in the containers of their arguments."""
    rest, made = list(gradients), list[Any]()
    for form in structures:
        n = form.num_leaves
        made.append(tree.unflatten(form, rest[:n]))
        rest = rest[n:]
    return made[0] if single else tuple(made)


def _operands(arguments: tuple[Any, ...], keywords: dict[str, Any], staged: Staged) -> list[Array]:
    """The inputs of a staged function: leaves and captures."""
    return [*(array_of(x, "argument") for x in tree.leaves((arguments, keywords))), *staged.captures]


def value_and_grad(function: Function, argnums: Argnums = 0, *, has_aux: bool = False) -> Callable[..., Any]:
    """
    Return a function that returns the value of `function` and its gradient by the arguments of `argnums`.

    The value is one floating-point number; E5004 for another shape, E5005 for integers. With `has_aux` the function returns a
    pair of which only the first is differentiated. Gradients have the containers of their arguments.
    """
    what = f"grad of {symbol(function)}"
    has_aux = flag(has_aux, what, "has_aux")

    def value_and_gradient(*arguments: Any, **keywords: Any) -> Any:
        wrt, structures = selected(function, arguments, keywords, argnums, what)
        staged = stage(function, arguments, keywords)
        _check_loss(staged, function, has_aux)
        operands = _operands(arguments, keywords, staged)
        count = len(staged.outputs)
        # The pass gives gradients in the order of the inputs, each once; arguments may be asked for in any order.
        order = sorted(set(wrt))
        module = staged.module()
        try:
            made = differentiate(module, staged.name, GradientOptions(tuple(order), 0))
        except MindError as e:
            raise at_op(e) from None
        results = apply(made.function, operands)
        outputs, by_number = results[:count], dict(zip(order, results[count:], strict=True))
        gradients = _grouped([by_number[n] for n in wrt], structures, not is_sequence(argnums))
        return outputs_of(staged, outputs), gradients

    return named(value_and_gradient, "value_and_grad", function)


def _check_loss(staged: Staged, function: Function, has_aux: bool) -> None:
    where = function_place(function)
    if has_aux and not _is_pair(staged.structure):
        actual = tree.shown(staged.structure)
        message = f"grad: {symbol(function)} ({where}) returns {actual}, expected a pair (loss, other results) for has_aux=True"
        raise fault("E1104", message, path="result", expected="(loss, other results)", actual=actual)
    loss = staged.outputs[0] if staged.outputs else None
    if loss is None or (not has_aux and len(staged.outputs) > 1):
        message = f"grad: {symbol(function)} ({where}) returns {len(staged.outputs)} arrays, expected one number"
        raise fault("E5004", f"{message}; pass has_aux=True for (loss, other results)", shapes=())
    if kind_of(loss.dtype) != "f":
        raise fault(
            "E5005", f"grad: {symbol(function)} ({where}) returns {loss.dtype}, expected floating-point", type=str(loss.dtype)
        )
    if loss.shape:
        message = f"grad: {symbol(function)} ({where}) returns shape {list(loss.shape)}, expected rank 0; ma.sum or ma.mean"
        raise fault("E5004", f"{message} make one number, ma.vjp and ma.jacrev take arrays", shapes=(loss.shape, ()))


def _is_pair(structure: Any) -> bool:
    """Return whether a container is a tuple of a single array and anything else."""
    return structure.type is tuple and structure.num_children == 2 and structure.children()[0].is_leaf()


def grad(function: Function, argnums: Argnums = 0, *, has_aux: bool = False) -> Callable[..., Any]:
    """Return a function that returns the gradient alone, or with `has_aux` the gradient and the other results."""
    both = value_and_grad(function, argnums, has_aux=has_aux)

    def gradient(*arguments: Any, **keywords: Any) -> Any:
        value, gradients = both(*arguments, **keywords)
        return (gradients, value[1]) if has_aux else gradients

    return named(gradient, "grad", function)


def vjp(function: Function, *primals: Any) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
    """
    Return the result of `function` and a function from cotangents, a container like the result, to those of the primals.

    Cotangents of integers are left out of the sums, whatever they are.
    """
    what = f"vjp of {symbol(function)}"
    wrt, structures = selected(function, primals, {}, tuple(range(len(primals))), what)
    result = function(*primals)

    def pullback(cotangents: Any) -> tuple[Any, ...]:
        staged = stage(function, primals)
        given, form = tree.flatten(cotangents)
        if form != staged.structure:
            expected, actual = tree.shown(staged.structure), tree.shown(form)
            raise fault(
                "E1104", f"{what}: cotangents {actual}, expected {expected}", path="cotangents", expected=expected, actual=actual
            )
        pairs = enumerate(zip(given, staged.outputs, strict=True))
        matched = [_like(g, y, f"{what}: cotangent {i}") for i, (g, y) in pairs if kind_of(y.dtype) in "fc"]
        operands, count = _operands(primals, {}, staged), len(staged.outputs)
        try:
            made = differentiate(staged.module(), staged.name, GradientOptions(tuple(wrt), seed="cotangent"))
        except MindError as e:
            raise at_op(e) from None
        results = apply(made.function, [*operands, *matched])
        return _grouped(results[count:], structures, False)

    return result, pullback


def _like(x: Any, y: Array, what: str) -> Array:
    """A tangent or cotangent of `y`; E2001 for another dtype or shape."""
    given = array_of(x, what)
    if (given.weak and not y.shape) or (type(x) is float and not y.shape):
        from ..operands import cast

        given = cast(given, y.dtype)
    if given.dtype != y.dtype or given.shape != y.shape:
        expected, actual = (f"{a.dtype}{list(a.shape)}" for a in (y, given))
        raise fault("E2001", f"{what}: found {actual}, expected {expected}", expected=expected, actual=actual)
    return given


def _directions(arguments: tuple[Any, ...], tangents: Sequence[Any], what: str) -> list[Array]:
    """The leaves of tangents, each like the primal it belongs to; E1104 for another container."""
    expected, actual = tree.structure(arguments), tree.structure(tuple(tangents))
    if expected != actual:
        shown = (tree.shown(expected), tree.shown(actual))
        message = f"{what}: the tangents are {shown[1]}, the primals {shown[0]}"
        raise fault("E1104", message, path="tangents", expected=shown[0], actual=shown[1])
    pairs = zip(tree.leaves(tuple(tangents)), tree.leaves(arguments), strict=True)
    return [_like(t, array_of(x, what), f"{what}: tangent {i}") for i, (t, x) in enumerate(pairs)]


def _as_arguments(given: Any, what: str, name: str) -> tuple[Any, ...]:
    """Primals or tangents, one per argument; E1105 for what is no tuple or list."""
    if not is_sequence(given):
        actual = type(given).__name__
        message = f"{what}: {name} are of type {actual}, expected a tuple with one entry per argument"
        raise fault("E1105", message, path=name, actual=actual)
    return tuple(given)


def jvp(function: Function, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """Return the result of `function` on `primals` and its derivative in the direction of `tangents`."""
    what = f"jvp of {symbol(function)}"
    arguments, given = _as_arguments(primals, what, "primals"), _as_arguments(tangents, what, "tangents")
    wrt, _ = selected(function, arguments, {}, tuple(range(len(arguments))), what)
    directions = _directions(arguments, given, what)
    staged = stage(function, arguments)
    operands, count = _operands(arguments, {}, staged), len(staged.outputs)
    try:
        made = forward_mode(staged.module(), staged.name, ForwardOptions(tuple(wrt)))
    except MindError as e:
        raise at_op(e) from None
    results = apply(made.function, [*operands, *directions])
    moved = iter(results[count:])
    from ..rows.creation import zeros_like

    derivative = [next(moved) if kind_of(y.dtype) in "fc" else zeros_like(y) for y in results[:count]]
    return outputs_of(staged, results[:count]), outputs_of(staged, derivative)


def hvp(function: Function, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    """Return the Hessian of a scalar function times `tangents`, in the containers of the primals; no Hessian is formed."""
    what = f"hvp of {symbol(function)}"
    arguments, given = _as_arguments(primals, what, "primals"), _as_arguments(tangents, what, "tangents")
    wrt, structures = selected(function, arguments, {}, tuple(range(len(arguments))), what)
    staged = stage(function, arguments)
    _check_loss(staged, function, False)
    directions = _directions(arguments, given, what)
    operands = _operands(arguments, {}, staged)
    try:
        made = hessian_vector_product(staged.module(), staged.name, wrt=tuple(wrt))
    except MindError as e:
        raise at_op(e) from None
    from mind_dialect.program import functions_called

    (func,) = functions_called(made, f"{staged.name}_hvp")
    return _grouped(apply(func, [*operands, *directions]), structures, len(arguments) == 1)
