"""
Adjoints of invariant carries, summed after the backward scan.

The adjoint of a carry that no iteration changes is a sum over the iterations, `g + sum over t of v[t]`. If each `v[t]` is a
product or a sum of values that are stacked anyway, one op that reduces the iterations, too, gives the sum; the backward scan then
carries no adjoint that it reads and writes in each iteration:

    sum over t of dot(a[t], b[t]) = dot(a, b), which contracts t, too
    sum over t of sum(a[t], axes) = sum(a, axes), over t, too

The gradients of the weights and biases of recurrences are such sums.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence

from xdsl.ir import Block, Operation, SSAValue

from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir import AddOp, DotGeneralOp, ReduceOp, ReshapeOp, TransposeOp
from mind_dialect.ptir_shapes.dims import axes

from ...emit import append
from ...ptir.construct import Value, make, reduce_sum, reshape_like, spec
from ...ptir.weight import bytes_of


def _product(op: DotGeneralOp, a: SSAValue, b: SSAValue) -> Value:
    values = dict(op.values())
    for side, x in (("lhs", a), ("rhs", b)):
        values[f"batch_{side}"] = _moved(values[f"batch_{side}"], x)
        values[f"contract_{side}"] = (0, *_moved(values[f"contract_{side}"], x))
    return make(DotGeneralOp, a, b, type=op.result.type, **values)


def _sum(op: ReduceOp, a: SSAValue) -> Value:
    return reshape_like(reduce_sum(a, (0, *_moved(op.values()["axes"], a))), op.result)


def _moved(positions: Sequence[int], stack: SSAValue) -> tuple[int, ...]:
    """Return where axes of a value are in a stack of such values."""
    return tuple(a + 1 for a in axes(positions, len(spec(stack).shape) - 1))


SUMS: dict[type[Operation], Callable[..., Value]] = {DotGeneralOp: _product, ReduceOp: _sum}
"""By op of an iteration: the sum of its results over the iterations, of its stacked operands."""
VIEWS = (ReshapeOp, TransposeOp)
"""Linear ops that may follow, which are applied to the sum."""
GROWTH = 4
"""So many times as large as the largest value that an iteration slices or stacks may what is stacked for a sum alone be."""


@dataclass(frozen=True)
class Term:
    """One part of a sum: an op of `SUMS`, its operands, and the views behind it, the last first."""

    op: Operation
    operands: Sequence[SSAValue]
    views: Sequence[Operation]

    def over_iterations(self, block: Block, stacks: Mapping[SSAValue, SSAValue]) -> SSAValue:
        """Append the sum of the term over the iterations, whose operands have been stacked."""
        found = append(block, SUMS[type(self.op)](self.op, *(stacks[x] for x in self.operands)), self.op)
        for view in reversed(self.views):
            made = type(view).create(operands=[found], result_types=view.result_types, properties=view.properties)
            found = append(block, made, view)
        return found


@dataclass(frozen=True)
class IterationSum:
    """The adjoint of an invariant carry: `adds` of `terms` to what the iteration begins with."""

    adds: Sequence[Operation]
    terms: Sequence[Term]

    @property
    def operands(self) -> list[SSAValue]:
        """The values of an iteration that the terms are computed from."""
        return list(dict.fromkeys(x for term in self.terms for x in term.operands))

    def take_out(self) -> None:
        """Take the sum out of its block, whose values it uses no longer."""
        for op in (*self.adds, *(op for term in self.terms for op in (*term.views, term.op))):
            op.detach()
            op.drop_all_references()

    def over_iterations(self, block: Block, stacks: Mapping[SSAValue, SSAValue], begin: SSAValue | None) -> SSAValue:
        """Append the sum over all iterations, whose operands have been stacked."""
        parts = [*(() if begin is None else (begin,)), *(term.over_iterations(block, stacks) for term in self.terms)]
        total = parts[0]
        for part in parts[1:]:
            total = append(block, make(AddOp, total, part), self.terms[0].op)
        return total


def iteration_sum(total: SSAValue, g: SSAValue) -> IterationSum | None:
    """Return `total` as the sum of `g` and terms; None if it is another value, or something else needs a part of it."""
    if total is g or total.first_use is not None:
        return None
    adds: list[Operation] = []
    terms: list[Term] = []
    stack, seeds = [total], 0
    while stack:
        x = stack.pop()
        if x is not total and not x.has_one_use():
            return None
        if x is g:
            seeds += 1
        elif isinstance(x.owner, AddOp):
            adds.append(x.owner)
            stack += reversed(x.owner.operands)
        elif (term := _term(x)) is not None:
            terms.append(term)
        else:
            return None
    return IterationSum(adds, terms) if seeds == 1 else None


def _term(x: SSAValue) -> Term | None:
    views: list[Operation] = []
    while isinstance(x.owner, VIEWS) and x.has_one_use():
        views.append(x.owner)
        x = x.owner.operands[0]
    op = x.owner
    if not isinstance(op, DotGeneralOp | ReduceOp) or not x.has_one_use():
        return None
    if isinstance(op, ReduceOp) and op.values()["kind"] != "sum":
        return None
    return Term(op, tuple(op.operands), views)


def is_worth(found: IterationSum, at_hand: Container[SSAValue], largest: int) -> bool:
    """
    Return whether to sum after the scan, whose largest slice has so many bytes.

    Stacking what is not `at_hand` must not take more than reading and writing the adjoint in each iteration.
    """
    sizes = [bytes_of(x) for x in found.operands if x not in at_hand]
    return sum(sizes) <= bytes_of(found.adds[0].results[0]) and max(sizes, default=0) <= GROWTH * largest
