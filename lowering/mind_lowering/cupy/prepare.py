"""
What comes before lowering: functions as optimised PTIR in which every fusion is one kernel.

Fusions that make no kernel are taken apart and what they hold is grouped anew; products leave their fusions, as the array library
has better ones; what is left alone of elementwise ops and reductions becomes a fusion of one op.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, Region, SSAValue

from mind_dialect import ptir
from mind_dialect.dominance import walk
from mind_dialect.ptir import FUSIBLE, TARGETED, DotGeneralOp, FusionOp, LayerNormOp, PtirLiteralAttr
from mind_dialect.ptir.types import F32, read_type
from mind_passes.ptir.canonicalize import rewire
from mind_passes.ptir.defuse import defuse
from mind_passes.ptir.fuse import fuse
from mind_passes.ptir.patterns import PATTERNS
from mind_passes.ptir.patterns.matching import fusion
from mind_passes.ptir.recognize import recognize

from ..own_module import own_module
from ..ptir_optimize import optimize, simplify
from .absorb import absorb_views
from .kernel import Kernel, make_kernel
from .maps import FREE
from .merge import merge_rows
from .scalars import NARROW
from .unsupported import Unsupported

KNOWN = tuple(name for name in PATTERNS if name != "attention")
"""The patterns that become a kernel or an op; of an attention the softmax does."""


def prepared(func: FuncOp) -> FuncOp:
    """
    A function of Core IR or PTIR, verified, as fused PTIR in a module of its own; the original stays as it is.

    E4000 and E2007 as for the NumPy target; E6003 for a function that was lowered already.
    """
    module, work = own_module(func, "cupy")
    form_kernels(module)
    return work


def form_kernels(module: ModuleOp) -> None:
    """Give the functions of a verified module the form that is lowered."""
    defuse(module, only=_is_no_kernel)
    optimize(module, patterns=False)
    if recognize(module, KNOWN):
        simplify(module)
    _expand_norms(module)
    defuse(module, only=_is_no_kernel)
    fuse(module)
    _take_products_out(module)
    _wrap_single_ops(module)
    merge_rows(module)
    absorb_views(module)


def kernel_of(op: FusionOp) -> Kernel | None:
    """The kernel of a fusion; None if it has none."""
    try:
        return make_kernel(op.body.block)
    except Unsupported:
        return None


def _is_no_kernel(op: FusionOp) -> bool:
    return kernel_of(op) is None


def _expand_norms(module: ModuleOp) -> None:
    """Layer norms as fusions of what they mean, in f32 where they are narrower."""
    became: dict[SSAValue, SSAValue] = {}
    for op in [op for op in walk(module) if isinstance(op, LayerNormOp)]:
        shape = read_type(op.operands[0].type).shape
        block = op.parent
        assert isinstance(block, Block)
        if any(isinstance(n, str) for n in shape):
            continue
        body = Block(arg_types=op.operand_types)
        ops = _norm(body.args, [n for n in shape if isinstance(n, int)], op.values()["epsilon"], op.values()["feature_axis"])
        body.add_ops([*ops, ptir.YieldOp(ops[-1].results[0])])
        made = FusionOp.create(operands=op.operands, result_types=op.result_types, regions=[Region(body)], location=op.location)
        if kernel_of(made) is not None:
            for inner in body.ops:
                inner.location = op.location
            made.results[0].name_hint = op.results[0].name_hint
            block.insert_op_before(made, op)
            became[op.results[0]] = made.results[0]
    if became:
        for op in walk(module):
            rewire(op, became)
        for value in became:
            assert isinstance(value.owner, Operation)
            value.owner.detach()
            value.owner.erase()


def _norm(args: Sequence[SSAValue], shape: Sequence[int], epsilon: float, axis: int) -> list[Operation]:
    """The ops of a layer norm, the last giving the result."""
    ops: list[Operation] = []

    def add(op: Any, *operands: Any, **properties: Any) -> SSAValue:
        ops.append(op(*operands, **properties))
        return ops[-1].results[0]

    dtype = read_type(args[0].type).dtype
    wide = F32 if dtype in NARROW else dtype
    axis %= len(shape)
    x, gamma, beta = (add(ptir.CastOp, v, dtype=wide) if wide is not dtype else v for v in args)

    def spread(value: SSAValue) -> SSAValue:
        return add(ptir.BroadcastToOp, value, result_shape=shape)

    def along(value: SSAValue) -> SSAValue:
        return spread(add(ptir.ReshapeOp, value, new_shape=[n if a == axis else 1 for a, n in enumerate(shape)]))

    def mean(value: SSAValue) -> SSAValue:
        total = add(ptir.ReduceOp, value, kind="sum", axes=(axis,), keepdims=True)
        return add(ptir.DivOp, total, number(float(shape[axis])))

    def number(value: float) -> SSAValue:
        thin = tuple(1 if a == axis else n for a, n in enumerate(shape))
        return add(ptir.ConstantOp, PtirLiteralAttr.filled(wide, thin, wide.element.check(value)))

    centred = add(ptir.SubOp, x, spread(mean(x)))
    variance = mean(add(ptir.MulOp, centred, centred))
    deviation = add(ptir.SqrtOp, add(ptir.AddOp, variance, number(epsilon)))
    scaled = add(ptir.MulOp, add(ptir.DivOp, centred, spread(deviation)), along(gamma))
    result = add(ptir.AddOp, scaled, along(beta))
    if wide is not dtype:
        add(ptir.CastOp, result, dtype=dtype)
    return ops


def _take_products_out(module: ModuleOp) -> None:
    """Products and what they need before their fusions; the rest stays a fusion, if it is a kernel."""
    held = [op for op in walk(module) if isinstance(op, FusionOp) and any(isinstance(o, DotGeneralOp) for o in op.body.block.ops)]
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
    _replace(module, became)


def _wrap_single_ops(module: ModuleOp) -> None:
    """Ops outside of fusions that move or compute elements as fusions of one op, where they are kernels."""
    became: dict[SSAValue, SSAValue] = {}
    for op in list(walk(module)):
        wanted = FUSIBLE.get(type(op)) in ("elementwise", "reduction") or (type(op) in TARGETED and type(op) not in FREE)
        if not wanted or isinstance(op, ptir.StopGradientOp) or isinstance(op.parent_op(), FusionOp):
            continue
        made = fusion([op], op.results)
        if kernel_of(made) is not None:
            block = op.parent
            assert isinstance(block, Block)
            block.insert_op_after(made, op)
            became[op.results[0]] = made.results[0]
    _replace(module, became)


def _replace(module: ModuleOp, became: dict[SSAValue, SSAValue]) -> None:
    from mind_passes.ptir.dce import erase_dead

    if became:
        for op in walk(module):
            rewire(op, became)
        erase_dead(module)
