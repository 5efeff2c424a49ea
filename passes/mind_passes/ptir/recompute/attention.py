"""
Gradients of attention that compute the weights again, from queries, keys and two numbers of each row, instead of keeping them.

Autodiff leaves `o = p v` with `p = softmax(z)`, and `dv = p' do`, `ds = p (do v' - sum(p do v'))` times what leads to scores,
`dq = ds k`, `dk = ds' q`. Here the attention becomes a fusion that gives `o`, the greatest score of each row, and 1 over the sum
of its exponentials; `sum(p do v')` becomes `delta = sum(do o)`, a sum over the width of a value (Dao, FlashAttention-2); and the
products become two fusions, one for queries and one for keys and values, in which `p` is recomputed. Nothing of the size of the
scores is between fusions then. The two numbers are kept apart, not as a log-sum-exp, in which the sum would be lost to rounding
where all scores of a row are near -1e9.

A target says which fusions it has kernels for. What is not wholly such a form stays as it is. Linear: regions are bounded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Block, Operation

from mind_dialect.dominance import walk
from mind_dialect.ptir import DotGeneralOp, FusionOp, ReciprocalOp, TransposeOp

from ..building import insert_new
from ..dead_ops import erase_dead
from ..patterns.matching import MismatchError, fusion
from .copies import Copies, Rows
from .region import ForwardAttention, Region, forward_of

KEPT = "mind.keeps_weights"
"""An attribute of the last product of an attention: why its gradient does not make the weights again."""

Refusal = Callable[[FusionOp], str | None]
Made = Sequence[tuple[FusionOp, Sequence[DotGeneralOp]]]
"""Fusions, and the products whose results are theirs."""


def recompute_attention(module: ModuleOp, refusal: Refusal) -> bool:
    """
    Let the attentions of a canonical module and their gradients be fusions without weights between them; whether any are.

    `refusal` says why the target has no kernel for a fusion; all of an attention must have one. What stays says why, in `KEPT`.
    Patterns are looked for before `recognize`, which would take parts of these.
    """
    ops = [op for op in walk(module) if op.regions and not isinstance(op, FusionOp)]
    changed = False
    for block in [block for op in ops for region in op.regions for block in region.blocks]:
        place = {op: i for i, op in enumerate(block.ops)}
        for op in list(place):
            if isinstance(op, DotGeneralOp):
                try:
                    forward = forward_of(op)
                    if forward is not None:
                        _replace(Region(forward, place), block, refusal)
                        changed = True
                except MismatchError as e:
                    op.attributes[KEPT] = StringAttr(str(e))
    if changed:
        erase_dead(module)
    return changed


def _replace(region: Region, block: Block, refusal: Refusal) -> None:
    """Put fusions in the place of an attention and its gradient; MismatchError if the target has them not all."""
    place, keys = region.place, region.forward.rank - 1
    rows = Rows(region, _attend(region.forward))
    made: list[tuple[FusionOp, list[DotGeneralOp]]] = []
    try:
        for axis in (keys, keys - 1):
            if products := [op for op in region.products if region.contracted(op) == axis]:
                made.append((_gradient(rows, products, axis), products))
        if sum(len(products) for _, products in made) < len(region.products):
            raise MismatchError("a product that sums over no rows and no keys")
        fusions = [rows.attend, *(op for op, _ in made)]
        first = min(region.products, key=place.__getitem__)
        given = [v.owner for op in (*fusions, *rows.new) for v in op.operands]
        if any(isinstance(op, Operation) and place.get(op, -1) > place[first] for op in given):
            raise MismatchError("what the gradient needs is there too late")
        for op in fusions:
            if (reason := refusal(op)) is not None:
                raise MismatchError(reason)
    except MismatchError:
        for op in (*(op for op, _ in made), *reversed(rows.new), rows.attend):
            op.erase()
        raise
    _insert(rows, made, first, block)


def _attend(forward: ForwardAttention) -> FusionOp:
    """The attention, the greatest score of each row, and 1 over the sum of exponentials."""
    share = ReciprocalOp.create(operands=[forward.total.result], result_types=[forward.total.result.type])
    results = [forward.root.result, forward.greatest.result, share.result]
    made = fusion([*forward.match.inside, forward.root, share], results, "attention")
    share.erase()
    return made


def _gradient(rows: Rows, products: Sequence[DotGeneralOp], axis: int) -> FusionOp:
    """The fusion of products that sum over one axis, and of all that they need."""
    copies, region = Copies(rows), rows.region
    ends: list[Operation] = []
    try:
        weights = copies.of([region.weighted(op) for op in products])
        for op, weight in zip(products, weights, strict=True):
            side = "rhs" if region.weighted(op) is op.lhs else "lhs"
            values = op.values()
            made = DotGeneralOp(
                weight,
                copies.matrix(op.rhs if side == "rhs" else op.lhs),
                batch_lhs=tuple(range(region.forward.rank - 2)),
                contract_lhs=(axis,),
                batch_rhs=values[f"batch_{side}"],
                contract_rhs=values[f"contract_{side}"],
                accum_dtype=values["accum_dtype"],
                out_dtype=values["out_dtype"],
            )
            made.location = op.location
            ends.append(made)
        return fusion([*copies.ops, *ends], [op.results[0] for op in ends], "attention_gradient")
    finally:
        for op in reversed((*copies.ops, *ends)):
            op.erase()


def _insert(rows: Rows, made: Made, first: Operation, block: Block) -> None:
    """Put what was made where it belongs, and let all use it."""
    region, root, rank = rows.region, rows.region.forward.root, rows.region.forward.rank
    insert_new(rows.attend, root, block)
    rows.attend.results[0].name_hint = root.result.name_hint
    root.result.replace_all_uses_with(rows.attend.results[0])
    for op in rows.new:
        block.insert_op_before(op, first)
    for op, products in made:
        block.insert_op_before(op, first)
        for old, result in zip(products, op.results, strict=True):
            result.name_hint = old.result.name_hint
            if region.weighted(old) is not old.lhs:  # rows and columns of the result are the other way round
                iteration = TransposeOp(result, perm=(*range(rank - 2), rank - 1, rank - 2))
                block.insert_op_before(iteration, first)
                result = iteration.result
            old.result.replace_all_uses_with(result)
