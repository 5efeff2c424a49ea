"""Masks of attentions that hide keys from some on, row by row, as a causal one does: what no kernel need look at."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import SSAValue

from mind_dialect.ptir import AddOp, BroadcastToOp, CastOp, CompareOp, IotaOp, PtirOp, SelectOp
from mind_passes.ptir.building import uniform
from mind_passes.ptir.patterns.attention import HIDDEN

from ..kernels.places import spec


@dataclass(frozen=True)
class Bounds:
    """Row `r` sees keys below `r + past`; the others have a score near `hidden`."""

    past: int
    hidden: float


def hidden_from(scores: SSAValue, product: PtirOp) -> Bounds | None:
    """Return what a causal mask hides, if the scores have one: a selection by row and column that is a score or added to it."""
    op = scores.owner
    for _ in range(8):
        if isinstance(op, PtirOp) and (found := _mask(op.results[0])) is not None:
            return found
        if isinstance(op, CastOp):
            op = op.x.owner
        elif isinstance(op, AddOp):
            for value in op.operands:
                if (found := _mask(value)) is not None:
                    return found
            op = op.lhs.owner if _leads_to(op.lhs, product) else op.rhs.owner
        else:
            return None
    return None


def _mask(value: SSAValue) -> Bounds | None:
    """Return what a selection hides that may be repeated for each matrix."""
    while isinstance(op := value.owner, BroadcastToOp) and spec(op.x)[1][-2:] == spec(op.result)[1][-2:]:
        value = op.x
    return _bounds(op) if isinstance(op, SelectOp) else None


def _leads_to(value: SSAValue, product: PtirOp) -> bool:
    op = value.owner
    for _ in range(8):
        if op is product:
            return True
        if not isinstance(op, PtirOp) or not op.operands:
            return False
        op = op.operands[0].owner
    return False


def _bounds(op: SelectOp) -> Bounds | None:
    compare = op.pred.owner
    if not isinstance(compare, CompareOp):
        return None
    axes = [_counted(v) for v in compare.operands]
    if sorted(axes, key=str) != ["column", "row"]:
        return None
    kind = compare.values()["kind"]
    for number, shown in ((uniform(op.on_false), True), (uniform(op.on_true), False)):
        if isinstance(number, float) and number <= HIDDEN:
            pairs = [(1, 0), (1, 1), (0, 1)]  # row and column
            seen = [_holds(kind, *(pair if axes[0] == "row" else pair[::-1])) is shown for pair in pairs]
            if seen[0] and not seen[2]:
                return Bounds(1 if seen[1] else 0, number)
    return None


def _holds(kind: str, a: int, b: int) -> bool:
    return {
        "less": a < b,
        "less_equal": a <= b,
        "equal": a == b,
        "greater_equal": a >= b,
        "greater": a > b,
        "not_equal": a != b,
    }[kind]


def _counted(value: SSAValue) -> str | None:
    """Return whether a value is the number of its row or of its column."""
    op = value.owner
    while isinstance(op, PtirOp) and op.OPCODE == "broadcast_to":
        op = op.operands[0].owner
    if not isinstance(op, IotaOp):
        return None
    shape, rank = spec(value)[1], len(spec(value)[1])
    own = spec(op.results[0])[1]
    axis = op.values()["axis"] % len(own) + rank - len(own)
    if own[axis - rank] != shape[axis]:
        return None
    return {rank - 2: "row", rank - 1: "column"}.get(axis)
