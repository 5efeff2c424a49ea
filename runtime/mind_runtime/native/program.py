"""
The callable that `compile` makes for the target `native`: a `Program` like any other, whose body is native code.

A function whose dimensions have names runs on NumPy, and in native code with the sizes that it is compiled for, which another
process does (`compile_child.py`). Equal functions, at equal places in their texts, share one executable.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Region

from mind_dialect.errors import MindError
from mind_dialect.extents.dims import names_in
from mind_dialect.program import shown_name
from mind_dialect.ptir.types import read_type, tensor_type
from mind_dialect.ptir_program import SPEC_VERSION, VERSION_ATTRIBUTE
from mind_dialect.verify import verify
from mind_lowering.memory_need import check_need, check_rank
from mind_lowering.memory_plan import MemoryPlan
from mind_lowering.native.options import DEFAULT, NativeOptions
from mind_lowering.native.record import Record
from mind_passes.callees import calls_in
from mind_passes.dim_names import dims_of
from mind_passes.fusion.defuse import defuse
from mind_passes.inline import inlined

from ..bound import Bound
from ..general import general_body
from ..padded import PaddedPrograms
from ..program import Program
from ..shapes import bound_function
from ..specialized import Account, Shapes, Specialized
from .call import Packed
from .callable import native_type, plan_calls
from .compile_child import CHILD, Answer, Order
from .direct import DirectCalls
from .executable import Executable, as_core_error, executable_of, executable_on_disk, types_of, without_general
from .image import literals_of
from .pages import return_heap, settle
from .settings import threads_of
from .source import Source
from .support import release

T = TypeVar("T")


class NativeProgram(Program):
    """
    A compiled function whose body is native code, but for what `explain` says runs on NumPy.

    Where it can be, an instance is of a subclass whose calls native code takes (`callable.py`).
    """

    _slowly = Program.__call__

    target = "native"

    def __init__(
        self,
        func: FuncOp,
        executable: Executable,
        donated: Collection[int],
        limit: int,
        threads: int,
        whole: Callable[[], FuncOp] | None = None,
        options: NativeOptions = DEFAULT,
    ):
        self._executable = executable
        self.options = options
        self._whole = whole or (lambda: func)
        """The function with its ops, which one that another process compiled has only for errors and texts."""
        self.threads = threads
        """The number of threads that a call may use, its own included."""
        body, origins = general_body(func, donated, limit) if executable.body is None else (executable.body, ())
        super().__init__(func, body, origins, donated, limit)
        self._given: dict[int, Any] = {}
        """The arrays that are bound, of a dynamic program, by numbers of inputs."""
        self._bound: Callable[..., Any] | None = None
        self._free: list[int] = []
        self._packed_bytes = 0
        self._packed: WeakKeyDictionary[object, Packed] = WeakKeyDictionary()
        """Packed arrays of each binding."""
        plan_calls(self, executable.plan)
        self._direct = DirectCalls(self)
        """Whose calls go to a program for some sizes, of a dynamic program."""
        self.classes = PaddedPrograms(self, self._masked) if self._dynamic else None

    def type_of_bound(self, kind: type[T]) -> type[T]:
        return native_type(kind)

    def take_calls(self, bound: object, given: Mapping[int, Any]) -> Collection[int]:
        if self._dynamic:
            self._given = dict(given)
            self.__dict__.pop("by_sizes", None)  # programs for sizes that have the arrays of another binding
            self._direct.end()
            pinned = {n for i in given for dim in self.inputs[i].shape if isinstance(dim, str) for n in names_in(dim)}
            self._direct, self.classes = DirectCalls(bound), PaddedPrograms(self, self._masked, pinned)
            plan_calls(bound, None)
            return ()
        runner = self._executable.runner
        if runner is None:
            plan_calls(bound, None)
            return ()
        arrays: dict[int, Any] = {i: np.require(array, requirements=["C", "A"]) for i, array in given.items()}
        packed = runner.packed(arrays)
        # Of a program that donates, arguments may share no memory with any array that is bound: it holds all of them.
        consumed = () if packed is None or self.donated else packed.consumed
        arrays.update(dict.fromkeys(consumed))
        settle(array for array in arrays.values() if array is not None)
        plan_calls(bound, runner.plan(types_of(self._func.function_type.inputs.data), self.donated, arrays, packed))
        if packed is not None:
            self._packed[bound] = packed
        return consumed

    def return_memory(self) -> None:
        release()
        return_heap()

    def packed_for(self, call: object) -> tuple[tuple[int, ...], Packed | None]:
        """Return the inputs that calls of a binding find packed, by number, and the packed arrays if they are there already."""
        if self._dynamic:
            return tuple(i for i in self._given if i not in self.donated) if self._direct.is_of(call) else (), None
        packed = self._packed.get(call)
        return (() if packed is None else self._executable.fixed), packed

    def with_weights(self, given: Mapping[int, Any]) -> Program:
        """Return this program, to be entered with these arrays in calls: what depends on them alone is packed now."""
        if given and (runner := self._executable.runner) is not None:
            self._free = [i for i in range(len(self.inputs)) if i not in given]
            self._bound = self.type_of_bound(Bound)(self, {self.inputs[i].name: array for i, array in given.items()})
            packing = runner.native.packing
            self._packed_bytes = 0 if packing is None or not packing.inputs else packing.bytes
        return self

    @cached_property
    def by_sizes(self) -> Specialized[Program]:
        found = super().by_sizes
        found.dropped = self._direct.end
        return found

    def execute(self, arguments: Sequence[Any], seed: int = 0) -> Any:
        if not self._dynamic:
            return self.run_general(arguments, seed)
        self._direct.count(self.by_sizes)
        return self.run_by_sizes(arguments, lambda p, xs: p.enter(xs, seed), lambda: self.run_general(arguments, seed))

    def execute_bound(self, arguments: Sequence[Any], seed: int, bound: object) -> Any:
        if not self._dynamic and (packed := self._packed.get(bound)) is not None:
            return self.run_general(arguments, seed, packed=packed)
        if not self._dynamic or not self._direct.is_of(bound):
            return self.execute(arguments, seed)
        self._direct.count(self.by_sizes)
        return self.run_by_sizes(arguments, lambda p, xs: p.enter_bound(xs, seed), lambda: self.run_general(arguments, seed))

    def enter(self, arguments: Sequence[Any], seed: int) -> Any:
        """As `execute`, by native code if that takes calls."""
        return self.execute(arguments, seed) if self._executable.plan is None or seed != 0 else self(*arguments)

    def enter_bound(self, arguments: Sequence[Any], seed: int) -> Any:
        """As `enter`, where the arrays of `with_weights` are among the arguments."""
        if self._bound is None:
            return self.enter(arguments, seed)
        free = [arguments[i] for i in self._free]
        return self._bound(*free) if seed == 0 else self._bound(*free, seed=seed)  # a keyword would go through Python

    def _masked(self) -> tuple[Program, Sequence[str]]:
        """Return this program with masks, whose inputs may be padded, and the names whose sizes it takes in addition."""
        from mind_passes.shape.mask_padding import mask_padding  # slow to load, and only open sizes are padded

        func = inlined(self._func).func if calls_in(self._func) else self._func.clone()
        _ = ModuleOp([func], {VERSION_ATTRIBUTE: StringAttr(SPEC_VERSION)})
        defuse(func)
        names = mask_padding(func)
        verify(func)
        made = native_type(NativeProgram)(func, without_general(func), (), self._limit, self.threads, options=self.options)
        made._given, made.classes = self._given, None
        return made, names

    def settled(self, account: Account[Any], program: Any) -> None:
        self._direct.begin(self.by_sizes, account, program, program if program._bound is None else program._bound)

    def explain_sizes(self) -> list[str]:
        if self._dynamic:
            self._direct.count(self.by_sizes)
        return super().explain_sizes()

    def failed(self, status: int, record: int) -> None:
        """Raise what native code reports that took a call; its record is at that address."""
        runner = self._executable.runner
        assert runner is not None, "a program of native code"
        e = runner.ended(status, np.array((ctypes.c_int64 * Record.WORDS).from_address(record)))
        raise as_core_error(e, self._whole())

    def arena_plan(self, *arguments: Any) -> MemoryPlan | None:
        """As of a `Program`; of one with open sizes that of the sizes of these arguments, if they have code of their own."""
        if self._executable.runner is None:
            bound = self.by_sizes.compiled(self.open_shapes(arguments)) if self._dynamic else None
            return None if bound is None else bound.arena_plan(*arguments)
        from mind_lowering.launch.arena_plan import arena_plan  # slow to load, and calls take none of it

        runner = self._executable.runner
        return arena_plan(runner.launches(), f"@{shown_name(self.name)} on native", runner.native.arena)

    def explain(self, *, rejected: bool = False) -> list[str]:
        """Return lines that say which ops run natively, which on NumPy and why, and if `rejected` why other kernels do not."""
        if self._executable.runner is None:
            return [f"@{self.name}: {self._executable.reason}", *self.explain_sizes()]
        return list(self._executable.runner.whole().explain(rejected=rejected))

    @property
    def source(self) -> str:
        """The LLVM IR that was compiled; the Python that runs where there is none."""
        return super().source if self._executable.runner is None else self._executable.runner.whole().text

    def specialised(self, shapes: Shapes) -> Program | None:
        """As of a `Program`, in native code."""
        try:
            bound = None if self._guard is None else bound_function(self._func, shapes)
            if bound is None:
                return None
            made = compile_native(bound[0], self.donated, self._limit, self.threads, tuple(sorted(self._given)), self.options)
            assert isinstance(made, NativeProgram)
            return made.with_weights(self._given)
        except MindError:
            return None

    def specialised_apart(self, shapes: Shapes) -> tuple[Program | None, float]:
        """As of a `Program`: another process compiles, and its image is mapped; this process does where there is none."""
        if self._guard is None:
            return None, 0.0
        if all(dims_of(t) is not None for t in (*self._func.function_type.inputs, *self._func.function_type.outputs)):
            given, words = tuple(sorted(self._given)), str(self.options)
            order = Order(str(id(self)), self._source, shapes, self.donated, given, self.threads, self._limit, words)
            if (answer := CHILD.compile(order)) is not None and (found := self._adopted(answer, shapes)) is not None:
                return found, answer.seconds
        return self.specialised(shapes), 0.0

    def sized(self, arguments: Sequence[Any]) -> FuncOp | None:
        """Return the function with the sizes of these arguments; None where those of some values are not known then."""
        if not self._dynamic:
            return self._whole()
        shapes = self.whole_shapes(self.open_shapes(arguments))
        bound = None if self._guard is None else bound_function(self._func, shapes)
        return None if bound is None else bound[0]

    def _source(self) -> Source:
        """The function in a module of its own, without calls, for another process."""
        func = inlined(self._func).func if calls_in(self._func) else self._func.clone()
        return Source.of(ModuleOp([func], {VERSION_ATTRIBUTE: StringAttr(SPEC_VERSION)}))

    @cached_property
    def _literals(self) -> dict[str, bytes]:
        """The large constants of the function by the hashes of their bytes."""
        return literals_of(self._func)

    def _adopted(self, answer: Answer, shapes: Shapes) -> Program | None:
        """The program whose image another process wrote; None if it is not there or does not fit."""
        func = _signature(self._func, shapes, answer.outputs)

        @lru_cache(maxsize=1)
        def whole() -> FuncOp:
            bound = bound_function(self._func, shapes)
            assert bound is not None, "a function that was compiled for these shapes"
            return bound[0]

        fixed = tuple(sorted(set(self._given) - set(self.donated)))
        executable = executable_on_disk(
            answer.key, func, self.options.host(), self.donated, self.threads, fixed, whole, lambda: self._literals
        )
        if executable is None or executable.body is None or executable.body.need.bytes > self._limit:
            return None
        program = native_type(NativeProgram)(func, executable, self.donated, self._limit, self.threads, whole, self.options)
        return program.with_weights(self._given)

    @property
    def held_bytes(self) -> int:
        """As of a `Program`: machine code, constants, and the arenas that are kept between calls."""
        runner = self._executable.runner
        if runner is None:
            return super().held_bytes
        constants = 0 if self._executable.body is None else self._executable.body.constant_bytes
        return runner.code_bytes + runner.native.arena + constants + self._packed_bytes


def _signature(func: FuncOp, shapes: Sequence[Sequence[int]], outputs: Sequence[Sequence[int]]) -> FuncOp:
    """A function of the same names and dtypes for inputs and results of these shapes, without ops."""
    inputs = [tensor_type(read_type(t).dtype, s) for t, s in zip(func.function_type.inputs, shapes, strict=True)]
    results = [tensor_type(read_type(t).dtype, s) for t, s in zip(func.function_type.outputs, outputs, strict=True)]
    block = Block(arg_types=inputs)
    for new, old in zip(block.args, func.body.block.args, strict=True):
        new.name_hint = old.name_hint
    return FuncOp(func.sym_name.data, (inputs, results), Region(block), arg_attrs=func.arg_attrs)


def compile_native(
    func: FuncOp,
    donated: Collection[int],
    limit: int,
    threads: int | None = None,
    fixed: Collection[int] = (),
    options: NativeOptions = DEFAULT,
) -> Program:
    """Compile a function for this machine; errors are those of `compile`. `fixed` are the numbers of inputs to be bound."""
    threads = threads_of(threads)
    for argument in func.body.block.args if len(func.body.blocks) == 1 else ():
        check_rank(argument.type)
    gives, stays = tuple(sorted(donated)), tuple(sorted(set(fixed) - set(donated)))
    host = options.host()
    executable = executable_of(func, host, gives, threads, stays)
    if stays and executable.body is not None and executable.body.need.bytes > limit:
        executable = executable_of(func, host, gives, threads, ())
    if executable.body is not None:
        check_need(executable.body.need, limit)
    return native_type(NativeProgram)(func, executable, donated, limit, threads, options=options)
