"""
Report for `mind-run --memory`: the most bytes in use at once beyond the inputs, planned and measured.

The plan is that of the program as the target runs it, with the temporaries of kernels; a run stays under it, but for
Python's own objects. For the target `cupy`, the memory of the host is measured; a second line gives what is planned on the GPU.
`--memory=FILE.svg` draws where temporaries are, by the time for which they are needed.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from mind_dialect.errors import error
from mind_dialect.program import shown_name
from mind_lowering.arena import Slot, place_by_size
from mind_lowering.buffer_plan import BufferizeOptions, PlannedBuffer, plan_function
from mind_lowering.memory_plan import Block, MemoryPlan
from mind_runtime import Program


def measured(program: Program, func: FuncOp, arguments: Sequence[Any]) -> tuple[Any, str]:
    """
    Return the results of a run, and a line on its memory. Inputs and constants, which exist before it, do not count.

    The second of two runs is measured, as the first may load modules.
    """
    planned = program.memory_need(*arguments)
    program(*arguments)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        results = program(*arguments)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    line = f"memory: planned peak {planned} bytes, measured peak {peak - before} bytes"
    return results, line if not on_device(program) else f"{line} on the host\n{device_line(program.device_memory(*arguments))}"


def memory_plan(program: Program, func: FuncOp, arguments: Sequence[Any]) -> MemoryPlan:
    """Return the arena of a program, else the arrays of a run on NumPy; E7001 where XLA plans."""
    if (plan := program.arena_plan(*arguments)) is not None:
        return plan
    if on_xla(program):
        message = "--memory=FILE: the target 'xla' plans memory by itself; native, cupy and numpy have plans"
        raise error("E7001", message, option="--memory")
    return buffer_plan(func, program.sizes(arguments), donate=program.donated)


def buffer_plan(
    func: FuncOp, sizes: Mapping[str, int], names: Mapping[SSAValue, str] | None = None, donate: Collection[int] = ()
) -> MemoryPlan:
    """
    Return the temporaries of a run on NumPy, at offsets that such arrays could have in one block.

    `sizes` are the extents of named dimensions, `names` how to call values without a name, `donate` the donated inputs by number.
    Errors are those of `plan_function`.
    """
    found = plan_function(func, BufferizeOptions(sizes=sizes), donate)
    slots = [(b, Slot(b.byte_len or 0, *b.live)) for b in found.temporaries if b.live is not None]
    total = place_by_size([slot for _, slot in slots])
    blocks = tuple(Block(_name(b, names or {}), slot.at, slot.size, slot.first, slot.last) for b, slot in slots)
    return MemoryPlan(f"@{shown_name(func.sym_name.data)} on numpy", total, blocks)


def _name(buffer: PlannedBuffer, names: Mapping[SSAValue, str]) -> str:
    """Return what the program calls a buffer, if it does."""
    results = () if buffer.origin is None else buffer.origin.results
    given = next((names[r] for r in results if r in names), None) if len(results) == 1 else None
    return buffer.value.name_hint or given or f"b{buffer.index}"


def on_xla(program: Program) -> bool:
    """Return whether XLA runs a program."""
    return type(program).__module__.startswith("mind_runtime.xla")


def on_device(program: Program) -> bool:
    """Return whether a program runs on a device, whose memory is not measured."""
    return type(program).device_memory is not Program.device_memory


def device_line(found: Mapping[str, int] | None) -> str:
    """Return the line on the memory of the device: as planned, since nothing measures there."""
    if found is None:
        return "memory on the device: not planned, each call asks for what it needs"
    parts = ", ".join(f"{what} {size}" for what, size in found.items() if size)
    return f"memory on the device, as planned: {sum(found.values())} bytes ({parts or 'nothing'})"
