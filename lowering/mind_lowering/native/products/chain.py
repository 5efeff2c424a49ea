"""
The epilogue of a product, applied to finished results, and its prologue, applied to weights as they are read.

This is data, which a plan holds; `epilogue.py` has the emitters.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Protocol

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir import PtirOp
from mind_dialect.ptir.types import PtirDType, read_type

from ...launch.views import VIEWS
from ..ir import Function
from ..lanes import Lanes
from ..views import Buffer, View, form

LIGHT = frozenset({"add", "sub", "mul", "maximum", "minimum", "neg", "abs", "select", "compare", "cast", "stop_gradient"})
"""Ops of one or two instructions."""
MADE = (*VIEWS, ptir.ConstantOp, ptir.IotaOp)
"""Ops that are views of what is outside, or of nothing."""
MOST_LIGHT = 6
"""So many of these at most are emitted for each vector of a tile."""


class Finish(Protocol):
    """
    Emitter of the use of finished results, for one vector.

    `at` are the indices of the first lane along the axes of `out`; lanes run along axis `along`.
    """

    def __call__(self, lanes: Lanes, at: Sequence[str], along: int, value: str, /) -> None: ...


Decode = Callable[[Lanes, Sequence[str], int, str], str]
"""Elements as numbers that are multiplied, given lanes, the indices of the first, the axis of the lanes, and elements."""


BeginFinish = Callable[[Function, Sequence[str]], Finish]
"""Emitter of an epilogue in a function, given the addresses of what it reads, then of what it writes."""
BeginDecode = Callable[[Function, Sequence[str]], Decode]
"""Emitter of a prologue in a function, given the addresses of what it reads."""


@dataclass(frozen=True)
class Stored:
    """An epilogue that converts results, accumulated in `total`, and stores them in a view."""

    out: View
    total: PtirDType


@dataclass(frozen=True)
class Divided:
    """An epilogue that divides by the sum of a row's weights and stores; where `guarded`, a sum of 0 counts as 1."""

    totals: View
    out: View
    guarded: bool


@dataclass(frozen=True)
class Epilogue:
    """
    Use of results while they are in registers, in the dtype that was accumulated in.

    `of` says what is done, by a row of `epilogue.BEGIN`. Texts of equal keys are equal.
    """

    of: Any
    reads: Sequence[View]
    writes: Sequence[View]
    key: Hashable
    heavy: bool = False
    """True if it is many instructions, so that it is not emitted for each vector of a tile."""
    over: Sequence[tuple[Buffer, Buffer]] = ()
    """Pairs of a written and a read buffer, of which one may take over the other's memory: those that go place by place."""
    words: str = ""
    """Description for the text of the module."""
    plain: bool = False
    """True if it does no more than store."""

    @property
    def views(self) -> list[View]:
        """Return the views whose addresses are arguments."""
        return [*self.reads, *self.writes]


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
        return Epilogue(self, self.reads, writes, self.key(), heavy, over=over, words=" ".join(codes))

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


@dataclass(frozen=True)
class Prologue:
    """Conversion of each element of the right operand when it is read, before it is multiplied in `total`."""

    chain: Chain
    total: PtirDType

    @property
    def reads(self) -> list[View]:
        """Return the views that are read: they have the axes of the operand, and are the same in all of its matrices."""
        return self.chain.reads

    @property
    def key(self) -> Hashable:
        """Return all that its text depends on."""
        return self.chain.key(), self.total

    @property
    def words(self) -> str:
        """Return a description for the text of the module."""
        return " ".join(op.OPCODE for op in self.chain.ops)


def stored_in(out: View, total: PtirDType) -> Epilogue:
    """Return the epilogue that converts results and stores them in a view."""
    return Epilogue(Stored(out, total), (), (out,), ("stored", form(out), total), plain=True)


def divided(totals: View, out: View, guarded: bool) -> Epilogue:
    """Return the epilogue that divides by the sum of a row's weights and stores."""
    key = "divided", totals.dtype, out.dtype, out.strides, guarded
    return Epilogue(Divided(totals, out, guarded), (totals,), (out,), key)


def taken_over(operands: Sequence[View], inputs: Sequence[View], targets: Sequence[View]) -> list[tuple[Buffer, Buffer]]:
    """Return pairs of a result and the input that it may be put over: all of it is read place by place, and it is no factor."""
    found: list[tuple[Buffer, Buffer]] = []
    for target in targets:
        for view in inputs:
            base = view.base
            if not isinstance(base, Buffer) or not isinstance(target.base, Buffer) or any(v.base is base for v in operands):
                continue
            if all(v.is_whole and v.shape == target.shape for v in inputs if v.base is base):
                found.append((target.base, base))
    return found
