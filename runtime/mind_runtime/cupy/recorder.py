"""How a plan becomes a tape: its steps with the arrays that they work on, for one set of addresses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from xdsl.ir import Operation

from mind_dialect.errors import MindError
from mind_dialect.ptir.literal import PtirLiteralAttr
from mind_dialect.ptir.types import PtirDType
from mind_lowering.cupy.launching import CupyKernels, LaunchedKernel
from mind_lowering.cupy.planning.plan import (
    MOST_UNROLLED,
    Branch,
    Buffer,
    Call,
    Copy,
    Launch,
    Loop,
    Place,
    Scan,
    Step,
    all_device,
    enqueued,
    is_device,
)
from mind_lowering.xp_arguments import SEED, TURNS
from mind_lowering.xp_functions import IN_PLACE

from .gpu import Array, Machine, Room
from .tape import Host, Next, State, Tape, Test, Times, While, Work


@dataclass
class Recorder:
    """Makes tapes. `rooms` says where the buffers of each role are, by role or by role and number."""

    machine: Machine
    kernels: CupyKernels
    launched: Mapping[str, LaunchedKernel]
    rooms: Mapping[Any, Room]
    state: State
    failed: Callable[[], None]
    """Raises what a kernel has noted."""
    blame: Callable[[Operation, MindError], MindError]
    tf32: bool = False
    bound: dict[Buffer, tuple[Room, int]] = field(default_factory=dict[Buffer, tuple[Room, int]])
    arrays: dict[Any, Array] = field(default_factory=dict[Any, Array])

    def tape(self, steps: Sequence[Step]) -> Tape:
        """The tape of steps."""
        made = Tape()
        self.append(made, steps)
        return made

    def append(self, tape: Tape, steps: Sequence[Step]) -> None:
        """Put steps behind those of a tape."""
        for step in steps:
            if isinstance(step, Launch | Copy | Call):
                work = self.work(step)
                if is_device(step):
                    tape.section().works.append(work)
                else:
                    tape.parts.append(Host(self.guarded(work)))
            elif isinstance(step, Branch):
                tape.parts.append(Test(self.truth(step.condition), self.tape(step.then), self.tape(step.other)))
            elif isinstance(step, Loop):
                self.loop(tape, step)
            elif step.unrolled:
                for i in range(step.count):
                    for whole, inner in (*step.scanned, *step.stacks):
                        self.bound[inner.buffer] = self.slice(whole, i)
                    self.append(tape, step.body)
            elif step.turning:
                self.turning(tape, step)
            else:
                tape.parts.append(self.times(step))

    # Where things are

    def where(self, buffer: Buffer) -> tuple[Room, int]:
        """The memory of a buffer, and where in it it begins."""
        if buffer.role == "slice":
            return self.bound[buffer]
        key: Any = buffer.role if buffer.role in ("arena", "kept", "record", "state") else (buffer.role, buffer.index)
        return self.rooms[key], buffer.offset

    def array(self, place: Place) -> Array:
        """The array of a place."""
        room, start = self.where(place.buffer)
        key = (room.address, start + place.offset, place.shape, place.strides, place.dtype)
        if (found := self.arrays.get(key)) is None:
            dtype = self.kernels.dtype(place.dtype.name)
            found = self.machine.array(room, start + place.offset, place.shape, place.strides, dtype)
            self.arrays[key] = found
        return found

    def slice(self, whole: Place, i: int) -> tuple[Room, int]:
        """Where slice `i` along the first axis is."""
        room, start = self.where(whole.buffer)
        return room, start + whole.offset + i * whole.strides[0]

    def truth(self, place: Place) -> Callable[[], bool]:
        """What reads a truth from the GPU, after what was noted before it."""
        array = self.array(place)

        def read() -> bool:
            found = bool(self.machine.read(array))
            self.failed()
            return found

        return read

    def loop(self, tape: Tape, step: Loop) -> None:
        """
        A loop, of which an iteration and the test after it are one graph, and the first test part of another, but for host
        calls.
        """
        test, iteration = Tape(), self.tape(step.body)
        if all_device([*step.body, *step.test]):
            self.append(tape, step.test)
        else:
            self.append(test, step.test)
            iteration.parts.append(Next(self.state))
        self.append(iteration, step.test)
        tape.parts.append(While(self.state, test, self.truth(step.condition), iteration))

    def turning(self, tape: Tape, step: Scan) -> None:
        """A scan whose iterations are the same work again: as many of them are one graph as an unrolled scan may have steps."""
        together = max(1, MOST_UNROLLED // enqueued(step.body))
        rounds, rest = divmod(step.count, together)
        if rounds:
            tape.parts.append(Times(self.state, rounds, self.tape(step.body * together)))
        self.append(tape, step.body * rest)

    def times(self, step: Scan) -> Times:
        """A scan in whose iterations the host takes part."""
        pairs = [(self.machine.copy, whole, self.array(inner)) for whole, inner in step.scanned]
        stacks = [(whole, self.array(inner)) for whole, inner in step.stacks]
        views: dict[tuple[Place, int], Array] = {}

        def part(whole: Place, inner: Array, i: int) -> Array:
            if (found := views.get((whole, i))) is None:
                room, start = self.slice(whole, i)
                found = views[whole, i] = self.machine.array(room, start, inner.shape, inner.strides, inner.dtype)
            return found

        def bring(i: int) -> None:
            for copy, whole, inner in pairs:
                copy(inner, part(whole, inner, i))

        def take(i: int) -> None:
            for whole, inner in stacks:
                self.machine.copy(part(whole, inner, i), inner)

        return Times(self.state, step.count, self.tape(step.body), bring, take)

    # What is enqueued

    def guarded(self, work: Work) -> Work:
        """Work whose errors name their op, after those of kernels that came before."""

        def run() -> None:
            try:
                work.run()
            except MindError as e:
                self.failed()
                raise self.blame(work.step.op, e) if work.step.op is not None and e.op is None else e from None

        return Work(run, work.step, work.reads, work.writes)

    def work(self, step: Launch | Copy | Call) -> Work:
        """One step on its arrays."""
        if isinstance(step, Copy):
            target, source = self.array(step.target), self.array(step.source)
            return Work(lambda: self.machine.copy(target, source), step, (source,), (target,))
        inputs = tuple(map(self.array, step.inputs))
        outputs = tuple(map(self.array, step.outputs))
        if isinstance(step, Launch):
            own = tuple(self.array(p) for p in (step.scratch, step.counters, step.record) if p is not None)
            kernel, arrays = self.launched[step.kernel], (*inputs, *outputs, *own)
            return Work(lambda: kernel.run(arrays), step, inputs, (*outputs, *own))
        return Work(self.call(step, inputs, outputs), step, inputs, outputs)

    def call(self, step: Call, inputs: Sequence[Array], outputs: Sequence[Array]) -> Callable[[], None]:
        """A call of the array library, its results put where they belong."""
        machine, function = self.machine, self.function(step.function)
        options = {name: self.value(value) for name, value in step.arguments.items()}
        if step.function in IN_PLACE:
            return lambda: function(*inputs, out=outputs[0], **options)
        plain = self.generic(step, function, inputs, outputs, options)
        if step.function == "xp.matmul":

            def multiply() -> None:
                if not inputs[0].size or not inputs[1].size:
                    _clear(outputs[0])  # a sum of nothing, which cuBLAS does not take and CuPy not of every dtype
                elif not machine.matmul(inputs[0], inputs[1], outputs[0], tf32=self.tf32):
                    plain()

            return multiply
        return plain

    def generic(self, step: Call, function: Any, inputs: Any, outputs: Any, options: dict[str, Any]) -> Callable[[], None]:
        """A call whose results are copied."""
        machine, state = self.machine, self.state
        seeded = [name for name, value in step.arguments.items() if value is SEED]
        turning = [name for name, value in step.arguments.items() if value is TURNS]

        def run() -> None:
            for name in seeded:
                options[name] = state.seed
            for name in turning:
                options[name] = tuple(state.iterations)
            with machine.library():
                found = function(*inputs, **options)
                several = isinstance(found, tuple | list)
                for target, made in zip(outputs, cast("Sequence[Array]", found) if several else [found], strict=True):
                    if made is not target:
                        machine.copy(target, made)

        return run

    def function(self, name: str) -> Any:
        """What a lowered call calls."""
        head, _, rest = name.partition(".")
        found: Any = self.kernels if head == "k" else self.kernels.xp
        for part in rest.split("."):
            found = getattr(found, part)
        return found

    def value(self, given: Any) -> Any:
        """An argument of a lowered call as the printed Python has it."""
        if isinstance(given, PtirDType):
            return self.kernels.dtype(given.name)
        if isinstance(given, PtirLiteralAttr):
            return given.item()
        if isinstance(given, tuple):
            return tuple(map(self.value, cast("tuple[Any, ...]", given)))
        if isinstance(given, dict):
            return {name: self.value(v) for name, v in cast("dict[str, Any]", given).items()}
        return given


def _clear(array: Array) -> None:
    """Set every element to 0; of dtypes that the array library cannot fill, the bytes."""
    plain = array if array.dtype.kind in "biufc" else array.view(f"u{array.dtype.itemsize}")
    plain.fill(0)
