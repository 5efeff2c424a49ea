"""
Runs functions of the `launch` dialect on one block of bytes, as their memory plan says, with NumPy's kernels for the bodies.

Memory begins with every bit set, and so does each write before its kernel reads: a plan that puts a write over something that
is still read gives wrong numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from xdsl.dialects.builtin import IntegerAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from mind_lowering.launch import (
    AllocOp,
    AtOp,
    ComputeOp,
    CopyOp,
    ForOp,
    HostCallOp,
    IfOp,
    PrepackOp,
    ReturnOp,
    Space,
    ViewOp,
    WhileOp,
    read_ref,
)
from mind_lowering.launch.assign_memory import ARENA_BYTES
from mind_lowering.ptir_kernels.formats import array_dtype
from ptir_evaluator import Run, evaluate_block

POISON = 0xFF


@dataclass
class Address:
    """A place in a block of bytes."""

    block: np.ndarray
    offset: int


@dataclass
class Machine:
    """One call of a function."""

    inputs: Sequence[np.ndarray]
    arena: np.ndarray
    addresses: dict[SSAValue, Any] = field(default_factory=dict[SSAValue, Any])

    def run(self, block: Block) -> Operation:
        """Execute a block; its last op."""
        for op in block.ops:
            self.step(op)
        assert block.last_op is not None
        return block.last_op

    def step(self, op: Operation) -> None:
        match op:
            case AllocOp():
                self.addresses[op.res] = self.memory(op)
            case ViewOp():
                at = self.addresses[op.source]
                self.addresses[op.res] = Address(at.block, at.offset + op.word("offset", 0) * op_size(op.res))
            case AtOp():
                at, layout = self.addresses[op.source], read_ref(op.source.type)
                step = self.addresses[op.index] * layout.strides[0] * layout.dtype.size
                self.addresses[op.res] = Address(at.block, at.offset + step)
            case CopyOp():
                found = self.read(op.source)
                self.write(op.target, found.view(array_dtype(read_ref(op.target.type).dtype.name)))
            case ComputeOp():
                self.compute(op)
            case PrepackOp():
                self.run(op.body.block)
            case IfOp():
                last = self.run((op.then if self.read(op.predicate)[()] else op.otherwise).block)
                self.bind(op.results, last.operands)
            case ForOp():
                self.bind(op.body.block.args[1:], op.inits)
                carried: Sequence[SSAValue] = op.inits
                for i in range(op.trip_count):
                    self.addresses[op.body.block.args[0]] = i
                    carried = self.run(op.body.block).operands
                    self.bind(op.body.block.args[1:], carried)
                self.bind(op.results, carried)
            case WhileOp():
                self.loop(op)
            case _:
                assert not op.results

    def loop(self, op: WhileOp) -> None:
        carried: Sequence[SSAValue] = op.inits
        while True:
            self.bind(op.test.block.args, carried)
            last = self.run(op.test.block)
            if not self.read(last.operands[0])[()]:
                break
            self.bind(op.body.block.args, last.operands[1:])
            carried = self.run(op.body.block).operands
        self.bind(op.results, last.operands[1:])

    def compute(self, op: ComputeOp) -> None:
        assert op.regions[0].blocks, "a kernel without a body is the business of a target"
        in_place = {w for w, _ in op.inplace_pairs}
        for i, value in enumerate(op.writes):
            if i not in in_place:
                self.poison(value)
        seed = {"seed": 7}
        ordinals = {inner: op.word("ordinal", 0) if isinstance(op, HostCallOp) else 0 for inner in op.regions[0].block.ops}
        results = evaluate_block(op.regions[0].block, [self.read(v) for v in op.reads], Run(seed, ordinals, {}))
        for value, result in zip(op.writes, results, strict=True):
            self.write(value, np.asarray(result))

    def bind(self, holders: Sequence[SSAValue], given: Sequence[SSAValue]) -> None:
        found = [self.addresses[v] for v in given]
        self.addresses.update(zip(holders, found, strict=True))

    def memory(self, op: AllocOp) -> Address:
        match op.kind:
            case Space.INPUT:
                assert op.number is not None
                return Address(np.frombuffer(bytearray(self.inputs[op.number].tobytes()), np.uint8), 0)
            case Space.CONSTANT:
                data = op.literal_value.data.data
                count = op.ref.count if len(data) == op.ref.dtype.size else 1
                return Address(np.frombuffer(bytearray(data * count), np.uint8), 0)
            case Space.OUTPUT if op.over is not None:
                return self.addresses[op.over]
            case Space.ARENA if (at := op.word("at")) is not None:
                assert at + op.ref.nbytes <= len(self.arena)
                return Address(self.arena, at)
            case _:
                return Address(np.full(op.ref.nbytes, POISON, np.uint8), 0)

    def places(self, value: SSAValue) -> tuple[np.ndarray, np.ndarray]:
        """The block as numbers of the value's dtype, and where in it the elements are."""
        at, layout = self.addresses[value], read_ref(value.type)
        dtype = np.dtype(array_dtype(layout.dtype.name))
        start = at.offset % dtype.itemsize
        numbers = at.block[start : start + (len(at.block) - start) // dtype.itemsize * dtype.itemsize].view(dtype)
        found = np.full(layout.shape, at.offset // dtype.itemsize, np.int64)
        for axis, (n, stride) in enumerate(zip(layout.shape, layout.strides, strict=True)):
            found += (np.arange(n) * stride).reshape(-1, *([1] * (len(layout.shape) - axis - 1)))
        assert not found.size or found.min() >= 0
        return numbers, found

    def read(self, value: SSAValue) -> np.ndarray:
        numbers, found = self.places(value)
        return np.asarray(numbers[found])

    def write(self, value: SSAValue, elements: np.ndarray) -> None:
        numbers, found = self.places(value)
        assert (elements.dtype, elements.shape) == (numbers.dtype, found.shape)
        numbers[found] = elements

    def poison(self, value: SSAValue) -> None:
        layout = read_ref(value.type)
        self.write(value, np.full(layout.nbytes, POISON, np.uint8).view(array_dtype(layout.dtype.name)).reshape(layout.shape))


def op_size(value: SSAValue) -> int:
    """The bytes of one element."""
    return read_ref(value.type).dtype.size


def execute(func: FuncOp, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """What a function of launches returns."""
    size = func.attributes.get(ARENA_BYTES)
    total = size.value.data if isinstance(size, IntegerAttr) else 0
    machine = Machine([np.ascontiguousarray(a) for a in arrays], np.full(total, POISON, np.uint8))
    last = machine.run(func.body.block)
    assert isinstance(last, ReturnOp)
    return [machine.read(v) for v in last.operands]
