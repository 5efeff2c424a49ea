"""The row of attention. What an inference rarely asks for is left to the function body of the operator's schema."""

from __future__ import annotations

import math

from xdsl.ir import SSAValue

from mind_dialect.errors import error
from mind_dialect.ptir.types import F32, F64
from mind_dialect.ptir_shapes import Dim

from ..attention import attention, band
from .converter import OnnxConverter, OnnxRow, Values
from .node import Node

_MASK, _PAST, _LENGTHS = 3, 4, 6
"""Operands: a mask, keys and values of before, how many keys of each example count."""


def _attention(to: OnnxConverter, node: Node) -> Values:
    """
    `softmax(cap(scale q k^T) + masks) v`, with keys and values of before in front; queries without keys get 0.

    By its function body where scores are a result, where examples have keys of different numbers, a mask is shorter than the
    keys, heads have no size, or elements are narrow, which has intermediate roundings.
    """
    operands = [node.x(i) for i in range(3)]
    heads = tuple(node.int(f"{name}_num_heads", 0) for name in ("q", "kv", "kv"))
    dtype, flat = to.dtype(operands[0]), len(to.shape(operands[0])) == 3
    if dtype not in (F32, F64) or node.has(_LENGTHS) or node.wants(3) or any(to.dtype(x) is not dtype for x in operands):
        return to.by_function(node)
    if flat and 0 not in heads and all(isinstance(to.shape(x)[2], int) for x in operands):
        operands = [_by_heads(to, x, count) for x, count in zip(operands, heads, strict=True)]
    past = [node.optional(i) for i in (_PAST, _PAST + 1)]
    if len({len(to.shape(x)) for x in operands} | {4}) > 1 or (past[0] is None) is not (past[1] is None):
        return to.by_function(node)
    before = 0 if past[0] is None else to.shape(past[0])[2]
    q, k, v = operands[0], *(x if old is None else to.concat([old, x], 2) for old, x in zip(past, operands[1:], strict=True))
    (batch, shown, rows, depth), (_, shared, columns, _) = to.shape(q), to.shape(k)
    mask = node.optional(_MASK)
    short = mask is not None and to.shape(mask)[-1:] != (columns,)
    known = all(isinstance(n, int) for n in (shown, shared, depth, before))
    if not known or short or _whole(shown) % _whole(shared):
        return to.by_function(node)
    scale = node.float("scale", 1 / math.sqrt(_whole(depth)))
    masks = [_window(to, node, rows, columns, _whole(before)), mask]
    found = attention(to, q, k, v, scale=scale, masks=masks, cap=node.float("softcap", 0.0), guarded=masks != [None, None])
    if flat:
        found = to.reshape(to.transpose(found, [0, 2, 1, 3]), (batch, rows, _whole(shown) * _whole(to.shape(v)[3])))
    return [found, k, v]


def _whole(n: Dim) -> int:
    """A dimension that is known to be a size."""
    assert isinstance(n, int), "its callers have looked"
    return n


def _by_heads(to: OnnxConverter, x: SSAValue, count: int) -> SSAValue:
    """`[batch, length, heads * size]` as `[batch, heads, length, size]`."""
    batch, length, size = to.shape(x)
    if count < 1 or _whole(size) % count:
        raise error("E3003", f"{size} elements of {count} heads", dimension="heads", extents=(size, count))
    return to.transpose(to.reshape(x, (batch, length, count, _whole(size) // count)), [0, 2, 1, 3])


def _window(to: OnnxConverter, node: Node, rows: Dim, columns: Dim, before: int) -> SSAValue | None:
    """Emit the mask of the keys that a query may see by its place; None for all."""
    limits = [node.int(f"{side}_window_size", -1) for side in ("left", "right")]
    for side, limit in zip(("left", "right"), limits, strict=True):
        if limit < -1:
            raise error("E8002", f"{side}_window_size is {limit}, expected -1 or more", attribute=side, value=limit)
    left, right = (None if n < 0 else n for n in limits)
    right = 0 if node.int("is_causal") else right
    return None if left is None and right is None else band(to, rows, columns, before=left, after=right, first=before)


ATTENTION: dict[str, OnnxRow] = {"Attention": _attention}
