"""
Rows of ops that move, repeat or number elements, and constants.

`broadcast_in_dim` says where each dimension goes: a transpose if that reorders them, then one reshape that puts in dimensions
of 1, then `broadcast_to`. The value of `pad` is an operand: a known one becomes PTIR's property, data is selected by a mask.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, DenseResourceAttr
from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.elements import Number
from mind_dialect.errors import error
from mind_dialect.extents.dims import extent_of
from mind_dialect.ptir import PtirLiteralAttr
from mind_dialect.ptir.types import F32, I1, SI32, SI64, Kind, PtirDType
from mind_dialect.ptir_shapes import UNKNOWN, Dim, Dims
from mind_dialect.stablehlo.literal import DenseAttr

from ..unsupported import Refused
from .converter import StablehloConverter, StablehloRow
from .foreign import ForeignOp

_LOW_HALF = bytes(b & 15 for b in range(256))
_TRUTH = bytes([0] + [1] * 255)


def _constant(to: StablehloConverter, op: ForeignOp) -> SSAValue:
    value: Any = op.attributes.get("value")
    if isinstance(value, DenseResourceAttr):
        raise Refused("a constant in the resources of the text", "write it as dense<...>, or pass it as an argument")
    if not isinstance(value, DenseIntOrFPElementsAttr | DenseAttr):
        raise op.wrong("value", "dense<...>")
    dtype, sizes = op.dtype, static(op.shape)
    if sizes is None:
        raise op.wrong("value", "a constant of static shape")
    if isinstance(value, DenseAttr):  # of our exporter
        return to.add(ptir.ConstantOp(literal(dtype, sizes, value.data.data))).results[0]
    data = stored_bytes(value.data.data, dtype)
    return to.add(ptir.ConstantOp(literal(dtype, sizes, data))).results[0]


def literal(dtype: PtirDType, shape: tuple[int, ...], data: bytes) -> PtirLiteralAttr:
    """The literal of the bytes of all elements, or of one for all; equal elements become a fill."""
    count, size = math.prod(shape), dtype.size
    if count > 1 and (len(data) == size or data == data[:size] * count):
        return PtirLiteralAttr.filled(dtype, shape, dtype.element.unpack(data[:size])[0])
    return PtirLiteralAttr.from_bytes(dtype, shape, data)


def stored_bytes(data: bytes, dtype: PtirDType) -> bytes:
    """The bytes of PTIR for those of `dense<...>`: any byte but 0 is true, and 4-bit integers use the low half."""
    return data.translate(_TRUTH) if dtype is I1 else data.translate(_LOW_HALF) if dtype.bits == 4 else data


def static(shape: Dims) -> tuple[int, ...] | None:
    """The sizes of a shape without names; None if it has one."""
    sizes = tuple(n for n in shape if isinstance(n, int))
    return sizes if len(sizes) == len(shape) else None


def _iota(to: StablehloConverter, op: ForeignOp) -> SSAValue:
    return counted(to, op.shape, op.integer("iota_dimension"), op.dtype)


def counted(to: StablehloConverter, shape: Dims, axis: int, dtype: PtirDType) -> SSAValue:
    """0, 1, 2 and on along `axis`; E3004 for one that the shape does not have."""
    if not 0 <= axis < len(shape):
        message = f"iota_dimension {axis} is out of range for rank {len(shape)}"
        raise error("E3004", message, axis=axis, rank=len(shape))
    if dtype is I1 or dtype.kind is Kind.COMPLEX:
        return to.cast(counted(to, shape, axis, SI32 if dtype is I1 else F32), dtype)
    return to.emit(ptir.IotaOp, shape=shape, dtype=dtype, axis=axis)


def _reshape(to: StablehloConverter, op: ForeignOp) -> SSAValue:
    return to.reshape(op.operands[0], op.shape)


def _transpose(to: StablehloConverter, op: ForeignOp) -> SSAValue:
    return to.emit(ptir.TransposeOp, op.operands[0], perm=op.integers("permutation"))


def _broadcast(to: StablehloConverter, op: ForeignOp) -> SSAValue:
    return to.broadcast(op.operands[0], op.shape)


def _broadcast_in_dim(to: StablehloConverter, op: ForeignOp) -> SSAValue:
    return broadcast_in(to, op, op.operands[0], op.integers("broadcast_dimensions"), op.shape)


def broadcast_in(to: StablehloConverter, op: ForeignOp, x: SSAValue, dims: Sequence[int], shape: Dims) -> SSAValue:
    """Dimension `i` of `x` becomes dimension `dims[i]` of the result; E8002 for dimensions that do not fit."""
    if len(dims) != len(to.shape(x)) or len(set(dims)) != len(dims) or any(not 0 <= d < len(shape) for d in dims):
        rank = len(to.shape(x))
        raise op.wrong("broadcast_dimensions", f"{rank} distinct dimensions from 0 to {len(shape) - 1}")
    order = sorted(range(len(dims)), key=lambda i: dims[i])
    return to.place(to.transpose(x, order), sorted(dims), shape)


def _slice(to: StablehloConverter, op: ForeignOp) -> SSAValue:
    x = op.operands[0]
    starts, limits, strides = (op.integers(name) for name in ("start_indices", "limit_indices", "strides"))
    return sliced(to, op, x, starts, limits, strides)


def sliced(
    to: StablehloConverter, op: ForeignOp, x: SSAValue, starts: Sequence[int], limits: Sequence[Dim], strides: Sequence[int]
) -> SSAValue:
    """A slice of stated bounds; E4007 for a wrong number of them."""
    rank = len(to.shape(x))
    if not len(starts) == len(limits) == len(strides) == rank:
        lengths = (len(starts), len(limits), len(strides))
        message = f"start_indices, limit_indices and strides have {lengths} entries, expected {rank} each"
        raise error("E4007", message, rank=rank, lengths=lengths)
    return to.slice(x, starts, limits, strides)


def _concatenate(to: StablehloConverter, op: ForeignOp) -> SSAValue:
    axis = op.integer("dimension")
    to.sizes.same_shapes([[n for i, n in enumerate(to.shape(v)) if i != axis] for v in op.operands])
    return to.emit(ptir.ConcatOp, *op.operands, axis=axis)


def _reverse(to: StablehloConverter, op: ForeignOp) -> SSAValue:
    axes = op.integers("dimensions")
    return to.emit(ptir.ReverseOp, op.operands[0], axes=axes) if axes else op.operands[0]


def _pad(to: StablehloConverter, op: ForeignOp) -> SSAValue:
    names = ("edge_padding_low", "edge_padding_high", "interior_padding")
    low, high, interior = (op.integers(name) for name in names)
    x, value = op.operands
    rank = len(to.shape(x))
    if not len(low) == len(high) == len(interior) == rank or min(interior, default=0) < 0:
        raise op.wrong("edge_padding_low", f"{rank} entries in each list, interior_padding from 0 up")
    return padded(to, x, value, low, high, interior)


def padded(
    to: StablehloConverter,
    x: SSAValue,
    value: SSAValue,
    low: Sequence[int],
    high: Sequence[int],
    interior: Sequence[int] | None = None,
) -> SSAValue:
    """Pad with a scalar that may be data; negative counts cut off elements, interior ones included."""
    between = tuple(interior) if interior is not None else (0,) * len(low)
    more = [max(n, 0) for n in low], [max(n, 0) for n in high]
    if any(more[0]) or any(more[1]) or any(between):
        number = to.known_scalar(value)
        if number is not None:
            x = to.pad(x, number, *more, between)
        else:
            mask = to.pad(to.fill(True, I1, to.shape(x)), False, *more, between)
            y = to.pad(x, zero(to.dtype(x)), *more, between)
            x = to.select(mask, y, to.broadcast(value, to.shape(y)))
    if any(n < 0 for n in low) or any(n < 0 for n in high):
        limits = [n - max(-h, 0) if isinstance(n, int) else n for n, h in zip(to.shape(x), high, strict=True)]
        x = to.slice(x, [max(-n, 0) for n in low], limits)
    return x


def zero(dtype: PtirDType) -> Number:
    """The 0 of a dtype."""
    return False if dtype is I1 else 0


def _dynamic_slice(to: StablehloConverter, op: ForeignOp) -> SSAValue:
    x, *starts = op.operands
    sizes = op.integers("slice_sizes")
    if len(starts) != len(to.shape(x)) or len(sizes) != len(starts):
        raise op.wrong("slice_sizes", f"{len(to.shape(x))} sizes, and as many start indices")
    return to.emit(ptir.DynamicSliceOp, x, start_vector(to, starts), sizes=sizes) if starts else x


def _dynamic_update_slice(to: StablehloConverter, op: ForeignOp) -> SSAValue:
    x, update, *starts = op.operands
    if len(starts) != len(to.shape(x)):
        raise error(
            "E2007", f"{len(starts)} start indices for rank {len(to.shape(x))}", expected=len(to.shape(x)), actual=len(starts)
        )
    if not starts:
        return update
    if UNKNOWN in (sizes := to.shape(update)):
        raise Refused("an update of a size that is not known")
    return to.emit(ptir.DynamicUpdateSliceOp, x, update, start_vector(to, starts), sizes=sizes)


def start_vector(to: StablehloConverter, scalars: Sequence[SSAValue]) -> SSAValue:
    """Scalar indices of any integer dtypes as one vector of si32, or si64 if one is wider."""
    found = [to.index(v) for v in scalars]
    dtype = SI64 if any(to.dtype(v) is SI64 for v in found) else SI32
    known = [to.known_scalar(v) for v in found]
    if all(v is not None for v in known):
        return to.constant(dtype, (len(found),), known)
    return to.concat([to.reshape(to.cast(v, dtype), (1,)) for v in found], 0)


def known_integers(to: StablehloConverter, value: SSAValue) -> tuple[int, ...]:
    """The numbers of an operand that says sizes. Raises `Refused` for data."""
    return to.sizes.numbers(value) if (found := to.known(value)) is None else tuple(int(n.real) for n in found)


def _target(to: StablehloConverter, op: ForeignOp, sizes: SSAValue) -> Dims:
    """Return the shape that an operand holds; if it is data, that of a static result, which it must be. Raises `Refused`."""
    return op.shape if static(op.shape) is not None and to.sizes.of(sizes) is None else to.sizes.shape(sizes)


def _dynamic_broadcast_in_dim(to: StablehloConverter, op: ForeignOp) -> SSAValue:
    x, dims, target = op.operands[0], op.integers("broadcast_dimensions"), _target(to, op, op.operands[1])
    if all(0 <= d < len(target) for d in dims) and len(dims) == len(to.shape(x)):
        to.sizes.placed(to.shape(x), [target[d] for d in dims])
    return broadcast_in(to, op, x, dims, target)


def _dynamic_reshape(to: StablehloConverter, op: ForeignOp) -> SSAValue:
    x, target = op.operands[0], _target(to, op, op.operands[1])
    to.sizes.reshaped(to.shape(x), target)
    return to.reshape(x, target)


def _dynamic_iota(to: StablehloConverter, op: ForeignOp) -> SSAValue:
    return counted(to, _target(to, op, op.operands[0]), op.integer("iota_dimension"), op.dtype)


def _real_dynamic_slice(to: StablehloConverter, op: ForeignOp) -> SSAValue:
    """Slices whose bounds are sizes."""
    x, rank = op.operands[0], len(to.shape(op.operands[0]))
    starts, limits = (to.sizes.shape(v, "bounds that depend on data") for v in op.operands[1:3])
    strides = known_integers(to, op.operands[3])
    if not len(starts) == len(limits) == len(strides) == rank:
        raise op.wrong("operands", f"{rank} starts, limits and strides")
    if all(isinstance(n, int) for n in (*starts, *limits)):
        return sliced(to, op, x, cast("tuple[int, ...]", starts), limits, strides)
    return to.emit(ptir.StridedSliceOp, x, starts=starts, limits=limits, strides=strides)


def _get_dimension_size(to: StablehloConverter, op: ForeignOp) -> SSAValue:
    axis, shape = op.integer("dimension"), to.shape(op.operands[0])
    if not 0 <= axis < len(shape):
        message = f"dimension {axis} is out of range for rank {len(shape)}"
        raise error("E3004", message, axis=axis, rank=len(shape))
    size = shape[axis]
    if isinstance(size, int):
        return to.fill(size, op.dtype)
    found = to.cast(to.emit(ptir.DimensionSizeOp, op.operands[0], axis=axis), op.dtype)
    if size != UNKNOWN:
        to.sizes.values[found] = [extent_of(size)]
    return found


def _dynamic_pad(to: StablehloConverter, op: ForeignOp) -> SSAValue:
    x, value, low, high, interior = op.operands
    edges = [to.sizes.shape(v, "bounds that depend on data") for v in (low, high)]
    if all(isinstance(n, int) for dims in edges for n in dims):
        low, high = cast("list[tuple[int, ...]]", edges)
        return padded(to, x, value, low, high, known_integers(to, interior))
    return _padded_by_sizes(to, x, value, edges, known_integers(to, interior))


def _padded_by_sizes(
    to: StablehloConverter, x: SSAValue, value: SSAValue, edges: Sequence[Dims], interior: Sequence[int]
) -> SSAValue:
    """A pad whose edges are sizes, of a constant. Raises `Refused` for another value."""
    found = to.known_scalar(value)
    if found is None:
        raise Refused("a pad of a computed value by sizes", "pad by a constant")
    return to.emit(ptir.PadOp, x, low=edges[0], high=edges[1], interior=tuple(interior), pad_value=found)


STRUCTURAL: dict[str, StablehloRow | Refused] = {
    "stablehlo.broadcast": _broadcast,
    "stablehlo.broadcast_in_dim": _broadcast_in_dim,
    "stablehlo.concatenate": _concatenate,
    "stablehlo.constant": _constant,
    "stablehlo.dynamic_broadcast_in_dim": _dynamic_broadcast_in_dim,
    "stablehlo.dynamic_iota": _dynamic_iota,
    "stablehlo.dynamic_pad": _dynamic_pad,
    "stablehlo.dynamic_reshape": _dynamic_reshape,
    "stablehlo.dynamic_slice": _dynamic_slice,
    "stablehlo.dynamic_update_slice": _dynamic_update_slice,
    "stablehlo.get_dimension_size": _get_dimension_size,
    "stablehlo.iota": _iota,
    "stablehlo.pad": _pad,
    "stablehlo.real_dynamic_slice": _real_dynamic_slice,
    "stablehlo.reshape": _reshape,
    "stablehlo.reverse": _reverse,
    "stablehlo.set_dimension_size": Refused("a dynamic size inside a static bound", "use a program with static shapes"),
    "stablehlo.slice": _slice,
    "stablehlo.transpose": _transpose,
}
