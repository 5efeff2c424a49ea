"""The time of a call on a GPU: each launch, copy and call of the array library between two events."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from mind_dialect.errors import error
from mind_dialect.locations import shown_location
from mind_dialect.ptir import ConvolutionOp, DotGeneralOp
from mind_lowering.cupy.planning.planned_products import EPILOGUE
from mind_lowering.launch.compute_ops import CallOp, KernelOp
from mind_lowering.launch.ref import read_ref

from ..on_cupy import CupyProgram
from ..spans import REPEATS, Profile, Span, medians, time_of
from .tape import Work


def flops_of(work: Work) -> int:
    """The operations of the products and convolutions in a step; what goes element by element is not counted."""
    step = work.step
    if isinstance(step, CallOp) and step.function in ("xp.matmul", EPILOGUE):
        return 2 * read_ref(step.writes[0].type).count * read_ref(step.reads[0].type).shape[-1]
    found = 0
    for op in step.body.block.ops if isinstance(step, KernelOp) and step.body.blocks else ():
        if isinstance(op, DotGeneralOp):
            shape = op.operand_spec(0).shape
            axes: tuple[int, ...] = op.values()["contract_lhs"]
            sizes = [n for n in (shape[a] for a in axes) if isinstance(n, int)]
            found += 2 * prod(sizes) * prod(n for n in op.result_spec().shape if isinstance(n, int))
        elif isinstance(op, ConvolutionOp):
            window = [n for n in op.operand_spec(1).shape[:-1] if isinstance(n, int)]
            found += 2 * prod(window) * prod(n for n in op.result_spec().shape if isinstance(n, int))
    return found


def locations_of(work: Work) -> tuple[str, ...]:
    """Return the source locations of a step: of a kernel those of its ops, each once."""
    step = work.step
    ops = step.body.block.ops if isinstance(step, KernelOp) and step.body.blocks else (step,)
    return tuple(dict.fromkeys(filter(None, (shown_location(op.location) for op in ops))))


def name_of(work: Work, symbols: dict[str, str]) -> str:
    """Return the name of a step: of a kernel its name in CUDA, which says the ops that it comes from."""
    step = work.step
    if isinstance(step, KernelOp):
        return symbols.get(step.symbol, step.symbol)
    return step.function if isinstance(step, CallOp) else "copy"


def profile_on_gpu(program: CupyProgram, arguments: Sequence[Any], seed: int) -> Profile:
    """Measure a program that has a plan; E7001 for one that has none."""
    runner = program.runner
    if runner is None:
        message = f"--profile of @{program.name}: there is no plan of it, as {program.unplanned}"
        raise error("E7001", message, option="--profile")
    machine = runner.machine
    program(*_given(program, arguments), seed=seed)
    runs: list[list[Span]] = []
    for _ in range(REPEATS):
        timers: list[tuple[Work, Any]] = []
        runner.observed(
            _given(program, arguments), seed, lambda work, timers=timers: timers.append((work, machine.timed(work.run)))
        )
        spans: list[Span] = []
        for work, elapsed in timers:
            size = sum(int(a.nbytes) for a in (*work.reads, *work.writes))
            dtype = work.reads[0].dtype.name if work.reads else ""
            name = {"float32": "f32", "bfloat16": "bf16", "float16": "f16"}.get(dtype, dtype)
            name = "tf32" if name == "f32" and runner.options.tf32 else name
            spans.append(Span(name_of(work, program.symbols), 0.0, elapsed(), size, flops_of(work), name, locations_of(work)))
        runs.append(spans)

    def call() -> None:
        results: Any = program(*_given(program, arguments), seed=seed)
        first: Any = results if len(program.outputs) == 1 else results[0]
        if machine.is_here(first):
            machine.read(first)

    return Profile(medians(runs), machine.limits(), time_of(call), program.name)


def _given(program: CupyProgram, arguments: Sequence[Any]) -> list[Any]:
    """The arguments, donated ones as copies."""
    return [a.copy() if i in program.donated else a for i, a in enumerate(arguments)]
