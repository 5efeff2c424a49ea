"""
Rewrites of `dot_general`, whose axes can say what transposes around it say, and which need not compute again what is repeated.

The same products are summed over the same axes; in which order they are added is open to a target, by shape as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from xdsl.ir import SSAValue

from mind_dialect.ptir import BroadcastToOp, DotGeneralOp, ReshapeOp, TransposeOp
from mind_dialect.ptir.types import Kind, tensor_type

from ..building import Found, in_place_of, spec_of


def transpose_into_dot(op: DotGeneralOp) -> Found:
    """
    `dot(transpose(a, p), b) = dot(a, b)` with axis `i` of the lhs called `p[i]`, and likewise for the rhs.

    The axes that are neither contracted nor batch must ascend in `a` as they do in its transpose, as the result lists them in
    that order. The products and what they are summed over are the same.
    """
    values = dict(op.values())
    operands = list(op.operands)
    changed = False
    for i, side in enumerate(("lhs", "rhs")):
        inner = operands[i].owner
        if not isinstance(inner, TransposeOp):
            continue
        if (axes := renamed(values, side, inner.values()["perm"])) is not None:
            operands[i], changed = inner.x, True
            values |= axes
    return in_place_of(op, DotGeneralOp, *operands, **values) if changed else None


def renamed(values: Mapping[str, Any], side: str, perm: Sequence[int]) -> dict[str, list[int]] | None:
    """The axes of one operand of a product as those of what `perm` transposes; None unless the free axes ascend there."""
    used = {*values[f"batch_{side}"], *values[f"contract_{side}"]}
    free = [a for axis, a in enumerate(perm) if axis not in used]
    if free != sorted(free):
        return None
    return {f"{role}_{side}": [perm[axis] for axis in values[f"{role}_{side}"]] for role in ("batch", "contract")}


def transpose_of_dot(op: TransposeOp) -> Found:
    """
    `transpose(dot(a, b), p) = dot(b, a)`, where p swaps the free axes of a with those of b, and the product has no other use.

    Not for complex numbers, whose products are not commutative bit by bit.
    """
    inner = op.x.owner
    if not isinstance(inner, DotGeneralOp) or not op.x.has_one_use() or spec_of(inner.lhs).dtype.kind is Kind.COMPLEX:
        return None
    values = inner.values()
    rank, batch = len(spec_of(op.x).shape), len(values["batch_lhs"])
    rhs = rank - len(spec_of(inner.rhs).shape) + batch + len(values["contract_rhs"])
    if tuple(op.values()["perm"]) != (*range(batch), *range(rhs, rank), *range(batch, rhs)):
        return None
    swapped = {
        f"{role}_{a}": values[f"{role}_{b}"] for role in ("batch", "contract") for a, b in (("lhs", "rhs"), ("rhs", "lhs"))
    }
    return in_place_of(op, DotGeneralOp, inner.rhs, inner.lhs, **{**values, **swapped})


def broadcast_out_of_dot(op: DotGeneralOp) -> Found:
    """
    `dot(broadcast_to(a), b) = broadcast_to(dot(a, b))`, where a is repeated along free axes: one product for all of them.

    Where b is repeated along the last batch axes, these are free axes of a, if they come before its own: one product with more
    rows. Not along contracted axes: a sum of equal numbers rounds otherwise than their multiple. Sizes are static.
    """
    if not all(spec_of(v).is_static for v in (*op.operands, op.result)):
        return None
    for i, side in enumerate(("lhs", "rhs")):
        inner = op.operands[i].owner
        if isinstance(inner, BroadcastToOp) and (found := _narrowed(op, inner, side)) is not None:
            return found
    return None


def _narrowed(op: DotGeneralOp, inner: BroadcastToOp, side: str) -> Found:
    """The product without what `inner`, its operand on one side, repeats along free and batch axes."""
    values, whole = dict(op.values()), _shape(inner.result)
    batch, contracted = list(values[f"batch_{side}"]), values[f"contract_{side}"]
    x = (*[1] * (len(whole) - len(_shape(inner.x))), *_shape(inner.x))
    repeated = [axis for axis, (m, n) in enumerate(zip(x, whole, strict=True)) if m < n and axis not in contracted]
    free = [axis for axis in repeated if axis not in batch]
    count = _batches_as_rows(op, values, repeated) if side == "rhs" else 0
    if not free and not count:
        return None
    kept = [axis for axis in range(len(whole)) if axis not in batch[len(batch) - count :]]
    shape = tuple(1 if axis in free else whole[axis] for axis in kept)
    values[f"batch_{side}"] = [kept.index(axis) for axis in batch[: len(batch) - count]]
    values[f"contract_{side}"] = [kept.index(axis) for axis in contracted]
    if count:
        values["batch_lhs"] = values["batch_lhs"][:-count]
    y = _viewed(op, inner.x, tuple(x[axis] for axis in kept), shape)
    operands = (y, op.rhs) if side == "lhs" else (op.lhs, y)
    if not free:
        return in_place_of(op, DotGeneralOp, *operands, **values)
    result = _shape(op.result)
    others = [axis for axis in range(len(whole)) if axis not in batch and axis not in contracted]
    first = len(values["batch_lhs"]) + count if side == "lhs" else len(result) - len(others)
    small = list(result)
    for place, axis in enumerate(others, first):
        small[place] = 1 if axis in free else small[place]
    made = in_place_of(op, DotGeneralOp, *operands, type=tensor_type(spec_of(op.result).dtype, tuple(small)), **values)
    return in_place_of(op, BroadcastToOp, made.result, result_shape=result)


def _batches_as_rows(op: DotGeneralOp, values: Mapping[str, Any], repeated: Sequence[int]) -> int:
    """How many of the last batch axes the rhs repeats and the lhs has before its free axes, so that they can be free axes."""
    batch, contracted, count = values["batch_lhs"], values["contract_lhs"], 0
    least = min((a for a in range(len(_shape(op.lhs))) if a not in batch and a not in contracted), default=len(_shape(op.lhs)))
    for left, right in zip(reversed(batch), reversed(values["batch_rhs"]), strict=True):
        if right not in repeated or left >= least:
            break
        least, count = left, count + 1
    return count


def _shape(value: SSAValue) -> tuple[int, ...]:
    """The shape of a value of static shape."""
    return cast(tuple[int, ...], spec_of(value).shape)


def _viewed(op: DotGeneralOp, x: SSAValue, shape: tuple[int, ...], wide: tuple[int, ...]) -> SSAValue:
    """`x` as an array of `shape`, repeated to `wide`."""
    dtype = spec_of(x).dtype
    if _shape(x) != shape:
        x = in_place_of(op, ReshapeOp, x, type=tensor_type(dtype, shape), new_shape=shape).result
    return x if shape == wide else in_place_of(op, BroadcastToOp, x, type=tensor_type(dtype, wide), result_shape=wide).result
