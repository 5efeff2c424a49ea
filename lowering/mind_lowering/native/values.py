"""The view of each value of a function: of other views, new memory, constants."""

from __future__ import annotations

from dataclasses import field
from math import prod

from xdsl.ir import Block, SSAValue

from mind_dialect import ptir
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir import PtirLiteralAttr, PtirOp
from mind_dialect.ptir.types import PtirDType, known_extents, read_type

from ..launch.memory_ops import NUMBERED, AllocOp, Space
from ..launch.ref import ref
from .target_info import TargetInfo
from .views import Buffer, Use, View, whole

SPACES: dict[Use, Space] = {
    Use.INPUT: Space.INPUT,
    Use.CONSTANT: Space.CONSTANT,
    Use.ARENA: Space.ARENA,
    Use.FOREIGN: Space.HOST,
}
"""The space of each kind of memory that a plan allocates; passes make outputs and packed memory of some of it."""


@dataclass
class Values:
    """Views of the values of a function, and the memory that there is so far."""

    host: TargetInfo
    views: dict[SSAValue, View] = field(default_factory=dict[SSAValue, View])
    constants: list[tuple[Buffer, PtirLiteralAttr]] = field(default_factory=list[tuple[Buffer, PtirLiteralAttr]])
    counts: dict[Use, int] = field(default_factory=dict[Use, int])
    keep: list[Block] = field(default_factory=list[Block])
    """Blocks that hold ops made here."""
    depth: int = 0
    """Number of regions of branches and loops around the next step."""

    def shape(self, value: SSAValue) -> tuple[int, ...]:
        """The extents of a value, which are all known."""
        return known_extents(value.type)

    def buffer(self, use: Use, dtype: PtirDType, count: int, name: str) -> Buffer:
        """New memory, a row of elements."""
        return self._allocated(use, dtype, (count,), name)

    def _allocated(
        self, use: Use, dtype: PtirDType, shape: tuple[int, ...], name: str, literal: PtirLiteralAttr | None = None
    ) -> Buffer:
        """New memory."""
        index = self.counts.get(use, 0)
        self.counts[use] = index + 1
        return self.allocate(Buffer(use, index, dtype, prod(shape), name), shape, literal)

    def allocate(self, buffer: Buffer, shape: tuple[int, ...], literal: PtirLiteralAttr | None = None) -> Buffer:
        """Give a buffer an address; its allocation has no place in the program until an op uses it."""
        space = SPACES[buffer.use]
        alloc = AllocOp(ref(buffer.dtype, shape), space, buffer.index if space in NUMBERED else None, literal=literal)
        alloc.res.name_hint = buffer.name or None
        buffer.value, buffer.depth = alloc.res, self.depth
        return buffer

    def new(self, use: Use, value: SSAValue) -> View:
        """New memory for a value."""
        shape = self.shape(value)
        return whole(self._allocated(use, read_type(value.type).dtype, shape, value.name_hint or ""), shape)

    def target(self, value: SSAValue) -> View:
        """Memory in the arena for a value, which is from now on there."""
        self.views[value] = made = self.new(Use.ARENA, value)
        return made

    def constant(self, literal: PtirLiteralAttr, value: SSAValue) -> Buffer:
        """Memory that holds a constant before any call."""
        dtype, shape = literal.spec
        made = self._allocated(Use.CONSTANT, dtype, shape, value.name_hint or "constant", literal)
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
