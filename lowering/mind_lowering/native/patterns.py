"""
Kernel patterns of the native target: the protocol between a row of the table of kernels, the choice of a row, and the planner.

A row says in `match` what it would do for an op, given the places of its operands, and what that costs in nanoseconds, or why it
cannot. `expand` then appends kernels and their memory through a `Builder`. Text is made by `codegen`, when memory is assigned.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import AbstractContextManager
from math import prod
from typing import Any, Protocol

from xdsl.ir import Block, SSAValue

from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir import ConcatOp, PtirLiteralAttr, PtirOp, ReduceOp
from mind_dialect.ptir.types import PtirDType

from ..launch.kernel_patterns import Choice, Match, Rejection, Rejections, cheapest, moved_bytes
from . import costs
from .demanded import Demanded
from .products.deferred import Deferred
from .steps import NativeStep
from .target_info import TargetInfo, computes
from .views import Buffer, Use, View, filled


@dataclass(frozen=True)
class Operands:
    """Places of values when a kernel is chosen, and the values that are not computed because products read their sources."""

    views: Mapping[SSAValue, View]
    deferred: Mapping[SSAValue, Deferred]

    def body(self, block: Block, operands: Sequence[SSAValue]) -> dict[SSAValue, View]:
        """Return the places of the arguments of a body; arguments that are not computed have none."""
        pairs = zip(block.args, operands, strict=True)
        return {a: self.views[v] for a, v in pairs if v not in self.deferred and v in self.views}


class Builder(Protocol):
    """Interface of a plan to `expand`: reads places, makes memory, and appends kernels."""

    host: TargetInfo
    views: dict[SSAValue, View]
    deferred: dict[SSAValue, Deferred]
    joined: dict[ConcatOp, View]
    keep: list[Block]
    draws: int
    drawn: bool
    demanded: Demanded

    def shape(self, value: SSAValue, /) -> tuple[int, ...]:
        """Return the extents of a value."""
        ...

    def view(self, value: SSAValue, /) -> View:
        """Return the place of a value."""
        ...

    def buffer(self, use: Use, dtype: PtirDType, count: int, name: str, /) -> Buffer:
        """Make memory."""
        ...

    def buffer_of(self, view: View, /) -> Buffer:
        """Return the memory of a view that has some."""
        ...

    def new(self, use: Use, value: SSAValue, /) -> View:
        """Make memory for a value."""
        ...

    def target(self, value: SSAValue, /) -> View:
        """Make memory in the arena for a value, which is from now on there."""
        ...

    def constant(self, literal: PtirLiteralAttr, value: SSAValue, /) -> Buffer:
        """Make memory that holds a constant before any call."""
        ...

    def add(self, step: NativeStep, /) -> None:
        """Append a kernel."""
        ...

    def copy(self, value: SSAValue, source: View, target: View, /) -> object:
        """Append a copy of a value from one place to another."""
        ...

    def copied(self, value: SSAValue, source: View, /) -> View:
        """Append a copy of a value to memory of its own."""
        ...

    def group(self, ops: Sequence[PtirOp], results: Sequence[SSAValue], /) -> None:
        """Append ops as one group."""
        ...

    def reduction(self, op: ReduceOp, source: View, result: SSAValue, /) -> None:
        """Append one reduction of a view, whose result stands for another value."""
        ...

    def step(self, op: PtirOp, /) -> None:
        """Append an op by the row that is chosen for it."""
        ...

    def iterations(self) -> list[View]:
        """Return the induction variables of the loops around, in memory."""
        ...

    def hoists(self, views: Sequence[View], size: int, /) -> bool:
        """Return whether packing of views, which writes so many bytes, is hoisted before a loop or before all calls."""
        ...

    def packing(self, views: Sequence[View], size: int, key: Hashable = None, /) -> AbstractContextManager[None]:
        """Let what is appended be a packing of views where it is hoisted; those of one key give equal arrays."""
        ...


@dataclass(frozen=True)
class KernelPattern:
    """A row of the table of kernels: its name, the ops that it may take, and what it does."""

    name: str
    ops: tuple[type[PtirOp], ...]
    match: Callable[[Any, Operands, TargetInfo], Match | Rejection]
    expand: Callable[[Builder, Any, Match], None]
    unsupported: Callable[[Any, TargetInfo], str | None] | None = None
    """Return why a kind of machine cannot compute an op: rows that share the predicate are matched after one call of it."""
    is_general: bool = False
    """True if the row never costs less than the rows before it: it is matched only if none of them takes the op."""
    is_total: bool = False
    """True if the row takes each op that the machine can compute, wherever its operands are."""


def choose(rows: Sequence[KernelPattern], op: PtirOp, operands: Operands, host: TargetInfo) -> Choice[KernelPattern] | Rejections:
    """Return the row of least cost for an op, the first one of equals; all rejections if no row takes it."""
    reasons: dict[Callable[[Any, TargetInfo], str | None], str | None] = {}

    def match(row: KernelPattern) -> Match | Rejection:
        if row.unsupported is not None and row.unsupported not in reasons:
            reasons[row.unsupported] = row.unsupported(op, host)
        reason = None if row.unsupported is None else reasons[row.unsupported]
        return row.match(op, operands, host) if reason is None else Rejection(reason)

    return cheapest(rows, match)


def moving(values: Sequence[SSAValue]) -> float:
    """Return about how many nanoseconds it takes to read or write each of some values once."""
    return moved_bytes(values) / costs.BYTES


def in_memory(build: Builder, value: SSAValue) -> View:
    """Return the view of a value in memory; a copy of one that is nowhere, or is looked up."""
    view = build.view(value)
    return view if isinstance(view.base, Buffer) and not view.lookups else build.copied(value, view)


def readable(build: Builder, value: SSAValue) -> View:
    """Return the view of a value, also where no memory holds it; a copy of one that is looked up."""
    view = build.view(value)
    return build.copied(value, view) if view.lookups else view


def fill_of(literal: PtirLiteralAttr, shape: tuple[int, ...], host: TargetInfo) -> View | None:
    """Return the view of a constant of one number, which needs no memory if its dtype is computed in."""
    if (not literal.is_fill and prod(shape) != 1) or not computes(literal.spec[0], host):
        return None
    return filled(PtirLiteralAttr.from_bytes(literal.spec[0], (), literal.data.data), shape)


def row(
    name: str,
    op: type[PtirOp],
    expand: Callable[[Builder, Any], None],
    reason: Callable[[Any, TargetInfo], str | None] | None = None,
) -> KernelPattern:
    """Return a row for one op that reads its operands and writes its results once; `reason` says why it cannot."""

    def match(op: PtirOp, operands: Operands, host: TargetInfo) -> Match | Rejection:
        return Match(moving([*op.operands, *op.results]))

    return KernelPattern(name, (op,), match, lambda build, op, match: expand(build, op), reason, is_total=True)
