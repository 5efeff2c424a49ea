"""
Products that sum one term, of two factors, as elementwise ops, which are fused with what reads them.

    dot(a, b) = mul(broadcast_to(a), broadcast_to(b))

An outer product is one, or one for each place of a batch. Not for floats of 2 bytes or less, whose sums have another dtype. A sum
of one product is the product, but that -0 may be 0. Sizes are static.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from mind_dialect.dominance import walk
from mind_dialect.ptir import DotGeneralOp, FusionOp
from mind_dialect.ptir.types import Kind

from ..ptir.building import put_before, spec_of
from ..ptir.construct import Value, broadcast, mul, reshape, static, transpose
from ..ptir.dead_ops import replace_values


def multiply_short_products(root: Operation) -> bool:
    """Replace the products of one term inside `root`, but for those in fusions, in place; return whether there were any."""
    became: dict[SSAValue, SSAValue] = {}
    for op in [op for op in walk(root) if isinstance(op, DotGeneralOp) and not isinstance(op.parent_op(), FusionOp)]:
        if _sums_one_term(op):
            became[op.result] = new = put_before(op, _multiplied(op))
            new.name_hint = op.result.name_hint
    return replace_values(root, became)


def _sums_one_term(op: DotGeneralOp) -> bool:
    values, dtype = op.values(), spec_of(op.lhs).dtype
    specs = [spec_of(v) for v in (*op.operands, op.result)]
    if not all(s.is_static and s.dtype is dtype for s in specs) or (dtype.kind is Kind.FLOAT and dtype.size < 4):
        return False
    is_plain = all(values[name] in (None, dtype) for name in ("accum_dtype", "out_dtype"))
    contract: Sequence[int] = values["contract_lhs"]
    return is_plain and all(static(op.lhs)[a] == 1 for a in contract)


def _multiplied(op: DotGeneralOp) -> Value:
    values, shape = op.values(), static(op.result)
    batch = len(values["batch_lhs"])
    taken = [{*values[f"batch_{side}"], *values[f"contract_{side}"]} for side in ("lhs", "rhs")]
    free = [[a for a in range(len(static(v))) if a not in used] for v, used in zip(op.operands, taken, strict=True)]
    first = batch + len(free[0])
    ones = ((*shape[:first], *(1,) * len(free[1])), (*shape[:batch], *(1,) * len(free[0]), *shape[first:]))
    sides: list[Value] = []
    for x, side, axes, thin in zip(op.operands, ("lhs", "rhs"), free, ones, strict=True):
        kept = [*values[f"batch_{side}"], *axes]
        turned = x if kept == sorted(kept) else transpose(x, [*kept, *values[f"contract_{side}"]])
        sides.append(broadcast(reshape(turned, thin), shape))
    return mul(*sides)
