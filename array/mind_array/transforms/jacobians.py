"""
Full Jacobians and Hessians: `jacfwd`, `jacrev`, `hessian`.

Forward mode is mapped over the unit vectors of each array to differentiate by, reverse mode over those of each result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import tree
from ..array import Array
from ..dtypes import kind_of
from ..faults import fault
from ..kinds import is_sequence
from ..operands import array_of
from ..rows.creation import eye, zeros_like
from ..rows.manipulation import reshape, reshaped
from ..staging import Function, named, symbol
from .batching import vmap
from .derivatives import Argnums, grad, jvp, positions, selected, vjp


def _basis(x: Array, what: str) -> Array:
    """One array per element of `x`, 1 there and 0 elsewhere; E1109 for a dimension without a size."""
    n = x.size
    if n is None:
        raise fault("E1109", f"{what}: an array with a dimension that has no size", name=str(x.shape))
    return reshaped(eye(n, dtype=x.dtype), (n, *x.shape))


def _of_leaves(
    function: Function, arguments: tuple[Any, ...], keywords: dict[str, Any], argnums: Argnums, what: str
) -> tuple[Function, list[Array], Any]:
    """The function of the leaves of the selected arguments alone, these leaves, and the container that they make."""
    selected(function, arguments, keywords, argnums, what)
    chosen = positions(argnums, len(arguments), what)
    leaves, form = tree.flatten(tuple(arguments[i] for i in chosen))

    def of_leaves(*given: Any) -> Any:
        every = list(arguments)
        for i, argument in zip(chosen, tree.unflatten(form, given), strict=True):
            every[i] = argument
        return function(*every, **keywords)

    of_leaves.__name__ = symbol(function)
    of_leaves.__wrapped__ = function  # pyright: ignore[reportFunctionMemberAccess]
    return of_leaves, [array_of(x, what) for x in leaves], form if is_sequence(argnums) else form.children()[0]


def jacfwd(function: Function, argnums: Argnums = 0) -> Callable[..., Any]:
    """
    Return a function that returns the Jacobian, by forward mode, which suits functions of few inputs.

    For each result it is one array `[*result, *argument]` per array of the arguments of `argnums`: the container of the result,
    in it that of the argument. E5005 for arguments of integers.
    """
    what = f"jacfwd of {symbol(function)}"

    def jacobian(*arguments: Any, **keywords: Any) -> Any:
        of_leaves, leaves, form = _of_leaves(function, arguments, keywords, argnums, what)
        columns: list[list[Array]] = []
        structure: Any = tree.structure(())
        for i, x in enumerate(leaves):

            def push(direction: Array, i: int = i) -> Any:
                def of_one(v: Array) -> Any:
                    return of_leaves(*leaves[:i], v, *leaves[i + 1 :])

                return jvp(of_one, (leaves[i],), (direction,))[1]

            found, structure = tree.flatten(vmap(push, out_axes=-1)(_basis(x, what)))
            columns.append([reshape(c, (*c.shape[:-1], *x.shape)) for c in found])
        return tree.unflatten(structure, [tree.unflatten(form, list(each)) for each in zip(*columns, strict=True)])

    return named(jacobian, "jacfwd", function)


def jacrev(function: Function, argnums: Argnums = 0) -> Callable[..., Any]:
    """
    Return a function that returns the Jacobian, by reverse mode, which suits functions of few results.

    Its containers are those of `jacfwd`. E5005 for arguments and results of integers.
    """
    what = f"jacrev of {symbol(function)}"

    def jacobian(*arguments: Any, **keywords: Any) -> Any:
        of_leaves, leaves, form = _of_leaves(function, arguments, keywords, argnums, what)
        results, structure = tree.flatten(of_leaves(*leaves))
        results = [array_of(y, what, "the result") for y in results]
        rows: list[Any] = []
        for i, y in enumerate(results):
            if kind_of(y.dtype) not in "fc":
                raise fault("E5005", f"{what}: result {i} is {y.dtype}, expected floating-point", type=str(y.dtype))

            def pull(cotangent: Array, i: int = i) -> Any:
                given = [cotangent if j == i else zeros_like(other) for j, other in enumerate(results)]
                return vjp(of_leaves, *leaves)[1](tree.unflatten(structure, given))

            found = vmap(pull)(_basis(y, what))
            rows.append(tree.unflatten(form, [reshape(r, (*y.shape, *x.shape)) for r, x in zip(found, leaves, strict=True)]))
        return tree.unflatten(structure, rows)

    return named(jacobian, "jacrev", function)


def hessian(function: Function, argnums: Argnums = 0) -> Callable[..., Any]:
    """Return a function that returns the Hessian of a scalar function, forward over reverse: a Jacobian of its gradient."""
    return jacfwd(grad(function, argnums), argnums)
