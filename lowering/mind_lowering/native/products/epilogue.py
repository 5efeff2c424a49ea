"""
Elementwise ops on the results of a product while they are in registers: bias, activation, residual, mask, a step of descent.

The other operands are read where they lie, one vector at the place of each vector of results; what is the same for several
vectors is read once. Every value that somebody needs is written once.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.ptir import PtirLiteralAttr, PtirOp
from mind_dialect.ptir.types import Kind, PtirDType, read_type

from ..casts import cast, constant, counted
from ..elementwise import emit
from ..failures import RECORD_NUMBERS, Sites
from ..ir import Function, identifier
from ..kernel_text import index_of
from ..lanes import Lanes
from ..views import VIEWS, Buffer, Indices, View
from .product import Epilogue, Finish

LIGHT = frozenset({"add", "sub", "mul", "maximum", "minimum", "neg", "abs", "select", "compare", "cast", "stop_gradient"})
"""Ops of one or two instructions."""
MADE = (*VIEWS, ptir.ConstantOp, ptir.IotaOp)
"""Ops that are views of what is outside, or of nothing."""
MOST_LIGHT = 6
"""So many of these at most are emitted for each vector of a tile."""
FLAG = RECORD_NUMBERS - 1
"""The number of the record that says that a place was outside, where kernels are checked."""


def can_fail(op: PtirOp) -> bool:
    """Return whether an elementwise op fails on some inputs: such ops are in no epilogue."""
    return isinstance(op, ptir.DivOp | ptir.RemainderOp) and op.operand_spec(0).dtype.kind is not Kind.FLOAT


@dataclass(frozen=True)
class Chain:
    """
    Elementwise `ops` that begin with `root`, the result of a product.

    `inputs` and `outputs` are views in the product's axes.
    """

    root: SSAValue
    total: PtirDType
    """Dtype that the product is accumulated in."""
    ops: Sequence[PtirOp]
    inputs: Mapping[SSAValue, View]
    outputs: Sequence[tuple[SSAValue, View]]

    @property
    def reads(self) -> list[View]:
        """The inputs that lie in memory."""
        return [v for v in self.inputs.values() if isinstance(v.base, Buffer)]

    def epilogue(self, over: Sequence[tuple[Buffer, Buffer]] = ()) -> Epilogue:
        """Return the epilogue of a product; `over` says which output may take over the memory of which input."""
        codes = [op.OPCODE for op in self.ops]
        heavy = len(codes) > MOST_LIGHT or not LIGHT.issuperset(codes)
        writes = [v for _, v in self.outputs]
        return Epilogue(self.begin, self.reads, writes, self.key(), heavy, over=over, words=" ".join(codes))

    def key(self) -> Hashable:
        """Return all that the text of the epilogue depends on."""
        numbers: dict[SSAValue, int] = {self.root: 0}
        parts: list[Hashable] = ["chain", self.total, read_type(self.root.type).dtype]
        for value, view in self.inputs.items():
            numbers[value] = len(numbers)
            place = "memory" if isinstance(view.base, Buffer) else (view.base, view.offset)
            parts.append((place, view.dtype, view.strides))
        for op in self.ops:
            parts.append((type(op), tuple([numbers[v] for v in op.operands]), frozenset(op.properties.items())))
            numbers[op.results[0]] = len(numbers)
            parts.append(read_type(op.results[0].type).dtype)
        parts += [(numbers[v], view.dtype, view.strides) for v, view in self.outputs]
        return tuple(parts)

    def begin(self, f: Function, arguments: Sequence[str]) -> Finish:
        """The epilogue in a function: `arguments` are the addresses of the inputs in memory, then of the outputs."""
        values = self.values(f, arguments[: len(self.reads)])
        targets = list(zip(self.outputs, arguments[len(self.reads) :], strict=True))

        def finish(lanes: Lanes, at: Sequence[str], along: int, value: str) -> None:
            found = values(lanes, at, along, value)
            for (result, view), base in targets:
                ResultPlace(f, at, along).write(lanes, view, base, found[result])

        return finish

    def values(self, f: Function, arguments: Sequence[str]) -> Callable[[Lanes, Sequence[str], int, str], dict[SSAValue, str]]:
        """Return an emitter of all values at a place, given the root's; `arguments` are the addresses of the inputs in memory."""
        addresses = iter(arguments)
        bases = {value: next(addresses) if isinstance(view.base, Buffer) else "" for value, view in self.inputs.items()}
        known: dict[Hashable, str] = {}
        """Values read so far, by block and place."""

        def found(lanes: Lanes, at: Sequence[str], along: int, value: str) -> dict[SSAValue, str]:
            place = ResultPlace(f, at, along)
            values = {self.root: cast(lanes, value, self.total, read_type(self.root.type).dtype)}
            for operand, view in self.inputs.items():
                lanes.hint = identifier(operand.name_hint or "e")
                moving = tuple([i for i, stride in zip(at, view.strides, strict=True) if stride])
                key = (operand, f.block, lanes.width, lanes.mask, along, moving)
                if key not in known:
                    known[key] = place.read(lanes, view, bases[operand])
                values[operand] = known[key]
            sites = Sites()
            for op in self.ops:
                lanes.hint = identifier(op.results[0].name_hint or op.OPCODE)
                values[op.results[0]] = emit(lanes, op, [values[v] for v in op.operands], sites)
            assert not sites.found, "ops that can fail are in no epilogue"
            return values

        return found


@dataclass(frozen=True)
class ResultPlace:
    """Place of a vector of results: the indices of its first lane, and the axis that lanes run along."""

    function: Function
    at: Sequence[str]
    along: int

    def read(self, lanes: Lanes, view: View, base: str) -> str:
        """The elements of a view at this place."""
        stride = view.strides[self.along]
        if isinstance(view.base, PtirLiteralAttr):
            return constant(lanes, view.base)
        index = index_of(self.function, view, self.at)
        if isinstance(view.base, Indices):
            return counted(lanes, lanes.count(self.function.add(index, str(view.offset)), stride), view.dtype)
        self.guard(lanes, view, index, stride)
        return lanes.load(view.dtype, base, index, stride)

    def write(self, lanes: Lanes, view: View, base: str, value: str) -> None:
        """Put elements at this place of a view."""
        index, stride = index_of(self.function, view, self.at), view.strides[self.along]
        self.guard(lanes, view, index, stride)
        lanes.store(view.dtype, value, base, index, stride)

    def guard(self, lanes: Lanes, view: View, index: str, stride: int) -> None:
        """
        Leave a tile, in checked kernels, unless its first and last lanes are inside of the memory.

        Tiles give nothing back: the record says so, and the kernel looks at it at its end.
        """
        f = self.function
        if not lanes.host.checked or not isinstance(view.base, Buffer):
            return
        count = lanes.mask.count("true") if lanes.mask is not None else lanes.width
        one = Lanes(f, lanes.host, 1)
        for at in (index, f.add(index, str((count - 1) * stride))):
            beyond = one.compare("icmp uge", "i64", f.add(at, str(view.offset)), str(view.base.count))
            f.leave(beyond, _noted(f, at))


def _noted(f: Function, at: str) -> Callable[[], str]:
    """Notes in the record what is outside, and gives the status to leave with: that of the first site, or none of a tile."""

    def status() -> str:
        record = f.op("load ptr, ptr %args, align 8", "record")
        f.do(f"store i64 {at}, ptr {record}, align 8")
        if f.result != "void":
            return "1"
        f.do(f"store i64 1, ptr {f.address('i64', record, str(FLAG))}, align 8")
        return ""

    return status


def look_at_flag(f: Function) -> None:
    """At the end of a kernel that is checked: leave it with the status of its first site if a tile was outside."""
    record = f.op("load ptr, ptr %args, align 8", "record")
    place = f.address("i64", record, str(FLAG))

    def status() -> str:
        f.do(f"store i64 0, ptr {place}, align 8")
        return "1"

    f.leave(f.op(f"icmp ne i64 {f.op(f'load i64, ptr {place}, align 8', 'flag')}, 0", "outside"), status)
