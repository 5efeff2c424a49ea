"""
Rows of elementwise ops. The stated dtype is that after promotion, so every operand is cast to it; comparisons cast to the dtype
that torch promotes their operands to.

i1 has no arithmetic in PTIR; torch's sum of truths is `or`, their product `and`. Integer division by zero raises in torch and
here (E8004).
"""

from __future__ import annotations

import math
from typing import Any

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.ptir.types import F32, F64, I1, Kind, PtirDType

from ..landing import INTEGER_KINDS
from ..stablehlo.chlo import FUNCTIONS
from ..stablehlo.elementwise import power
from ..unsupported import Refused
from .converter import AtenConverter, Call, Operand, Row, Table, wide

COMPARISONS = {"eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal"}
_OF_TRUTHS: dict[type[ptir.PtirOp], type[ptir.PtirOp]] = {
    ptir.AddOp: ptir.OrOp,
    ptir.MulOp: ptir.AndOp,
    ptir.MaximumOp: ptir.OrOp,
    ptir.MinimumOp: ptir.AndOp,
}
_FLOAT_UNARY: dict[str, type[ptir.PtirOp]] = {
    **{"exp": ptir.ExpOp, "log": ptir.LogOp, "tanh": ptir.TanhOp, "erf": ptir.ErfOp, "rsqrt": ptir.RsqrtOp},
    **{"reciprocal": ptir.ReciprocalOp, "sqrt": ptir.SqrtOp, "sin": ptir.SinOp, "cos": ptir.CosOp, "neg": ptir.NegOp},
    **{"sigmoid": ptir.LogisticOp, "expm1": ptir.Expm1Op, "log1p": ptir.Log1pOp},
    **{"erfinv": ptir.ErfInvOp, "lgamma": ptir.LgammaOp, "conj_physical": ptir.ConjOp},
    **{"_conj": ptir.ConjOp, "_neg_view": ptir.NegOp},
}
_ROUNDING: dict[str, type[ptir.PtirOp]] = {"floor": ptir.FloorOp, "ceil": ptir.CeilOp, "round": ptir.RoundOp}
_ON_TRUTHS: dict[str, type[ptir.PtirOp]] = {"logical_and": ptir.AndOp, "logical_or": ptir.OrOp, "logical_xor": ptir.XorOp}
_BITWISE: dict[str, type[ptir.PtirOp]] = {"bitwise_and": ptir.AndOp, "bitwise_or": ptir.OrOp, "bitwise_xor": ptir.XorOp}


def _unary(op_type: type[ptir.PtirOp]) -> Row:
    def row(to: AtenConverter, call: Call, x: SSAValue, *_: Any) -> SSAValue:
        return to.emit(op_type, to.cast(x, call.dtype))

    return row


def _rounding(op_type: type[ptir.PtirOp]) -> Row:
    def row(to: AtenConverter, call: Call, x: SSAValue, *_: Any) -> SSAValue:
        return to.emit(op_type, x) if call.dtype.is_float else x

    return row


def _function(name: str) -> Row:
    def row(to: AtenConverter, call: Call, x: SSAValue) -> SSAValue:
        return FUNCTIONS[name](to, to.cast(x, call.dtype))

    return row


def arithmetic(to: AtenConverter, call: Call, op_type: type[ptir.PtirOp], x: Operand, y: Operand) -> SSAValue:
    """A binary op in the dtype and shape of the result."""
    op_type = _OF_TRUTHS.get(op_type, op_type) if call.dtype is I1 else op_type
    return to.emit(op_type, to.operand(call, x), to.operand(call, y))


def _binary(op_type: type[ptir.PtirOp]) -> Row:
    def row(to: AtenConverter, call: Call, x: Operand, y: Operand) -> SSAValue:
        return arithmetic(to, call, op_type, x, y)

    return row


def _plus(op_type: type[ptir.PtirOp]) -> Row:
    """`x + alpha y`, or their difference."""

    def row(to: AtenConverter, call: Call, x: Operand, y: Operand, alpha: Any = 1) -> SSAValue:
        if alpha != 1:
            y = to.scaled(to.cast(y, call.dtype), alpha) if isinstance(y, SSAValue) else y * alpha
        return arithmetic(to, call, op_type, x, y)

    return row


def _abs(to: AtenConverter, call: Call, x: SSAValue) -> SSAValue:
    if to.dtype(x).kind in (Kind.UNSIGNED, Kind.BOOL):
        return x
    return to.emit(ptir.AbsOp, x)


def _sign(to: AtenConverter, call: Call, x: SSAValue) -> SSAValue:
    """NaN has the sign 0 in torch."""
    if to.dtype(x) is I1:
        return x
    if to.dtype(x).kind is Kind.UNSIGNED:
        return to.math(ptir.MinimumOp, x, 1)
    if not to.dtype(x).is_float:
        return to.emit(ptir.SignOp, x)
    return to.select(to.compare("equal", x, x), to.emit(ptir.SignOp, x), to.like(0.0, x))


def _trunc(to: AtenConverter, call: Call, x: SSAValue) -> SSAValue:
    return truncated(to, x) if call.dtype.is_float else x


def truncated(to: AtenConverter, x: SSAValue) -> SSAValue:
    """The whole number next to `x` on the side of zero, with its sign."""
    return to.select(to.compare("less", x, 0.0), to.emit(ptir.CeilOp, x), to.emit(ptir.FloorOp, x))


def _log(base: float) -> Row:
    def row(to: AtenConverter, call: Call, x: SSAValue) -> SSAValue:
        x = to.cast(x, call.dtype)
        found = to.math(ptir.MulOp, to.emit(ptir.LogOp, to.cast(x, wide(call.dtype))), 1 / math.log(base))
        return to.cast(found, call.dtype)

    return row


def _tan(to: AtenConverter, call: Call, x: SSAValue) -> SSAValue:
    x = to.cast(to.cast(x, call.dtype), wide(call.dtype))
    return to.cast(to.math(ptir.DivOp, to.emit(ptir.SinOp, x), to.emit(ptir.CosOp, x)), call.dtype)


def _div(to: AtenConverter, call: Call, x: Operand, y: Operand, rounding_mode: str | None = None) -> SSAValue:
    if rounding_mode is None:
        return arithmetic(to, call, ptir.DivOp, x, y)
    x, y = to.operand(call, x), to.operand(call, y)
    if rounding_mode == "floor":
        return floor_div(to, call.dtype, x, y)
    quotient = to.emit(ptir.DivOp, x, y)
    return truncated(to, quotient) if call.dtype.is_float else quotient


def floor_div(to: AtenConverter, dtype: PtirDType, x: SSAValue, y: SSAValue) -> SSAValue:
    """
    Python's division: of floats `(x - x mod y) / y` rounded to whole, as torch has it; by 0 the plain quotient.

    Its derivative is 0, also where that of the quotient is not.
    """
    rest = to.emit(ptir.RemainderOp, x, y)
    signs_differ = to.emit(ptir.XorOp, to.compare("less", rest, 0), to.compare("less", y, 0))
    lower = to.emit(ptir.AndOp, to.compare("not_equal", rest, 0), signs_differ)
    if not dtype.is_float:
        return to.emit(ptir.SubOp, to.emit(ptir.DivOp, x, y), to.cast(lower, dtype))
    quotient = to.emit(ptir.DivOp, to.emit(ptir.SubOp, x, rest), y)
    quotient = to.select(lower, to.math(ptir.SubOp, quotient, 1.0), quotient)
    floor = to.emit(ptir.FloorOp, quotient)
    floor = to.select(to.compare("greater", to.emit(ptir.SubOp, quotient, floor), 0.5), to.math(ptir.AddOp, floor, 1.0), floor)
    plain = to.emit(ptir.DivOp, x, y)
    floor = to.select(to.compare("equal", quotient, 0.0), to.math(ptir.MulOp, plain, 0.0), floor)
    return to.emit(ptir.StopGradientOp, to.select(to.compare("equal", y, 0.0), plain, floor))


def _pow(to: AtenConverter, call: Call, x: Operand, y: Operand) -> SSAValue:
    """Powers; squares and the like by products, whose derivatives have no logarithm. A power of 0 is 1, also of NaN."""
    if not isinstance(y, SSAValue) and y == 0:
        return to.number(1, call.dtype, call.shape)
    if not isinstance(y, SSAValue) and isinstance(x, SSAValue) and y in (1, 2, 3):
        x = to.operand(call, x)
        if call.dtype is not I1:
            square = to.emit(ptir.MulOp, x, x)
            return x if y == 1 else square if y == 2 else to.emit(ptir.MulOp, square, x)
    x, y = to.operand(call, x), to.operand(call, y)
    if call.dtype.kind not in INTEGER_KINDS:
        return to.emit(ptir.PowOp, x, y)
    found = power(to, x, y)
    if call.dtype.kind is Kind.UNSIGNED:
        return found
    of_zero = to.emit(ptir.AndOp, to.compare("equal", x, 0), to.compare("less", y, 0))
    return to.select(of_zero, to.like(0, x), found)


def _times_log(op_type: type[ptir.PtirOp], pole: float) -> Row:
    """
    `x log y` or `x log1p y`, 0 where x is 0 and y is not NaN.

    The derivative by x is the logarithm there, which torch's decomposition drops; it is 0 from the pole of the logarithm down.
    """

    def row(to: AtenConverter, call: Call, x: Operand, y: Operand) -> SSAValue:
        x, y = to.operand(call, x), to.operand(call, y)
        beyond = to.emit(ptir.OrOp, to.compare("less_equal", y, pole), to.compare("equal", y, math.inf))
        unread = to.emit(ptir.AndOp, to.compare("equal", x, 0), beyond)
        return to.emit(ptir.MulOp, x, to.emit(op_type, to.select(unread, to.like(pole + 1.0, y), y)))

    return row


def _compare(kind: str) -> Row:
    def row(to: AtenConverter, call: Call, x: SSAValue, y: Operand) -> SSAValue:
        dtype = call.promoted or to.dtype(x)
        x, y = to.tensor(x, dtype, call.shape), to.tensor(y, dtype, call.shape)
        if dtype is I1 and kind not in ("equal", "not_equal"):
            x, y = to.cast(x, F32), to.cast(y, F32)
        return to.compare(kind, x, y)

    return row


def _logical(op_type: type[ptir.PtirOp]) -> Row:
    def row(to: AtenConverter, call: Call, x: Operand, y: Operand) -> SSAValue:
        return to.emit(op_type, to.tensor(x, I1, call.shape), to.tensor(y, I1, call.shape))

    return row


def _where(to: AtenConverter, call: Call, condition: SSAValue, x: Operand, y: Operand) -> SSAValue:
    return to.select(to.tensor(condition, I1, call.shape), to.operand(call, x), to.operand(call, y))


def _clamp(to: AtenConverter, call: Call, x: SSAValue, low: Operand | None = None, high: Operand | None = None) -> SSAValue:
    """At least `low` and then at most `high`; NaN where a bound is. At a bound the derivative is that of `x`, of NaN it is 0."""
    x = to.operand(call, x)
    for op_type, kind, bound in ((ptir.OrOp, "less", low), (ptir.AndOp, "greater", high)):
        if bound is None:
            continue
        limit = to.operand(call, bound)
        if call.dtype is I1:
            x = to.emit(op_type, x, limit)
            continue
        beyond = to.compare(kind, x, limit)
        if isinstance(bound, SSAValue) and call.dtype.is_float:
            beyond = to.emit(ptir.OrOp, beyond, to.compare("not_equal", limit, limit))
        x = to.select(beyond, limit, x)
    return to.select(to.compare("equal", x, x), x, to.emit(ptir.StopGradientOp, x)) if call.dtype.is_float else x


def _relu(to: AtenConverter, call: Call, x: SSAValue) -> SSAValue:
    """The derivative at 0 is 0, as torch has it; that of a maximum would be shared."""
    return to.select(to.compare("less_equal", x, 0), to.like(0, x), x)


def _hardtanh(to: AtenConverter, call: Call, x: SSAValue, low: Operand = -1, high: Operand = 1) -> SSAValue:
    """The derivative is 0 at and beyond the bounds."""
    low, high = to.operand(call, low), to.operand(call, high)
    return to.select(to.compare("less_equal", x, low), low, to.select(to.compare("greater_equal", x, high), high, x))


def _leaky_relu(to: AtenConverter, call: Call, x: SSAValue, slope: Any = 0.01) -> SSAValue:
    return to.select(to.compare("greater", x, 0), x, to.scaled(x, slope))


def _isnan(to: AtenConverter, call: Call, x: SSAValue) -> SSAValue:
    return to.compare("not_equal", x, x)


def _isinf(to: AtenConverter, call: Call, x: SSAValue) -> SSAValue:
    if to.dtype(x).is_float:
        return to.compare("equal", to.emit(ptir.AbsOp, x), math.inf)
    if to.dtype(x).kind is not Kind.COMPLEX:
        return to.fill(False, I1, to.shape(x))
    parts = (to.emit(ptir.AbsOp, to.emit(part, x)) for part in (ptir.RealOp, ptir.ImagOp))
    return to.emit(ptir.OrOp, *(to.compare("equal", part, math.inf) for part in parts))


def _fill(to: AtenConverter, call: Call, x: SSAValue, value: Operand, *_: Any) -> SSAValue:
    return to.operand(call, value)


def _to_copy(to: AtenConverter, call: Call, x: SSAValue, *_: Any) -> SSAValue:
    return to.cast(x, call.dtype)


def _same(to: AtenConverter, call: Call, x: SSAValue, *_: Any) -> SSAValue:
    return x


def _detach(to: AtenConverter, call: Call, x: SSAValue) -> SSAValue:
    return to.emit(ptir.StopGradientOp, x) if call.dtype.is_float or call.dtype.kind is Kind.COMPLEX else x


def _polar(to: AtenConverter, call: Call, size: SSAValue, angle: SSAValue) -> SSAValue:
    size, angle = (to.broadcast(v, call.shape) for v in (size, angle))
    parts = (to.emit(ptir.MulOp, size, to.emit(op, angle)) for op in (ptir.CosOp, ptir.SinOp))
    return to.emit(ptir.ComplexOp, *parts)


def _shift(*, left: bool) -> Row:
    def row(to: AtenConverter, call: Call, x: Operand, y: Operand) -> SSAValue:
        signed = ptir.ShiftRightArithmeticOp if call.dtype.kind is Kind.SIGNED else ptir.ShiftRightLogicalOp
        return to.emit(ptir.ShiftLeftOp if left else signed, to.operand(call, x), to.operand(call, y))

    return row


def _clamp_max(to: AtenConverter, call: Call, x: SSAValue, high: Operand) -> SSAValue:
    return _clamp(to, call, x, None, high)


def _complex(to: AtenConverter, call: Call, x: SSAValue, y: SSAValue) -> SSAValue:
    return to.emit(ptir.ComplexOp, to.broadcast(x, call.shape), to.broadcast(y, call.shape))


def _real(to: AtenConverter, call: Call, x: SSAValue) -> SSAValue:
    return to.emit(ptir.RealOp, x) if to.dtype(x).kind is Kind.COMPLEX else x


def _imag(to: AtenConverter, call: Call, x: SSAValue) -> SSAValue:
    return to.emit(ptir.ImagOp, x)


def _logical_not(to: AtenConverter, call: Call, x: SSAValue) -> SSAValue:
    return to.emit(ptir.NotOp, to.cast(x, I1))


def _view_as_real(to: AtenConverter, call: Call, x: SSAValue) -> SSAValue:
    shape = (*to.shape(x), 1)
    return to.concat([to.reshape(to.emit(part, x), shape) for part in (ptir.RealOp, ptir.ImagOp)], len(shape) - 1)


def _view_as_complex(to: AtenConverter, call: Call, x: SSAValue) -> SSAValue:
    if to.dtype(x) not in (F32, F64):
        raise Refused(f"complex numbers of {to.dtype(x)}")
    last = len(call.shape)
    return to.emit(ptir.ComplexOp, *(to.reshape(to.part(x, last, i, i + 1), call.shape) for i in (0, 1)))


def _both(name: str, row: Row, *overloads: str) -> Table:
    return {f"{name}.{overload}": row for overload in overloads or ("Tensor", "Scalar")}


_ANY = ("Tensor", "Scalar", "Scalar_Tensor")
_SHIFTED = ("Tensor", "Tensor_Scalar", "Scalar_Tensor")
ELEMENTWISE: Table = {
    **{f"{name}.default": _unary(op_type) for name, op_type in _FLOAT_UNARY.items()},
    **{f"{name}.default": _rounding(op_type) for name, op_type in _ROUNDING.items()},
    **{f"{name}.default": _function(name) for name in FUNCTIONS},
    **{key: row for name, kind in COMPARISONS.items() for key, row in _both(name, _compare(kind)).items()},
    **{f"{name}.default": _logical(op_type) for name, op_type in _ON_TRUTHS.items()},
    **{key: row for name, op in _BITWISE.items() for key, row in _both(name, _binary(op), *_ANY).items()},
    **_both("add", _plus(ptir.AddOp)),
    **_both("sub", _plus(ptir.SubOp)),
    **_both("mul", _binary(ptir.MulOp)),
    **_both("div", _div, "Tensor", "Scalar", "Tensor_mode", "Scalar_mode"),
    **_both("pow", _pow, "Scalar", "Tensor_Scalar", "Tensor_Tensor"),
    **{f"xlogy.{overload}": _times_log(ptir.LogOp, 0.0) for overload in ("Tensor", "Scalar_Self", "Scalar_Other")},
    **{f"special_xlog1py.{overload}": _times_log(ptir.Log1pOp, -1.0) for overload in ("default", "self_scalar", "other_scalar")},
    **_both("clamp", _clamp, "default", "Tensor"),
    **_both("clamp_min", _clamp, "default", "Tensor"),
    **_both("clamp_max", _clamp_max, "default", "Tensor"),
    **_both("fill", _fill),
    **_both("__lshift__", _shift(left=True)),
    **_both("__rshift__", _shift(left=False)),
    **_both("bitwise_left_shift", _shift(left=True), *_SHIFTED),
    **_both("bitwise_right_shift", _shift(left=False), *_SHIFTED),
    **{f"{name}.default": _same for name in ("alias", "clone", "lift_fresh_copy", "contiguous")},
    "_to_copy.default": _to_copy,
    "abs.default": _abs,
    "atan2.out": Refused("a result that is written to an operand", "functional graphs of torch.export hold none"),
    "bitwise_not.default": _unary(ptir.NotOp),
    "complex.default": _complex,
    "copy.default": _fill,
    **dict.fromkeys(("detach.default", "detach_copy.default"), _detach),
    "hardtanh.default": _hardtanh,
    "imag.default": _imag,
    "isinf.default": _isinf,
    "isnan.default": _isnan,
    "leaky_relu.default": _leaky_relu,
    "log10.default": _log(10),
    "log2.default": _log(2),
    "logical_not.default": _logical_not,
    "maximum.default": _binary(ptir.MaximumOp),
    "minimum.default": _binary(ptir.MinimumOp),
    "polar.default": _polar,
    "real.default": _real,
    "relu.default": _relu,
    "sign.default": _sign,
    "tan.default": _tan,
    "trunc.default": _trunc,
    "view_as_complex.default": _view_as_complex,
    "view_as_real.default": _view_as_real,
    "where.self": _where,
    "where.Scalar": _where,
    "where.ScalarOther": _where,
    "where.ScalarSelf": _where,
}
