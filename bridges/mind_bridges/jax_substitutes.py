"""Functions of JAX that are imported in the place of primitives whose StableHLO says something else, or says it poorly."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

WITH_BODIES = ("reduce", "scatter", "select_and_")
"""
Beginnings of the names of primitives whose bodies combine two elements.

They are derived as a whole, so that no rule of what they call applies.
"""


def substitute(jax: Any, equation: Any) -> Callable[..., Any] | None:
    """Return the function that takes the place of the primitive of an equation; None for one that stays."""
    stated, name = equation.params, equation.primitive.name
    if name == "cumlogsumexp":
        return partial(jax.lax.associative_scan, jax.numpy.logaddexp, axis=stated["axis"], reverse=stated["reverse"])
    if name in ("sin", "cos") and equation.invars[0].aval.dtype.kind == "c":
        return partial(_by_hyperbolic, jax.lax, name)
    if name.startswith("scatter") and stated["mode"] is jax.lax.GatherScatterMode.FILL_OR_DROP:
        return _whole_windows(jax, equation)
    return None


def _by_hyperbolic(lax: Any, name: str, z: Any) -> Any:
    """
    Return `sin z` as `-i sinh(i z)`, `cos z` as `cosh(i z)`.

    The StableHLO of JAX has a case for real parts of 0, whose derivative by the real part is 0.
    """
    turned = lax.complex(-lax.imag(z), lax.real(z))
    if name == "cos":
        return lax.cosh(turned)
    found = lax.sinh(turned)
    return lax.complex(lax.imag(found), -lax.real(found))


def _whole_windows(jax: Any, equation: Any) -> Callable[..., Any] | None:
    """
    Return a scatter that moves a window that leaves the operand to where no element of it is inside.

    XLA drops such a window, whereas StableHLO drops its elements outside. None where windows cannot leave in part.
    """
    numbers, (operand, _, updates) = equation.params["dimension_numbers"], (v.aval.shape for v in equation.invars)
    fixed = {*numbers.inserted_window_dims, *numbers.operand_batching_dims}
    windowed = [d for d in range(len(operand)) if d not in fixed]
    sizes = dict(zip(windowed, (updates[d] for d in numbers.update_window_dims), strict=True))
    indexed = numbers.scatter_dims_to_operand_dims
    if all(sizes.get(d, 1) == 1 for d in indexed):
        return None
    outside = np.array([operand[d] for d in indexed])
    last = np.array([operand[d] - sizes.get(d, 1) for d in indexed])

    def scattered(x: Any, indices: Any, new: Any) -> Any:
        wide = indices.astype(np.int32) if indices.dtype.itemsize < np.dtype(np.int32).itemsize else indices
        is_inside = ((wide >= 0) & (wide <= last)).all(-1, keepdims=True)
        moved = jax.numpy.where(is_inside, wide, outside.astype(wide.dtype))
        return equation.primitive.bind(x, moved, new, **equation.params)

    return scattered
