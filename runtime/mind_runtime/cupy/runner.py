"""
From arguments to results: a tape for where they are, or for copies of them.

A graph knows addresses. So there is a tape for each set of them, and a caller who gives the same arrays, or memory that comes
back from a pool, has its graph replayed on them. After some tapes, arguments that keep moving are copied to a place of their own
before a run, and results that do are copied out after it: from then on every call finds its graph. Arguments from the host are
copied to such a place from the first.
"""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from xdsl.ir import Operation

from mind_dialect.errors import MindError
from mind_dialect.program import shown_name
from mind_lowering.cupy.launching import NO_FAILURE, RECORD, CupyKernels, LaunchedKernel
from mind_lowering.cupy.options import CupyOptions
from mind_lowering.cupy.planning.lifetimes import every_step
from mind_lowering.cupy.planning.plan import Branch, Call, Copy, Launch, Loop, Place, Plan, Scan, row_major
from mind_lowering.kernels import NUMPY
from mind_lowering.memory_plan import Block, MemoryPlan

from .gpu import Array, Graph, Machine, Room
from .lanes import in_lanes
from .recorder import Recorder
from .tape import Section, State, Tape, Work, observe

_KINDS = {"launches": Launch, "calls": Call, "copies": Copy, "branches": Branch, "loops": Loop, "scans": Scan}
MOST_TAPES = 8
"""So many tapes are kept."""
MOST_MOVES = 8
"""After so many tapes were made, what moves is copied."""

Addresses = tuple[int | None, ...]


@dataclass
class Moving:
    """How often the addresses of arguments or results were others, and which of them are copied."""

    copied: list[bool]
    first: list[int | None] = field(default_factory=list["int | None"])
    moved: list[bool] = field(default_factory=list[bool])

    @staticmethod
    def of(count: int) -> Moving:
        """For so many arrays."""
        return Moving([False] * count, [None] * count, [False] * count)

    def note(self, addresses: Sequence[int | None]) -> None:
        """Take note of where they are now."""
        for i, address in enumerate(addresses):
            if address is not None:
                if self.first[i] is None:
                    self.first[i] = address
                self.moved[i] |= self.first[i] != address

    def settle(self) -> None:
        """Copy from now on what has moved."""
        self.copied = [c or m for c, m in zip(self.copied, self.moved, strict=True)]


class Runner:
    """
    A plan with its memory. Calls run one at a time.

    `blame` gives an error the op that it comes from.
    """

    def __init__(
        self,
        machine: Machine,
        plan: Plan,
        kernels: CupyKernels,
        launched: Mapping[str, LaunchedKernel],
        blame: Callable[[Operation, MindError], MindError],
        options: CupyOptions,
    ):
        self.machine, self.plan, self.kernels, self.options = machine, plan, kernels, options
        self._launched, self._blame = launched, blame
        self._state = State()
        self._lock = threading.Lock()
        self._rooms: dict[Any, Room] = {}
        self._records: Array = None
        self._drawn: Array = None
        """Where the seed is, for draws."""
        self._seed: int | None = None
        """The one that is there."""
        self._recorded = [s for s in every_step(plan.steps) if isinstance(s, Launch) and s.record is not None]
        self._tapes: OrderedDict[Addresses, Tape] = OrderedDict()
        self._inputs, self._outputs = Moving.of(len(plan.inputs)), Moving.of(len(plan.outputs))
        self._own: dict[tuple[str, int], Array] = {}
        self.made = 0
        """How many tapes were made."""
        self.issues: dict[str, None] = {}
        """Why sections are no graphs."""
        self._warm = False
        self.last: Tape | None = None
        self._quick: dict[Addresses, Graph] = {}
        """The graphs of whole calls, by where arguments and results are."""
        self._specs = [(kernels.dtype(p.dtype.name), p.shape) for p in plan.inputs]
        results = [(kernels.dtype(p.dtype.name), p.shape, p.buffer) for p in plan.outputs]
        self._results = [(dtype, shape, b.index if b.role == "input" else None) for dtype, shape, b in results]

    def quick(self, arguments: Sequence[Any], seed: int = 0) -> list[Any] | None:
        """As a call, for arrays that were here before: looked up, and one graph launched. None where there is more to do."""
        if not self._quick:
            return None
        machine, addresses = self.machine, list[int | None]()
        address = machine.address
        for array, (dtype, shape) in zip(arguments, self._specs, strict=False):
            if not machine.is_here(array) or array.dtype != dtype or array.shape != shape or not array.flags.c_contiguous:
                return None
            addresses.append(address(array))
        with self._lock:
            machine.order()
            results: list[Any] = []
            for dtype, shape, given in self._results:
                results.append(machine.fresh(shape, dtype) if given is None else arguments[given])
                addresses.append(address(results[-1]) if given is None else None)
            graph = self._quick.get(tuple(addresses))
            if graph is None:
                return None
            self._sow(seed)
            graph.launch()
        return results

    def __call__(self, arguments: Sequence[Any], seed: int = 0, *, home: bool = False) -> list[Any]:
        """
        The results: new arrays on the GPU, or with `home` on the host.

        Arguments are NumPy arrays, or arrays on the GPU in row-major order from a good address. Raises what a kernel noted.
        """
        with self._lock:
            tape, given, results = self._begun(arguments, seed, home=home)
            self._run(tape)
            self._check()
            if not home:
                self._remember(self._key(arguments, results), tape)
            return self._handed_out(given, results, home=home)

    def observed(self, arguments: Sequence[Any], seed: int, note: Callable[[Work], None]) -> None:
        """As a call, step by step: `note` runs each of them."""
        with self._lock:
            _, given, results = self._begun(arguments, seed, home=False)
            observe(self._record(given, results), note).run()
            self._check()

    def _begun(self, arguments: Sequence[Any], seed: int, *, home: bool) -> tuple[Tape, list[Any], dict[int, Array]]:
        """What `_prepared` gives, with all that a run needs in place."""
        self.machine.order()
        if not self._rooms:
            self._allocate()
        self._sow(seed)
        return self._prepared(arguments, home=home)

    def _sow(self, seed: int) -> None:
        """Let the seed of a call be where draws look for it: by a launch, if it is another."""
        self._state.seed = seed
        self._state.iterations.clear()
        if self._drawn is not None and seed != self._seed:
            self._drawn.fill(np.uint64(seed))
            self._seed = seed

    def _remember(self, key: Addresses, tape: Tape) -> None:
        """Take note of a tape that is one graph, and nothing is copied or looked at around it."""
        part = tape.parts[0] if len(tape.parts) == 1 else None
        plain = self._records is None and not any(self._inputs.copied) and not any(self._outputs.copied)
        if plain and isinstance(part, Section) and part.graph is not None:
            self._quick[key] = part.graph

    # Memory

    def _allocate(self) -> None:
        """The arena, what is kept, constants."""
        machine, plan = self.machine, self.plan
        for role, size in (("arena", plan.arena), ("kept", plan.kept), ("record", plan.records), ("state", plan.state)):
            if size:
                self._rooms[role] = room = machine.room(size)
                if role in ("kept", "record"):
                    whole = machine.array(room, 0, (size // 4,), (4,), np.dtype("uint32"))
                    whole.fill(0 if role == "kept" else 0xFFFFFFFF)
        if plan.state:
            self._drawn = machine.array(self._rooms["state"], 0, (1,), (8,), np.dtype("uint64"))
        if plan.records:
            count = plan.records // 8
            self._records = machine.array(self._rooms["record"], 0, (count,), (8,), np.dtype("uint64"))
        for place, literal in plan.constants:
            elements: Any = np.ascontiguousarray(NUMPY.constant(value=literal))
            whole = elements if any(place.strides) or not place.shape else elements.reshape(-1)[:1].reshape(())
            room = self._rooms["constant", place.buffer.index] = machine.room(place.buffer.bytes)
            if place.bytes:
                strides = row_major(whole.shape, place.dtype.size)
                machine.send(machine.array(room, 0, whole.shape, strides, self.kernels.dtype(place.dtype.name)), whole)

    def _place(self, role: str, i: int, place: Place) -> Array:
        """The array that is copied to, or from, for an argument or result."""
        if (role, i) not in self._own:
            room = self.machine.room(place.bytes)
            self._own[role, i] = self.machine.array(room, 0, place.shape, place.strides, self.kernels.dtype(place.dtype.name))
        return self._own[role, i]

    # Tapes

    def _prepared(self, arguments: Sequence[Any], *, home: bool) -> tuple[Tape, list[Any], dict[int, Array]]:
        """The tape for a call, its arguments where the tape has them, and the results in memory of their own."""
        here = self.machine.is_here
        changed = [i for i, a in enumerate(arguments) if not self._inputs.copied[i] and not here(a)]
        for i in changed:
            self._inputs.copied[i] = True
        owned = [j for j, p in enumerate(self.plan.outputs) if p.buffer.role == "output"]
        if home and not all(self._outputs.copied[j] for j in owned):
            self._outputs.copied = [True] * len(self.plan.outputs)
            changed = [0]
        if changed:
            self._forget()
        while True:
            results = {j: self._result(j) for j in owned}
            key = self._key(arguments, results)
            tape = self._tapes.get(key)
            if tape is not None:
                self._tapes.move_to_end(key)
                break
            self._note(key)
            if self.made < MOST_MOVES or not self._settle():
                tape = self._tapes[key] = self._record(arguments, results)
                while len(self._tapes) > MOST_TAPES:
                    gone, _ = self._tapes.popitem(last=False)
                    self._quick.pop(gone, None)
                break
        for i, copied in enumerate(self._inputs.copied):
            if copied:
                own = self._place("input", i, self.plan.inputs[i])
                (self.machine.copy if here(arguments[i]) else self.machine.send)(own, arguments[i])
        return tape, list(arguments), results

    def _result(self, j: int) -> Array:
        place = self.plan.outputs[j]
        if self._outputs.copied[j]:
            return self._place("output", j, place)
        return self.machine.fresh(place.shape, self.kernels.dtype(place.dtype.name))

    def _key(self, arguments: Sequence[Any], results: Mapping[int, Array]) -> Addresses:
        address = self.machine.address
        inputs = [None if c else address(a) for a, c in zip(arguments, self._inputs.copied, strict=True)]
        outputs = [
            address(results[j]) if j in results and not self._outputs.copied[j] else None for j in range(len(self.plan.outputs))
        ]
        return (*inputs, *outputs)

    def _note(self, key: Addresses) -> None:
        self._inputs.note(key[: len(self.plan.inputs)])
        self._outputs.note(key[len(self.plan.inputs) :])

    def _settle(self) -> bool:
        """Copy what has moved from now on; False if nothing else has."""
        before = (self._inputs.copied, self._outputs.copied)
        self._inputs.settle()
        self._outputs.settle()
        if before == (self._inputs.copied, self._outputs.copied):
            return False
        self._forget()
        return True

    def _forget(self) -> None:
        """Let all tapes go."""
        self._tapes.clear()
        self._quick.clear()

    def _record(self, arguments: Sequence[Any], results: Mapping[int, Array]) -> Tape:
        self.made += 1
        rooms = dict(self._rooms)
        for i, (argument, copied) in enumerate(zip(arguments, self._inputs.copied, strict=True)):
            rooms["input", i] = self.machine.room_of(self._place("input", i, self.plan.inputs[i]) if copied else argument)
        for j, result in results.items():
            rooms["output", j] = self.machine.room_of(result)
        tf32 = self.options.tf32
        recorder = Recorder(self.machine, self.kernels, self._launched, rooms, self._state, self._check, self._blame, tf32)
        return recorder.tape(self.plan.steps)

    # Runs

    def _run(self, tape: Tape) -> None:
        self.last = tape
        if not self.options.graph:
            tape.run()
        elif not self._warm:  # what the array library makes when it is first called cannot be made during a capture
            self.machine.apart(tape.run)
            self._warm = True
        else:
            for section in tape.sections():
                if section.graph is None and section.issue is None:
                    self._capture(section)
            tape.run()

    def _capture(self, section: Section) -> None:
        """Let a section be a graph; if that fails it stays what it is, and `issues` says why."""
        try:
            section.graph = self.machine.capture(in_lanes(section.works, self._blocks, self.machine.address))
        except (MemoryError, KeyboardInterrupt):
            raise
        except Exception as e:
            section.issue = f"{type(e).__name__}: {e}"
            self.issues[section.issue] = None

    def _blocks(self, step: Launch) -> int:
        return self._launched[step.kernel].grid

    def _check(self) -> None:
        """Raise the error of the first step that noted a failure."""
        if self._records is None:
            return
        noted: list[int] = [int(n) for n in self.machine.read(self._records)]
        if all(n == NO_FAILURE for n in noted):
            return
        self._records.fill(np.uint64(NO_FAILURE))
        for step in self._recorded:
            assert step.record is not None
            start = step.record.buffer.offset // 8
            self._launched[step.kernel].check(noted[start : start + RECORD])

    def _handed_out(self, arguments: Sequence[Any], results: Mapping[int, Array], *, home: bool) -> list[Any]:
        """The results for the caller."""
        found: list[Any] = []
        for j, place in enumerate(self.plan.outputs):
            if place.buffer.role == "input":
                found.append(self._donated(place.buffer.index, arguments, home=home))
            elif home:
                found.append(self.machine.read(results[j]))
            elif self._outputs.copied[j]:
                fresh = self.machine.fresh(place.shape, self.kernels.dtype(place.dtype.name))
                self.machine.copy(fresh, results[j])
                found.append(fresh)
            else:
                found.append(results[j])
        return found

    def _donated(self, i: int, arguments: Sequence[Any], *, home: bool) -> Any:
        """A result in the memory of a donated argument."""
        if not self._inputs.copied[i]:
            return self.machine.read(arguments[i]) if home else arguments[i]
        own = self._place("input", i, self.plan.inputs[i])
        if home:
            return self.machine.read(own)
        if self.machine.is_here(arguments[i]):
            self.machine.copy(arguments[i], own)
            return arguments[i]
        fresh = self.machine.fresh(own.shape, own.dtype)
        self.machine.copy(fresh, own)
        return fresh

    def explain(self) -> list[str]:
        """Lines that say what memory there is, what the host takes part in and why, and which sections are no graphs."""
        plan = self.plan
        steps = list(every_step(plan.steps))
        counted = Counter(type(s) for s in steps)
        counts = [f"{counted[kind]} {word}" for word, kind in _KINDS.items() if counted[kind]]
        lines = [f"plan: {', '.join(counts) or 'nothing'}; arena of {plan.arena} bytes"]
        lines += [f"host: {s.function}: {s.host}" for s in steps if isinstance(s, Call) and s.host is not None]
        if not self.options.graph:
            lines.append("no graphs: graph=off")
        return [*lines, *(f"no graph: {issue}" for issue in self.issues)]

    def arena_plan(self) -> MemoryPlan:
        """Where each temporary is, and when."""
        temporaries = [b for b in self.plan.buffers if b.role == "arena" and b.first >= 0 and b.bytes]
        blocks = tuple(Block(f"temporary {i}", b.offset, b.bytes, b.first, b.last) for i, b in enumerate(temporaries))
        return MemoryPlan(f"@{shown_name(self.plan.name)} on cupy", self.plan.arena, blocks)

    def memory(self, here: Sequence[bool]) -> dict[str, int]:
        """The bytes on the GPU of a call, by what they are for; `here` says which arguments are there already."""
        plan = self.plan
        copied = (p.bytes for p, given in zip(plan.inputs, here, strict=True) if not given)
        constants = sum(p.buffer.bytes for p, _ in plan.constants)
        own = plan.kept + plan.records + plan.state
        return {
            "arena": plan.arena,
            "results": plan.output_bytes,
            "constants": constants,
            "copies of arguments": sum(copied),
            "counters": own,
        }

    @property
    def bytes(self) -> int:
        """What a run needs beside its arguments: the arena, what is kept, results."""
        return self.plan.arena + self.plan.kept + self.plan.records + self.plan.state + self.plan.output_bytes
