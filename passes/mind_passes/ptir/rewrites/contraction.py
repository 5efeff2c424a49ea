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

    Not along contracted axes: a sum of equal numbers rounds otherwise than their multiple. Not along batch axes: attention with
    shared keys and values is recognized by them. Sizes are static.
    """
    if not all(spec_of(v).is_static for v in (*op.operands, op.result)):
        return None
    for i, side in enumerate(("lhs", "rhs")):
        inner = op.operands[i].owner
        if isinstance(inner, BroadcastToOp) and (found := _narrowed(op, inner, side)) is not None:
            return found
    return None


def _narrowed(op: DotGeneralOp, inner: BroadcastToOp, side: str) -> Found:
    """The product without what `inner`, its operand on one side, repeats along free axes."""
    values, whole = dict(op.values()), _shape(inner.result)
    batch, contracted = values[f"batch_{side}"], values[f"contract_{side}"]
    x = (*[1] * (len(whole) - len(_shape(inner.x))), *_shape(inner.x))
    others = [axis for axis in range(len(whole)) if axis not in batch and axis not in contracted]
    free = [axis for axis in others if x[axis] < whole[axis]]
    if not free:
        return None
    y = _viewed(op, inner.x, x, tuple(1 if axis in free else n for axis, n in enumerate(whole)))
    operands = (y, op.rhs) if side == "lhs" else (op.lhs, y)
    result = _shape(op.result)
    first = len(batch) if side == "lhs" else len(result) - len(others)
    small = list(result)
    for place, axis in enumerate(others, first):
        small[place] = 1 if axis in free else small[place]
    made = in_place_of(op, DotGeneralOp, *operands, type=tensor_type(spec_of(op.result).dtype, tuple(small)), **values)
    return in_place_of(op, BroadcastToOp, made.result, result_shape=result)


def _shape(value: SSAValue) -> tuple[int, ...]:
    """The shape of a value of static shape."""
    return cast(tuple[int, ...], spec_of(value).shape)


def _viewed(op: DotGeneralOp, x: SSAValue, shape: tuple[int, ...], wide: tuple[int, ...]) -> SSAValue:
    """`x` as an array of `shape`, repeated to `wide`."""
    dtype = spec_of(x).dtype
    if _shape(x) != shape:
        x = in_place_of(op, ReshapeOp, x, type=tensor_type(dtype, shape), new_shape=shape).result
    return x if shape == wide else in_place_of(op, BroadcastToOp, x, type=tensor_type(dtype, wide), result_shape=wide).result
