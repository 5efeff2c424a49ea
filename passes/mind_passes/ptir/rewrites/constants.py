"""
Views of constants are constants: broadcast, reshaped, transposed, sliced. So are sizes.

What is computed on constants is `ptir-fold`'s.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import cast

from mind_dialect.ptir import BroadcastToOp, DimensionSizeOp, ReshapeOp, SliceOp, TransposeOp
from mind_dialect.ptir.types import SI64

from ..building import FOLD_LIMIT, Found, constant, element_bytes, literal_of, spec_of


def _static(op: BroadcastToOp | ReshapeOp | TransposeOp | SliceOp) -> tuple[int, ...] | None:
    """The shape of the result, if its size is static."""
    spec = spec_of(op.result)
    return cast(tuple[int, ...], spec.shape) if spec.is_static else None


def _filled(op: BroadcastToOp | ReshapeOp | TransposeOp | SliceOp, shape: tuple[int, ...]) -> Found:
    """The constant that `op` is if all elements of its operand are one."""
    data = element_bytes(op.x)
    if data is None:
        return None
    return constant(op, spec_of(op.x).dtype, shape, data if prod(shape) else b"")


def broadcast_of_constant(op: BroadcastToOp) -> Found:
    """`broadcast_to(c) = c`, for a constant that is one element everywhere: a fill stores it once, whatever the shape."""
    shape = _static(op)
    return None if shape is None else _filled(op, shape)


def reshape_of_constant(op: ReshapeOp) -> Found:
    """`reshape(c) = c`. The stored elements are the same, however many."""
    shape, literal = _static(op), literal_of(op.x)
    return None if shape is None or literal is None else constant(op, literal.spec[0], shape, literal.data.data)


def transpose_of_constant(op: TransposeOp) -> Found:
    """`transpose(c) = c`, for a constant that is one element everywhere, or small."""
    shape = _static(op)
    if shape is None or literal_of(op.x) is None:
        return None
    if (found := _filled(op, shape)) is not None:
        return found
    extents = cast(tuple[int, ...], spec_of(op.x).shape)
    perm: Sequence[int] = op.values()["perm"]
    strides = _strides(extents)
    return _picked(op, shape, [strides[a] for a in perm], 0)


def slice_of_constant(op: SliceOp) -> Found:
    """`slice(c) = c`, for a constant that is one element everywhere, or small, and bounds without names."""
    shape = _static(op)
    if shape is None or literal_of(op.x) is None or op.stated_dims():
        return None
    if (found := _filled(op, shape)) is not None:
        return found
    strides = _strides(cast(tuple[int, ...], spec_of(op.x).shape))
    first = sum(start * stride for start, stride in zip(op.values()["starts"], strides, strict=True))
    return _picked(op, shape, strides, first)


def dimension_size_of_static(op: DimensionSizeOp) -> Found:
    """`dimension_size(x) = n`, for a dimension of size n."""
    axis: int = op.values()["axis"]
    n = spec_of(op.x).shape[axis]
    return constant(op, SI64, (), SI64.element.pack([n])) if isinstance(n, int) else None


def _strides(shape: Sequence[int]) -> list[int]:
    return [prod(shape[i + 1 :]) for i in range(len(shape))]


def _picked(op: TransposeOp | SliceOp, shape: tuple[int, ...], strides: Sequence[int], first: int) -> Found:
    """The constant of `shape` whose elements lie `strides` apart among those stored, from the one at `first`."""
    literal = literal_of(op.x)
    assert literal is not None
    dtype, data = literal.spec[0], literal.data.data
    if len(data) > FOLD_LIMIT * dtype.size:
        return None
    places = (first + sum(i * s for i, s in zip(index, strides, strict=True)) for index in product(*map(range, shape)))
    return constant(op, dtype, shape, b"".join(data[i * dtype.size : (i + 1) * dtype.size] for i in places))
