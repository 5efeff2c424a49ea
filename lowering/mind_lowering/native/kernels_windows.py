"""Rows of `kernels.py` for windows: borders and holes are copies, windows views in which elements stand several times."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import Block, SSAValue

from mind_dialect import ptir
from mind_dialect.ptir import PtirLiteralAttr, PtirOp
from mind_dialect.ptir.legal import default_accumulator
from mind_dialect.ptir.types import PtirDType, read_type, tensor_type

from .demanded import shape_of
from .joins import border, in_box, is_read_in_parts, pieces
from .patterns import Builder, fill_of, readable, row
from .reasons import why_not_reduced
from .reductions import identity_of
from .views import Use, View, broadcast, filled, joined, literal_of, reordered, reshaped, whole, window


def padded(
    build: Builder,
    value: SSAValue,
    padding: Sequence[tuple[int, int]],
    interior: Sequence[int],
    number: View,
    order: Sequence[int] | None = None,
) -> View:
    """
    An operand with a border and holes, in memory of its own; as it is where there are none.

    With an `order` it is copied anyway, with its axes in this order in memory, the outermost first.
    """
    source = build.view(value)
    if order is None and not any(low or high for low, high in padding) and not any(interior):
        return source
    edges = [(low + high, i) for (low, high), i in zip(padding, interior, strict=True)]
    shape = tuple(n + rim + max(0, n - 1) * i for n, (rim, i) in zip(source.shape, edges, strict=True))
    made = whole(build.buffer(Use.ARENA, source.dtype, prod(shape), f"{value.name_hint or 'x'}.padded"), shape)
    target = made if order is None else reordered(made, order)
    for box in [((0,) * len(shape), shape)] if any(interior) else border(shape, padding):
        build.copy(value, broadcast(number, box[1]), in_box(target, box))
    build.copy(value, source, window(target, [low for low, _ in padding], source.shape, [i + 1 for i in interior]))
    return target


def expand_in_parts(build: Builder, op: PtirOp, number: View | None = None) -> bool:
    """Let a concat, or a pad by a `number`, be nowhere as a whole if all that uses it allows that; return if it is so."""
    if build.demanded.sizes or not is_read_in_parts(op, build.host):
        return False
    places, views = pieces(op) or [], [readable(build, x) for x in op.operands]
    for _, extents in places[len(views) :]:
        assert number is not None, "there is a border"
        views.append(broadcast(number, extents))
    result, parts = op.results[0], [(start, view) for (start, _), view in zip(places, views, strict=True) if view.count]
    if not parts:
        return False
    build.views[result] = joined(read_type(result.type).dtype, build.shape(result), parts)
    return True


def one_number(build: Builder, literal: PtirLiteralAttr, value: SSAValue) -> View:
    """Return one number as a view of rank 0, in memory if nothing is computed in its dtype."""
    one = PtirLiteralAttr.from_bytes(literal.spec[0], (), literal.data.data)
    return fill_of(one, (), build.host) or whole(build.constant(one, value), ())


def _pad(build: Builder, op: ptir.PadOp) -> None:
    values = op.values()
    edges: list[tuple[int, int]] = list(zip(values["low"], values["high"], strict=True))
    x = op.operands[0]
    number = one_number(build, values["pad_value"], x)
    if not expand_in_parts(build, op, number):
        build.views[op.result] = padded(build, x, edges, values["interior"], number)


def _extract_patches(build: Builder, op: ptir.ExtractPatchesOp) -> None:
    """
    Windows are a view in which elements stand several times; a copy lays them out.

    Where reshapes alone read them, and are such views too, they stay one, of the shape `[N, places..., window..., C]`.
    """
    values, x = op.values(), op.operands[0]
    edges: list[tuple[int, int]] = [(0, 0), *values["padding"], (0, 0)]
    source = padded(build, x, edges, [0] * len(edges), one_number(build, values["pad_value"], x))
    sizes: tuple[int, ...] = tuple(values["window"])
    shape = (*build.shape(op.result)[:-1], *sizes, source.shape[-1])
    steps = (1, *values["strides"])
    outer = tuple(s * n for s, n in zip(source.strides[:-1], steps, strict=True))
    inner = tuple(s * n for s, n in zip(source.strides[1:-1], values["dilation"], strict=True))
    patches = View(source.base, source.dtype, shape, (*outer, *inner, source.strides[-1]), source.offset)
    if 0 not in shape and _is_reshaped(op.result, patches):
        build.views[op.result] = patches
        return
    target = build.target(op.result)
    build.copy(x, patches, whole(build.buffer_of(target), shape))


def _is_reshaped(value: SSAValue, view: View) -> bool:
    """Return whether reshapes alone read a value, in fusions too, each of which is another view of its elements."""
    for use in value.uses:
        op = use.operation
        if isinstance(op, ptir.FusionOp):
            if not _is_reshaped(op.body.block.args[use.index], view):
                return False
        elif not isinstance(op, ptir.ReshapeOp) or reshaped(view, shape_of(op.result)) is None:
            return False
    return True


def _reduce_window(build: Builder, op: ptir.ReduceWindowOp) -> None:
    """A reduction over the axes of the windows, which are a view."""
    values, x = op.values(), op.operands[0]
    dtype, kind = op.operand_spec(0).dtype, values["kind"]
    total: PtirDType = values["accum_dtype"] or default_accumulator(dtype)
    edge = filled(literal_of(dtype, identity_of(kind, dtype)), ())
    source = padded(build, x, values["padding"], [n - 1 for n in values["base_dilation"]], edge)
    places = build.shape(op.result)
    shape = (*places, *values["window_dims"])
    outer = tuple(s * n for s, n in zip(source.strides, values["strides"], strict=True))
    inner = tuple(s * n for s, n in zip(source.strides, values["window_dilation"], strict=True))
    windows = View(source.base, dtype, shape, outer + inner, source.offset)
    block = Block(arg_types=[tensor_type(dtype, shape)])
    axes = tuple(range(len(places), len(shape)))
    block.add_op(made := ptir.ReduceOp(block.args[0], kind=kind, axes=axes, keepdims=False, accum_dtype=total))
    build.keep.append(block)
    build.reduction(made, windows, op.result)


WINDOWS = (
    row("pad", ptir.PadOp, _pad),
    row("windows", ptir.ExtractPatchesOp, _extract_patches),
    row("windows", ptir.ReduceWindowOp, _reduce_window, why_not_reduced),
)
"""Their rows."""
