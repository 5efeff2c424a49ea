"""Traces of JAX (`jax.extend.core.ClosedJaxpr`): what they hold, what is passed to those inside, and which are equal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

Derivative = tuple[Callable[..., Any], Sequence[Any]]
"""A function of JAX and the types of its arguments."""


def passed(equation: Any, key: str, inner: Any) -> Sequence[Any]:
    """Return what an equation passes to a trace that it holds, by argument; None for what it changes in a loop."""
    given, stated, name = list(equation.invars), equation.params, equation.primitive.name
    if name == "cond":
        return given[1:]
    if name == "scan":
        first, carried = stated["num_consts"], stated["num_carry"]
        return [*given[:first], *[None] * carried, *given[first + carried :]]
    if name == "while":
        first, second = stated["cond_nconsts"], stated["body_nconsts"]
        return given[:first] if key == "cond_jaxpr" else given[first : first + second]
    arguments = getattr(inner, "jaxpr", inner).invars
    return given if len(arguments) == len(given) else []


def with_captured(jax: Any, made: Any, call: Any) -> Any:
    """Return the trace of the one call in a trace, with the arrays that it captures as its constants."""
    core, body = jax.extend.core, call.params["jaxpr"].jaxpr
    count = len(call.invars) - len(made.jaxpr.invars)
    if not count:
        return call.params["jaxpr"]
    known = dict(zip(made.jaxpr.constvars, made.consts, strict=True))
    captured = [v.val if isinstance(v, core.Literal) else known[v] for v in call.invars[:count]]
    constants = [*body.constvars, *body.invars[:count]]
    return core.ClosedJaxpr(
        body.replace(constvars=constants, invars=body.invars[count:]), [*call.params["jaxpr"].consts, *captured]
    )


def trace_of(jax: Any, derivative: Derivative) -> Any | None:
    """
    Return the trace of a derivative; None where JAX fails to derive it, as it would if it was asked for that derivative.

    So it does where a rule captures an array of the trace around its function, of which nothing is known here.
    """
    function, types = derivative
    try:
        found = jax.make_jaxpr(function)(*types)
    except Exception:  # whatever a rule of a user raises
        return None
    return None if any(isinstance(c, jax.core.Tracer) for c in all_constants(jax, found)) else found


def described(jax: Any, closed: Any | None) -> object:
    """Return an equal value for traces that compute the same function; the trace itself where it holds arrays without values."""
    if closed is None:
        return None
    constants = all_constants(jax, closed)
    if any(isinstance(c, jax.core.Tracer) for c in constants):
        return closed
    return str(closed), *(np.asarray(c).tobytes() for c in constants)


def all_constants(jax: Any, closed: Any) -> list[Any]:
    """The arrays that a trace holds, and those that the traces in it hold."""
    return [*closed.consts, *_constants(jax, closed.jaxpr)]


def _constants(jax: Any, jaxpr: Any) -> list[Any]:
    """The arrays that the traces inside a trace hold, which its text does not show."""
    found: list[Any] = []
    for equation in jaxpr.eqns:
        for value in equation.params.values():
            for part in cast("tuple[Any, ...]", value if isinstance(value, tuple) else (value,)):
                if isinstance(part, jax.extend.core.ClosedJaxpr):
                    found += [*part.consts, *_constants(jax, part.jaxpr)]
                elif isinstance(part, jax.extend.core.Jaxpr):
                    found += _constants(jax, part)
    return found


def innermost(closed: Any) -> Any:
    """Return the trace of the function that a trace calls on all that it is given, if it does no more; else the trace."""
    while len(closed.jaxpr.eqns) == 1:
        (only,) = closed.jaxpr.eqns
        if only.primitive.name != "jit" or (only.invars, only.outvars) != (closed.jaxpr.invars, closed.jaxpr.outvars):
            break
        closed = only.params["jaxpr"]
    return closed


def reads_all(core: Any, jaxpr: Any) -> bool:
    """Return whether results or effects of a trace depend on each of its arguments; what its equations call is not looked at."""
    read = {v for v in jaxpr.outvars if not isinstance(v, core.Literal)}
    for equation in reversed(jaxpr.eqns):
        if equation.effects or not read.isdisjoint(equation.outvars):
            read.update(v for v in equation.invars if not isinstance(v, core.Literal))
    return read.issuperset(jaxpr.invars)
