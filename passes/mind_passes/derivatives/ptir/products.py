"""
The derivatives of contraction: one `dot_general` and at most one transpose per operand.

The adjoint of one side contracts that of the result with what only the other side has. A product works in the wider of the dtypes
of the adjoint and the operand, so that a wide result of narrow operands loses nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from xdsl.ir import Operation, SSAValue

from mind_dialect.ptir import DotGeneralOp, RaggedDotOp
from mind_dialect.ptir.legal import accumulators
from mind_dialect.ptir.types import F32, PtirDType, tensor_type
from mind_dialect.ptir_shapes.dims import axes
from mind_dialect.shapes import inverse_permutation

from ...ptir.construct import Value, cast, dims, make, spec, transpose
from ..walks import ForwardRow, Row
from .shared import adjoint_in_kind, product_rule

Axes = tuple[int, ...]


def wider(a: PtirDType, b: PtirDType) -> PtirDType:
    """
    A dtype that holds what two floating-point ones hold.

    >>> from mind_dialect.ptir.types import BF16, F16, F64
    >>> str(wider(F16, F64)), str(wider(F16, BF16)), str(wider(BF16, BF16))
    ('f64', 'f32', 'bf16')
    """
    if a is b:
        return a
    return F32 if a.bits == b.bits else max(a, b, key=lambda d: d.bits)


def usable(accum: PtirDType | None, dtype: PtirDType) -> PtirDType | None:
    """The accumulator that a primal names, for products of `dtype`; None, the usual one, if it would be too narrow."""
    return accum if accum in accumulators(dtype) else None


def contract(
    a: Value, b: Value, over: tuple[Axes, Axes], *, batch: tuple[Axes, Axes] = ((), ()), dtype: PtirDType, accum: PtirDType | None
) -> DotGeneralOp:
    """The `dot_general` of two values in the wider of their dtypes, as `dtype`."""
    work = wider(spec(a).dtype, spec(b).dtype)
    a, b = cast(a, work), cast(b, work)
    values = {"batch_lhs": batch[0], "batch_rhs": batch[1], "contract_lhs": over[0], "contract_rhs": over[1]}
    shape = DotGeneralOp.RULE(dims(a), dims(b), **values)
    out = None if dtype is work else dtype
    return make(DotGeneralOp, a, b, type=tensor_type(dtype, shape), accum_dtype=usable(accum, work), out_dtype=out, **values)


class Plan(NamedTuple):
    """A contraction that gives the adjoint of one side from that of the result, `g`, and the other side."""

    g_second: bool
    """True if `g` is the second factor, which leaves nothing to transpose."""
    g_axes: Axes
    other_axes: Axes
    batch: Axes
    other_batch: Axes
    permutation: Axes
    """The permutation from the axes of the product with `g` as the first factor to those of the side."""


@lru_cache(maxsize=1 << 8)
def plan(own: tuple[int, Axes, Axes], other: tuple[int, Axes, Axes], side: int) -> Plan:
    """
    The plan for lhs (side 0) or rhs (side 1), from the rank, the batch axes and the contracted axes of that side and the other.

    Of the two orders in which `g` and the other operand can be multiplied, one that leaves nothing to transpose is taken.
    """
    (own_rank, own_batch, own_summed), (other_rank, other_batch, other_summed) = own, other
    own_free = _others(own_rank, own_batch, own_summed)
    other_free = _others(other_rank, other_batch, other_summed)
    count = len(own_batch)
    first = count if side == 1 else count + len(own_free)
    partner = dict(zip(other_summed, own_summed, strict=True))
    summed = tuple(partner[a] for a in sorted(other_summed))
    g_second = (*own_batch, *summed, *own_free) == tuple(range(own_rank))
    before = (*own_batch, *own_free, *summed)
    permutation = inverse_permutation(before)
    return Plan(g_second, tuple(range(first, first + len(other_free))), other_free, tuple(range(count)), other_batch, permutation)


def operand(op: DotGeneralOp, g: Value, side: int) -> Value:
    """The adjoint of lhs (side 0) or rhs (side 1)."""
    values, own, other = op.values(), op.operands[side], op.operands[1 - side]

    def described(x: SSAValue, name: str) -> tuple[int, Axes, Axes]:
        rank = len(spec(x).shape)
        return rank, axes(values[f"batch_{name}"], rank), axes(values[f"contract_{name}"], rank)

    names = ("lhs", "rhs") if side == 0 else ("rhs", "lhs")
    p = plan(described(own, names[0]), described(other, names[1]), side)
    dtype, accum = spec(own).dtype, values["accum_dtype"]
    g = adjoint_in_kind(g, dtype)
    if p.g_second:
        return contract(other, g, (p.other_axes, p.g_axes), batch=(p.other_batch, p.batch), dtype=dtype, accum=accum)
    product = contract(g, other, (p.g_axes, p.other_axes), batch=(p.batch, p.other_batch), dtype=dtype, accum=accum)
    return transpose(product, p.permutation)


def _others(rank: int, *used: Sequence[int]) -> Axes:
    gone = {a for group in used for a in group}
    return tuple(a for a in range(rank) if a not in gone)


def ragged(a: Value, b: Value, op: RaggedDotOp, kind: str, like: SSAValue) -> RaggedDotOp:
    """The products of the groups of `op` in the wider of two dtypes, as the type of one of its operands."""
    work = wider(spec(a).dtype, spec(b).dtype)
    dtype, accum = spec(like).dtype, usable(op.values()["accum_dtype"], work)
    out = None if dtype is work else dtype
    operands = (cast(a, work), cast(b, work), op.group_sizes)
    return make(RaggedDotOp, *operands, type=like.type, kind=kind, accum_dtype=accum, out_dtype=out)


def ragged_lhs(op: RaggedDotOp, g: SSAValue) -> Value:
    """Rows times transposed matrices: those of their groups, or of the adjoint."""
    own = adjoint_in_kind(g, spec(op.lhs).dtype)
    if op.values()["kind"] == "rows":
        return ragged(own, transpose(op.rhs, (0, 2, 1)), op, "rows", op.lhs)
    return ragged(op.rhs, transpose(own, (0, 2, 1)), op, "rows", op.lhs)


def ragged_rhs(op: RaggedDotOp, g: SSAValue) -> Value:
    """Sums over the rows of each group, or rows times matrices of the adjoint."""
    own = adjoint_in_kind(g, spec(op.rhs).dtype)
    return ragged(op.lhs, own, op, "contract" if op.values()["kind"] == "rows" else "rows", op.rhs)


REVERSE: dict[type[Operation], Row] = {
    DotGeneralOp: (lambda op, g: operand(op, g, 0), lambda op, g: operand(op, g, 1)),
    RaggedDotOp: (ragged_lhs, ragged_rhs, None),
}
FORWARD: dict[type[Operation], ForwardRow] = {DotGeneralOp: product_rule, RaggedDotOp: product_rule}
