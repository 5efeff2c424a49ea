"""
The callable that `compile` makes for the target `native`: a `Program` like any other, whose body is native code.

A function whose dimensions have names runs on NumPy, and in native code with the sizes that it is compiled for, which another
process does (`compile_child.py`). Equal functions, at equal places in their texts, share one body.
"""

from __future__ import annotations

import ctypes
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import prod
from typing import Any, TypeVar

import numpy as np
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Region

from mind_dialect.errors import MindError
from mind_dialect.extents.dims import names_in
from mind_dialect.program import shown_name
from mind_dialect.ptir.types import read_type, tensor_type
from mind_dialect.ptir_program import SPEC_VERSION, VERSION_ATTRIBUTE
from mind_lowering.core_to_ptir import is_core
from mind_lowering.memory_need import Need, check_need, check_rank
from mind_lowering.memory_plan import MemoryPlan
from mind_lowering.native import Entry, Foreign, Native, TargetInfo, detect
from mind_lowering.native.pool.record import Record
from mind_lowering.numpy import lowered
from mind_lowering.ptir_to_xp import lowered_function
from mind_lowering.xp.python import PythonSource
from mind_passes.callees import calls_in
from mind_passes.dim_names import dims_of
from mind_passes.fusion.defuse import defuse
from mind_passes.inline import inlined
from mind_passes.shape.mask_padding import mask_padding

from ..bound import Bound
from ..compiled import CACHE_SIZE, CACHED_LITERAL_BYTES, Body, body_of
from ..core_errors import attributed
from ..padded import PaddedPrograms
from ..program import Program
from ..shapes import bound_function
from ..signature import TensorSpec
from ..specialized import Account, Shapes, Specialized
from . import image, jit
from .call import NativeRunner
from .callable import Plan, native_type, plan_calls
from .compile_child import CHILD, Answer, Order
from .digest import digest
from .direct import DirectCalls
from .pages import settle
from .plans import Type
from .settings import threads_of
from .support import release

T = TypeVar("T")


@dataclass(frozen=True)
class _Native:
    """The part that equal functions share: the body and what runs it, or why there is none."""

    body: Body | None
    runner: NativeRunner | None = None
    plan: Plan | None = None
    """How native code takes calls; None where they go through Python."""
    reason: str = ""


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
        made: _Native,
        donated: Collection[int],
        limit: int,
        threads: int,
        whole: Callable[[], FuncOp] | None = None,
    ):
        self._made = made
        self._whole = whole or (lambda: func)
        """The function with its ops, which one that another process compiled has only for errors and texts."""
        self.threads = threads
        """How many threads a call may use, its own included."""
        body, origins = made.body, []
        if body is None:
            general = lowered(func, donated)
            body, origins = body_of(general.func), general.origins
        super().__init__(func, body, origins, donated, limit)
        self._given: dict[int, Any] = {}
        """The arrays that are bound, of a dynamic program, by numbers of inputs."""
        self._bound: Callable[..., Any] | None = None
        self._free: list[int] = []
        self._packed_bytes = 0
        plan_calls(self, made.plan)
        self._direct = DirectCalls(self)
        """Whose calls go to a program for some sizes, of a dynamic program."""
        self.classes = PaddedPrograms(self, self._masked) if self._dynamic else None

    def type_of_bound(self, kind: type[T]) -> type[T]:
        return native_type(kind)

    def take_calls(self, bound: object, given: Mapping[int, Any]) -> None:
        if self._dynamic:
            self._given = dict(given)
            self.__dict__.pop("by_sizes", None)  # programs for sizes that have the arrays of another binding
            self._direct.end()
            pinned = {n for i in given for dim in self.inputs[i].shape if isinstance(dim, str) for n in names_in(dim)}
            self._direct, self.classes = DirectCalls(bound), PaddedPrograms(self, self._masked, pinned)
            plan_calls(bound, None)
            return
        runner = self._made.runner
        arrays = {i: np.require(array, requirements=["C", "A"]) for i, array in given.items()}
        settle(arrays.values())
        plan_calls(
            bound, None if runner is None else runner.plan(types_of(self._func.function_type.inputs.data), self.donated, arrays)
        )

    def with_weights(self, given: Mapping[int, Any]) -> Program:
        """Return this program, to be entered with these arrays in calls: what depends on them alone is packed now."""
        if given and (runner := self._made.runner) is not None:
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
        if not self._dynamic or not self._direct.is_of(bound):
            return self.execute(arguments, seed)
        self._direct.count(self.by_sizes)
        return self.run_by_sizes(arguments, lambda p, xs: p.enter_bound(xs, seed), lambda: self.run_general(arguments, seed))

    def enter(self, arguments: Sequence[Any], seed: int) -> Any:
        """As `execute`, by native code if that takes calls."""
        return self.execute(arguments, seed) if self._made.plan is None or seed != 0 else self(*arguments)

    def enter_bound(self, arguments: Sequence[Any], seed: int) -> Any:
        """As `enter`, where the arrays of `with_weights` are among the arguments."""
        if self._bound is None:
            return self.enter(arguments, seed)
        free = [arguments[i] for i in self._free]
        return self._bound(*free) if seed == 0 else self._bound(*free, seed=seed)  # a keyword would go through Python

    def _masked(self) -> tuple[Program, Sequence[str]]:
        """Return this program with masks, whose inputs may be padded, and the names whose sizes it takes in addition."""
        func = inlined(self._func).func if calls_in(self._func) else self._func.clone()
        _ = ModuleOp([func], {VERSION_ATTRIBUTE: StringAttr(SPEC_VERSION)})
        defuse(func)
        names = mask_padding(func)
        made = compile_native(func, (), self._limit, self.threads)
        assert isinstance(made, NativeProgram)
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
        runner = self._made.runner
        assert runner is not None, "a program of native code"
        e = runner.ended(status, np.array((ctypes.c_int64 * Record.WORDS).from_address(record)))
        raise _as_core_error(e, self._whole())

    def arena_plan(self, *arguments: Any) -> MemoryPlan | None:
        """As of a `Program`; of one with open sizes that of the sizes of these arguments, if they have code of their own."""
        if self._made.runner is None:
            bound = self.by_sizes.compiled(self.open_shapes(arguments)) if self._dynamic else None
            return None if bound is None else bound.arena_plan(*arguments)
        from mind_lowering.launch.arena_plan import arena_plan  # slow to load, and calls take none of it

        native = self._made.runner.whole()
        assert native.launches is not None, "of the whole program"
        return arena_plan(native.launches, f"@{shown_name(self.name)} on native", native.arena)

    def explain(self, *, rejected: bool = False) -> list[str]:
        """Return lines that say which ops run natively, which on NumPy and why, and if `rejected` why other kernels do not."""
        if self._made.runner is None:
            return [f"@{self.name}: {self._made.reason}", *self.explain_sizes()]
        return list(self._made.runner.whole().explain(rejected=rejected))

    @property
    def source(self) -> str:
        """The LLVM IR that was compiled; the Python that runs where there is none."""
        return super().source if self._made.runner is None else self._made.runner.whole().text

    def specialised(self, shapes: Shapes) -> Program | None:
        """As of a `Program`, in native code."""
        try:
            bound = None if self._guard is None else bound_function(self._func, shapes)
            if bound is None:
                return None
            made = compile_native(bound[0], self.donated, self._limit, self.threads, tuple(sorted(self._given)))
            assert isinstance(made, NativeProgram)
            return made.with_weights(self._given)
        except MindError:
            return None

    def specialised_apart(self, shapes: Shapes) -> tuple[Program | None, float]:
        """As of a `Program`: another process compiles, and its image is mapped; this process does where there is none."""
        if self._guard is None:
            return None, 0.0
        if all(dims_of(t) is not None for t in (*self._func.function_type.inputs, *self._func.function_type.outputs)):
            order = Order(str(id(self)), self._text, shapes, self.donated, tuple(sorted(self._given)), self.threads, self._limit)
            if (answer := CHILD.compile(order)) is not None and (found := self._adopted(answer, shapes)) is not None:
                return found, answer.seconds
        return self.specialised(shapes), 0.0

    def sized(self, arguments: Sequence[Any]) -> FuncOp | None:
        """Return the function with the sizes of these arguments; None where those of some values are not known then."""
        if not self._dynamic:
            return self._whole()
        bound = None if self._guard is None else bound_function(self._func, self.open_shapes(arguments))
        return None if bound is None else bound[0]

    def _text(self) -> str:
        """The function in a module of its own, without calls, as text."""
        func = inlined(self._func).func if calls_in(self._func) else self._func.clone()
        return str(ModuleOp([func], {VERSION_ATTRIBUTE: StringAttr(SPEC_VERSION)}))

    def _adopted(self, answer: Answer, shapes: Shapes) -> Program | None:
        """The program whose image another process wrote; None if it is not there or does not fit."""
        func = _signature(self._func, shapes, answer.outputs)

        @lru_cache(maxsize=1)
        def whole() -> FuncOp:
            bound = bound_function(self._func, shapes)
            assert bound is not None, "a function that was compiled for these shapes"
            return bound[0]

        fixed = tuple(sorted(set(self._given) - set(self.donated)))
        made = _find(answer.key, func, detect(), self.donated, self.threads, fixed, whole)
        if made is None or made.body is None or made.body.need.bytes > self._limit:
            return None
        program = native_type(NativeProgram)(func, made, self.donated, self._limit, self.threads, whole)
        return program.with_weights(self._given)

    @property
    def held_bytes(self) -> int:
        """As of a `Program`: machine code, constants, and the arenas that are kept between calls."""
        runner = self._made.runner
        if runner is None:
            return super().held_bytes
        constants = 0 if self._made.body is None else self._made.body.constant_bytes
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
    func: FuncOp, donated: Collection[int], limit: int, threads: int | None = None, fixed: Collection[int] = ()
) -> Program:
    """Compile a function for this machine; errors are those of `compile`. `fixed` are the numbers of inputs to be bound."""
    threads = threads_of(threads)
    for argument in func.body.block.args if len(func.body.blocks) == 1 else ():
        check_rank(argument.type)
    gives, stays = tuple(sorted(donated)), tuple(sorted(set(fixed) - set(donated)))
    made = _shared(func, gives, threads, stays)
    if stays and made.body is not None and made.body.need.bytes > limit:
        made = _shared(func, gives, threads, ())
    if made.body is not None:
        check_need(made.body.need, limit)
    return native_type(NativeProgram)(func, made, donated, limit, threads)


_cache: OrderedDict[Hashable, _Native] = OrderedDict()
_lock = threading.Lock()


def clear() -> None:
    """Forget compiled functions and memory kept for results; programs in use go on working."""
    with _lock:
        _cache.clear()
    release()


def _shared(func: FuncOp, donated: tuple[int, ...], threads: int, fixed: tuple[int, ...]) -> _Native:
    """The body of a function, perhaps made before for an equal one."""
    host = detect()
    name = image_name(func, donated, fixed)
    if name is None:
        return _make(func, host, donated, threads, fixed)
    key = (name, tuple([op.location for op in func.walk()]), threads)
    with _lock:
        if (found := _cache.get(key)) is not None:
            _cache.move_to_end(key)
            return found
    made = _find(name, func, host, donated, threads, fixed) or _make(func, host, donated, threads, fixed, name)
    if made.body is None or made.body.constant_bytes <= CACHED_LITERAL_BYTES:
        with _lock:
            _cache[key] = made
            while len(_cache) > CACHE_SIZE:
                _cache.popitem(last=False)
    return made


def image_name(func: FuncOp, donated: tuple[int, ...], fixed: tuple[int, ...]) -> str | None:
    """The name of the image of a function on this machine; None if it has none."""
    host = detect()
    return digest(func, donated, fixed, host, jit.machine_of(host))


def _make(
    func: FuncOp, host: TargetInfo, donated: tuple[int, ...], threads: int, fixed: tuple[int, ...], name: str | None = None
) -> _Native:
    """The body of a function, compiled now; what it takes to run it is kept on disk under a name."""
    from mind_lowering.native import program as lowering  # slow to load, and what was compiled before takes none of it

    work = lowering.prepared(func, host)
    if (unsized := lowering.dynamic(work)) is not None:
        return _Native(
            None, reason=f"{unsized} has a dimension without a size; calls are compiled for their sizes where that can be"
        )
    native = lowering.lower(work, host, donated, fixed)
    entries = [s.name for s in native.steps if isinstance(s, Entry)]
    library = jit.load(native.text, native.host, entries if native.packing is None else [*entries, native.packing.entry])
    if name is not None:
        image.write(name, native)
    foreign = [foreign_step(step) for step in native.steps if isinstance(step, Foreign)]
    return _ready(func, donated, threads, native, library, foreign, lambda: native)


def _find(
    name: str,
    func: FuncOp,
    host: TargetInfo,
    donated: tuple[int, ...],
    threads: int,
    fixed: tuple[int, ...],
    with_ops: Callable[[], FuncOp] | None = None,
) -> _Native | None:
    """The body of a function whose image is on disk; `with_ops` returns it where `func` is its signature alone."""
    found = image.read(name, host, len(func.function_type.outputs), len(func.function_type.inputs))
    if found is None:
        return None
    source = with_ops or (lambda: func)

    @lru_cache(maxsize=1)
    def whole() -> Native:
        from mind_lowering.native import program as lowering

        return lowering.lower(lowering.prepared(source(), host), host, donated, fixed)

    return _ready(func, donated, threads, found.native, found.library, [], whole, source)


def _ready(
    func: FuncOp,
    donated: tuple[int, ...],
    threads: int,
    native: Native,
    library: jit.Library,
    foreign: Sequence[tuple[Callable[..., Any], Body]],
    whole: Callable[[], Native],
    source: Callable[[], FuncOp] | None = None,
) -> _Native:
    """The body of a function whose code is linked; `source` returns it with its ops."""
    types = func.function_type.outputs.data
    inputs, outputs = (types_of(ts) for ts in (func.function_type.inputs.data, types))
    runner = NativeRunner(native, library, outputs, [run for run, _ in foreign], threads, whole)
    need = _need(native, types, outputs, [body for _, body in foreign])
    python = PythonSource(native.name, "", (), (), native.draws or any(body.source.draws for _, body in foreign))
    kept = 0 if native.packing is None or native.packing.inputs else native.packing.bytes
    constant_bytes = sum(len(literal.data.data) for _, literal in native.constants) + kept
    run = _as_core(runner.run, source or (lambda: func))
    body = Body(run, _nothing.__code__, python, func.body.block, need, constant_bytes)
    return _Native(body, runner, runner.plan(inputs, donated))


def _nothing() -> None:
    """Whose code no traceback shows: native failures name their op themselves."""


def types_of(types: Sequence[Attribute]) -> list[Type]:
    specs = [TensorSpec.of("", t) for t in types]
    return [(spec.numpy_dtype, tuple(n for n in spec.shape if isinstance(n, int))) for spec in specs]


def foreign_step(step: Foreign) -> tuple[Callable[..., Any], Body]:
    """A step on NumPy as a program of its own, whose errors name its op."""
    made = lowered_function(step.func, draws=step.draws)
    body = body_of(made.func)
    return Program(step.func, body, made.origins, (), 1 << 62).execute, body


def _need(native: Native, types: Sequence[Attribute], outputs: Sequence[Type], foreign: Sequence[Body]) -> Need:
    """The arena, the results, and what a step on NumPy needs at most in addition."""
    sizes = [dtype.itemsize * prod(shape) for dtype, shape in outputs]
    for t in types:
        check_rank(t)
    largest = max(zip(sizes, types, strict=True), key=lambda pair: pair[0])[1]
    inner = max((body.need for body in foreign), key=lambda need: need.bytes, default=Need(0, None))
    kept = 0 if native.packing is None else native.packing.bytes
    return Need(native.arena + kept + sum(sizes) + inner.bytes, inner.type if inner.bytes > max(sizes) else largest)


def _as_core(run: Callable[..., Any], source: Callable[[], FuncOp]) -> Callable[..., Any]:
    """Failures of Core IR as its specification has them."""

    def converted(*arguments: Any, **options: Any) -> Any:
        try:
            return run(*arguments, **options)
        except MindError as e:
            raise _as_core_error(e, source()) from None

    return converted


def _as_core_error(e: BaseException, func: FuncOp) -> BaseException:
    if not isinstance(e, MindError):
        return e
    e = attributed(e, func)
    return MindError("E6006", e.message, e.context, e.op) if e.code == "E8004" and is_core(func) else e
