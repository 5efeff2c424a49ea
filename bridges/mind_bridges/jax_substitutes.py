"""Functions of JAX that are imported in the place of primitives whose StableHLO says something else, or says it poorly."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
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
        windows = _windows(equation)
        return _one_window(jax, equation, windows) or _whole_windows(jax, equation, windows)
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


@dataclass(frozen=True)
class _Windows:
    """The windows that a scatter updates: their sizes in the operand, what indices say, and how many there are."""

    sizes: tuple[int, ...]
    indexed: tuple[int, ...]
    outside: tuple[int, ...]
    """Starts, along the indexed dimensions, of a window that has no element inside."""
    last: tuple[int, ...]
    """The last starts, along the indexed dimensions, of a window that is inside."""
    count: int

    def wide(self, indices: Any) -> Any:
        """Return indices in a dtype that holds all extents."""
        return indices.astype(np.int32) if indices.dtype.itemsize < np.dtype(np.int32).itemsize else indices

    def are_inside(self, indices: Any) -> Any:
        """Return whether each window is inside of the operand; `indices` are wide."""
        return ((indices >= 0) & (indices <= np.array(self.last, indices.dtype))).all(-1, keepdims=True)


def _windows(equation: Any) -> _Windows:
    numbers = equation.params["dimension_numbers"]
    operand, indices, updates = (v.aval.shape for v in equation.invars)
    fixed = {*numbers.inserted_window_dims, *numbers.operand_batching_dims}
    extents = iter([updates[d] for d in numbers.update_window_dims])
    sizes = tuple(1 if d in fixed else next(extents) for d in range(len(operand)))
    indexed = numbers.scatter_dims_to_operand_dims
    last = tuple(operand[d] - sizes[d] for d in indexed)
    return _Windows(sizes, indexed, tuple(operand[d] for d in indexed), last, math.prod(indices[:-1]))


def _one_window(jax: Any, equation: Any, windows: _Windows) -> Callable[..., Any] | None:
    """
    Return the update of a slice that a scatter of one window is, as of `x.at[i].set(row)` and `x.at[1:-1].add(y)`.

    None where there are more windows, where one may be empty, or where combined elements have no op of arithmetic.
    """
    combine = _COMBINED.get(equation.primitive.name)
    operand = equation.invars[0].aval
    if combine is None or windows.count != 1 or 0 in windows.sizes or 0 in operand.shape or min(windows.last, default=0) < 0:
        return None
    if operand.dtype.kind not in "iufc" and equation.primitive.name != "scatter":
        return None
    lax = jax.lax

    def updated(x: Any, indices: Any, new: Any) -> Any:
        wide = windows.wide(indices.reshape(-1))
        zero = np.zeros((), wide.dtype)
        starts = [wide[windows.indexed.index(d)] if d in windows.indexed else zero for d in range(len(windows.sizes))]
        old = lax.dynamic_slice(x, starts, windows.sizes, allow_negative_indices=False)
        combined = combine(lax, old, new.reshape(windows.sizes))
        kept = jax.numpy.where(windows.are_inside(wide)[0], combined, old)
        return lax.dynamic_update_slice(x, kept, starts, allow_negative_indices=False)

    return updated


_COMBINED: dict[str, Callable[[Any, Any, Any], Any]] = {
    "scatter": lambda lax, old, new: new,
    "scatter-add": lambda lax, old, new: lax.add(old, new),
    "scatter-sub": lambda lax, old, new: lax.sub(old, new),
    "scatter-mul": lambda lax, old, new: lax.mul(old, new),
}
"""Functions that combine an element with its update, by scatter; extremes have other derivatives where both are equal."""


def _whole_windows(jax: Any, equation: Any, windows: _Windows) -> Callable[..., Any] | None:
    """
    Return a scatter that moves a window that leaves the operand to where no element of it is inside.

    XLA drops such a window, whereas StableHLO drops its elements outside. None where windows cannot leave in part.
    """
    if all(windows.sizes[d] == 1 for d in windows.indexed):
        return None

    def scattered(x: Any, indices: Any, new: Any) -> Any:
        wide = windows.wide(indices)
        moved = jax.numpy.where(windows.are_inside(wide), wide, np.array(windows.outside, wide.dtype))
        return equation.primitive.bind(x, moved, new, **equation.params)

    return scattered
