"""
From when to when the buffers of a plan are needed, and so where in the arena they can be.

Steps are numbered in the order of their text; of a branch the one side after the other. What comes from outside of a loop is
needed until the loop is over, and so is what it carries. A result takes the memory of a donated input that is read for the last
time before, or where each of its elements is written by who has read it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from mind_dialect.ptir import FusionOp
from mind_dialect.ptir.types import PtirDType

from ...arena import Gaps
from ..kernels.in_place import over_operands
from .plan import Branch, Buffer, Call, Copy, Launch, Loop, Place, Plan, Scan, Step

ALIGNMENT = 256
"""Of every buffer, in bytes: what CUDA's own allocator gives."""


SMALL, REST = 1 << 16, 64
"""Memory of so many bytes at most rests for so many steps before it is used again: steps that share none may run side by side."""


def rounded_up(size: int) -> int:
    """`size`, so that what follows is aligned."""
    return -(-max(size, 1) // ALIGNMENT) * ALIGNMENT


def reads_and_writes(step: Step) -> tuple[list[Place], list[Place]]:
    """The places that a step reads and writes, but for what the steps inside of it do."""
    if isinstance(step, Launch):
        own = [p for p in (step.scratch, step.counters, step.record) if p is not None]
        return step.inputs, [*step.outputs, *own]
    if isinstance(step, Call):
        return step.inputs, step.outputs
    if isinstance(step, Copy):
        return [step.source], [step.target]
    if isinstance(step, Scan):
        return [whole for whole, _ in step.scanned], [whole for whole, _ in step.stacks]
    return [step.condition], []


def inner_steps(step: Step) -> Sequence[list[Step]]:
    """The steps inside of a step, in the order of their numbers."""
    if isinstance(step, Branch):
        return (step.then, step.other)
    if isinstance(step, Loop):
        return (step.test, step.body)
    return (step.body,) if isinstance(step, Scan) else ()


def every_step(steps: Sequence[Step]) -> Iterator[Step]:
    """All steps, those inside of others after them."""
    for step in steps:
        yield step
        for inner in inner_steps(step):
            yield from every_step(inner)


class _Numbers:
    """Numbers the steps, and notes the first and the last that needs each buffer."""

    def __init__(self) -> None:
        self.count = 0
        self.loops: list[tuple[int, list[Buffer]]] = []

    def steps(self, steps: Sequence[Step]) -> None:
        for step in steps:
            self.count += 1
            step.number = self.count
            reads, writes = reads_and_writes(step)
            self.touch([*reads, *writes])
            if isinstance(step, Branch):
                self.steps(step.then)
                self.steps(step.other)
            elif isinstance(step, Loop | Scan):
                self.loop(step)
            if isinstance(step, Branch | Loop | Scan):
                self.count += 1
                step.end = self.count

    def loop(self, step: Loop | Scan) -> None:
        """What is older than the loop is needed until its end."""
        used: list[Buffer] = []
        self.loops.append((step.number, used))
        for inner in inner_steps(step):
            self.steps(inner)
        if isinstance(step, Loop):
            self.touch([step.condition])
        else:
            self.touch([p for pair in (*step.scanned, *step.stacks) for p in pair])
        self.loops.pop()
        self.count += 1
        for buffer in used:
            if buffer.first <= step.number:
                self.note(buffer)

    def touch(self, places: Sequence[Place]) -> None:
        for place in places:
            self.note(place.buffer)

    def note(self, buffer: Buffer) -> None:
        if buffer.first < 0:
            buffer.first = self.count
        buffer.last = max(buffer.last, self.count)
        for _, used in self.loops:
            used.append(buffer)


def place_buffers(plan: Plan, donated: Collection[int]) -> None:
    """Give every buffer of the arena its offset, and results the memory of donated inputs where that is safe."""
    numbers = _Numbers()
    for buffer in plan.buffers:
        buffer.first = 0 if buffer.role == "input" else -1
        buffer.last = 0 if buffer.role == "input" else -1
    numbers.steps(plan.steps)
    for place in plan.outputs:
        numbers.count += 1
        numbers.note(place.buffer)
    _over_donated(plan, donated, numbers)
    gaps = Gaps()
    begins: dict[int, list[Buffer]] = {}
    ends: dict[int, list[Buffer]] = {}
    for buffer in plan.buffers:
        if buffer.role == "arena" and buffer.first >= 0:
            begins.setdefault(buffer.first, []).append(buffer)
            ends.setdefault(buffer.last + (REST if buffer.bytes <= SMALL else 0), []).append(buffer)
        elif buffer.role in ("kept", "record"):
            of = "kept" if buffer.role == "kept" else "records"
            buffer.offset = getattr(plan, of)
            setattr(plan, of, buffer.offset + (rounded_up(buffer.bytes) if of == "kept" else buffer.bytes))
    for number in sorted({*begins, *ends}):
        for buffer in begins.get(number, ()):
            buffer.offset = gaps.take(rounded_up(buffer.bytes))
        for buffer in ends.get(number, ()):
            gaps.give(buffer.offset, rounded_up(buffer.bytes))
    plan.arena = gaps.size


def _over_donated(plan: Plan, donated: Collection[int], numbers: _Numbers) -> None:
    """
    Results in the memory of donated inputs of their type.

    The first such result has that of the first such input, and so on: what goes around from call to call stays where it is, if
    need be by a copy at the end. Only where there are not as many of the one as of the other does a result take what is left.
    """
    free: dict[tuple[PtirDType, tuple[int, ...]], list[Buffer]] = {}
    taken = {p.buffer for p in plan.outputs if p.buffer.role == "input"}
    for i in sorted(donated):
        free.setdefault((plan.inputs[i].dtype, plan.inputs[i].shape), []).append(plan.inputs[i].buffer)
    alike: dict[tuple[PtirDType, tuple[int, ...]], list[int]] = {}
    for i, place in enumerate(plan.outputs):
        if (place.dtype, place.shape) in free:
            alike.setdefault((place.dtype, place.shape), []).append(i)
    at: dict[int, Step] = {step.number: step for step in every_step(plan.steps)}
    for kind, results in alike.items():
        given = free[kind]
        pairs = list(zip(results, given, strict=False))
        if len(results) != len(given):
            pairs += [(i, buffer) for i in results for buffer in given]
        for i, buffer in pairs:
            place = plan.outputs[i]
            made = place.buffer
            if made.role != "output" or not buffer.bytes or buffer in taken:
                continue
            if _may_be_over(at, buffer, made):
                made.role, made.index = "input", buffer.index
            elif len(results) == len(given):
                numbers.count += 1
                made.role, made.index, made.last = "arena", -1, numbers.count
                plan.outputs[i] = replace(place, buffer=buffer)
                plan.steps.append(Copy(place, plan.outputs[i], number=numbers.count))
            else:
                continue
            taken.add(buffer)
            plan.in_place.append((i, buffer.index))


def _may_be_over(at: Mapping[int, Step], given: Buffer, made: Buffer) -> bool:
    """Whether a buffer is not read any more where another is written, or only each element where it is."""
    return given.last < made.first or (given.last == made.first and _each_by_itself(at[made.first], given, made))


def _each_by_itself(step: Step, given: Buffer, made: Buffer) -> bool:
    """Whether a step reads each element of a buffer where it writes that of another, and nowhere else."""
    if not isinstance(step, Launch) or not isinstance(step.op, FusionOp):
        return False
    pairs = over_operands(step.op)
    results = [i for i, p in enumerate(step.outputs) if p.buffer is made]
    operands = [i for i, p in enumerate(step.inputs) if p.buffer is given]
    whole = all(step.inputs[i].is_whole for i in operands)
    return whole and len(results) == 1 and all((results[0], i) in pairs for i in operands)
