"""
Convolution: `extract_patches`, perhaps reshaped, times weights, or weights times patches, as `ptir.convolution`.

Patches are padded with zeros. Every extent of the patch must be contracted, in the weights' order or another; one batch axis
between window and channels is a group. The sums have the same terms in another order.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple, cast

from xdsl.ir import SSAValue

from mind_dialect.ptir import ConvolutionOp, DotGeneralOp, ExtractPatchesOp, PtirOp, ReshapeOp, TransposeOp
from mind_dialect.ptir.types import tensor_type

from ..building import in_place_of, spec_of
from .matching import Match, made_by

Shape = tuple[int, ...]


def match(root: PtirOp) -> Match | None:
    """The convolution that ends in the product `root`."""
    if not isinstance(root, DotGeneralOp):
        return None
    return _match(root, ("lhs", "rhs")) or _match(root, ("rhs", "lhs"))


def _match(root: DotGeneralOp, sides: tuple[str, str]) -> Match | None:
    """The convolution, the patches being on the first of `sides`."""
    patch, weights = (root.lhs, root.rhs) if sides[0] == "lhs" else (root.rhs, root.lhs)
    inside: list[PtirOp] = []
    value = patch
    if (view := made_by(value, ReshapeOp)) is not None:
        inside.append(view)
        value = view.x
    patches = made_by(value, ExtractPatchesOp)
    specs = [spec_of(v) for v in (root.lhs, root.rhs, root.result)]
    if patches is None or not (all(spec.is_static for spec in specs) and spec_of(patches.x).is_static):
        return None
    if patches.values()["pad_value"].item() != 0 and any(n for pair in patches.values()["padding"] for n in pair):
        return None
    plan = _plan(root, patches, patch, weights, sides)
    return None if plan is None else Match(root, [patches, *inside], lambda _: _build(root, patches, plan))


class _AsConvolution(NamedTuple):
    """A product as a convolution."""

    rows: Shape
    """The extents of the patches' axes that are places."""
    weights: SSAValue
    order: list[int]
    """The weights' axes in the order of the filter's."""
    free: Shape
    """The extents of the last of these, which are the result's."""
    groups: int
    turned: bool
    """True if the free axes of the result come before the spatial ones."""


def _plan(
    root: DotGeneralOp, patches: ExtractPatchesOp, patch: SSAValue, weights: SSAValue, sides: tuple[str, str]
) -> _AsConvolution | None:
    values, extents = root.values(), _sizes(patch)
    batch: list[Sequence[int]] = [values[f"batch_{side}"] for side in sides]
    contract: list[Sequence[int]] = [values[f"contract_{side}"] for side in sides]
    contracted: dict[int, int] = dict(zip(*contract, strict=True))
    window: Sequence[int] = patches.values()["window"]
    channels = _sizes(patches.x)[-1]
    places = min([*contracted, *batch[0]], default=0)
    inner = range(places, len(extents))
    if channels == 0 or len(batch[0]) > 1 or prod(extents[places:]) != prod(window) * channels:
        return None
    if set(inner) != {*contracted, *batch[0]}:
        return None
    groups = 1
    if batch[0]:
        before = prod(extents[places : batch[0][0]])
        groups = extents[batch[0][0]]
        if before != prod(window) or groups == 0:
            return None
    used = {*contract[1], *batch[1]}
    free = [a for a in range(len(_sizes(weights))) if a not in used]
    order = [*(contracted[a] for a in inner if a not in batch[0]), *batch[1], *free]
    return _AsConvolution(extents[:places], weights, order, tuple(_sizes(weights)[a] for a in free), groups, sides[0] == "rhs")


def _sizes(value: SSAValue) -> Shape:
    return cast(Shape, spec_of(value).shape)


def _build(root: DotGeneralOp, patches: ExtractPatchesOp, plan: _AsConvolution) -> PtirOp:
    """Weights as a filter, the convolution, and its result in the order of the product's axes."""
    values = patches.values()
    groups = plan.groups
    dtype, extents = spec_of(plan.weights)
    permuted = [cast(Shape, extents)[a] for a in plan.order]
    kernel: PtirOp = in_place_of(root, TransposeOp, plan.weights, type=tensor_type(dtype, permuted), perm=plan.order)
    window: list[int] = list(values["window"])
    channels = _sizes(patches.x)[-1] // groups
    out = prod(permuted) // (prod(window) * channels)
    shape = [*window, channels, out]
    kernel = in_place_of(root, ReshapeOp, kernel.results[0], type=tensor_type(dtype, shape), new_shape=shape)
    spatial = _sizes(patches.result)[:-1]
    result = spec_of(root.result)
    convolution = in_place_of(
        root,
        ConvolutionOp,
        patches.x,
        kernel.results[0],
        type=tensor_type(result.dtype, (*spatial, out)),
        strides=values["strides"],
        padding=values["padding"],
        base_dilation=[1] * len(window),
        window_dilation=values["dilation"],
        feature_group_count=groups,
        accum_dtype=root.values()["accum_dtype"],
        out_dtype=root.values()["out_dtype"],
    )
    grouped = bool(root.values()["batch_lhs"])
    if not grouped and not plan.turned:
        return in_place_of(root, ReshapeOp, convolution.result, new_shape=result.shape)
    split = [*plan.rows, *([groups] if grouped else []), *plan.free]
    view = in_place_of(root, ReshapeOp, convolution.result, type=tensor_type(result.dtype, split), new_shape=split)
    places = len(plan.rows)
    rows, free = range(places), range(places + grouped, len(split))
    perm = [*([places] if grouped else []), *(free if plan.turned else rows), *(rows if plan.turned else free)]
    return in_place_of(root, TransposeOp, view.result, perm=perm)
