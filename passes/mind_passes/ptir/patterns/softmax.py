"""The stable softmax of the contract's library form: `exp(z - max z) / sum exp(z - max z)` along one axis."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import SSAValue

from mind_dialect.ptir import DivOp, ExpOp, MulOp, PtirOp, ReciprocalOp, SubOp

from .matching import Match, fused, is_float, made_by, reduced, stretched


@dataclass(frozen=True)
class Softmax:
    """A softmax of `z` along `axis`, of the ops `inside` and the last one."""

    z: SSAValue
    axis: int
    inside: list[PtirOp]


def find(root: PtirOp) -> Softmax | None:
    """The softmax that ends in `root`: a quotient, or a product with a reciprocal."""
    divided = _divided(root)
    if divided is None or not is_float(root.results[0]):
        return None
    numerator, denominator, inside = divided
    exponential = made_by(numerator, ExpOp)
    difference = None if exponential is None else made_by(exponential.x, SubOp)
    if exponential is None or difference is None:
        return None
    total = _along(denominator, "sum", numerator)
    greatest = _along(difference.rhs, "max", difference.lhs)
    if total is None or greatest is None or total[0] != greatest[0]:
        return None
    return Softmax(difference.lhs, total[0], [*greatest[1], difference, exponential, *total[1], *inside])


def _divided(root: PtirOp) -> tuple[SSAValue, SSAValue, list[PtirOp]] | None:
    """Numerator and denominator."""
    if isinstance(root, DivOp):
        return root.lhs, root.rhs, []
    if isinstance(root, MulOp):
        for x, y in ((root.lhs, root.rhs), (root.rhs, root.lhs)):
            if (reciprocal := made_by(y, ReciprocalOp)) is not None:
                return x, reciprocal.x, [reciprocal]
    return None


def _along(value: SSAValue, kind: str, of: SSAValue) -> tuple[int, list[PtirOp]] | None:
    """The one axis along which `value` repeats the reduction of `of`, and the ops of both."""
    op = value.owner
    for _ in range(3):  # down to the reduction, to learn its axes
        if not isinstance(op, PtirOp) or reduced(op.results[0], kind) is not None or not op.operands:
            break
        op = op.operands[0].owner
    found = reduced(op.results[0], kind) if isinstance(op, PtirOp) and op.results else None
    if found is None or len(found[1]) != 1 or found[0].x is not of:
        return None
    spread = stretched(value, found[1])
    if spread is None or spread[0] is not found[0].result:
        return None
    return found[1][0], [found[0], *reversed(spread[1])]


def match(root: PtirOp) -> Match | None:
    """The softmax that ends in `root`, to become one fusion."""
    found = find(root)
    return None if found is None else Match(root, found.inside, fused("softmax"))
