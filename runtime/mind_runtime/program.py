"""
From a function of Core IR or PTIR to a callable: verified, lowered and compiled once, its arguments checked at each call.

The callable is the Python that the target `mind-numpy` prints. Equal functions share one compiled body.
"""

from __future__ import annotations

import builtins
import sys
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import CodeType, TracebackType
from typing import Any, TypeVar, cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from mind_dialect.errors import MindError, error
from mind_dialect.program import functions, functions_called, input_names
from mind_dialect.ptir_program import stated_entry
from mind_dialect.ptir_shapes import Dims
from mind_dialect.types import DType
from mind_dialect.verify import verify
from mind_lowering.cupy.options import CupyOptions, read_target
from mind_lowering.kernels import NUMPY
from mind_lowering.numpy import Source, is_lowered, lowered, python_source
from mind_lowering.ptir_kernels.formats import array_dtype
from mind_lowering.xp import CallOp

from .core_errors import as_core
from .given import checked, filled
from .memory import Need, allocation_error, check_need, check_rank, peak, physical_memory, read_any
from .native import require as require_native
from .shapes import Guard, Specialised, bound_function, checked_shapes, shown_dims

TARGETS = ("numpy", "native", "cupy")
CACHE_SIZE = 128
"""So many compiled functions are kept for the next `compile` of an equal one."""
CACHED_LITERAL_BYTES = 1 << 24
"""A function with more bytes of constants than this is not kept."""


T = TypeVar("T")
_SIGNED = {"i32": "si32", "i64": "si64"}


@dataclass(frozen=True)
class TensorSpec:
    """What an input or output is: its name, dtype and dimensions, which may be names."""

    name: str
    dtype: DType
    shape: Dims

    @staticmethod
    def of(name: str, type: Attribute) -> TensorSpec:
        """The spec of a tensor type; a coded error for what is no type of Core IR or PTIR."""
        return TensorSpec(name, *read_any(type))

    @property
    def numpy_dtype(self) -> np.dtype[Any]:
        """The NumPy dtype, in the machine's byte order; E6002 where it needs ml_dtypes and that is absent."""
        return array_dtype(_SIGNED.get(self.dtype.name, self.dtype.name))

    @property
    def is_static(self) -> bool:
        """Whether every dimension is a size."""
        return not any(isinstance(d, str) for d in self.shape)

    def fits(self, shape: Sequence[int]) -> bool:
        """Whether an array of `shape` has as many dimensions, and the sizes that are known."""
        return len(shape) == len(self.shape) and all(isinstance(d, str) or d == n for d, n in zip(self.shape, shape, strict=True))

    def __str__(self) -> str:
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]"


@dataclass(frozen=True)
class _Body:
    """What equal functions share."""

    run: Callable[..., Any]
    code: CodeType
    source: Source
    block: Block
    need: Need
    constant_bytes: int


class Program:
    """
    A compiled function: call it with one NumPy array per input.

    It returns one array, or a tuple of arrays where the function has several outputs. Every returned array is new, in
    row-major order and writeable, and shares no memory with arguments, constants or other outputs; rank 0 is a 0-d array.
    Arguments are never written to, but for donated ones: their memory is the program's from then on, and an output may have it.
    Calls from several threads are independent.
    """

    def __init__(self, func: FuncOp, body: _Body, origins: Sequence[Operation | None], donated: Collection[int], limit: int):
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
        self._expected = tuple((s.numpy_dtype, s.shape) for s in self.inputs)
        self._limit = limit
        self._dynamic = not all(s.is_static for s in self.inputs)
        self._fitting: set[tuple[int, ...]] = set()
        self._guard = Guard(func) if self._dynamic and not is_lowered(func) else None

    def __call__(self, *arguments: Any, seed: int = 0, out: Any = None) -> Any:
        """
        Run on NumPy arrays, or NumPy scalars for rank 0, of exactly the declared dtypes and shapes.

        `seed` is what random numbers are made from. `out` is an array for the result, or a tuple of one for each of several,
        which get the results and are returned. Raises E2007 for a wrong count, E2001 for a wrong argument or array of `out`
        and E8001 for sizes of one name that differ, before anything runs; E6001 for an index out of bounds, E6006 (of PTIR
        E8004) for an integer divided by zero and E6004 for memory that is not there, with the op they arose in.
        """
        expected = self._expected
        if len(arguments) != len(expected):
            raise self._wrong_count(len(arguments))
        for argument, (dtype, shape) in zip(arguments, expected, strict=True):
            if type(argument) is not np.ndarray or argument.dtype != dtype or argument.shape != shape:
                arguments = self._admit(arguments)
                break
        if self.donated:
            self.check_donated(arguments)
        if out is None:
            return self.execute(arguments, seed)
        return self.into(out, lambda: self.execute(arguments, seed))

    @cached_property
    def _bindings(self) -> Specialised[Program]:
        return Specialised(self._specialised, self._check_shapes)

    def into(self, out: Any, run: Callable[[], Any]) -> Any:
        """The arrays of `out` with the results of a run in them; E2001 for what cannot hold them, before it runs."""
        what = f"out of @{_shown(self.name)}"
        arrays = checked(out, self.outputs, what)
        return filled(arrays, run(), what)

    def execute(self, arguments: Sequence[Any], seed: int = 0) -> Any:
        """As a call, on arguments whose types, and of donated ones whose memory, somebody has checked."""
        if self._dynamic:
            if (program := self._bindings.of(tuple([a.shape for a in arguments]))) is not None:
                return program.enter(arguments, seed)
            self._check_sizes(arguments)
        try:
            with np.errstate(all="ignore"):
                return self._run(*arguments, seed=_seed(seed)) if self._body.source.draws else self._run(*arguments)
        except MindError as e:
            op = self._culprit(e.__traceback__) if e.op is None else None
            raise e if op is None else as_core(e, op).at(op, _place(op)) from None
        except MemoryError as e:
            op = self._culprit(e.__traceback__)
            types = self._func.function_type.outputs.data if op is None or not op.results else op.result_types
            failure = allocation_error(types[0], "out of memory")
            raise failure if op is None else failure.at(op, _place(op)) from None

    def enter(self, arguments: Sequence[Any], seed: int) -> Any:
        """As `execute`, by the shortest way that there is."""
        return self.execute(arguments, seed)

    def memory_need(self, *arguments: Any) -> int:
        """The most bytes that a call on `arguments` holds at once beyond them, known before it runs; E8001 as by a call."""
        return peak(self._body.block, self.sizes(arguments)).bytes if self._dynamic else self._body.need.bytes

    def explain(self) -> list[str]:
        """Lines that say what runs where."""
        return [f"@{_shown(self.name)} on numpy: {sum(isinstance(op, CallOp) for op in self._body.block.walk())} calls of NumPy"]

    @property
    def source(self) -> str:
        """The Python that runs, with its constants."""
        return self._body.source.printed_constants() + self._body.source.text

    def __repr__(self) -> str:
        return f"<Program @{_shown(self.name)}({self._signature()}) -> {', '.join(map(str, self.outputs))}>"

    def _signature(self) -> str:
        return ", ".join(f"{_shown(s.name)}: {s}" for s in self.inputs)

    def _wrong_count(self, given: int) -> MindError:
        message = f"@{_shown(self.name)} expects {len(self.inputs)} arguments ({self._signature()}), found {given}"
        return error("E2007", message, expected=len(self.inputs), actual=given)

    def _what(self, i: int) -> str:
        return f"input {_shown(self.inputs[i].name)} of @{_shown(self.name)}"

    def _admit(self, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments as plain arrays; E2001 for the first that is none of the declared type."""
        return tuple(self.admit(i, a) for i, a in enumerate(arguments))

    def admit(self, i: int, argument: Any) -> Any:
        """What is given for input `i` as a plain array; E2001 unless it has the declared type."""
        return admit(argument, self.inputs[i], self._what(i))

    def sizes(self, arguments: Sequence[Any]) -> dict[str, int]:
        """The sizes that arguments give to named dimensions; E8001 unless equal names have equal sizes."""
        return self._sizes([a.shape for a in arguments])

    def _sizes(self, shapes: Sequence[tuple[int, ...]]) -> dict[str, int]:
        sizes: dict[str, int] = {}
        for i, (shape, spec) in enumerate(zip(shapes, self.inputs, strict=True)):
            for d, (dim, n) in enumerate(zip(spec.shape, shape, strict=True)):
                if isinstance(dim, str) and dim != "?" and sizes.setdefault(dim, n) != n:
                    message = f"{self._what(i)}: dimension {d}, {dim}, has size {n}, elsewhere {sizes[dim]}; expected one size"
                    raise error("E8001", message, name=dim, extents=(sizes[dim], n))
        return sizes

    def _check_sizes(self, arguments: Sequence[Any]) -> None:
        """E8001 as by `sizes`, E6004 if what the program needs with them is not there."""
        sizes = self.sizes(arguments)
        key = tuple(sizes.values())
        if key not in self._fitting:
            check_need(peak(self._body.block, sizes), self._limit)
            if len(self._fitting) < CACHE_SIZE:
                self._fitting.add(key)

    def _check_shapes(self, *shapes: tuple[int, ...]) -> None:
        """E8001 as by `sizes`, then whatever the guard raises: before any kernel runs."""
        self._sizes(shapes)
        if self._guard is not None:
            self._guard(*shapes)

    def _specialised(self, shapes: tuple[tuple[int, ...], ...]) -> Program | None:
        """
        The program for inputs of exactly these shapes.

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
            body = _compiled(made.func)
            check_need(body.need, self._limit)
        except MindError:
            return None
        sources = [op if op is None else origins.get(op) for op in made.origins]
        return Program(func, body, sources, self.donated, self._limit)

    def type_of_bound(self, kind: type[T]) -> type[T]:
        """The class for bindings of this program: `kind`, or one whose calls are taken by other code."""
        return kind

    def take_calls(self, bound: object, given: Mapping[int, Any]) -> None:
        """Let code that takes calls take those of a binding whose arrays are `given`, by numbers of inputs."""

    def failed(self, status: int, record: int) -> None:
        """Raise what code that takes calls reports."""
        raise AssertionError(status, record)

    def output_shapes(self, *shapes: Any) -> tuple[Dims, ...]:
        """
        The shapes of the outputs for inputs of these shapes (tuples, or arrays), without running; `?` where only a run can tell.

        Raises what a call would raise of shapes: E2007 for another number of them, E9020 for one that no input has, E8001 for a
        name with two sizes, or the coded error of the op that they do not fit, with NumPy's wording.
        """
        given = checked_shapes(f"@{_shown(self.name)}", shapes, len(self.inputs))
        guard = self._guard or Guard(self._func)
        return shown_dims(guard(*given))

    def check_donated(self, arguments: Sequence[Any]) -> None:
        """E2001 unless donated arguments can be written to, are in row-major order and share no memory with others."""
        shared = _overlapping(arguments, self.donated)
        for i in self.donated:
            array: Any = arguments[i]
            issue = None
            if not isinstance(array, np.ndarray) or not array.flags.writeable or not array.flags.c_contiguous:
                issue = "one that is read-only or not in row-major order"
            elif i in shared:
                issue = "one that shares memory with another argument"
            if issue is not None:
                expected = "a donated array of its own memory, writeable, in row-major order"
                raise error("E2001", f"{self._what(i)}: expected {expected}, found {issue}", expected=expected, actual=issue)

    def _culprit(self, traceback: TracebackType | None) -> Operation | None:
        """The op that the generated code was running when it raised."""
        while traceback is not None and traceback.tb_frame.f_code is not self._body.code:
            traceback = traceback.tb_next
        if traceback is None:
            return None
        number = self._body.source.lines[traceback.tb_lineno - 1]
        return self._origins[number] if 0 <= number < len(self._origins) else None


def _overlapping(arguments: Sequence[Any], donated: Collection[int]) -> set[int]:
    """
    Which of the donated arguments share an address range with any other: one sweep over the ranges by where they begin.

    Arrays that all own their memory share it only if they are one array, which is quicker to find.
    """
    if all(a.base is None for a in arguments):
        counts = Counter(id(a) for a in arguments if a.size)
        return {i for i in donated if counts[id(arguments[i])] > 1}
    ranges = sorted((*_range(a), i) for i, a in enumerate(arguments) if a.size)
    given, found = frozenset(donated), set[int]()
    end = donated_end = donor = -1
    for low, high, i in ranges:
        if low < donated_end:
            found.add(donor)
        if i in given:
            if low < end:
                found.add(i)
            if high > donated_end:
                donated_end, donor = high, i
        end = max(end, high)
    return found


def _range(array: Any) -> tuple[int, int]:
    """The addresses of the first byte of an array of some elements and of what follows the last."""
    low: int = array.__array_interface__["data"][0]
    if array.flags.c_contiguous:
        return low, low + array.nbytes
    spans = [(n - 1) * step for n, step in zip(array.shape, array.strides, strict=True)]
    return low + sum(s for s in spans if s < 0), low + sum(s for s in spans if s > 0) + array.itemsize


def _seed(seed: object) -> int:
    if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed < 1 << 64:
        raise error("E7001", f"seed {seed!r}, expected an integer from 0 to 2^64 - 1", option="seed")
    return seed


def _shown(name: str) -> str:
    """A name of a program in a message: as it is, or escaped if it is no plain word."""
    return name if name.isidentifier() else ascii(name)


def _place(op: Operation) -> str:
    place = getattr(op, "place", None)
    return place() if place is not None else op.name


def admit(argument: Any, spec: TensorSpec, what: str) -> Any:
    """`argument` as a plain NumPy array; E2001 names `what` unless it has the dtype and shape of `spec`."""
    if isinstance(argument, np.ndarray | np.generic) and not isinstance(argument, np.ma.MaskedArray):
        array: np.ndarray[Any, np.dtype[Any]] = np.asarray(cast("Any", argument))
        if array.dtype == spec.numpy_dtype and spec.fits(array.shape):
            return array
        actual = f"{array.dtype}{list(array.shape)}"
    else:
        actual = type(cast("object", argument)).__name__
    message = f"{what}: expected a NumPy array of {spec.numpy_dtype}[{', '.join(map(str, spec.shape))}], found {actual}"
    raise error("E2001", message, expected=str(spec), actual=actual)


def compile(
    module: ModuleOp,
    function: str | None = None,
    target: str = "numpy",
    memory_limit: int | None = None,
    donate: Collection[str] = (),
    threads: int | None = None,
) -> Program:
    """
    Compile the function called `function`, or the entry that `module` states, or its only function, for `target`.

    The function may be Core IR, PTIR or already lowered to `xp`; the module is left as it is. `memory_limit` in bytes is by
    default the memory of the machine. `donate` names inputs whose memory the program may overwrite, as a cache that is updated.
    `threads` is how many threads the target `native` may use, by default what MIND_NUM_THREADS says, else one per core. `cupy`
    may be followed by its options, as in `cupy{tf32 graph=off}`; E7001 for others.
    Raises the verifier's error; E4000 for a function that is neither; E7003 for an unknown function or input, E7001 where a
    function must be named; E6002 for an unknown target; E6004 for what cannot fit in memory; E8007 for an unknown custom call.
    """
    target, options = read_target(target)
    if target not in TARGETS:
        message = f"target {target!r} is not available, expected one of {list(TARGETS)}"
        raise error("E6002", message, requested=target, available=list(TARGETS))
    if options and target != "cupy":
        raise error("E7001", f"the target {target!r} takes no options, found {list(options)}", option=next(iter(options)))
    asked = CupyOptions.of(options)
    if target == "native":
        require_native()
    elif target == "cupy":
        from mind_lowering.cupy.launching import require as require_cupy

        require_cupy()
    if threads is not None and target != "native":
        message = f"threads {threads!r} for the target {target!r}: it is an option of 'native'"
        raise error("E7001", message, option="threads")
    func = find_function(module, function)
    donated = _numbers(func, donate)
    if target == "cupy":
        from .on_cupy import compile_for_cupy

        return compile_for_cupy(func, donated, memory_limit, asked)
    limit = physical_memory() if memory_limit is None else memory_limit
    if target == "native":
        from .native.program import compile_native

        return compile_native(func, donated, limit, threads)
    made = lowered(func, donated)
    body = _compiled(made.func)
    check_need(body.need, limit)
    return Program(func, body, made.origins, donated, limit)


def output_shapes(program: ModuleOp | Program, *shapes: Any, function: str | None = None) -> tuple[Dims, ...]:
    """
    The shapes of the results of a program, or of a function of a module, for inputs of these shapes; nothing is run.

    Errors are those of `Program.output_shapes`; of a module also the verifier's, and E7003 or E7001 for the name of the function.
    """
    if isinstance(program, Program):
        return program.output_shapes(*shapes)
    func = find_function(program, function)
    verify(func)
    given = checked_shapes(f"@{_shown(func.sym_name.data)}", shapes, len(func.function_type.inputs))
    return shown_dims(Guard(func)(*given))


def _numbers(func: FuncOp, names: Collection[str]) -> list[int]:
    """The numbers of inputs; E7003 for a name that is none."""
    if isinstance(names, str):
        names = [names]
    if not names:
        return []
    known = input_names(func)
    for name in names:
        if name not in known:
            raise error("E7003", f"no input {name!r} to donate, expected one of {known}", name=name, known=known)
    return [known.index(name) for name in names]


def find_function(module: ModuleOp, name: str | None) -> FuncOp:
    """
    The function called `name`, with or without `@`; if that is None the entry that the module states, or the only function.

    E7003 or E7001 else, E2002 for a stated entry that is none.
    """
    found = list(functions(module))
    known = [f.sym_name.data for f in found]
    name = stated_entry(module, known) if name is None else name
    if name is not None:
        found = functions_called(module, name)
    if not found:
        message = "the module holds no function" if name is None else f"no function {name!r}, expected one of {known}"
        raise error("E7003", message, name=name, known=known)
    if len(found) > 1:
        raise error("E7001", f"which function to compile: name one of {known}", option="function", known=known)
    return found[0]


_cache: OrderedDict[Hashable, _Body] = OrderedDict()
_lock = threading.Lock()


def clear_cache() -> None:
    """Forget every compiled function, and memory kept for the next results; programs in use go on working."""
    with _lock:
        _cache.clear()
    if (native := sys.modules.get(f"{__package__}.native.program")) is not None:
        native.clear()


def _compiled(work: FuncOp) -> _Body:
    key = _structure(work)
    with _lock:
        if (body := _cache.get(key)) is not None:
            _cache.move_to_end(key)
            return body
    body = _make_body(work)
    if body.constant_bytes <= CACHED_LITERAL_BYTES:
        with _lock:
            _cache[key] = body
            while len(_cache) > CACHE_SIZE:
                _cache.popitem(last=False)
    return body


def _structure(func: FuncOp) -> Hashable:
    """A lowered function up to equality: names, types, calls and which values they take. Attributes compare by value."""
    parts: list[Hashable] = [func.sym_name, tuple(input_names(func)), func.function_type]
    _add_structure(func.body.block, {}, parts)
    return tuple(parts)


def _add_structure(block: Block, numbers: dict[SSAValue, int], parts: list[Hashable]) -> None:
    parts.append(tuple(block.arg_types))
    for argument in block.args:
        numbers[argument] = len(numbers)
    for op in block.ops:
        operands = tuple([numbers[v] for v in op.operands])
        types = tuple([r.type for r in op.results])
        parts.append((op.name, operands, types, frozenset(op.properties.items())))
        for region in op.regions:
            _add_structure(region.block, numbers, parts)
        for result in op.results:
            numbers[result] = len(numbers)


def _make_body(func: FuncOp) -> _Body:
    """Print the function, compile the text in a namespace that holds the array functions and its constants alone."""
    source = python_source(func)
    block = func.body.block
    for argument in block.args:
        check_rank(argument.type)
    need = peak(block)
    scope: dict[str, Any] = {"__builtins__": {}, "xp": np, "k": NUMPY}
    for name, literal in source.constants:
        scope[name] = NUMPY.constant(value=literal)
    exec(builtins.compile(source.text, f"<mind-numpy {source.name}>", "exec", dont_inherit=True), scope)
    run = scope[source.name]
    constant_bytes = sum(len(literal.data.data) for _, literal in source.constants)
    return _Body(run, run.__code__, source, block, need, constant_bytes)
