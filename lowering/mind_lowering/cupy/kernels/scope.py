"""
The body of a fusion as C++ statements: what some of its values are at given places, each computed once per place.

The walk is that of the indexing analysis; values are read and computed after the indices that they need.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.ptir import PtirOp, ReduceOp
from mind_dialect.ptir.types import PtirDType

from .indexing import WHOLE, IndexingWalk, Known
from .maps import MAPS, Key
from .places import Place, dims_of, linear, repeated, spec
from .scalars import NARROW, STORED, cast, divides_integers, emit, literal, register


@dataclass
class KernelSource(Known):
    """The parts of a kernel other than its statements: parameters, and facts found on the way."""

    pointers: Mapping[SSAValue, str]
    """The parameter of each input."""
    count: int = 0

    def fresh(self, letter: str) -> str:
        """A new name."""
        self.count += 1
        return f"{letter}{self.count}"

    def site(self, op: PtirOp) -> int:
        """The number of the first site of an op that can fail."""
        return [o for o, _ in self.body.sites].index(op)


class Scope(IndexingWalk):
    """Statements that see one set of loop variables."""

    source: KernelSource

    def __init__(self, source: KernelSource, earlier: Mapping[Key, str] | None = None, *, keeps: bool = False):
        super().__init__(source)
        self.lines: list[str] = []
        self.packed: dict[SSAValue, str] = {}
        """Inputs that can be read several elements at once, and the arrays that hold them."""
        self.unpacked: set[SSAValue] = set()
        """Inputs that are read so."""
        self.earlier = dict(earlier or {})
        """Values that earlier loops computed at the same places."""
        self.reused: dict[Key, str] = {}
        """Values of earlier loops that are used here."""
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

    def kept(self, value: SSAValue, at: Place) -> str | None:
        if (value, at) not in self.earlier:
            return None
        name = self.reused[value, at] = self.earlier[value, at]
        self.lines.append(f"const {register(spec(value)[0])} {name} = {name}_[slot];")
        return name

    def read(self, value: SSAValue, at: Place) -> str:
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

    def computed(self, op: PtirOp, at: Place) -> str:
        """The result of an op whose operands are there."""
        dtype = spec(op.results[0])[0]
        if isinstance(op, ptir.ConstantOp):
            return literal(dtype, op.literal.item())
        if isinstance(op, ptir.IotaOp):
            text = self._numbered(op, at, dtype)
        else:
            operands = [self.names[key] for key in self.reads(op, at)]
            if isinstance(op, ptir.BroadcastToOp | ptir.ReshapeOp):
                return operands[0]
            if type(op) in MAPS:
                text = self.map(op, at).text(operands)
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
