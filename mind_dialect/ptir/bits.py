"""The bits of numbers under a dtype of any width, in ops: StableHLO's `bitcast_convert` for importers and libraries."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from ..errors import error
from ..op import value_of
from .base import PtirOp
from .conversions import BitcastOp, TruncateOp
from .elementwise import CastOp, ConstantOp
from .extensions import ShiftLeftOp, ShiftRightLogicalOp
from .literal import PtirLiteralAttr
from .reduction import ReduceOp
from .structural import BroadcastToOp, ReshapeOp
from .types import DTYPES, PtirDType, read_type


def bitcast_ops(x: SSAValue | Operation, dtype: PtirDType) -> list[PtirOp]:
    """
    Return the ops, inserted nowhere, the last of which is the bits of `x` as `dtype`.

    A number of more bits becomes a new last axis of narrower ones, the lowest bits first; the last axis of narrower numbers,
    whose extent must be the ratio of widths (else E3003), becomes one number. E2005 for dtypes that have no such bits, among
    them i1 and complex numbers.

    >>> from xdsl.utils.test_value import create_ssa_value
    >>> from .types import F32, UI8, UI16, tensor_type
    >>> pixels = create_ssa_value(tensor_type(UI8, (5, 4)))
    >>> [op.OPCODE for op in bitcast_ops(pixels, F32)], str(bitcast_ops(pixels, F32)[-1].result_spec().shape)
    (['bitcast', 'cast', 'constant', 'broadcast_to', 'shift_left', 'reduce', 'bitcast'], '(5,)')
    >>> str(bitcast_ops(create_ssa_value(tensor_type(F32, (5,))), UI16)[-1].result_spec().shape)
    '(5, 2)'
    """
    value = value_of(x)
    source, shape = read_type(value.type)
    if source.bits == dtype.bits or source.bits % 4 or dtype.bits % 4 or "complex" in (source.kind, dtype.kind):
        return [BitcastOp(value, dtype=dtype)]
    if dtype.bits < source.bits:
        return _split(value, shape, source, dtype)
    if not shape or shape[-1] != dtype.bits // source.bits:
        ratio, last = dtype.bits // source.bits, shape[-1] if shape else "none"
        message = f"cannot bitcast {source}{list(shape)} to {dtype}: the last extent is {last}, expected {ratio}"
        raise error("E3003", message, dimension="last", extents=(last, ratio))
    return _joined(value, shape, source, dtype)


def _split(x: SSAValue, shape: tuple[int | str, ...], source: PtirDType, target: PtirDType) -> list[PtirOp]:
    wide, narrow = DTYPES[f"ui{source.bits}"], DTYPES[f"ui{target.bits}"]
    spread = (*shape, source.bits // target.bits)
    bits = BitcastOp(x, dtype=wide)
    column = ReshapeOp(bits, new_shape=(*shape, 1))
    repeated = BroadcastToOp(column, result_shape=spread)
    amounts = _amounts(wide, target.bits, spread)
    shifted = ShiftRightLogicalOp(repeated, amounts[-1])
    low = TruncateOp(shifted, dtype=narrow)
    return [bits, column, repeated, *amounts, shifted, low, BitcastOp(low, dtype=target)]


def _joined(x: SSAValue, shape: tuple[int | str, ...], source: PtirDType, target: PtirDType) -> list[PtirOp]:
    """The sum of shifted bits is their union: no two of them meet."""
    wide = DTYPES[f"ui{target.bits}"]
    bits = BitcastOp(x, dtype=DTYPES[f"ui{source.bits}"])
    widened = CastOp(bits, dtype=wide)
    amounts = _amounts(wide, source.bits, shape)
    shifted = ShiftLeftOp(widened, amounts[-1])
    total = ReduceOp(shifted, kind="sum", axes=(len(shape) - 1,), keepdims=False)
    return [bits, widened, *amounts, shifted, total, BitcastOp(total, dtype=target)]


def _amounts(dtype: PtirDType, step: int, shape: tuple[int | str, ...]) -> list[PtirOp]:
    """0, `step`, 2 `step` and on along the last axis of `shape`."""
    count = dtype.bits // step
    row = ConstantOp(PtirLiteralAttr.from_values(dtype, (count,), [i * step for i in range(count)]))
    return [row, BroadcastToOp(row, result_shape=shape)]
