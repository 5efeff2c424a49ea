"""
Tracing: a function under construction, one block of PTIR, to which each operation on its arrays, the traced ones, appends an op.

A trace inside of another one is a region, or a function to be transformed. What it uses of the outer traces becomes an argument
of its own, a *capture*; concrete arrays become captures of the outermost trace, whose caller passes them, so that later changes
of the array are seen. Small ones made of numbers meanwhile, which nothing else has, become constants. The active trace is a
context variable: functions of the namespace record into it whatever their operands.
"""

from __future__ import annotations

import warnings
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from mind_dialect.errors import MindError
from mind_dialect.ptir import ConstantOp, PtirLiteralAttr, PtirOp
from mind_dialect.ptir.types import PtirDType, TensorSpec, tensor_type
from mind_dialect.ptir_shapes import Dims
from mind_passes.loop_options import CHECKPOINT

from .array import Array, Ndarray
from .dim import Dim
from .dtypes import DType, numpy_dtype, ptir_dtype
from .faults import fault, translated
from .library import Library
from .places import shown, user_location

WARN_OPS, MOST_OPS = 10_000, 100_000
"""So many ops of one source line are a warning, and an error."""
MOST_REMEMBERED = 1 << 14
MOST_CONSTANT = 1024
"""Elements of an array made while tracing that is a constant, at most; larger ones are captured."""

ACTIVE: ContextVar[Trace | None] = ContextVar("mind_array_trace", default=None)
"""The trace that records now."""

_Made = tuple[dict[str, Attribute], list[Attribute], list[TensorSpec]]
_inferred: dict[Any, _Made] = {}
"""Results of type inference of ops, by class, operand types and properties."""


class Trace:
    """One block under construction, its arguments and what it captures."""

    def __init__(self, place: str, parent: Trace | None = None, *, literals: bool = False):
        self.block = Block()
        self.parent = parent
        self.place = place
        """Place of the traced function in the user's code."""
        self.open = True
        self.literals = literals
        """True if concrete arrays become constants instead of inputs."""
        self.captured: dict[SSAValue, BlockArgument] = {}
        """From values of the parent to the arguments that stand for them."""
        self.hidden: dict[int, tuple[Array, SSAValue]] = {}
        """Concrete arrays by identity, with what stands for them; of the outermost trace only."""
        self.checkpoint = parent is not None and parent.checkpoint
        """True if derivatives compute the ops again instead of keeping their results."""
        self.library: Library = Library() if parent is None else parent.library
        """The functions that ops name, shared with the parent."""
        self.declared: dict[str, None] = {} if parent is None else parent.declared
        """Declarations of sizes of called functions of modules, shared with the parent."""
        self.made: dict[int, Array] = {} if parent is None else parent.made
        """Arrays made of numbers while tracing, by identity; shared with the parent."""
        self._scalars: dict[Any, SSAValue] = {}
        self._counts: dict[int, int] = {}

    # Arguments and captures

    def argument(self, spec: TensorSpec, name: str | None = None, *, weak: bool = False) -> TracedArray:
        """Append an argument of the block."""
        value = self._insert(spec, len(self.block.args))
        value.name_hint = hint(name)
        return traced(value, self, spec, weak)

    def _insert(self, spec: TensorSpec, index: int) -> BlockArgument:
        return self.block.insert_arg(tensor_type(*spec), index, user_location())

    def lift(self, x: Array) -> SSAValue:
        """Return the value that stands for an array here; E1102 for one of a trace that is over, or is none around this one."""
        if type(x) is TracedArray:
            if x.recorder is self:
                if self.open:
                    return x.value
            elif x.recorder.open and self._is_inside(x.recorder):
                return self._capture(x)
            raise leaked(x)
        return self._capture(x) if self.parent is not None else self._hide(x)

    def _is_inside(self, other: Trace) -> bool:
        outer = self.parent
        while outer is not None and outer is not other:
            outer = outer.parent
        return outer is other

    def _capture(self, x: Array) -> SSAValue:
        assert self.parent is not None
        outer = self.parent.lift(x)
        found = self.captured.get(outer)
        if found is None:
            found = self.captured[outer] = self._insert(x.spec, len(self.block.args))
            found.name_hint = outer.name_hint
        return found

    def keep(self, x: Array) -> Array:
        """Note that an array was made of numbers while tracing: no later change of it can be meant; return it."""
        if x.ndarray.size <= MOST_CONSTANT:
            self.made[id(x)] = x
        return x

    def _hide(self, x: Array) -> SSAValue:
        known = self.hidden.get(id(x))
        if known is not None:
            return known[1]
        value: SSAValue
        if self.literals or id(x) in self.made:
            value = self.literal(x.ndarray)
        else:
            value = self._insert(x.spec, len(self.block.args))
            value.name_hint = f"captured_{len(self.hidden)}"
        self.hidden[id(x)] = x, value
        return value

    # Ops

    def append(self, cls: type[PtirOp], operands: Sequence[Array], properties: Mapping[str, Any]) -> Any:
        """Append an op and return its result, or a tuple of several. Types are inferred once per kind of op."""
        values = [self.lift(x) for x in operands]
        specs = tuple([x.spec for x in operands])
        key = (cls, specs, tuple(properties.items()))
        made = _inferred.get(key)
        if made is None:
            made = self._infer(key, cls, values, properties)
        stored, types, results = made
        op = cls.create(operands=values, properties=stored, result_types=types)
        self.add(op)
        found = op.results
        if len(found) == 1:
            return traced(found[0], self, results[0])
        return tuple([traced(v, self, spec) for v, spec in zip(found, results, strict=True)])

    def _infer(self, key: Any, cls: type[PtirOp], values: list[SSAValue], properties: Mapping[str, Any]) -> _Made:
        try:
            op = cls(*values, **properties)
        except MindError as e:
            raise translated(e) from None
        made = (dict(op.properties), [v.type for v in op.results], [op.result_spec(i) for i in range(len(op.results))])
        op.erase()
        if len(_inferred) >= MOST_REMEMBERED:
            _inferred.clear()
        _inferred[key] = made
        return made

    def add(self, op: Operation) -> None:
        """Append an op that is made already, with the place in the user's code."""
        location = user_location()
        if location is not None:
            op.location = location
            count = self._counts[id(location)] = self._counts.get(id(location), 0) + 1
            if count in (WARN_OPS, MOST_OPS):
                _too_long(location, count)
        if self.checkpoint and not op.regions:
            op.attributes[CHECKPOINT] = UnitAttr()
        self.block.add_op(op)

    def results(self, op: Operation, specs: Sequence[TensorSpec]) -> list[TracedArray]:
        """Append an op that is made already and return its results."""
        self.add(op)
        return [traced(v, self, spec) for v, spec in zip(op.results, specs, strict=True)]

    # Constants

    def literal(self, array: Ndarray) -> SSAValue:
        """Append a constant with the elements of an array."""
        dtype = ptir_dtype(array.dtype)
        data = np.ascontiguousarray(array).tobytes()
        if dtype.bits == 4:
            data = bytes(b & 15 for b in data)
        try:
            op = ConstantOp(PtirLiteralAttr.from_bytes(dtype, array.shape, data))
        except MindError as e:
            raise translated(e) from None
        self.add(op)
        return op.results[0]

    def scalar(self, dtype: PtirDType, value: Any, shape: Dims) -> SSAValue:
        """Return a number everywhere: a constant of rank 0 and a broadcast, each made once per block."""
        from mind_dialect.ptir import BroadcastToOp

        data = dtype.element.pack([value])
        known = self._scalars.get((dtype, data))
        if known is None:
            op = ConstantOp.create(properties={"value": _scalar(dtype, data)}, result_types=[tensor_type(dtype, ())])
            self.add(op)
            known = self._scalars[dtype, data] = op.results[0]
        if not shape:
            return known
        found = self._scalars.get((dtype, data, shape))
        if found is None:
            found = self.append(BroadcastToOp, [traced(known, self, TensorSpec(dtype, ()))], {"result_shape": shape}).value
            self._scalars[dtype, data, shape] = found
        return found


def _scalar(dtype: PtirDType, data: bytes) -> PtirLiteralAttr:
    from xdsl.dialects.builtin import BytesAttr

    return PtirLiteralAttr(tensor_type(dtype, ()), BytesAttr(data))


def hint(name: str | None) -> str | None:
    """A name as the text form may have it."""
    if not name:
        return None
    word = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in name)
    return word if word and not word[0].isdigit() else f"_{word}"


def _too_long(location: object, count: int) -> None:
    advice = "a Python loop is unrolled while a function is traced; ma.fori_loop and ma.scan run one body many times"
    if count == MOST_OPS:
        issue = f"{shown(location)} recorded {count} ops"
        raise fault("E1106", f"{issue}: {advice}", issue=issue)
    warnings.warn(f"{shown(location)} recorded {count} ops: {advice}", UserWarning, stacklevel=2)


class TracedArray(Array):
    """An array of a function that is being traced: it has a dtype and a shape, and no elements."""

    __slots__ = ("recorder", "spec_of", "value", "weak")

    value: SSAValue
    recorder: Trace
    spec_of: TensorSpec
    weak: bool

    @property
    def spec(self) -> TensorSpec:
        return self.spec_of

    @property
    def dtype(self) -> DType:
        return numpy_dtype(self.spec_of.dtype)

    @property
    def shape(self) -> tuple[int, ...]:
        shape: Any = self.spec_of.shape
        return tuple([Dim(d) if type(d) is str else d for d in shape])  # pyright: ignore[reportReturnType]

    def concrete(self, what: str, advice: str) -> Ndarray:
        made = shown(self.location)
        message = f"{what} of a traced array, {self!r}, made at {made}: it has no elements while the function is traced; {advice}"
        raise fault("E1101", message, given="traced array", expected=advice)

    @property
    def location(self) -> object:
        """Return the place in the user's code of the op that makes this value."""
        return getattr(self.value.owner, "location", None) or getattr(self.value, "location", None)


def traced(value: SSAValue, trace: Trace, spec: TensorSpec, weak: bool = False) -> TracedArray:
    """Return the traced array of a value."""
    made: TracedArray = object.__new__(TracedArray)
    made.value, made.recorder, made.spec_of, made.weak = value, trace, spec, weak
    return made


def leaked(x: TracedArray) -> MindError:
    """E1102: an array is used outside of the function that made it."""
    made, where = shown(x.location), x.recorder.place
    message = f"array made at {made} left the function traced at {where}; return it instead"
    return fault("E1102", message, made=made, traced=where)


@contextmanager
def recording(trace: Trace) -> Generator[Trace]:
    """Let a trace record what runs inside the block; afterwards it is over, and its arrays can no longer be used."""
    token = ACTIVE.set(trace)
    try:
        yield trace
    finally:
        trace.open = False
        ACTIVE.reset(token)


def active() -> Trace | None:
    """Return the trace that records now; None outside of traced functions."""
    return ACTIVE.get()


def arrange(block: Block, order: Sequence[BlockArgument]) -> None:
    """Put the arguments of a block in another order."""
    block._args = tuple(order)  # pyright: ignore[reportPrivateUsage]
    for i, argument in enumerate(order):
        argument.index = i
