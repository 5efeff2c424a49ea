"""
What `mind-run --memory` says: the most bytes in use at once beyond the inputs, planned and measured.

There are two plans. The buffer plan is of the program as it stands, calls put in place, whoever runs it. The bound is of the
program as the target runs it, after lowering, with what kernels need beside their results; a run stays under it, but for Python's
own objects. On the target `cupy` what is measured is the host's memory; a second line gives what the plan has on the GPU.
`--memory=FILE.svg` draws where temporaries are, by the time for which they are needed.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from mind_dialect.errors import error
from mind_dialect.program import shown_name
from mind_lowering.conversion import BufferizeOptions, plan_function
from mind_lowering.memory_plan import Block, MemoryPlan
from mind_passes.inline import calls_in, inlined
from mind_runtime import Program


def measured(program: Program, func: FuncOp, arguments: Sequence[Any]) -> tuple[Any, str]:
    """
    What a run returns, and a line on its memory. Inputs and constants, which are there before, count nowhere.

    The second of two runs is measured, as the first may load modules.
    """
    plan = plan_function(inlined(func).func if calls_in(func) else func, BufferizeOptions(sizes=program.sizes(arguments)))
    bound = program.memory_need(*arguments)
    program(*arguments)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        results = program(*arguments)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    unknown = f" and {plan.unknown} buffers of unknown size" if plan.unknown else ""
    planned = f"buffer plan {plan.peak_bytes} bytes{unknown}"
    line = f"memory: {planned}, bound of the run {bound} bytes, measured peak {peak - before} bytes"
    return results, line if not on_device(program) else f"{line} on the host\n{device_line(program.device_memory(*arguments))}"


def memory_plan(program: Program, func: FuncOp, arguments: Sequence[Any]) -> MemoryPlan:
    """The arena of a program, else the slots of its buffer plan, one above the other; E7001 where XLA plans."""
    if (plan := program.arena_plan(*arguments)) is not None:
        return plan
    if on_xla(program):
        message = "--memory=FILE: the target 'xla' plans memory by itself; native, cupy and numpy have plans"
        raise error("E7001", message, option="--memory")
    return buffer_plan(func, program.sizes(arguments))


def buffer_plan(func: FuncOp, sizes: Mapping[str, int], names: Mapping[SSAValue, str] | None = None) -> MemoryPlan:
    """
    Return the slots of the buffer plan of a function, one above the other; a buffer of unknown size has no bytes.

    `sizes` are the extents of named dimensions, `names` how to call values without a name. Errors are those of `plan_function`.
    """
    names = names or {}
    work = inlined(func).func if calls_in(func) else func
    found = plan_function(work, BufferizeOptions(sizes=sizes))
    starts = accumulate((slot.byte_len or 0 for slot in found.slots), initial=0)
    offsets = {slot.index: start for slot, start in zip(found.slots, starts, strict=False)}
    blocks = tuple(
        Block(b.value.name_hint or names.get(b.value) or f"b{b.index}", offsets[b.slot], b.byte_len or 0, *b.live)
        for b in found.buffers
        if b.slot is not None and b.owns
    )
    return MemoryPlan(f"@{shown_name(func.sym_name.data)}, buffer plan", found.slot_bytes, blocks)


def on_xla(program: Program) -> bool:
    """Whether XLA runs a program."""
    return type(program).__module__.startswith("mind_runtime.xla")


def on_device(program: Program) -> bool:
    """Whether a program runs elsewhere than in the memory that is measured."""
    return type(program).device_memory is not Program.device_memory


def device_line(found: Mapping[str, int] | None) -> str:
    """What is on the device: as planned, since nothing measures there."""
    if found is None:
        return "memory on the device: not planned, each call asks for what it needs"
    parts = ", ".join(f"{what} {size}" for what, size in found.items() if size)
    return f"memory on the device, as planned: {sum(found.values())} bytes ({parts or 'nothing'})"
