"""
Makes launches in order, and finds memory for values, views and copies: what planners of ops share.

Every value has one address, whatever loops do: a loop carries nothing, it writes to memory around it. So what needs nothing from
the host can be captured as a graph and replayed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from xdsl.dialects.builtin import IntegerAttr, StringAttr, i64
from xdsl.ir import Operation, SSAValue

from mind_dialect.ptir import PtirLiteralAttr
from mind_dialect.ptir.types import UI8, UI32, UI64, PtirDType, read_type, tensor_type

from ...launch.compute_ops import KernelOp
from ...launch.liveness import base, whole
from ...launch.memory_ops import AllocOp, CopyOp, Space, ViewOp
from ...launch.ref import Ref, read_ref, ref
from ...xp.regions import ForOp, LoopOp, WhileOp
from ..kernels.call_kernels import CallKernels
from ..launching import ALIGNMENT, RECORD
from .addresses import alignment, are_same, is_ordered
from .iterations import iteration_kernel

PLACED = 256
"""Every allocation begins at a multiple of so many bytes: what CUDA's own allocator gives."""


class Unplanned(Exception):
    """A function has no plan, for the reason in the message."""


@dataclass
class LaunchBuilder:
    """A function of launches on its way: `ops` is what is being filled, `values` the address of each value."""

    donated: Collection[int] = ()
    calls: CallKernels = field(default_factory=CallKernels)
    ops: list[Operation] = field(default_factory=list[Operation])
    values: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    origins: dict[Operation, Operation] = field(default_factory=dict[Operation, Operation])
    """The op of the lowered function that each of these comes from."""
    state: AllocOp | None = None
    """The seed and the induction variables, once they are needed."""
    counters: list[AllocOp] = field(default_factory=list[AllocOp])
    """Memory that is zero at first, and whenever no kernel runs."""
    records: int = 0
    constants: int = 0
    _names: Counter[SSAValue] = field(default_factory=Counter[SSAValue])
    """The number of values in each allocation."""

    # Ops

    def add(self, op: Operation, origin: Operation | None = None) -> None:
        """Append an op."""
        self.ops.append(op)
        if origin is not None:
            self.origins[op] = origin
            op.location = origin.location

    @contextmanager
    def region(self) -> Generator[list[Operation]]:
        """Append to a list of its own meanwhile."""
        outer, self.ops = self.ops, []
        try:
            yield self.ops
        finally:
            self.ops = outer

    # Values

    @staticmethod
    def spec(value: SSAValue) -> tuple[PtirDType, tuple[int, ...]]:
        """The dtype and sizes of a value."""
        dtype, dims = read_type(value.type)
        shape = tuple([n for n in dims if isinstance(n, int)])
        if len(shape) != len(dims):
            raise Unplanned("a dimension has no size before the run")
        return dtype, shape

    def bind(self, value: SSAValue, address: SSAValue) -> SSAValue:
        """Let a value be at an address."""
        self.values[value] = address
        self._names[base(address)] += 1
        return address

    def alloc(
        self, dtype: PtirDType, shape: Sequence[int], space: Space = Space.ARENA, index: int | None = None, **words: Any
    ) -> SSAValue:
        """New memory."""
        op = AllocOp(ref(dtype, tuple(shape)), space, index, **words)
        self.ops.append(op)
        return op.res

    def made(self, value: SSAValue) -> SSAValue:
        """Memory of its own for a value."""
        address = self.alloc(*self.spec(value))
        address.name_hint = value.name_hint
        return self.bind(value, address)

    def constant(self, literal: PtirLiteralAttr) -> SSAValue:
        """Memory of a constant, as it is."""
        self.constants += 1
        return self.alloc(*literal.spec, Space.CONSTANT, self.constants - 1, literal=literal)

    def scratch(self, size: int) -> SSAValue:
        """Bytes for a kernel's own use."""
        return self.alloc(UI8, (size,))

    def counting(self, size: int) -> SSAValue:
        """Numbers that are zero at first, which a kernel leaves zero."""
        address = self.alloc(UI32, (size,), Space.STATE)
        assert isinstance(address.owner, AllocOp)
        self.counters.append(address.owner)
        return address

    def record(self) -> SSAValue:
        """Return the memory in which a kernel notes a failure."""
        address = self.alloc(UI64, (RECORD,), Space.RECORD, at=self.records)
        self.records += RECORD * UI64.size
        return address

    # Views

    def view(self, source: SSAValue, layout: Ref, moved: int = 0) -> SSAValue:
        """Another layout of what is at an address, some elements from it."""
        type = ref(layout.dtype, layout.shape, layout.strides if layout.count else None)
        moved = moved if layout.count else 0
        if type == source.type and not moved:
            return source
        op = ViewOp(source, type, moved)
        self.ops.append(op)
        return op.res

    def reshaped(self, source: SSAValue, shape: Sequence[int]) -> SSAValue | None:
        """The same elements under another shape, as NumPy finds them; None if they have to be moved."""
        layout = read_ref(source.type)
        seen: Any = np.lib.stride_tricks.as_strided(np.empty(1, "V1"), layout.shape, layout.strides)
        try:
            seen = np.reshape(seen, shape, copy=False)
        except ValueError:
            return None
        return self.view(source, Ref(layout.dtype, tuple(shape), tuple(seen.strides)))

    # Copies

    def copy(self, source: SSAValue, target: SSAValue, origin: Operation | None) -> None:
        """Append a copy, unless it is one of an array to itself."""
        if read_ref(target.type).count and not are_same(source, target):
            self.add(CopyOp(source, target), origin)

    def moved(self, source: SSAValue, origin: Operation) -> SSAValue:
        """A copy in row-major order."""
        layout = read_ref(source.type)
        target = self.alloc(layout.dtype, layout.shape)
        self.copy(source, target, origin)
        return target

    def ordered(self, source: SSAValue, origin: Operation) -> SSAValue:
        """The same elements in row-major order."""
        return source if is_ordered(source) else self.moved(source, origin)

    def ready(self, source: SSAValue, origin: Operation) -> SSAValue:
        """The same elements as a kernel can read them: in row-major order, from a good address."""
        if is_ordered(source) and alignment(source) == ALIGNMENT:
            return source
        owner, layout = base(source).owner, read_ref(source.type)
        if isinstance(owner, AllocOp) and owner.kind is Space.CONSTANT and not any(layout.strides):
            return self.constant(PtirLiteralAttr(tensor_type(layout.dtype, layout.shape), owner.literal_value.data))
        return self.moved(source, origin)

    def assign(self, values: Sequence[SSAValue], targets: Sequence[SSAValue], origin: Operation) -> None:
        """Copies of values to addresses, all at once: what another copy would overwrite is put aside first."""
        sources = [self.values[v] for v in values]
        written = {base(t) for s, t in zip(sources, targets, strict=True) if not are_same(s, t)}
        for i, (source, target) in enumerate(zip(sources, targets, strict=True)):
            if base(source) in written and not are_same(source, target):
                sources[i] = self.moved(source, origin)
        for source, target in zip(sources, targets, strict=True):
            self.copy(source, target, origin)

    # Loops

    def carried(self, op: WhileOp | ForOp, arguments: Sequence[SSAValue]) -> list[SSAValue]:
        """Return the memory of a loop's carries: that of the initial value, if the loop takes it and it is all of its memory."""
        found: list[SSAValue] = []
        for i, (value, argument) in enumerate(zip(op.initial(), arguments, strict=True)):
            source = self.values[value]
            if i in op.taken() and self._is_alone(source) and base(source) not in map(base, found):
                self.bind(argument, source)
            else:
                self.copy(source, self.made(argument), op)
            found.append(self.values[argument])
        return found

    def _is_alone(self, value: SSAValue) -> bool:
        """Return whether nothing but one value is in the memory of an address, which is the function's to write to."""
        owner = whole(value)
        if owner is None or self._names[owner.res] != 1:
            return False
        return owner.kind is Space.ARENA or (owner.kind is Space.INPUT and owner.number in self.donated)

    def iterations(self) -> SSAValue:
        """The seed, then the induction variable of each loop."""
        if self.state is None:
            count = 1 + max(self.calls.loops.values(), default=-1) + 1
            self.state = AllocOp(ref(UI64, (count,)), Space.STATE, at=0)
        return self.state.res

    def iteration(self, op: LoopOp, *, begins: bool = False) -> None:
        """Append what sets the induction variable of a loop, if draws depend on it."""
        if op in self.calls.loops:
            number = self.view(self.iterations(), Ref(UI64, (1,), (1,)), 1 + self.calls.loops[op])
            self.count(number, begins=begins)

    def count(self, number: SSAValue, *, begins: bool = False) -> None:
        """Append what sets the number of an iteration, to 0 or to the next."""
        self.kernel(self.calls.add(iteration_kernel(begins=begins)), [], [number], "begin" if begins else "count")

    def kernel(
        self, name: str, reads: Sequence[SSAValue], writes: Sequence[SSAValue], how: str, origin: Operation | None = None
    ) -> None:
        """Append a kernel without a body."""
        self.add(KernelOp(name, reads, writes, schedule=StringAttr(how)), origin)

    def place_state(self) -> int:
        """Give the seed, the induction variables and the counters their offsets; the bytes of all."""
        size = 0 if self.state is None else rounded_up(self.state.ref.nbytes)
        for op in self.counters:
            op.at = IntegerAttr(size, i64)
            size += rounded_up(op.ref.nbytes)
        return size


def rounded_up(size: int) -> int:
    """`size`, so that what follows is aligned."""
    return -(-max(size, 1) // PLACED) * PLACED
