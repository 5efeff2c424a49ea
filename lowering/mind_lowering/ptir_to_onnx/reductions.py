"""Reductions: NaN wins every maximum and minimum, integers wrap, reductions of nothing give the identity."""

from __future__ import annotations

from string import ascii_letters
from typing import Any, cast

import numpy as np

from mind_dialect import ptir
from mind_dialect.ptir.types import I1, SI32

from . import scalars
from .builder import FLOATS, NUMBERS, OnnxBuilder, reduction_identity

REDUCTIONS = {"sum": "ReduceSum", "max": "ReduceMax", "min": "ReduceMin", "prod": "ReduceProd"}


def reduce(b: OnnxBuilder, op: ptir.ReduceOp, x: list[str]) -> str:
    """
    Emit a reduction.

    ONNX leaves open whether NaN wins a maximum: it is looked for by itself.

    Of truth values, all and any are a minimum and a maximum, an exclusive or is an odd number of them.
    """
    values, (dtype, shape) = op.values(), op.operand_spec(0)
    given: dict[str, Any] = {"keepdims": int(values["keepdims"]), "noop_with_empty_axes": 1}
    axes = b.integers([a % len(shape) for a in values["axes"]])
    if not all(shape) and dtype is not I1:  # ONNX Runtime reduces nothing but sums of nothing
        return b("Expand", scalars.number(b, reduction_identity(values["kind"], dtype), dtype), b.sizes(op.result_spec().shape))
    if dtype in FLOATS and values["kind"] in ("max", "min"):
        some = b("ReduceMax", b("Cast", scalars.is_nan(b, x[0]), to=NUMBERS[SI32]), axes, **given)
        found = b(REDUCTIONS[values["kind"]], x[0], axes, **given)
        return b("Where", b("Cast", some, to=NUMBERS[I1]), scalars.number(b, np.nan, dtype), found)
    if dtype not in (*FLOATS, I1) and values["kind"] in ("sum", "prod"):
        return _integer_sum(b, op, x[0]) if values["kind"] == "sum" else _integer_product(b, op, x[0])
    if dtype is not I1:
        return b(REDUCTIONS[values["kind"]], x[0], axes, **given)
    counted = b("Cast", x[0], to=NUMBERS[SI32])
    if values["kind"] == "xor":
        odd = b("Mod", b("ReduceSum", counted, axes, **given), b.constant(np.array(2, np.int32)))
        return b("Cast", odd, to=NUMBERS[I1])
    return b("Cast", b("ReduceMin" if values["kind"] in ("and", "min") else "ReduceMax", counted, axes, **given), to=NUMBERS[I1])


def _unsqueezed(b: OnnxBuilder, op: ptir.ReduceOp, x: str) -> str:
    values, rank = op.values(), len(op.operand_spec(0).shape)
    return b("Unsqueeze", x, b.integers(sorted(a % rank for a in values["axes"]))) if values["keepdims"] else x


def _integer_sum(b: OnnxBuilder, op: ptir.ReduceOp, x: str) -> str:
    """A product with ones: ONNX Runtime sums integers in floats, which saturates and rounds, but its products wrap."""
    dtype, shape = op.operand_spec(0)
    axes = sorted({a % len(shape) for a in op.values()["axes"]})
    if not axes:
        return b("Identity", x)
    one = scalars.number(b, 1, dtype)
    ones = [b("Expand", one, b("Shape", x, start=a, end=a + 1)) for a in axes]
    letters = ascii_letters[: len(shape)]
    kept = "".join(letter for a, letter in enumerate(letters) if a not in axes)
    found = b("Einsum", x, *ones, equation=f"{','.join([letters, *(letters[a] for a in axes)])}->{kept}")
    return _unsqueezed(b, op, found)


def _integer_product(b: OnnxBuilder, op: ptir.ReduceOp, x: str) -> str:
    """Halves multiplied until one row is left, axis by axis: ONNX Runtime multiplies integers of a reduction in floats."""
    shape = op.operand_spec(0).shape
    axes = sorted({a % len(shape) for a in op.values()["axes"]}, reverse=True)
    for axis in axes:
        x = b("Squeeze", _halved(b, x, axis, cast(int, shape[axis])), b.integers([axis]))
    return _unsqueezed(b, op, b("Identity", x))


def _halved(b: OnnxBuilder, x: str, axis: int, extent: int) -> str:
    """Return the product along an axis, which stays with extent 1."""
    while extent > 1:
        cuts = [b.integers([v]) for v in (0, extent // 2, extent - extent % 2, extent)]
        first, second, *rest = (b("Slice", x, *cuts[i : i + 2], b.integers([axis])) for i in range(2 + extent % 2))
        x, extent = b("Mul", first, second), (extent + 1) // 2
        x = b("Concat", x, *rest, axis=axis) if rest else x
    return x


def condition(op: ptir.ReduceOp) -> str | None:
    """Return why a reduction has no form, if it has none."""
    kind, dtype = op.values()["kind"], op.operand_spec(0).dtype
    if dtype is I1:
        return None if kind not in ("sum", "prod") else f"of kind {kind} in i1"
    axes: tuple[int, ...] = op.values()["axes"]
    if kind == "prod" and dtype not in FLOATS and not all(isinstance(op.operand_spec(0).shape[a], int) for a in axes):
        return f"of kind prod in {dtype} along dynamic dimensions"
    return None if kind in REDUCTIONS else f"of kind {kind}: no operator of ONNX combines bits along an axis"
