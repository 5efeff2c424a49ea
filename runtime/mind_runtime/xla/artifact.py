"""
StableHLO text as an object that JAX calls: a `jax.export.Exported` around the program's portable artifact.

JAX takes it from there: it traces calls, compiles them for the devices there are, and partitions them by shardings.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from mind_dialect.errors import brief, error
from mind_dialect.ptir.types import TensorSpec
from mind_lowering.ptir_kernels.formats import array_dtype
from mind_lowering.ptir_to_stablehlo.convert import CHECK, SEED
from mind_lowering.ptir_to_stablehlo.text import StablehloProgram

from .session import mlir, require


@lru_cache(maxsize=1)
def _context() -> Any:
    """An MLIR context with the dialects of StableHLO, CHLO and Shardy."""
    jax = require()
    return jax.jit(_same).lower(0.0).compiler_ir("stablehlo").context


def _same(x: Any) -> Any:
    return x


def _nothing() -> tuple[Any, ...]:
    return ()


def portable_artifact(text: str) -> bytes:
    """
    The portable artifact of a module in text, which versions of StableHLO that are four weeks old can read.

    E7004 with XLA's own words for text that it does not take.
    """
    jax, ir, stablehlo = require(), mlir("ir"), mlir("dialects.stablehlo")
    with _context():
        try:
            module = ir.Module.parse(text)
            week = stablehlo.StablehloCompatibilityRequirement.WEEK_4
            version = stablehlo.get_version_from_compatibility_requirement(week)
            return jax.extend.mlir.serialize_portable_artifact(module, version, True)
        except (ir.MLIRError, ValueError, RuntimeError) as e:
            issue = str(e)
            message = f"XLA does not take the StableHLO of this program: {brief(issue)}"
    raise error("E7004", message, stage="xla", issue=issue)


def avals(specs: Sequence[TensorSpec]) -> tuple[Any, ...]:
    """The abstract arrays of a signature; of dtypes that NumPy lacks, E6002 without ml_dtypes."""
    jax = require()
    return tuple(jax.core.ShapedArray(spec.shape, array_dtype(spec.dtype.name)) for spec in specs)


def signature(program: StablehloProgram) -> tuple[tuple[TensorSpec, ...], tuple[TensorSpec, ...]]:
    """The inputs and results of the text: those of the program, the seed, the report of checks."""
    inputs = (*program.inputs, SEED) if program.takes_seed else program.inputs
    return inputs, program.outputs if program.sites is None else (*program.outputs, CHECK)


def exported(program: StablehloProgram, name: str, platforms: Sequence[str], vjp: Callable[..., Any] | None = None) -> Any:
    """
    A `jax.export.Exported` of a program: a function of its inputs in order that returns a tuple.

    `vjp` returns the `Exported` of its gradient, for those who differentiate or serialize it.
    """
    jax = require()
    inputs, outputs = signature(program)
    template = _template()
    tree = jax.tree_util.tree_structure
    fields = {
        "fun_name": name,
        "in_tree": tree(((0,) * len(inputs), {})),
        "in_avals": avals(inputs),
        "out_tree": tree((0,) * len(outputs)),
        "out_avals": avals(outputs),
        "_in_named_shardings": (None,) * len(inputs),
        "_out_named_shardings": (None,) * len(outputs),
        "in_shardings_hlo": (None,) * len(inputs),
        "out_shardings_hlo": (None,) * len(outputs),
        "platforms": tuple(platforms),
        "mlir_module_serialized": portable_artifact(program.text),
        "module_kept_var_idx": tuple(range(len(inputs))),
        "_get_vjp": vjp,
    }
    known = {f.name for f in dataclasses.fields(template)}
    return dataclasses.replace(template, **{name: value for name, value in fields.items() if name in known})


@lru_cache(maxsize=1)
def _template() -> Any:
    """An `Exported` of JAX's own making, whose other fields are those of every program."""
    jax = require()
    return jax.export.export(jax.jit(_nothing), platforms=("cpu",))()
