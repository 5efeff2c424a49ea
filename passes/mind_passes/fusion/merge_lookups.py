"""
Lookups are merged with the fusions that compute their indices and that read what they look up.

An array that is looked up at computed indices takes three passes over memory by itself: the indices are written and read, and so
is what is found there. In the kernel of its neighbours it is one load.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from mind_dialect import register
from mind_dialect.dominance import walk
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir import FUSIBLE, GatherOp, GatherWindowsOp, PtirOp, TakeOp

from ..ptir.building import spec_of
from .defuse import defuse
from .kernels import IsKernel, always
from .merge_rows import merge_rows
from .wrap import wrap_ops

LOOKUPS = (TakeOp, GatherOp, GatherWindowsOp)
"""The ops that read elements of their first operand at indices, their second one."""
MOST_AROUND = 192
"""Ops of a merged fusion, at most: cubic interpolation of an image takes 16 lookups, each with ops for its weight."""


def merge_lookups(root: Operation, is_kernel: IsKernel = always, is_wanted: Callable[[PtirOp], bool] = always) -> None:
    """
    Merge the wanted lookups of static shape inside `root` with elementwise ops before and after them, in place.

    `is_kernel` is whether a fusion is one kernel. A lookup that has no neighbours of its shape stays as it is.
    """

    def is_merged(op: PtirOp) -> bool:
        if not isinstance(op, LOOKUPS):
            return _has_lookup(op)
        return all(spec_of(v).is_static for v in (*op.operands, op.result)) and is_wanted(op)

    if not any(isinstance(op, LOOKUPS) for op in walk(root)):
        return
    wrapped = set(wrap_ops(root, is_merged, is_kernel))
    merge_rows(root, is_kernel, siblings=False, around=LOOKUPS, most=MOST_AROUND)
    defuse(root, only=wrapped.__contains__)


def _has_lookup(op: PtirOp) -> bool:
    """Return whether an elementwise op computes indices of a lookup, or reads what one finds."""
    if FUSIBLE.get(type(op)) != "elementwise":
        return False
    return any(isinstance(v.owner, LOOKUPS) for v in op.operands) or any(
        isinstance(use.operation, LOOKUPS) and use.index == 1 for v in op.results for use in v.uses
    )


@dataclass(frozen=True)
class PtirMergeLookupsPass(ModulePass):
    """Merge lookups with the fusions that compute their indices, and with those that read what they find."""

    name = "mind-ptir-merge-lookups"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        register(ctx)
        merge_lookups(op)
