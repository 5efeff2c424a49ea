"""
Weights in blocks of a scale and a zero point, as a product of few rows reads them: codes of 4 or 8 bits, decoded in registers.

    weight[n, k] = (code[n, k] - zero[n, k / block]) * scale[n, k / block]

A fusion of casts, shifts and arithmetic is such weights; the numbers that are multiplied are the very ones that it would give.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from math import prod

from xdsl.ir import BlockArgument, SSAValue

from mind_dialect import ptir
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir import PtirLiteralAttr
from mind_dialect.ptir.types import F32, SI8, UI8, read_type

from ...launch.ref import row_major
from ...launch.views import Ints
from ..target_info import TargetInfo
from ..views import Buffer, Indices, View

MOST_ROWS = 64
"""So many rows at most are multiplied with weights that are decoded for some of them at a time; more share decoded weights."""
MOST_LOOKED_UP = 128
"""The same of weights that are looked up in registers, `looks_up`."""
LEAST_WIDTH = 4
COLUMNS = 4
"""Rows of weights, columns of the result, that are read side by side."""
NIBBLE = 15


@dataclass(frozen=True)
class BlockedWeights:
    """
    `rows` weights of `depth` each, `per_byte` to a byte of `codes`, which lie in order.

    Zero points and scales are `[rows, blocks]`, or one number; scales are in f32, zero points are too, or bytes.
    """

    codes: View
    rows: int
    depth: int
    per_byte: int
    block: int
    scale: View
    zero: View | None

    @property
    def dense(self) -> View:
        """Return the view of the weights as if each were an element of memory, in the order of the codes."""
        shape = self.rows, self.depth
        return View(self.codes.base, self.codes.dtype, shape, row_major(shape))

    @property
    def reads(self) -> list[View]:
        """Return the views in memory, the codes first."""
        views = [self.codes, self.scale, *([] if self.zero is None else [self.zero])]
        return [v for v in views if isinstance(v.base, Buffer)]

    def width(self, host: TargetInfo) -> int:
        """Return the lanes of a vector that holds weights of one block; 0 if blocks are too short, or odd."""
        width = host.lanes(F32.size)
        while self.block % (width * self.per_byte):
            width //= 2
        return width if width >= LEAST_WIDTH else 0

    def looks_up(self, host: TargetInfo) -> bool:
        """Return whether the weights of all codes of a block are a vector, in which a permutation finds those of 16 codes."""
        return host.has_avx512 and self.width(host) == 2**4 and self.per_byte == 2

    def most_rows(self, host: TargetInfo) -> int:
        """Return how many rows are multiplied with these weights, at most."""
        return MOST_LOOKED_UP if self.looks_up(host) else MOST_ROWS

    def key(self) -> Hashable:
        """Return all that the text of a kernel depends on."""
        views = [
            None if v is None else (v.dtype, v.strides, None if isinstance(v.base, Buffer) else v.base)
            for v in (self.scale, self.zero)
        ]
        return self.codes.dtype, self.rows, self.depth, self.per_byte, self.block, *views


def blocked_weights(op: ptir.FusionOp, views: Mapping[SSAValue, View]) -> BlockedWeights | str:
    """Return the weights that a fusion decodes, given the places of the values of its body; or why they are none."""
    last, (dtype, dims) = op.body.block.last_op, read_type(op.results[0].type)
    shape = tuple([n for n in dims if isinstance(n, int)])
    if last is None or len(op.results) != 1 or len(shape) < 2 or dtype is not F32:
        return "it is no matrix in f32"
    product = last.operands[0].owner
    if not isinstance(product, ptir.MulOp):
        return "it does not end with a multiplication by a scale"
    for value, scale in (product.operands, product.operands[::-1]):
        codes, zero = _decoded(value)
        if codes is None or scale not in views or (zero is not None and zero not in views):
            continue
        per_byte, source = _unpacked(op, codes, shape, views)
        if source in views:
            return _checked(shape, per_byte, views[source], views[scale], None if zero is None else views[zero])
    return "it is no difference of codes and zero points, times scales"


def _decoded(value: SSAValue) -> tuple[SSAValue | None, SSAValue | None]:
    """Return codes and the zero point, before its cast if any, of `cast(codes) - zero`, or of the cast alone."""
    zero: SSAValue | None = None
    if isinstance(owner := value.owner, ptir.SubOp):
        value, zero = owner.operands
        zero = zero.owner.operands[0] if isinstance(zero.owner, ptir.CastOp) else zero
    return (value.owner.operands[0], zero) if isinstance(value.owner, ptir.CastOp) else (None, None)


def _unpacked(op: ptir.FusionOp, value: SSAValue, shape: Ints, views: Mapping[SSAValue, View]) -> tuple[int, SSAValue]:
    """Return how many codes are in a byte, and the bytes: two of `bytes >> [0, 4] & 15` along the last axis, else one."""
    masked = value.owner
    if not isinstance(masked, ptir.AndOp) or shape[-1] != 2 or not _is_mask(views.get(masked.operands[1])):
        return 1, value
    shifted = masked.operands[0].owner
    if not isinstance(shifted, ptir.ShiftRightLogicalOp) or not _is_steps(op, shifted.operands[1]):
        return 1, value
    return 2, shifted.operands[0]


def _is_mask(view: View | None) -> bool:
    return view is not None and isinstance(view.base, PtirLiteralAttr) and view.base.item() == NIBBLE


def _is_steps(op: ptir.FusionOp, value: SSAValue) -> bool:
    """Return whether a value is 0 and 4 along the last axis, and the same along others: a constant, or repeated from one."""
    source = value.owner.x if isinstance(value.owner, ptir.BroadcastToOp) else value
    if isinstance(source, BlockArgument) and source.block is op.body.block:
        source = op.operands[source.index]
    if not isinstance(source.owner, ptir.ConstantOp):
        return False
    literal = source.owner.literal
    pairs, (dtype, shape) = literal.data.data, literal.spec
    return dtype is UI8 and shape[-1:] == (2,) and pairs == bytes((0, 4)) * (len(pairs) // 2)


def _checked(shape: Ints, per_byte: int, codes: View, scale: View, zero: View | None) -> BlockedWeights | str:
    """Return weights of a shape, the first axis that of rows; or why they are not decoded in registers."""
    held = codes.shape if per_byte == 1 else codes.shape[:-1]
    if codes.dtype is not UI8 and (codes.dtype is not SI8 or per_byte == 2):
        return f"codes of {codes.dtype}"
    if not isinstance(codes.base, Buffer) or codes.lookups or prod(shape) < 1:
        return "codes in no memory"
    if not replace(codes, shape=held, strides=codes.strides[: len(held)]).is_dense or (per_byte == 2 and codes.strides[-1]):
        return "codes that do not lie in order"
    given = [scale] if zero is None else [scale, zero]
    if any(v.lookups or isinstance(v.base, Indices) for v in given) or scale.dtype is not F32:
        return "scales that are not read as f32"
    if zero is not None and zero.dtype not in (F32, UI8, SI8):
        return f"zero points of {zero.dtype}"
    varies = max([0, *(a for v in given for a, stride in enumerate(v.strides) if stride and shape[a] > 1)])
    if varies > 1:
        return "scales that change within a block"
    block = prod(shape[2:]) if varies else prod(shape[1:])
    made = [replace(v, shape=(shape[0], prod(shape[1:]) // block), strides=_by_block(v, varies)) for v in given]
    return BlockedWeights(codes, shape[0], prod(shape[1:]), per_byte, block, made[0], made[1] if zero is not None else None)


def _by_block(view: View, varies: int) -> Ints:
    return view.strides[0], view.strides[1] if varies else 0
