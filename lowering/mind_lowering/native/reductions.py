"""Reductions in lanes: what they begin with, one step, the tree that folds partial results, what they end with."""

from __future__ import annotations

from collections.abc import Sequence

from mind_dialect.ptir import ReduceOp
from mind_dialect.ptir.types import I1, Kind, PtirDType
from mind_passes.ptir.building import accumulator

from .casts import cast
from .lanes import Lanes, halves, register


def extreme(lanes: Lanes, kind: str, dtype: PtirDType, a: str, b: str) -> str:
    """The greater (`max`) or less (`min`); NaN if either is. `b` comes out where the first comparison knows no order."""
    type = register(dtype)
    if dtype is I1:
        return lanes.binary("or" if kind == "max" else "and", type, a, b)
    if dtype.kind is not Kind.FLOAT:
        return lanes.intrinsic(f"{'s' if dtype.kind is Kind.SIGNED else 'u'}{kind}", type, a, b)
    better = lanes.select(lanes.compare("fcmp ogt" if kind == "max" else "fcmp olt", type, a, b), type, a, b)
    if is_constant(a):
        return better
    return lanes.select(lanes.compare("fcmp uno", type, a, a), type, a, better)


def is_constant(text: str) -> bool:
    """Return whether a value is a constant; `_extreme` puts no NaN first."""
    return not text.startswith("%")


def combine(lanes: Lanes, op: ReduceOp, a: str, b: str) -> str:
    """One step of a reduction."""
    return combined(lanes, op.values()["kind"], accumulator(op), a, b)


_INSTRUCTIONS = {
    **{"sum": ("add", "fadd contract"), "prod": ("mul", "fmul")},
    **{kind: (kind, "") for kind in ("and", "or", "xor")},
}
"""By kind: the instruction for integers, and that for floats."""


def combined(lanes: Lanes, kind: str, dtype: PtirDType, a: str, b: str) -> str:
    """One step of a reduction of some kind in a dtype."""
    if kind not in _INSTRUCTIONS:
        return extreme(lanes, kind, dtype, a, b)
    return lanes.binary(_INSTRUCTIONS[kind][dtype.kind is Kind.FLOAT], register(dtype), a, b)


def addend(lanes: Lanes, op: ReduceOp, x: str) -> str:
    """Return the addend of some lanes to a reduction; those that do not count add nothing."""
    total = accumulator(op)
    x = cast(lanes, x, op.operand_spec(0).dtype, total)
    return x if lanes.mask is None else lanes.select(lanes.mask, register(total), x, identity(lanes, op))


def finished(lanes: Lanes, op: ReduceOp, total: str) -> str:
    """The result of a reduction, as its dtype holds it."""
    return cast(lanes, total, accumulator(op), op.result_spec().dtype)


def end_of(dtype: PtirDType, *, least: bool) -> float:
    """The least or greatest number of a dtype."""
    if dtype.kind is Kind.FLOAT:
        return float("-inf") if least else float("inf")
    if dtype is I1:
        return int(not least)
    if dtype.kind is Kind.SIGNED:
        return -(1 << (dtype.bits - 1)) if least else (1 << (dtype.bits - 1)) - 1
    return 0 if least else (1 << dtype.bits) - 1


def identity(lanes: Lanes, op: ReduceOp) -> str:
    """Return the value that a reduction begins with, in every lane."""
    return lanes.constant(accumulator(op), identity_of(op.values()["kind"], op.operand_spec(0).dtype))


def identity_of(kind: str, dtype: PtirDType) -> float:
    """Return the value that a reduction of elements of a dtype begins with."""
    match kind:
        case "max" | "min":
            return end_of(dtype, least=kind == "max")
        case "and":
            return 1 if dtype is I1 else end_of(dtype, least=False) if dtype.kind is Kind.UNSIGNED else -1
        case _:
            return int(kind == "prod")


def fold(lanes: Lanes, op: ReduceOp, totals: Sequence[str]) -> str:
    """Partial results as one: neighbours first, then the halves of the vector."""
    type, left = register(accumulator(op)), list(totals)
    while len(left) > 1:
        pairs = [combine(lanes, op, a, b) for a, b in zip(left[::2], left[1::2], strict=False)]
        left = pairs + left[len(pairs) * 2 :]
    total, width = left[0], lanes.width
    for half in halves(width):
        lower, upper = (part(lanes, type, total, width, half, start) for start in (0, half))
        total, width = combine(lanes.narrowed(half), op, lower, upper), half
    return total


def part(lanes: Lanes, type: str, x: str, width: int, count: int, start: int) -> str:
    """Some neighbouring lanes of a vector."""
    if count == 1:
        return lanes.op(f"extractelement <{width} x {type}> {x}, i64 {start}")
    places = ", ".join(f"i32 {start + i}" for i in range(count))
    return lanes.op(f"shufflevector <{width} x {type}> {x}, <{width} x {type}> poison, <{count} x i32> <{places}>")
