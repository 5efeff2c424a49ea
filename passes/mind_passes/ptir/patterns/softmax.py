"""
The stable softmax of the contract's library form: `exp(z - max z) / sum exp(z - max z)` along one axis.

Also in its guarded form, in which a row that is -inf throughout gives 0 instead of NaN: 0 takes the place of a greatest element
of -inf, and 1 that of a sum of 0.
"""

from __future__ import annotations

from xdsl.ir import SSAValue

from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir import CompareOp, DivOp, ExpOp, MulOp, PtirOp, ReciprocalOp, ReduceOp, SelectOp, SubOp

from ..building import is_all
from .matching import Match, fused, is_float, made_by, reduced, stretched


@dataclass(frozen=True)
class Softmax:
    """A softmax of `z` along `axis`, of the ops `inside` and the last one."""

    z: SSAValue
    axis: int
    inside: list[PtirOp]
    guarded: bool
    """True if rows that are -inf throughout give 0."""


GUARDS = {"max": (float("-inf"), 0.0), "sum": (0.0, 1.0)}
"""Replacements in the guarded form, by the result of a reduction that each replaces."""


def find(root: PtirOp) -> Softmax | None:
    """The softmax that ends in `root`: a quotient, or a product with a reciprocal."""
    found = divided(root)
    if found is None or not is_float(root.results[0]):
        return None
    numerator, denominator, inside = found
    exponential = made_by(numerator, ExpOp)
    difference = None if exponential is None else made_by(exponential.x, SubOp)
    if exponential is None or difference is None:
        return None
    total = _along(denominator, "sum", numerator)
    greatest = _along(difference.rhs, "max", difference.lhs)
    if total is None or greatest is None or (total.axis, total.guarded) != (greatest.axis, greatest.guarded):
        return None
    ops = [*greatest.ops, difference, exponential, *total.ops, *inside]
    return Softmax(difference.lhs, total.axis, ops, total.guarded)


def divided(root: PtirOp) -> tuple[SSAValue, SSAValue, list[PtirOp]] | None:
    """Return the numerator and the denominator of a quotient or of a product with a reciprocal, and the reciprocal, if any."""
    if isinstance(root, DivOp):
        return root.lhs, root.rhs, []
    if isinstance(root, MulOp):
        for x, y in ((root.lhs, root.rhs), (root.rhs, root.lhs)):
            if (reciprocal := made_by(y, ReciprocalOp)) is not None:
                return x, reciprocal.x, [reciprocal]
    return None


@dataclass(frozen=True)
class _Repeated:
    """A reduction along one axis, repeated along it: its ops in order."""

    axis: int
    ops: list[PtirOp]
    guarded: bool


def _along(value: SSAValue, kind: str, of: SSAValue) -> _Repeated | None:
    """The reduction of `of` that `value` repeats along its axis."""
    op = value.owner
    for _ in range(3):  # down to the reduction, to learn its axes
        if not isinstance(op, PtirOp) or reduction(op.results[0], kind) is not None or not op.operands:
            break
        op = op.operands[0].owner
    found = reduction(op.results[0], kind) if isinstance(op, PtirOp) and op.results else None
    if found is None or found[0].x is not of:
        return None
    (axis,) = found[0].values()["axes"]
    spread = stretched(value, (axis,))
    end = found[-1].results[0]
    return None if spread is None or spread[0] is not end else _Repeated(axis, [*found, *reversed(spread[1])], len(found) > 1)


def reduction(value: SSAValue, kind: str) -> tuple[ReduceOp] | tuple[ReduceOp, CompareOp, SelectOp] | None:
    """The ops of a reduction along one axis, perhaps guarded: where its result is a certain number, another is taken."""
    if (plain := reduced(value, kind)) is not None:
        return (plain[0],) if len(plain[1]) == 1 else None
    chosen = made_by(value, SelectOp)
    test = None if chosen is None else made_by(chosen.pred, CompareOp)
    if chosen is None or test is None or test.values()["kind"] != "equal":
        return None
    inner = reduction(chosen.on_false, kind)
    sides = (test.lhs, test.rhs)
    odd, instead = GUARDS[kind]
    if inner is None or len(inner) > 1 or chosen.on_false not in sides or not is_all(chosen.on_true, instead):
        return None
    other = sides[1] if chosen.on_false is sides[0] else sides[0]
    return (inner[0], test, chosen) if is_all(other, odd) else None


def match(root: PtirOp) -> Match | None:
    """The softmax that ends in `root`, to become one fusion."""
    found = find(root)
    return None if found is None else Match(root, found.inside, fused("softmax"))
