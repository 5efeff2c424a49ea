"""
Branches and loops as steps: what they are to the planner, and the blocks of an entry that they become.

Kernels in a loop are the same functions as elsewhere. What changes from iteration to iteration is where they work: a slice of a
scanned input and the place of a stacked result are an address that the entry reckons, a value that changes its place from one
iteration to the next an address that it carries. Nothing is copied to move it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from .calling import Calls
from .ir import identifier
from .lowered import Foreign
from .steps import NativeKernel, NativeStep
from .views import Buffer, View, whole

POLLED = 100_000
"""Nanoseconds of iterations after which to look for signals."""
MOST_TURNS = 10
"""At most after two to this power."""


@dataclass
class Window:
    """A buffer that lies `stride` elements further in each iteration; `of` is its first element in the first one."""

    buffer: Buffer
    of: View
    stride: int


@dataclass
class Carried:
    """
    A buffer that lies at `first` in the first iteration, and in each other one where `following` was in the iteration before.
    """

    buffer: Buffer
    first: View
    following: Buffer


@dataclass
class Loop:
    """
    A loop of `iterations` iterations, or one that runs while `pred`, a truth that the steps of `head` make, holds.

    What they fail with leaves the program.
    """

    what: str
    iterations: int | None
    head: list[Step]
    body: list[Step]
    pred: View | None = None
    carried: list[Carried] = field(default_factory=list[Carried])
    windows: list[Window] = field(default_factory=list[Window])
    iteration: View | None = None
    """View of the induction variable, for steps."""

    @property
    def parts(self) -> tuple[list[Step], ...]:
        """The steps, in the order of their run."""
        return self.head, self.body


@dataclass
class Branch:
    """The steps of the first or of the second part, as `pred` holds or not."""

    what: str
    pred: View
    parts: tuple[list[Step], list[Step]]


Step = NativeStep | Foreign | Loop | Branch


@dataclass
class Nested:
    """A loop or a branch whose kernels are made."""

    step: Loop | Branch
    parts: Sequence[Sequence[Code]]


Code = tuple[NativeKernel, NativeStep] | Nested
"""Step of an entry: a kernel for a step, or nested code."""


def steps_in(codes: Sequence[Code]) -> Iterator[NativeStep]:
    """The native steps of some code, nested ones too."""
    for code in codes:
        if isinstance(code, Nested):
            for part in code.parts:
                yield from steps_in(part)
        else:
            yield code[1]


def run(calls: Calls, codes: Sequence[Code]) -> None:
    """Append what runs some code; what is known in a part of it is forgotten after that."""
    for code in codes:
        if not isinstance(code, Nested):
            calls.call(*code)
            continue
        known = dict(calls.bases)
        if isinstance(code.step, Branch):
            _branch(calls, code.step, code.parts, known)
        elif code.step.iterations is None:
            _while(calls, code.step, code.parts, _between_polls(calls, code))
        else:
            _scan(calls, code.step, code.parts[1], code.step.iterations, _between_polls(calls, code))
        calls.bases = known


def _branch(calls: Calls, step: Branch, parts: Sequence[Sequence[Code]], known: dict[tuple[int, int], str]) -> None:
    f, holds = calls.f, _holds(calls, step.pred)
    known |= calls.bases

    def part(i: int) -> None:
        calls.bases = dict(known)
        run(calls, parts[i])

    f.choose(holds, lambda: part(0), lambda: part(1))


def _between_polls(calls: Calls, code: Nested) -> int:
    """
    After how many iterations of a loop to look for signals: a power of 2, so that it is neither seldom nor much of the work.
    """
    cost = sum(step.cost(calls.host) for step in steps_in([code]))
    return 1 << min(MOST_TURNS, int(max(1, POLLED / max(cost, 1.0))).bit_length() - 1)


def _poll(calls: Calls, iteration: str, every: int) -> None:
    """Look for signals in the last of each `every` iterations."""
    if every == 1:
        return calls.poll()
    rest = calls.f.op(f"and i64 {iteration}, {every - 1}", "rest")
    calls.f.when(calls.f.op(f"icmp eq i64 {rest}, {every - 1}", "due"), calls.poll)


def _scan(calls: Calls, step: Loop, body: Sequence[Code], iterations: int, every: int) -> None:
    f = calls.f

    def iteration(index: str, /, *places: str) -> list[str]:
        _begin(calls, step, index, places)
        for window in step.windows:
            start = f.mul(index, window.stride * window.buffer.dtype.size)
            calls.moving[window.buffer] = f.address("i8", calls.address(window.of), start, identifier(window.buffer.name or "p"))
        run(calls, body)
        if iterations >= every:
            _poll(calls, index, every)
        return _following(calls, step)

    f.loop("0", str(iterations), 1, iteration, _first(calls, step), "iteration")


def _while(calls: Calls, step: Loop, parts: Sequence[Sequence[Code]], every: int) -> None:
    head, body = parts
    assert step.pred is not None
    pred = step.pred

    def test(iteration: str, *places: str) -> str:
        _begin(calls, step, iteration, places)
        run(calls, head)
        return _holds(calls, pred)

    def body_of(iteration: str, *places: str) -> list[str]:
        run(calls, body)
        _poll(calls, iteration, every)
        return [calls.f.add(iteration, "1"), *_following(calls, step)]

    calls.f.repeat([("i64", "0"), *_first(calls, step)], test, body_of)


def _first(calls: Calls, step: Loop) -> list[tuple[str, str]]:
    return [("ptr", calls.address(c.first)) for c in step.carried]


def _begin(calls: Calls, step: Loop, iteration: str, places: Sequence[str]) -> None:
    if step.iteration is not None:
        calls.f.do(f"store i64 {iteration}, ptr {calls.address(step.iteration)}, align 8")
    for carried, place in zip(step.carried, places, strict=True):
        calls.moving[carried.buffer] = place


def _following(calls: Calls, step: Loop) -> list[str]:
    return [calls.address(whole(c.following, (c.following.count,))) for c in step.carried]


def _holds(calls: Calls, pred: View) -> str:
    """Emit the test of a truth value in memory."""
    byte = calls.f.op(f"load i8, ptr {calls.address(pred)}, align 1", "pred")
    return calls.f.op(f"icmp ne i8 {byte}, 0", "holds")
