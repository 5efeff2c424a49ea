"""A plan becomes a tape: its launches with the arrays that they work on, for one set of addresses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from xdsl.ir import Operation, SSAValue

from mind_dialect.errors import MindError
from mind_dialect.ptir.literal import PtirLiteralAttr
from mind_dialect.ptir.types import PtirDType
from mind_lowering.cupy.launching import CupyKernels, LaunchedKernel
from mind_lowering.cupy.planning.device import MOST_UNROLLED, all_device, enqueued, is_device
from mind_lowering.cupy.planning.planned_products import EPILOGUE
from mind_lowering.launch.compute_ops import CallOp, KernelOp
from mind_lowering.launch.control_ops import AtOp, ConditionOp, ForOp, IfOp, WhileOp
from mind_lowering.launch.memory_ops import AllocOp, CopyOp, Space, ViewOp
from mind_lowering.launch.ref import read_ref
from mind_lowering.xp.arguments import ITERATIONS, SEED
from mind_lowering.xp.functions import IN_PLACE

from .gpu import Array, Machine, Room
from .tape import Host, Next, State, Step, Tape, Test, Times, While, Work

BLOCKS = (Space.ARENA, Space.RECORD, Space.STATE)
"""Spaces that are one block of memory each."""


@dataclass
class Recorder:
    """Makes tapes. `rooms` says where memory of each space is, by space, or by space and number."""

    machine: Machine
    kernels: CupyKernels
    launched: Mapping[str, LaunchedKernel]
    rooms: Mapping[Any, Room]
    state: State
    failed: Callable[[], None]
    """Raises what a kernel has noted."""
    blame: Callable[[Operation, MindError], MindError]
    tf32: bool = False
    iterations: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    """The induction variables of loops that are unrolled."""
    arrays: dict[Any, Array] = field(default_factory=dict[Any, Array])

    def tape(self, ops: Iterable[Operation]) -> Tape:
        """The tape of ops."""
        made = Tape()
        self.append(made, ops)
        return made

    def append(self, tape: Tape, ops: Iterable[Operation]) -> None:
        """Put ops behind those of a tape."""
        for op in ops:
            if isinstance(op, KernelOp | CopyOp | CallOp):
                work = self.work(op)
                if is_device(op):
                    tape.section().works.append(work)
                else:
                    tape.parts.append(Host(self.guarded(work)))
            elif isinstance(op, IfOp):
                tape.parts.append(Test(self.truth(op.predicate), self.tape(op.then.block.ops), self.tape(op.otherwise.block.ops)))
            elif isinstance(op, WhileOp):
                self.loop(tape, op)
            elif isinstance(op, ForOp):
                self.scan(tape, op)

    def scan(self, tape: Tape, op: ForOp) -> None:
        """A scan: unrolled, iterations that are the same launches, or some in which the host takes part."""
        block = op.body.block
        if op.unrolled is not None:
            for i in range(op.trip_count):
                self.iterations[block.args[0]] = i
                self.append(tape, block.ops)
        elif all_device(block.ops):
            self.alike(tape, op)
        else:
            tape.parts.append(self.times(op))

    # Where things are

    def where(self, value: SSAValue) -> tuple[Room, int]:
        """The memory of a value, and where in it it begins, in bytes."""
        owner = value.owner
        if isinstance(owner, ViewOp):
            room, start = self.where(owner.source)
            return room, start + owner.word("offset", 0) * read_ref(value.type).dtype.size
        if isinstance(owner, AtOp):
            return self.slice(owner.source, self.iterations[owner.index])
        assert isinstance(owner, AllocOp), "loops carry nothing"
        if owner.over is not None:
            return self.where(owner.over)
        return self.rooms[owner.kind if owner.kind in BLOCKS else (owner.kind, owner.number)], owner.word("at", 0)

    def array(self, value: SSAValue) -> Array:
        """The array of a value."""
        room, start = self.where(value)
        key = (room.address, start, value.type)
        if (found := self.arrays.get(key)) is None:
            layout = read_ref(value.type)
            strides = tuple([s * layout.dtype.size for s in layout.strides])
            found = self.machine.array(room, start, layout.shape, strides, self.kernels.dtype(layout.dtype.name))
            self.arrays[key] = found
        return found

    def slice(self, whole: SSAValue, i: int) -> tuple[Room, int]:
        """Return the address of slice `i` along the first axis."""
        (room, start), layout = self.where(whole), read_ref(whole.type)
        return room, start + i * layout.strides[0] * layout.dtype.size

    def truth(self, value: SSAValue) -> Callable[[], bool]:
        """Return a function that reads a truth from the GPU, after what was noted before it."""
        array = self.array(value)

        def read() -> bool:
            found = bool(self.machine.read(array))
            self.failed()
            return found

        return read

    def loop(self, tape: Tape, op: WhileOp) -> None:
        """
        A loop, of which an iteration and the test after it are one graph, and the first test part of another, but for host
        calls.
        """
        tests, ops = list(op.test.block.ops), list(op.body.block.ops)
        test, iteration = Tape(), self.tape(ops)
        if all_device([*ops[:-1], *tests[:-1]]):
            self.append(tape, tests)
        else:
            self.append(test, tests)
            iteration.parts.append(Next(self.state))
        self.append(iteration, tests)
        tape.parts.append(While(self.state, test, self.truth(_condition(op).go_on), iteration))

    def alike(self, tape: Tape, op: ForOp) -> None:
        """A scan whose iterations are the same work again: as many are one graph as an unrolled scan may have launches."""
        ops = list(op.body.block.ops)
        together = max(1, MOST_UNROLLED // enqueued(ops))
        rounds, rest = divmod(op.trip_count, together)
        if rounds:
            tape.parts.append(Times(self.state, rounds, self.tape(ops * together)))
        self.append(tape, ops * rest)

    def times(self, op: ForOp) -> Times:
        """A scan in whose iterations the host takes part: copies of slices come first and last."""
        pairs: list[tuple[AtOp, Array]] = []
        stacks: list[tuple[AtOp, Array]] = []
        others: list[Operation] = []
        for inner in op.body.block.ops:
            if isinstance(inner, CopyOp) and isinstance(inner.source.owner, AtOp):
                pairs.append((inner.source.owner, self.array(inner.target)))
            elif isinstance(inner, CopyOp) and isinstance(inner.target.owner, AtOp):
                stacks.append((inner.target.owner, self.array(inner.source)))
            else:
                others.append(inner)
        views: dict[tuple[AtOp, int], Array] = {}

        def part(at: AtOp, inner: Array, i: int) -> Array:
            if (found := views.get((at, i))) is None:
                room, start = self.slice(at.source, i)
                found = views[at, i] = self.machine.array(room, start, inner.shape, inner.strides, inner.dtype)
            return found

        def bring(i: int) -> None:
            for at, inner in pairs:
                self.machine.copy(inner, part(at, inner, i))

        def take(i: int) -> None:
            for at, inner in stacks:
                self.machine.copy(part(at, inner, i), inner)

        return Times(self.state, op.trip_count, self.tape(others), bring, take)

    # What is enqueued

    def guarded(self, work: Work) -> Work:
        """Work whose errors name their op, after those of kernels that came before."""

        def run() -> None:
            try:
                work.run()
            except MindError as e:
                self.failed()
                raise self.blame(work.step, e) if e.op is None else e from None

        return Work(run, work.step, work.reads, work.writes)

    def work(self, op: Step) -> Work:
        """One launch, copy or call on its arrays."""
        if isinstance(op, CopyOp):
            target, source = self.array(op.target), self.array(op.source)
            return Work(lambda: self.machine.copy(target, source), op, (source,), (target,))
        reads, writes = tuple(map(self.array, op.reads)), tuple(map(self.array, op.writes))
        if isinstance(op, KernelOp):
            kernel, arrays = self.launched[op.symbol], (*reads, *writes)
            return Work(lambda: kernel.run(arrays), op, reads, writes)
        return Work(self.call(op, reads, writes), op, reads, writes)

    def call(self, op: CallOp, inputs: Sequence[Array], outputs: Sequence[Array]) -> Callable[[], None]:
        """A call of the array library, its results put where they belong."""
        machine, name = self.machine, op.function
        function, arguments = self.function(name), op.keywords()
        options = {key: self.value(value) for key, value in arguments.items()}
        if name in IN_PLACE:
            return lambda: function(*inputs, out=outputs[0], **options)
        plain = self.generic(arguments, function, inputs, outputs, options)
        if name == EPILOGUE:
            return self.epilogue({"form": options["form"]}, inputs, outputs, plain)
        if name == "xp.matmul":

            def multiply() -> None:
                if not inputs[0].size or not inputs[1].size:
                    _clear(outputs[0])  # a sum of nothing, which cuBLAS does not take and CuPy not of every dtype
                elif not machine.matmul(inputs[0], inputs[1], outputs[0], tf32=self.tf32):
                    plain()

            return multiply
        return plain

    def epilogue(
        self, form: dict[str, str], inputs: Sequence[Array], outputs: Sequence[Array], plain: Callable[[], None]
    ) -> Callable[[], None]:
        """A product with an epilogue by cuBLASLt, or by cuBLAS, rounded, and array operations after it."""
        machine = self.machine
        finish = self.generic(form, self.kernels.finish_epilogue, (outputs[0], *inputs[1:]), outputs, form)

        def multiply() -> None:
            if machine.epilogue(form["form"], inputs, outputs, tf32=self.tf32):
                return
            if machine.matmul(inputs[0], inputs[1], outputs[0], tf32=self.tf32):
                finish()
            else:
                plain()

        return multiply

    def generic(
        self, arguments: Mapping[str, Any], function: Any, inputs: Any, outputs: Any, options: dict[str, Any]
    ) -> Callable[[], None]:
        """A call whose results are copied."""
        machine, state = self.machine, self.state
        seeded = [name for name, value in arguments.items() if value is SEED]
        counted = [name for name, value in arguments.items() if value is ITERATIONS]

        def run() -> None:
            for name in seeded:
                options[name] = state.seed
            for name in counted:
                options[name] = tuple(state.iterations)
            with machine.library():
                found = function(*inputs, **options)
                several = isinstance(found, tuple | list)
                for target, made in zip(outputs, cast("Sequence[Array]", found) if several else [found], strict=True):
                    if made is not target:
                        machine.copy(target, made)

        return run

    def function(self, name: str) -> Any:
        """Return the function that a lowered call calls."""
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


def _condition(op: WhileOp) -> ConditionOp:
    last = op.test.block.last_op
    assert isinstance(last, ConditionOp), "verified"
    return last
