"""
From a function of Core IR or PTIR to a callable: verified, lowered and compiled once, for the target that is asked for.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Collection, Mapping
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from mind_dialect.errors import brief, error
from mind_dialect.program import functions, functions_called, input_names, require_module, shown_name
from mind_dialect.ptir_program import stated_entry
from mind_dialect.ptir_shapes import Dims
from mind_dialect.verify import verify
from mind_lowering.ptir_to_xp import single_block
from mind_lowering.target_options import read_target

from . import compiled
from .collector import collector_paused
from .executors import Request, checked_request
from .program import Program
from .shapes import Guard, checked_shapes, shown_dims
from .signature import TensorSpec
from .specialization import Specialization


def compile(
    module: ModuleOp,
    function: str | None = None,
    target: str = "numpy",
    memory_limit: int | None = None,
    donate: Collection[str] = (),
    threads: int | None = None,
    mesh: Any = None,
    shardings: Mapping[str, Any] | None = None,
    specialize: Specialization | Mapping[str, Any] | str | None = None,
) -> Program:
    """
    Compile the function called `function`, or the entry that `module` states, or its only function, for `target`.

    The function may be Core IR, PTIR or already lowered to `xp`; the module is left as it is. `memory_limit` in bytes is by
    default the memory of the machine. `donate` names inputs whose memory the program may overwrite, as a cache that is updated.
    `threads` is how many threads the target `native` may use, by default what MIND_NUM_THREADS says, else one per core. `native`,
    `cupy` and `xla` may be followed by their options, as in `cupy{tf32 graph=off}` or `xla{checks=off}`; E7001 for others. `mesh`
    and `shardings` are for the target `xla`: a `jax.sharding.Mesh` or text such as `data=4,model=2`, and by names of inputs how
    each lies on it, such as `data,_`. `specialize` limits for how many sizes a dynamic program is compiled, see `Specialization`,
    for `numpy`, `native` and `cupy`. Executors of other packages are targets too: see `executors`.
    Raises the verifier's error; E4000 for a function that is neither; E7003 for an unknown function or input, E7001 where a
    function must be named; E6002 for an unknown target; E6004 for what cannot fit in memory; E8007 for an unknown custom call.
    """
    return compile_to_bind(module, function, target, memory_limit, donate, threads, (), mesh, shardings, specialize)


@collector_paused()
def compile_to_bind(
    module: ModuleOp,
    function: str | None,
    target: str,
    memory_limit: int | None,
    donate: Collection[str],
    threads: int | None,
    fixed: Collection[str],
    mesh: Any = None,
    shardings: Mapping[str, Any] | None = None,
    specialize: Specialization | Mapping[str, Any] | str | None = None,
) -> Program:
    """As `compile`; `fixed` names inputs that will be bound, so that what depends on them may be packed once."""
    name, words = read_target(target)
    try:
        memory_limit = None if memory_limit is None else operator.index(memory_limit)
    except TypeError:
        message = f"memory_limit={brief(memory_limit)}, expected a number of bytes"
        raise error("E7001", message, option="memory_limit") from None
    limits = None if specialize is None else Specialization.of(specialize)
    arguments = {"threads": threads, "mesh": mesh, "shardings": shardings, "specialize": limits}
    given = {argument: value for argument, value in arguments.items() if value is not None}
    executor, options = checked_request(name, words, given)
    func = find_function(module, function)
    held = tuple(i for i, input_name in enumerate(input_names(func)) if input_name in fixed)
    program = executor.compile(Request(func, tuple(_numbers(func, donate)), held, memory_limit, options, given))
    if limits is not None:
        program.specialization = limits
    return program


def output_shapes(program: ModuleOp | Program, *shapes: Any, function: str | None = None) -> tuple[Dims, ...]:
    """
    The shapes of the results of a program, or of a function of a module, for inputs of these shapes; nothing is run.

    Errors are those of `Program.output_shapes`; of a module also the verifier's, and E7003 or E7001 for the name of the function.
    """
    if isinstance(program, Program):
        return program.output_shapes(*shapes)
    func = find_function(program, function)
    verify(func)
    shown = shown_name(func.sym_name.data)
    given = checked_shapes(f"@{shown}", shapes, len(func.function_type.inputs))
    for name, type, shape in zip(input_names(func), func.function_type.inputs.data, given, strict=True):
        TensorSpec.of(name, type).check_shape(shape, f"input {shown_name(name)} of @{shown}")
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

    E7003 or E7001 else, E2002 for a stated entry that is none, E2001 for what is no module, E4000 for a function that has several
    blocks or none.
    """
    require_module(module, Operation)
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
    single_block(found[0])
    return found[0]


def clear_cache() -> None:
    """Forget every compiled function, and memory kept for the next results; programs in use go on working."""
    compiled.clear()
    if (native := sys.modules.get(f"{__package__}.native.executable")) is not None:
        native.clear()
