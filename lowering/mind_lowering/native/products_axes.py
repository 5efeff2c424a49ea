"""
A `dot_general` of any rank as a product of batches of matrices.

Neighbouring axes that are one axis in effect are joined. What is left over of an operand's own axes becomes batch axes that the
other operand does not move along; contracted axes that cannot be joined where they lie are, in a copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

from mind_dialect import ptir
from mind_dialect.ptir.types import PtirDType

from .nest import axes_of
from .products import TOTALS, planned
from .products_kernels import steps_of
from .views import Buffer, Ints, Use, View, row_major, whole

if TYPE_CHECKING:
    from .planner import Planner

Axis = tuple[int, tuple[int, ...]]
"""An extent, and how far each view moves."""


def add_product(planner: Planner, op: ptir.DotGeneralOp, total: PtirDType) -> bool:
    """Append a product, accumulated in `total`, to the steps of a planner; whether it is one that is tiled here."""
    shapes = [planner.shape(v) for v in op.operands]
    if total not in TOTALS or any(0 in shape for shape in shapes):
        return False
    batch, contract = _axes(op, "batch", shapes), _axes(op, "contract", shapes)
    free = [[x for x in range(len(s)) if x not in batch[i] and x not in contract[i]] for i, s in enumerate(shapes)]
    a, b = (_readable(planner, op, i, [*batch[i], *free[i]], contract[i]) for i in (0, 1))
    lhs, rhs, out = _matrices((a, b, planner.target(op.result)), batch, free, contract)

    def scratch(dtype: PtirDType, count: int, name: str) -> Buffer:
        return planner.buffer(Use.ARENA, dtype, count, name)

    product = planned(planner.host, op.result.name_hint or "product", lhs, rhs, out, total, scratch)
    for step in steps_of(product):
        planner.add(step)
    return True


def _axes(op: ptir.DotGeneralOp, role: str, shapes: Sequence[Ints]) -> list[list[int]]:
    """The axes of a role, counted from 0, of both operands."""
    values = op.values()
    given: list[Sequence[int]] = [values[f"{role}_lhs"], values[f"{role}_rhs"]]
    return [[axis % len(shape) for axis in axes] for axes, shape in zip(given, shapes, strict=True)]


def _matrices(
    views: tuple[View, View, View], batch: list[list[int]], free: list[list[int]], contract: list[list[int]]
) -> tuple[View, View, View]:
    """Operands and result as batches of matrices."""
    a, b, out = views
    first, own = len(batch[0]), len(free[0])
    rows = _joined([a.shape[x] for x in free[0]], [_strides(a, free[0]), out.strides[first : first + own]])
    columns = _joined([b.shape[x] for x in free[1]], [_strides(b, free[1]), out.strides[first + own :]])
    depth = _joined([a.shape[x] for x in contract[0]], [_strides(a, contract[0]), _strides(b, contract[1])])
    outer: list[Axis] = []
    for i, (x, y) in enumerate(zip(batch[0], batch[1], strict=True)):
        outer.append((a.shape[x], (a.strides[x], b.strides[y], out.strides[i])))
    outer += [(n, (moved, 0, place)) for n, (moved, place) in rows[:-1]]
    outer += [(n, (0, moved, place)) for n, (moved, place) in columns[:-1]]
    outer = [(n, s) for n, s in _joined([n for n, _ in outer], [[s[i] for _, s in outer] for i in range(3)]) if n > 1]
    (m, (a_row, out_row)), (n, (b_column, out_column)), (k, (a_step, b_step)) = rows[-1], columns[-1], depth[-1]

    def view(which: int, last: Ints, strides: Ints) -> View:
        base, extents = views[which], tuple([n for n, _ in outer])
        return View(base.base, base.dtype, extents + last, tuple([s[which] for _, s in outer]) + strides, base.offset)

    return view(0, (m, k), (a_row, a_step)), view(1, (k, n), (b_step, b_column)), view(2, (m, n), (out_row, out_column))


def _strides(view: View, axes: Sequence[int]) -> tuple[int, ...]:
    return tuple(view.strides[x] for x in axes)


def _joined(extents: Sequence[int], strides: Sequence[Sequence[int]]) -> list[Axis]:
    """Some axes, neighbours joined; one of extent 1 if there is no other."""
    found = [(axis.extent, tuple(axis.strides)) for axis in axes_of(tuple(extents), (), strides)]
    return found or [(1, (0,) * len(strides))]


def _readable(planner: Planner, op: ptir.DotGeneralOp, which: int, kept: list[int], contract: list[int]) -> View:
    """An operand in memory whose contracted axes are one, or are after a copy with these axes last."""
    value = op.operands[which]
    view = planner.view(value)
    if not isinstance(view.base, Buffer) or view.lookups:
        view = planner.copied(value, view)
    if len(_joined([view.shape[x] for x in contract], [_strides(view, contract)])) == 1:
        return view
    order = [*kept, *contract]
    shape = tuple(view.shape[x] for x in order)
    strides = row_major(shape)
    spread = [0] * len(order)
    for place, axis in enumerate(order):
        spread[axis] = strides[place]
    target = whole(planner.buffer(Use.ARENA, view.dtype, prod(shape), f"{value.name_hint or 'operand'}.copy"), shape)
    made = View(target.base, view.dtype, view.shape, tuple(spread))
    planner.copy(value, view, made)
    return made
