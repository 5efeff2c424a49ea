"""
Rows of attention as ONNX Runtime defines it: packed projections, masks of several forms, rotations, and caches of keys.

Masks that hide keys add `mask_filter_value`, as there; what comes after a query in a causal attention is excluded.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.errors import brief, error
from mind_dialect.extents.dims import add_dims, are_equal, sub_dims
from mind_dialect.ptir.types import SI64
from mind_dialect.ptir_shapes import Dim

from ..attention import attention
from ..unsupported import Refused
from .contrib_checks import refuse_flags, refuse_operands, stated
from .converter import OnnxConverter, OnnxRow, Values
from .emitter import HOW_SIZED
from .node import Node
from .products import centred, matmul

_SHARED = "pass past keys and values of the tokens before, and none after"
"""The remedy for buffers that hold past and present."""


def _whole(n: Dim, what: str) -> int:
    """A dimension that has a size. Raises `Refused`."""
    if not isinstance(n, int):
        raise Refused(f"{what} of the size {n}", HOW_SIZED)
    return n


def _width(to: OnnxConverter, x: SSAValue) -> int:
    """The size of the last axis."""
    return _whole(to.shape(x)[-1], "a projection")


def _count(node: Node, name: str) -> int:
    if (found := node.int(name)) < 1:
        raise error("E8002", f"{name} is {found}, expected 1 or more", attribute=name, value=found)
    return found


def _by_heads(to: OnnxConverter, x: SSAValue, heads: int) -> SSAValue:
    """`[batch, length, heads * size]` as `[batch, heads, length, size]`."""
    if len(shape := to.shape(x)) != 3:
        raise error("E3002", f"rank {len(shape)}, expected 3", expected=3, actual=len(shape))
    batch, length, width = shape
    if _whole(width, "elements of heads") % heads:
        raise error("E3003", f"{width} elements of {heads} heads", dimension="heads", extents=(width, heads))
    return to.transpose(to.reshape(x, (batch, length, heads, _whole(width, "elements") // heads)), [0, 2, 1, 3])


def _side_by_side(to: OnnxConverter, x: SSAValue) -> SSAValue:
    """`[batch, heads, length, size]` as `[batch, length, heads * size]`."""
    batch, heads, length, size = to.shape(x)
    return to.reshape(to.transpose(x, [0, 2, 1, 3]), (batch, length, _whole(heads, "heads") * _whole(size, "heads")))


def _cut(to: OnnxConverter, x: SSAValue, sizes: Sequence[int]) -> list[SSAValue]:
    """Parts of the last axis of these sizes; E3003 where they are not its size."""
    last = len(to.shape(x)) - 1
    if to.shape(x)[last] != sum(sizes):
        found = to.shape(x)[last]
        raise error("E3003", f"{found} columns, expected {sum(sizes)}", dimension="columns", extents=(found, sum(sizes)))
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    return [to.part(x, last, a, a + n) for a, n in zip(starts, sizes, strict=True)]


def _scale(node: Node, depth: Dim) -> float:
    return node.float("scale", 0.0) or 1 / math.sqrt(_whole(depth, "a head"))


def _padding(to: OnnxConverter, node: Node, i: int, like: SSAValue, columns: Dim) -> SSAValue | None:
    """Emit what a mask of keys adds to scores, by heads: of their numbers, of each key, or of each query and key."""
    if not node.has(i):
        return None
    mask, name = node.x(i), "key_padding_mask" if i == 4 else "mask_index"
    shape = to.shape(mask)
    if len(shape) == 1:
        if not are_equal(shape[0], to.shape(like)[0]):
            raise Refused(f"{name} of shape {brief(list(shape))}", "pass a mask of each key, or how many keys each example has")
        place = to.emit(ptir.IotaOp, shape=(1, columns), dtype=to.dtype(mask), axis=1)
        is_seen = to.compared("less", place, to.reshape(mask, (shape[0], 1)))
        shape = to.shape(is_seen)
    else:
        is_seen = to.compare("greater", mask, 0)
    if len(shape) not in (2, 3):
        raise Refused(f"{name} of rank {len(shape)}", "pass a mask of each key, or of each query and key")
    if not are_equal(shape[-1], columns):
        raise error("E3003", f"{name} of {shape[-1]} keys, expected {columns}", dimension=name, extents=(shape[-1], columns))
    is_seen = to.reshape(is_seen, (shape[0], *((1, 1) if len(shape) == 2 else (1, shape[1])), shape[-1]))
    hidden = to.fill(node.float("mask_filter_value", -10000.0), to.dtype(like), to.shape(is_seen))
    return to.select(is_seen, to.like(0.0, hidden), hidden)


def _attention(to: OnnxConverter, node: Node) -> Values:
    """A projection to queries, keys and values, and what `_attended` says."""
    projected = matmul(to, node.ranked(0, 3), node.ranked(1, 2))
    return _projected(to, node, to.plus(projected, node.x(2)) if node.has(2) else projected, mask=3, past=4, bias=5)


def _quantized_attention(to: OnnxConverter, node: Node) -> Values:
    """The same with a projection of integers, whose weights may have a scale for each column."""
    total = matmul(to, centred(to, node.ranked(0, 3), node.optional(6)), centred(to, node.ranked(1, 2), node.optional(7), 1))
    scale = to.times(to.reshape(node.x(3), ()), node.x(4))
    projected = to.plus(to.times(to.cast(total, to.dtype(scale)), scale), node.x(2))
    return _projected(to, node, projected, mask=5, past=8, bias=9)


def _projected(to: OnnxConverter, node: Node, projected: SSAValue, *, mask: int, past: int, bias: int) -> Values:
    """Attention of queries, keys and values side by side, and keys and values of before and now."""
    refuse_flags(node, do_rotary="rotated queries", past_present_share_buffer="past and present in one buffer")
    sizes = node.ints("qkv_hidden_sizes") or [_width(to, projected) // 3] * 3
    q, k, v = (_by_heads(to, x, _count(node, "num_heads")) for x in _cut(to, projected, sizes))
    before: list[SSAValue | None] = [None, None]
    if node.has(past):
        given = node.ranked(past, 5)
        before = [to.reshape(to.part(given, 0, i, i + 1), to.shape(given)[1:]) for i in (0, 1)]
    found, k, v = _attended(to, node, (q, k, v), before, mask, bias)
    both = [to.reshape(x, (1, *to.shape(x))) for x in (k, v)] if node.wants(1) else []
    return [found, to.concat(both, 0) if both else None]


def _counted(to: OnnxConverter, n: Dim) -> SSAValue:
    """0 to n - 1 as a row."""
    return to.emit(ptir.IotaOp, shape=(1, n), dtype=SI64, axis=1)


def _number(to: OnnxConverter, n: Dim) -> SSAValue | float:
    """A size as a number to compute with."""
    return n if isinstance(n, int) else to.size(n)


def _seen(to: OnnxConverter, own: SSAValue, columns: Dim, window: int = -1) -> SSAValue:
    """Emit which keys queries at places `[batch, rows]` see: those up to their own, within a window unless it is negative."""
    size, rows = to.shape(own)
    place, own = to.emit(ptir.IotaOp, shape=(1, 1, columns), dtype=SI64, axis=2), to.reshape(own, (size, rows, 1))
    seen = to.compared("less_equal", place, own)
    if window >= 0:
        seen = to.two(ptir.AndOp, seen, to.compared("greater", place, to.minus(own, window)))
    return to.reshape(seen, (size, 1, rows, columns))


def _attended(
    to: OnnxConverter, node: Node, given: Sequence[SSAValue], past: Sequence[SSAValue | None], mask: int, bias: int
) -> list[SSAValue]:
    """Results of queries, heads side by side, and keys and values with those of before in front."""
    q, k, v = given
    before = 0 if past[0] is None else to.shape(past[0])[2]
    k, v = (x if old is None else to.concat([old, x], 2) for old, x in zip(past, (k, v), strict=True))
    (_, _, rows, depth), columns = to.shape(q), to.shape(k)[2]
    masks = [_padding(to, node, mask, q, columns), node.optional(bias)]
    if node.int("unidirectional"):
        masks.append(_seen(to, to.plus(_counted(to, rows), _number(to, before)), columns))
    return [_side_by_side(to, attention(to, q, k, v, scale=_scale(node, depth), masks=masks)), k, v]


def _multi_head(to: OnnxConverter, node: Node) -> Values:
    """Queries, keys and values apart or packed, with a bias of their projections."""
    refuse_operands(node, {8: "past and present in one buffer", 9: "a beam search in attention"}, _SHARED)
    if node.wants(3):
        raise Refused("scores of attention as a result", "leave out the result")
    heads = _count(node, "num_heads")
    given = _unpacked(to, node)
    if node.has(3):
        widths = [_width(to, x if len(to.shape(x)) == 3 else given[0]) for x in given]
        biases = _cut(to, node.ranked(3, 1), widths)
        given = [to.plus(x, b) if len(to.shape(x)) == 3 else x for x, b in zip(given, biases, strict=True)]
    q, k, v = (x if len(to.shape(x)) == 4 else _by_heads(to, x, heads) for x in given)
    past = [node.optional(6), node.optional(7)]
    if (past[0] is None) is not (past[1] is None):
        raise error("E2007", "has one of past_key and past_value, expected both", expected=2, actual=1)
    return _attended(to, node, (q, k, v), past, 4, 5)


def _unpacked(to: OnnxConverter, node: Node) -> list[SSAValue]:
    """Queries, keys and values of rank 3, or keys and values of rank 4 with heads before rows."""
    given = [node.optional(i) for i in range(3)]
    if given[0] is not None and given[1] is None and given[2] is None:
        return _parts(to, node.ranked(0, 5), 3)
    if given[0] is not None and given[1] is not None and given[2] is None:
        return [given[0], *_parts(to, node.ranked(1, 5), 2)]
    return [node.x(i) for i in range(3)]


def _parts(to: OnnxConverter, x: SSAValue, count: int) -> list[SSAValue]:
    """`[batch, length, heads, count, size]` as tensors of `[batch, length, heads * size]`."""
    batch, length, heads, packed, size = to.shape(x)
    if packed != count:
        raise error("E3003", f"{packed} packed tensors, expected {count}", dimension=3, extents=(packed, count))
    shape = (batch, length, _whole(heads, "heads") * _whole(size, "heads"))
    return [to.reshape(to.part(x, 3, i, i + 1), shape) for i in range(count)]


# Rotations


def _rotated(to: OnnxConverter, x: SSAValue, angles: Sequence[SSAValue], *, pairs: bool) -> SSAValue:
    """`[batch, heads, length, size]` with its first elements rotated by angles of `[batch, length, size / 2]`."""
    cos, sin = (to.reshape(a, (to.shape(a)[0], 1, *to.shape(a)[1:])) for a in angles)
    half, size = _whole(to.shape(cos)[3], "an angle"), _whole(to.shape(x)[3], "a head")
    if 2 * half > size:
        raise error("E3003", f"{half} angles for {size} elements", dimension="angles", extents=(2 * half, size))
    turned, rest = to.part(x, 3, 0, 2 * half), to.part(x, 3, 2 * half, size)
    if pairs:
        shape = to.shape(turned)
        apart = to.reshape(turned, (*shape[:3], half, 2))
        a, b = (to.reshape(to.part(apart, 4, i, i + 1), (*shape[:3], half)) for i in (0, 1))
    else:
        a, b = to.part(turned, 3, 0, half), to.part(turned, 3, half, 2 * half)
    both = [to.minus(to.times(a, cos), to.times(b, sin)), to.plus(to.times(a, sin), to.times(b, cos))]
    if pairs:
        both = [to.reshape(v, (*to.shape(v), 1)) for v in both]
        found = to.reshape(to.concat(both, 4), to.shape(turned))
    else:
        found = to.concat(both, 3)
    return found if 2 * half == size else to.concat([found, rest], 3)


def _angles(to: OnnxConverter, node: Node, first: int, places: SSAValue) -> list[SSAValue]:
    """Rows of the tables of cosines and sines, which are operands from `first` on, at places of the run."""
    return [to.emit(ptir.TakeOp, node.ranked(i, 2), to.index(places)) for i in (first, first + 1)]


def _rotary(to: OnnxConverter, node: Node) -> SSAValue:
    refuse_flags(node, is_packed_batching="batches without padding")
    if node.float("scale", 1.0) != 1:
        raise Refused("rotated elements with a scale", "multiply the result")
    x, places = node.x(), node.x(1)
    flat = len(to.shape(x)) == 3
    width, given = 2 * _whole(to.shape(node.ranked(2, 2))[1], "an angle"), node.int("num_heads")
    if flat:
        x = _by_heads(to, x, given or max(1, _width(to, x) // width))
    length = to.shape(x)[2]
    if to.shape(places) == (1,):
        places = to.plus(to.counted(length), to.cast(places, SI64))
        places = to.reshape(places, (1, length))
    found = _rotated(to, x, _angles(to, node, 2, places), pairs=bool(node.int("interleaved")))
    return _side_by_side(to, found) if flat else found


# Groups of queries


def _group_query(to: OnnxConverter, node: Node) -> Values:
    """Queries in groups that share keys, after rotations, with keys and values of before."""
    _check_group_query(node)
    heads, shared = _count(node, "num_heads"), _count(node, "kv_num_heads")
    q, k, v = _projections(to, node, heads, shared)
    batch, _, rows, depth = to.shape(q)
    past = [node.optional(i) for i in (3, 4)]
    is_first = past[0] is None or to.shape(past[0])[2] == 0
    start = to.fill(0, SI64, (1, 1)) if is_first else _started(to, node, batch, rows)
    own = to.plus(_counted(to, rows), start)
    if node.int("do_rotary"):
        angles = _angles(to, node, 7, node.x(9) if node.has(9) else own)
        q, k = (_rotated(to, x, angles, pairs=bool(node.int("rotary_interleaved"))) for x in (q, k))
    if not is_first:
        columns = _columns(to, node, past, rows)
        k, v = (_appended(to, old, x, start, columns) for old, x in zip(past, (k, v), strict=True) if old is not None)
    masks = [_seen(to, own, to.shape(k)[2], node.int("local_window_size", -1)), node.optional(10)]
    found = attention(to, q, k, v, scale=_scale(node, depth), masks=masks, cap=node.float("softcap", 0.0))
    return [_side_by_side(to, found), k, v]


def _check_group_query(node: Node) -> None:
    """Raise `Refused` for forms that are not read."""
    refuse_flags(
        node, smooth_softmax="a softmax with one more term", qk_output="scores of attention as a result",
        kv_cache_bit_width="quantized keys of before", sliding_window_cache="a buffer that drops keys",
    )  # fmt: skip
    reasons = {11: "a softmax with one more term", 12: "quantized keys of before", 13: "quantized keys of before"}
    reasons |= {14: "norms of queries", 15: "norms of keys", 16: "chunks of queries with padding"}
    refuse_operands(node, reasons, "leave the operand out")
    if node.wants(3):
        raise Refused("scores of attention as a result", "leave out the result")
    if not node.int("causal", 1):
        raise Refused("groups of queries that see all keys (causal = 0)", "use MultiHeadAttention or Attention of opset 23")


def _projections(to: OnnxConverter, node: Node, heads: int, shared: int) -> list[SSAValue]:
    """Queries, keys and values by heads, given apart or side by side."""
    if heads % shared:
        raise error("E3003", f"{heads} heads share those of {shared} keys", dimension="heads", extents=(heads, shared))
    counts = (heads, shared, shared)
    if node.has(1) or node.has(2):
        return [_by_heads(to, node.x(i), n) for i, n in enumerate(counts)]
    depth = _width(to, node.ranked(0, 3)) // (heads + 2 * shared)
    return [_by_heads(to, x, n) for x, n in zip(_cut(to, node.x(0), [n * depth for n in counts]), counts, strict=True)]


def _started(to: OnnxConverter, node: Node, batch: Dim, rows: Dim) -> SSAValue:
    """The number of tokens that each example had before: its number of keys but for the new ones, as a column."""
    last = to.reshape(to.cast(node.x(5), SI64), (batch, 1))
    return to.two(ptir.MaximumOp, to.minus(to.plus(last, 1), _number(to, rows)), 0)


def _columns(to: OnnxConverter, node: Node, past: Sequence[SSAValue | None], rows: Dim) -> Dim:
    """The places of keys of now: those of before and the new ones; where a buffer and all keys have sizes, the greater."""
    assert past[0] is not None
    before, total = to.shape(past[0])[2], node.operands[6]
    wanted = node.sizes(6) if isinstance(total, np.ndarray) else None
    if isinstance(before, int) and wanted and isinstance(wanted[0], int):
        return max(before, wanted[0])
    return add_dims(before, rows)


def _appended(to: OnnxConverter, old: SSAValue, new: SSAValue, start: SSAValue, columns: Dim) -> SSAValue:
    """Keys or values of before with those of now from `start` on, in `columns` places."""
    batch, heads, before, depth = to.shape(old)
    rows = to.shape(new)[2]
    shape = (batch, heads, columns, depth)
    place = to.minus(_counted(to, columns), start)
    if (added := sub_dims(columns, before)) != 0:
        old = to.concat([old, to.fill(0.0, to.dtype(old), (batch, heads, added, depth))], 2)
    last = rows - 1 if isinstance(rows, int) else to.minus(to.size(rows), 1)
    inside = to.two(ptir.MaximumOp, to.two(ptir.MinimumOp, place, last), 0)
    is_new = to.compared("equal", place, inside)
    index, is_new = (to.broadcast(to.reshape(v, (to.shape(v)[0], 1, columns, 1)), shape) for v in (inside, is_new))
    return to.select(is_new, to.emit(ptir.GatherOp, new, index, axis=2), old)


ATTENTIONS: dict[str, OnnxRow] = {
    "com.microsoft.Attention": stated(
        2, 7,
        "do_rotary mask_filter_value num_heads past_present_share_buffer qkv_hidden_sizes rotary_embedding_dim scale "
        "unidirectional",
        _attention,
    ),
    "com.microsoft.GroupQueryAttention": stated(
        7, 17,
        "causal do_rotary k_norm_epsilon k_quant_type kv_cache_bit_width kv_num_heads local_window_size num_heads q_norm_epsilon "
        "qk_norm_epsilon qk_output rotary_interleaved scale sliding_window_cache smooth_softmax softcap v_quant_type",
        _group_query,
        optional=range(1, 5),
    ),
    "com.microsoft.MultiHeadAttention": stated(1, 10, "mask_filter_value num_heads scale unidirectional", _multi_head),
    "com.microsoft.QAttention": stated(
        5, 9, "do_rotary mask_filter_value num_heads past_present_share_buffer scale unidirectional", _quantized_attention
    ),
    "com.microsoft.RotaryEmbedding": stated(
        4, 4, "interleaved is_packed_batching num_heads rotary_embedding_dim scale", _rotary
    ),
}  # fmt: skip
"""By name, with the domain."""
