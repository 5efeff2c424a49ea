"""
Common subexpression elimination: of equal ops in reach of each other the first stays.

Two ops are equal if class, operands, properties, attributes, result types and regions are. Operands are sorted where the op is
commutative for every input bit by bit: not float maxima, where zeros of both signs meet, nor complex products. A `greater` is a
`less` of swapped operands. Regions are equal if they are up to the names of values: each is named once, when it is left, by a
number that stands for its content, so that nested regions cost no more than flat code. Random ops, and what holds one, are never
equal to anything. The file walks without recursion, in linear time.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import IsolatedFromAbove

from mind_dialect import register
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir import AddOp, AndOp, CompareOp, MaximumOp, MinimumOp, MulOp, OrOp, XorOp
from mind_dialect.ptir.types import Kind, read_type

from .building import rewire, stays
from .failing import ORIGIN

_ALWAYS = frozenset(Kind)
_REAL = _ALWAYS - {Kind.COMPLEX}
_EXACT = _REAL - {Kind.FLOAT}
COMMUTATIVE: dict[type[Operation], frozenset[Kind]] = {
    AddOp: _ALWAYS,
    MulOp: _REAL,
    MaximumOp: _EXACT,
    MinimumOp: _EXACT,
    AndOp: _ALWAYS,
    OrOp: _ALWAYS,
    XorOp: _ALWAYS,
}
"""For which kinds of dtype an op gives the same bits when its operands are swapped."""

_SWAPPED = {"greater": "less", "greater_equal": "less_equal"}


@dataclass
class _Scope:
    """Numbers of values, and the ops seen, that are in reach. A region isolated from above has its own."""

    numbers: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    known: dict[int, Operation] = field(default_factory=dict[int, Operation])

    def number(self, value: SSAValue) -> int:
        return self.numbers.setdefault(value, len(self.numbers))


@dataclass
class _BlockFrame:
    """A block on the way through the program."""

    block: Block
    scope: _Scope
    ops: Iterator[Operation]
    waiting: Operation | None = None
    """The op whose regions are being walked through."""
    contents: list[int] = field(default_factory=list[int])
    """The numbers of the ops that stayed."""
    added: list[int] = field(default_factory=list[int])
    """Numbers that are out of scope after the block."""
    unique: bool = False
    """True if the block holds ops that are equal to no other."""


class _Elimination:
    """One walk. What merged with an earlier op is in `merged`, and what its results became in `became`."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}
        """A number for each key; keys of nested things hold numbers, so none is large."""
        self._blocks: dict[Block, int | None] = {}
        """The number of each block that was left; None where something in it is equal to nothing."""
        self.became: dict[SSAValue, SSAValue] = {}
        self.merged: list[Operation] = []

    def run(self, root: Operation) -> None:
        """Walk through all blocks inside `root`, each op after its regions."""
        stack = _frames(root, _Scope())
        while stack:
            frame = stack[-1]
            op = frame.waiting
            if op is None:
                op = next(frame.ops, None)
                if op is None:
                    stack.pop()
                    self._leave(frame)
                    continue
                rewire(op, self.became)
                if op.regions:
                    frame.waiting = op
                    stack += _frames(op, frame.scope)
                    continue
            frame.waiting = None
            self._visit(op, frame)

    def _leave(self, frame: _BlockFrame) -> None:
        for number in frame.added:
            del frame.scope.known[number]
        contents = None if frame.unique else self._number((tuple(frame.block.arg_types), tuple(frame.contents)))
        self._blocks[frame.block] = contents

    def _number(self, key: Hashable) -> int:
        return self._numbers.setdefault(key, len(self._numbers))

    def _visit(self, op: Operation, frame: _BlockFrame) -> None:
        """Merge `op` with the op of its key that is in reach, or put it there."""
        scope = frame.scope
        blocks = [self._blocks[block] for region in op.regions for block in region.blocks]
        unique = stays(op) or None in blocks
        frame.unique |= unique
        number = self._number(op if unique else (_key(op, scope), tuple(blocks)))
        earlier = scope.known.get(number)
        if earlier is not None:
            self.became.update(zip(op.results, earlier.results, strict=True))
            self.merged.append(op)
            return
        for value in op.results:
            scope.number(value)
        frame.contents.append(number)
        if op.results:
            scope.known[number] = op
            frame.added.append(number)


def _frames(op: Operation, scope: _Scope) -> list[_BlockFrame]:
    """The blocks of `op`, the first on top, their arguments numbered."""
    isolated = op.has_trait(IsolatedFromAbove)
    frames: list[_BlockFrame] = []
    for region in reversed(op.regions):
        for block in reversed(region.blocks):
            frame = _BlockFrame(block, _Scope() if isolated else scope, iter(block.ops))
            for value in block.args:
                frame.scope.number(value)
            frames.append(frame)
    return frames


def _key(op: Operation, scope: _Scope) -> Hashable:
    """Return the parts of an op that must be equal, regions aside."""
    operands = [scope.number(value) for value in op.operands]
    properties = dict(op.properties)
    if isinstance(op, CompareOp):
        kind = op.values()["kind"]
        if kind in _SWAPPED:
            operands.reverse()
            properties["kind"] = StringAttr(_SWAPPED[kind])
        elif kind in ("equal", "not_equal"):
            operands.sort()
    elif (kinds := COMMUTATIVE.get(type(op))) is not None and read_type(op.results[0].type).dtype.kind in kinds:
        operands.sort()
    discardable = [item for item in op.attributes.items() if item[0] != ORIGIN]
    attributes = tuple(sorted([*properties.items(), *discardable], key=_name))
    return (type(op), tuple(operands), attributes, tuple(op.result_types), len(op.regions))


def _name(item: tuple[str, Attribute]) -> str:
    return item[0]


def eliminate_common(root: Operation) -> bool:
    """Merge equal ops of PTIR inside `root`; whether there were any."""
    found = _Elimination()
    found.run(root)
    for op in found.merged:  # inner ones come before the op around them
        for result in op.results:
            if result.first_use is not None:  # a use that stands before its definition in the text, in another block
                result.replace_all_uses_with(found.became[result])
        block = op.parent
        assert isinstance(block, Block)
        block.erase_op(op)
    return bool(found.merged)


@dataclass(frozen=True)
class PtirCsePass(ModulePass):
    """Merge equal PTIR ops, also inside loops and branches, and equal loops and branches; random ops are never equal."""

    name = "mind-ptir-cse"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        register(ctx)
        eliminate_common(op)
