"""
Shape inference: facts known before a run put into the program as errors, constants, proven constraints, more exact types.

A value that is known becomes a constant; ops that only computed it go, but for those that ask something of the run: `meet`, which
demands that its operands agree, and `debug_print`. A constraint that is proven is true, code that relies on it needs it no more.
An extent tensor, or a tensor whose shape is carried alongside, gets the type that its shape allows. Whatever cannot succeed is an
error at the op where it begins.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, NoneAttr, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, OpResult, Region
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, PatternRewriteWalker, RewritePattern
from xdsl.rewriter import Rewriter
from xdsl.traits import ConstantLike
from xdsl.transforms.dead_code_elimination import is_trivially_dead
from xdsl.utils.exceptions import VerifyException

from mind_dialect import register
from mind_dialect import shape as sh
from mind_dialect.declared_dims import NO_FACTS, function_facts
from mind_dialect.dominance import walk
from mind_dialect.errors import MindError, MindErrors, error
from mind_dialect.shape import FuncOp as ShapeFuncOp
from mind_dialect.shape.dataflow import Dataflow, Fault, name_of
from mind_dialect.shape.evaluate import EVALUATE, Shaped, Value, as_shape
from mind_dialect.shape.lattice import UNKNOWN, Invalid, eq
from mind_dialect.shape.types import extents_type, is_extents, shaped_extents, static_length

from .constants import Constant, make
from .specialize import parse_bindings, specialize
from .witness_rewrites import all_of_constants, all_of_one, assuming_true

PROVEN = (sh.CstrBroadcastableOp, sh.CstrEqOp, sh.CstrRequireOp, sh.AssumingAllOp, sh.IsBroadcastableOp, sh.ReduceOp)
"""Ops that are not pure, yet go when their results are known."""
FLEXIBLE = (tensor.CastOp, tensor.DimOp, tensor.ExtractOp)
"""Ops of other dialects that take an operand of a more exact type."""
CARRIERS = (sh.ShapeOp, arith.ConstantOp, tensor.CastOp)
"""Ops that go when they are unused and pure."""


def infer(module: ModuleOp, bindings: Mapping[str, int] | None = None) -> None:
    """
    Put what is known of shapes into a verified module, in place.

    Raises `MindErrors`, an E9020 for each op that cannot succeed, and what `specialize` raises; the module is unchanged then
    but for the sizes of named dimensions.
    """
    if bindings:
        specialize(module, bindings)
    described = sh.library_functions(module)
    flows = [(region, _flow(region, bindings or {}, described)) for region in _bodies(module)]
    if faults := [fault for _, flow in flows for fault in flow.faults]:
        raise MindErrors([_error(fault) for fault in faults])
    for region, flow in flows:
        _apply(region, flow, described)
    PatternRewriteWalker(_Simplify()).rewrite_module(module)


def _bodies(module: ModuleOp) -> Iterator[Region]:
    """The bodies of the functions of a module."""
    for op in walk(module):
        if isinstance(op, FuncOp | ShapeFuncOp):
            yield op.body


def _flow(region: Region, bindings: Mapping[str, int], described: Mapping[str, ShapeFuncOp]) -> Dataflow:
    function = region.parent_op()
    flow = Dataflow(bindings, NO_FACTS if function is None else function_facts(function), described)
    flow.run(region)
    return flow


def _error(fault: Fault) -> MindError:
    op, reason = fault
    name = name_of(op).removeprefix("shape.")
    return error("E9020", f"{name}: {reason}", operation=op, op=name_of(op), reason=reason)


def _apply(region: Region, flow: Dataflow, described: Mapping[str, ShapeFuncOp]) -> None:
    """Replace what is known in a function, ops as they stand in the text."""
    ops = [op for block in region.blocks for outer in block.ops for op in walk(outer)]
    for op in ops:
        evaluated = type(op) in EVALUATE or isinstance(op, sh.ReduceOp | arith.CmpiOp)
        if evaluated and op.parent is not None and not op.has_trait(ConstantLike):
            _replace_known(op, flow)
    for op in ops:
        by_library = name_of(op) in described
        if op.parent is not None and (by_library or type(op) in EVALUATE or isinstance(op, tensor.CastOp)):
            for result in tuple(op.results):
                _refine(result, flow.of(result), by_library)


def _replace_known(op: Operation, flow: Dataflow) -> None:
    """Constants for the results of `op` that are known; `op` goes if nothing needs it any more."""
    for result in op.results:
        known = _constant(flow.of(result))
        if known is None:
            continue
        block = op.parent
        assert isinstance(block, Block)
        if not isinstance(op, PROVEN) and result.first_use is None:
            continue
        made = make(known, result.type)
        if made is None and isinstance(known, tuple) and is_extents(result.type):
            made = make(known, extents_type(len(known)))
        if made is None:
            continue
        block.insert_op_before(made, op)
        value = made.results[0]
        if value.type != result.type:
            cast_back = tensor.CastOp(value, cast(Any, result.type))
            block.insert_op_before(cast_back, op)
            value = cast_back.dest
        if result.name_hint is not None:
            value.name_hint = result.name_hint
        flow.assume(value, flow.of(result))
        result.replace_all_uses_with(value)
    if all(result.first_use is None for result in op.results) and _may_go(op, flow):
        Rewriter.erase_op(op)


def _may_go(op: Operation, flow: Dataflow) -> bool:
    """Return whether an op with unused results asks nothing of the run."""
    if isinstance(op, sh.DebugPrintOp):
        return False
    if isinstance(op, sh.MeetingOp):
        a, b = map(flow.of, op.operands)
        if isinstance(a, int | str):
            return a == b != UNKNOWN
        return not isinstance(a, Invalid) and eq(as_shape(a), as_shape(b)) is True
    if isinstance(op, sh.ReduceOp):
        return bool(op.results) and all(_constant(flow.of(r)) is not None for r in op.results) and _is_pure(op.body)
    if isinstance(op, PROVEN):
        return _constant(flow.of(op.results[0])) is not None
    return True


def _is_pure(region: Region) -> bool:
    """Return whether a region holds only ops of the dialect that ask nothing of the run."""
    stays = (sh.DebugPrintOp, sh.MeetingOp, *PROVEN)
    return all(type(op) in EVALUATE and not isinstance(op, stays) for op in _inner(region))


def _inner(region: Region) -> Iterator[Operation]:
    for block in region.blocks:
        for op in block.ops:
            if op.next_op is not None:
                yield from walk(op)


def _constant(value: Value) -> Constant | None:
    """Return what is known as a constant; None for what is not known in full."""
    if isinstance(value, Shaped):
        value = value.contents
    if isinstance(value, int):
        return value
    if isinstance(value, tuple) and all(isinstance(n, int) for n in value):
        return cast(tuple[int, ...], value)
    return None


def _refine(result: OpResult, known: Value, by_library: bool) -> None:
    """Give a tensor the type that its shape allows; users that want the old one get a cast."""
    type = _refined(result, known, by_library)
    if type is None or type == result.type:
        return
    op, old = result.op, result.type
    if isinstance(op, tensor.CastOp) and op.source.type == type:
        return
    uses = [use for use in result.uses if not _is_flexible(use.operation)]
    refined = Rewriter.replace_value_with_new_type(result, type)
    if by_library and not _verifies(op):
        Rewriter.replace_value_with_new_type(refined, old)
        return
    if uses and op.parent is not None:
        cast_back = tensor.CastOp(refined, cast(Any, old))
        op.parent.insert_op_after(cast_back, op)
        for use in uses:
            use.operation.operands[use.index] = cast_back.dest


def _verifies(op: Operation) -> bool:
    """Return whether the types of an op of another dialect agree: those of its results may have to be those of its operands."""
    try:
        op.verify(verify_nested_ops=False)
    except VerifyException:
        return False
    return True


def _is_flexible(op: Operation) -> bool:
    """Return whether an op takes an operand of a more exact type as it took the old one."""
    return type(op) in EVALUATE or isinstance(op, FLEXIBLE)


def _refined(result: OpResult, known: Value, by_library: bool) -> Attribute | None:
    if not isinstance(known, Shaped) or shaped_extents(result.type) is None:
        return None
    old = cast(Any, result.type)
    if is_extents(result.type):
        length = known.shape[0] if isinstance(known.shape, tuple) else None
        return extents_type(length) if isinstance(length, int) and static_length(result.type) is None else None
    if not (by_library or isinstance(result.op, sh.ValueOfOp | tensor.CastOp)) or not isinstance(known.shape, tuple):
        return None
    if by_library and (not isinstance(result.type, TensorType) or old.encoding != NoneAttr()):
        return None
    extents = [DYNAMIC_INDEX if isinstance(n, str) else n for n in known.shape]
    return TensorType(old.element_type, extents, old.encoding) if extents != list(old.get_shape()) else None


class _Simplify(RewritePattern):
    """Code that relies on what is proven needs no witness; what only computed shapes and is unused goes."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        results: Any = None
        if isinstance(op, CARRIERS) and is_trivially_dead(op):
            rewriter.erase(op)
            return
        match op:
            case sh.AssumingOp():
                results = assuming_true(op, rewriter)
            case sh.AssumingAllOp():
                results = all_of_constants(op, rewriter)
                if results is None and not rewriter.has_done_action:
                    results = all_of_one(op, rewriter)
            case _:
                return
        if results is not None:
            rewriter.replace(op, [], results)


@dataclass(frozen=True)
class ShapeInferPass(ModulePass):
    """
    Evaluate shapes as far as they are known: constants, proven constraints, exact types, errors.

    `bind` gives sizes to named dimensions: `--shape-infer=bind=B=8,T=128`.
    """

    name = "mind-shape-infer"

    bind: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        register(ctx)
        infer(op, parse_bindings(self.bind))
