"""Ops that a group can hold, the name of a group, and products as ops of a group."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, Operation, SSAValue

from mind_dialect import ptir
from mind_dialect.ptir import FUSIBLE, PtirOp
from mind_dialect.ptir.types import PtirDType, known_extents, read_type, tensor_type
from mind_passes.fusion.merge_lookups import LOOKUPS
from mind_passes.ptir.building import accumulator

from .reasons import rounded_each_step, unsupported
from .target_info import TargetInfo

BEYOND = "its windows may reach beyond the operand"
"""The reason why windows, elements of which may be outside of an array, are not looked up."""
_ELEMENTWISE: frozenset[type[Operation]] = frozenset(cls for cls, kind in FUSIBLE.items() if kind == "elementwise")


def is_elementwise(op: Operation) -> bool:
    """Return whether an op computes each element of its result from those of its operands at the same place."""
    return type(op) in _ELEMENTWISE


def is_lookup(op: Operation) -> bool:
    """Return whether an op reads elements of its first operand at indices, its second one."""
    return type(op) in LOOKUPS


def is_member(op: Operation) -> bool:
    """Return whether an op of a fusion is computed in its group; the others are views, or kernels of their own."""
    return type(op) in _ELEMENTWISE or type(op) in (ptir.ReduceOp, ptir.ComplexOp, *LOOKUPS)


def uncomputed_members(fusion: ptir.FusionOp, host: TargetInfo) -> str | None:
    """Return why a group cannot hold a member of a fusion; None if groups can hold all of them."""
    for inner in fusion.body.block.ops:
        if is_member(inner):
            assert isinstance(inner, PtirOp)
            if isinstance(inner, ptir.ComplexOp):  # whose parts are written
                continue
            if (reason := why_not(inner, host)) is not None:
                return reason
    return None


def why_not(op: PtirOp, host: TargetInfo) -> str | None:
    """Return the reason why a group cannot hold an op."""
    dtypes = [read_type(v.type).dtype for v in (*op.operands, *op.results)]
    if isinstance(op, ptir.ReduceOp):
        dtypes.append(total := accumulator(op))
        if reason := rounded_each_step(op.values()["kind"], total):
            return reason
    elif isinstance(op, ptir.GatherWindowsOp) and op.values()["mode"] == "fill":
        return BEYOND
    elif not is_elementwise(op) and not is_lookup(op):
        return f"no kernel for {op.OPCODE} in a group"
    return unsupported(dtypes, host)


def group_shape(op: PtirOp) -> tuple[int, ...]:
    """Return the shape over which a group computes an op."""
    return known_extents((op.operands[0] if isinstance(op, ptir.ReduceOp) else op.results[0]).type)


def group_name(ops: Sequence[PtirOp], results: Sequence[SSAValue]) -> str:
    """A name for a kernel: that of its last result and the last few opcodes."""
    hint = next((r.name_hint for r in reversed(results) if r.name_hint), None)
    codes = "_".join(op.OPCODE for op in ops[-3:])
    return f"{hint}.{codes}" if hint else codes


def product_block(
    op: ptir.DotGeneralOp, shape: tuple[int, ...], contracted: int, total: PtirDType
) -> tuple[Block, list[Operation]]:
    """A product as casts, a multiplication and a sum on operands of one shape, in a block of its own."""
    dtypes = [op.operand_spec(i).dtype for i in (0, 1)]
    block = Block(arg_types=[tensor_type(d, shape) for d in dtypes])
    ops: list[Operation] = []
    factors: list[SSAValue] = list(block.args)
    for i, value in enumerate(op.operands):
        factors[i].name_hint = value.name_hint
    if dtypes[0] is not total:
        for i in (0, 1):
            ops.append(made := ptir.CastOp(factors[i], dtype=total))
            factors[i] = made.result
    ops.append(product := ptir.MulOp(*factors))
    axes = tuple(range(len(shape) - contracted, len(shape)))
    ops.append(ptir.ReduceOp(product, kind="sum", axes=axes, keepdims=False, accum_dtype=total, out_dtype=op.result_spec().dtype))
    ops[-1].results[0].name_hint = op.result.name_hint
    block.add_ops(ops)
    return block, ops
