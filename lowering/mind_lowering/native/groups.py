"""
A group: elementwise ops over one shape, and reductions of what they give, as one kernel. `codegen` chooses its loop nest.

A copy is a group of no ops: one input, one output, each wherever it lies.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import field, replace
from functools import cached_property
from itertools import pairwise

from xdsl.ir import SSAValue

from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir import PtirOp, ReduceOp
from mind_dialect.ptir.types import read_type
from mind_passes.ptir.building import accumulator

from ..launch.views import Ints
from . import costs
from .complex_parts import of_parts
from .memory import Access, buffers_of
from .nontemporal import LEAST, passing
from .slides import Clip
from .steps import NativeStep
from .target_info import TargetInfo
from .views import Buffer, Joined, View, indices_of


@dataclass
class Group(NativeStep):
    """
    Computation of one kernel.

    `inputs` says where each value lies that the ops take from outside, in the group's shape.
    """

    name: str
    shape: Ints
    inputs: dict[SSAValue, View] = field(default_factory=dict[SSAValue, View])
    ops: list[PtirOp] = field(default_factory=list[PtirOp])
    outputs: list[tuple[SSAValue, View]] = field(default_factory=list[tuple[SSAValue, View]])
    reductions: list[tuple[ReduceOp, View]] = field(default_factory=list[tuple[ReduceOp, View]])
    """All over the same axes."""
    tables: dict[PtirOp, View] = field(default_factory=dict[PtirOp, View])
    """Of each op that looks up elements at indices which the group computes: where they lie, in the group's shape."""
    partial: Ints | None = None
    """Of a part of a reduction: the axes that are reduced in its shape; results lie as they are accumulated."""
    limited: frozenset[int] = frozenset()
    """Axes that sizes limit: units of work are runs along them."""
    clips: Sequence[Clip] = ()
    """Windows that reach beyond the inputs, which are read inside alone."""
    keeps_lanes: bool = False
    """True if lanes run along results, so that each adds up in the order of what is reduced."""

    @property
    def axes(self) -> Ints:
        """The axes that are reduced."""
        if self.partial is not None:
            return self.partial
        return tuple(a % len(self.shape) for a in self.reductions[0][0].values()["axes"]) if self.reductions else ()

    @cached_property
    def views(self) -> Sequence[View]:
        """Every view in the group's shape, in order: inputs, outputs, results of reductions, tables, then indices of lookups."""
        found = [*self.inputs.values(), *(v for _, v in self.outputs), *(spread(v, self) for _, v in self.reductions)]
        found += self.tables.values()
        return [*found, *indices_of(found)]

    @property
    def sources(self) -> Sequence[PtirOp]:
        lookups = (k for view in self.views for k in view.lookups if k.index is not None)
        return [*self.ops, *(k.origin for k in lookups if k.origin is not None)]

    @property
    def addresses(self) -> Sequence[View]:
        return [v for v in self.views if isinstance(v.base, Buffer)]

    def access(self) -> Access:
        reads = buffers_of([*self.inputs.values(), *self.tables.values(), *indices_of(self.views)])
        writes = buffers_of(v for _, v in (*self.outputs, *self.reductions))
        return Access(reads, writes, self._over())

    def operands(self, op: PtirOp) -> Sequence[SSAValue]:
        """Return the operands of an op of the group that are in its lanes: all, but for a table."""
        return op.operands[1:] if op in self.tables else op.operands

    def key(self) -> Hashable:
        numbers: dict[SSAValue, int] = {}
        parts: list[Hashable] = [self.shape, self.axes, self.partial is None, self.limited, tuple(self.clips), self.keeps_lanes]
        for value in self.inputs:
            numbers[value] = len(numbers)
            parts.append(read_type(value.type).dtype)
        for op in self.ops:
            operands = tuple([numbers[v] for v in self.operands(op)])
            parts.append((type(op), operands, frozenset(op.properties.items())))
            numbers[op.results[0]] = len(numbers)
            parts.append(read_type(op.results[0].type).dtype)
        parts += [numbers[v] for v, _ in self.outputs]
        for op, _ in self.reductions:
            parts.append((numbers[op.x], frozenset(op.properties.items()), read_type(op.result.type).dtype))
        parts += [layout(v) for v in self.views] + self.past() + sorted(self.joined)
        return tuple(parts)

    @cached_property
    def joined(self) -> set[int]:
        """Return the outputs that are real parts of complex numbers whose imaginary parts are the next output."""
        targets = [v for _, v in self.outputs]
        pairs = enumerate(pairwise(targets))
        return {k for k, (a, b) in pairs if (a.base, a.strides, a.offset + 1) == (b.base, b.strides, b.offset)}

    def past(self, cache: int = LEAST) -> list[bool]:
        """Return which results are written by non-temporal stores, as `passing` does; of joined ones the first."""
        targets = [of_parts(v) if k in self.joined else v for k, (_, v) in enumerate(self.outputs) if k - 1 not in self.joined]
        found = iter(passing([*self.inputs.values(), *self.tables.values()], targets, cache))
        return [k - 1 not in self.joined and next(found) for k in range(len(self.outputs))]

    def cost(self, host: TargetInfo) -> float:
        return costs.elementwise(host, self.shape, [*self.ops, *(op for op, _ in self.reductions)], self.views)

    def contents(self) -> str:
        codes = [op.OPCODE for op in self.ops] + [op.OPCODE for op, _ in self.reductions]
        return f"{' '.join(codes) or 'copy'} over {list(self.shape)}"

    def _over(self) -> list[tuple[Buffer, Buffer]]:
        """Return pairs of a result and the operand that it may be put over: those that are read and written place by place."""
        found: list[tuple[Buffer, Buffer]] = []
        for _, target in self.outputs:
            if not target.is_whole or target.shape != self.shape:
                continue
            for view in self.inputs.values():
                if not isinstance(view.base, Buffer) or not isinstance(target.base, Buffer):
                    continue
                alike = all(v.is_whole and v.shape == self.shape for v in self.views if v.base is view.base)
                if alike and view.dtype.size == target.dtype.size:
                    found.append((target.base, view.base))
        return found

    def is_idle(self) -> bool:
        """Return whether it is a copy of a value onto itself: buffers have their places by now."""
        if self.ops or self.reductions or len(self.outputs) != 1:
            return False
        ((_, target),), (source,) = self.outputs, self.inputs.values()
        if source.lookups or target.lookups or not isinstance(source.base, Buffer) or not isinstance(target.base, Buffer):
            return False
        alike = all(n == 1 or a == b for n, a, b in zip(self.shape, source.strides, target.strides, strict=True))
        return source.base.location == target.base.location and source.offset == target.offset and alike


def forwards(group: Group) -> Group:
    """
    Return a group that goes through axes the other way round along which its inputs lie backwards, element by element.

    Results must not be consecutive along such an axis: a transpose with a reversal then meets vectors of neighbours in order.
    """
    targets, inputs = [v for _, v in group.outputs], list(group.inputs.values())
    is_plain = type(group) is Group and not (group.reductions or group.tables or group.clips or group.limited)
    if not is_plain or any(v.lookups or isinstance(v.base, Joined) for v in group.views):
        return group
    along = [
        a
        for a in range(len(group.shape))
        if any(v.strides[a] == -1 for v in inputs)
        and not any(v.strides[a] == 1 and isinstance(v.base, Buffer) for v in inputs)
        and not any(abs(v.strides[a]) == 1 for v in targets)
    ]
    if not along:
        return group
    turned = {value: _turned(v, along) for value, v in group.inputs.items()}
    return replace(group, inputs=turned, outputs=[(value, _turned(v, along)) for value, v in group.outputs])


def _turned(view: View, along: Sequence[int]) -> View:
    """Return the same elements with some axes the other way round."""
    strides = tuple(-s if a in along else s for a, s in enumerate(view.strides))
    return replace(view, strides=strides, offset=view.offset + sum((view.shape[a] - 1) * view.strides[a] for a in along))


def layout(view: View) -> Hashable:
    """Return all of a view that a kernel's text depends on: the address of its memory is an argument."""
    lookups = tuple([(k.stride, k.extent, k.clamped, k.axis) for k in view.lookups])
    if isinstance(view.base, Buffer):
        return "memory", view.dtype, view.strides, lookups
    return view.base, view.dtype, view.strides, view.offset, lookups


def spread(view: View, group: Group) -> View:
    """Return the result of a reduction as a view in the group's shape that does not move along reduced axes."""
    if group.partial is not None:
        return view
    reduced = set(group.axes)
    keepdims = len(view.shape) == len(group.shape)
    left = list(view.strides)
    strides: list[int] = []
    for place in range(len(group.shape)):
        if place in reduced:
            strides.append(0)
            if keepdims:
                left.pop(0)
        else:
            strides.append(left.pop(0))
    return View(view.base, view.dtype, group.shape, tuple(strides), view.offset)


def only_summed(group: Group) -> set[PtirOp]:
    """The products that nothing but a sum uses: they need no rounding of their own."""
    summed = {r.x for r, _ in group.reductions if r.values()["kind"] == "sum" and accumulator(r) is r.operand_spec(0).dtype}
    used = {v for op in group.ops for v in op.operands} | {v for v, _ in group.outputs}
    return {op for op in group.ops if op.OPCODE == "mul" and op.results[0] in summed and op.results[0] not in used}
