"""
The plan of a program's calls, for programs that are one entry of native code: what `Runner.run` does, in native code.

Without a plan a call goes through Python: where a step runs on NumPy, where random numbers are drawn, where there is no result,
where the table is very long.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mind_lowering.native import Entry, Native, TableEntry

from .callable import Argument, Plan, covers
from .jit import Library

Array = Any
Type = tuple[Any, tuple[int, ...]]
"""The dtype and the shape of an array."""
LIGHT = 4000
"""A call of fewer nanoseconds does not let other threads run Python: that costs as much as a small kernel."""


def plan_of(
    native: Native,
    library: Library,
    inputs: Sequence[Type],
    outputs: Sequence[Type],
    constants: Mapping[int, Array],
    record: Array,
    donated: Sequence[int] = (),
    bound: Mapping[int, Array | None] | None = None,
) -> Plan | None:
    """
    Return the plan of a call: the arrays of `constants`, by places, and of `bound`, by numbers of inputs, are part of it.

    Calls take the other inputs, in order. What is bound is in row-major order, aligned, and not donated; None stands for an
    input that calls do not read.
    """
    given = dict(bound or {})
    kept = [(native.inputs[i], array) for i, array in given.items() if array is not None]
    (step, *more) = native.steps or [None]
    if not isinstance(step, Entry) or more or native.draws:
        return None
    free = [i for i in range(len(inputs)) if i not in given]
    into = [_argument(*inputs[i], native.inputs[i], i in donated) for i in free]
    out = [_result(memory, *type, native, inputs, free) for memory, type in zip(native.outputs, outputs, strict=True)]
    results = [x for x in out if x is not None]
    if len(results) < len(out) or not covers(into, results, native.table + len(record), len(kept), native.arena):
        return None
    template = [0] * native.table
    for place, array in (*constants.items(), *kept):
        if place >= 0:
            template[place] = array.__array_interface__["data"][0]
    held = (library, list(constants.values()))
    return Plan(
        library.addresses[step.name],
        into,
        results,
        template,
        record.tolist(),
        native.arena,
        held,
        light=native.cost < LIGHT,
        bound=[array for _, array in kept],
    )


def _argument(dtype: Any, shape: tuple[int, ...], place: int, donated: bool) -> Argument:
    return Argument(dtype, shape, max(place, 0), writeable=donated, alone=int(donated))


def _result(
    memory: TableEntry, dtype: Any, shape: tuple[int, ...], native: Native, inputs: Sequence[Type], free: Sequence[int]
) -> Argument | None:
    """A new array, or that of a donated argument if it is the very one that is returned; None for any other."""
    if memory.is_new:
        return Argument(dtype, shape, memory.place, writeable=True, alone=-1)
    owner = next((k for k, i in enumerate(free) if native.inputs[i] == memory.place), None)
    if owner is None or inputs[free[owner]] != (dtype, shape):
        return None
    return Argument(dtype, shape, memory.place, alone=owner)
