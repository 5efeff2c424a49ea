"""The table of the export, keyed by op class: a rule, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from string import ascii_letters
from typing import Any

import numpy as np

from mind_dialect import ptir
from mind_dialect.ptir import PtirOp
from mind_dialect.ptir.types import F32, F64, I1, PtirDType

from .builder import ARRAYS, NUMBERS, Builder

Rule = Callable[[Builder, Any, list[str]], str]
FLOATS = frozenset({F32, F64})
NUMERIC = frozenset(NUMBERS) - {I1}
EVERY = frozenset(NUMBERS)
REDUCTIONS = {"sum": "ReduceSum", "max": "ReduceMax", "min": "ReduceMin", "prod": "ReduceProd"}


def _named(operator: str) -> Rule:
    return lambda b, op, x: b(operator, *x)


def _rsqrt(b: Builder, op: ptir.RsqrtOp, x: list[str]) -> str:
    return b("Reciprocal", b("Sqrt", x[0]))


def _clamp(b: Builder, op: ptir.ClampOp, x: list[str]) -> str:
    """`min(max(x, lo), hi)`."""
    return b("Min", b("Max", x[0], x[1]), x[2])


def _compare(b: Builder, op: ptir.CompareOp, x: list[str]) -> str:
    names = {"less": "Less", "less_equal": "LessOrEqual", "greater": "Greater", "greater_equal": "GreaterOrEqual"}
    kind = op.values()["kind"]
    if kind == "not_equal":
        return b("Not", b("Equal", *x))
    return b(names.get(kind, "Equal"), *x)


def _constant(b: Builder, op: ptir.ConstantOp, x: list[str]) -> str:
    dtype, shape = op.literal.spec
    values = [op.literal.item()] if op.literal.is_fill else list(op.literal.values())
    array = np.array(values, ARRAYS[dtype])
    if op.literal.is_fill and int(np.prod(shape)) > 64:
        return b("Expand", b.constant(array.reshape(())), b.integers(shape))
    return b.constant(np.ascontiguousarray(np.broadcast_to(array, shape) if op.literal.is_fill else array).reshape(shape))


def _reshape(b: Builder, op: PtirOp, x: list[str]) -> str:
    return b("Reshape", x[0], b.integers(_shape(op)), allowzero=1)


def _shape(op: Any) -> tuple[int, ...]:
    return tuple(op.result_spec().shape)


def _transpose(b: Builder, op: ptir.TransposeOp, x: list[str]) -> str:
    perm = op.values()["perm"]
    return b("Transpose", x[0], perm=[a % len(perm) for a in perm]) if perm else b("Identity", x[0])


def _broadcast_to(b: Builder, op: ptir.BroadcastToOp, x: list[str]) -> str:
    return b("Expand", x[0], b.integers(_shape(op)))


def _slice(b: Builder, op: ptir.SliceOp, x: list[str]) -> str:
    starts = op.values()["starts"]
    ends = [start + n for start, n in zip(starts, _shape(op), strict=True)]
    return b("Slice", x[0], b.integers(starts), b.integers(ends)) if starts else b("Identity", x[0])


def _strided_slice(b: Builder, op: ptir.StridedSliceOp, x: list[str]) -> str:
    values = op.values()
    bounds = [b.integers(values[name]) for name in ("starts", "limits")]
    axes = range(len(values["starts"]))
    return b("Slice", x[0], *bounds, b.integers(axes), b.integers(values["strides"])) if axes else b("Identity", x[0])


def _reverse(b: Builder, op: ptir.ReverseOp, x: list[str]) -> str:
    """From the last element to the one before the first, which no end that counts from 0 can say."""
    axes = [a % len(_shape(op)) for a in op.values()["axes"]]
    if not axes:
        return b("Identity", x[0])
    last, before, back = ([n] * len(axes) for n in (-1, -(1 << 62), -1))
    return b("Slice", x[0], *(b.integers(v) for v in (last, before, axes, back)))


def _tile(b: Builder, op: ptir.TileOp, x: list[str]) -> str:
    repeats = op.values()["repeats"]
    return b("Tile", x[0], b.integers(repeats)) if repeats else b("Identity", x[0])


def _pad(b: Builder, op: ptir.PadOp, x: list[str]) -> str:
    values = op.values()
    if not values["low"]:
        return b("Identity", x[0])
    filler = b.constant(np.array(values["pad_value"].item(), ARRAYS[op.operand_spec(0).dtype]))
    return b("Pad", x[0], b.integers([*values["low"], *values["high"]]), filler)


def _iota(b: Builder, op: ptir.IotaOp, x: list[str]) -> str:
    dtype, shape = op.result_spec()
    axis: int = op.values()["axis"] % len(shape)
    counted = np.arange(_shape(op)[axis], dtype=ARRAYS[dtype]).reshape([-1 if i == axis else 1 for i in range(len(shape))])
    return b("Expand", b.constant(counted), b.integers(_shape(op)))


def _cumulative_sum(b: Builder, op: ptir.CumulativeSumOp, x: list[str]) -> str:
    values = op.values()
    axis = b.constant(np.array(values["axis"] % len(_shape(op)), np.int64))
    return b("CumSum", x[0], axis, exclusive=int(values["exclusive"]), reverse=int(values["reverse"]))


def _cast(b: Builder, op: ptir.CastOp, x: list[str]) -> str:
    return b("Cast", x[0], to=NUMBERS[op.result_spec().dtype])


def _convolution(b: Builder, op: ptir.ConvolutionOp, x: list[str]) -> str:
    """Channels are last here, and the second dimension in ONNX."""
    values, rank = op.values(), len(_shape(op))
    spatial = range(rank - 2)
    lhs = b("Transpose", x[0], perm=[0, rank - 1, *(i + 1 for i in spatial)])
    rhs = b("Transpose", x[1], perm=[rank - 1, rank - 2, *spatial])
    given = {
        "strides": list(values["strides"]),
        "dilations": list(values["window_dilation"]),
        "pads": [pair[side] for side in (0, 1) for pair in values["padding"]],
        "group": values["feature_group_count"],
    }
    return b("Transpose", b("Conv", lhs, rhs, **given), perm=[0, *(i + 2 for i in spatial), 1])


def _layer_norm(b: Builder, op: ptir.LayerNormOp, x: list[str]) -> str:
    return b("LayerNormalization", *x, axis=-1, epsilon=op.values()["epsilon"])


def _concat(b: Builder, op: ptir.ConcatOp, x: list[str]) -> str:
    return b("Concat", *x, axis=op.values()["axis"] % len(_shape(op)))


def _reduce(b: Builder, op: ptir.ReduceOp, x: list[str]) -> str:
    values = op.values()
    operator = REDUCTIONS[values["kind"]]
    axes = [a % len(op.operand_spec(0).shape) for a in values["axes"]]
    return b(operator, x[0], b.integers(axes), keepdims=int(values["keepdims"]), noop_with_empty_axes=1)


def _dot_general(b: Builder, op: ptir.DotGeneralOp, x: list[str]) -> str:
    """A letter for each dimension; results are batch, left and right dimensions in this order."""
    values = op.values()
    ranks = [len(op.operand_spec(i).shape) for i in range(2)]
    lhs, rhs = list(ascii_letters[: ranks[0]]), list(ascii_letters[ranks[0] : sum(ranks)])
    batch: list[int] = [a % ranks[0] for a in values["batch_lhs"]]
    contracted: list[int] = [a % ranks[0] for a in values["contract_lhs"]]
    shared: list[int] = [a % ranks[1] for key in ("batch_rhs", "contract_rhs") for a in values[key]]
    for a, c in zip([*batch, *contracted], shared, strict=True):
        rhs[c] = lhs[a]
    free = [lhs[a] for a in range(ranks[0]) if a not in batch and a not in contracted]
    others = [letter for c, letter in enumerate(rhs) if c not in shared]
    result = "".join([*(lhs[a] for a in batch), *free, *others])
    return b("Einsum", *x, equation=f"{''.join(lhs)},{''.join(rhs)}->{result}")


def _same(b: Builder, op: PtirOp, x: list[str]) -> str:
    return b("Identity", x[0])


_FLOAT_NAMES: dict[type[PtirOp], str] = {
    ptir.ExpOp: "Exp", ptir.LogOp: "Log", ptir.TanhOp: "Tanh", ptir.SqrtOp: "Sqrt", ptir.SinOp: "Sin", ptir.CosOp: "Cos",
    ptir.FloorOp: "Floor", ptir.CeilOp: "Ceil", ptir.RoundOp: "Round", ptir.LogisticOp: "Sigmoid", ptir.PowOp: "Pow",
    ptir.ReciprocalOp: "Reciprocal", ptir.DivOp: "Div",
}  # fmt: skip
_NUMBER_NAMES: dict[type[PtirOp], str] = {
    ptir.NegOp: "Neg", ptir.AddOp: "Add", ptir.SubOp: "Sub", ptir.MulOp: "Mul", ptir.MaximumOp: "Max", ptir.MinimumOp: "Min",
    ptir.AbsOp: "Abs",
}  # fmt: skip

RULES: Mapping[type[PtirOp], tuple[Rule, frozenset[PtirDType]]] = {
    **{op: (_named(name), FLOATS) for op, name in _FLOAT_NAMES.items()},
    **{op: (_named(name), NUMERIC) for op, name in _NUMBER_NAMES.items()},
    ptir.ErfOp: (_named("Erf"), frozenset({F32})),
    ptir.RsqrtOp: (_rsqrt, FLOATS),
    ptir.NotOp: (_named("Not"), frozenset({I1})),
    ptir.AndOp: (_named("And"), frozenset({I1})),
    ptir.OrOp: (_named("Or"), frozenset({I1})),
    ptir.XorOp: (_named("Xor"), frozenset({I1})),
    ptir.ClampOp: (_clamp, NUMERIC),
    ptir.CompareOp: (_compare, NUMERIC),
    ptir.SelectOp: (_named("Where"), NUMERIC),
    ptir.StopGradientOp: (_same, EVERY),
    ptir.ConstantOp: (_constant, EVERY),
    ptir.ReshapeOp: (_reshape, EVERY),
    ptir.TransposeOp: (_transpose, EVERY),
    ptir.BroadcastToOp: (_broadcast_to, EVERY),
    ptir.SliceOp: (_slice, EVERY),
    ptir.StridedSliceOp: (_strided_slice, EVERY),
    ptir.ReverseOp: (_reverse, EVERY),
    ptir.TileOp: (_tile, EVERY),
    ptir.PadOp: (_pad, NUMERIC),
    ptir.IotaOp: (_iota, NUMERIC),
    ptir.CastOp: (_cast, EVERY),
    ptir.SignOp: (_named("Sign"), NUMERIC),
    ptir.ConvolutionOp: (_convolution, frozenset({F32})),
    ptir.LayerNormOp: (_layer_norm, frozenset({F32})),
    ptir.CumulativeSumOp: (_cumulative_sum, FLOATS),
    ptir.ConcatOp: (_concat, EVERY),
    ptir.ReduceOp: (_reduce, NUMERIC),
    ptir.DotGeneralOp: (_dot_general, NUMERIC),
}
"""A rule, which returns the one result, and the dtypes of results and operands (but masks) that ONNX Runtime computes it in."""

_WANTED = "ONNX can say it, and no rule is written"
_NO_OPERATOR = "no operator of ONNX computes it"
REFUSED: Mapping[type[PtirOp], str] = {
    **dict.fromkeys(
        (ptir.Expm1Op, ptir.Log1pOp, ptir.CbrtOp, ptir.RoundAwayOp, ptir.Atan2Op, ptir.RemainderOp),
        _WANTED,
    ),
    **dict.fromkeys((ptir.ShiftLeftOp, ptir.ShiftRightArithmeticOp, ptir.ShiftRightLogicalOp, ptir.BitcastOp), _WANTED),
    **dict.fromkeys((ptir.TruncateOp,), _WANTED),
    **dict.fromkeys((ptir.DynamicSliceOp, ptir.DynamicUpdateSliceOp, ptir.ExtractPatchesOp), _WANTED),
    **dict.fromkeys((ptir.ArgMaxOp, ptir.ArgMinOp, ptir.ReduceWindowOp, ptir.WindowArgOp), _WANTED),
    **dict.fromkeys((ptir.CumulativeOp, ptir.SortOp, ptir.TopKOp, ptir.TakeOp, ptir.GatherOp, ptir.ScatterAddOp), _WANTED),
    **dict.fromkeys((ptir.GatherWindowsOp, ptir.ScatterWindowsOp, ptir.ScatterReduceOp, ptir.SegmentReduceOp), _WANTED),
    **dict.fromkeys((ptir.QuantizeOp, ptir.DequantizeOp, ptir.RequantizeOp, ptir.FftOp), _WANTED),
    **dict.fromkeys((ptir.FusionOp, ptir.CondOp, ptir.WhileOp, ptir.ScanOp), _WANTED),
    **dict.fromkeys((ptir.ErfInvOp, ptir.LgammaOp, ptir.DigammaOp), _NO_OPERATOR),
    **dict.fromkeys((ptir.PopcountOp, ptir.CountLeadingZerosOp), _NO_OPERATOR),
    **dict.fromkeys((ptir.RealOp, ptir.ImagOp, ptir.ComplexOp, ptir.ConjOp), "ONNX Runtime computes no complex numbers"),
    **dict.fromkeys((ptir.RngUniformOp, ptir.RngNormalOp), "ONNX does not say which random numbers a seed gives"),
    ptir.CustomCallOp: "its function is Python, registered by name; run it outside of the program",
}
"""The ops without a rule."""


def _cast_condition(op: ptir.CastOp) -> str | None:
    source, to = op.operand_spec(0).dtype, op.values()["dtype"]
    if source in FLOATS and to not in FLOATS:
        return f"from {source} to {to}: ONNX leaves open what is out of range"
    return None if to in EVERY else f"in {to}"


def _convolution_condition(op: ptir.ConvolutionOp) -> str | None:
    if set(op.values()["base_dilation"]) - {1} or len(_shape(op)) < 3:
        return f"with base dilation or without spatial dimensions: {_WANTED}"
    return None


def _dot_condition(op: ptir.DotGeneralOp) -> str | None:
    dims = sum(len(op.operand_spec(i).shape) for i in range(2))
    return f"on {dims} dimensions: Einsum has {len(ascii_letters)} letters for them" if dims > len(ascii_letters) else None


def _layer_norm_condition(op: ptir.LayerNormOp) -> str | None:
    last = len(_shape(op)) - 1
    return None if op.values()["feature_axis"] in (-1, last) else f"along another axis than the last: {_WANTED}"


def _pad_condition(op: ptir.PadOp) -> str | None:
    return f"with interior padding: {_WANTED}" if any(op.values()["interior"]) else None


def _reduce_condition(op: ptir.ReduceOp) -> str | None:
    kind = op.values()["kind"]
    return None if kind in REDUCTIONS else f"of kind {kind}: {_NO_OPERATOR}"


CONDITIONS: Mapping[type[PtirOp], Callable[[Any], str | None]] = {
    ptir.CastOp: _cast_condition,
    ptir.ConvolutionOp: _convolution_condition,
    ptir.DotGeneralOp: _dot_condition,
    ptir.LayerNormOp: _layer_norm_condition,
    ptir.PadOp: _pad_condition,
    ptir.ReduceOp: _reduce_condition,
}
"""Why an op with a rule has none for its properties, if so."""


def refusal(op: Any) -> str | None:
    """Return why an op cannot be exported, if it cannot."""
    if not isinstance(op, PtirOp):
        return None
    if (reason := REFUSED.get(type(op))) is not None:
        return f"operation {op.name} is not allowed: {reason}"
    if type(op) not in RULES:
        return None
    used = [op.operand_spec(i).dtype for i in range(len(op.operands))] or [op.result_spec().dtype]
    if isinstance(op, ptir.SelectOp):
        used = used[1:]
    if (wrong := next((dtype for dtype in used if dtype not in RULES[type(op)][1]), None)) is not None:
        return f"operation {op.name} is not allowed in {wrong}"
    if (condition := CONDITIONS.get(type(op))) is not None and (found := condition(op)) is not None:
        return f"operation {op.name} is not allowed {found}"
    values = op.values()
    for key in ("accum_dtype", "out_dtype"):
        if values.get(key) is not None and values[key] is not used[0]:
            return f"operation {op.name} is not allowed with {key} {values[key]}: ONNX accumulates in the operands' dtype"
    return None
