"""The view of each value of a function: of other views, new memory, constants."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.ir import Block, SSAValue

from mind_dialect import ptir
from mind_dialect.ptir import PtirLiteralAttr, PtirOp
from mind_dialect.ptir.types import PtirDType, read_type

from .target_info import TargetInfo
from .views import Buffer, Use, View, whole


@dataclass
class Values:
    """Views of the values of a function, and the memory that there is so far."""

    host: TargetInfo
    views: dict[SSAValue, View] = field(default_factory=dict[SSAValue, View])
    constants: list[tuple[Buffer, PtirLiteralAttr]] = field(default_factory=list[tuple[Buffer, PtirLiteralAttr]])
    counts: dict[Use, int] = field(default_factory=dict[Use, int])
    keep: list[Block] = field(default_factory=list[Block])
    """Blocks that hold ops made here."""

    def shape(self, value: SSAValue) -> tuple[int, ...]:
        """The extents of a value, which are all known."""
        return tuple(n for n in read_type(value.type).shape if isinstance(n, int))

    def buffer(self, use: Use, dtype: PtirDType, count: int, name: str) -> Buffer:
        """New memory."""
        index = self.counts.get(use, 0)
        self.counts[use] = index + 1
        return Buffer(use, index, dtype, count, name)

    def new(self, use: Use, value: SSAValue) -> View:
        """New memory for a value."""
        dtype, shape = read_type(value.type).dtype, self.shape(value)
        count = 1
        for n in shape:
            count *= n
        made = self.buffer(use, dtype, count, value.name_hint or "")
        made.shape = shape
        return whole(made, shape)

    def target(self, value: SSAValue) -> View:
        """Memory in the arena for a value, which is from now on there."""
        self.views[value] = made = self.new(Use.ARENA, value)
        return made

    def constant(self, literal: PtirLiteralAttr, value: SSAValue) -> Buffer:
        """Memory that holds a constant before any call."""
        dtype, shape = literal.spec
        count = 1
        for n in shape:
            count *= n
        made = self.buffer(Use.CONSTANT, dtype, count, value.name_hint or "constant")
        self.constants.append((made, literal))
        return made

    def view(self, value: SSAValue) -> View:
        """Return the view of a value."""
        return self.views[value]

    def buffer_of(self, view: View) -> Buffer:
        """The memory of a view that has some."""
        assert isinstance(view.base, Buffer)
        return view.base

    def group_shape(self, op: PtirOp) -> tuple[int, ...]:
        """The shape over which a group computes an op."""
        return self.shape(op.operands[0] if isinstance(op, ptir.ReduceOp) else op.results[0])
