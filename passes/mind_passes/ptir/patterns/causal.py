"""Masks of attentions that hide keys from some on, row by row, as a causal one does: what no kernel need look at."""

from __future__ import annotations

from dataclasses import replace

from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir import AddOp, AndOp, BroadcastToOp, CastOp, CompareOp, FusionOp, IotaOp, OrOp, PtirOp, SelectOp

from ..building import spec_of, uniform
from .attention import HIDDEN


@dataclass(frozen=True)
class Bounds:
    """Row `r` sees keys below `r + past`; the others have the score `hidden`, or one near it if something is added."""

    past: int
    hidden: float
    added: bool = False


def hidden_from(scores: SSAValue, product: PtirOp) -> Bounds | None:
    """Return what a causal mask hides, if the scores have one: a selection by row and column that is a score or added to it."""
    op, added = _owner(scores), False
    for _ in range(8):
        if isinstance(op, PtirOp) and op.results and (found := _mask(op.results[0])) is not None:
            return replace(found, added=added)
        if isinstance(op, CastOp):
            op = _owner(op.x)
        elif isinstance(op, AddOp):
            added = True
            for value in op.operands:
                if (found := _mask(value)) is not None:
                    return replace(found, added=True)
            op = _owner(op.lhs if _leads_to(op.lhs, product) else op.rhs)
        else:
            return None
    return None


def _owner(value: SSAValue) -> object:
    """Return what makes a value, also where it comes into a fusion or out of one."""
    for _ in range(4):
        owner = value.owner
        if isinstance(value, BlockArgument) and isinstance(fusion := value.block.parent_op(), FusionOp):
            value = fusion.operands[value.index]
        elif isinstance(value, OpResult) and isinstance(owner, FusionOp):
            end = owner.body.block.last_op
            assert isinstance(end, Operation)
            value = end.operands[value.index]
        else:
            return owner
    return None


def _mask(value: SSAValue) -> Bounds | None:
    """Return what a selection hides that may be repeated for each matrix."""
    op = _owner(_unrepeated(value))
    return _bounds(op) if isinstance(op, SelectOp) else None


def _unrepeated(value: SSAValue) -> SSAValue:
    """Return what is repeated for each matrix."""
    while isinstance(op := _owner(value), BroadcastToOp) and spec_of(op.x).shape[-2:] == spec_of(op.result).shape[-2:]:
        value = op.x
    return value


def _leads_to(value: SSAValue, product: PtirOp) -> bool:
    op = _owner(value)
    for _ in range(8):
        if op is product:
            return True
        if not isinstance(op, PtirOp) or not op.operands:
            return False
        op = _owner(op.operands[0])
    return False


def _bounds(op: SelectOp) -> Bounds | None:
    """Return what a selection hides; what a conjunction shows, each of its parts shows, and likewise for what is hidden."""
    for number, shown, joined in ((uniform(op.on_false), True, AndOp), (uniform(op.on_true), False, OrOp)):
        if isinstance(number, float) and number <= HIDDEN:
            for part in _parts(op.pred, joined, 3):
                if (past := _past(part, shown)) is not None:
                    return Bounds(past, number)
    return None


def _parts(value: SSAValue, joined: type[AndOp | OrOp], depth: int) -> list[SSAValue]:
    """The truths of which a value is the conjunction, or the disjunction, of the same shape but for repetition."""
    value = _unrepeated(value)
    op = _owner(value)
    if not isinstance(op, joined) or depth == 0:
        return [value]
    return [part for operand in op.operands for part in _parts(operand, joined, depth - 1)]


def _past(truth: SSAValue, shown: bool) -> int | None:
    """Return the keys from its own place on that a row sees, if it is a comparison of the numbers of rows and columns."""
    compare = _owner(truth)
    if not isinstance(compare, CompareOp):
        return None
    axes = [_counted(v) for v in compare.operands]
    if sorted(axes, key=str) != ["column", "row"]:
        return None
    kind = compare.values()["kind"]
    pairs = [(1, 0), (1, 1), (0, 1)]  # row and column
    seen = [_holds(kind, *(pair if axes[0] == "row" else pair[::-1])) is shown for pair in pairs]
    return int(seen[1]) if seen[0] and not seen[2] else None


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
    op = _owner(value)
    while isinstance(op, BroadcastToOp):
        op = _owner(op.x)
    if not isinstance(op, IotaOp):
        return None
    shape, own = spec_of(value).shape, spec_of(op.result).shape
    rank = len(shape)
    axis = op.values()["axis"] % len(own) + rank - len(own)
    if own[axis - rank] != shape[axis]:
        return None
    return {rank - 2: "row", rank - 1: "column"}.get(axis)
