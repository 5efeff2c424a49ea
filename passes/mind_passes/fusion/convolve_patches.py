"""
Sums over the places of patches become convolutions, whose window is what the patches are multiplied with.

    sum over n, p of patches(x)[n, p, t, g, i] * y[n, p, g, j]

is the gradient of a filter: `y` slides over `x`, once for each place of the filter. Images are one more axis along which it
slides, and the inputs of a group are the images of that convolution, so that no patches are stored. Patches are padded with
zeros. The sums have the same terms in another order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from mind_dialect import ptir, register
from mind_dialect.dominance import walk
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir.types import BF16, F16, F32, F64, tensor_type

from ..ptir.building import axes_of_reduction, insert_new, spec_of
from ..ptir.construct import Value, make, reshape, static, transpose
from ..ptir.dead_ops import replace_values
from ..ptir.patterns.matching import made_by

Shape = tuple[int, ...]
_PERMS: dict[tuple[str, bool], Shape] = {
    ("lhs", False): (0, 1, 2, 3),
    ("lhs", True): (2, 0, 1, 3),
    ("rhs", False): (3, 2, 0, 1),
    ("rhs", True): (2, 3, 0, 1),
}
"""`PlaceSum.perm` of a product, by the side that patches are on, and whether there are groups."""


@dataclass(frozen=True)
class PlaceSum:
    """A sum over all places of patches: of products with `other`, which is `[N, places..., groups, O]` by `order`."""

    root: ptir.DotGeneralOp | ptir.ReduceOp
    patches: ptir.ExtractPatchesOp
    other: SSAValue
    order: Shape
    """Axes of `other`: of images, of places, of groups if there are several, and the others."""
    groups: int
    perm: Shape
    """The axes of the root's result, of `[places of the window, inputs of a group, groups, outputs of a group]`."""


def convolve_patches(root: Operation, supports: Callable[[ptir.PtirOp], bool] = lambda op: True) -> bool:
    """Rewrite the sums over places of patches inside a verified `root`, those that `supports` takes; whether there were any."""
    ops = [
        op
        for op in walk(root)
        if isinstance(op, ptir.DotGeneralOp | ptir.ReduceOp) and not isinstance(op.parent_op(), ptir.FusionOp)
    ]
    sums = [found for op in ops if supports(op) and (found := _match(op)) is not None]
    became: dict[SSAValue, SSAValue] = {}
    for found in sums:
        old, block = found.root.results[0], found.root.parent
        assert isinstance(block, Block)
        made = _convolution(found)
        insert_new(made, found.root, block)
        made.results[0].name_hint = old.name_hint
        became[old] = made.results[0]
    replace_values(root, became)
    return bool(sums)


# Matching


def _match(op: ptir.DotGeneralOp | ptir.ReduceOp) -> PlaceSum | None:
    specs = [spec_of(v) for v in (*op.operands, *op.results)]
    if any(not s.is_static or 0 in s.shape or s.dtype not in (F16, BF16, F32, F64) for s in specs):
        return None
    found = _of_product(op) if isinstance(op, ptir.DotGeneralOp) else _of_sum(op)
    return found if found is not None and _is_plain(found.patches) else None


def _of_product(op: ptir.DotGeneralOp) -> PlaceSum | None:
    """A product of patches that contracts their places, perhaps by group, with `y` in any order of its axes."""
    values, sides = op.values(), ("lhs", "rhs")
    for side, facing in (sides, sides[::-1]):
        windows, other = getattr(op, side), getattr(op, facing)
        patches = _patches(windows)
        if patches is None:
            continue
        k, shape = len(static(patches)) - 1, static(windows)
        pairs = sorted(zip(values[f"contract_{side}"], values[f"contract_{facing}"], strict=True))
        if [a for a, _ in pairs] != list(range(k)) or shape[:k] != static(patches)[:k]:
            continue
        batch: Shape = tuple(values[f"batch_{side}"])
        groups: Shape = tuple(values[f"batch_{facing}"])
        if batch and (batch != (k + 1,) or len(shape) != k + 3 or shape[k] != _cells(patches)):
            continue
        first = (*(a for _, a in pairs), *groups)
        order = (*first, *(a for a in range(len(static(other))) if a not in first))
        count = static(other)[groups[0]] if batch else 1
        return PlaceSum(op, patches, other, order, count, _PERMS[side, bool(batch)])
    return None


def _of_sum(op: ptir.ReduceOp) -> PlaceSum | None:
    """A sum of elementwise products of patches, each channel by itself."""
    product = made_by(op.x, ptir.MulOp)
    if op.values()["kind"] != "sum" or op.values()["keepdims"] or product is None or len(list(product.result.uses)) > 1:
        return None
    for windows, other in ((product.lhs, product.rhs), (product.rhs, product.lhs)):
        patches, spread = _patches(windows), made_by(other, ptir.BroadcastToOp)
        if patches is None or spread is None:
            continue
        channels, (*places, _) = static(patches.x)[-1], static(patches)
        k = len(places)
        thin = (*places, 1, *static(windows)[k + 1 :])
        if static(windows)[: k + 1] == (*places, _cells(patches)) and static(spread.x) == thin:
            kept = tuple(range(len(thin)))
            return PlaceSum(op, patches, spread.x, kept, channels, (0, 1, 2, 3)) if axes_of_reduction(op) == kept[:k] else None
    return None


def _patches(value: SSAValue) -> ptir.ExtractPatchesOp | None:
    """The patches that a value is, perhaps reshaped, if nothing else needs them."""
    view = made_by(value, ptir.ReshapeOp)
    found = made_by(value if view is None else view.x, ptir.ExtractPatchesOp)
    alone = found is not None and all(len(list(op.results[0].uses)) == 1 for op in (found, view) if op is not None)
    return found if alone else None


def _cells(patches: ptir.ExtractPatchesOp) -> int:
    return prod(patches.values()["window"])


def _is_plain(patches: ptir.ExtractPatchesOp) -> bool:
    """Return whether patches are of several places each, padded with zeros."""
    values = patches.values()
    is_padded = any(n for pair in values["padding"] for n in pair)
    return _cells(patches) > 1 and (not is_padded or values["pad_value"].item() == 0)


# Rewriting


def _convolution(found: PlaceSum) -> ptir.PtirOp:
    """The convolution, with its result as that of the root."""
    patches, root = found.patches, found.root
    values, n, channels = patches.values(), static(patches.x)[0], static(patches.x)[-1]
    window: Sequence[int] = values["window"]
    places, groups = static(patches)[1:-1], found.groups
    inputs, k = channels // groups, len(window)
    outputs = prod(static(found.other)) // (n * prod(places))
    image, padding = _fitting(patches)
    split = reshape(image, (n, *static(image)[1:-1], groups, inputs))
    result = spec_of(root.results[0])
    made = make(
        ptir.ConvolutionOp,
        transpose(split, (k + 2, *range(k + 2))),
        reshape(transpose(found.other, found.order), (n, *places, 1, outputs)),
        type=tensor_type(result.dtype, (inputs, 1, *window, outputs)),
        strides=[1, *values["dilation"]],
        padding=[(0, 0), *padding],
        base_dilation=[1] * (k + 1),
        window_dilation=[1, *values["strides"]],
        feature_group_count=groups,
        accum_dtype=root.values()["accum_dtype"],
        out_dtype=root.values()["out_dtype"],
    )
    by_input = reshape(made, (inputs, prod(window), groups, outputs // groups))
    shaped = reshape(transpose(by_input, [(1, 0, 2, 3)[a] for a in found.perm]), result.shape)
    assert isinstance(shaped, ptir.PtirOp), "its extents are other ones"
    return shaped


def _fitting(patches: ptir.ExtractPatchesOp) -> tuple[Value, list[tuple[int, int]]]:
    """The image, and the padding with which a window of all places has just the places of a window of the patches."""
    values, shape = patches.values(), static(patches.x)
    given = (values[name] for name in ("window", "strides", "dilation", "padding"))
    each = zip(shape[1:-1], static(patches)[1:-1], *given, strict=True)
    sizes, padding = [shape[0]], list[tuple[int, int]]()
    for extent, count, size, stride, dilation, (low, _) in each:
        high = (count - 1) * stride + (size - 1) * dilation + 1 - extent - low
        sizes.append(extent + min(high, 0))
        padding.append((low, max(high, 0)))
    sizes.append(shape[-1])
    image = patches.x if tuple(sizes) == shape else ptir.SliceOp(patches.x, starts=[0] * len(shape), sizes=sizes)
    return image, padding


@dataclass(frozen=True)
class PtirConvolvePatchesPass(ModulePass):
    """Turn sums over patches, as gradients of filters have them, into convolutions."""

    name = "mind-ptir-convolve-patches"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        register(ctx)
        convolve_patches(op)
