"""
What comes before lowering: functions as optimised PTIR in which every fusion is one kernel.

Fusions that make no kernel are taken apart and what they hold is grouped anew; products leave their fusions, as the array library
has better ones; what is left alone of elementwise ops and reductions becomes a fusion of one op.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from mind_dialect import ptir
from mind_dialect.dominance import walk
from mind_dialect.ptir import FUSIBLE, TARGETED, DotGeneralOp, FusionOp
from mind_passes.fusion.defuse import defuse
from mind_passes.fusion.edit import FusionEdit
from mind_passes.fusion.fuse import fuse
from mind_passes.ptir.dce import replace_values
from mind_passes.ptir.failing import mark_failing, unmark, unmark_used
from mind_passes.ptir.patterns import PATTERNS
from mind_passes.ptir.patterns.matching import fusion
from mind_passes.ptir.recognize import recognize
from mind_passes.ptir.recompute import recompute_attention

from ...merge_rows import merge_rows
from ...norms import expand_norms
from ...own_module import drop_barriers, own_module
from ...ptir_optimize import optimize, simplify
from ..kernels.kernel import Kernel, make_kernel
from ..kernels.maps import FREE
from ..kernels.unsupported import Unsupported
from ..kernels.updates import UPDATES, free_order
from ..options import DEFAULT, CupyOptions
from .absorb import absorb_iterations, absorb_views
from .again import compute_again
from .casts import move_casts
from .join import join

REST = tuple(name for name in PATTERNS if name != "attention")
"""The patterns that are looked for again in an attention that is no kernel."""


def prepared(func: FuncOp, options: CupyOptions = DEFAULT) -> FuncOp:
    """
    A function of Core IR or PTIR, verified, as fused PTIR in a module of its own; the original stays as it is.

    E4000 and E2007 as for the NumPy target; E6003 for a function that was lowered already.
    """
    module, work = own_module(func, "cupy")
    form_kernels(module, options)
    return work


def form_kernels(module: ModuleOp, options: CupyOptions = DEFAULT) -> None:
    """Give the functions of a verified module the form that is lowered."""
    drop_barriers(module)
    defuse(module, only=_is_no_kernel)
    mark_failing(module)
    optimize(module, patterns=False)
    unmark_used(module)
    if move_casts(module):
        simplify(module)
    recomputed = recompute_attention(module, _why_no_kernel)
    if recognize(module) or recomputed:
        simplify(module)
    expand_norms(module, is_kernel)
    absorb_views(module, is_kernel)
    if defuse(module, only=_is_no_kernel):
        recognize(module, REST)
        defuse(module, only=_is_no_kernel)
    absorb_iterations(module, is_kernel)
    fuse(module)
    _take_products_out(module)
    if options.fast_reduce:
        free_order(module)
    _wrap_single_ops(module)
    merge_rows(module, _is_shared_well, siblings=True)
    absorb_views(module, is_kernel)
    join(module)
    compute_again(module, is_kernel)
    unmark(module)


def kernel_of(op: FusionOp) -> Kernel | None:
    """The kernel of a fusion; None if it has none."""
    try:
        return make_kernel(op.body.block)
    except Unsupported:
        return None


def is_kernel(op: FusionOp) -> bool:
    """Whether a fusion is one kernel."""
    return kernel_of(op) is not None


def _why_no_kernel(op: FusionOp) -> str | None:
    try:
        make_kernel(op.body.block)
    except Unsupported as e:
        return str(e)
    return None


def _is_no_kernel(op: FusionOp) -> bool:
    return kernel_of(op) is None


def _is_shared_well(op: FusionOp) -> bool:
    """Whether a fusion is a kernel with enough blocks for a long row."""
    kernel = kernel_of(op)
    return kernel is not None and not kernel.is_narrow


def _take_products_out(module: ModuleOp) -> None:
    """Products and what they need before their fusions; the rest stays a fusion, if it is a kernel."""
    held = [op for op in walk(module) if isinstance(op, FusionOp) and any(isinstance(o, DotGeneralOp) for o in op.body.block.ops)]
    held = [op for op in held if kernel_of(op) is None]
    after: list[tuple[list[Operation], list[SSAValue]]] = []
    for op in held:
        early: set[SSAValue] = set()
        inner = list(op.body.block.ops)[:-1]
        for o in reversed(inner):
            if isinstance(o, DotGeneralOp) or any(result in early for result in o.results):
                early.update(o.operands, o.results)
        after.append(([o for o in inner if o.results[0] not in early], []))
    defuse(module, only=held.__contains__)
    became: dict[SSAValue, SSAValue] = {}
    for ops, _ in after:
        members = set(ops)
        results = [v for o in ops for v in o.results if any(use.operation not in members for use in v.uses)]
        if not results or all(isinstance(o, ptir.BroadcastToOp | ptir.ReshapeOp | ptir.ConstantOp) for o in ops):
            continue
        made = fusion(ops, results)
        if kernel_of(made) is None:
            continue
        block = ops[-1].parent
        assert isinstance(block, Block)
        block.insert_op_after(made, ops[-1])
        became.update(zip(results, made.results, strict=True))
    replace_values(module, became)


def _wrap_single_ops(module: ModuleOp) -> None:
    """Ops outside of fusions that move or compute elements as fusions of one op, where they are kernels."""
    became: dict[SSAValue, SSAValue] = {}
    for op in list(walk(module)):
        wanted = FUSIBLE.get(type(op)) in ("elementwise", "reduction") or (type(op) in TARGETED and type(op) not in FREE)
        if not wanted or isinstance(op, ptir.StopGradientOp) or isinstance(op.parent_op(), FusionOp):
            continue
        made = fusion([op], op.results)
        if kernel_of(made) is None and type(op) in UPDATES:
            made = _of_arguments(op)
        if kernel_of(made) is not None:
            block = op.parent
            assert isinstance(block, Block)
            block.insert_op_after(made, op)
            became[op.results[0]] = made.results[0]
    replace_values(module, became)


def _of_arguments(op: Operation) -> FusionOp:
    """A fusion of one op that takes all its operands from outside."""
    edit = FusionEdit()
    for value in op.operands:
        edit.read(value)
    edit.append(op)
    return edit.fusion(op.results, location=op.location)
