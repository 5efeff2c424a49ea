"""The reasons that `explain` gives for ops without a native kernel."""

from __future__ import annotations

from xdsl.ir import Operation

from mind_dialect.ptir import PtirOp
from mind_dialect.ptir.types import BF16, F16, PtirDType, read_type
from mind_passes.ptir.building import accumulator

from .target_info import TargetInfo, computes


def rounded_each_step(kind: str, total: PtirDType) -> str | None:
    """Return the reason why a sum or product that is rounded after every step has no kernel."""
    return f"accumulates in {total}, rounded after every step" if kind in ("sum", "prod") and total in (F16, BF16) else None


def not_computed(op: Operation, host: TargetInfo) -> str | None:
    """Return why nothing is computed in a dtype of an op; None if it is."""
    return unsupported([read_type(v.type).dtype for v in (*op.operands, *op.results)], host)


def unsupported(dtypes: list[PtirDType], host: TargetInfo) -> str | None:
    """Return the reason why some dtypes cannot be computed in."""
    for dtype in dtypes:
        if not computes(dtype, host):
            return f"kernels do not support {dtype}"
    return None


def not_produced(op: PtirOp, host: TargetInfo) -> str | None:
    """Return why an op gives no results of its dtype; None if it does."""
    return unsupported([op.result_spec().dtype], host)


def why_not_reduced(op: PtirOp, host: TargetInfo) -> str | None:
    """Return why windows or segments are not reduced in the dtypes of an op; None if they are."""
    total = accumulator(op)
    return unsupported([op.operand_spec(0).dtype, total], host) or rounded_each_step(op.values()["kind"], total)
