"""
Rows of ops that work element by element, with NumPy's broadcasting.

Functions that PTIR has no op for are composed as the operator's definition states them, in a form that keeps its digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.ptir import PtirOp
from mind_dialect.ptir.types import F32, F64, I1, SI32, Kind, PtirDType

from ..stablehlo.chlo import REAL_ACOS, REAL_ACOSH, REAL_ASIN, REAL_ASINH, REAL_ATAN, REAL_ATANH, REAL_COSH, REAL_SINH
from ..stablehlo.elementwise import guarded, integer_power
from ..unsupported import Refused
from .converter import OnnxConverter, OnnxRow, Values
from .emitter import common_shape, is_integer
from .model import OLDEST_OPSET
from .node import Node
from .opsets import EXPORT
from .values import Unusable

_UNARY: dict[str, type[PtirOp]] = {
    "Abs": ptir.AbsOp,
    "BitwiseNot": ptir.NotOp,
    "Ceil": ptir.CeilOp,
    "Cos": ptir.CosOp,
    "Erf": ptir.ErfOp,
    "Exp": ptir.ExpOp,
    "Floor": ptir.FloorOp,
    "Log": ptir.LogOp,
    "Neg": ptir.NegOp,
    "Not": ptir.NotOp,
    "Reciprocal": ptir.ReciprocalOp,
    "Round": ptir.RoundOp,
    "Sigmoid": ptir.LogisticOp,
    "Sign": ptir.SignOp,
    "Sin": ptir.SinOp,
    "Sqrt": ptir.SqrtOp,
    "Tanh": ptir.TanhOp,
}
_BINARY: dict[str, type[PtirOp]] = {
    "Add": ptir.AddOp,
    "And": ptir.AndOp,
    "BitwiseAnd": ptir.AndOp,
    "BitwiseOr": ptir.OrOp,
    "BitwiseXor": ptir.XorOp,
    "Mul": ptir.MulOp,
    "Or": ptir.OrOp,
    "Sub": ptir.SubOp,
    "Xor": ptir.XorOp,
}
_COMPARED = {
    "Equal": "equal",
    "Greater": "greater",
    "GreaterOrEqual": "greater_equal",
    "Less": "less",
    "LessOrEqual": "less_equal",
}
_FOLDED: dict[str, type[PtirOp]] = {"Max": ptir.MaximumOp, "Min": ptir.MinimumOp, "Sum": ptir.AddOp}
Formula = Callable[[OnnxConverter, Node, SSAValue], SSAValue]


def _unary(op_type: type[PtirOp]) -> OnnxRow:
    def row(to: OnnxConverter, node: Node) -> SSAValue:
        x = node.x()
        if to.dtype(x).kind is Kind.UNSIGNED and op_type is ptir.AbsOp:
            return x
        if to.dtype(x).kind is Kind.UNSIGNED and op_type is ptir.SignOp:
            return to.emit(ptir.MinimumOp, x, to.like(1, x))
        return to.emit(op_type, x)

    return row


def _binary(op_type: type[PtirOp]) -> OnnxRow:
    return lambda to, node: to.two(op_type, node.x(0), node.x(1))


def _compared(kind: str) -> OnnxRow:
    return lambda to, node: to.compared(kind, node.x(0), node.x(1))


def _folded(op_type: type[PtirOp]) -> OnnxRow:
    def row(to: OnnxConverter, node: Node) -> SSAValue:
        found, *rest = node.xs()
        for x in rest:
            found = to.two(op_type, found, x)
        return found

    return row


def _mean(to: OnnxConverter, node: Node) -> SSAValue:
    total = _folded(ptir.AddOp)(to, node)
    return to.over(total, float(len(node.xs())))


def _real(function: Callable[[Any, SSAValue], SSAValue]) -> OnnxRow:
    return lambda to, node: function(to, node.x())


def _formula(formula: Formula) -> OnnxRow:
    return lambda to, node: formula(to, node, node.x())


def _broadcast_pair(to: OnnxConverter, node: Node) -> tuple[SSAValue, SSAValue]:
    x, y = node.x(0), node.x(1)
    shape = common_shape(to.shape(x), to.shape(y))
    return to.broadcast(x, shape), to.broadcast(y, shape)


def _div(to: OnnxConverter, node: Node) -> SSAValue:
    """Truncates integers; a division by 0, which ONNX leaves open, is -1."""
    return guarded(to, ptir.DivOp, *_broadcast_pair(to, node))


def _mod(to: OnnxConverter, node: Node) -> SSAValue:
    """With `fmod` the sign of the dividend, else that of the divisor."""
    x, y = _broadcast_pair(to, node)
    rest = guarded(to, ptir.RemainderOp, x, y)
    if node.int("fmod") or to.dtype(x).kind is Kind.UNSIGNED:
        return rest
    differs = to.emit(ptir.XorOp, to.compare("less", rest, 0), to.compare("less", y, 0))
    moved = to.emit(ptir.AndOp, to.compare("not_equal", rest, 0), differs)
    return to.select(moved, to.emit(ptir.AddOp, rest, y), rest)


def _pow(to: OnnxConverter, node: Node) -> SSAValue:
    """In the dtype of the base; integers to integer powers by squaring, to others in floats."""
    x, y = _broadcast_pair(to, node)
    dtype = to.dtype(x)
    if is_integer(dtype) and is_integer(to.dtype(y)):
        power = to.wrap(y, dtype)
        found = integer_power(to, x, power)
        if to.dtype(y).kind is Kind.UNSIGNED:
            return found
        unit = to.select(to.compare("equal", x, 1), x, to.like(0, x))
        if dtype.kind is Kind.SIGNED:
            is_odd = to.compare("equal", to.emit(ptir.AndOp, power, to.like(1, power)), 1)
            unit = to.select(to.compare("equal", x, -1), to.select(is_odd, x, to.like(1, x)), unit)
        return to.select(to.compare("less", y, 0), unit, found)
    wide = dtype if dtype.is_float else F64 if dtype.bits > 16 else F32
    if to.dtype(y).is_float and to.dtype(y).bits > wide.bits:
        wide = to.dtype(y)
    return to.cast(to.emit(ptir.PowOp, to.cast(x, wide), to.cast(y, wide)), dtype)


def _shift(to: OnnxConverter, node: Node) -> SSAValue:
    left = node.word("direction", among=("LEFT", "RIGHT")) == "LEFT"
    x, y = _broadcast_pair(to, node)
    right = ptir.ShiftRightArithmeticOp if to.dtype(x).kind is Kind.SIGNED else ptir.ShiftRightLogicalOp
    return to.emit(ptir.ShiftLeftOp if left else right, x, y)


def _where(to: OnnxConverter, node: Node) -> SSAValue:
    return to.chosen(node.x(0), node.x(1), node.x(2))


def _identity(to: OnnxConverter, node: Node) -> Any:
    return node.raw(0)


def cast(to: OnnxConverter, x: SSAValue, dtype: PtirDType) -> SSAValue:
    """ONNX's Cast: integers wrap, floats truncate to integers, not 0 is true; 4-bit integers keep the low bits."""
    source = to.dtype(x)
    if dtype.bits == 4 and source.is_float:
        x, source = to.cast(x, SI32), SI32
    if is_integer(source) and is_integer(dtype):
        return to.wrap(x, dtype)
    return to.cast(x, dtype)


def _cast(to: OnnxConverter, node: Node) -> SSAValue:
    return _cast_to(to, node, node.dtype("to"))


def _cast_like(to: OnnxConverter, node: Node) -> SSAValue:
    return _cast_to(to, node, to.dtype(node.x(1)))


def _cast_to(to: OnnxConverter, node: Node, dtype: PtirDType) -> SSAValue:
    """
    `saturate` of floats of 8 bits, which PTIR casts by IEEE rounding: too large ones are the greatest number.

    Without it they are infinite, or NaN where the dtype has no infinity.
    """
    x = node.x()
    source = to.dtype(x)
    if dtype.name not in ("fp8_e4m3", "fp8_e5m2") or source is dtype:
        return cast(to, x, dtype)
    if not source.is_float:
        x, source = to.cast(x, F32), F32
    if node.int("round_mode") or "round_mode" in node.attributes:
        raise Refused("a cast with round_mode", "leave it out, for rounding to the nearest")
    most = 448.0 if dtype.name == "fp8_e4m3" else 57344.0
    if not node.int("saturate", 1):
        return to.cast(x, dtype)
    if source.bits == 8:
        x = to.cast(x, F32)
    near = to.emit(ptir.ClampOp, x, to.like(-most, x), to.like(most, x))
    return to.cast(to.select(to.compare("equal", x, x), near, x), dtype)


def _bit_cast(to: OnnxConverter, node: Node) -> SSAValue:
    x, dtype = node.x(), node.dtype("to")
    if {to.dtype(x).name, dtype.name} in ({"i1", "ui8"}, {"i1", "si8"}):
        return to.cast(x, dtype)  # a truth is stored as a byte
    if to.dtype(x).bits != dtype.bits:
        raise Refused(f"the bits of {to.dtype(x)} as {dtype}")
    return to.bits(x, dtype)


def _clip(to: OnnxConverter, node: Node) -> SSAValue:
    x, low, high = node.x(), node.optional(1), node.optional(2)
    if low is not None:
        x = to.emit(ptir.MaximumOp, x, to.broadcast(to.reshape(low, ()), to.shape(x)))
    if high is not None:
        x = to.emit(ptir.MinimumOp, x, to.broadcast(to.reshape(high, ()), to.shape(x)))
    return x


# Activations


def relu(to: OnnxConverter, x: SSAValue) -> SSAValue:
    """`max(x, 0)`."""
    return to.two(ptir.MaximumOp, x, 0)


def negative_part(to: OnnxConverter, x: SSAValue, below: SSAValue, above: SSAValue | None = None) -> SSAValue:
    """`below` where `x < 0`, else `above`, which is `x` if not given."""
    return to.select(to.compare("less", x, 0), below, x if above is None else above)


def _safe_expm1(to: OnnxConverter, x: SSAValue) -> SSAValue:
    """`expm1` of what is not positive, so that its derivative is finite where it is not used."""
    return to.emit(ptir.Expm1Op, to.two(ptir.MinimumOp, x, 0))


def softplus(to: OnnxConverter, x: SSAValue) -> SSAValue:
    """`log(1 + exp(x)) = max(x, 0) + log1p(exp(-|x|))`."""
    return to.plus(relu(to, x), to.emit(ptir.Log1pOp, to.emit(ptir.ExpOp, to.emit(ptir.NegOp, to.emit(ptir.AbsOp, x)))))


def hard_sigmoid(to: OnnxConverter, x: SSAValue, alpha: float, beta: float) -> SSAValue:
    """`max(0, min(1, alpha x + beta))`."""
    y = to.plus(to.times(x, alpha), beta)
    return to.emit(ptir.ClampOp, y, to.like(0, y), to.like(1, y))


def gelu(to: OnnxConverter, x: SSAValue, *, is_exact: bool) -> SSAValue:
    """The Gaussian error linear unit, or its approximation by `tanh`."""
    half = to.times(x, 0.5)
    if is_exact:
        return to.times(half, to.plus(to.emit(ptir.ErfOp, to.times(x, math.sqrt(0.5))), 1))
    cube = to.times(to.times(to.times(x, x), x), 0.044715)
    return to.times(half, to.plus(to.emit(ptir.TanhOp, to.times(to.plus(x, cube), math.sqrt(2 / math.pi))), 1))


def _gelu(to: OnnxConverter, node: Node, x: SSAValue) -> SSAValue:
    return gelu(to, x, is_exact=node.word("approximate", "none", ("none", "tanh")) == "none")


def _swish(to: OnnxConverter, node: Node, x: SSAValue) -> SSAValue:
    return to.times(x, to.emit(ptir.LogisticOp, to.times(x, node.float("alpha", 1.0))))


def _shrink(to: OnnxConverter, node: Node, x: SSAValue) -> SSAValue:
    """`x + bias` below `-lambd`, `x - bias` above `lambd`, else 0."""
    limit, bias = node.float("lambd", 0.5), node.float("bias", 0.0)
    if not to.dtype(x).is_float and (limit != int(limit) or bias != int(bias)):
        raise Refused("Shrink of integers by fractions", "cast the operand to a float")
    limit, bias = (v if to.dtype(x).is_float else int(v) for v in (limit, bias))
    low = to.select(to.compare("less", x, to.like(-limit, x)), to.plus(x, bias), to.like(0, x))
    return to.select(to.compare("greater", x, to.like(limit, x)), to.minus(x, bias), low)


def _prelu(to: OnnxConverter, node: Node) -> SSAValue:
    x = node.x()
    return negative_part(to, x, to.times(x, to.broadcast(node.x(1), to.shape(x))))


def _celu(to: OnnxConverter, node: Node, x: SSAValue) -> SSAValue:
    alpha = node.float("alpha", 1.0)
    return negative_part(to, x, to.times(_safe_expm1(to, to.over(x, alpha)), alpha))


def _selu(to: OnnxConverter, node: Node, x: SSAValue) -> SSAValue:
    alpha, gamma = node.float("alpha", 1.67326319217681884765625), node.float("gamma", 1.05070102214813232421875)
    positive = to.compare("greater", x, 0)
    return to.times(to.select(positive, x, to.times(_safe_expm1(to, x), alpha)), gamma)


def _hard_swish(to: OnnxConverter, node: Node, x: SSAValue) -> SSAValue:
    return to.times(x, hard_sigmoid(to, x, 1 / 6, 0.5))


def _is_inf(to: OnnxConverter, node: Node, x: SSAValue) -> SSAValue:
    low, high = node.int("detect_negative", 1), node.int("detect_positive", 1)
    if not low and not high:
        return to.fill(False, I1, to.shape(x))
    y = to.emit(ptir.AbsOp, x) if low and high else x if high else to.emit(ptir.NegOp, x)
    return to.compare("equal", y, math.inf)


def _dropout(to: OnnxConverter, node: Node) -> Values:
    """Inference: the operand, and a mask of truths; before opset 10 it had another dtype, and models name it unread."""
    if bool(node.number(2)) and node.number(1) != 0:
        raise Refused("Dropout in training mode", "export the model for inference")
    x = node.x()
    if to.scope.opsets.get("", OLDEST_OPSET) < 10:
        return [x, Unusable(Refused("a mask of the dtype of the operand", EXPORT))]
    return [x, *([to.fill(True, I1, to.shape(x))] if node.wants(1) else [])]


def _tan(to: OnnxConverter, x: SSAValue) -> SSAValue:
    """`sin(x) / cos(x)`."""
    return to.over(to.emit(ptir.SinOp, x), to.emit(ptir.CosOp, x))


def _as_tensor(to: OnnxConverter, node: Node) -> Any:
    """A constant that no fold has: a word, a sparse tensor."""
    kinds = ", ".join(sorted(node.attributes)) or "nothing"
    raise Refused(f"a constant of {kinds}", "PTIR has dense tensors of numbers only")


ELEMENTWISE: dict[str, OnnxRow | Refused] = {
    **{name: _unary(op) for name, op in _UNARY.items()},
    **{name: _binary(op) for name, op in _BINARY.items()},
    **{name: _compared(kind) for name, kind in _COMPARED.items()},
    **{name: _folded(op) for name, op in _FOLDED.items()},
    "Acos": _real(REAL_ACOS),
    "Acosh": _real(REAL_ACOSH),
    "Asin": _real(REAL_ASIN),
    "Asinh": _real(REAL_ASINH),
    "Atan": _real(REAL_ATAN),
    "Atanh": _real(REAL_ATANH),
    "BitCast": _bit_cast,
    "BitShift": _shift,
    "Cast": _cast,
    "CastLike": _cast_like,
    "Celu": _formula(_celu),
    "Clip": _clip,
    "Constant": _as_tensor,
    "Cosh": _real(REAL_COSH),
    "Div": _div,
    "Dropout": _dropout,
    "Elu": _formula(lambda to, node, x: negative_part(to, x, to.times(_safe_expm1(to, x), node.float("alpha", 1.0)))),
    "Gelu": _formula(_gelu),
    "HardSigmoid": _formula(lambda to, node, x: hard_sigmoid(to, x, node.float("alpha", 0.2), node.float("beta", 0.5))),
    "HardSwish": _formula(_hard_swish),
    "Identity": _identity,
    "IsInf": _formula(_is_inf),
    "IsNaN": _formula(lambda to, node, x: to.compare("not_equal", x, x)),
    "LeakyRelu": _formula(lambda to, node, x: negative_part(to, x, to.times(x, node.float("alpha", 0.01)))),
    "Mean": _mean,
    "Mish": _formula(lambda to, node, x: to.times(x, to.emit(ptir.TanhOp, softplus(to, x)))),
    "Mod": _mod,
    "PRelu": _prelu,
    "Pow": _pow,
    "Relu": _formula(lambda to, node, x: relu(to, x)),
    "Selu": _formula(_selu),
    "Shrink": _formula(_shrink),
    "Sinh": _real(REAL_SINH),
    "Softplus": _formula(lambda to, node, x: softplus(to, x)),
    "Softsign": _formula(lambda to, node, x: to.over(x, to.plus(to.emit(ptir.AbsOp, x), 1))),
    "Swish": _formula(_swish),
    "Tan": _real(_tan),
    "ThresholdedRelu": _formula(
        lambda to, node, x: to.select(to.compare("greater", x, to.like(node.float("alpha", 1.0), x)), x, to.like(0, x))
    ),
    "Where": _where,
}
