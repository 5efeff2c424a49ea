"""
One row for each elementwise op: the dtypes it takes, what others call it, and about what it costs.

The tables of legal dtypes, array functions, CUDA functions, library calls, MLIR ops, StableHLO ops and costs are read from here.
An op that is more than a name there has a rule in the table itself. Closed by `tests/dialect/ptir/test_scalars.py`.
"""

from __future__ import annotations

from ..lazy_dataclass import dataclass
from .types import BOOL, COMPLEX, FLOATS, INTEGERS, NUMBERS, ORDERED, REAL, DTypes


@dataclass(frozen=True)
class ScalarFunction:
    """An elementwise op; a name is None where the op is no function of that name alone."""

    dtypes: DTypes
    """Kinds of dtypes that the first operand may have."""
    array: str | None = None
    """The function of NumPy and CuPy, for the dtypes that they have."""
    mlir: str | None = None
    """The op of MLIR's `math` dialect, which takes floats."""
    stablehlo: str | None = None
    """The op of StableHLO, or with `chlo.` of CHLO, on the same operands."""
    cuda: str | None = None
    """The function of `mind.cuh`, where it is not the opcode."""
    library: bool = False
    """True if native code calls the function of the C library that has the opcode as its name."""
    instructions: int = 1
    """About how many instructions of native code it is for one vector."""


_ANALYTIC = (*FLOATS, *COMPLEX)
_BITS = (*BOOL, *INTEGERS)

UNARY: dict[str, ScalarFunction] = {
    "neg": ScalarFunction(NUMBERS, "negative", stablehlo="negate"),
    "abs": ScalarFunction(NUMBERS, "absolute"),
    "exp": ScalarFunction(_ANALYTIC, "exp", "exp", "exponential", instructions=18),
    "log": ScalarFunction(_ANALYTIC, "log", "log", "log", instructions=18),
    "tanh": ScalarFunction(_ANALYTIC, "tanh", "tanh", "tanh", instructions=18),
    "erf": ScalarFunction(FLOATS, None, "erf", "chlo.erf", instructions=18),
    "rsqrt": ScalarFunction(_ANALYTIC, stablehlo="rsqrt", instructions=12),
    "reciprocal": ScalarFunction(_ANALYTIC, "reciprocal", instructions=6),
    "sqrt": ScalarFunction(_ANALYTIC, "sqrt", "sqrt", "sqrt", instructions=6),
    "sin": ScalarFunction(_ANALYTIC, "sin", "sin", "sine", instructions=30),
    "cos": ScalarFunction(_ANALYTIC, "cos", "cos", "cosine", instructions=30),
    "floor": ScalarFunction(FLOATS, "floor", "floor", "floor"),
    "ceil": ScalarFunction(FLOATS, "ceil", "ceil", "ceil"),
    "round": ScalarFunction(FLOATS, "rint", "roundeven", "round_nearest_even"),
    "sign": ScalarFunction(NUMBERS),
    "logistic": ScalarFunction(_ANALYTIC, stablehlo="logistic", instructions=18),
    "expm1": ScalarFunction(_ANALYTIC, "expm1", "expm1", "exponential_minus_one", instructions=18),
    "log1p": ScalarFunction(_ANALYTIC, "log1p", "log1p", "log_plus_one", instructions=18),
    "not": ScalarFunction(_BITS, "invert", stablehlo="not", cuda="invert"),
    "cbrt": ScalarFunction(FLOATS, "cbrt", "cbrt", "cbrt", library=True),
    "round_away": ScalarFunction(FLOATS, None, "round", "round_nearest_afz"),
    "erf_inv": ScalarFunction(FLOATS, stablehlo="chlo.erf_inv", instructions=90),
    "lgamma": ScalarFunction(FLOATS, stablehlo="chlo.lgamma", instructions=150),
    "digamma": ScalarFunction(FLOATS, stablehlo="chlo.digamma"),
    "popcount": ScalarFunction(INTEGERS),
    "count_leading_zeros": ScalarFunction(INTEGERS, stablehlo="count_leading_zeros"),
    "conj": ScalarFunction(COMPLEX, "conjugate"),
}
BINARY: dict[str, ScalarFunction] = {
    "add": ScalarFunction(NUMBERS, "add", stablehlo="add"),
    "sub": ScalarFunction(NUMBERS, "subtract", stablehlo="subtract"),
    "mul": ScalarFunction(NUMBERS, "multiply", stablehlo="multiply"),
    "div": ScalarFunction(NUMBERS, stablehlo="divide", cuda="divide", instructions=6),
    "maximum": ScalarFunction(ORDERED, "maximum", stablehlo="maximum"),
    "minimum": ScalarFunction(ORDERED, "minimum", stablehlo="minimum"),
    "pow": ScalarFunction(_ANALYTIC, "power", stablehlo="power", instructions=60),
    "remainder": ScalarFunction(REAL, stablehlo="remainder"),
    "and": ScalarFunction(_BITS, "bitwise_and", stablehlo="and", cuda="both"),
    "or": ScalarFunction(_BITS, "bitwise_or", stablehlo="or", cuda="either"),
    "xor": ScalarFunction(_BITS, "bitwise_xor", stablehlo="xor", cuda="differ"),
    "shift_left": ScalarFunction(INTEGERS, "left_shift", stablehlo="shift_left"),
    "shift_right_arithmetic": ScalarFunction(INTEGERS, stablehlo="shift_right_arithmetic"),
    "shift_right_logical": ScalarFunction(INTEGERS, stablehlo="shift_right_logical"),
    "atan2": ScalarFunction(FLOATS, "arctan2", stablehlo="atan2", instructions=34),
}
SCALARS: dict[str, ScalarFunction] = {**UNARY, **BINARY}
"""By opcode."""
