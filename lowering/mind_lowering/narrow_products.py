"""
Products of 32-bit integers that are bytes less a zero point become products of signed bytes, four of which machines add at once.

    sum over k of (a[m, k] - x[m]) * (b[k, n] - y[n])
        = sum over k of a*b - x[m] * sum over k of b[k, n] - y[n] * sum over k of a[m, k] + K * x[m] * y[n]

Sums of 32 bits are modulo 2^32, so both sides are equal, whatever the numbers are. An unsigned byte is a signed one plus 128.
Constants are summed here, by NumPy. Zero points of weights go into the weights where these stay bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from math import prod
from typing import Any, cast

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import BytesAttr, ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from mind_dialect import ptir, register
from mind_dialect.dominance import walk
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.op import value_of
from mind_dialect.ptir.types import SI8, SI32, UI8, PtirDType, read_type, tensor_type
from mind_passes.ptir.building import accumulator, insert_new, spec_of, uniform
from mind_passes.ptir.construct import Value, add, broadcast, filled, make, mul, reduce_sum, reshape, static, sub, transpose
from mind_passes.ptir.construct import cast as cast_to
from mind_passes.ptir.dead_ops import replace_values
from mind_passes.ptir.patterns.matching import made_by

from .ptir_kernels.formats import array_dtype

LEAST_WORK = 1 << 12
"""Products of fewer multiplications stay: the ops around them would take as long."""
FACTORS = 4
"""The depth of a product is a multiple of this: so many factors has a word."""
LEAST_CHANNELS = 3
"""Images of as many channels get more, of zeros, where windows would not fill words."""
MOST_PATCHES = 1 << 26
"""The windows of a convolution are stored, as bytes, where they have no more elements."""
_OFFSET = 128
Axes = tuple[int, ...]
Supports = Callable[[ptir.PtirOp], bool]


def narrow_products(root: Operation, supports: Supports = lambda op: True) -> bool:
    """Rewrite the products inside a verified `root` that `supports` takes; return whether there were any."""
    return rewrite_products(root, narrowed, supports)


def rewrite_products(
    root: Operation, rewrite: Callable[[ptir.DotGeneralOp | ptir.ConvolutionOp], Operation | None], supports: Supports
) -> bool:
    """Replace the products inside a verified `root`, outside of fusions, by what `rewrite` returns of those it takes."""
    became: dict[SSAValue, SSAValue] = {}
    for op in [op for op in walk(root) if isinstance(op, (ptir.DotGeneralOp, ptir.ConvolutionOp))]:
        made = rewrite(op) if not isinstance(op.parent_op(), ptir.FusionOp) and supports(op) else None
        if made is None:
            continue
        block = op.parent
        assert isinstance(block, Block)
        insert_new(made, op, block)
        made.results[0].name_hint = op.result.name_hint
        became[op.result] = made.results[0]
    _drop_unused_candidates(root)
    replace_values(root, became)
    return bool(became)


def _drop_unused_candidates(root: Operation) -> None:
    """Take the uses of values inside `root` from ops that were built and put nowhere, so that what they alone use is dead."""
    for op in walk(root):
        arguments = [a for region in op.regions for block in region.blocks for a in block.args]
        for value in (*op.results, *arguments):
            for user in [use.operation for use in value.uses if use.operation.parent is None]:
                user.drop_all_references()


@dataclass(frozen=True)
class Bytes:
    """An operand: signed bytes plus `offset`, a number or a value that broadcasts to it and is the same along contracted axes."""

    codes: Value
    offset: Value | int


@dataclass(frozen=True)
class Side:
    """The axes of an operand of a product by their role, and its place in the result."""

    batch: Axes
    contract: Axes
    free: Axes
    is_left: bool

    def placed(self, x: Value, others: int) -> Value:
        """Return a value of extent 1 along contracted axes as it broadcasts to the result; the other side has `others` axes."""
        shape = static(x)
        kept = [*self.batch, *self.free]
        packed = reshape(x, tuple(shape[a] for a in range(len(shape)) if a not in self.contract))
        left = [a for a in range(len(shape)) if a not in self.contract]
        moved = transpose(packed, [left.index(a) for a in kept])
        batch, free = (tuple(shape[a] for a in axes) for axes in (self.batch, self.free))
        ones = (1,) * others
        return reshape(moved, (*batch, *free, *ones) if self.is_left else (*batch, *ones, *free))


def narrowed(op: ptir.DotGeneralOp | ptir.ConvolutionOp) -> Operation | None:
    """Return the same numbers from a product of bytes, not in the program yet; None for other products."""
    specs = [spec_of(v) for v in (*op.operands, *op.results)]
    if any(not s.is_static or s.dtype is not SI32 for s in specs) or accumulator(op) is not SI32:
        return None
    found = _of_patches(op) if isinstance(op, ptir.ConvolutionOp) else _of_operands(op)
    if found is None:
        return None
    stated: dict[str, Any] = {**found.roles, "accum_dtype": SI32, "out_dtype": SI32}
    product = make(ptir.DotGeneralOp, found.lhs.codes, found.rhs.codes, type=op.result.type, **stated)
    return cast(Operation, _corrected(product, (found.lhs, found.rhs), found.sides, found.depth))


@dataclass(frozen=True)
class _Product:
    """A product of bytes with offsets: its operands, the roles of their axes, and how many terms a sum has."""

    lhs: Bytes
    rhs: Bytes
    roles: Mapping[str, Axes]
    sides: tuple[Side, Side]
    depth: int


def _is_worthwhile(depth: int, results: int) -> bool:
    return depth > 0 and depth % FACTORS == 0 and results * depth >= LEAST_WORK


def _of_operands(op: ptir.DotGeneralOp) -> _Product | None:
    sides = side_of(op, 0), side_of(op, 1)
    depth = prod(static(op.lhs)[a] for a in sides[0].contract)
    if not _is_worthwhile(depth, prod(static(op.result))):
        return None
    lhs, rhs = (_bytes(v, side.contract) for v, side in zip(op.operands, sides, strict=True))
    values = op.values()
    roles: dict[str, Axes] = {name: tuple(values[name]) for name in ("batch_lhs", "batch_rhs", "contract_lhs", "contract_rhs")}
    return None if lhs is None or rhs is None else _Product(lhs, rhs, roles, sides, depth)


def _of_patches(op: ptir.ConvolutionOp) -> _Product | None:
    """A convolution as the product of its windows, as rows of bytes, and the filters; around the image is the zero point."""
    values, rank = op.values(), len(static(op.lhs))
    *window, channels, outputs = static(op.rhs)
    more = -channels % FACTORS if prod(window) * channels % FACTORS and channels >= LEAST_CHANNELS else 0
    depth = prod(window) * (channels + more)
    plain = values["feature_group_count"] == 1 and set(values["base_dilation"]) <= {1}
    plain = plain and prod(static(op.result)[:-1]) * depth <= MOST_PATCHES
    if not plain or not _is_worthwhile(depth, prod(static(op.result))):
        return None
    image, filters = _bytes(op.lhs, tuple(range(1, rank))), _bytes(op.rhs, tuple(range(rank - 1)))
    if image is None or filters is None or not isinstance(image.offset, int) or not -128 <= -image.offset < 128:
        return None
    if more and filters.offset != 0:
        return None
    padding, strides = values["padding"], values["strides"]
    rows, matrix = _padded(image.codes, rank - 1, more), _padded(filters.codes, rank - 2, more)
    if prod(window) > 1 or any(n for pair in padding for n in pair) or set(strides) - {1}:
        rows = make(
            ptir.ExtractPatchesOp,
            rows,
            type=tensor_type(SI8, (*static(op.result)[:-1], depth)),
            window=window,
            strides=strides,
            dilation=values["window_dilation"],
            padding=padding,
            pad_value=ptir.PtirLiteralAttr.from_values(SI8, (), [-image.offset]),
        )
    offset = filters.offset if isinstance(filters.offset, int) else reshape(filters.offset, (1, static(filters.offset)[-1]))
    matrix = _flat(matrix, (depth, outputs))
    roles: dict[str, Axes] = {"batch_lhs": (), "batch_rhs": (), "contract_lhs": (rank - 1,), "contract_rhs": (0,)}
    sides = Side((), (rank - 1,), tuple(range(rank - 1)), True), Side((), (0,), (1,), False)
    return _Product(Bytes(rows, image.offset), Bytes(matrix, offset), roles, sides, depth)


def _padded(codes: Value, axis: int, count: int) -> Value:
    """Codes with zeros after the last along an axis; of a constant a constant."""
    if count == 0:
        return codes
    shape = static(codes)
    high = tuple(count if a == axis else 0 for a in range(len(shape)))
    if (array := _array(value_of(codes))) is not None:
        return _constant(np.pad(array, [(0, n) for n in high]), SI8)
    none = (0,) * len(shape)
    zero = ptir.PtirLiteralAttr.from_values(SI8, (), [0])
    wide = tensor_type(SI8, tuple(n + h for n, h in zip(shape, high, strict=True)))
    return make(ptir.PadOp, codes, type=wide, low=none, high=high, interior=none, pad_value=zero)


def _flat(codes: Value, shape: tuple[int, ...]) -> Value:
    """Codes under another shape; of a constant a constant."""
    array = _array(value_of(codes))
    return reshape(codes, shape) if array is None else _constant(array.reshape(shape), SI8)


def side_of(op: ptir.DotGeneralOp, which: int) -> Side:
    """Return the axes of the left operand of a product, 0, or of the right one, 1."""
    values, rank = op.values(), len(static(op.operands[which]))
    batch, contract = (tuple(a % rank for a in values[f"{role}_{('lhs', 'rhs')[which]}"]) for role in ("batch", "contract"))
    return Side(batch, contract, tuple(a for a in range(rank) if a not in (*batch, *contract)), which == 0)


def _corrected(product: Value, operands: Sequence[Bytes], sides: Sequence[Side], depth: int) -> Value:
    """The product of bytes, and what the offsets add to it."""
    shape = static(product)
    offsets: list[Value | None] = []
    for operand, side, other in zip(operands, sides, sides[::-1], strict=True):
        if isinstance(operand.offset, int):
            offsets.append(filled(operand.offset, SI32, (1,) * len(shape)) if operand.offset else None)
        else:
            offsets.append(side.placed(operand.offset, len(other.free)))
    terms: list[Value] = []
    for offset, operand, side, own in zip(offsets, operands[::-1], sides[::-1], sides, strict=True):
        if offset is not None:
            terms.append(_product(offset, side.placed(_sums(operand.codes, side.contract), len(own.free))))
    if offsets[0] is not None and offsets[1] is not None:
        both = _product(offsets[0], offsets[1])
        terms.append(mul(both, filled(depth, SI32, static(both))))
    total = reduce(_sum, terms) if terms else None
    return product if total is None else add(product, broadcast(total, shape))


def _common(x: Value, y: Value) -> tuple[Value, Value]:
    shape = tuple(max(a, b) for a, b in zip(static(x), static(y), strict=True))
    return broadcast(x, shape), broadcast(y, shape)


def _product(x: Value, y: Value) -> Value:
    return mul(*_common(x, y))


def _sum(x: Value, y: Value) -> Value:
    return add(*_common(x, y))


def _sums(codes: Value, axes: Axes) -> Value:
    """The sums of bytes along axes, which stay with extent 1."""
    array = _array(value_of(codes))
    if array is not None:
        return _constant(array.sum(axes, keepdims=True, dtype=np.int64).astype(np.int32), SI32)
    return reduce_sum(cast_to(codes, SI32), axes, keepdims=True)


# Matching


def _bytes(value: SSAValue, contract: Axes) -> Bytes | None:
    """A value of 32-bit integers as bytes and an offset; None for another."""
    known = _known(value)
    if known is not None and -_OFFSET <= known.min(initial=0) and known.max(initial=0) < _OFFSET:
        return Bytes(_constant(known, SI8), 0)
    if (turned := made_by(value, ptir.TransposeOp)) is not None:
        perm: Axes = tuple(turned.values()["perm"])
        inner = _bytes(turned.x, tuple(perm[a] for a in contract))
        if inner is None:
            return None
        offset = inner.offset if isinstance(inner.offset, int) else transpose(inner.offset, perm)
        return Bytes(transpose(inner.codes, perm), offset)
    if (difference := made_by(value, ptir.SubOp)) is not None:
        found, zero = _cast_bytes(difference.lhs), _along(difference.rhs, contract)
        if found is None or zero is None:
            return None
        if isinstance(zero, int):
            return Bytes(found.codes, _wrapped(cast(int, found.offset) - zero))
        return Bytes(found.codes, sub(filled(cast(int, found.offset), SI32, static(zero)), zero))
    return _cast_bytes(value)


def _cast_bytes(value: SSAValue) -> Bytes | None:
    """A cast of bytes; unsigned ones are signed ones and 128 more."""
    op = made_by(value, ptir.CastOp)
    if op is None or (dtype := read_type(op.x.type).dtype) not in (SI8, UI8):
        return None
    if dtype is SI8:
        return Bytes(op.x, 0)
    shape = static(op.x)
    flipped = make(ptir.XorOp, op.x, filled(_OFFSET, UI8, shape))
    return Bytes(make(ptir.BitcastOp, flipped, type=tensor_type(SI8, shape), dtype=SI8), _OFFSET)


def _along(value: SSAValue, contract: Axes) -> Value | int | None:
    """A zero point as a number, or as a value of extent 1 along contracted axes; None where it is not the same along these."""
    number = uniform(value)
    if number is not None:
        return int(cast(int, number))
    shape = static(value)
    spread = made_by(value, ptir.BroadcastToOp)
    source: SSAValue = value if spread is None else spread.x
    own = static(source)
    full = (1,) * (len(shape) - len(own)) + own
    return reshape(source, full) if all(full[a] == 1 for a in contract) else None


def _wrapped(number: int) -> int:
    """A number modulo 2^32 that si32 has."""
    return (number + (1 << 31)) % (1 << 32) - (1 << 31)


def _known(value: SSAValue) -> np.ndarray[Any, Any] | None:
    """
    The elements of a constant, of a cast of one, or of such less a zero point that is constant; None for others.

    Bytes and their differences are held in 16 bits: weights may be large.
    """
    if (op := made_by(value, ptir.CastOp)) is not None and read_type(op.x.type).dtype in (SI8, UI8):
        found = _array(op.x)
        return None if found is None else found.astype(np.int16)
    if (turned := made_by(value, ptir.TransposeOp)) is not None:
        found = _known(turned.x)
        return None if found is None else found.transpose(turned.values()["perm"])
    if (spread := made_by(value, ptir.BroadcastToOp)) is not None:
        found = _known(spread.x)
        return None if found is None else np.broadcast_to(found, static(value))
    if (difference := made_by(value, ptir.SubOp)) is not None:
        left = _known(difference.lhs)
        right = None if left is None or left.dtype != np.int16 else _known(difference.rhs)
        small = left is not None and right is not None and abs(right.astype(np.int64)).max(initial=0) <= 2 * _OFFSET
        return cast(Any, left) - cast(Any, right).astype(np.int16) if small else None
    return _array(value)


def _array(value: SSAValue) -> np.ndarray[Any, Any] | None:
    """The elements of a constant."""
    op = made_by(value, ptir.ConstantOp)
    if op is None:
        return None
    dtype, shape = op.literal.spec
    found = np.frombuffer(op.literal.data.data, array_dtype(dtype.name))
    return np.broadcast_to(found, shape) if op.literal.is_fill else found.reshape(shape)


def _constant(array: np.ndarray[Any, Any], dtype: PtirDType) -> ptir.ConstantOp:
    data = np.ascontiguousarray(array.astype(array_dtype(dtype.name))).tobytes()
    literal = ptir.PtirLiteralAttr(tensor_type(dtype, array.shape), BytesAttr(data))
    return ptir.ConstantOp.create(properties={"value": literal}, result_types=[literal.type])


@dataclass(frozen=True)
class PtirNarrowProductsPass(ModulePass):
    """Turn products of 32-bit integers that are bytes less a zero point into products of bytes."""

    name = "mind-ptir-narrow-products"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        register(ctx)
        narrow_products(op)
