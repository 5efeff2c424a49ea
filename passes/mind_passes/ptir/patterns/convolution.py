"""
Convolution: `extract_patches`, perhaps reshaped, times weights, as `ptir.convolution`.

Patches are padded with zeros. Every extent of the patch must be contracted, in the weights' order or another; one batch axis
between window and channels is a group. The sums have the same terms in another order.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import cast

from xdsl.ir import SSAValue

from mind_dialect.ptir import ConvolutionOp, DotGeneralOp, ExtractPatchesOp, PtirOp, ReshapeOp, TransposeOp
from mind_dialect.ptir.types import tensor_type

from ..building import in_place_of, spec_of
from .matching import Match, made_by

Shape = tuple[int, ...]


def match(root: PtirOp) -> Match | None:
    """The convolution that ends in the product `root`, patches on the left."""
    if not isinstance(root, DotGeneralOp):
        return None
    inside: list[PtirOp] = []
    value = root.lhs
    if (view := made_by(value, ReshapeOp)) is not None:
        inside.append(view)
        value = view.x
    patches = made_by(value, ExtractPatchesOp)
    specs = [spec_of(v) for v in (root.lhs, root.rhs, root.result)]
    if patches is None or not (all(spec.is_static for spec in specs) and spec_of(patches.x).is_static):
        return None
    if patches.values()["pad_value"].item() != 0 and any(n for pair in patches.values()["padding"] for n in pair):
        return None
    plan = _plan(root, patches)
    return None if plan is None else Match(root, [patches, *inside], lambda _: _build(root, patches, *plan))


def _plan(root: DotGeneralOp, patches: ExtractPatchesOp) -> tuple[int, list[int], int] | None:
    """The number of leading axes that are places, the weights' axes in the order of the filter's, and the groups."""
    values, patch = root.values(), _sizes(root.lhs)
    batch: Sequence[int] = values["batch_lhs"]
    contracted: dict[int, int] = dict(zip(values["contract_lhs"], values["contract_rhs"], strict=True))
    window: Sequence[int] = patches.values()["window"]
    channels = _sizes(patches.x)[-1]
    places = min([*contracted, *batch], default=0)
    inner = range(places, len(patch))
    if channels == 0 or len(batch) > 1 or prod(patch[places:]) != prod(window) * channels or set(inner) != {*contracted, *batch}:
        return None
    groups = 1
    if batch:
        before = prod(patch[places : batch[0]])
        groups = patch[batch[0]]
        if before != prod(window) or groups == 0:
            return None
    used = {*values["contract_rhs"], *values["batch_rhs"]}
    free = [a for a in range(len(spec_of(root.rhs).shape)) if a not in used]
    return places, [*(contracted[a] for a in inner if a not in batch), *values["batch_rhs"], *free], groups


def _sizes(value: SSAValue) -> Shape:
    return cast(Shape, spec_of(value).shape)


def _build(root: DotGeneralOp, patches: ExtractPatchesOp, places: int, order: list[int], groups: int) -> PtirOp:
    """Weights as a filter, the convolution, and its result in the order of the product's axes."""
    values, weights = patches.values(), root.rhs
    dtype, extents = spec_of(weights)
    permuted = [cast(Shape, extents)[a] for a in order]
    kernel: PtirOp = in_place_of(root, TransposeOp, weights, type=tensor_type(dtype, permuted), perm=order)
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
    rows = _sizes(root.lhs)[:places]
    if not root.values()["batch_lhs"]:
        return in_place_of(root, ReshapeOp, convolution.result, new_shape=result.shape)
    free = cast(Shape, result.shape)[1 + places :]
    split = [*rows, groups, *free]
    view = in_place_of(root, ReshapeOp, convolution.result, type=tensor_type(result.dtype, split), new_shape=split)
    perm = [places, *range(places), *range(places + 1, len(split))]
    return in_place_of(root, TransposeOp, view.result, perm=perm)
