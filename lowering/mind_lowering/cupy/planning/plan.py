"""
What a lowered function does on a GPU, step by step, and where everything is: known before anything runs.

Every value is a `Place` in a `Buffer`: an argument, a result, a constant, or a part of the program's one arena. Views are other
places of the same memory. What runs are launches, calls of the array library, and copies; loops and branches hold steps of their
own. Since no place ever changes, steps that need nothing from the host can be captured as a graph and replayed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, TypeAlias

from xdsl.ir import Operation

from mind_dialect.ptir import FusionOp, PtirLiteralAttr
from mind_dialect.ptir.types import PtirDType

from ...xp import CallOp

MOST_UNROLLED = 4096
"""So many steps at most are a scan that is one graph, or iterations of a longer one that are one together."""


class Unplanned(Exception):
    """Why a function has no plan."""


@dataclass(eq=False)
class Buffer:
    """
    Memory. `role` is input, output, constant, arena, or one of a few others.

    Those are kept (zero at first, never reused), record (of failures), state (the seed and the iterations of loops), and slice
    (of what a scan goes over).
    """

    role: str
    bytes: int
    index: int = -1
    """Which input, output or constant."""
    offset: int = 0
    first: int = -1
    last: int = -1
    """The numbers of the first and the last step that need it."""
    aligned: bool = True
    """Whether it begins at an address that kernels read from."""


@dataclass(frozen=True)
class Place:
    """Where a value is: elements of a buffer, some bytes from its start, so many bytes apart along each axis."""

    buffer: Buffer
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: PtirDType

    @property
    def bytes(self) -> int:
        """Of its elements."""
        return self.dtype.size * prod(self.shape)

    @property
    def is_whole(self) -> bool:
        """Whether it is all of its buffer in row-major order."""
        return self.offset == 0 and self.bytes == self.buffer.bytes and self.is_ordered

    @property
    def is_ordered(self) -> bool:
        """Whether its elements are one after the other in row-major order."""
        return same_strides(self.shape, self.strides, row_major(self.shape, self.dtype.size))


def row_major(shape: Sequence[int], size: int) -> tuple[int, ...]:
    """The strides of an array in row-major order, in bytes."""
    found: list[int] = []
    for n in reversed(shape):
        found.append(size)
        size *= max(n, 1)
    return tuple(reversed(found))


def same_strides(shape: Sequence[int], a: Sequence[int], b: Sequence[int]) -> bool:
    """Whether strides find the same elements."""
    return 0 in shape or all(n == 1 or x == y for n, x, y in zip(shape, a, b, strict=True))


@dataclass
class Launch:
    """A kernel of ours, by its name in the printed Python; None for the iterations of loops, which are no op."""

    op: FusionOp | CallOp | None
    kernel: str
    inputs: list[Place]
    outputs: list[Place]
    scratch: Place | None = None
    counters: Place | None = None
    record: Place | None = None
    number: int = -1


@dataclass
class Call:
    """A call of the array library, whose results are put into places. `host` says why it cannot be captured, if it cannot."""

    op: CallOp
    function: str
    inputs: list[Place]
    arguments: dict[str, Any]
    outputs: list[Place]
    host: str | None = None
    into: bool = False
    """Whether it writes its result over its first operand, or `out`."""
    number: int = -1


@dataclass
class Copy:
    """The elements of one place to another."""

    source: Place
    target: Place
    op: Operation | None = None
    number: int = -1


@dataclass
class Branch:
    """Steps that run if a truth holds, and others if not."""

    op: Operation
    condition: Place
    then: list[Step]
    other: list[Step]
    number: int = -1
    end: int = -1


@dataclass
class Loop:
    """Steps that find out whether to go on, then those of an iteration, again and again."""

    op: Operation
    test: list[Step]
    condition: Place
    body: list[Step]
    number: int = -1
    end: int = -1


@dataclass
class Scan:
    """
    Steps for each number below `count`, which read slices of `scanned` and leave slices of stacks.

    `unrolled` ones are steps one after the other, in which slices are places; else they are copied in and out. Of `turning` ones
    the body does that too, by the induction variable in memory.
    """

    op: Operation
    count: int
    scanned: list[tuple[Place, Place]]
    """The whole, and the slice as the body sees it."""
    stacks: list[tuple[Place, Place]]
    """The whole, and the slice that an iteration fills."""
    body: list[Step]
    unrolled: bool = True
    turning: bool = False
    number: int = -1
    end: int = -1


Step: TypeAlias = Launch | Call | Copy | Branch | Loop | Scan


@dataclass
class Plan:
    """The steps of a function, its buffers, and where inputs and results are."""

    name: str
    steps: list[Step]
    inputs: list[Place]
    outputs: list[Place]
    constants: list[tuple[Place, PtirLiteralAttr]]
    buffers: list[Buffer]
    arena: int = 0
    """Bytes of temporaries."""
    kept: int = 0
    """Bytes that are zero at first and live as long as the program."""
    records: int = 0
    """Bytes for what kernels note of failures."""
    in_place: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    """Results in the memory of donated inputs, by number."""
    state: int = 0
    """Bytes of the seed and the induction variables, where there are draws."""

    @property
    def output_bytes(self) -> int:
        """Of results in memory of their own."""
        return sum(p.buffer.bytes for p in self.outputs if p.buffer.role == "output")


def all_device(steps: Sequence[Step]) -> bool:
    """Whether steps need nothing from the host."""
    return all(is_device(s) for s in steps)


def enqueued(steps: Sequence[Step]) -> int:
    """How many steps these are with the iterations of unrolled scans counted."""
    return sum(s.count * enqueued(s.body) if isinstance(s, Scan) else 1 for s in steps)


def is_device(step: Step) -> bool:
    """Whether a step needs nothing from the host, so that it can be captured."""
    if isinstance(step, Call):
        return step.host is None
    return isinstance(step, Launch | Copy) or (isinstance(step, Scan) and step.unrolled and all_device(step.body))
