"""The table of the export, keyed by op class: a rule, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from string import ascii_letters
from typing import Any

import numpy as np
from xdsl.ir import Operation

from mind_dialect import ptir
from mind_dialect.extents.dims import add_dims
from mind_dialect.ptir import PtirOp
from mind_dialect.ptir.types import BF16, F16, F32, PtirDType, read_type
from mind_dialect.shapes import inverse_permutation
from mind_passes.ptir.expand_narrow import WIDE

from ..ptir_kernels.formats import array_dtype
from . import control, indexing, ordering, reductions, scalars
from .builder import ARRAYS, EVERY, FLOATS, NUMBERS, NUMERIC, STORED, OnnxBuilder, Rule
from .dynamic import as_scalar, dynamic_refusal
from .ordering import dilated, pad


def _named(operator: str) -> Rule:
    return lambda b, op, x: b(operator, *x)


def _rsqrt(b: OnnxBuilder, op: ptir.RsqrtOp, x: list[str]) -> str:
    return b("Reciprocal", b("Sqrt", x[0]))


def _clamp(b: OnnxBuilder, op: ptir.ClampOp, x: list[str]) -> str:
    """`min(max(x, lo), hi)`."""
    return b("Min", b("Max", x[0], x[1]), x[2])


def _compare(b: OnnxBuilder, op: ptir.CompareOp, x: list[str]) -> str:
    names = {"less": "Less", "less_equal": "LessOrEqual", "greater": "Greater", "greater_equal": "GreaterOrEqual"}
    kind = op.values()["kind"]
    if kind == "not_equal":
        return b("Not", b("Equal", *x))
    return b(names.get(kind, "Equal"), *x)


def _constant(b: OnnxBuilder, op: ptir.ConstantOp, x: list[str]) -> str:
    dtype, shape = op.literal.spec
    values = [op.literal.item()] if op.literal.is_fill else list(op.literal.values())
    if op.literal.is_fill and int(np.prod(shape)) > 64:
        wide = WIDE.get(dtype, dtype)
        found = b("Expand", scalars.number(b, values[0], wide), b.integers(shape))
        return found if wide is dtype else b("Cast", found, to=NUMBERS[dtype])
    array = np.array(values).astype(array_dtype(dtype.name))
    return b.constant(np.ascontiguousarray(np.broadcast_to(array, shape) if op.literal.is_fill else array).reshape(shape))


def _reshape(b: OnnxBuilder, op: PtirOp, x: list[str]) -> str:
    return b("Reshape", x[0], b.sizes(op.result_spec().shape), allowzero=1)


def _shape(op: Any) -> tuple[Any, ...]:
    return tuple(op.result_spec().shape)


def _given(op: Any) -> tuple[Any, ...]:
    return tuple(op.operand_spec(0).shape)


def _transpose(b: OnnxBuilder, op: ptir.TransposeOp, x: list[str]) -> str:
    perm = op.values()["perm"]
    return b("Transpose", x[0], perm=[a % len(perm) for a in perm]) if perm else b("Identity", x[0])


def _broadcast_to(b: OnnxBuilder, op: ptir.BroadcastToOp, x: list[str]) -> str:
    return b("Expand", x[0], b.sizes(op.result_spec().shape))


def _slice(b: OnnxBuilder, op: ptir.SliceOp, x: list[str]) -> str:
    starts = op.values()["starts"]
    ends = list(map(add_dims, starts, op.values()["sizes"]))
    return b("Slice", x[0], b.sizes(starts), b.sizes(ends)) if starts else b("Identity", x[0])


def _strided_slice(b: OnnxBuilder, op: ptir.StridedSliceOp, x: list[str]) -> str:
    values = op.values()
    bounds = [b.sizes(values[name]) for name in ("starts", "limits")]
    axes = range(len(values["starts"]))
    return b("Slice", x[0], *bounds, b.integers(axes), b.integers(values["strides"])) if axes else b("Identity", x[0])


def _reverse(b: OnnxBuilder, op: ptir.ReverseOp, x: list[str]) -> str:
    """From the last element to the one before the first, which no end that counts from 0 can say."""
    axes = [a % len(_shape(op)) for a in op.values()["axes"]]
    if not axes:
        return b("Identity", x[0])
    last, before, back = ([n] * len(axes) for n in (-1, -(1 << 62), -1))
    return b("Slice", x[0], *(b.integers(v) for v in (last, before, axes, back)))


def _tile(b: OnnxBuilder, op: ptir.TileOp, x: list[str]) -> str:
    repeats = op.values()["repeats"]
    return b("Tile", x[0], b.integers(repeats)) if repeats else b("Identity", x[0])


def _pad(b: OnnxBuilder, op: ptir.PadOp, x: list[str]) -> str:
    values, dtype, value = op.values(), op.operand_spec(0).dtype, op.values()["pad_value"].item()
    wide = dilated(b, x[0], _given(op), values["interior"], value, dtype)
    return b("Identity", pad(b, wide, values["low"], values["high"], value, dtype))


def _dimension_size(b: OnnxBuilder, op: ptir.DimensionSizeOp, x: list[str]) -> str:
    axis: int = op.values()["axis"]
    size = op.operand_spec(0).shape[axis]
    return b.constant(np.array(size, np.int64)) if isinstance(size, int) else as_scalar(b, b.sizes([size]))


def _iota(b: OnnxBuilder, op: ptir.IotaOp, x: list[str]) -> str:
    dtype, shape = op.result_spec()
    axis: int = op.values()["axis"] % len(shape)
    counted = np.arange(_shape(op)[axis], dtype=ARRAYS[dtype]).reshape([-1 if i == axis else 1 for i in range(len(shape))])
    return b("Expand", b.constant(counted), b.integers(_shape(op)))


def _cumulative_sum(b: OnnxBuilder, op: ptir.CumulativeSumOp, x: list[str]) -> str:
    values = op.values()
    axis = b.constant(np.array(values["axis"] % len(_shape(op)), np.int64))
    return b("CumSum", x[0], axis, exclusive=int(values["exclusive"]), reverse=int(values["reverse"]))


def _convolution(b: OnnxBuilder, op: ptir.ConvolutionOp, x: list[str]) -> str:
    """Channels are last here, and the second dimension in ONNX."""
    values, rank = op.values(), len(_shape(op))
    spatial = range(rank - 2)
    image = dilated(b, x[0], _given(op), [0, *(n - 1 for n in values["base_dilation"]), 0], 0, op.operand_spec(0).dtype)
    lhs = b("Transpose", image, perm=[0, rank - 1, *(i + 1 for i in spatial)])
    rhs = b("Transpose", x[1], perm=[rank - 1, rank - 2, *spatial])
    given = {
        "strides": list(values["strides"]),
        "dilations": list(values["window_dilation"]),
        "pads": [pair[side] for side in (0, 1) for pair in values["padding"]],
        "group": values["feature_group_count"],
    }
    return b("Transpose", b("Conv", lhs, rhs, **given), perm=[0, *(i + 2 for i in spatial), 1])


def _layer_norm(b: OnnxBuilder, op: ptir.LayerNormOp, x: list[str]) -> str:
    values, rank = op.values(), len(_shape(op))
    axis: int = values["feature_axis"] % rank
    if axis == rank - 1:
        return b("LayerNormalization", *x, axis=-1, epsilon=values["epsilon"])
    there = [*(a for a in range(rank) if a != axis), axis]
    found = b("LayerNormalization", b("Transpose", x[0], perm=there), *x[1:], axis=-1, epsilon=values["epsilon"])
    return b("Transpose", found, perm=inverse_permutation(there))


def _concat(b: OnnxBuilder, op: ptir.ConcatOp, x: list[str]) -> str:
    return b("Concat", *x, axis=op.values()["axis"] % len(_shape(op)))


def _dot_general(b: OnnxBuilder, op: ptir.DotGeneralOp, x: list[str]) -> str:
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


def _same(b: OnnxBuilder, op: PtirOp, x: list[str]) -> str:
    return b("Identity", x[0])


_FLOAT_NAMES: dict[type[PtirOp], str] = {
    ptir.ExpOp: "Exp", ptir.LogOp: "Log", ptir.TanhOp: "Tanh", ptir.SqrtOp: "Sqrt", ptir.SinOp: "Sin", ptir.CosOp: "Cos",
    ptir.FloorOp: "Floor", ptir.CeilOp: "Ceil", ptir.RoundOp: "Round", ptir.LogisticOp: "Sigmoid", ptir.PowOp: "Pow",
    ptir.ReciprocalOp: "Reciprocal",
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
    ptir.ClampOp: (_clamp, NUMERIC),
    ptir.CompareOp: (_compare, NUMERIC),
    ptir.StopGradientOp: (_same, STORED),
    ptir.ConstantOp: (_constant, STORED),
    ptir.ReshapeOp: (_reshape, STORED),
    ptir.TransposeOp: (_transpose, STORED),
    ptir.BroadcastToOp: (_broadcast_to, EVERY),
    ptir.SliceOp: (_slice, STORED),
    ptir.StridedSliceOp: (_strided_slice, STORED),
    ptir.ReverseOp: (_reverse, STORED),
    ptir.TileOp: (_tile, EVERY),
    ptir.PadOp: (_pad, NUMERIC),
    ptir.IotaOp: (_iota, NUMERIC),
    ptir.DimensionSizeOp: (_dimension_size, STORED),
    ptir.SignOp: (_named("Sign"), NUMERIC),
    ptir.ConvolutionOp: (_convolution, frozenset({F32})),
    ptir.LayerNormOp: (_layer_norm, frozenset({F32})),
    ptir.CumulativeSumOp: (_cumulative_sum, NUMERIC),
    ptir.ConcatOp: (_concat, STORED),
    ptir.ReduceOp: (reductions.reduce, EVERY),
    ptir.DotGeneralOp: (_dot_general, NUMERIC),
    **scalars.RULES,
    **indexing.RULES,
    **ordering.RULES,
    **control.RULES,
}
"""A rule, which returns the one result, and the dtypes of results and operands (but masks) that ONNX Runtime computes it in."""

_NO_OPERATOR = "no operator of ONNX computes it"
REFUSED: Mapping[type[PtirOp], str] = {
    ptir.BitcastOp: "no operator of opset 21 reinterprets bits",
    ptir.FftOp: "its results are complex, and ONNX Runtime computes no complex numbers",
    **dict.fromkeys(
        (ptir.QuantizeOp, ptir.DequantizeOp, ptir.RequantizeOp),
        "quantized ops become arithmetic only where their dimensions have sizes",
    ),
    **dict.fromkeys((ptir.ErfInvOp, ptir.LgammaOp, ptir.DigammaOp), _NO_OPERATOR),
    **dict.fromkeys((ptir.PopcountOp, ptir.CountLeadingZerosOp), _NO_OPERATOR),
    **dict.fromkeys((ptir.RealOp, ptir.ImagOp, ptir.ComplexOp, ptir.ConjOp), "ONNX Runtime computes no complex numbers"),
    **dict.fromkeys((ptir.RngUniformOp, ptir.RngNormalOp), "ONNX does not specify which random numbers a seed produces"),
    ptir.CustomCallOp: "its function is Python, registered by name; run it outside of the program",
}
"""The ops without a rule."""


def _conversion_condition(op: Any) -> str | None:
    source, to = op.operand_spec(0).dtype, op.values()["dtype"]
    if isinstance(op, ptir.TruncateOp):
        return None if to in STORED else f"to {to}"
    one_step = to is WIDE.get(source, to) and (to in EVERY or (source is F32 and to in (F16, BF16)))
    return None if one_step else f"from {source} to {to}"


def _convolution_condition(op: ptir.ConvolutionOp) -> str | None:
    return None if len(_shape(op)) > 2 else "without spatial dimensions: the operator Conv needs one"


def _dot_condition(op: ptir.DotGeneralOp) -> str | None:
    dims = sum(len(op.operand_spec(i).shape) for i in range(2))
    return f"on {dims} dimensions: Einsum has {len(ascii_letters)} letters for them" if dims > len(ascii_letters) else None


CONDITIONS: Mapping[type[PtirOp], Callable[[Any], str | None]] = {
    ptir.CastOp: _conversion_condition,
    ptir.TruncateOp: _conversion_condition,
    ptir.ConvolutionOp: _convolution_condition,
    ptir.DotGeneralOp: _dot_condition,
    ptir.ReduceOp: reductions.condition,
}
"""Reasons why an op with a rule has none for some of its properties."""


def is_computed(op: Operation) -> bool:
    """Return whether an op has a rule for the dtypes that it has."""
    row: Any = RULES.get(type(op))  # pyright: ignore[reportArgumentType]
    return row is not None and all(read_type(v.type).dtype in row[1] for v in (*op.operands, *op.results))


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
    if (dynamic := dynamic_refusal(op)) is not None:
        return f"operation {op.name} is not allowed {dynamic}"
    if (condition := CONDITIONS.get(type(op))) is not None and (found := condition(op)) is not None:
        return f"operation {op.name} is not allowed {found}"
    values = op.values()
    for key in ("accum_dtype", "out_dtype"):
        if values.get(key) is not None and values[key] is not used[0]:
            return f"operation {op.name} is not allowed with {key} {values[key]}: ONNX accumulates in the operands' dtype"
    return None
