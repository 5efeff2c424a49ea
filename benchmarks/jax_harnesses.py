"""
The harnesses of JAX's own tests, judged: values and vector-Jacobian products of our import against JAX's.

A harness is a function of JAX with a recipe for its arguments. It is lowered to StableHLO, imported, run, and compared with what
JAX computes; if its arguments and results hold floats or complex numbers, and JAX differentiates it, so is our reverse mode of
the imported program. Arguments and cotangents depend on the name of the harness alone.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import numpy as np
from suites import Array, Case, Expectation, Outcome, agrees, is_visible, reason_of, shown
from xdsl.dialects.builtin import ModuleOp

from mind_dialect.errors import MindError
from mind_dialect.stablehlo import OP_TYPES
from mind_passes.functional import vjp
from mind_runtime import compile
from mind_translate.stablehlo import read_stablehlo

CLOSE = Expectation("expect_close", 0, 0, None)
VALUES, PRODUCTS = "values", "VJPs"
IN_F32 = "adjoints are rounded, or leave the range of the dtype; judged in one of more bits"
"""Stands as the reason of a VJP that passes so."""
DETERMINED: dict[str, Callable[[Sequence[Any]], list[Any]]] = {
    "cholesky_": lambda ys: [jax.numpy.tril(y) for y in ys],
    "eigh_": lambda ys: [abs(ys[0]) ** 2, *ys[1:]],
    "svd_": lambda ys: [ys[0], *(abs(_leading(y, ys[0].shape[-1], i)) ** 2 for i, y in enumerate(ys[1:]))],
    "sort_multiple_arrays_.*_isstable_False_": lambda ys: [ys[0]],
    "approx_top_k_": lambda ys: [ys[0]],
}
"""By patterns of names, what of the results is determined: one triangle; vectors up to phases; keys, not places of equals."""
SYMMETRIC = ("cholesky", "eigh")
"""Groups whose functions JAX differentiates for Hermitian operands, so that these are made Hermitian first."""
NOT_COMPARED = {
    "acosh": "JAX's rule takes the wrong square root where the real part is negative, and is finite outside of the domain",
    "bitcast_convert_type": "a bitcast to the dtype that the operand has is an identity, whose derivative JAX takes for zero",
    "digamma": "JAX's polygamma is wrong below -9, by up to 1e49 times the value",
    "eigh": "its operand is one triangle, which JAX's rule takes for the whole symmetric matrix",
    "reduce_precision": "JAX rounds the adjoints to the format too",
    "gather_batchdims": "indices break the promise of its mode to be in bounds: the op clamps them, JAX's derivative drops them",
    "max_inf_nan_complex": "JAX shares adjoints of ties, the comparison and selection that it lowers to do not",
    "rem_singularity": "the result is NaN where it would be compared",
    "sign_shape_complex": "JAX has zero for the derivative of z / |z|, which varies",
    "stop_gradient": "it leaves no op in what it is lowered to",
    "min_inf_nan_complex": "JAX shares adjoints of ties, the comparison and selection that it lowers to do not",
}
"""How names of harnesses begin whose VJPs by JAX are not those of the program that it lowers to, and why."""


def harnesses(*, visible: bool, most: int) -> list[Any]:
    """Return those that JAX runs on a CPU, in the order of their names: of each group at most so many, by hashes of names."""
    jax.config.update("jax_enable_x64", True)
    from jax._src.internal_test_util import test_harnesses

    groups: dict[str, dict[str, Any]] = {}
    for harness in test_harnesses.all_harnesses:
        if harness.filter("cpu") and (is_visible(harness.group_name) or not visible):
            groups.setdefault(harness.group_name, {}).setdefault(harness.fullname, harness)
    found = {name: group[name] for group in groups.values() for name in sorted(group, key=_hashed)[:most]}
    return [found[name] for name in sorted(found)]


def _hashed(name: str) -> tuple[int, str]:
    return zlib.crc32(name.encode()), name


@dataclass
class Subject:
    """A function of arrays to a list of arrays, its arguments, and the cotangents of its inexact results."""

    function: Callable[..., list[Any]]
    arguments: list[Array]
    rng: Any
    narrow: int = 2
    """The bytes of floats whose rounding may hide what their numbers should be."""

    @cached_property
    def text(self) -> str:
        """The function as StableHLO."""
        return jax.jit(self.function, keep_unused=True).lower(*self.arguments).as_text()

    @cached_property
    def module(self) -> ModuleOp:
        """The function as PTIR. Raises what the import raises."""
        return read_stablehlo(self.text, "harness")

    @cached_property
    def gradient(self) -> ModuleOp:
        """Our reverse mode of the module. Raises what it raises."""
        return vjp(self.module)

    @cached_property
    def results(self) -> list[Array]:
        """What JAX computes."""
        return [np.asarray(y) for y in jax.jit(self.function)(*self.arguments)]

    @cached_property
    def cotangents(self) -> list[Array]:
        """Normal numbers for each inexact result."""
        return [_drawn(self.rng, y) for y in self.results if _is_inexact(y)]

    @cached_property
    def adjoints(self) -> list[Array] | None:
        """JAX's adjoints of the inexact arguments; None where nothing is inexact or JAX has no rule of reverse mode."""
        inexact = [i for i, x in enumerate(self.arguments) if _is_inexact(x)]
        kept = [i for i, y in enumerate(self.results) if _is_inexact(y)]

        def pulled(*xs: Any) -> list[Any]:
            def of_inexact(*given: Any) -> list[Any]:
                whole = dict(enumerate(xs)) | dict(zip(inexact, given, strict=True))
                made = self.function(*(whole[i] for i in range(len(xs))))
                return [made[i] for i in kept]

            return list(jax.vjp(of_inexact, *(xs[i] for i in inexact))[1](self.cotangents))

        if not inexact or not kept:
            return None
        try:
            return [np.asarray(x) for x in jax.jit(pulled)(*self.arguments)]
        except (NotImplementedError, TypeError, ValueError):
            return None

    def widened(self) -> Subject | None:
        """The same with f32 for f16 and bf16, of Cholesky factors with f64 for f32; None if nothing is so narrow."""
        wide = [_wide(x, self.narrow) for x in self.arguments]
        if all(x is y for x, y in zip(wide, self.arguments, strict=True)):
            return None
        found = Subject(self.function, wide, self.rng)
        found.cotangents = [_wide(x, self.narrow) for x in self.cotangents]
        return found


def subject(harness: Any) -> Subject:
    """Return the function of a harness on the leaves of its arguments."""
    rng = np.random.RandomState(zlib.crc32(harness.fullname.encode()))
    leaves, tree = jax.tree.flatten(harness.dyn_args_maker(rng))

    def function(*xs: Any) -> list[Any]:
        if harness.group_name in SYMMETRIC:
            xs = tuple([(x + x.mT.conj()) / 2 if jax.numpy.ndim(x) > 1 else x for x in xs])
        found = jax.tree.leaves(harness.dyn_fun(*jax.tree.unflatten(tree, xs)))
        return next((of for name, of in DETERMINED.items() if re.match(name, harness.fullname)), list)(found)

    return Subject(function, [np.asarray(leaf) for leaf in leaves], rng, 4 if harness.group_name in SYMMETRIC else 2)


def run_case(harness: Any, executors: Sequence[str]) -> Case:
    """Judge a harness; its outcomes are by `values numpy`, `VJPs numpy` and so on."""
    given = subject(harness)
    case = Case(harness.fullname, ops_of(given.text))
    compares = not harness.fullname.startswith(tuple(NOT_COMPARED)) and given.adjoints is not None
    for executor in executors:
        case.outcomes[f"{VALUES} {executor}"] = judge_values(given, executor)
        if compares:
            case.outcomes[f"{PRODUCTS} {executor}"] = judge_products(given, executor)
    return case


def judge_values(given: Subject, executor: str) -> Outcome:
    """Compare what the imported program computes with JAX."""
    try:
        return compared(run(given.module, "main", executor, given.arguments), given.results)
    except MindError as e:
        return Outcome("refused", reason_of(e))


def judge_products(given: Subject, executor: str) -> Outcome:
    """
    Compare the reverse mode of the imported program with JAX's.

    JAX differentiates functions, we the ops that they are lowered to, whose adjoints may be rounded more often, and leave the
    range of f16 where the result does not: f16 and bf16 that differ are judged by the same function of f32, Cholesky factors
    of f32, whose derivatives are badly conditioned, by that of f64.
    """
    expected = [*given.results, *(given.adjoints or ())]
    try:
        found = run(given.gradient, "main_grad", executor, [*given.arguments, *given.cotangents])
    except MindError as e:
        return Outcome("refused", reason_of(e))
    outcome, wide = compared(found, expected), given.widened()
    if outcome.status == "wrong" and wide is not None and wide.adjoints is not None:
        return Outcome("passed", (IN_F32,)) if judge_products(wide, executor).status == "passed" else outcome
    return outcome


def run(module: ModuleOp, name: str, executor: str, arguments: Sequence[Array]) -> list[Array]:
    """Return the results of a function. Raises `MindError`."""
    made = compile(module, name, executor)(*arguments)
    return [np.asarray(y) for y in (made if isinstance(made, tuple) else (made,))]


def compared(found: Sequence[Array], expected: Sequence[Array]) -> Outcome:
    """Return whether all results agree; the first that does not is shown."""
    for i, (x, y) in enumerate(zip(found, expected, strict=True)):
        if not agrees(x, y, CLOSE) and not _agrees_in_sum(x, y):
            return Outcome("wrong", (f"result {i}: {shown(x)}, expected {shown(y)}",))
    return Outcome("passed")


def _agrees_in_sum(x: Array, y: Array) -> bool:
    """Whether finite numbers are close to others, relative to the largest: they may be sums of as many terms as an axis has."""
    if x.shape != y.shape or x.dtype != y.dtype or not _is_inexact(y) or not y.size:
        return False
    wide = np.complex128 if y.dtype.kind == "c" else np.float64
    first, second = x.astype(wide), y.astype(wide)
    terms, largest = max((1, *y.shape[-2:])), max(1.0, float(np.abs(second).max()))
    bound = 16 * float(jax.numpy.finfo(y.dtype).eps) * largest * terms
    return bool(np.isfinite(second).all() and (np.abs(first - second) <= bound).all())


def _leading(vectors: Any, count: int, axis: int) -> Any:
    """The singular vectors that have values: columns of the first matrix, rows of the second."""
    return vectors[..., :count] if axis == 0 else vectors[..., :count, :]


def ops_of(text: str) -> frozenset[str]:
    """Return the ops of StableHLO and CHLO in a text."""
    return frozenset(re.findall(r"\b(?:stablehlo|chlo)\.\w+", re.sub(r"[#!]stablehlo\S*", "", text))) & OP_TYPES.keys()


def _is_inexact(array: Array) -> bool:
    return bool(jax.numpy.issubdtype(array.dtype, np.inexact))


def _wide(array: Array, narrow: int) -> Array:
    if array.dtype.kind == "c" or not _is_inexact(array) or array.dtype.itemsize > narrow:
        return array
    return array.astype(np.float32 if narrow == 2 else np.float64)


def _drawn(rng: Any, like: Array) -> Array:
    numbers = rng.normal(size=like.shape)
    return np.asarray(numbers + 1j * rng.normal(size=like.shape) if like.dtype.kind == "c" else numbers).astype(like.dtype)
