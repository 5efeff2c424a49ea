"""Rows of `kernels.py` for products alone: tiled, or for narrow integers and products of no elements as a group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from mind_dialect import ptir
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir import PtirOp

from ..launch.kernel_patterns import Match, Rejection
from . import costs
from .demanded import shape_of
from .grouping import group_name, product_block
from .groups import Group
from .patterns import Builder, KernelPattern, Operands, moving, row
from .products.axes import accumulator, expand_product, is_tiled
from .reasons import rounded_each_step, unsupported
from .target_info import TargetInfo
from .views import View

LARGEST_PRODUCT = 1 << 21
"""Multiplications above which a product of narrow integers, which is not tiled, is NumPy's."""


def _why_not(op: ptir.DotGeneralOp, host: TargetInfo) -> str | None:
    """Return why products are not computed in the dtypes of an op."""
    total = accumulator(op)
    return unsupported([op.operand_spec(0).dtype, total, op.result_spec().dtype], host) or rounded_each_step("sum", total)


def _why_not_tiled(op: ptir.DotGeneralOp, host: TargetInfo) -> str | None:
    """Return why a product is not tiled: those of narrow integers and of no elements are not."""
    if (reason := _why_not(op, host)) is not None:
        return reason
    return None if is_tiled(op) else f"products of no elements, or accumulated in {accumulator(op)}, are not tiled"


@dataclass(frozen=True)
class ProductAxes:
    """The axes of a product as a group `[batch, lhs, rhs, contracted]`: its shape, both operands' axes in this order."""

    shape: tuple[int, ...]
    order: tuple[list[int], list[int]]
    lacking: tuple[range, range]
    """The axes that each operand has not."""
    contracted: int

    def without_contracted(self) -> ProductAxes:
        """Return the same product without its contracted axes, whose extents are 1."""
        kept = len(self.shape) - self.contracted
        left, right = self.order
        return ProductAxes(self.shape[:kept], (left[:kept], right[:kept]), self.lacking, 0)


def _match_group(op: ptir.DotGeneralOp, operands: Operands, host: TargetInfo) -> Match | Rejection:
    """Match a product that is not too large to read each operand again for each element of the other."""
    if (reason := _why_not(op, host)) is not None:
        return Rejection(reason)
    axes = _product_axes(op)
    if prod(axes.shape) > LARGEST_PRODUCT:
        dtype = op.operand_spec(0).dtype
        return Rejection(f"a product of {prod(axes.shape)} multiplications of {dtype} in {accumulator(op)}, which is not tiled")
    cost = moving([*op.operands, *op.results]) + (prod(axes.shape) + 1) / costs.VECTORS
    return Match(cost, axes)


def _match_outer(op: ptir.DotGeneralOp, operands: Operands, host: TargetInfo) -> Match | Rejection:
    """Match a product of one multiplication for each result: there is nothing to sum, and results may go past the caches."""
    if (reason := _why_not(op, host)) is not None:
        return Rejection(reason)
    axes = _product_axes(op)
    depth = prod(axes.shape[len(axes.shape) - axes.contracted :])
    if depth != 1:
        return Rejection(f"it sums {depth} products for each result")
    return Match(moving([*op.operands, *op.results]), axes.without_contracted())


def _product_axes(op: ptir.DotGeneralOp) -> ProductAxes:
    values, (a, b) = op.values(), [shape_of(v) for v in op.operands]
    ranks = len(a), len(b)
    batch, contract = (_axes(values, role, ranks) for role in ("batch", "contract"))
    free = [[x for x in range(n) if x not in batch[i] and x not in contract[i]] for i, n in enumerate(ranks)]
    left, right = ([*batch[i], *free[0], *free[1], *contract[i]] for i in (0, 1))
    shape = (*(a[x] for x in (*batch[0], *free[0])), *(b[x] for x in free[1]), *(a[x] for x in contract[0]))
    first, second = len(batch[0]) + len(free[0]), len(free[1])
    lacking = range(first, first + second), range(len(batch[0]), first)
    return ProductAxes(shape, (left, right), lacking, len(contract[0]))


def _expand_group(build: Builder, op: ptir.DotGeneralOp, match: Match) -> None:
    """Append a product as a group: both operands spread over all axes, the contracted ones last."""
    axes: ProductAxes = match.schedule
    views = [build.view(v) for v in op.operands]
    spread = [_along(v, order, axes.shape, lacking) for v, order, lacking in zip(views, axes.order, axes.lacking, strict=True)]
    block, ops = product_block(op, axes.shape, axes.contracted, accumulator(op))
    build.keep.append(block)
    (*inner, last) = ops
    assert isinstance(last, ptir.ReduceOp)
    members = [o for o in inner if isinstance(o, PtirOp)]
    group = Group(group_name([op], op.results), axes.shape, dict(zip(block.args, spread, strict=True)), members)
    if axes.contracted:
        group.reductions.append((last, build.target(op.result)))
    else:
        value, dtype = members[-1].results[0], op.result_spec().dtype
        if accumulator(op) is not dtype:
            block.add_op(cast := ptir.CastOp(value, dtype=dtype))
            group.ops.append(cast)
            value = cast.result
        group.outputs.append((value, build.target(op.result)))
    build.add(group)


def _axes(values: Mapping[str, Any], role: str, ranks: tuple[int, int]) -> list[list[int]]:
    """The axes of a role, counted from 0, of both operands."""
    given: list[Sequence[int]] = [values[f"{role}_lhs"], values[f"{role}_rhs"]]
    return [[axis % n for axis in axes] for axes, n in zip(given, ranks, strict=True)]


def _along(view: View, order: list[int], shape: tuple[int, ...], lacking: range) -> View:
    """An operand of a product in the product's shape: it does not move along the axes that it lacks."""
    strides = [0 if place in lacking else view.strides[axis] for place, axis in enumerate(order)]
    return View(view.base, view.dtype, shape, tuple(strides), view.offset)


PRODUCTS = (
    KernelPattern("outer product", (ptir.DotGeneralOp,), _match_outer, _expand_group),
    row("product", ptir.DotGeneralOp, expand_product, _why_not_tiled),
    KernelPattern("product as a group", (ptir.DotGeneralOp,), _match_group, _expand_group),
)
"""Their rows."""
