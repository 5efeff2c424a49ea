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
from typing import Any

import numpy as np
from xdsl.ir import Operation

from mind_dialect.errors import MindError
from mind_dialect.program import shown_name
from mind_lowering.cupy.launching import NO_FAILURE, RECORD, CupyKernels, LaunchedKernel
from mind_lowering.cupy.options import CupyOptions
from mind_lowering.cupy.planning.planner import LaunchPlan, given_input
from mind_lowering.kernels import NUMPY
from mind_lowering.launch.arena_plan import arena_plan
from mind_lowering.launch.compute_ops import CallOp, KernelOp
from mind_lowering.launch.control_ops import ForOp, IfOp, WhileOp
from mind_lowering.launch.liveness import launch_ops
from mind_lowering.launch.memory_ops import AllocOp, CopyOp, Space
from mind_lowering.memory_plan import MemoryPlan

from .gpu import Array, Graph, Machine, Room
from .lanes import in_lanes
from .moving import Moving
from .recorder import Recorder
from .tape import Section, State, Tape, Work, observe

_KINDS = {"launches": KernelOp, "calls": CallOp, "copies": CopyOp, "branches": IfOp, "loops": WhileOp, "scans": ForOp}
MOST_TAPES = 8
"""So many tapes are kept."""
MOST_MOVES = 8
"""After so many tapes were made, what moves is copied."""

Addresses = tuple[int | None, ...]


class CudaRunner:
    """
    A plan with its memory. Calls run one at a time.

    `blame` gives an error the op that it comes from.
    """

    def __init__(
        self,
        machine: Machine,
        plan: LaunchPlan,
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
        """The place of the seed, for random numbers."""
        self._seed: int | None = None
        """The one that is there."""
        self._ops = list(launch_ops(plan.func.body.block))
        self._recorded = [found for op in self._ops if isinstance(op, KernelOp) and (found := _record_of(op)) is not None]
        self._given, self._made = plan.inputs, plan.outputs
        self._tapes: OrderedDict[Addresses, Tape] = OrderedDict()
        self._inputs, self._outputs = Moving.of(len(self._given)), Moving.of(len(self._made))
        self._own: dict[tuple[Space, int], Array] = {}
        self.made = 0
        """The number of recorded tapes."""
        self.issues: dict[str, None] = {}
        """The reasons why sections are no graphs."""
        self._warm = False
        self.last: Tape | None = None
        self._quick: dict[Addresses, Graph] = {}
        """The graphs of whole calls, by where arguments and results are."""
        self._specs = [self._spec(op) for op in self._given]
        self._results = [(*self._spec(op), given_input(op)) for op in self._made]

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
        """Return what `_prepared` gives, with all that a run needs in place."""
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

    def _spec(self, op: AllocOp) -> tuple[Any, tuple[int, ...]]:
        """The dtype of the array library, and the sizes."""
        return self.kernels.dtype(op.ref.dtype.name), op.ref.shape

    def _allocate(self) -> None:
        """The arena, memory that lives from call to call, constants."""
        machine, plan = self.machine, self.plan
        arena = max(plan.arena, any(op.kind is Space.ARENA for op in plan.allocations))  # what has no elements is somewhere too
        for space, size in ((Space.ARENA, arena), (Space.RECORD, plan.records), (Space.STATE, plan.state)):
            if size:
                self._rooms[space] = room = machine.room(size)
                if space is not Space.ARENA:
                    whole = machine.array(room, 0, (size // 4,), (4,), np.dtype("uint32"))
                    whole.fill(0 if space is Space.STATE else 0xFFFFFFFF)
        if plan.draws:
            self._drawn = machine.array(self._rooms[Space.STATE], 0, (1,), (8,), np.dtype("uint64"))
        if plan.records:
            count = plan.records // 8
            self._records = machine.array(self._rooms[Space.RECORD], 0, (count,), (8,), np.dtype("uint64"))
        for op in plan.allocations:
            if op.kind is Space.CONSTANT:
                room = self._rooms[op.kind, op.number] = machine.room(op.ref.nbytes)
                if op.ref.nbytes:
                    elements: Any = np.ascontiguousarray(NUMPY.constant(value=op.literal_value)).reshape(op.ref.shape)
                    machine.send(self._whole(room, op), elements)

    def _whole(self, room: Room, op: AllocOp) -> Array:
        """All of an allocation as an array."""
        dtype, shape = self._spec(op)
        strides = tuple([s * op.ref.dtype.size for s in op.ref.strides])
        return self.machine.array(room, 0, shape, strides, dtype)

    def _place(self, space: Space, i: int, op: AllocOp) -> Array:
        """The array that is copied to, or from, for an argument or result."""
        if (space, i) not in self._own:
            self._own[space, i] = self._whole(self.machine.room(op.ref.nbytes), op)
        return self._own[space, i]

    # Tapes

    def _prepared(self, arguments: Sequence[Any], *, home: bool) -> tuple[Tape, list[Any], dict[int, Array]]:
        """The tape for a call, its arguments where the tape has them, and the results in memory of their own."""
        here = self.machine.is_here
        changed = [i for i, a in enumerate(arguments) if not self._inputs.copied[i] and not here(a)]
        for i in changed:
            self._inputs.copied[i] = True
        owned = [j for j, (_, _, given) in enumerate(self._results) if given is None]
        if home and not all(self._outputs.copied[j] for j in owned):
            self._outputs.copied = [True] * len(self._made)
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
                own = self._place(Space.INPUT, i, self._given[i])
                (self.machine.copy if here(arguments[i]) else self.machine.send)(own, arguments[i])
        return tape, list(arguments), results

    def _result(self, j: int) -> Array:
        if self._outputs.copied[j]:
            return self._place(Space.OUTPUT, j, self._made[j])
        dtype, shape, _ = self._results[j]
        return self.machine.fresh(shape, dtype)

    def _key(self, arguments: Sequence[Any], results: Mapping[int, Array]) -> Addresses:
        address = self.machine.address
        inputs = [None if c else address(a) for a, c in zip(arguments, self._inputs.copied, strict=True)]
        outputs = [address(results[j]) if j in results and not self._outputs.copied[j] else None for j in range(len(self._made))]
        return (*inputs, *outputs)

    def _note(self, key: Addresses) -> None:
        self._inputs.note(key[: len(self._given)])
        self._outputs.note(key[len(self._given) :])

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
            rooms[Space.INPUT, i] = self.machine.room_of(self._place(Space.INPUT, i, self._given[i]) if copied else argument)
        for j, result in results.items():
            rooms[Space.OUTPUT, j] = self.machine.room_of(result)
        tf32 = self.options.tf32
        recorder = Recorder(self.machine, self.kernels, self._launched, rooms, self._state, self._check, self._blamed, tf32)
        return recorder.tape(self.plan.func.body.block.ops)

    def _blamed(self, op: Operation, e: MindError) -> MindError:
        origin = self.plan.origins.get(op)
        return e if origin is None else self._blame(origin, e)

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

    def _blocks(self, op: KernelOp) -> int:
        return self._launched[op.symbol].grid

    def _check(self) -> None:
        """Raise the error of the first step that noted a failure."""
        if self._records is None:
            return
        noted: list[int] = [int(n) for n in self.machine.read(self._records)]
        if all(n == NO_FAILURE for n in noted):
            return
        self._records.fill(np.uint64(NO_FAILURE))
        for kernel, at in self._recorded:
            self._launched[kernel].check(noted[at // 8 : at // 8 + RECORD])

    def _handed_out(self, arguments: Sequence[Any], results: Mapping[int, Array], *, home: bool) -> list[Any]:
        """The results for the caller."""
        found: list[Any] = []
        for j, (dtype, shape, given) in enumerate(self._results):
            if given is not None:
                found.append(self._donated(given, arguments, home=home))
            elif home:
                found.append(self.machine.read(results[j]))
            elif self._outputs.copied[j]:
                fresh = self.machine.fresh(shape, dtype)
                self.machine.copy(fresh, results[j])
                found.append(fresh)
            else:
                found.append(results[j])
        return found

    def _donated(self, i: int, arguments: Sequence[Any], *, home: bool) -> Any:
        """A result in the memory of a donated argument."""
        if not self._inputs.copied[i]:
            return self.machine.read(arguments[i]) if home else arguments[i]
        own = self._place(Space.INPUT, i, self._given[i])
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
        counted = Counter(type(op) for op in self._ops)
        counts = [f"{counted[kind]} {word}" for word, kind in _KINDS.items() if counted[kind]]
        lines = [f"plan: {', '.join(counts) or 'nothing'}; arena of {plan.arena} bytes"]
        calls = [op for op in self._ops if isinstance(op, CallOp) and op.sync is not None]
        lines += [f"host: {op.function}: {op.word('sync')}" for op in calls]
        if not self.options.graph:
            lines.append("no graphs: graph=off")
        return [*lines, *(f"no graph: {issue}" for issue in self.issues)]

    def arena_plan(self) -> MemoryPlan:
        """Return the address of each temporary, and its live range."""
        return arena_plan(self.plan.func, f"@{shown_name(self.plan.func.sym_name.data)} on cupy", self.plan.arena)

    def memory(self, here: Sequence[bool]) -> dict[str, int]:
        """The bytes on the GPU of a call, by what they are for; `here` says which arguments are there already."""
        plan = self.plan
        copied = (op.ref.nbytes for op, given in zip(self._given, here, strict=True) if not given)
        constants = sum(op.ref.nbytes for op in plan.allocations if op.kind is Space.CONSTANT)
        return {
            "arena": plan.arena,
            "results": plan.output_bytes,
            "constants": constants,
            "copies of arguments": sum(copied),
            "counters": plan.records + plan.state,
        }

    @property
    def bytes(self) -> int:
        """Return the bytes that a run needs in addition to its arguments: the arena, what is kept, results."""
        return self.plan.arena + self.plan.records + self.plan.state + self.plan.output_bytes


def _record_of(op: KernelOp) -> tuple[str, int] | None:
    """The name of a kernel that can fail, and where among the records its own is."""
    owner = op.writes[-1].owner
    return (op.symbol, owner.word("at")) if isinstance(owner, AllocOp) and owner.kind is Space.RECORD else None
