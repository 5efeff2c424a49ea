"""
Sizes of torch's programs: expressions of SymPy as dimensions, and the ranges that a program is exported for.

Expressions are read by the names of their classes, so nothing here imports SymPy or torch.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

from mind_dialect import ptir
from mind_dialect.extents.dims import UNKNOWN, Dim, add_dims, floordiv_dims, max_dims, min_dims, mul_dims, sub_dims
from mind_dialect.ptir.types import is_dim_name

from ..unsupported import Refused

SPECIALISED = 2
"""Up to this, a lower bound says only that torch compiles programs for sizes 0 and 1 apart; its own checks leave it out too."""


def _remainder(a: Dim, b: Dim) -> Dim:
    return sub_dims(a, mul_dims(b, floordiv_dims(a, b)))


_OPERATIONS: Mapping[str, Callable[[Dim, Dim], Dim]] = {
    "Add": add_dims,
    "Mul": mul_dims,
    "FloorDiv": floordiv_dims,
    "CleanDiv": floordiv_dims,
    "Max": max_dims,
    "Min": min_dims,
    "Mod": _remainder,
    "PythonMod": _remainder,
}
"""By class, what two operands make; all of these but quotients and remainders are of any number of them."""
MOST_POWER = 8


def dim_of_expression(e: Any) -> Dim:
    """The dimension that an expression of SymPy says; unknown where PTIR has no form for it."""
    if getattr(e, "is_Integer", False) or isinstance(e, int):
        return int(e)
    if getattr(e, "is_Symbol", False):
        return str(e) if is_dim_name(str(e)) else UNKNOWN
    kind = type(e).__name__
    operands = [dim_of_expression(a) for a in getattr(e, "args", ())]
    if UNKNOWN in operands:
        return UNKNOWN
    if kind == "Pow" and isinstance(operands[1], int) and 0 < operands[1] <= MOST_POWER:
        return reduce(mul_dims, [operands[0]] * operands[1])
    return reduce(_OPERATIONS[kind], operands) if kind in _OPERATIONS and len(operands) > 1 else UNKNOWN


@dataclass(frozen=True)
class Computed:
    """A number that follows from sizes and is no dimension: an operation, by the name of its class in SymPy, on its operands."""

    operation: str
    operands: tuple[Computed | Dim | float, ...]
    is_float: bool

    def __float__(self) -> float:
        raise Refused("a number that follows from sizes, where a known one is needed", "give the program static shapes")

    __int__ = __index__ = __bool__ = __float__  # pyright: ignore[reportAssignmentType]


COMPUTED: Mapping[str, Callable[..., ptir.PtirOp] | None] = {
    "Add": ptir.AddOp,
    "FloatPow": ptir.PowOp,
    "FloatTrueDiv": ptir.DivOp,
    "IntTrueDiv": ptir.DivOp,
    "Mod": ptir.RemainderOp,
    "Mul": ptir.MulOp,
    "OpaqueUnaryFn_sqrt": ptir.SqrtOp,
    "ToFloat": None,
}
"""Operations that programs compute, in f64 for floats: an op, or none for a cast. `Mod` is of operands that are not negative."""


def number_of_expression(e: Any) -> Computed | Dim | float:
    """The number that an expression of SymPy says, computed in the run where it is no dimension; unknown without a form here."""
    if (found := dim_of_expression(e)) != UNKNOWN:
        return found
    if getattr(e, "is_Float", False):
        return float(e)
    kind = type(e).__name__
    operands = tuple(number_of_expression(a) for a in getattr(e, "args", ()))
    if kind not in COMPUTED or UNKNOWN in operands:
        return UNKNOWN
    is_float = kind not in ("Add", "Mod", "Mul") or any(isinstance(v, float) or _is_float(v) for v in operands)
    return Computed(kind, operands, is_float)


def _is_float(v: Any) -> bool:
    return isinstance(v, Computed) and v.is_float


def declared_ranges(constraints: Mapping[Any, Any], known: Container[str]) -> Iterator[str]:
    """
    The facts that a program states of the names that its inputs have, such as `rows in 3..64`, in the order of the names.

    `constraints` gives the range of each symbol; those of expressions follow from them.
    """
    for name, range in sorted((str(e), range) for e, range in constraints.items() if getattr(e, "is_Symbol", False)):
        bounds = [int(b) if getattr(b, "is_Integer", False) else None for b in (range.lower, range.upper)]
        low = bounds[0] if bounds[0] is not None and bounds[0] > SPECIALISED else None
        if name not in known or (low is None and bounds[1] is None):
            continue
        if bounds[1] is None:
            yield f"{name} >= {low}"
        elif low is None:
            yield f"{name} <= {bounds[1]}"
        else:
            yield f"{name} in {low}..{bounds[1]}"
