"""
A tape: all that a run enqueues, in order.

Steps that need nothing from the host are sections; a section runs step by step, or as the CUDA graph that was captured of it.
Loops and branches stand between sections and read one truth each time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from mind_lowering.launch.compute_ops import CallOp, KernelOp
from mind_lowering.launch.memory_ops import CopyOp

from .gpu import Array, Graph

Step = KernelOp | CallOp | CopyOp
"""An op that is enqueued as one step."""


@dataclass
class State:
    """The values that the host knows during a call."""

    seed: int = 0
    iterations: list[int] = field(default_factory=list[int])


@dataclass(frozen=True)
class Work:
    """Something to enqueue, and the op of the plan that it is."""

    run: Callable[[], None]
    step: Step
    reads: tuple[Array, ...] = ()
    writes: tuple[Array, ...] = ()


@dataclass
class Section:
    """Work that needs nothing from the host."""

    works: list[Work] = field(default_factory=list[Work])
    graph: Graph | None = None
    issue: str | None = None
    """The reason why it is no graph, where capturing was tried."""

    def run(self) -> None:
        """Enqueue it."""
        if self.graph is not None:
            self.graph.launch()
        else:
            self.step_by_step()

    def step_by_step(self) -> None:
        """Enqueue it without the graph."""
        for work in self.works:
            work.run()


@dataclass
class Host:
    """A call that the host takes part in."""

    work: Work

    def run(self) -> None:
        """Do it."""
        self.work.run()


@dataclass
class Test:
    """The one or the other, as a truth on the GPU says."""

    read: Callable[[], bool]
    then: Tape
    other: Tape

    def run(self) -> None:
        """Find out, then run one."""
        (self.then if self.read() else self.other).run()


@dataclass
class While:
    """A test, then iterations of a body and the test again, until the truth that the test leaves is none."""

    state: State
    test: Tape
    read: Callable[[], bool]
    iteration: Tape

    def run(self) -> None:
        """Run it to its end: one launch and one truth read for each iteration, if it needs nothing else from the host."""
        self.state.iterations.append(0)
        self.test.run()
        while self.read():
            self.iteration.run()
        self.state.iterations.pop()


@dataclass
class Next:
    """The next iteration begins, which the host has to know."""

    state: State

    def run(self) -> None:
        """Count it."""
        self.state.iterations[-1] += 1


def _nothing(iteration: int) -> None:
    pass


@dataclass
class Times:
    """A body so many times, what it needs brought before it and what it leaves taken after it."""

    state: State
    count: int
    body: Tape
    bring: Callable[[int], None] = _nothing
    take: Callable[[int], None] = _nothing

    def run(self) -> None:
        """Run it to its end; nothing is read."""
        self.state.iterations.append(0)
        for i in range(self.count):
            self.state.iterations[-1] = i
            self.bring(i)
            self.body.run()
            self.take(i)
        self.state.iterations.pop()


Part = Section | Host | Test | While | Next | Times


@dataclass
class Tape:
    """Parts in the order of their run."""

    parts: list[Part] = field(default_factory=list["Part"])

    def run(self) -> None:
        """Enqueue all, reading truths where there are loops and branches."""
        for part in self.parts:
            part.run()

    def sections(self) -> list[Section]:
        """All sections, those in loops and branches too."""
        found: list[Section] = []
        for part in self.parts:
            if isinstance(part, Section):
                found.append(part)
            for inner in _inner(part):
                found += inner.sections()
        return found

    def section(self) -> Section:
        """The section at the end, perhaps a new one."""
        if not self.parts or not isinstance(last := self.parts[-1], Section):
            self.parts.append(last := Section())
        return last


def _inner(part: Part) -> Sequence[Tape]:
    if isinstance(part, Test):
        return (part.then, part.other)
    if isinstance(part, While):
        return (part.test, part.iteration)
    return (part.body,) if isinstance(part, Times) else ()


def observe(tape: Tape, note: Callable[[Work], None]) -> Tape:
    """A tape whose work is run by `note`; the same tape, which has no graphs yet."""

    def noted(work: Work) -> Work:
        return replace(work, run=lambda: note(work))

    for part in tape.parts:
        if isinstance(part, Section):
            part.works = [noted(work) for work in part.works]
        elif isinstance(part, Host):
            part.work = noted(part.work)
        for inner in _inner(part):
            observe(inner, note)
    return tape
