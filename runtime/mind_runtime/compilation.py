"""
From a function of Core IR or PTIR to a callable: verified, lowered and compiled once, for the target that is asked for.
"""

from __future__ import annotations

import sys
from collections.abc import Collection
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from mind_dialect.errors import brief, error
from mind_dialect.program import functions, functions_called, input_names, shown_name
from mind_dialect.ptir_program import stated_entry
from mind_dialect.ptir_shapes import Dims
from mind_dialect.verify import verify
from mind_lowering.cupy.options import CupyOptions, read_target
from mind_lowering.numpy import lowered

from . import bodies
from .bodies import body_of
from .memory import check_need, physical_memory
from .native import require as require_native
from .program import Program
from .shapes import Guard, checked_shapes, shown_dims

TARGETS = ("numpy", "native", "cupy")


def compile(
    module: ModuleOp,
    function: str | None = None,
    target: str = "numpy",
    memory_limit: int | None = None,
    donate: Collection[str] = (),
    threads: int | None = None,
) -> Program:
    """
    Compile the function called `function`, or the entry that `module` states, or its only function, for `target`.

    The function may be Core IR, PTIR or already lowered to `xp`; the module is left as it is. `memory_limit` in bytes is by
    default the memory of the machine. `donate` names inputs whose memory the program may overwrite, as a cache that is updated.
    `threads` is how many threads the target `native` may use, by default what MIND_NUM_THREADS says, else one per core. `cupy`
    may be followed by its options, as in `cupy{tf32 graph=off}`; E7001 for others.
    Raises the verifier's error; E4000 for a function that is neither; E7003 for an unknown function or input, E7001 where a
    function must be named; E6002 for an unknown target; E6004 for what cannot fit in memory; E8007 for an unknown custom call.
    """
    return compile_to_bind(module, function, target, memory_limit, donate, threads, ())


def compile_to_bind(
    module: ModuleOp,
    function: str | None,
    target: str,
    memory_limit: int | None,
    donate: Collection[str],
    threads: int | None,
    fixed: Collection[str],
) -> Program:
    """As `compile`; `fixed` names inputs that will be bound, so that what depends on them may be packed once."""
    target, options = read_target(target)
    if target not in TARGETS:
        message = f"target {target!r} is not available, expected one of {list(TARGETS)}"
        raise error("E6002", message, requested=target, available=list(TARGETS))
    if options and target != "cupy":
        hint = "; threads are given beside it, by threads= or --threads" if "threads" in options else ""
        raise error("E7001", f"the target {target!r} takes no options, found {list(options)}{hint}", option=next(iter(options)))
    asked = CupyOptions.of(options)
    if target == "native":
        require_native()
    elif target == "cupy":
        from mind_lowering.cupy.launching import require as require_cupy

        require_cupy()
    if threads is not None and target != "native":
        message = f"threads {brief(threads)} for the target {target!r}: it is an option of 'native'"
        raise error("E7001", message, option="threads")
    func = find_function(module, function)
    donated = _numbers(func, donate)
    if target == "cupy":
        from .on_cupy import compile_for_cupy

        return compile_for_cupy(func, donated, memory_limit, asked)
    limit = physical_memory() if memory_limit is None else memory_limit
    if target == "native":
        from .native.program import compile_native

        return compile_native(func, donated, limit, threads, [i for i, name in enumerate(input_names(func)) if name in fixed])
    made = lowered(func, donated)
    body = body_of(made.func)
    check_need(body.need, limit)
    return Program(func, body, made.origins, donated, limit)


def output_shapes(program: ModuleOp | Program, *shapes: Any, function: str | None = None) -> tuple[Dims, ...]:
    """
    The shapes of the results of a program, or of a function of a module, for inputs of these shapes; nothing is run.

    Errors are those of `Program.output_shapes`; of a module also the verifier's, and E7003 or E7001 for the name of the function.
    """
    if isinstance(program, Program):
        return program.output_shapes(*shapes)
    func = find_function(program, function)
    verify(func)
    given = checked_shapes(f"@{shown_name(func.sym_name.data)}", shapes, len(func.function_type.inputs))
    return shown_dims(Guard(func)(*given))


def _numbers(func: FuncOp, names: Collection[str]) -> list[int]:
    """The numbers of inputs; E7003 for a name that is none."""
    if isinstance(names, str):
        names = [names]
    if not names:
        return []
    known = input_names(func)
    for name in names:
        if name not in known:
            raise error("E7003", f"no input {name!r} to donate, expected one of {known}", name=name, known=known)
    return [known.index(name) for name in names]


def find_function(module: ModuleOp, name: str | None) -> FuncOp:
    """
    The function called `name`, with or without `@`; if that is None the entry that the module states, or the only function.

    E7003 or E7001 else, E2002 for a stated entry that is none, E2001 for what is no module.
    """
    if not isinstance(module, Operation):  # pyright: ignore[reportUnnecessaryIsInstance]
        given: Any = module
        actual = type(given).__name__
        hint = "give its .module" if hasattr(given, "module") else "mind_tools.frontends has load(path) and parse(text)"
        raise error("E2001", f"expected a module, found a {actual}; {hint}", expected="ModuleOp", actual=actual)
    found = list(functions(module))
    known = [f.sym_name.data for f in found]
    name = stated_entry(module, known) if name is None else name
    if name is not None:
        found = functions_called(module, name)
    if not found:
        message = "the module holds no function" if name is None else f"no function {name!r}, expected one of {known}"
        raise error("E7003", message, name=name, known=known)
    if len(found) > 1:
        raise error("E7001", f"which function to compile: name one of {known}", option="function", known=known)
    return found[0]


def clear_cache() -> None:
    """Forget every compiled function, and memory kept for the next results; programs in use go on working."""
    bodies.clear()
    if (native := sys.modules.get(f"{__package__}.native.program")) is not None:
        native.clear()
