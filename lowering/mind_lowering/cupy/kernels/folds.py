"""
The state of reductions as C++: a total in the accumulator; of an `arg_max` the greatest and the first place of it.
"""

from __future__ import annotations

from mind_dialect.ptir import ArgMaxOp
from mind_dialect.ptir.types import Kind, PtirDType
from mind_passes.ptir.building import accumulator

from .body import Reduction
from .places import spec
from .scalars import NARROW, cast, literal, register
from .unsupported import Unsupported


def check_total(kind: str, total: PtirDType) -> None:
    """Raise Unsupported for sums and products in narrow floats, which round each step, and for dtypes without registers."""
    if kind in ("sum", "prod") and total in NARROW:
        raise Unsupported(f"a {kind} in {total}")
    register(total)


def identity(kind: str, dtype: PtirDType) -> str:
    """Return the start of a reduction of some kind, in a register of a dtype."""
    if kind in ("sum", "prod", "or", "xor"):
        return literal(dtype, int(kind == "prod"))
    if kind == "and" and dtype.kind is Kind.SIGNED:
        return literal(dtype, -1)
    if dtype.kind is Kind.FLOAT:
        return literal(dtype, float("-inf" if kind == "max" else "inf"))
    if dtype.kind is Kind.BOOL:
        return literal(dtype, kind != "max")
    low, high = (
        (-(1 << (dtype.bits - 1)), (1 << (dtype.bits - 1)) - 1) if dtype.kind is Kind.SIGNED else (0, (1 << dtype.bits) - 1)
    )
    return literal(dtype, low if kind == "max" else high)


def combiner(op: Reduction) -> str:
    """The function that makes one total of two."""
    return "mind::First" if isinstance(op, ArgMaxOp) else f"mind::{op.values()['kind'].capitalize()}"


def total_type(op: Reduction) -> str:
    """The type of a total."""
    return f"mind::Best<{register(spec(op.x)[0])}, I>" if isinstance(op, ArgMaxOp) else register(accumulator(op))


def total_bytes(op: Reduction) -> int:
    """The size of a total in memory, at most."""
    return 16 if isinstance(op, ArgMaxOp) else accumulator(op).size


def start_of(op: Reduction) -> str:
    """The total of nothing."""
    return f"{total_type(op)}{{0, -1}}" if isinstance(op, ArgMaxOp) else identity(op.values()["kind"], accumulator(op))


def taken_up(op: Reduction, element: str, along: str) -> str:
    """The total of one element, whose index along the reduced axes is given."""
    if isinstance(op, ArgMaxOp):
        return f"{total_type(op)}{{{element}, I({along})}}"
    return cast(element, spec(op.x)[0], accumulator(op))


def result_of(op: Reduction, total: str) -> str:
    """The result, in its register."""
    dtype = spec(op.results[0])[0]
    if isinstance(op, ArgMaxOp):
        return f"{register(dtype)}({total}.place)"
    return cast(total, accumulator(op), dtype)
