"""
Rows of CHLO: functions that StableHLO leaves to be decomposed, and its binary ops with implicit broadcasting.

Each decomposition names its formula and the range in which it keeps its digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.ptir.types import DTYPES, F64, SI32, SI64, Kind, PtirDType, dtype_named

from ..bessel import bessel_i1e
from ..erfc import erfc
from ..formulas import Formula, of_real
from ..landing import Lander
from ..unsupported import Refused
from ..zeta import polygamma_of, zeta
from .complex_functions import (
    Function,
    complex_acos,
    complex_acosh,
    complex_asin,
    complex_atanh,
    complex_hyperbolic,
    turned,
)
from .contraction import operands_for
from .converter import StablehloConverter, StablehloRow, Values
from .elementwise import tangent, total_order, unary
from .foreign import ForeignOp
from .structural import broadcast_in


def _function(name: str, real: Function, of_complex: Function) -> Function:
    """A function by its formulas for real and for complex numbers."""

    def function(to: Lander, x: SSAValue) -> SSAValue:
        if to.dtype(x).kind is Kind.COMPLEX:
            return of_complex(to, x)
        if not to.dtype(x).is_float:
            raise Refused(f"{name} of {to.dtype(x)}")
        return real(to, x)

    return function


def _row(function: Function) -> StablehloRow:
    return lambda to, op: function(to, op.operands[0])


def _sinh(m: Formula, x: SSAValue) -> SSAValue:
    """`sign(x) (e + e / (e + 1)) / 2` with `e = expm1(|x|)`; from 20 on `exp(|x| - log 2)`, which does not overflow early."""
    size = m(ptir.AbsOp, x)
    is_far, near, far = _halves(m, size, 20.0)
    e = m(ptir.Expm1Op, near)
    near = m.mul(m.add(e, m.div(e, m.add(e, 1.0))), 0.5)
    found = m.to.select(is_far, m(ptir.ExpOp, m.sub(far, math.log(2.0))), near)
    return m.to.select(m.to.compare("less", x, 0.0), m(ptir.NegOp, found), m.to.select(m.to.compare("equal", x, 0.0), x, found))


def _halves(m: Formula, size: SSAValue, limit: float) -> tuple[SSAValue, SSAValue, SSAValue]:
    """Return whether a number is beyond a limit, and for each side the number, else the limit, whose derivatives stay finite."""
    is_far, bound = m.to.compare("greater", size, limit), m.to.like(limit, size)
    return is_far, m.to.select(is_far, bound, size), m.to.select(is_far, size, bound)


def _cosh(m: Formula, x: SSAValue) -> SSAValue:
    """`1 + e^2 / (2 (1 + e))` with `e = expm1(|x|)`, whose derivative does not cancel; from 20 on `exp(|x| - log 2)`."""
    is_far, near, far = _halves(m, m(ptir.AbsOp, x), 20.0)
    e = m(ptir.Expm1Op, near)
    near = m.add(m.div(m.mul(m.mul(e, e), 0.5), m.add(e, 1.0)), 1.0)
    return m.to.select(is_far, m(ptir.ExpOp, m.sub(far, math.log(2.0))), near)


def _large(x_dtype_bits: int) -> float:
    """From here on `x * x + 1` is `x * x` in the dtype."""
    return 1e5 if x_dtype_bits == 32 else 1e9


def _asinh(m: Formula, x: SSAValue) -> SSAValue:
    """`sign(x) log1p(|x| + x^2 / (1 + sqrt(1 + x^2)))`; for large ones `log|x| + log 2`."""
    size = m(ptir.AbsOp, x)
    is_far, small, large = _halves(m, size, _large(m.to.dtype(x).bits))
    square = m.mul(small, small)
    near = m(ptir.Log1pOp, m.add(small, m.div(square, m.add(m(ptir.SqrtOp, m.add(square, 1.0)), 1.0))))
    far = m.add(m(ptir.LogOp, large), math.log(2.0))
    found = m.to.select(is_far, far, near)
    return m.to.select(m.to.compare("less", x, 0.0), m(ptir.NegOp, found), m.to.select(m.to.compare("equal", x, 0.0), x, found))


def _acosh(m: Formula, x: SSAValue) -> SSAValue:
    """`log1p(t + sqrt(t) sqrt(t + 2))` with `t = x - 1`, NaN below 1; for large ones `log x + log 2`."""
    limit = _large(m.to.dtype(x).bits)
    t = m(ptir.MinimumOp, m.sub(x, 1.0), limit)
    near = m(ptir.Log1pOp, m.add(t, _root_of_product(m, t, m.add(t, 2.0))))
    far = m.add(m(ptir.LogOp, x), math.log(2.0))
    return m.to.select(
        m.to.compare("greater", x, limit), far, m.to.select(m.to.compare("less", x, 1.0), m.to.like(math.nan, x), near)
    )


def _atanh(m: Formula, x: SSAValue) -> SSAValue:
    """`(log1p(x) - log1p(-x)) / 2`."""
    return m.mul(m.sub(m(ptir.Log1pOp, x), m(ptir.Log1pOp, m(ptir.NegOp, x))), 0.5)


def _root_of_product(m: Formula, x: SSAValue, y: SSAValue) -> SSAValue:
    """`sqrt(x) sqrt(y)`; the derivative of `sqrt(x y)` is `inf * 0` where only one of them is 0."""
    return m.mul(m(ptir.SqrtOp, x), m(ptir.SqrtOp, y))


def _asin(m: Formula, x: SSAValue) -> SSAValue:
    """`atan2(x, sqrt(1 - x) sqrt(1 + x))`."""
    return m(ptir.Atan2Op, x, _root_of_product(m, m.sub(1.0, x), m.add(1.0, x)))


def _acos(m: Formula, x: SSAValue) -> SSAValue:
    """`atan2(sqrt(1 - x) sqrt(1 + x), x)`."""
    return m(ptir.Atan2Op, _root_of_product(m, m.sub(1.0, x), m.add(1.0, x)), x)


def _atan(m: Formula, x: SSAValue) -> SSAValue:
    """`atan2(x, 1)`."""
    return m(ptir.Atan2Op, x, 1.0)


def _of_float(function: Callable[[Lander, SSAValue], SSAValue]) -> StablehloRow:
    """A function of floats."""

    def row(to: StablehloConverter, op: ForeignOp) -> SSAValue:
        x = op.operands[0]
        if not to.dtype(x).is_float:
            raise Refused(f"{op.short} of {to.dtype(x)}")
        return function(to, x)

    return row


REAL_SINH, REAL_COSH, REAL_ASINH = of_real(_sinh), of_real(_cosh), of_real(_asinh)
REAL_ACOSH, REAL_ATANH = of_real(_acosh), of_real(_atanh)
REAL_ASIN, REAL_ACOS, REAL_ATAN = of_real(_asin), of_real(_acos), of_real(_atan)


def _of_two(function: Callable[[Lander, SSAValue, SSAValue], SSAValue]) -> StablehloRow:
    """A function of two numbers, computed in f64 and rounded once."""

    def row(to: StablehloConverter, op: ForeignOp) -> SSAValue:
        dtype = to.dtype(op.operands[0])
        if not dtype.is_float:
            raise Refused(f"{op.short} of {dtype}")
        return to.cast(function(to, *(to.cast(x, F64) for x in op.operands)), dtype)

    return row


def _square(to: StablehloConverter, op: ForeignOp) -> SSAValue:
    return op.operands[0] if to.is_truth(op.operands[0]) else to.emit(ptir.MulOp, op.operands[0], op.operands[0])


def _next_after(to: StablehloConverter, op: ForeignOp) -> SSAValue:
    return next_after(to, *op.operands)


def next_after(to: Lander, x: SSAValue, y: SSAValue) -> SSAValue:
    """Return the neighbour of `x` on the side of `y`; the bits of floats of one sign are ordered as the floats are."""
    dtype = to.dtype(x)
    word = DTYPES[f"si{dtype.bits}"]
    bits = to.bits(x, word)
    least = -(1 << (dtype.bits - 1))
    from_zero = to.emit(ptir.OrOp, to.emit(ptir.AndOp, to.bits(y, word), to.like(least, bits)), to.like(1, bits))
    grows = to.compare("equal", to.compare("less", x, y), to.compare("greater", x, 0))
    moved = to.emit(ptir.AddOp, bits, to.select(grows, to.like(1, bits), to.like(-1, bits)))
    moved = to.select(to.compare("equal", x, 0), from_zero, moved)
    found = to.select(to.compare("equal", x, y), y, to.bits(moved, dtype))
    number = to.emit(ptir.AddOp, x, y)
    is_nan = to.emit(ptir.NotOp, to.emit(ptir.AndOp, to.compare("equal", x, x), to.compare("equal", y, y)))
    return to.select(is_nan, number, found)


def _is_inf(to: StablehloConverter, op: ForeignOp) -> SSAValue:
    return to.compare("equal", to.emit(ptir.AbsOp, op.operands[0]), math.inf)


def _is_pos_inf(to: StablehloConverter, op: ForeignOp) -> SSAValue:
    return to.compare("equal", op.operands[0], math.inf)


def _is_neg_inf(to: StablehloConverter, op: ForeignOp) -> SSAValue:
    return to.compare("equal", op.operands[0], -math.inf)


def _conj(to: StablehloConverter, op: ForeignOp) -> SSAValue:
    x = op.operands[0]
    return to.emit(ptir.ConjOp, x) if to.dtype(x).kind is Kind.COMPLEX else x


def _top_k(to: StablehloConverter, op: ForeignOp) -> Values:
    dtype = op.results[1].dtype if len(op.results) == 2 else SI32
    return top_k(to, op.operands[0], op.integer("k"), dtype, largest=True)


def top_k(to: StablehloConverter, x: SSAValue, k: int, dtype: PtirDType, *, largest: bool) -> Values:
    """The greatest or least of the last axis, and where they are; floats in their total order: NaN with a sign is the least."""
    if dtype not in (SI32, SI64):
        raise Refused(f"indices of {dtype}")
    key = total_order(to, x) if to.dtype(x).is_float else x
    values, indices = to.add(ptir.TopKOp(key, k=k, axis=-1, largest=largest, indices_dtype=dtype)).results
    return [values if key is x else to.emit(ptir.GatherOp, x, indices, axis=len(to.shape(x)) - 1), indices]


def _constant_like(to: StablehloConverter, op: ForeignOp) -> SSAValue:
    value = op.attributes.get("value")
    number = getattr(getattr(value, "value", None), "data", None)
    if not isinstance(number, int | float):
        raise op.wrong("value", "a number")
    return to.fill(bool(number) if to.is_truth(op.operands[0]) else number, op.dtype, op.shape)


def _constant(to: StablehloConverter, op: ForeignOp) -> Values:
    return to.apply("stablehlo.constant", [], op.results, op)


def _broadcast_binary(name: str) -> StablehloRow:
    """A binary op of StableHLO on operands that broadcast; `broadcast_dimensions` places the smaller one, else it trails."""

    def row(to: StablehloConverter, op: ForeignOp) -> Values:
        return to.apply(name, broadcast_operands(to, op, op.operands), op.results, op)

    return row


def broadcast_operands(to: StablehloConverter, op: ForeignOp, operands: Values) -> list[SSAValue]:
    """The operands at the rank and size of the result."""
    shape = op.shape
    dims = op.attributes.get("broadcast_dimensions")
    found: list[SSAValue] = []
    for x in operands:
        rank = len(to.shape(x))
        if rank == len(shape):
            found.append(to.broadcast(x, shape))
        elif dims is not None and len(op.integers("broadcast_dimensions")) == rank:
            found.append(broadcast_in(to, op, x, op.integers("broadcast_dimensions"), shape))
        else:
            found.append(broadcast_in(to, op, x, range(len(shape) - rank, len(shape)), shape))
    return found


def _broadcast_select(to: StablehloConverter, op: ForeignOp) -> Values:
    return to.apply("stablehlo.select", broadcast_operands(to, op, op.operands), op.results, op)


def _mulhi(to: StablehloConverter, op: ForeignOp) -> SSAValue:
    """The high half of a product: computed in twice the width."""
    x, y = op.operands
    dtype = to.dtype(x)
    if dtype.bits > 32 or dtype.kind not in (Kind.SIGNED, Kind.UNSIGNED):
        raise Refused(f"mulhi of {dtype}")
    wide = dtype_named(f"{dtype.name[0]}i{2 * dtype.bits}")
    whole = to.emit(ptir.MulOp, to.cast(x, wide), to.cast(y, wide))
    shift = ptir.ShiftRightArithmeticOp if dtype.kind is Kind.SIGNED else ptir.ShiftRightLogicalOp
    return to.wrap(to.emit(shift, whole, to.like(dtype.bits, whole)), dtype)


def _ragged_dot(to: StablehloConverter, op: ForeignOp) -> SSAValue:
    """Rows `[m, k]` in consecutive groups, each times its own `[k, n]` of `[g, k, n]`."""
    x, y, sizes = op.operands
    numbers = op.numbers("ragged_dot_dimension_numbers")
    plain = {
        "lhs_batching_dimensions": (),
        "rhs_batching_dimensions": (),
        "lhs_contracting_dimensions": (1,),
        "rhs_contracting_dimensions": (1,),
        "lhs_ragged_dimensions": (0,),
        "rhs_group_dimensions": (0,),
    }
    if any(numbers.list(name) != dims for name, dims in plain.items()) or len(to.shape(x)) != 2 or len(to.shape(y)) != 3:
        raise Refused("a ragged_dot of other dimension numbers than rows times [group, k, n]")
    x, y, properties = operands_for(to, x, y, op.dtype)
    return to.emit(ptir.RaggedDotOp, x, y, to.index(sizes), kind="rows", **properties)


_BINARY = (
    *("add", "and", "atan2", "complex", "divide", "maximum", "minimum", "multiply", "or", "power", "remainder", "shift_left"),
    *("shift_right_arithmetic", "shift_right_logical", "subtract", "xor", "compare"),
)

FUNCTIONS: dict[str, Function] = {
    "acos": _function("acos", of_real(_acos), complex_acos(REAL_ASINH)),
    "acosh": _function("acosh", of_real(_acosh), complex_acosh(REAL_ASINH)),
    "asin": _function("asin", of_real(_asin), complex_asin(REAL_ASINH)),
    "asinh": _function("asinh", REAL_ASINH, turned(complex_asin(REAL_ASINH))),
    "atan": _function("atan", of_real(_atan), turned(complex_atanh)),
    "atanh": _function("atanh", of_real(_atanh), complex_atanh),
    "cosh": _function("cosh", REAL_COSH, complex_hyperbolic(REAL_COSH, REAL_SINH)),
    "sinh": _function("sinh", REAL_SINH, complex_hyperbolic(REAL_SINH, REAL_COSH)),
}
"""Functions of one number that PTIR has no op for, by their names in CHLO, for every importer."""
CHLO: dict[str, StablehloRow | Refused] = {
    **{f"chlo.{name}": _row(function) for name, function in FUNCTIONS.items()},
    **{f"chlo.broadcast_{name}": _broadcast_binary(f"stablehlo.{name}") for name in _BINARY},
    "chlo.broadcast_next_after": _broadcast_binary("chlo.next_after"),
    "chlo.broadcast_polygamma": _broadcast_binary("chlo.polygamma"),
    "chlo.broadcast_zeta": _broadcast_binary("chlo.zeta"),
    "chlo.broadcast_select": _broadcast_select,
    "chlo._asin_acos_kernel": Refused("a helper of complex arc functions"),
    "chlo.bessel_i1e": _of_float(bessel_i1e),
    "chlo.conj": _conj,
    "chlo.constant": _constant,
    "chlo.constant_like": _constant_like,
    "chlo.digamma": unary(ptir.DigammaOp),
    "chlo.erf": unary(ptir.ErfOp),
    "chlo.erf_inv": unary(ptir.ErfInvOp),
    "chlo.erfc": _of_float(erfc),
    "chlo.is_inf": _is_inf,
    "chlo.is_neg_inf": _is_neg_inf,
    "chlo.is_pos_inf": _is_pos_inf,
    "chlo.lgamma": unary(ptir.LgammaOp),
    "chlo.mulhi": _mulhi,
    "chlo.next_after": _next_after,
    "chlo.polygamma": _of_two(polygamma_of),
    "chlo.ragged_dot": _ragged_dot,
    "chlo.scan": Refused("chlo.scan", "lower it to stablehlo.while"),
    "chlo.square": _square,
    "chlo.tan": tangent,
    "chlo.top_k": _top_k,
    "chlo.zeta": _of_two(zeta),
}
POINTWISE_CHLO = frozenset(CHLO) - {"chlo.constant", "chlo.ragged_dot", "chlo.scan", "chlo.top_k"}
"""The ops that work element by element."""
