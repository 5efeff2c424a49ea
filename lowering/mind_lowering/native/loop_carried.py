"""
Memory of loop-carried values and of the results of branches: nothing is copied that need not be.

A value that an iteration makes for the next one is, in this order,

    made where it is carried, if what was there is not read any more, or only by the kernel that writes over it, place by place;
    left where no kernel writes: where it is stacked as a result of each iteration, or where it was before the loop;
    made in another buffer, which changes places with that of the carried value for the next iteration.

Where it is no buffer of its own (a transpose, a constant, what another result is already) it is copied into one first.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.ir import SSAValue

from .flow import Carried, Window
from .memory import Access, resolved
from .views import Buffer, Use, View, whole


class IterationSteps:
    """
    The steps of one iteration of a loop, or of one branch: who may have whose memory. `since` is the number of its first buffer.
    """

    def __init__(self, access: Sequence[Access], since: int):
        self.since = since
        self._steps = [resolved(a) for a in access]
        self._first: dict[Buffer, int] = {}
        self._last: dict[Buffer, int] = {}
        for i, step in enumerate(self._steps):
            for buffer in step.writes:
                self._first.setdefault(buffer, i)
            for buffer in (*step.reads, *step.writes):
                self._last[buffer] = i

    @property
    def outer(self) -> list[Buffer]:
        """The buffers that were there before, and are used."""
        return [b for b in self._last if b.number < self.since]

    def reach(self, new: Buffer) -> dict[Buffer, list[Buffer]]:
        """
        The buffers from before that `new` may be written over; with each, buffers of this iteration that are then there before
        `new`.

        Each of them dies in the step that first writes the next one.
        """
        found: dict[Buffer, list[Buffer]] = {}
        stack: list[tuple[Buffer, list[Buffer]]] = [(new, [])]
        seen = {new}
        while stack:
            one, between = stack.pop()
            if (at := self._first.get(one)) is None:
                continue
            step = self._steps[at]
            for taking, old in step.over:
                if taking is not one or old in seen or self._last[old] > at + step.span or old.bytes != new.bytes:
                    continue
                seen.add(old)
                if old.number < self.since:
                    found[old] = between
                elif old.use is Use.ARENA and old.into is None:
                    stack.append((old, [*between, old]))
        return found

    def is_read_before(self, old: Buffer, new: Buffer) -> bool:
        """Return whether `old` is read only in steps before the one that first writes `new`."""
        return new in self._first and self._last.get(old, -1) < self._first[new]


def is_own(view: View, since: int, taken: Collection[Buffer]) -> bool:
    """Return whether a view is all of a buffer that was made here, and that is not something else's already."""
    base = view.base
    if not isinstance(base, Buffer) or base.use is not Use.ARENA or base.into is not None:
        return False
    return view.is_whole and base.number >= since and base not in taken


@dataclass
class Carry:
    """
    A carried value: the argument, the buffer that an iteration finds it in, where it lies at first, and where an iteration
    yields it.
    """

    value: SSAValue
    buffer: Buffer
    first: View
    yielded: View

    @property
    def following(self) -> Buffer:
        """The buffer that an iteration yields it in."""
        assert isinstance(self.yielded.base, Buffer)
        return self.yielded.base


@dataclass
class Settled:
    """Decisions on carried values. Those not named stay in their buffers."""

    windows: Mapping[Buffer, Window]
    fixed: dict[Buffer, Carry] = field(default_factory=dict[Buffer, Carry])
    """By buffer, those that are read where they were left."""
    rotating: dict[Buffer, Buffer] = field(default_factory=dict[Buffer, Buffer])
    """Of each buffer that changes places, the one whose place it has next."""
    slots: dict[Buffer, Buffer] = field(default_factory=dict[Buffer, Buffer])
    """Buffers in which these begin."""

    def carried(self) -> list[Carried]:
        """The addresses that go from iteration to iteration."""
        found = [Carried(buffer, carry.first, carry.following) for buffer, carry in self.fixed.items()]
        return found + [Carried(b, _flat(self.slots[b]), after) for b, after in self.rotating.items()]

    def after(self, carry: Carry, iterations: int) -> View:
        """Return the view of a carried value after a known number of iterations."""
        shape = carry.first.shape
        buffer, left = carry.buffer, iterations
        while buffer in self.fixed and left:
            following, left = self.fixed[buffer].following, left - 1
            if (window := self.windows.get(following.root)) is not None:
                of = window.of
                return View(of.base, of.dtype, shape, whole(carry.buffer, shape).strides, of.offset + left * window.stride)
            buffer = following
        if buffer in self.fixed:
            return self.fixed[buffer].first
        if buffer in self.rotating:
            cycle = [buffer]
            while (other := self.rotating[cycle[-1]]) is not buffer:
                cycle.append(other)
            buffer = self.slots[cycle[left % len(cycle)]]
        return whole(buffer, shape)


def settle(
    carries: Sequence[Carry], iteration: IterationSteps, windows: Mapping[Buffer, Window], slot: Callable[[Buffer], Buffer]
) -> Settled:
    """
    Find a place for each carried value from iteration to iteration.

    `windows` are the buffers that move with the iterations by themselves; `slot` makes memory of the size of a buffer.
    """
    found = Settled(windows)
    inner = {carry.buffer: carry for carry in carries}
    left = [carry for carry in carries if carry.following is not carry.buffer]
    count = -1
    while count != len(found.fixed):
        count = len(found.fixed)
        for carry in left:
            after = carry.following
            outside = after.number < iteration.since and after not in inner
            if carry.buffer not in found.fixed and (outside or after in found.fixed or after.root in windows):
                found.fixed[carry.buffer] = carry
    rotating = [carry for carry in left if carry.buffer not in found.fixed and not _is_put(carry, iteration)]
    for carry in rotating:
        found.rotating[carry.buffer] = carry.following
    made = [carry.following for carry in rotating if carry.following not in found.rotating]
    wanted = {carry.following for carry in rotating}
    vacant = [carry.buffer for carry in rotating if carry.buffer not in wanted]
    for buffer in made:
        found.rotating[buffer] = vacant.pop(next(i for i, old in enumerate(vacant) if old.bytes == buffer.bytes))
    found.slots = {buffer: slot(buffer) for buffer in found.rotating}
    for buffer in found.rotating:
        buffer.use, buffer.behind = Use.MOVING, tuple(found.slots.values())
    for buffer, carry in found.fixed.items():
        buffer.use = Use.MOVING
        buffer.behind = tuple([b for b in (carry.first.base, carry.following) if isinstance(b, Buffer)])
    return found


def _is_put(carry: Carry, iteration: IterationSteps) -> bool:
    """Make what an iteration yields where it is carried, if that can be."""
    new = carry.following
    if new.number < iteration.since:
        return False
    between = iteration.reach(new).get(carry.buffer)
    if between is None and not iteration.is_read_before(carry.buffer, new):
        return False
    for buffer in (new, *(between or ())):
        buffer.into = carry.buffer
    return True


def _flat(buffer: Buffer) -> View:
    return whole(buffer, (buffer.count,))
