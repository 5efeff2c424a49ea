"""
Products with weights of 4 and 8 bits in blocks that share a scale and a zero point, two weights of 4 bits per byte.

A byte holds two neighbours along what is summed over, the first in its low half. Rather than spread the weights out, the product
is one of the even columns with the low halves plus one of the odd columns with the high halves: each reads the bytes as they lie.
Derivatives of the activations follow from the ops; the weights are integers and have none.
"""

from __future__ import annotations

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.ptir.types import PtirDType

from .landing import Lander

CONTRACT = {"batch_lhs": (), "batch_rhs": ()}


def halves(to: Lander, packed: SSAValue) -> tuple[SSAValue, SSAValue]:
    """Return the low and the high halves of bytes, from 0 to 15."""
    low = to.emit(ptir.AndOp, packed, to.like(15, packed))
    return low, to.emit(ptir.ShiftRightLogicalOp, packed, to.like(4, packed))


def unpacked(to: Lander, packed: SSAValue, count: int) -> SSAValue:
    """Return the first `count` numbers of 4 bits of each row of bytes."""
    rows, size = to.shape(packed)
    columns = [to.reshape(half, (rows, size, 1)) for half in halves(to, packed)]
    assert isinstance(size, int)
    return to.part(to.reshape(to.concat(columns, 2), (rows, 2 * size)), 1, 0, count)


def blocked_product(
    to: Lander, x: SSAValue, weights: SSAValue, scales: SSAValue, zeros: SSAValue, bits: int, dtype: PtirDType
) -> SSAValue:
    """
    Return `x w^T` in `dtype`, where `w = (weight - zero) scale`.

    `weights` are bytes of shape [N, blocks, bytes of a block], `scales` and `zeros` are [N, blocks] in `dtype`; `x` ends in all
    columns of the blocks.
    """
    n, blocks, size = to.shape(weights)
    assert isinstance(size, int)
    per_byte = 8 // bits
    lead = to.shape(x)[:-1]
    columns = to.reshape(to.cast(x, dtype), (*lead, blocks, size, per_byte))
    parts = halves(to, weights) if bits == 4 else (weights,)
    scale, zero = (to.place(v, [0, 1], (n, blocks, size)) for v in (scales, zeros))
    axes = {"contract_lhs": (len(lead), len(lead) + 1), "contract_rhs": (1, 2), **CONTRACT}
    total: SSAValue | None = None
    for i, part in enumerate(parts):
        wide = to.emit(ptir.MulOp, to.emit(ptir.SubOp, to.cast(part, dtype), zero), scale)
        taken = to.reshape(to.part(columns, len(lead) + 2, i, i + 1), (*lead, blocks, size))
        product = to.emit(ptir.DotGeneralOp, taken, wide, **axes)
        total = product if total is None else to.emit(ptir.AddOp, total, product)
    assert total is not None
    return total
