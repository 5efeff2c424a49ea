"""
Products with weights of 4 and 8 bits in blocks that share a scale and a zero point, two weights of 4 bits per byte.

A byte holds two neighbours along what is summed over, the first in its low half: the weights are the bytes, each repeated along
a new axis, shifted by 0 and 4 bits and masked. Elementwise ops dequantise them, which native products do as they read bytes.
Derivatives of the activations follow from the ops; the weights are integers and have none.
"""

from __future__ import annotations

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.ptir.types import UI8, PtirDType

from .landing import Lander

CONTRACT = {"batch_lhs": (), "batch_rhs": ()}


def spread(to: Lander, packed: SSAValue) -> SSAValue:
    """Return the two numbers of 4 bits of each byte along a new last axis, from 0 to 15."""
    shape = (*to.shape(packed), 2)
    each = to.place(packed, list(range(len(shape) - 1)), shape)
    shifts = to.place(to.constant(UI8, (2,), (0, 4)), [len(shape) - 1], shape)
    return to.emit(ptir.AndOp, to.emit(ptir.ShiftRightLogicalOp, each, shifts), to.like(15, each))


def unpacked(to: Lander, packed: SSAValue, count: int) -> SSAValue:
    """Return the first `count` numbers of 4 bits of each row of bytes."""
    rows, size = to.shape(packed)
    assert isinstance(size, int)
    return to.part(to.reshape(spread(to, packed), (rows, 2 * size)), 1, 0, count)


def blocked_product(
    to: Lander, x: SSAValue, weights: SSAValue, scales: SSAValue, zeros: SSAValue, bits: int, dtype: PtirDType
) -> SSAValue:
    """
    Return `x w^T` in `dtype`, where `w = (weight - zero) scale`.

    `weights` are bytes of shape [N, blocks, bytes of a block]. `scales` are [N, blocks] in `dtype`, and so are `zeros`, or in a
    dtype whose numbers it holds exactly. `x` ends in all columns of the blocks.
    """
    codes = spread(to, weights) if bits == 4 else weights
    n, blocks, *block = to.shape(codes)
    lead = to.shape(x)[:-1]
    columns = to.reshape(to.cast(x, dtype), (*lead, blocks, *block))
    scale, zero = (to.place(v, [0, 1], (n, blocks, *block)) for v in (scales, zeros))
    weights = to.emit(ptir.MulOp, to.emit(ptir.SubOp, to.cast(codes, dtype), to.cast(zero, dtype)), scale)
    summed = range(1 + len(block))
    axes = {"contract_lhs": [len(lead) + i for i in summed], "contract_rhs": [1 + i for i in summed], **CONTRACT}
    return to.emit(ptir.DotGeneralOp, columns, weights, **axes)
