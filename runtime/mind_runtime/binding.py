"""
A program whose weights are given once: what depends on them alone is computed then, and no call checks them again.

    step = mind_runtime.bind(optimised, weights, donate=["cache"])
    logits, cache = step(token, cache)

`ptir-optimize` with `split` moves what depends on weights alone into a function of its own, which `ptir.prepare` names.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.dialects.func import FuncOp

from mind_dialect.errors import error
from mind_dialect.program import functions, input_names
from mind_lowering.target_options import read_target
from mind_passes.ptir.sink_filters import prepared_filters, sink_filters
from mind_passes.ptir.split_parameters import PREPARE_ATTRIBUTE

from .bound import Bound
from .compilation import compile, compile_to_bind, find_function
from .executors import executor_of
from .specialization import Specialization


def bind(
    module: ModuleOp,
    weights: Mapping[str, Any],
    function: str | None = None,
    target: str = "numpy",
    memory_limit: int | None = None,
    donate: Collection[str] = (),
    threads: int | None = None,
    mesh: Any = None,
    shardings: Mapping[str, Any] | None = None,
    specialize: Specialization | Mapping[str, Any] | str | None = None,
) -> Bound:
    """
    Compile a function as `compile` does and give it its weights, by the names of its inputs.

    Where `ptir.prepare` names a function, that one runs now, once, on its weights, and what it gives is bound too. Without
    `function` it is the only one that prepares nothing for another. Raises what `compile` and a call raise; E7003 for the name
    of a weight that is no input, and for a weight to prepare that is not given; E7001 for a donated one.
    """
    func, taken = _function(module, function), dict[str, Any](weights)
    preparing = _preparing(module, func)
    if preparing is not None and executor_of(read_target(target)[0]).packs_filters:
        module, func, preparing = _with_filters(module, func, preparing, taken)
    names = input_names(func)
    made_before = 0 if preparing is None else len(preparing.function_type.outputs)
    fixed = {*taken, *names[len(names) - made_before :]}
    name = func.sym_name.data
    program = compile_to_bind(module, name, target, memory_limit, donate, threads, fixed, mesh, shardings, specialize)
    if preparing is None:
        return program.type_of_bound(Bound)(program, taken)
    results = _prepared(module, preparing, taken, target, memory_limit, threads)
    wanted = input_names(preparing)
    taken = {name: array for name, array in taken.items() if name in names or name not in wanted}
    taken |= dict(zip(names[len(names) - len(results) :], results, strict=True))
    bound = program.type_of_bound(Bound)(program, taken)
    del results, taken  # of which the binding holds what calls read
    program.return_memory()
    return bound


def _prepared(
    module: ModuleOp, func: FuncOp, weights: Mapping[str, Any], target: str, memory_limit: int | None, threads: int | None
) -> tuple[Any, ...]:
    """Run a function that prepares weights once; E7003 for one that is missing."""
    wanted = input_names(func)
    for name in wanted:
        if name not in weights:
            known = list(weights)
            message = f"@{func.sym_name.data} prepares the weight {name!r}, which is missing; found {known}"
            raise error("E7003", message, name=name, known=known)
    made: Any = compile(module, func.sym_name.data, target, memory_limit, threads=threads)(*(weights[name] for name in wanted))
    return cast("tuple[Any, ...]", made if isinstance(made, tuple) else (made,))


def _with_filters(
    module: ModuleOp, func: FuncOp, preparing: FuncOp, weights: Mapping[str, Any]
) -> tuple[ModuleOp, FuncOp, FuncOp | None]:
    """Return a module whose function transposes given filters itself, that function, and the one that prepares what is left."""
    numbers = prepared_filters(func, preparing, weights.__contains__)
    if not numbers:
        return module, func, preparing
    copied = module.clone()
    main, prepare = (find_function(copied, f.sym_name.data) for f in (func, preparing))
    sink_filters(main, prepare, numbers)
    return copied, main, _preparing(copied, main)


def _preparing(module: ModuleOp, func: FuncOp) -> FuncOp | None:
    """The function that makes the last inputs of `func`, if there is one."""
    name = func.attributes.get(PREPARE_ATTRIBUTE)
    if name is None:
        return None
    return find_function(module, name.string_value() if isinstance(name, SymbolRefAttr) else str(name))


def _function(module: ModuleOp, name: str | None) -> FuncOp:
    """The function of that name, or the only one that makes no other's inputs."""
    if name is None:
        found = list(functions(module))
        makers = [p for f in found if (p := _preparing(module, f)) is not None]
        left = [f for f in found if not any(f is p for p in makers)]
        if len(left) == 1:
            return find_function(module, left[0].sym_name.data)
    return find_function(module, name)
