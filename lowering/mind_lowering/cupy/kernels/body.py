"""
The body of a fusion as C++ statements: what some of its values are at given places, each computed once per place.

Nothing recurses: users come before what they use when places are handed down, and after it when statements are written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.ir import Block, Operation, SSAValue

from mind_dialect import ptir
from mind_dialect.ptir import ArgMaxOp, PtirOp, ReduceOp
from mind_dialect.ptir.types import PtirDType

from .failures import FailingOp, sites_of
from .maps import MAPS, Key, Mapped, check_map
from .places import Dims, Place, dims_of, linear, place, repeated, reshaped, spec
from .scalars import EMITTERS, NARROW, STORED, cast, divides_integers, emit, literal, register
from .unsupported import Unsupported

WHOLE = "i"
"""The name of the row-major index over all places that a kernel goes through."""
MOST_NESTED = 4
"""How deep places that are data may depend on each other."""


Reduction: TypeAlias = ReduceOp | ArgMaxOp


def reduced_axes(op: Reduction) -> tuple[int, ...]:
    """The axes of a reduction, counted from the front, ascending."""
    rank, values = len(spec(op.x)[1]), op.values()
    return tuple(sorted({a % rank for a in (values["axes"] if isinstance(op, ReduceOp) else (values["axis"],))}))


class Body:
    """The ops of a fusion, and at which stage each value can be known: how many reductions come before it, one after another."""

    def __init__(self, block: Block, given: tuple[type[PtirOp], ...] = ()):
        """Ops of the classes `given` are known to who asks: their results have names before anything is computed."""
        self.given = given
        self.inputs = list(block.args)
        self.ops: list[PtirOp] = []
        self.results: list[SSAValue] = []
        self.reductions: list[Reduction] = []
        self.stage: dict[SSAValue, int] = dict.fromkeys(block.args, 0)
        self.sites: list[tuple[PtirOp, FailingOp]] = []
        """What can fail, in the order of the ops, whatever is written first."""
        for op in block.ops:
            if isinstance(op, ptir.YieldOp):
                self.results = list(op.operands)
            else:
                self._take(op)

    def _take(self, op: Operation) -> None:
        if not isinstance(op, PtirOp) or not (type(op) in EMITTERS or type(op) in MAPS or isinstance(op, (*_VIEWS, *self.given))):
            raise Unsupported(f"{op.name} in a kernel")
        for value in (*op.operands, *op.results):
            register(spec(value)[0])
        if isinstance(op, ptir.ConstantOp) and len(op.literal.data.data) != op.literal.spec[0].size:
            raise Unsupported("a table of constants in a kernel")
        if type(op) in MAPS and type(op) not in self.given:
            check_map(op)
        self.sites += [(op, site) for site in sites_of(op)]
        reduces = isinstance(op, Reduction) and bool(reduced_axes(op))
        if reduces:
            assert isinstance(op, Reduction)
            self.reductions.append(op)
        self.stage[op.results[0]] = max((self.stage[v] for v in op.operands), default=0) + reduces
        self.ops.append(op)


_VIEWS = (ptir.ReshapeOp, ptir.BroadcastToOp, ptir.ConstantOp, ptir.IotaOp, ReduceOp, ArgMaxOp)


@dataclass
class KernelSource:
    """The parts of a kernel other than its statements: parameters, and facts found on the way."""

    body: Body
    pointers: dict[SSAValue, str]
    """The parameter of each input."""
    finished: dict[SSAValue, str] = field(default_factory=dict[SSAValue, str])
    """The variable of each reduction that is done, and of a sum that a kernel computes in another way."""
    row: str = "0"
    """The index over what these leave."""
    count: int = 0
    nested: int = 0
    """How many places that are data wait for others."""

    def fresh(self, letter: str) -> str:
        """A new name."""
        self.count += 1
        return f"{letter}{self.count}"

    def site(self, op: PtirOp) -> int:
        """The number of the first site of an op that can fail."""
        return [o for o, _ in self.body.sites].index(op)


class Scope:
    """Statements that see one set of loop variables."""

    def __init__(self, source: KernelSource, kept: dict[Key, str] | None = None, *, keeps: bool = False):
        self.source = source
        self.lines: list[str] = []
        self.names: dict[Key, str] = {}
        self.texts: dict[str, str] = {}
        self.flags: dict[str, str] = {}
        self.mapped: dict[Key, Mapped] = {}
        self.packed: dict[SSAValue, str] = {}
        """Inputs that can be read several elements at once, and the arrays that hold them."""
        self.unpacked: set[SSAValue] = set()
        """Those of them that are used so."""
        self.kept = dict(kept or {})
        """Values that earlier loops computed at the same places."""
        self.reused: dict[Key, str] = {}
        """Those of them that are used here."""
        self.keeps = keeps
        self.keeping: dict[Key, str] = {}
        """Values that this loop keeps for later ones."""
        self.whole: str | None = WHOLE
        """The name of the index over everything; None where there is none."""

    def index(self, text: str) -> str:
        """The name of an index with that value."""
        if text not in self.texts:
            name = self.texts[text] = self.source.fresh("i")
            self.lines.append(f"const I {name} = {text};")
        return self.texts[text]

    def flag(self, text: str) -> str:
        """The name of a condition."""
        if text not in self.flags:
            name = self.flags[text] = self.source.fresh("c")
            self.lines.append(f"const bool {name} = {text};")
        return self.flags[text]

    def fail(self, op: PtirOp, condition: str, at: str, number: str) -> None:
        """A statement that notes that `op` failed for a number, where the condition holds."""
        noted = f"mind::fail(record, {self.source.site(op)}, mind::ui64({at}), mind::si64({number}))"
        self.lines.append(f"if ({condition}) {noted};")

    def keep(self, at: Place) -> list[str]:
        """Statements that keep what was computed or read at the place of the loop."""
        known = (*self.reused.values(), *self.source.finished.values())
        new = {key: name for key, name in self.names.items() if key[1] == at and name[0] in "xv" and name[1:].isdecimal()}
        self.keeping = {key: name for key, name in new.items() if self.keeps and name not in known}
        return [kept_line(name) for name in dict.fromkeys(self.keeping.values())]

    def values(self, roots: Sequence[Key]) -> list[str]:
        """The registers of values at places, after the statements that fill them."""
        self.source.nested += 1
        if self.source.nested > MOST_NESTED:
            raise Unsupported("places that depend on places that are data")
        wanted = self._handed_down(roots)
        self.source.nested -= 1
        for op in self.source.body.ops:
            for at in wanted.get(op.results[0], ()):
                key = (op.results[0], at)
                if key not in self.names:
                    self.names[key] = self._computed(op, at)
        return [self.names[key] for key in roots]

    def _handed_down(self, roots: Sequence[Key]) -> dict[SSAValue, dict[Place, None]]:
        """At which places every value is needed; inputs are read on the way."""
        wanted: dict[SSAValue, dict[Place, None]] = {}
        count = 0
        for value, at in roots:
            wanted.setdefault(value, {})[at] = None
        for op in reversed(self.source.body.ops):
            for at in list(wanted.get(op.results[0], ())):
                if self._leaf(op, at):
                    continue
                count += 1
                for value, there in self._reads(op, at):
                    wanted.setdefault(value, {})[there] = None
        if count > 4 * len(self.source.body.ops) + 64:
            raise Unsupported("values needed at too many places")
        for value in self.source.body.inputs:
            for at in wanted.get(value, ()):
                if (value, at) not in self.names and not self._reuse(value, at):
                    self.names[value, at] = self._read(value, at)
        return wanted

    def _leaf(self, op: PtirOp, at: Place) -> bool:
        """Return whether a value is there without its operands."""
        value = op.results[0]
        if (value, at) in self.names or self._reuse(value, at):
            return True
        if value in self.source.finished:
            if linear(at, self) != self.source.row:
                raise Unsupported("a reduction used elsewhere than in its row")
            self.names[value, at] = self.source.finished[value]
            return True
        return False

    def _reuse(self, value: SSAValue, at: Place) -> bool:
        """Take what an earlier loop kept."""
        if (value, at) not in self.kept:
            return False
        name = self.names[value, at] = self.reused[value, at] = self.kept[value, at]
        self.lines.append(f"const {register(spec(value)[0])} {name} = {name}_[slot];")
        return True

    def _reads(self, op: PtirOp, at: Place) -> Sequence[Key]:
        """Return the operands, and their places, that the result of an op at a place needs."""
        if isinstance(op, ptir.BroadcastToOp):
            return [(op.x, repeated(at, spec(op.x)[1], self))]
        if isinstance(op, ptir.ReshapeOp):
            return [(op.x, reshaped(at, spec(op.x)[1], self))]
        if type(op) in MAPS:
            return self._map(op, at).reads
        if isinstance(op, Reduction) and reduced_axes(op):
            raise Unsupported("a reduction of something that is reduced later")
        return [(v, at) for v in op.operands]

    def _map(self, op: PtirOp, at: Place) -> Mapped:
        key = (op.results[0], at)
        if key not in self.mapped:
            self.mapped[key] = MAPS[type(op)](op, at, self)
        return self.mapped[key]

    def _read(self, value: SSAValue, at: Place) -> str:
        """An element of an input."""
        dtype, _ = spec(value)
        index, pointer = linear(at, self), self.source.pointers[value]
        name = self.source.fresh("x")
        if index == self.whole and value in self.packed:
            text = f"{self.packed[value]}[j]"
            self.unpacked.add(value)
        else:
            text = f"{pointer}[{index}]"
            text = f"mind::widen({text})" if dtype in NARROW else text
        self.lines.append(f"const {register(dtype)} {name} = {text};")
        return name

    def _computed(self, op: PtirOp, at: Place) -> str:
        """The result of an op whose operands are there."""
        dtype = spec(op.results[0])[0]
        if isinstance(op, ptir.ConstantOp):
            return literal(dtype, op.literal.item())
        if isinstance(op, ptir.IotaOp):
            text = self._numbered(op, at, dtype)
        else:
            operands = [self.names[key] for key in self._reads(op, at)]
            if isinstance(op, ptir.BroadcastToOp | ptir.ReshapeOp):
                return operands[0]
            if type(op) in MAPS:
                text = self._map(op, at).text(operands)
                if text in operands:
                    return text
            elif isinstance(op, ReduceOp):
                accum = op.values()["accum_dtype"] or dtype
                text = cast(cast(operands[0], spec(op.x)[0], accum), accum, dtype)
            else:
                text = self._checked(op, operands, at)
        name = self.source.fresh("v")
        self.lines.append(f"const {register(dtype)} {name} = {text};")
        return name

    def _numbered(self, op: ptir.IotaOp, at: Place, dtype: PtirDType) -> str:
        shape, axis = dims_of(at), op.values()["axis"]
        axis %= len(shape)
        thin = tuple(n if a == axis else 1 for a, n in enumerate(shape))
        index = f"mind::si64({linear(repeated(at, thin, self), self)})"
        if dtype in NARROW:
            return f"mind::cast_narrow<{STORED[dtype]}>({index})"
        return f"{register(dtype)}({index})"

    def _checked(self, op: PtirOp, operands: list[str], at: Place) -> str:
        """An elementwise op; one that divides integers notes where it was by 0, and divides by 1 there."""
        if not divides_integers(op):
            return emit(op, operands)
        self.fail(op, f"{operands[1]} == 0", linear(at, self), operands[0])
        type = register(op.operand_spec(0).dtype)
        return emit(op, [operands[0], f"({operands[1]} == 0 ? {type}(1) : {operands[1]})"])


def kept_line(name: str) -> str:
    """The statement that keeps a value for a later loop."""
    return f"{name}_[slot] = {name};"


def whole_place(shape: Dims) -> Place:
    """The place with the index over everything."""
    return place((shape, WHOLE))
