"""
A program in text order: functions, the ops of each, and what stands in an op's regions between its beginning and its end.

The walk does not recurse, so depth costs memory and no stack. Everything else of this package is built on it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, Region

from mind_dialect.program import functions


@dataclass(frozen=True, eq=False)
class OpPlace:
    """The place of an op: its number in its region, and for a nested one the region's name and the place of the op around it."""

    number: int
    region: str | None = None
    outer: OpPlace | None = None

    def __str__(self) -> str:
        """As `3.body.0`: op 0 of the region `body` of op 3 of the function."""
        parts: list[str] = []
        place: OpPlace | None = self
        while place is not None:
            parts += [str(place.number), *([place.region] if place.region is not None else [])]
            place = place.outer
        return ".".join(reversed(parts))


class Event(Enum):
    """The kind of a step of the walk."""

    OP = "an op; its regions follow"
    REGION = "one of the op's regions begins"
    REGION_END = "one of the op's regions ends"
    OP_END = "an op with regions ends"


@dataclass(frozen=True, eq=False)
class WalkStep:
    """One step: of a region event, `op` holds the region and `name` is what it is called."""

    event: Event
    op: Operation
    place: OpPlace
    region: Region | None = None
    name: str = ""


def region_names(op: Operation) -> tuple[str, ...]:
    """Return the names of the regions of `op`: by its dialect, else by number."""
    named: tuple[str, ...] = getattr(op, "REGION_NAMES", ())
    return named if len(named) == len(op.regions) else tuple(str(i) for i in range(len(op.regions)))


def steps(func: FuncOp) -> Iterator[WalkStep]:
    """The ops of a function in text order, with the beginning and end of what is nested; each region counts its ops from 0."""
    stack = [_ops(func.body, None, None)]
    while stack:
        for step in stack[-1]:
            yield step
            if step.event is Event.OP and step.op.regions:
                stack.append(_regions(step))
                break
            if step.event is Event.REGION and step.region is not None:
                stack.append(_ops(step.region, step.name, step.place))
                break
        else:
            stack.pop()


def _ops(region: Region, name: str | None, outer: OpPlace | None) -> Iterator[WalkStep]:
    number = 0
    for block in region.blocks:
        for op in block.ops:
            yield WalkStep(Event.OP, op, OpPlace(number, name, outer))
            number += 1


def _regions(step: WalkStep) -> Iterator[WalkStep]:
    for region, name in zip(step.op.regions, region_names(step.op), strict=True):
        yield WalkStep(Event.REGION, step.op, step.place, region, name)
        yield WalkStep(Event.REGION_END, step.op, step.place, region, name)
    yield WalkStep(Event.OP_END, step.op, step.place)


class ProgramVisitor:
    """Called at each step of a walk; does nothing, unless a subclass does."""

    def on_program(self, module: ModuleOp) -> None:
        """The walk begins."""

    def on_function(self, func: FuncOp) -> None:
        """A function begins."""

    def on_instruction(self, func: FuncOp, place: OpPlace, op: Operation) -> None:
        """An op, terminators included; what its regions hold follows."""

    def on_region(self, func: FuncOp, place: OpPlace, op: Operation, name: str, region: Region) -> None:
        """A region of `op` begins."""

    def on_region_end(self, func: FuncOp, place: OpPlace, op: Operation, name: str, region: Region) -> None:
        """A region of `op` ends."""

    def on_instruction_end(self, func: FuncOp, place: OpPlace, op: Operation) -> None:
        """An op with regions ends."""


def walk_program(module: ModuleOp, visitor: ProgramVisitor) -> None:
    """Show every function of a module to `visitor`, in text order, nested modules included."""
    visitor.on_program(module)
    for func in functions(module):
        visitor.on_function(func)
        for step in steps(func):
            _show(visitor, func, step)


def _show(visitor: ProgramVisitor, func: FuncOp, step: WalkStep) -> None:
    match step:
        case WalkStep(Event.OP, op, place):
            visitor.on_instruction(func, place, op)
        case WalkStep(Event.OP_END, op, place):
            visitor.on_instruction_end(func, place, op)
        case WalkStep(Event.REGION, op, place, Region() as region, name):
            visitor.on_region(func, place, op, name, region)
        case WalkStep(Event.REGION_END, op, place, Region() as region, name):
            visitor.on_region_end(func, place, op, name, region)
        case _:
            raise AssertionError(f"a step without a region: {step}")
