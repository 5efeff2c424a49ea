"""
Attention: `softmax(f(q k^T)) v`, the contract's library form and what builders make of it.

Between the scores and the softmax come, in any order, scales, masks, biases, and caps (`cap tanh(scores / cap)`). A mask is
added, as linear biases are, or it selects scores where it holds and a number of at most -1e4, -inf included, elsewhere, whatever
its form: causal, a sliding window, blocks. Weights and scores may be cast on the way. Keys may be given transposed or not:
transposes are in `dot_general` by the time this is looked for. Groups of queries that share keys have an axis of their own, along
which keys and values are repeated by `broadcast_to`.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from mind_dialect.ptir import AddOp, CastOp, DotGeneralOp, PtirOp, SelectOp, TanhOp

from ..building import spec_of, uniform
from . import softmax
from .matching import Match, factor, fused, is_float, made_by

HIDDEN = -1e4
"""A score that leaves nothing of its weight; -1e9 and -inf are common."""

STEPS = 8
"""So many ops at most between the scores and the softmax: a scale, a cap, a bias, a mask, casts."""


def match(root: PtirOp) -> Match | None:
    """The attention that ends in the product `root`."""
    if not isinstance(root, DotGeneralOp) or not is_float(root.result):
        return None
    inside: list[PtirOp] = []
    weights = root.lhs
    if (cast := made_by(weights, CastOp)) is not None:
        inside.append(cast)
        weights = cast.x
    last = weights.owner
    found = softmax.find(last) if isinstance(last, PtirOp) else None
    rank = len(spec_of(weights).shape)
    if not isinstance(last, PtirOp) or found is None or found.axis != rank - 1:
        return None
    if not _is_product(root, rank) or not _takes_rows(root, rank):
        return None
    scores = _scores(found.z.owner, STEPS)
    if scores is None or spec_of(scores[-1].results[0]).shape != spec_of(weights).shape:
        return None
    if not _is_product(scores[-1], rank):
        return None
    return Match(root, [*reversed(scores), *found.inside, last, *reversed(inside)], fused("attention"))


def _is_product(op: PtirOp, rank: int) -> bool:
    """Return whether a product of rank `rank` is one of matrices for each place along all axes but the last two of the result."""
    ranks = {rank, *(len(spec_of(v).shape) for v in op.operands)}
    return ranks == {rank} and len(op.values()["batch_lhs"]) == rank - 2 and len(op.values()["contract_lhs"]) == 1


def _takes_rows(op: DotGeneralOp, rank: int) -> bool:
    """Return whether the lhs of a product is contracted along its last axis, place by place along its first ones."""
    values = op.values()
    return (*values["batch_lhs"], *values["contract_lhs"]) == (*range(rank - 2), rank - 1)


def _scores(op: object, steps: int) -> list[PtirOp] | None:
    """The ops from what the softmax is taken of back to the product of queries and keys, which is the last."""
    if isinstance(op, DotGeneralOp):
        return [op]
    if not isinstance(op, PtirOp) or not op.results or steps == 0:
        return None
    for value in towards_scores(op):
        found = _scores(value.owner, steps - 1)
        if found is not None:
            return [op, *found]
    return None


def towards_scores(op: PtirOp) -> Sequence[SSAValue]:
    """The operands of an op between scores and softmax that scores may be: of a cast, a cap, a scale, a bias, a mask."""
    if isinstance(op, CastOp | TanhOp):
        return [op.x]
    if (scaled := factor(op.results[0])) is not None:
        return [scaled[1]]
    if isinstance(op, AddOp):
        return [op.lhs, op.rhs]
    if isinstance(op, SelectOp):
        for kept, hidden in ((op.on_true, op.on_false), (op.on_false, op.on_true)):
            number = uniform(hidden)
            if isinstance(number, float) and number <= HIDDEN:
                return [kept]
    return []
