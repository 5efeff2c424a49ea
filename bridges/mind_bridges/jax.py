"""
JAX: its functions as modules of PTIR, and modules as functions of JAX.

    module = from_jax(loss, x, w)            # any function of arrays; x and w are arrays or shapes with dtypes
    loss = to_jax(module)                    # jit, grad, jvp, vmap and shard it: derivatives and batches are our programs
    export(module, "loss.bin"); load("loss.bin").call(x, w)

What comes from here runs where JAX runs. The extra `jax` installs it; without it every function here is E6002.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from mind_dialect.errors import MindError, brief, error
from mind_dialect.program import input_names, shown_name
from mind_dialect.verify import verify
from mind_lowering.ptir_to_stablehlo import checked_options
from mind_runtime.compilation import find_function
from mind_runtime.xla.session import require

from .jax_calls import Call, call_of, primitive
from .jax_rules import Rules

X64_ADVICE = (
    "jax.config.update('jax_enable_x64', True) at the start of the program, or `with jax.enable_x64(True):` around the call"
)


def from_jax(f: Callable[..., Any], *specs: Any) -> ModuleOp:
    """
    The PTIR module of a function of JAX for arguments like `specs`: arrays, `jax.ShapeDtypeStruct`s, or trees of them.

    The entry is `@main`, with an input for each leaf, named after its argument, and a result for each leaf of the result. What
    JAX says of derivatives stays: `stop_gradient`, and custom rules as functions that `mind.vjp` and `mind.jvp` name. Raises
    E8008 with all that PTIR cannot express, E7001 for 64-bit arguments where JAX has only 32 bits, and JAX's own errors for a
    function that it cannot trace.
    """
    jax = require()
    for leaf in jax.tree_util.tree_leaves(specs):
        dtype = getattr(leaf, "dtype", np.float32)
        if not jax.dtypes.issubdtype(dtype, jax.dtypes.extended):  # a random key, which is words of ui32
            _check_width(dtype, "an argument of the function")
    rules = Rules(jax)
    module = rules.read(f, specs)
    rules.attach(module)
    return module


def to_jax(module: ModuleOp, function: str | None = None, *, precision: str = "highest") -> Callable[..., Any]:
    """
    A function of JAX that computes a function of Core IR or PTIR.

    It takes one array for each input, in order or by name, and returns one array, or a tuple where there are several results; a
    program that draws random numbers also takes `seed`, an integer or two words of ui32. `jax.jit`, shardings, `jax.grad`,
    `jax.jvp` and `jax.vmap` apply in any combination: derivatives and batches are the programs of our passes. XLA clamps indices
    that are out of range, where other targets raise E6001. `precision` is that of products of f32.

    Raises what the verifier raises, E7003 and E7001 for the name of the function, E8008 for what cannot be exported; a call
    raises E2007 and E2001 for other arguments, E7001 for 64-bit dtypes where JAX has only 32 bits, and the coded error of an op
    without a derivative.
    """
    require()
    func = find_function(module, function)
    verify(func)
    call = call_of(module, func, checked_options(precision, False))
    _check_static(func)
    call.program  # noqa: B018, what cannot be exported is said now, not at the first call
    names = input_names(func)

    def computed(*arguments: Any, seed: Any = 0, **by_name: Any) -> Any:
        given = _arguments(call, names, arguments, by_name)
        if call.program.takes_seed:
            given.append(_seed(seed))
        results = primitive().bind(*given, call=call)
        return results[0] if len(results) == 1 else tuple(results)

    computed.__name__ = computed.__qualname__ = func.sym_name.data
    computed.__doc__ = f"@{shown_name(func.sym_name.data)}({', '.join(names)}) of a module of mind-dialect."
    return computed


def _check_static(func: FuncOp) -> None:
    if any(n < 0 for a in func.body.block.args for n in getattr(a.type, "get_shape", tuple)()):
        message = f"@{func.sym_name.data} has dimensions without sizes, and JAX compiles for sizes; specialize it first"
        raise error("E6003", message, backend="xla")


def _arguments(call: Call, names: Sequence[str], arguments: Sequence[Any], by_name: dict[str, Any]) -> list[Any]:
    """An array for each input; E2007, E7003 and E2001 for others."""
    jax = require()
    unknown = [name for name in by_name if name not in names[len(arguments) :]]
    if unknown:
        raise error("E7003", f"no input {unknown[0]!r} left to give, expected one of {names}", name=unknown[0], known=names)
    given: list[Any] = [*arguments, *(by_name[n] for n in names[len(arguments) :] if n in by_name)]
    if len(given) != len(names):
        message = f"@{call.function} expects {len(names)} arguments ({', '.join(names)}), found {len(given)}"
        raise error("E2007", message, expected=len(names), actual=len(given))
    found: list[Any] = []
    for name, x, aval in zip(names, given, call.avals[0], strict=False):
        _check_width(aval.dtype, f"input {name!r} of @{call.function}")
        array = x if isinstance(x, jax.Array) else jax.numpy.asarray(x)
        if array.dtype != aval.dtype or array.shape != aval.shape:
            expected, actual = f"{aval.dtype}{list(aval.shape)}", f"{array.dtype}{list(array.shape)}"
            message = f"input {name!r} of @{call.function}: expected an array of {expected}, found {actual}"
            raise error("E2001", message, expected=expected, actual=actual)
        found.append(array)
    for i, aval in enumerate(call.avals[1]):
        _check_width(aval.dtype, f"result {i} of @{call.function}")
    return found


def _check_width(dtype: Any, what: str) -> None:
    """E7001 for a dtype of 64 bits, or complex ones of 128, where JAX has only 32 and 64."""
    jax = require()
    wide = np.dtype(dtype) in (np.dtype(t) for t in ("int64", "uint64", "float64", "complex128"))
    if wide and not jax.config.jax_enable_x64:
        raise error("E7001", f"{what} is {np.dtype(dtype)}, and JAX has 64 bits disabled: {X64_ADVICE}", option="jax_enable_x64")


def _seed(seed: Any) -> Any:
    """The words of a seed; E7001 for what is none."""
    jax = require()
    if isinstance(seed, int) and not isinstance(seed, bool) and 0 <= seed < 1 << 64:
        return np.array([seed & 0xFFFFFFFF, seed >> 32], np.uint32)
    array = jax.numpy.asarray(seed) if hasattr(seed, "dtype") else None
    if array is None or array.dtype != np.uint32 or array.shape != (2,):
        raise error("E7001", f"seed {brief(seed)}, expected an integer from 0 to 2^64 - 1, or two words of uint32", option="seed")
    return array


def export(module: ModuleOp, path: Path | str, function: str | None = None, *, vjp_order: int = 1) -> None:
    """
    Write a function as an artifact of `jax.export`, which any JAX can load and run without us, with its gradients.

    `vjp_order` is how often it can be differentiated there. It is for the platform that JAX runs on. Raises as `to_jax`; E7002
    for a path that cannot be written.
    """
    jax = require()
    call = to_jax(module, function)
    with jax.enable_x64(True):
        made = _avals_of(module, function)
        data = jax.export.export(jax.jit(call))(*made).serialize(vjp_order=vjp_order)
    try:
        Path(path).write_bytes(data)
    except OSError as e:
        raise error("E7002", f"{path}: {e.strerror or e}", path=str(path)) from None


def _avals_of(module: ModuleOp, function: str | None) -> list[Any]:
    from mind_runtime.signature import TensorSpec

    jax = require()
    func = find_function(module, function)
    specs = [TensorSpec.of("", a.type) for a in func.body.block.args]
    return [jax.ShapeDtypeStruct(s.shape, s.numpy_dtype) for s in specs]


def load(path: Path | str) -> Any:
    """The `jax.export.Exported` of a file; its `.call` is a function of JAX. E7002 for a file that is no such artifact."""
    jax = require()
    try:
        return jax.export.deserialize(bytearray(Path(path).read_bytes()))
    except OSError as e:
        raise error("E7002", f"{path}: {e.strerror or e}", path=str(path)) from None
    except MindError:
        raise
    except Exception as e:
        message = f"{path} is not an artifact of jax.export that this JAX can read: {brief(e)}"
        raise error("E7002", message, path=str(path)) from None
