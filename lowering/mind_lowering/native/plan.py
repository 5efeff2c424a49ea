"""
The steps of a function so far, in the order of their run, and those that are done before a loop or once for all calls.

Each loop that is being planned has an `Ahead`, the outermost first in `NativePlan.loops`. What is appended to it runs before the
first iteration, in memory that stays until the last one is over; it must not be able to fail, since there may be no iteration.
What works on nothing but constants, and on inputs that are the same in each call, is done once for all calls: `NativePlan.once`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Hashable, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.ptir import PtirOp
from mind_dialect.ptir.types import BF16, F16, UI16, UI64

from .flow import Branch, Loop, Step
from .grouping import group_name
from .groups import Group
from .lowered import Foreign
from .memory import Access
from .outlining import NoKernel, outlined, random_ops, shown
from .partials import cut_up
from .patterns import Hoisted
from .products.deferred import Deferred
from .steps import NativeStep
from .values import Values
from .views import Buffer, Use, View, whole

MOST_KEPT = 256 << 20
"""Bytes at most that a program has in memory that stays."""


@dataclass
class Ahead:
    """The steps before a loop. `since` is a number between those of the buffers before the loop and those of its own."""

    since: int
    steps: list[Step] = field(default_factory=list[Step])
    access: list[Access] = field(default_factory=list[Access])
    packed: dict[Hashable, View] = field(default_factory=dict[Hashable, View])
    """Operands that were packed here, by what was packed and how."""
    iteration: View | None = None
    """View of the induction variable, if something in the loop needs it."""

    @property
    def made(self) -> list[Buffer]:
        """The memory that stays while the loop runs."""
        iteration = [] if self.iteration is None or not isinstance(self.iteration.base, Buffer) else [self.iteration.base]
        return list(dict.fromkeys([*iteration, *(b for access in self.access for b in access.writes)]))

    def holds(self, buffer: Buffer) -> bool:
        """Return whether all iterations find a buffer as it is."""
        return buffer.number < self.since

    def number(self, plan: NativePlan) -> View:
        """Return the view of the induction variable, counted from 0."""
        if self.iteration is None:
            self.iteration = whole(plan.buffer(Use.ARENA, UI64, 1, "iteration"), ())
        return self.iteration

    @contextmanager
    def appending(self, plan: NativePlan) -> Generator[None]:
        """Let what is planned be appended here."""
        outer, first = (plan.steps, plan.access), len(self.access)
        plan.steps, plan.access = self.steps, self.access
        try:
            yield
        finally:
            plan.steps, plan.access = outer
            plan.kept += sum(b.bytes for b in dict.fromkeys(b for a in self.access[first:] for b in a.writes))


@dataclass
class Once(Ahead):
    """The steps once for all calls."""

    since: int = -1
    fixed: set[Buffer] = field(default_factory=set[Buffer])
    """The inputs that are the same in each."""

    def holds(self, buffer: Buffer) -> bool:
        return buffer.use is Use.CONSTANT or buffer in self.fixed

    def mark(self) -> tuple[int, int, int]:
        """Return the current lengths of the lists, to which `back_to` cuts them back."""
        return len(self.steps), len(self.access), len(self.packed)

    def back_to(self, mark: tuple[int, int, int]) -> None:
        """Forget what was appended since a mark."""
        steps, access, packed = mark
        del self.steps[steps:], self.access[access:]
        for key in list(self.packed)[packed:]:
            del self.packed[key]


@dataclass
class NativePlan(Values, ABC):
    """The steps of a function so far, and where each value is."""

    steps: list[Step] = field(default_factory=list[Step])
    access: list[Access] = field(default_factory=list[Access])
    deferred: dict[SSAValue, Deferred] = field(default_factory=dict[SSAValue, Deferred])
    """Values that are not computed, because products alone read them and widen them in registers."""
    draws: int = 0
    drawn: bool = False
    """True if native code draws random numbers."""
    depth: int = 0
    """Number of regions of branches and loops around the next step."""
    loops: list[Ahead] = field(default_factory=list[Ahead])
    """Loops around the current op, with what is done before them."""
    once: Once = field(default_factory=Once)
    kept: int = 0
    """Bytes of memory that stay while loops run, or from call to call."""

    def append(self, step: Loop | Branch, access: Sequence[Access]) -> None:
        """Append steps in steps, whose accesses are in the order of their run."""
        self.steps.append(step)
        self.access += access

    def add(self, step: NativeStep) -> None:
        """Append a native kernel, or several where one would be too few to share."""
        for part in cut_up(self, step) if isinstance(step, Group) else [step]:
            self.steps.append(part)
            self.access.append(part.access())

    def copy(self, value: SSAValue, source: View, target: View, origin: PtirOp | None = None) -> None:
        """Append a copy of a value from one place to another, bit by bit; `origin` is the op whose indices are looked up."""
        if source.dtype in (F16, BF16) and isinstance(source.base, Buffer):  # which would be widened and narrowed again
            source, target = replace(source, dtype=UI16), replace(target, dtype=UI16)
        name = f"{value.name_hint}.copy" if value.name_hint else "copy"
        self.add(
            Group(name, source.shape, {value: source}, outputs=[(value, target)], origin=() if origin is None else (origin,))
        )

    def copied(self, value: SSAValue, source: View) -> View:
        """A value in memory of its own, in row-major order."""
        target = self.new(Use.ARENA, value)
        self.copy(value, source, target)
        return target

    def group(self, ops: Sequence[PtirOp], results: Sequence[SSAValue]) -> None:
        """Append ops that groups can hold as one group with some results."""
        made = {r for op in ops for r in op.results}
        inner = [op for op in ops if not isinstance(op, ptir.ReduceOp)]
        group = Group(group_name(ops, results), self.group_shape(ops[0]), ops=list(inner))
        for op in ops:
            for value in op.operands:
                if value not in made:
                    group.inputs[value] = self.view(value)
        for value in results:
            if isinstance(value.owner, ptir.ReduceOp):
                group.reductions.append((value.owner, self.target(value)))
            else:
                group.outputs.append((value, self.target(value)))
        self.add(group)

    def reduction(self, op: ptir.ReduceOp, source: View, result: SSAValue) -> None:
        """Append one reduction of a view, whose result stands for another value."""
        group = Group(group_name([op], [result]), source.shape, {op.x: source})
        group.reductions.append((op, self.target(result)))
        self.add(group)

    def iterations(self) -> list[View]:
        """Return the induction variables of the loops around, in memory."""
        return [loop.number(self) for loop in self.loops]

    def lasting(self, views: Sequence[View], size: int) -> Ahead | None:
        """
        All calls, or the outermost loop whose iterations all find views as they are, if `size` more bytes may stay in memory.

        What works on values that no iteration changes is done before the loop; what works on nothing but constants, and on inputs
        that are the same in each call, once for all calls.
        """
        if self.kept + size > MOST_KEPT:
            return None
        bases = [v.base for view in views for v in (view, *(k.index for k in view.lookups)) if isinstance(v.base, Buffer)]
        return next((loop for loop in (self.once, *self.loops) if all(map(loop.holds, bases))), None)

    def appending(self, hoisted: Hoisted | None) -> AbstractContextManager[None]:
        """Let what is planned be appended to some steps; without, where it is."""
        return nullcontext() if hoisted is None else hoisted.appending(self)

    def foreign(self, op: PtirOp, reason: str) -> None:
        """Append an op that NumPy runs; in a region, none is."""
        if self.depth:
            raise NoKernel(f"in it {shown(op)}: {reason}")
        outputs: list[Buffer] = []
        inputs = [self.views[v] if isinstance(self.views[v].base, Buffer) else self.copied(v, self.views[v]) for v in op.operands]
        for value in op.results:
            self.views[value] = made = self.new(Use.FOREIGN, value)
            outputs.append(self.buffer_of(made))
        self.steps.append(Foreign(outlined(op), op, inputs, outputs, self.draws, reason))
        self.access.append(Access([self.buffer_of(v) for v in inputs], outputs))
        self.draws += random_ops(op)

    @abstractmethod
    def step(self, op: PtirOp) -> None:
        """Append what an op is."""
