"""
A `dot_general` of any rank as a product of batches of matrices.

Neighbouring axes that are one axis in effect are joined. What is left over of an operand's own axes becomes batch axes that the
other operand does not move along; contracted axes that cannot be joined where they lie are, in a copy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir import PtirOp
from mind_dialect.ptir.types import F32, PtirDType
from mind_passes.ptir.building import accumulator

from ...launch.ref import row_major
from ...launch.views import VIEWS, Ints
from ..demanded import Demanded, Extents, shape_of
from ..nest import axes_of
from ..patterns import Builder
from ..target_info import TargetInfo
from ..views import Buffer, Use, View, whole
from .blocked import MOST_LOOKED_UP, MOST_ROWS, BlockedWeights
from .chain import Chain, Epilogue, Prologue, stored_in
from .kernels import BlockedStep, add_matrices
from .product import TOTALS, Limits, SizeLimit

Axis = tuple[int, tuple[int, ...]]
"""An extent, and how far each view moves."""


def is_tiled(op: ptir.DotGeneralOp) -> bool:
    """Return whether a product is one that is tiled here."""
    return accumulator(op) in TOTALS and not any(0 in shape_of(v) for v in op.operands)


def expand_product(build: Builder, op: ptir.DotGeneralOp) -> None:
    """Append a product that is tiled."""
    form = Form.of(op)
    lhs, rhs, out = form.matrices(form.operands(build), [build.target(op.result)])
    append(build, op, (lhs, rhs, out), None, form.limits(build.demanded, [op.result], lhs.shape[-2], rhs.shape[-1]))


def append(
    build: Builder, op: ptir.DotGeneralOp, views: tuple[View, View, View], epilogue: Epilogue | None, limits: Limits
) -> None:
    """Append the steps of a product of matrices."""
    name = op.result.name_hint or "product"
    if (weights := _blocked(build, op)) is not None:
        build.add(BlockedStep(name, views[0], weights, views[2], epilogue or stored_in(views[2], F32)))
        return
    prologue, turned = _prologue(build, op, views[:2], accumulator(op))
    add_matrices(build, name, views, accumulator(op), epilogue, prologue, turned=turned, limits=limits)


def _prologue(build: Builder, op: ptir.DotGeneralOp, operands: Sequence[View], total: PtirDType) -> tuple[Prologue | None, bool]:
    """Return the prologue of a matrix of weights that is more than converted when read, and whether it is the left operand."""
    for which, (value, view) in enumerate(zip(op.operands, operands, strict=True)):
        if value not in build.deferred or not (found := build.deferred[value]).ops:
            continue
        contracted = op.values()[("contract_lhs", "contract_rhs")[which]][0] % 2
        outer, depth = view.shape[:-2], view.shape[-2 if which else -1]
        shape = (*outer, depth, view.shape[-1 if which else -2])
        still = (0,) * len(outer)
        inputs = [
            replace(v, shape=shape, strides=(*still, v.strides[contracted], v.strides[1 - contracted])) for _, v in found.inputs
        ]
        given = dict(zip((value for value, _ in found.inputs), inputs, strict=True))
        return Prologue(Chain(found.root, found.source.dtype, found.ops, given, ()), total), which == 0
    return None, False


def can_read_blocked(op: ptir.DotGeneralOp, which: int, weights: View, most: int) -> bool:
    """
    Return whether a product reads weights in blocks, views of which are as if they lay in memory.

    They are the right operand, all axes of which but that of their rows are contracted, in order, with `most` rows in f32.
    """
    form = Form.of(op)
    if which != 1 or op.operands[0] is op.operands[1] or len(form.free[1]) != 1 or any(form.batch) or accumulator(op) is not F32:
        return False
    order, shape = [*form.free[1], *form.contract[1]], shape_of(op.lhs)
    in_order = replace(weights, shape=tuple([weights.shape[x] for x in order]), strides=_strides(weights, order)).is_dense
    return in_order and prod([shape[x] for x in form.free[0]]) <= most and op.operand_spec(0).dtype is F32


def may_read_blocked(op: ptir.DotGeneralOp, host: TargetInfo) -> bool:
    """Return whether a product of few rows reads what a fusion computes, which may be weights in blocks."""
    source = op.rhs
    while isinstance(source.owner, PtirOp) and type(source.owner) in VIEWS:
        source = source.owner.operands[0]
    is_fusion = isinstance(source.owner, ptir.FusionOp) and source.owner.pattern is None
    most = MOST_LOOKED_UP if host.has_avx512 else MOST_ROWS
    return is_fusion and prod([shape_of(op.lhs)[x] for x in Form.of(op).free[0]]) <= most


def _blocked(build: Builder, op: ptir.DotGeneralOp) -> BlockedWeights | None:
    """Return the weights in blocks that a product reads."""
    return build.deferred[op.rhs].weights if op.rhs in build.deferred else None


def _decoding_order(build: Builder, form: Form, weights: BlockedWeights) -> View:
    """Return the left operand of a product with weights in blocks, in the order in which these are decoded."""
    value, order = form.op.lhs, [*form.free[0], *form.contract[0]]
    view = build.view(value)
    lying = replace(view, shape=tuple([view.shape[x] for x in order]), strides=_strides(view, order))
    name, depth, count = value.name_hint or "operand", weights.depth, weights.per_byte

    def copied(source: View, target: Callable[[Buffer], View]) -> View:
        made = target(build.buffer(Use.ARENA, view.dtype, source.count, f"{name}.copy"))
        build.copy(value, source, made)
        return made

    if not isinstance(view.base, Buffer) or view.lookups or not lying.is_dense:
        lying = copied(lying, lambda buffer: whole(buffer, lying.shape))
    if count > 1:
        width = weights.width(build.host)
        shape = lying.count // depth, depth // (width * count), width, count
        apart = depth, width * count, 1, width
        lying = copied(
            replace(lying, shape=shape, strides=row_major(shape)), lambda buffer: View(buffer, view.dtype, shape, apart)
        )
    strides = dict(zip(order, row_major([view.shape[x] for x in order]), strict=True))
    return View(lying.base, view.dtype, view.shape, tuple([strides[x] for x in range(len(order))]), lying.offset)


@dataclass(frozen=True)
class Form:
    """Roles of the axes of a product's operands, counted from 0: batches, contracted, and each operand's own."""

    op: ptir.DotGeneralOp
    batch: list[list[int]]
    contract: list[list[int]]
    free: list[list[int]]

    @staticmethod
    def of(op: ptir.DotGeneralOp) -> Form:
        """The form of an op."""
        values, shapes = op.values(), [shape_of(v) for v in op.operands]

        def axes(role: str) -> list[list[int]]:
            given: list[Sequence[int]] = [values[f"{role}_lhs"], values[f"{role}_rhs"]]
            return [[axis % len(shape) for axis in axes] for axes, shape in zip(given, shapes, strict=True)]

        batch, contract = axes("batch"), axes("contract")
        free = [[x for x in range(len(s)) if x not in batch[i] and x not in contract[i]] for i, s in enumerate(shapes)]
        return Form(op, batch, contract, free)

    def operands(self, build: Builder) -> tuple[View, View]:
        """Both operands, in memory, so that their contracted axes are one."""
        if (weights := _blocked(build, self.op)) is not None:
            return _decoding_order(build, self, weights), build.deferred[self.op.rhs].source
        a, b = (_readable(build, self.op, i, [*self.batch[i], *self.free[i]], self.contract[i]) for i in (0, 1))
        return a, b

    def matrices(self, operands: tuple[View, View], results: Sequence[View]) -> list[View]:
        """Operands, and views in the shape of the result, as batches of matrices."""
        a, b = operands
        first, own = len(self.batch[0]), len(self.free[0])
        rows = _joined([a.shape[x] for x in self.free[0]], [_strides(a, self.free[0]), *_some(results, first, first + own)])
        columns = _joined([b.shape[x] for x in self.free[1]], [_strides(b, self.free[1]), *_some(results, first + own, None)])
        depth = _joined([a.shape[x] for x in self.contract[0]], [_strides(a, self.contract[0]), _strides(b, self.contract[1])])
        outer: list[Axis] = []
        for i, (x, y) in enumerate(zip(self.batch[0], self.batch[1], strict=True)):
            outer.append((a.shape[x], (a.strides[x], b.strides[y], *[r.strides[i] for r in results])))
        outer += [(n, (moved, 0, *places)) for n, (moved, *places) in rows[:-1]]
        outer += [(n, (0, moved, *places)) for n, (moved, *places) in columns[:-1]]
        outer = _joined([n for n, _ in outer], [[s[i] for _, s in outer] for i in range(2 + len(results))])
        outer = [(n, s) for n, s in outer if n > 1]
        (m, (a_row, *out_rows)), (n, (b_column, *out_columns)), (k, (a_step, b_step)) = rows[-1], columns[-1], depth[-1]

        def view(base: View, which: int, last: Ints, strides: Ints) -> View:
            extents = tuple([n for n, _ in outer])
            return View(base.base, base.dtype, extents + last, tuple([s[which] for _, s in outer]) + strides, base.offset)

        found = [view(a, 0, (m, k), (a_row, a_step)), view(b, 1, (k, n), (b_step, b_column))]
        for i, result in enumerate(results):
            found.append(view(result, 2 + i, (m, n), (out_rows[i], out_columns[i])))
        return found

    def limits(self, demanded: Demanded, results: Sequence[SSAValue], rows: int, columns: int) -> Limits:
        """Return the sizes that limit rows and columns: those of the outermost of the axes that are joined to these."""
        first = len(self.batch[0])
        middle = first + len(self.free[0])
        every = [demanded.along(value) for value in results]
        shape = shape_of(results[0])
        return _limit(every, shape, range(first, middle), rows), _limit(every, shape, range(middle, len(shape)), columns)

    def joins(self, operands: tuple[View, View], result: View, other: View) -> bool:
        """Return whether rows, and columns, that are one axis of operands and result are one of another view in its shape too."""
        first = len(self.batch[0])
        middle = first + len(self.free[0])
        for operand, axes, start, end in ((operands[0], self.free[0], first, middle), (operands[1], self.free[1], middle, None)):
            extents, own = [operand.shape[x] for x in axes], _strides(operand, axes)
            with_other = _joined(extents, [own, *_some([result, other], start, end)])
            if len(with_other) > len(_joined(extents, [own, *_some([result], start, end)])):
                return False
        return True


def _limit(every: Sequence[Extents], shape: Sequence[int], axes: range, count: int) -> SizeLimit | None:
    """Return the size that limits the last of some axes, whose extents multiply to a number, by the outermost one of them."""
    scale = 1
    for axis in reversed(axes):
        if shape[axis] != 1 and scale * shape[axis] == count:
            size = every[0][axis]
            return None if size is None or any(e[axis] is not size for e in every) else SizeLimit(size, scale)
        scale *= shape[axis]
    return None


def _some(views: Sequence[View], first: int, end: int | None) -> list[Ints]:
    return [v.strides[first:end] for v in views]


def _strides(view: View, axes: Sequence[int]) -> tuple[int, ...]:
    return tuple(view.strides[x] for x in axes)


def _joined(extents: Sequence[int], strides: Sequence[Sequence[int]]) -> list[Axis]:
    """Some axes, neighbours joined; one of extent 1 if there is no other."""
    found = [(axis.extent, tuple(axis.strides)) for axis in axes_of(tuple(extents), (), strides)]
    return found or [(1, (0,) * len(strides))]


def _readable(build: Builder, op: ptir.DotGeneralOp, which: int, kept: list[int], contract: list[int]) -> View:
    """An operand in memory whose contracted axes are one, or are after a copy with these axes last."""
    value = op.operands[which]
    view = build.deferred[value].source if value in build.deferred else build.view(value)
    if not isinstance(view.base, Buffer) or view.lookups:
        view = build.copied(value, view)
    if len(_joined([view.shape[x] for x in contract], [_strides(view, contract)])) == 1:
        return view
    order = [*kept, *contract]
    shape = tuple(view.shape[x] for x in order)
    strides = row_major(shape)
    spread = [0] * len(order)
    for place, axis in enumerate(order):
        spread[axis] = strides[place]
    target = whole(build.buffer(Use.ARENA, view.dtype, prod(shape), f"{value.name_hint or 'operand'}.copy"), shape)
    made = View(target.base, view.dtype, view.shape, tuple(spread))
    build.copy(value, view, made)
    return made
