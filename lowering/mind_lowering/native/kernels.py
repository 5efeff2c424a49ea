"""
Native kernel of each op: one row per op class, closed by a test over the dialect.

A row plans the steps of an op, or says why it cannot, and then the op runs as its NumPy kernel. This is where kernels plug in: a
matrix product is the row of `DotGeneralOp` (with what follows it in a fusion: `fusions.py`), a row kernel such as softmax a
row of a `ptir.fusion` with a pattern, or of several groups at once; an op of `FALLBACK` gets a row here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

from mind_dialect import ptir
from mind_dialect.ptir import PtirLiteralAttr, PtirOp
from mind_dialect.ptir.legal import default_accumulator
from mind_dialect.ptir.types import SI64, PtirDType
from mind_passes.fusion.expand_quantized import QUANTIZED

from .control import control
from .convolutions.plan import convolution
from .elementwise import EMITTERS
from .fusions import add_fusion
from .kernels_lookups import LOOKUPS
from .kernels_scatters import SCATTERS
from .kernels_sorts import SORTS
from .kernels_windows import WINDOWS, one_number
from .plan import NativePlan
from .products.axes import add_product
from .random_numbers import DRAWS
from .reasons import not_computed, rounded_each_step, unsupported
from .target_info import computes
from .views import VIEWS, View, broadcast, indices, viewed, whole, window

Row = Callable[[NativePlan, Any], str | None]
"""Plans an op; a reason if there is no native kernel for it as it is."""

LARGEST_PRODUCT = 1 << 21
"""Multiplications above which a product of narrow integers, which is not tiled, is NumPy's."""


def _elementwise(planner: NativePlan, op: PtirOp) -> str | None:
    return planner.group([op], op.results)


def _view(planner: NativePlan, op: PtirOp) -> str | None:
    source = planner.view(op.operands[0])
    found = viewed(source, op)
    if found is None:
        found = viewed(planner.copied(op.operands[0], source), op)
    assert found is not None, "what is dense can be viewed in any shape"
    planner.views[op.results[0]] = found
    return None


def _constant(planner: NativePlan, op: ptir.ConstantOp) -> str | None:
    literal, shape = op.literal, planner.shape(op.result)
    if not literal.is_fill and prod(shape) != 1:
        planner.views[op.result] = whole(planner.constant(literal, op.result), shape)
        return None
    planner.views[op.result] = broadcast(one_number(planner, literal, op.result), shape)
    return None


def _dimension_size(planner: NativePlan, op: ptir.DimensionSizeOp) -> str | None:
    axis: int = op.values()["axis"]
    literal = PtirLiteralAttr.from_values(SI64, (), (planner.shape(op.x)[axis],))
    planner.views[op.result] = whole(planner.constant(literal, op.result), ())
    return None


def _iota(planner: NativePlan, op: ptir.IotaOp) -> str | None:
    dtype = op.result_spec().dtype
    if not computes(dtype, planner.host):
        return f"nothing is computed in {dtype} here"
    planner.views[op.result] = indices(dtype, planner.shape(op.result), op.values()["axis"])
    return None


def _concat(planner: NativePlan, op: ptir.ConcatOp) -> str | None:
    target = planner.target(op.result)
    axis: int = op.values()["axis"] % len(target.shape)
    at = 0
    for value in op.operands:
        shape = planner.shape(value)
        starts = [at if a == axis else 0 for a in range(len(shape))]
        planner.copy(value, planner.view(value), window(target, starts, shape, [1] * len(shape)))
        at += shape[axis]
    return None


def _tile(planner: NativePlan, op: ptir.TileOp) -> str | None:
    source, target = planner.view(op.operands[0]), planner.target(op.result)
    repeats = op.values()["repeats"]
    shape = [n for pair in zip(repeats, source.shape, strict=True) for n in pair]
    strides = [n for stride in source.strides for n in (0, stride)]
    spread = View(source.base, source.dtype, tuple(shape), tuple(strides), source.offset)
    planner.copy(op.operands[0], spread, whole(planner.buffer_of(target), shape))
    return None


def _dot_general(planner: NativePlan, op: ptir.DotGeneralOp) -> str | None:
    """
    A sum of products over shared axes: tiled, or as a group
    `[batch, lhs, rhs, contracted]` for narrow integers and no elements.
    """
    values = op.values()
    dtype = op.operand_spec(0).dtype
    total: PtirDType = values["accum_dtype"] or default_accumulator(dtype)
    if reason := unsupported([dtype, total, op.result_spec().dtype], planner.host):
        return reason
    if reason := rounded_each_step("sum", total):
        return reason
    if add_product(planner, op, total):
        return None
    a, b = (planner.view(v) for v in op.operands)
    ranks = len(a.shape), len(b.shape)
    batch, contract = (_axes(values, role, ranks) for role in ("batch", "contract"))
    free = [[x for x in range(n) if x not in batch[i] and x not in contract[i]] for i, n in enumerate(ranks)]
    left, right = ([*batch[i], *free[0], *free[1], *contract[i]] for i in (0, 1))
    shape = tuple(
        [*(a.shape[x] for x in (*batch[0], *free[0])), *(b.shape[x] for x in free[1]), *(a.shape[x] for x in contract[0])]
    )
    if prod(shape) > LARGEST_PRODUCT:
        return f"a product of {prod(shape)} multiplications of {dtype} in {total}, which is not tiled"
    lacks = len(batch[0]) + len(free[0]), len(free[1])
    spread_a = _along(a, left, shape, range(lacks[0], sum(lacks)))
    spread_b = _along(b, right, shape, range(len(batch[0]), lacks[0]))
    planner.product(op, shape, spread_a, spread_b, len(contract[0]), total)
    return None


def _axes(values: Mapping[str, Any], role: str, ranks: tuple[int, int]) -> list[list[int]]:
    """The axes of a role, counted from 0, of both operands."""
    given: list[Sequence[int]] = [values[f"{role}_lhs"], values[f"{role}_rhs"]]
    return [[axis % n for axis in axes] for axes, n in zip(given, ranks, strict=True)]


def _along(view: View, order: list[int], shape: tuple[int, ...], lacking: range) -> View:
    """An operand of a product in the product's shape: it does not move along the axes that it lacks."""
    strides = [0 if place in lacking else view.strides[axis] for place, axis in enumerate(order)]
    return View(view.base, view.dtype, shape, tuple(strides), view.offset)


def _quantized(planner: NativePlan, op: PtirOp) -> str | None:
    """Return the rejection reason of a quantized op that was not replaced by elementwise ops."""
    return not_computed(op, planner.host) or "it is planned as it stands"


KERNELS: dict[type[PtirOp], Row] = {
    **dict.fromkeys(EMITTERS, _elementwise),
    **dict.fromkeys(VIEWS, _view),
    **LOOKUPS,
    **WINDOWS,
    **SCATTERS,
    **SORTS,
    **DRAWS,
    **dict.fromkeys(QUANTIZED, _quantized),
    ptir.ReduceOp: _elementwise,
    ptir.ConstantOp: _constant,
    ptir.IotaOp: _iota,
    ptir.DimensionSizeOp: _dimension_size,
    ptir.ConcatOp: _concat,
    ptir.TileOp: _tile,
    ptir.DotGeneralOp: _dot_general,
    ptir.ConvolutionOp: convolution,
    ptir.FusionOp: add_fusion,
    **dict.fromkeys((ptir.CondOp, ptir.WhileOp, ptir.ScanOp), control),
}
"""The ops that native code runs, at least for some dtypes."""

FALLBACK: dict[type[PtirOp], str] = {
    **dict.fromkeys((ptir.GatherWindowsOp, ptir.ScatterWindowsOp), "its dimension numbers are general"),
    ptir.WindowArgOp: "no loop of a kernel keeps a value and its index",
    ptir.FftOp: "NumPy has fast transforms",
    ptir.RaggedDotOp: "sizes of groups are data; NumPy multiplies one group after the other",
    ptir.DigammaOp: "it is too long for a kernel, and rare",
    **dict.fromkeys(ptir.COMPLEX_OPS, "nothing is computed in complex numbers here"),
    ptir.CustomCallOp: "its function is registered with Python",
    ptir.LayerNormOp: "groups, which do what it means, compute nothing in its dtype here",
}
"""The ops that run as their NumPy kernels, and why."""
