"""
Checkpoints in a scan: segments of N steps, of which the derivative saves the carried values at the start only.

The scan becomes a scan over segments around a scan over the steps of one, and a scan over the steps that are left. The outer one
is marked to recompute: its derivative runs each segment forwards once more before it runs it backwards, so that it holds what
L / N segments carry and what N steps need, instead of what L steps need. With N about sqrt(L), both are about sqrt(L)
(Griewank, Achieving logarithmic growth of temporal and spatial complexity in reverse automatic differentiation, 1992).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from mind_dialect.errors import error
from mind_dialect.op import value_of
from mind_dialect.ptir import ConcatOp, ScanOp, SliceOp
from mind_dialect.ptir.types import read_type, tensor_type

from ...loop_options import CHECKPOINT, check_checkpoint
from ...ptir import construct
from ..walks import Reverse
from .bodies import copied, finish, take_place, types_of


def checkpointed(sweep: Reverse, op: ScanOp, text: str) -> bool:
    """Differentiate `op` in segments; False if it has no step. E7001 for an unknown length, or a text that is no option."""
    every = check_checkpoint(text)
    length = op.trip_count
    if not isinstance(length, int):
        message = f"checkpoint={text} on a scan of {length} steps, expected a known number"
        raise error("E7001", message, operation=op, option="checkpoint")
    if length == 0:
        return False
    _Segments(op, length, min(every or math.isqrt(length - 1) + 1, length)).differentiate(sweep)
    return True


class _Segments:
    """One construction of the scans that take the place of `op`."""

    def __init__(self, op: ScanOp, length: int, steps: int):
        self.op, self.steps = op, steps
        self.segments, self.left = divmod(length, steps)
        self.carries = op.num_carries
        self.made: list[Operation] = []

    def differentiate(self, sweep: Reverse) -> None:
        carried = list(self.op.operands[: self.carries])
        scanned = list(self.op.operands[self.carries :])
        whole = self.segments * self.steps
        inputs = [self._insert(construct.reshape(self._part(x, 0, whole), self._segmented(x))) for x in scanned]
        outer = self._scan([*carried, *inputs], self.segments, Region(self._outer_body(inputs)))
        outer.attributes[CHECKPOINT] = UnitAttr()
        carried = list(outer.results[: self.carries])
        stacked = [self._insert(construct.reshape(y, self._joined(y))) for y in outer.results[self.carries :]]
        if self.left:
            body = Region(copied(self.op.body_region.block)[0])
            rest = self._scan([*carried, *(self._part(x, whole, self.left) for x in scanned)], self.left, body)
            carried = list(rest.results[: self.carries])
            stacked = [self._joint(y, z, t) for y, z, t in zip(stacked, rest.results[self.carries :], self._types(), strict=True)]
        take_place(sweep, self.op, self.made, [*carried, *stacked])

    def _insert(self, value: SSAValue | Operation) -> SSAValue:
        value = value_of(value)
        if isinstance(value.owner, Operation) and value.owner.parent is None and value.owner not in self.made:
            self.made.append(value.owner)
        return value

    def _part(self, x: SSAValue, start: int, size: int) -> SSAValue:
        """`size` steps from `start`."""
        if not self.left:
            return x
        dtype, shape = read_type(x.type)[0], construct.static(x)
        starts = (start, *[0] * (len(shape) - 1))
        part = construct.make(SliceOp, x, type=tensor_type(dtype, (size, *shape[1:])), starts=starts, sizes=(size, *shape[1:]))
        return self._insert(part)

    def _segmented(self, x: SSAValue) -> tuple[int | str, ...]:
        return (self.segments, self.steps, *construct.dims(x)[1:])

    def _joined(self, y: SSAValue) -> tuple[int | str, ...]:
        return (self.segments * self.steps, *construct.dims(y)[2:])

    def _types(self) -> Sequence[Attribute]:
        return self.op.result_types[self.carries :]

    def _joint(self, y: SSAValue, z: SSAValue, type: Attribute) -> SSAValue:
        return self._insert(construct.make(ConcatOp, y, z, type=type, axis=0))

    def _outer_body(self, inputs: Sequence[SSAValue]) -> Block:
        """One segment: a scan over its steps."""
        slices = [(dtype, shape[1:]) for dtype, shape in (read_type(x.type) for x in inputs)]
        carried = types_of(self.op.operands[: self.carries])
        block = Block(arg_types=[*carried, *(tensor_type(*s) for s in slices)])
        body = Region(copied(self.op.body_region.block)[0])
        inner = _scan(self.op, block.args, self.steps, body)
        block.add_op(inner)
        return finish(block, inner.results)

    def _scan(self, operands: Sequence[SSAValue], length: int, body: Region) -> ScanOp:
        made = _scan(self.op, operands, length, body)
        self.made.append(made)
        return made


def _scan(op: ScanOp, operands: Sequence[SSAValue], length: int, body: Region) -> ScanOp:
    """A scan of `length` steps with the properties of `op`."""
    end = body.block.last_op
    assert end is not None
    carries = op.num_carries
    results = [*types_of(operands[:carries])]
    for y in end.operands[carries:]:
        dtype, shape = read_type(y.type)
        results.append(tensor_type(dtype, (length, *shape)))
    made = ScanOp.create(operands=operands, properties=op.properties, regions=[body], result_types=results)
    made.location = op.location
    return made
