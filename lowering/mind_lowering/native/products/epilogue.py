"""
Elementwise ops on the results of a product while they are in registers: bias, activation, residual, mask, a step of descent.

The other operands are read where they lie, one vector at the place of each vector of results; what is the same for several
vectors is read once. Every value that somebody needs is written once.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any

from xdsl.ir import SSAValue

from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir import PtirLiteralAttr
from mind_dialect.ptir.types import read_type

from ..casts import cast, constant, counted
from ..elementwise import emit
from ..failures import RECORD_NUMBERS, Sites
from ..ir import Function, identifier
from ..kernel_text import index_of
from ..lanes import Lanes, register
from ..views import Buffer, Indices, View
from .chain import BeginFinish, Chain, Decode, Divided, Epilogue, Finish, Prologue, Stored
from .product import EmittedProduct, Product

FLAG = RECORD_NUMBERS - 1
"""The number of the record that says that a place was outside, where kernels are checked."""


def _chained(chain: Chain, f: Function, arguments: Sequence[str]) -> Finish:
    """The epilogue in a function: `arguments` are the addresses of the inputs in memory, then of the outputs."""
    values = _values(chain, f, arguments[: len(chain.reads)])
    targets = list(zip(chain.outputs, arguments[len(chain.reads) :], strict=True))

    def finish(lanes: Lanes, at: Sequence[str], along: int, value: str) -> None:
        found = values(lanes, at, along, value)
        for (result, view), base in targets:
            ResultPlace(f, at, along).write(lanes, view, base, found[result])

    return finish


def _values(
    chain: Chain, f: Function, arguments: Sequence[str]
) -> Callable[[Lanes, Sequence[str], int, str], dict[SSAValue, str]]:
    """Return an emitter of all values at a place, given the root's; `arguments` are the addresses of the inputs in memory."""
    addresses = iter(arguments)
    bases = {value: next(addresses) if isinstance(view.base, Buffer) else "" for value, view in chain.inputs.items()}
    known: dict[Hashable, str] = {}
    """Values read so far, by block and place."""

    def found(lanes: Lanes, at: Sequence[str], along: int, value: str) -> dict[SSAValue, str]:
        place = ResultPlace(f, at, along)
        values = {chain.root: cast(lanes, value, chain.total, read_type(chain.root.type).dtype)}
        for operand, view in chain.inputs.items():
            lanes.hint = identifier(operand.name_hint or "e")
            moving = tuple([i for i, stride in zip(at, view.strides, strict=True) if stride])
            key = (operand, f.block, lanes.width, lanes.mask, along, moving)
            if key not in known:
                known[key] = place.read(lanes, view, bases[operand])
            values[operand] = known[key]
        sites = Sites()
        for op in chain.ops:
            lanes.hint = identifier(op.results[0].name_hint or op.OPCODE)
            values[op.results[0]] = emit(lanes, op, [values[v] for v in op.operands], sites)
        assert not sites.found, "an epilogue cannot contain ops that can fail"
        return values

    return found


def _stored(stored: Stored, f: Function, arguments: Sequence[str]) -> Finish:
    """Return the emitter that converts results and stores them."""
    (base,), out = arguments, stored.out

    def finish(lanes: Lanes, at: Sequence[str], along: int, value: str) -> None:
        lanes.store(out.dtype, cast(lanes, value, stored.total, out.dtype), base, index_of(f, out, at), out.strides[along])

    return finish


def _divided(divided: Divided, f: Function, arguments: Sequence[str]) -> Finish:
    """Return the emitter of results divided by the sum of the weights of their rows."""
    (below, base), totals, out = arguments, divided.totals, divided.out

    def finish(lanes: Lanes, at: Sequence[str], along: int, value: str) -> None:
        total, type = lanes.load(totals.dtype, below, index_of(f, totals, at), 0), register(totals.dtype)
        if divided.guarded:
            none = lanes.compare("fcmp oeq", type, total, lanes.constant(totals.dtype, 0))
            total = lanes.select(none, type, lanes.constant(totals.dtype, 1), total)
        found = lanes.binary("fdiv", type, value, total)
        lanes.store(out.dtype, cast(lanes, found, totals.dtype, out.dtype), base, index_of(f, out, at), out.strides[along])

    return finish


BEGIN: dict[type[Any], Callable[[Any, Function, Sequence[str]], Finish]] = {
    Chain: _chained,
    Stored: _stored,
    Divided: _divided,
}
"""By what an epilogue does: its emitter in a function, given the addresses of what it reads, then of what it writes."""


def begin_decoding(prologue: Prologue, f: Function, arguments: Sequence[str]) -> Decode:
    """Return the emitter of a prologue in a function, given the addresses of what it reads."""
    values, result = _values(prologue.chain, f, arguments), prologue.chain.ops[-1].results[0]
    dtype = read_type(result.type).dtype
    return lambda lanes, at, along, x: cast(lanes, values(lanes, at, along, x)[result], dtype, prologue.total)


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
            beyond = one.compare("icmp uge", "i64", f.add(at, str(view.offset)), str(view.room))
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


def emitted(product: Product) -> EmittedProduct:
    """Return a product with the emitters of its prologue and its epilogue."""
    prologue = product.prologue
    decode = None if prologue is None else partial(begin_decoding, prologue)
    return EmittedProduct(**vars(product), finish=begin_finishing(product.epilogue), decode=decode)


def begin_finishing(epilogue: Epilogue) -> BeginFinish:
    """Return the emitter of an epilogue."""
    return partial(BEGIN[type(epilogue.of)], epilogue.of)
