"""
Functions as optimised PTIR in which every fusion is one kernel: what is done before lowering, as stages.

Fusions that are no kernels are split and their ops are grouped again; products leave their fusions, because the array
library has better ones; single elementwise ops and reductions become fusions of one op.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from mind_dialect.ptir import TARGETED, FusionOp, PtirOp, StopGradientOp
from mind_passes.derivatives.ptir.pooling import EXTREMES_GRADIENT
from mind_passes.fusion.absorb_views import STRIDED, absorb_result_views, absorb_views
from mind_passes.fusion.compact_scatters import compact_scatters
from mind_passes.fusion.defuse import defuse
from mind_passes.fusion.expand_norms import expand_norms
from mind_passes.fusion.fuse import fuse
from mind_passes.fusion.merge_producers import merge_producers
from mind_passes.fusion.merge_rows import merge_rows
from mind_passes.fusion.move_casts import move_casts
from mind_passes.fusion.place_parts import place_parts
from mind_passes.fusion.product_epilogues import merge_epilogues
from mind_passes.fusion.rematerialize import rematerialize
from mind_passes.fusion.split import split_products
from mind_passes.fusion.wrap import is_pointwise_or_reduction, wrap_ops
from mind_passes.ptir.failing import forget_origins, mark_failing, unmark
from mind_passes.ptir.patterns import PATTERNS
from mind_passes.ptir.patterns.product_epilogue import epilogue_of
from mind_passes.ptir.recognize import recognize
from mind_passes.ptir.recompute import recompute_attention
from mind_passes.staged import Stage, StagedPass

from ..outline import drop_barriers, own_functions, own_module
from ..ptir_optimize import optimize_marked, simplified, simplify
from .kernels.patterns import schedule_of, why_no_kernel
from .kernels.updates import free_order
from .options import DEFAULT, CupyOptions
from .products.attention import is_attention, mark_warp_groups
from .products.attention_gradient import is_gradient

REST = tuple(name for name in PATTERNS if name != "attention")
"""The patterns that are looked for again in an attention that is no kernel."""


def prepared(func: FuncOp, options: CupyOptions = DEFAULT) -> FuncOp:
    """
    A function of Core IR or PTIR, verified, as fused PTIR in a module of its own; the original stays as it is.

    E4000 and E2007 as for the NumPy target; E6003 for a function that was lowered already.
    """
    module, work = own_module(func, "cupy")
    for stage in fusion_stages(options):
        stage.run(module)
    return work


def fusion_stages(options: CupyOptions = DEFAULT) -> list[Stage]:
    """Return how functions of PTIR, each by itself, are optimised and fused."""
    return [
        Stage("mind-drop-barriers", drop_barriers),
        Stage("mind-ptir-defuse", lambda module: defuse(module, only=lambda op: _is_several(op) or not is_kernel(op))),
        Stage("mind-mark-failing", mark_failing),
        Stage("mind-ptir-optimize", optimize_marked),
        Stage("mind-ptir-compact-scatters", simplified(compact_scatters)),
        Stage("mind-ptir-move-casts", simplified(move_casts)),
        Stage("mind-ptir-recognize", _recognize),
        Stage("mind-ptir-expand-norms", lambda module: expand_norms(module, is_kernel)),
        Stage("mind-ptir-absorb-views", lambda module: absorb_views(module, is_kernel)),
        Stage("mind-ptir-recognize", _recognize_rest),
        Stage("mind-ptir-absorb-views", lambda module: absorb_result_views(module, is_kernel, _is_attention)),
        *([Stage("mind-ptir-product-epilogues", merge_epilogues)] if options.epilogues else []),
        Stage("mind-ptir-fuse", fuse),
        Stage("mind-ptir-split-products", lambda module: split_products(module, is_kernel)),
        *([Stage("mind-mark-any-order", free_order)] if options.fast_reduce else []),
        Stage("mind-ptir-wrap-ops", lambda module: wrap_ops(module, _is_wrapped, is_kernel)),
        Stage("mind-ptir-merge-rows", lambda module: merge_rows(module, _is_parallel)),
        Stage("mind-ptir-absorb-views", lambda module: absorb_views(module, is_kernel)),
        Stage("mind-ptir-merge-producers", lambda module: merge_producers(module, _is_parallel)),
        Stage("mind-ptir-rematerialize", lambda module: rematerialize(module, is_kernel, totals=True)),
        Stage("mind-ptir-place-parts", lambda module: place_parts(module, is_kernel, _is_attention)),
        *([Stage("mind-mark-warp-groups", mark_warp_groups)] if options.warp_groups else []),
        Stage("mind-unmark-failing", unmark),
    ]


def _defuse_others(module: ModuleOp) -> bool:
    """Take apart the fusions that are no kernels."""
    return defuse(module, only=lambda op: not is_kernel(op))


def _is_several(op: FusionOp) -> bool:
    """Return whether a fusion is better as several kernels: its body counts the extremes of each window once."""
    return op.values()["pattern"] == EXTREMES_GRADIENT


def _recognize(module: ModuleOp) -> None:
    recomputed = recompute_attention(module, lambda op: why_no_kernel(op.body.block))
    if recognize(module) or recomputed:
        simplify(module)


def _recognize_rest(module: ModuleOp) -> None:
    """Take apart the patterns that are no kernels, and recognize other patterns in them."""
    if _defuse_others(module):
        recognize(module, REST)
        _defuse_others(module)


def is_kernel(op: FusionOp) -> bool:
    """Return whether a fusion is one kernel, of ours or of a library of products."""
    return schedule_of(op.body.block) is not None or epilogue_of(op) is not None


def _is_parallel(op: FusionOp) -> bool:
    """Return whether a fusion is a kernel with enough blocks for a long row."""
    schedule = schedule_of(op.body.block)
    return schedule is not None and not schedule.is_narrow


def _is_attention(op: FusionOp) -> bool:
    return is_attention(op.body.block) or is_gradient(op.body.block)


def _is_wrapped(op: PtirOp) -> bool:
    """Return whether an op outside of fusions moves or computes elements, so that it is a kernel if it can be."""
    moves = type(op) in TARGETED and type(op) not in STRIDED
    return (is_pointwise_or_reduction(op) or moves) and not isinstance(op, StopGradientOp)


@dataclass(frozen=True)
class FuseForCupyPass(StagedPass):
    """
    Optimise and fuse the functions of a module for CuPy, as `lower-to-cupy` does before it lowers them.

    Each `ptir.fusion` is one CUDA kernel then. `fast-reduce=true` lets updates of floats be combined in any order. With
    `epilogues=true` products with a bias or GELU are fusions too, which cuBLASLt computes; with `warp-groups=true` products of
    attention are marked as those of four warps together.
    """

    name = "mind-fuse-for-cupy"

    fast_reduce: bool = False
    epilogues: bool = False
    warp_groups: bool = False

    def stages(self) -> Sequence[Stage]:
        return [
            Stage("mind-convert-to-ptir", lambda module: own_functions(module, "cupy")),
            *fusion_stages(CupyOptions(fast_reduce=self.fast_reduce, epilogues=self.epilogues, warp_groups=self.warp_groups)),
            Stage("mind-forget-origins", forget_origins),
        ]
