"""
One call of a native program: the arguments' addresses into a table, then its entries and the steps that run on NumPy, in order.

Arguments were checked before. One that is not in row-major order or not aligned is copied. Each call has a frame of its own:
table, arena, record of failures. It is kept for the next call; calls from several threads are independent.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import accumulate
from typing import Any

import numpy as np
from xdsl.dialects.func import FuncOp

from mind_dialect.errors import MindError, error
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir import (
    GatherOp,
    GatherWindowsOp,
    PtirOp,
    ScatterAddOp,
    ScatterReduceOp,
    ScatterWindowsOp,
    SegmentReduceOp,
)
from mind_dialect.ptir.types import Kind, PtirDType, read_type
from mind_lowering.kernels import NUMPY
from mind_lowering.native import Foreign, Native, Reading
from mind_lowering.native.failures import Failure, FailureSite
from mind_lowering.native.memory import ALIGNMENT
from mind_lowering.native.record import Record
from mind_lowering.ptir_kernels.formats import array_dtype
from mind_lowering.ptir_kernels.indexing import GATHER, SCATTER, broken_promise, out_of_bounds

from . import pool
from .callable import Plan
from .jit import Library
from .plans import Type, plan_of
from .support import empty

Array = Any
Step = Callable[["Frame", int], None]
ARENA = 1
"""The entry of the arena in the table."""
FRAMES = 4
"""So many frames are kept between calls."""


def aligned(count: int) -> Array:
    """Bytes that begin where the widest vector may."""
    room = empty((count + ALIGNMENT,), np.uint8)
    start = -address(room) % ALIGNMENT
    return room[start : start + count]


def address(x: Array) -> int:
    """Return the address of an array's first element."""
    return x.__array_interface__["data"][0]


class Frame:
    """The memory of one call: `arrays` are those behind the entries of the table, as bytes where a step on NumPy reads them."""

    def __init__(self, native: Native, threads: int, arena: int | None = None):
        self.table: Array = np.zeros(native.table, np.uint64)
        self.record: Array = pool.new_record(threads)
        self.arena = aligned(native.arena if arena is None else arena)
        self.kept: dict[int, Array] = {}
        """Packings of each call, whose inputs are not known to be the same."""
        self.arrays: dict[int, Array] = {ARENA: self.arena}
        self.table[0], self.table[1] = address(self.record), address(self.arena)
        self.pointer = address(self.table)


@dataclass(frozen=True)
class Packed:
    """Arrays packed from the inputs of a binding, by entries of the table, and the inputs that calls no longer read."""

    arrays: Mapping[int, Array]
    consumed: Collection[int]


class NativeRunner:
    """A native program, compiled: call `run` with one array of the right type for each input."""

    def __init__(
        self,
        native: Native,
        library: Library,
        outputs: Sequence[Type],
        foreign: Sequence[Callable[..., Any]],
        threads: int,
        whole: Callable[[], Native],
        again: Callable[[], Native],
    ):
        self.native = native
        self.whole = whole
        """The program with its text, notes and sites, which that of an image has not."""
        self._again = again
        """The program with its launches too."""
        self._threads = threads
        self._library = library
        self._outputs = list(zip(native.outputs, outputs, strict=True))
        self._inputs = [(i, place) for i, place in enumerate(native.inputs) if place >= 0]
        self._constants: dict[int, Array] = {}
        for memory, literal in native.constants:
            self._constants[memory.place] = np.require(NUMPY.constant(value=literal), requirements=["C", "A"])
        runs = iter(foreign)
        self._steps = [self._foreign(s, next(runs)) if isinstance(s, Foreign) else self._entry(s.name) for s in native.steps]
        self._frames: list[Frame] = []
        self._packs_inputs = native.packing is not None and bool(native.packing.inputs)
        if native.packing is not None and not self._packs_inputs:
            self._constants |= self._packed({})

    def launches(self) -> FuncOp:
        """Return the launches of a call: the function is lowered again."""
        found = self._again().launches
        assert found is not None, "of the whole program"
        return found

    @property
    def code_bytes(self) -> int:
        """The size of the machine code."""
        return self._library.bytes

    def run(self, *arguments: Array, seed: int = 0, packed: Packed | None = None) -> Any:
        """The results of one call, an array or a tuple of several; with `packed`, what it stands for may be None."""
        frame = self._frames.pop() if self._frames else self._frame()
        table, arrays = frame.table, frame.arrays
        for i, place in self._inputs:
            array = arguments[i]
            if array is None:
                continue
            if not (array.flags.c_contiguous and array.flags.aligned):
                array = np.require(array, requirements=["C", "A"])
            arrays[place] = array
            table[place] = address(array)
        for memory, (dtype, shape) in self._outputs:
            if memory.is_new:
                arrays[memory.place] = made = empty(shape, dtype)
                table[memory.place] = address(made)
        frame.record[Record.SEED] = seed - (seed >> 63 << 64)
        if self._packs_inputs:
            self._pack(frame, packed)
        for step in self._steps:
            step(frame, seed)
        results = [_as_shape(arrays[memory.place], shape) for memory, (_, shape) in self._outputs]
        for place in [p for p in arrays if p != ARENA and p not in self._constants]:
            del arrays[place]
        if len(self._frames) < FRAMES:
            self._frames.append(frame)
        return results[0] if len(results) == 1 else tuple(results)

    def _frame(self) -> Frame:
        frame = Frame(self.native, self._threads)
        frame.arrays.update(self._constants)
        _place(frame.table, self._constants)
        return frame

    def _pack(self, frame: Frame, packed: Packed | None) -> None:
        """Let a frame have what is packed of inputs: that of a binding, or what is packed now of the inputs that it has."""
        if packed is not None:
            _place(frame.table, packed.arrays)
            return
        frame.kept = frame.kept or self._room()
        _place(frame.table, frame.kept)
        self._pack_all(frame)

    def _room(self) -> dict[int, Array]:
        """
        Return memory for what is packed once, by its entries in a table.

        It is one array, as NumPy asks for large pages for arrays of 4 MiB and more alone.
        """
        assert self.native.packing is not None
        kept = [(place, size, -(-size // ALIGNMENT) * ALIGNMENT) for place, size in self.native.packing.kept]
        room, starts = aligned(sum(step for *_, step in kept)), accumulate((step for *_, step in kept), initial=0)
        return {place: room[start : start + size] for (place, size, _), start in zip(kept, starts, strict=False)}

    def _pack_all(self, frame: Frame) -> None:
        assert self.native.packing is not None
        self._entry(self.native.packing.entry)(frame, 0)

    def _packed(self, given: Mapping[int, Array]) -> dict[int, Array]:
        """Return the memory that is packed once, by its entries: of constants, and of arrays by their entries."""
        frame, kept = Frame(self.native, self._threads, 0), self._room()
        for arrays in (self._constants, given, kept):
            _place(frame.table, arrays)
        self._pack_all(frame)
        return kept

    def _entry(self, name: str) -> Step:
        function: Callable[[int], int] = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(self._library.addresses[name])

        def step(frame: Frame, seed: int) -> None:
            if status := function(frame.pointer):
                raise self.ended(status, frame.record)

        return step

    def ended(self, status: int, record: Array) -> BaseException:
        """Return the error that a status other than 0 means."""
        return pool.ended(status, record) if status < 0 else failure(self.whole().sites[status - 1], record)

    def packed(self, bound: Mapping[int, Array]) -> Packed | None:
        """Pack the inputs of a binding, by their numbers; None where nothing is packed of inputs, or of others too."""
        packing = self.native.packing
        if packing is None or not packing.inputs or not set(packing.inputs) <= bound.keys():
            return None
        return Packed(self._packed({self.native.inputs[i]: bound[i] for i in packing.inputs}), packing.consumed)

    def plan(
        self,
        inputs: Sequence[Type],
        donated: Sequence[int],
        bound: Mapping[int, Array | None] | None = None,
        packed: Packed | None = None,
    ) -> Plan | None:
        """Return the plan of calls on arrays of these types, those of `bound` apart; None where they go through `run`."""
        if self._packs_inputs and packed is None:
            return None
        outputs, record = [type for _, type in self._outputs], pool.new_record(self._threads)
        constants = self._constants if packed is None else {**self._constants, **packed.arrays}
        return plan_of(self.native, self._library, inputs, outputs, constants, record, donated, bound)

    def _foreign(self, step: Foreign, run: Callable[..., Any]) -> Step:
        readers = [_reader(reading) for reading in step.inputs]
        places = [memory.place for memory in step.outputs]

        def perform(frame: Frame, seed: int) -> None:
            found = run([reader(frame) for reader in readers], seed)
            if not places:
                return
            for place, array in zip(places, found if len(places) != 1 else [found], strict=True):
                frame.arrays[place] = array
                frame.table[place] = address(array)

        return perform


def _place(table: Array, arrays: Mapping[int, Array]) -> None:
    """Write the addresses of arrays into their entries of a table."""
    for place, array in arrays.items():
        table[place] = address(array)


def _as_shape(array: Array, shape: tuple[int, ...]) -> Array:
    return array if array.shape == shape else array.reshape(shape)


def _reader(view: Reading) -> Callable[[Frame], Array]:
    """Return the function that finds the array that a step on NumPy reads in a frame."""
    dtype = array_dtype(view.dtype.name)
    size = dtype.itemsize
    strides = tuple(s * size for s in view.strides)
    raw = np.dtype(f"u{size}") if size <= 8 else dtype  # NumPy makes no arrays of ml_dtypes over given memory

    def read(frame: Frame) -> Array:
        if 0 in view.shape:
            return np.empty(view.shape, dtype)
        room = frame.arrays[view.memory.place].reshape(-1).view(np.uint8)
        made: Array = np.ndarray(view.shape, raw, room, view.memory.offset, strides)
        return made.view(dtype)

    return read


ISSUES = {"cholesky": "Matrix is not positive definite", "svd": "SVD did not converge", "eig": "Eigenvalues did not converge"}
"""Issues of matrices as NumPy's errors name them, by parts of the target's name."""


def failure(site: FailureSite, record: Array) -> MindError:
    """The coded error of a failure that native code reported."""
    op = site.op
    if op is None:
        issue = f"a kernel would have used element {int(record[0])}, outside of its memory"
        return error("E7004", f"{issue}: a fault of the compiler, not of the program", stage="native", issue=issue)
    match site.failure:
        case Failure.DIVISION:
            first = _integer(int(record[0]), op.operand_spec(0).dtype)
            message = f"division of the integer {first} by 0, expected another divisor"
            found = error("E8004", message, operands=[first, 0])
        case Failure.INDEX:
            found = _beyond(op, record)
        case Failure.SINGULAR:
            target, shapes = op.values()["target"], [read_type(x.type).shape for x in op.operands]
            issue = next((text for name, text in ISSUES.items() if name in target), "Singular matrix")
            found = error("E6006", f"custom call {target!r}: {issue}", operands=shapes)
        case Failure.PROMISE:
            found = broken_promise(("indices_are_sorted", "unique")[int(record[0])])
        case _:
            raise AssertionError(site)
    return found.at(op, op.place())


def _beyond(op: PtirOp, record: Array) -> MindError:
    """The error of an index out of bounds; a scatter with windows leaves the axis and the extent of the window as well."""
    index, shape = int(record[0]), [n for n in op.operand_spec(0).shape if isinstance(n, int)]
    match op:
        case ScatterAddOp() | ScatterWindowsOp():
            return out_of_bounds(index, shape, int(record[1]), SCATTER, int(record[2]))
        case SegmentReduceOp():
            return out_of_bounds(index, [op.values()["num_segments"]], 0, SCATTER)
        case GatherWindowsOp():
            axis = int(record[1])
            return out_of_bounds(index, shape, axis, GATHER, op.values()["slice_sizes"][axis])
        case GatherOp() | ScatterReduceOp():
            axis = op.values()["axis"] % len(shape)
            return out_of_bounds(index, shape, axis, GATHER if isinstance(op, GatherOp) else SCATTER)
        case _:
            return out_of_bounds(index, shape, 0, GATHER)


def _integer(bits: int, dtype: PtirDType) -> int:
    return bits % (1 << 64) if dtype.kind is Kind.UNSIGNED else bits
