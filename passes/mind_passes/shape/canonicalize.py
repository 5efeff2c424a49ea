"""
The canonical form of the shape dialect: what a real mlir-opt makes of it, no more and no less.

Constants that the folds give stand at the start of the function, each once; operands that are constants stand last where their
order does not matter; unused pure ops are gone. Everything else is in the tables of `folds` and `rewrites`. Other
dialects get xDSL's own canonicalisation on the way.

Where MLIR is wrong or stops, ours differs: `assuming` of a false witness stays; sums and products that would wrap around stay,
and so does what would take an unknown extent (a negative one) for a number; `error` survives merging; a shape of static type is
folded also as `!shape.shape`; a result keeps its type; of several constraints that others imply all go, not the first.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from xdsl.context import Context
from xdsl.dialects import arith, ub
from xdsl.dialects.builtin import IndexType, ModuleOp, i1
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import (
    GreedyRewritePatternApplier,
    PatternRewriter,
    PatternRewriteWalker,
    RewritePattern,
)
from xdsl.rewriter import InsertPoint
from xdsl.traits import Commutative, ConstantLike, IsolatedFromAbove
from xdsl.transforms.canonicalize import CanonicalizationRewritePattern
from xdsl.transforms.dead_code_elimination import region_dce

from mind_dialect import register
from mind_dialect.shape import ConstShapeOp, ConstSizeOp, ConstWitnessOp, ShapeOp

from .constants import constant, make
from .folds import FOLDS, fold
from .rewrites import REWRITES

Key = tuple[type[Operation], Attribute, Attribute]
_OTHERS = CanonicalizationRewritePattern()


def _scope(op: Operation) -> Block | None:
    """The first block of the region that `op` stands in and that sees nothing from above."""
    region = op.parent_region()
    while region is not None and (outer := region.parent) is not None:
        if outer.has_trait(IsolatedFromAbove, value_if_unregistered=False):
            return region.first_block
        region = outer.parent_region()
    return None


def _value(op: Operation) -> Attribute | None:
    """The value of an op that is moved to the start: a constant of the dialect, an index, a truth, poison."""
    match op:
        case ConstSizeOp() | ConstShapeOp() | ConstWitnessOp():
            return next(iter(op.properties.values()), None)
        case arith.ConstantOp() if isinstance(op.result.type, IndexType) or op.result.type == i1:
            return op.properties.get("value")
        case ub.PoisonOp():
            return op.value
        case _:
            return None


class CanonicalizeShapeOp(RewritePattern):
    """
    Fold an op of the dialect, order its operands and rewrite it, as part of xDSL's `canonicalize`.

    Constants stay where folding put them: the driver has no place for them, as MLIR's has.
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        kind = type(op)
        if kind in FOLDS and _fold(op, rewriter):
            return
        if isinstance(op, ShapeOp) and op.has_trait(Commutative) and _constants_last(op, rewriter):
            return
        for rewrite in REWRITES.get(kind, ()):
            results = rewrite(op, rewriter)
            if results is not None:
                rewriter.replace(op, [], results)
            if rewriter.has_done_action:
                return


@dataclass
class CanonicalizeShape(CanonicalizeShapeOp):
    """Everything that has to be done to one op: constants of all dialects stand at the start, each once."""

    constants: dict[tuple[Block, Key], Operation] = field(default_factory=dict[tuple[Block, Key], Operation])
    placed: set[Operation] = field(default_factory=set[Operation])

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if (value := _value(op)) is not None:
            self._place(op, value, rewriter)
            return
        super().match_and_rewrite(op, rewriter)
        if not isinstance(op, ShapeOp) and not rewriter.has_done_action:
            _OTHERS.match_and_rewrite(op, rewriter)

    def _place(self, op: Operation, value: Attribute, rewriter: PatternRewriter) -> None:
        """One constant at the start for all that are equal."""
        block = _scope(op)
        if block is None:
            return
        key = (block, (type(op), value, op.results[0].type))
        first = self.constants.get(key)
        if first is op:
            return
        if first is not None and first.parent is block:
            rewriter.replace(op, [], first.results)
            return
        self.constants[key] = op
        in_place = op.parent is block and (op.prev_op is None or op.prev_op in self.placed)
        self.placed.add(op)
        if not in_place:
            op.detach()
            rewriter.insert(op, InsertPoint.at_start(block))


def _fold(op: Operation, rewriter: PatternRewriter) -> bool:
    """f(1, 2) -> 3."""
    operands: list[Any] = [constant(value) for value in op.operands]
    if None in operands or (found := fold(op, operands)) is None:
        return False
    made = [make(value, result.type) for value, result in zip(found, op.results, strict=True)]
    ops = [new for new in made if new is not None]
    if len(ops) < len(made):
        return False
    rewriter.replace(op, ops, [new.results[0] for new in ops])
    return True


def _constants_last(op: Operation, rewriter: PatternRewriter) -> bool:
    """f(1, x) -> f(x, 1)."""

    def is_constant(value: SSAValue) -> bool:
        return isinstance(value.owner, Operation) and value.owner.has_trait(ConstantLike, value_if_unregistered=False)

    ordered = sorted(op.operands, key=is_constant)
    if all(a is b for a, b in zip(ordered, op.operands, strict=True)):
        return False
    op.operands = ordered
    rewriter.notify_op_modified(op)
    return True


def canonicalize(ctx: Context, module: ModuleOp) -> bool:
    """Bring a verified module into canonical form, in place; whether anything changed."""
    register(ctx)
    patterns = GreedyRewritePatternApplier([CanonicalizeShape()], ctx=ctx, folding_enabled=True)
    return PatternRewriteWalker(patterns, post_walk_func=region_dce).rewrite_module(module)


@dataclass(frozen=True)
class CanonicalizeShapePass(ModulePass):
    """Bring the shape dialect into MLIR's canonical form, other dialects into xDSL's."""

    name = "mind-canonicalize-shape"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        canonicalize(ctx, op)
