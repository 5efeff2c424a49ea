"""
The callable that `compile` makes: its arguments are checked at each call, its body is the Python that the target prints.

Programs of other targets are such ones that run something else.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from types import TracebackType
from typing import Any, TypeVar

import numpy as np
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from mind_dialect.declared_dims import declarations_of
from mind_dialect.errors import MindError, error
from mind_dialect.program import input_names, shown_name
from mind_dialect.ptir import ConstantOp
from mind_dialect.ptir_shapes import Dims
from mind_lowering.memory_need import allocation_error, check_need
from mind_lowering.memory_plan import MemoryPlan
from mind_lowering.numpy import is_lowered, lowered
from mind_lowering.xp import CallOp
from mind_lowering.xp.peak import peak
from mind_lowering.xp.peak_bound import PeakBound
from mind_passes.ptir.split_parameters import FREE

from .background import SizeCompiler
from .compiled import Body, body_of
from .core_errors import as_core, place_of
from .dim_sizes import DimSizes, input_label
from .donation import MemoryRanges, check_donated, shared_memory
from .padded import PaddedPrograms
from .shapes import Guard, bound_function, checked_shapes, shown_dims
from .signature import QuickCheck, TensorSpec, admit, checked, filled
from .specialization import Specialization
from .specialized import TIMED, Account, Shapes, Specialized

T = TypeVar("T")
Own = Callable[[Any, Sequence[Any]], Any]
"""Runs a program for some sizes on arguments of these sizes."""


class Program:
    """
    A compiled function: call it with one NumPy array per input.

    It returns one array, or a tuple of arrays where the function has several outputs. Every returned array is new, in
    row-major order and writeable, and shares no memory with arguments, constants or other outputs; rank 0 is a 0-d array.
    Arguments are never written to, but for donated ones: their memory is the program's from then on, and an output may have it.
    Calls from several threads are independent.
    """

    target = "numpy"
    """The name of the executor."""
    specialization = Specialization()
    """Limits on compiling for sizes, set before the first call."""
    classes: PaddedPrograms | None = None
    """The programs for classes of sizes of a dynamic one, on targets that have them."""
    compiles_in_background = True
    """True if another thread than that of a call may compile for sizes."""

    def __init__(self, func: FuncOp, body: Body, origins: Sequence[Operation | None], donated: Collection[int], limit: int):
        names = input_names(func)
        self.name = func.sym_name.data
        self.inputs = tuple(TensorSpec.of(n, a.type) for n, a in zip(names, func.body.block.args, strict=True))
        self.outputs = tuple(TensorSpec.of(f"{i}", t) for i, t in enumerate(func.function_type.outputs.data))
        self._func = func
        self._body = body
        self._run = body.run
        self._origins = origins
        self.donated = tuple(sorted(donated))
        """The numbers of the donated inputs."""
        self.checks = tuple(map(QuickCheck, self.inputs))
        """Of each input, whether an argument may be taken as it is."""
        self._limit = limit
        self._open = [i for i, s in enumerate(self.inputs) if not s.is_static]
        """The numbers of the inputs whose sizes only a call tells."""
        self._dynamic = bool(self._open)
        self._dims = DimSizes(self.name, self.inputs, declarations_of(func))
        self._first = {name: (self._open.index(i), d) for name, (i, d) in self._dims.first.items()}
        """The first place of each name: the number among the open inputs, and the dimension."""
        self._guard = Guard(func) if self._dynamic and not is_lowered(func) else None

    @property
    def function(self) -> FuncOp:
        """The function that was compiled, as it was given."""
        return self._func

    def __call__(self, *arguments: Any, seed: int = 0, out: Any = None) -> Any:
        """
        Run on NumPy arrays, or NumPy scalars for rank 0, of exactly the declared dtypes and shapes.

        `seed` is what random numbers are made from. `out` is an array for the result, or a tuple of one for each of several,
        which get the results and are returned. Raises E2007 for a wrong count, E2001 for a wrong argument or array of `out`
        and E8001 for sizes of one name that differ, before anything runs; E6001 for an index out of bounds, E6006 (of PTIR
        E8004) for an integer divided by zero and E6004 for memory that is not there, with the op they arose in.
        """
        if len(arguments) != len(self.inputs):
            raise self._wrong_count(len(arguments))
        for argument, check in zip(arguments, self.checks, strict=True):
            if not check.fits(argument):
                arguments = self._admit(arguments)
                break
        if self.donated:
            self.check_donated(arguments)
        if out is None:
            return self.execute(arguments, seed)
        return self.into(out, lambda: self.execute(arguments, seed))

    @cached_property
    def by_sizes(self) -> Specialized[Program]:
        """The programs for sizes of a dynamic one."""
        compiler = SizeCompiler(self, self.target, sum(not isinstance(op, (ConstantOp, *FREE)) for op in self._func.walk()))
        return Specialized(compiler, self.check_open, self.specialization)

    def into(self, out: Any, run: Callable[[], Any]) -> Any:
        """The arrays of `out` with the results of a run in them; E2001 for what cannot hold them, before it runs."""
        what = f"out of @{shown_name(self.name)}"
        arrays = checked(out, self.outputs, what)
        return filled(arrays, run(), what, donated=bool(self.donated))

    def execute(self, arguments: Sequence[Any], seed: int = 0) -> Any:
        """As a call, on arguments whose types, and of donated ones whose memory, somebody has checked."""
        if self._dynamic:
            return self.run_by_sizes(arguments, lambda p, xs: p.execute(xs, seed), lambda: self.run_general(arguments, seed))
        return self.run_general(arguments, seed)

    def run_by_sizes(self, arguments: Sequence[Any], own: Own, general: Callable[[], Any]) -> Any:
        """Run a dynamic program: with `own` the one for the sizes of the arguments, or for their class, else `general`."""
        sizes = self.by_sizes
        account = sizes.of(self.open_shapes(arguments))
        if (program := account.program) is not None and account.timed >= TIMED:
            sizes.used(account)
            self.settled(account, program)
            return own(program, arguments)
        if program is not None:
            start = sizes.clock()
            result = own(program, arguments)
            sizes.used(account)
            sizes.timed(account, sizes.clock() - start)
            return result
        return self._run_without_own(account, arguments, own, general)

    def _run_without_own(
        self,
        account: Account[Any],
        arguments: Sequence[Any],
        own: Own,
        general: Callable[[], Any],
    ) -> Any:
        """Run sizes that have no program of their own."""
        sizes, classes = self.by_sizes, self.classes
        found, waits = (None, False) if classes is None else classes.account(account, sizes.limits)
        if not account.calls:
            self._check_memory(account)
        start = sizes.clock()
        if classes is not None and found is not None and found.program is not None:
            try:
                result = classes.run(found, arguments, account, own)
            except MindError:  # an index out of range, of which the error is to name the size and not the bound
                result = general()
        else:
            result = general()
        seconds = sizes.clock() - start
        if not waits:
            sizes.ran(account, seconds)
            return result
        sizes.used(account)
        if classes is not None and found is not None:
            classes.ran(found, account, seconds)
        return result

    def sizes_of(self, shapes: Shapes) -> dict[str, int]:
        """Return the sizes by name, of shapes of the inputs whose sizes only a call tells, which were checked."""
        return {name: shapes[k][d] for name, (k, d) in self._first.items()}

    def open_shapes(self, arguments: Sequence[Any]) -> Shapes:
        """Return the shapes of the arguments whose sizes only a call tells: of the others the declared types say all."""
        return tuple([arguments[i].shape for i in self._open])

    def whole_shapes(self, shapes: Shapes) -> Shapes:
        """Return the shapes of all inputs, given those of the ones whose sizes only a call tells."""
        found: list[Any] = [s.shape for s in self.inputs]
        for i, shape in zip(self._open, shapes, strict=True):
            found[i] = shape
        return tuple(found)

    def settled(self, account: Account[Any], program: Any) -> None:
        """Let what can take calls take those of sizes that this program runs, whose first calls were timed."""

    def run_general(self, arguments: Sequence[Any], seed: int = 0, **options: Any) -> Any:
        """Run what is compiled for the declared sizes, on arguments that were checked; `options` are those of its body."""
        if self._body.source.draws:
            options["seed"] = checked_seed(seed)
        try:
            with np.errstate(all="ignore"):
                return self._run(*arguments, *self._body.constants(), **options)
        except MindError as e:
            op = self._culprit(e.__traceback__) if e.op is None else None
            raise e if op is None else as_core(e, op).at(op, place_of(op)) from None
        except MemoryError as e:
            op = self._culprit(e.__traceback__)
            types = self._func.function_type.outputs.data if op is None or not op.results else op.result_types
            failure = allocation_error(types[0], "out of memory")
            raise failure if op is None else failure.at(op, place_of(op)) from None

    def execute_bound(self, arguments: Sequence[Any], seed: int, bound: object) -> Any:
        """As `execute`, in a call of a binding, whose arrays are among the arguments."""
        return self.execute(arguments, seed)

    def device_memory(self, *arguments: Any) -> dict[str, int] | None:
        """Bytes that a call on such arguments has on a device, by what they are for; None for a target that runs on the host."""
        return None

    def arena_plan(self, *arguments: Any) -> MemoryPlan | None:
        """Return the address of each temporary of a call, and its live range; None for a target that keeps them in no arena."""
        return None

    def memory_need(self, *arguments: Any) -> int:
        """The most bytes that a call on `arguments` holds at once beyond them, known before it runs; E8001 as by a call."""
        return peak(self._body.block, self.sizes(arguments)).bytes if self._dynamic else self._body.need.bytes

    def explain(self) -> list[str]:
        """Return lines that say what runs where, and what a dynamic program is compiled for."""
        count = sum(isinstance(op, CallOp) for op in self._body.block.walk())
        return [f"@{shown_name(self.name)} on numpy: {count} calls of NumPy", *self.explain_sizes()]

    def explain_sizes(self) -> list[str]:
        """Return lines that say what a dynamic program is compiled for and why; none for another."""
        if not self._dynamic:
            return []
        return [*self.by_sizes.report(), *([] if self.classes is None else self.classes.report())]

    @property
    def source(self) -> str:
        """The Python that runs, with its constants."""
        sources = [self._body.source, *([] if self._body.computed is None else [self._body.computed.body.source])]
        return "\n".join(source.printed_constants() + source.text for source in sources)

    def __repr__(self) -> str:
        return f"<Program @{shown_name(self.name)}({self._signature()}) -> {', '.join(map(str, self.outputs))}>"

    def _signature(self) -> str:
        return ", ".join(f"{shown_name(s.name)}: {s}" for s in self.inputs)

    def _wrong_count(self, given: int) -> MindError:
        message = f"@{shown_name(self.name)} expects {len(self.inputs)} arguments ({self._signature()}), found {given}"
        return error("E2007", message, expected=len(self.inputs), actual=given)

    def _what(self, i: int) -> str:
        return input_label(self.name, self.inputs[i])

    def _admit(self, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments as plain arrays; E2001 for the first that is none of the declared type."""
        pairs = enumerate(zip(arguments, self.checks, strict=True))
        return tuple([a if check.fits(a) else self.admit(i, a) for i, (a, check) in pairs])

    def admit(self, i: int, argument: Any) -> Any:
        """Return the argument for input `i` as a plain array; E2001 unless it has the declared type."""
        return admit(argument, self.inputs[i], self._what(i))

    def sizes(self, arguments: Sequence[Any]) -> dict[str, int]:
        """The sizes that arguments give to named dimensions; E8001 unless equal names have equal sizes."""
        return self._dims.of([a.shape for a in arguments])

    def _check_memory(self, account: Account[Any]) -> None:
        """E6004 if what the general program needs with these sizes is not there."""
        sizes = self._dims.of(self.whole_shapes(account.shapes))
        if self._peak_bound.of(sizes) > self._limit:
            check_need(peak(self._body.block, sizes), self._limit)

    @cached_property
    def _peak_bound(self) -> PeakBound:
        return PeakBound(self._body.block)

    def check_shapes(self, *shapes: tuple[int, ...]) -> dict[str, int]:
        """Return the sizes by name; E8001 as by `sizes`, then whatever the guard raises: before any kernel runs."""
        return self.check_open(*[shapes[i] for i in self._open])

    def check_open(self, *shapes: tuple[int, ...]) -> dict[str, int]:
        """As `check_shapes`, for the inputs whose sizes only a call tells."""
        if self._guard is None or self._dims.are_computed:
            sizes = self._dims.of(self.whole_shapes(shapes))
            if self._guard is not None:
                self._guard.of_open(*shapes)
            return sizes
        try:
            self._guard.of_open(*shapes)  # which holds all that `DimSizes` compares
        except MindError:
            self._dims.of(self.whole_shapes(shapes))  # whose messages name the function too
            raise
        return self.sizes_of(shapes)

    def specialised(self, shapes: Shapes) -> Program | None:
        """
        Return the program for inputs of exactly these shapes, compiled now.

        None where a dimension has no name, or where no static program is legal or fits: an op that never runs may be wrong for
        these sizes, and the general program raises at the op if it does run.
        """
        if self._guard is None:
            return None
        try:
            if (bound := bound_function(self._func, shapes)) is None:
                return None
            func, origins = bound
            made = lowered(func, self.donated)
            body = body_of(made.func)
            check_need(body.need, self._limit)
        except MindError:
            return None
        sources = [op if op is None else origins.get(op) for op in made.origins]
        return Program(func, body, sources, self.donated, self._limit)

    def specialised_apart(self, shapes: Shapes) -> tuple[Program | None, float]:
        """As `specialised`, on another thread than that of calls; also the seconds that another process computed for it."""
        return self.specialised(shapes), 0.0

    @property
    def held_bytes(self) -> int:
        """About how many bytes the program keeps: code, constants and memory for temporaries."""
        computed = 0 if self._body.computed is None else self._body.computed.bytes
        return 2 * len(self._body.source.text) + self._body.constant_bytes + computed

    def type_of_bound(self, kind: type[T]) -> type[T]:
        """The class for bindings of this program: `kind`, or one whose calls are taken by other code."""
        return kind

    def return_memory(self) -> None:
        """Give the system the memory that is kept for calls of what ran once to prepare the weights of a binding."""

    def copied_where_donated(self, arguments: Sequence[Any]) -> list[Any]:
        """Return arguments of a call, with copies of those that it would overwrite; None stays."""
        return [np.array(a) if i in self.donated else a if a is None else np.asarray(a) for i, a in enumerate(arguments)]

    def take_calls(self, bound: object, given: Mapping[int, Any]) -> Collection[int]:
        """
        Let code that takes calls take those of a binding whose arrays are `given`, by numbers of inputs.

        Return the inputs that calls of the binding do not read, so that it need not hold their arrays.
        """
        return ()

    def failed(self, status: int, record: int) -> None:
        """Raise what code that takes calls reports."""
        raise AssertionError(status, record)

    def output_shapes(self, *shapes: Any) -> tuple[Dims, ...]:
        """
        The shapes of the outputs for inputs of these shapes (tuples, or arrays), without running; `?` where only a run can tell.

        Raises what a call would raise of shapes: E2007 for another number of them, E2001 for one that an input does not have,
        E8001 for a name with two sizes, E8010 for sizes that break a declaration, or the coded error of the op that they do not
        fit, with NumPy's wording.
        """
        given = checked_shapes(f"@{shown_name(self.name)}", shapes, len(self.inputs))
        for i, (spec, shape) in enumerate(zip(self.inputs, given, strict=True)):
            spec.check_shape(shape, self._what(i))
        self._dims.of(given)
        guard = self._guard or Guard(self._func)
        return shown_dims(guard(*given))

    def check_donated(self, arguments: Sequence[Any]) -> None:
        """E2001 unless donated arguments can be written to, are in row-major order and share no memory with others."""
        check_donated(arguments, self.donated, self.shared_memory(arguments), self._what)

    def check_donated_beside(self, arguments: Sequence[Any], free: Sequence[int], held: MemoryRanges) -> None:
        """As `check_donated`, where all arguments but those of the numbers `free` have the memory `held`."""
        places = {i: k for k, i in enumerate(free)}
        found = shared_memory([arguments[i] for i in free], [places[i] for i in self.donated])
        shared = {free[k] for k in found} | {i for i in self.donated if held.overlaps(arguments[i])}
        check_donated(arguments, self.donated, shared, self._what)

    def memory_of(self, arrays: Collection[Any]) -> MemoryRanges | None:
        """Return the memory of arrays that are bound; None where it is not the host's, and is compared in each call."""
        return MemoryRanges(arrays)

    def shared_memory(self, arguments: Sequence[Any]) -> set[int]:
        """Return the donated arguments that share memory with any other."""
        return shared_memory(arguments, self.donated)

    def _culprit(self, traceback: TracebackType | None) -> Operation | None:
        """The op that the generated code was running when it raised."""
        while traceback is not None and traceback.tb_frame.f_code is not self._body.code:
            traceback = traceback.tb_next
        if traceback is None:
            return None
        return self.op_of_line(traceback.tb_lineno)

    def op_of_line(self, line: int) -> Operation | None:
        """Return the op of the source program that a line of the printed Python, from 1, comes from."""
        number = self._body.source.lines[line - 1]
        return self._origins[number] if 0 <= number < len(self._origins) else None


def checked_seed(seed: object) -> int:
    """A seed for random numbers; E7001 for what is none."""
    if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed < 1 << 64:
        raise error("E7001", f"seed {seed!r}, expected an integer from 0 to 2^64 - 1", option="seed")
    return seed
