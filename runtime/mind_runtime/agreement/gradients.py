"""
Our vector-Jacobian products against central differences: the program in f64, random directions of inputs and outputs.

For a direction `d` of the inputs and `g` of the outputs, `<g, J d>` from differences of the program is held against
`<J^T g, d>` from its VJP. Both are of the program with f64 in place of narrower floats, by the target `numpy`.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from mind_dialect.errors import error
from mind_passes.functional import vjp
from mind_passes.widen import widened

from ..compilation import compile, find_function
from ..program import Program
from .differences import Difference, compare, longest_sum, tolerance_of
from .outcomes import results_of

STEPS = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)
"""Of differences of fourth order in f64: long ones for smooth programs, short ones where a kink is near."""
TOLERANCE = 1e-6
"""Relative, where the differences themselves are sure of it: as those with half the step say."""


@dataclass(frozen=True)
class GradientCheck:
    """One direction: the derivative along it by our VJP and by differences, and how sure the differences are."""

    by_vjp: float
    by_differences: float
    uncertainty: float

    @property
    def error(self) -> float:
        """Return the distance of the two, relative to the larger one."""
        return abs(self.by_vjp - self.by_differences) / max(abs(self.by_vjp), abs(self.by_differences), 1e-2)

    @property
    def agrees(self) -> bool:
        """Return whether the two agree as far as differences can tell."""
        return bool(np.isfinite(self.error)) and self.error <= TOLERANCE + 10 * self.uncertainty


Adjoints = Callable[[Sequence[Any], Mapping[int, Any]], Sequence[Any]]
"""Takes arguments, and cotangents by the positions of results; returns adjoints of floating-point inputs, None where unknown."""


def compare_adjoints(
    module: ModuleOp,
    function: str | None,
    arguments: Sequence[Any],
    reference: Adjoints,
    seed: int = 0,
    results: Container[int] | None = None,
) -> list[tuple[str, Difference]]:
    """
    Hold the adjoint of each floating-point input of a function of PTIR, by our VJP, against those of a reference.

    Both are of the program as it is, in its own dtypes, for random cotangents, which are 0 of results that are not among the
    positions `results`. Returns how each adjoint differs, with the name of
    its input. Raises what `vjp` refuses, and E7001 as `check_gradients`.
    """
    name = find_function(module, function).sym_name.data
    primal = compile(module, name)
    moving, outputs = _floats(primal, name)
    differentiated = vjp(module, name)
    found = results_of(primal(*arguments, seed=seed))
    rng = np.random.default_rng(seed)
    g = {i: _cotangent(found[i], rng, zero=results is not None and i not in results) for i in outputs}
    returned = results_of(compile(differentiated, f"{name}_grad")(*arguments, *g.values(), seed=seed))
    ours = returned[-len(moving) :]
    sizes = {
        dim: n
        for i, spec in enumerate(primal.inputs)
        for dim, n in zip(spec.shape, np.shape(arguments[i]), strict=True)
        if isinstance(dim, str)
    }
    terms = longest_sum(find_function(differentiated, f"{name}_grad"), sizes)
    theirs = [None if b is None else np.asarray(b) for b in reference(arguments, g)]
    whole = max((_magnitude(b) for b in theirs if b is not None), default=0.0)
    specs = [primal.inputs[i] for i in moving]
    return [
        (spec.name, _compare_adjoint(np.asarray(a), b, tolerance_of(spec.dtype, terms), whole))
        for spec, a, b in zip(specs, ours, theirs, strict=True)
        if b is not None
    ]


def _cotangent(result: Any, rng: np.random.Generator, *, zero: bool) -> Any:
    drawn = np.asarray(rng.standard_normal(result.shape), np.float64)
    return np.asarray(0 * drawn if zero else drawn).astype(result.dtype)


def _compare_adjoint(ours: Any, theirs: Any, tolerance: float, whole: float) -> Difference:
    """
    Compare two adjoints, relative to their own magnitude, or to that of the whole gradient where they are rounding of 0.

    The adjoint of a bias before a batch norm is such a 0.
    """
    own = max(_magnitude(ours), _magnitude(theirs))
    return compare(ours, theirs, tolerance * whole / own if 0 < own <= tolerance * whole else tolerance)


def _magnitude(array: Any) -> float:
    finite = np.abs(np.asarray(array, np.float64))
    return float(np.max(finite, initial=0.0, where=np.isfinite(finite)))


def _floats(primal: Program, name: str) -> tuple[list[int], list[int]]:
    """Return the positions of the floats among inputs and outputs; E7001 where there are none."""
    moving = [i for i, spec in enumerate(primal.inputs) if spec.dtype.is_float]
    outputs = [i for i, spec in enumerate(primal.outputs) if spec.dtype.is_float]
    if not moving or not outputs:
        what = "inputs" if not moving else "outputs"
        raise error("E7001", f"@{name} has no float among its {what}: there is no gradient to check", option="--grad")
    return moving, outputs


def check_gradients(
    module: ModuleOp, function: str | None, arguments: Sequence[Any], seed: int = 0, directions: int = 3
) -> list[GradientCheck]:
    """
    Hold the VJP of a function of PTIR against differences, along several random directions.

    Raises what `vjp` refuses, E7001 for a function without a float among its inputs or its outputs, and the verifier's error
    where the program has no form in f64.
    """
    name = find_function(module, function).sym_name.data
    wide = widened(module)
    primal = compile(wide, name)
    moving, outputs = _floats(primal, name)
    gradient = compile(vjp(wide, name), f"{name}_grad")
    arrays = [_wide(argument) for argument in arguments]

    def results(program: Any, *given: Any) -> tuple[Any, ...]:
        return results_of(program(*given, seed=seed))

    found = results(primal, *arrays)
    checks: list[GradientCheck] = []
    for k in range(directions):
        rng = np.random.default_rng([seed, k])
        d: dict[int, Any] = {i: rng.standard_normal(arrays[i].shape) for i in moving}
        g: dict[int, Any] = {i: rng.standard_normal(found[i].shape) for i in outputs}

        def along(step: float, d: dict[int, Any] = d, g: dict[int, Any] = g) -> float:
            moved = [x + step * d[i] if i in d else x for i, x in enumerate(arrays)]
            out = results(primal, *moved)
            return float(sum(np.sum(weights * out[i]) for i, weights in g.items()))

        adjoints = results(gradient, *arrays, *g.values())[-len(moving) :]
        exact = float(sum(np.sum(a * d[i]) for a, i in zip(adjoints, moving, strict=True)))
        checks.append(GradientCheck(exact, *_difference(along)))
    return checks


def _difference(along: Callable[[float], float]) -> tuple[float, float]:
    """Return the derivative by the step at which it depends least on the step, and by how much it does."""
    found: list[tuple[float, float]] = []
    for step in STEPS:
        coarse, fine = _central(along, step), _central(along, step / 2)
        apart = abs(coarse - fine) / max(abs(coarse), abs(fine), 1e-2)
        found.append((fine, apart if np.isfinite(apart) else np.inf))
    return min(found, key=lambda pair: pair[1])


def _central(along: Callable[[float], float], step: float) -> float:
    return (8 * (along(step) - along(-step)) - (along(2 * step) - along(-2 * step))) / (12 * step)


def _wide(argument: Any) -> Any:
    array = np.asarray(argument)
    if array.dtype.kind == "c":
        return array.astype(np.complex128)
    is_float = array.dtype.kind == "f" or array.dtype.name.startswith(("bfloat", "float8"))
    return array.astype(np.float64) if is_float else array
