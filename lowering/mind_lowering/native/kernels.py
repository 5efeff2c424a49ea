"""
The table of kernels: each row says which op it takes and at what cost, or why it does not; the row of least cost is taken.

This is where kernels plug in: a matrix product is a row of `DotGeneralOp`, with what follows it in a fusion a row of `FusionOp`.
A test closes the table over the dialect: an op without a row is in `FALLBACK`, with the reason why NumPy runs it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from math import prod

from mind_dialect import ptir
from mind_dialect.ptir import FUSIBLE, PtirLiteralAttr, PtirOp
from mind_dialect.ptir.types import SI64
from mind_passes.fusion.expand_quantized import QUANTIZED

from ..launch.views import VIEWS
from .attention import expand_attention, match_attention
from .clipped_windows import expand_clipped, match_clipped
from .concats import parts
from .convolutions.by_places import expand_by_places, match_by_places
from .convolutions.fusion import (
    expand_fused_convolution,
    expand_fused_phases,
    match_fused_convolution,
    match_fused_phases,
)
from .convolutions.plan import expand_convolution, expand_phases, match_phases, why_no_convolution
from .extremes_gradient import expand_extremes_gradient, match_extremes_gradient
from .fusions import expand_parts, in_body, match_parts
from .grouping import uncomputed_members, why_not
from .kernel_steps import Draw
from .kernels_complex import COMPLEX
from .kernels_fourier import FOURIER
from .kernels_lookups import LOOKUPS
from .kernels_matrices import MATRICES
from .kernels_products import PRODUCTS
from .kernels_scatters import SCATTERS
from .kernels_sorts import SORTS
from .kernels_window_arg import WINDOW_ARGS
from .kernels_windows import WINDOWS, expand_in_parts, one_number
from .patterns import Builder, KernelPattern, row
from .products.defer import expand_prologue, match_prologue
from .products.fusion import expand_fused_product, match_fused_product
from .reasons import not_computed, not_produced, why_not_reduced
from .rows.step import expand_rows, match_rows
from .target_info import TargetInfo
from .views import Joined, View, broadcast, indices, viewed, whole


def _group(build: Builder, op: PtirOp) -> None:
    build.group([op], op.results)


def _view(build: Builder, op: PtirOp) -> None:
    source = build.view(op.operands[0])
    found = None if isinstance(source.base, Joined) else viewed(source, op)
    if found is None:
        found = viewed(build.copied(op.operands[0], source), op)
    assert found is not None, "what is dense can be viewed in any shape"
    build.views[op.results[0]] = found


def _constant(build: Builder, op: ptir.ConstantOp) -> None:
    literal, shape = op.literal, build.shape(op.result)
    if not literal.is_fill and prod(shape) != 1:
        build.views[op.result] = whole(build.constant(literal, op.result), shape)
        return
    build.views[op.result] = broadcast(one_number(build, literal, op.result), shape)


def _dimension_size(build: Builder, op: ptir.DimensionSizeOp) -> None:
    axis: int = op.values()["axis"]
    literal = PtirLiteralAttr.from_values(SI64, (), (build.shape(op.x)[axis],))
    build.views[op.result] = whole(build.constant(literal, op.result), ())


def _draw(build: Builder, op: ptir.RngUniformOp | ptir.RngNormalOp) -> None:
    """Append random numbers."""
    target = build.target(op.result)
    if target.count:
        name = op.result.name_hint or op.OPCODE
        build.add(Draw(name, isinstance(op, ptir.RngNormalOp), target, build.draws, build.iterations()))
        build.drawn = True
    build.draws += 1


def _iota(build: Builder, op: ptir.IotaOp) -> None:
    dtype = op.result_spec().dtype
    build.views[op.result] = indices(dtype, build.shape(op.result), op.values()["axis"])


def _concat(build: Builder, op: ptir.ConcatOp) -> None:
    if expand_in_parts(build, op):
        return
    target = build.joined.pop(op, None) or build.target(op.result)
    build.views[op.result] = target
    for value, place in zip(op.operands, parts(op, target), strict=True):
        if (source := build.view(value)).base is not target.base:
            build.copy(value, source, place)


def _tile(build: Builder, op: ptir.TileOp) -> None:
    source, target = build.view(op.operands[0]), build.target(op.result)
    repeats = op.values()["repeats"]
    shape = [n for pair in zip(repeats, source.shape, strict=True) for n in pair]
    strides = [n for stride in source.strides for n in (0, stride)]
    spread = View(source.base, source.dtype, tuple(shape), tuple(strides), source.offset)
    build.copy(op.operands[0], spread, whole(build.buffer_of(target), shape))


def _why_not_quantized(op: PtirOp, host: TargetInfo) -> str | None:
    """Return the rejection reason of a quantized op that was not replaced by elementwise ops."""
    return not_computed(op, host) or "it is planned without expansion"


_FUSIONS = tuple(
    KernelPattern(name, (ptir.FusionOp,), match, in_body(expand), uncomputed_members, match is match_parts)
    for name, match, expand in (
        ("attention", match_attention, expand_attention),
        ("gradient of extremes of windows", match_extremes_gradient, expand_extremes_gradient),
        ("product with epilogue", match_fused_product, expand_fused_product),
        ("convolution by phases with epilogue", match_fused_phases, expand_fused_phases),
        ("convolution with epilogue", match_fused_convolution, expand_fused_convolution),
        ("rows", match_rows, expand_rows),
        ("groups", match_parts, expand_parts),
    )
)
"""The rows of fusions, the special ones first."""

PATTERNS: Sequence[KernelPattern] = (
    KernelPattern("prologue of products", (ptir.CastOp, ptir.FusionOp, *VIEWS), match_prologue, expand_prologue),
    *_FUSIONS,
    *(
        row("elementwise", op, _group, why_not)
        for op, part in FUSIBLE.items()
        if part == "elementwise" and issubclass(op, PtirOp)
    ),
    row("reduction", ptir.ReduceOp, _group, why_not),
    *(row("view", op, _view) for op in VIEWS),
    row("constant", ptir.ConstantOp, _constant),
    row("constant", ptir.DimensionSizeOp, _dimension_size),
    row("indices", ptir.IotaOp, _iota, not_produced),
    row("copies", ptir.ConcatOp, _concat),
    row("copies", ptir.TileOp, _tile),
    *PRODUCTS,
    KernelPattern("convolution by places", (ptir.ConvolutionOp,), match_by_places, expand_by_places, why_no_convolution),
    KernelPattern("convolution by phases", (ptir.ConvolutionOp,), match_phases, expand_phases, why_no_convolution),
    row("convolution", ptir.ConvolutionOp, expand_convolution, why_no_convolution),
    *WINDOW_ARGS,
    *LOOKUPS,
    KernelPattern("clipped windows", (ptir.ReduceWindowOp,), match_clipped, expand_clipped, why_not_reduced),
    *WINDOWS,
    *SCATTERS,
    *SORTS,
    *MATRICES,
    *FOURIER,
    *COMPLEX,
    *(row("random", op, _draw, not_produced) for op in (ptir.RngUniformOp, ptir.RngNormalOp)),
    *(row("quantized", op, _group, _why_not_quantized) for op in QUANTIZED),
)
"""All rows; of rows that cost the same, the first is taken."""

ROWS: dict[type[PtirOp], list[KernelPattern]] = defaultdict(list)
"""The rows of each op, in the order of the table."""
for _row in PATTERNS:
    for _op in _row.ops:
        ROWS[_op].append(_row)


def has_kernel(op: PtirOp, host: TargetInfo) -> bool:
    """Return whether a row takes an op wherever its operands are."""
    rows = [row for row in ROWS.get(type(op), ()) if row.is_total]
    return any(row.unsupported is None or row.unsupported(op, host) is None for row in rows)


FALLBACK: dict[type[PtirOp], str] = {
    ptir.RaggedDotOp: "sizes of groups are data; NumPy multiplies one group at a time",
    **dict.fromkeys((ptir.ConjOp, ptir.DigammaOp, ptir.ArgMaxOp, ptir.ArgMinOp), "it is planned without expansion"),
    ptir.LayerNormOp: "loop nests, which it expands to, do not support its dtype",
}
"""The ops that run as their NumPy kernels, and why."""
