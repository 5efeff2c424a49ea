"""
A program of ours as a primitive of JAX, with our derivatives and our batching as its rules.

    evaluation, lowering   the program as StableHLO, called as a `jax.export.Exported`
    forward mode           a program of tangents (`jvp`), which is a linear call
    transposition          of a linear call a program of cotangents (`vjp`)
    batching               a program on a batch (`vmap`)

Each of these programs is such a call again, so that they compose to any order. JAX's own extension points are used:
https://docs.jax.dev/en/latest/jax-primitives.html.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Hashable, Sequence
from functools import cached_property, lru_cache
from typing import Any, TypeVar

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from mind_dialect.errors import error
from mind_dialect.program import functions_called
from mind_lowering.core_to_ptir import convert_module as to_ptir
from mind_lowering.core_to_ptir import is_core
from mind_lowering.ptir_kernels.formats import array_dtype
from mind_lowering.ptir_to_stablehlo import ExportOptions, StablehloProgram, stablehlo_program
from mind_passes.autodiff import GradientOptions, differentiate
from mind_passes.forward import ForwardOptions, forward_mode
from mind_passes.vectorize import VectorizeOptions, vectorize
from mind_runtime.xla.artifact import exported, signature
from mind_runtime.xla.session import require

T = TypeVar("T")


class Call:
    """A program that JAX calls; `linear` is the number of its last inputs in which it is linear, with how they are transposed."""

    def __init__(
        self, module: ModuleOp, function: str, options: ExportOptions, primal: Call | None = None, moving: Sequence[int] = ()
    ):
        self.module, self.function, self.options = module, function, options
        self.primal, self.moving = primal, tuple(moving)
        self._made: dict[Hashable, Any] = {}

    def __repr__(self) -> str:
        return f"@{self.function}"

    @cached_property
    def func(self) -> FuncOp:
        """The function that is called."""
        return functions_called(self.module, self.function)[0]

    @cached_property
    def program(self) -> StablehloProgram:
        """Its StableHLO. Raises what cannot be exported, in one E8008."""
        return stablehlo_program(self.func, self.options, shardings=False)

    def exported(self, platform: str) -> Any:
        """The object that JAX calls on a platform."""
        return self._once(("exported", platform), lambda: exported(self.program, self.function, [platform]))

    @cached_property
    def avals(self) -> tuple[list[Any], list[Any]]:
        """The shapes and dtypes of its inputs, the seed included, and of its results."""
        jax = require()
        sides = signature(self.program)
        inputs, outputs = ([jax.core.ShapedArray(s.shape, array_dtype(s.dtype.name)) for s in side] for side in sides)
        return inputs, outputs

    def _once(self, key: Hashable, make: Callable[[], T]) -> T:
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]

    def jitted(self, bind: Any) -> Any:
        """The call compiled by itself, for values that are not traced."""

        def evaluate(*given: Any) -> Any:
            return bind.bind(*given, call=self)

        return self._once("jitted", lambda: require().jit(evaluate))

    # The programs that rules call

    def jvp(self, moving: Sequence[int]) -> Call:
        """
        From the inputs and tangents of some of them to the tangents of the floating-point results: linear in the tangents.

        Raises the coded error of an op that has no derivative.
        """

        def make() -> Call:
            found = forward_mode(self.module, self.function, ForwardOptions(tuple(moving), keep_primal=False))
            return Call(found.module, found.function.sym_name.data, self.options, self, moving)

        return self._once(("jvp", tuple(moving)), make)

    def vjp(self, moving: Sequence[int]) -> Call:
        """From the inputs and cotangents of the floating-point results to the cotangents of some inputs."""

        def make() -> Call:
            options = GradientOptions(tuple(moving), seed="cotangent", keep_primal=False)
            found = differentiate(self.module, self.function, options)
            return Call(found.module, found.function.sym_name.data, self.options)

        return self._once(("vjp", tuple(moving)), make)

    def vmap(self, is_batched: Sequence[bool], size: int) -> Call:
        """On a batch along axis 0 of some inputs, to a batch of all results."""

        if self.primal is not None:  # the tangents of a batch, so that its transpose is known
            count = len(self.primal.func.function_type.inputs)
            return self.primal.vmap(is_batched[:count], size).jvp(self.moving)

        def make() -> Call:
            axes = tuple(0 if batched else None for batched in is_batched)
            options = VectorizeOptions(axes, (0,) * len(self.func.function_type.outputs), size, "same")
            found = vectorize(self.module, self.function, options)
            return Call(found.module, found.function.sym_name.data, self.options)

        return self._once(("vmap", tuple(is_batched), size), make)


def call_of(module: ModuleOp, func: FuncOp, options: ExportOptions) -> Call:
    """The call of a function of Core IR or PTIR, in a module of its own, so that derived functions stand alone."""
    work = module.clone()
    name = func.sym_name.data
    if is_core(functions_called(work, name)[0]):
        to_ptir(work)
    return Call(work, name, options)


@lru_cache(maxsize=1)
def primitive() -> Any:
    """The primitive, with its rules; made when JAX is first needed."""
    require()
    core, ad, batching, mlir = (
        importlib.import_module(f"jax.{name}")
        for name in ("extend.core", "interpreters.ad", "interpreters.batching", "interpreters.mlir")
    )
    bind = core.Primitive("mind_call")
    bind.multiple_results = True

    def evaluate(*given: Any, call: Call) -> Any:
        return call.jitted(bind)(*given)

    def shapes(*given: Any, call: Call) -> Any:
        return call.avals[1]

    def lowered(ctx: Any, *given: Any, call: Call) -> Any:
        return _lowered(mlir, ctx, given, call)

    def forward(primals: Sequence[Any], tangents: Sequence[Any], *, call: Call) -> Any:
        return _forward(ad, bind, primals, tangents, call)

    def transposed(cotangents: Sequence[Any], *given: Any, call: Call) -> Any:
        return _transposed(ad, bind, cotangents, given, call)

    def batched(given: Sequence[Any], axes: Sequence[Any], *, call: Call) -> Any:
        return _batched(bind, given, axes, call)

    bind.def_impl(evaluate)
    bind.def_abstract_eval(shapes)
    mlir.register_lowering(bind, lowered)
    ad.primitive_jvps[bind] = forward
    ad.primitive_transposes[bind] = transposed
    batching.primitive_batchers[bind] = batched
    return bind


def _lowered(mlir: Any, ctx: Any, given: Sequence[Any], call: Call) -> Any:
    platforms = ctx.module_context.platforms
    if len(platforms) != 1:
        message = f"@{call.function} is lowered for several platforms at once ({', '.join(platforms)}), expected one at a time"
        raise error("E6003", message, backend="xla")
    return mlir.lower_fun(call.exported(platforms[0]).call, multiple_results=True)(ctx, *given)


def _forward(ad: Any, bind: Any, primals: Sequence[Any], tangents: Sequence[Any], call: Call) -> Any:
    """Tangents that are known to be 0 are left out; integers have none."""
    results = bind.bind(*primals, call=call)
    count = len(call.func.function_type.inputs)
    moving = [i for i, t in enumerate(tangents[:count]) if type(t) is not ad.Zero and _is_inexact(primals[i])]
    zeros = [ad.Zero(_tangent_aval(aval)) for aval in call.avals[1]]
    floating = [i for i, aval in enumerate(call.avals[1]) if _is_inexact(aval)]
    if not moving or not floating:
        return results, zeros
    given = [*primals[:count], *(ad.instantiate_zeros(tangents[i]) for i in moving)]
    found = bind.bind(*given, *_seeds(primals, call), call=call.jvp(moving))
    for i, tangent in zip(floating, found, strict=True):
        zeros[i] = tangent
    return results, zeros


def _tangent_aval(aval: Any) -> Any:
    return aval.to_tangent_aval()


def _is_inexact(x: Any) -> bool:
    return bool(require().numpy.issubdtype(x.dtype, np.inexact))


def _seeds(given: Sequence[Any], call: Call) -> Sequence[Any]:
    """The seed among what is given, as the derived program takes it too."""
    return given[len(call.func.function_type.inputs) :]


def _transposed(ad: Any, bind: Any, cotangents: Sequence[Any], given: Sequence[Any], call: Call) -> Any:
    if call.primal is None:
        message = f"@{call.function} is transposed in inputs in which it is not linear"
        raise error("E6003", message, backend="xla")
    first, count = len(call.primal.func.function_type.inputs), len(call.moving)
    unknown = [i for i in range(count) if ad.is_undefined_primal(given[first + i])]
    if any(ad.is_undefined_primal(x) for x in (*given[:first], *given[first + count :])):
        message = f"@{call.function} is transposed in inputs in which it is not linear"
        raise error("E6003", message, backend="xla")
    full = [ad.instantiate_zeros(ct) for ct in cotangents]
    if all(type(ct) is ad.Zero for ct in cotangents):
        return [ad.Zero(x.aval) if ad.is_undefined_primal(x) else None for x in given]
    adjoint = call.primal.vjp([call.moving[i] for i in unknown])
    found = bind.bind(*given[:first], *full, *given[first + count :], call=adjoint)
    results: list[Any] = [None] * len(given)
    for i, cotangent in zip(unknown, found, strict=True):
        results[first + i] = cotangent
    return results


def _batched(bind: Any, given: Sequence[Any], axes: Sequence[Any], call: Call) -> Any:
    count = len(call.func.function_type.inputs)
    if any(axis is not None for axis in axes[count:]):
        message = f"@{call.function} draws random numbers, and its seed is batched; expected one seed for the whole batch"
        raise error("E6003", message, backend="xla")
    size = next(x.shape[axis] for x, axis in zip(given, axes, strict=True) if axis is not None)
    must = _batched_anyway(call)
    at_front = [
        _at_front(x, axis, size) if axis is not None or i in must else x
        for i, (x, axis) in enumerate(zip(given, axes, strict=True))
    ]
    is_batched = [axis is not None or i in must for i, axis in enumerate(axes[:count])]
    made = call.vmap(is_batched, size)
    return bind.bind(*at_front, call=made), [0] * len(call.avals[1])


def _at_front(x: Any, axis: int | None, size: int) -> Any:
    """An operand with the batch along its first axis; one that is not batched is repeated."""
    numpy = require().numpy
    return numpy.broadcast_to(x, (size, *x.shape)) if axis is None else numpy.moveaxis(x, axis, 0)


def _batched_anyway(call: Call) -> set[int]:
    """Return the tangents of a call, which have a cotangent for each place of the batch, and the inputs that they belong to."""
    found = set[int]()
    while call.primal is not None:
        first = len(call.primal.func.function_type.inputs)
        found |= {*call.moving, *range(first, first + len(call.moving))}
        call = call.primal
    return found
