"""
Indexing analysis: at which places each value of a body is needed, so that some of them are known at given places.

Nothing recurses along values: users come before what they use when places are handed down. `IndexingCheck` decides whether a
kernel can compute some values; `scope.py` walks the same way and writes the statements.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.ptir import ArgMaxOp, PtirOp, ReduceOp

from .body import Body, reduced_axes
from .maps import MAPS, Key, Mapped
from .places import Dims, Place, linear, place, repeated, reshaped, spec
from .unsupported import Unsupported

WHOLE = "i"
"""The name of the row-major index over all places that a kernel goes through."""
MOST_NESTED = 4
"""The greatest depth of indices that are data and depend on each other."""


@dataclass
class Known:
    """The body of a kernel, and what is known before its values are computed."""

    body: Body
    finished: dict[SSAValue, str] = field(default_factory=dict[SSAValue, str], kw_only=True)
    """The variable of each reduction that is done, and of a sum that a kernel computes in another way."""
    row: str = field(default="0", kw_only=True)
    """The index over what these leave."""


class IndexingWalk(ABC):
    """A walk over a body from values at places to what they are computed from; index expressions have names."""

    def __init__(self, source: Known):
        self.source = source
        self.texts: dict[str, str] = {}
        self.flags: dict[str, str] = {}
        self.names: dict[Key, str] = {}
        self.mapped: dict[Key, Mapped] = {}
        self.count = 0
        """The number of values at places that the last walk found."""

    @abstractmethod
    def index(self, text: str) -> str:
        """The name of an index with that value."""

    @abstractmethod
    def flag(self, text: str) -> str:
        """The name of a condition."""

    @abstractmethod
    def fail(self, op: PtirOp, condition: str, at: str, number: str) -> None:
        """A statement that notes that `op` failed for a number, where the condition holds."""

    @abstractmethod
    def kept(self, value: SSAValue, at: Place) -> str | None:
        """The register of a value that an earlier loop kept; None if there is none."""

    @abstractmethod
    def read(self, value: SSAValue, at: Place) -> str:
        """An element of an input."""

    @abstractmethod
    def computed(self, op: PtirOp, at: Place) -> str:
        """The result of an op whose operands are there."""

    def values(self, roots: Sequence[Key]) -> list[str]:
        """The registers of values at places, after the statements that fill them."""
        wanted = self._handed_down(roots)
        for op in self.source.body.ops:
            for at in wanted.get(op.results[0], ()):
                key = (op.results[0], at)
                if key not in self.names:
                    self.names[key] = self.computed(op, at)
        return [self.names[key] for key in roots]

    def _handed_down(self, roots: Sequence[Key]) -> dict[SSAValue, dict[Place, None]]:
        """At which places every value is needed; inputs are read on the way."""
        wanted: dict[SSAValue, dict[Place, None]] = {}
        count = 0
        for value, at in roots:
            wanted.setdefault(value, {})[at] = None
        for op in reversed(self.source.body.ops):
            for at in list(wanted.get(op.results[0], ())):
                if self._is_leaf(op.results[0], at):
                    continue
                count += 1
                for value, there in self.reads(op, at):
                    wanted.setdefault(value, {})[there] = None
        self.count = count
        for value in self.source.body.inputs:
            for at in wanted.get(value, ()):
                if not self._is_leaf(value, at):
                    self.names[value, at] = self.read(value, at)
        return wanted

    def _is_leaf(self, value: SSAValue, at: Place) -> bool:
        """Return whether a value is there without its operands."""
        if (value, at) in self.names:
            return True
        found = self.kept(value, at)
        if found is None and value in self.source.finished:
            if linear(at, self) != self.source.row:
                raise Unsupported("a reduction used elsewhere than in its row")
            found = self.source.finished[value]
        if found is not None:
            self.names[value, at] = found
        return found is not None

    def reads(self, op: PtirOp, at: Place) -> Sequence[Key]:
        """Return the operands, and their places, that the result of an op at a place needs."""
        if isinstance(op, self.source.body.given):
            raise Unsupported(f"{op.OPCODE} used elsewhere than where its kernel has it")
        if isinstance(op, ptir.BroadcastToOp):
            return [(op.x, repeated(at, spec(op.x)[1], self))]
        if isinstance(op, ptir.ReshapeOp):
            return [(op.x, reshaped(at, spec(op.x)[1], self))]
        if type(op) in MAPS:
            return self.map(op, at).reads
        if isinstance(op, ReduceOp | ArgMaxOp) and reduced_axes(op):
            raise Unsupported("a reduction of a value that is reduced later")
        return [(v, at) for v in op.operands]

    def map(self, op: PtirOp, at: Place) -> Mapped:
        """The map of an op at a place."""
        key = (op.results[0], at)
        if key not in self.mapped:
            self.mapped[key] = MAPS[type(op)](op, at, self)
        return self.mapped[key]


class IndexingCheck(IndexingWalk):
    """A walk that finds whether there are too many places, with symbols for registers."""

    def __init__(self, source: Known, earlier: Collection[Key] = ()):
        super().__init__(source)
        self.earlier = earlier
        self.nested = 0

    def index(self, text: str) -> str:
        return self.texts.setdefault(text, f"i{len(self.texts)}")

    def flag(self, text: str) -> str:
        return self.flags.setdefault(text, f"c{len(self.flags)}")

    def fail(self, op: PtirOp, condition: str, at: str, number: str) -> None:
        pass

    def kept(self, value: SSAValue, at: Place) -> str | None:
        return self._symbol() if (value, at) in self.earlier else None

    def read(self, value: SSAValue, at: Place) -> str:
        return self._symbol()

    def computed(self, op: PtirOp, at: Place) -> str:
        return self._symbol()

    def _symbol(self) -> str:
        return f"v{len(self.names)}"

    def values(self, roots: Sequence[Key]) -> list[str]:
        self.nested += 1
        if self.nested > MOST_NESTED:
            raise Unsupported("indices that depend on indices from data")
        found = super().values(roots)
        self.nested -= 1
        if self.count > 4 * len(self.source.body.ops) + 64:
            raise Unsupported("values needed at too many indices")
        return found


def whole_place(shape: Dims) -> Place:
    """The place with the index over everything."""
    return place((shape, WHOLE))


def check_elements(body: Body, values: Iterable[SSAValue]) -> None:
    """Raise Unsupported unless a kernel can compute each element of some values by itself."""
    for value in values:
        IndexingCheck(Known(body)).values([(value, whole_place(spec(value)[1]))])
