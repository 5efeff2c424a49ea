"""Exported models run by ONNX Runtime against the NumPy target: every op row, in every dtype that is exported."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mind_dialect import ptir
from mind_dialect.errors import MindError
from mind_dialect.program import functions
from mind_dialect.ptir import BinaryOp, UnaryOp
from mind_dialect.ptir.types import F32, F64
from mind_lowering.ptir_to_onnx import RULES, onnx_model
from mind_passes.functional import grad
from mind_runtime import compile
from mind_runtime.compilation import find_function
from onnx_agreement import agree, is_exported
from ptir_batching_rows import ROWS, inputs
from ptir_forms import program

pytest.importorskip("onnx", reason="onnx is not installed")
pytest.importorskip("onnxruntime", reason="ONNX Runtime is not installed")


@pytest.mark.parametrize("row", [row for row in ROWS if any(is_exported(row.module(d)) for d in row.legal())], ids=str)
def test_op_rows(row: Any) -> None:
    for dtype in row.legal():
        module = row.module(dtype)
        if is_exported(module):
            agree(module, list(inputs(next(functions(module)), row)), f"{row} {dtype}")


def test_every_exported_op_has_a_row() -> None:
    from_rows = {type(op) for row in ROWS for d in row.legal() if is_exported(m := row.module(d)) for op in m.walk()}
    assert set(RULES) - from_rows == {
        *(ptir.ConstantOp, ptir.IotaOp, ptir.CastOp),
        *(ptir.FusionOp, ptir.CondOp, ptir.WhileOp, ptir.ScanOp),
    }, "these have tests below or in test_on_onnxruntime_more"


@pytest.mark.parametrize("dtype", ["f32", "f64", "si32", "si64"])
@pytest.mark.parametrize("interior", [(0, 0), (2, 1), (0, 3)])
@pytest.mark.parametrize(("low", "high"), [((1, 0), (0, 2)), ((0, 0), (0, 0)), ((2, 3), (1, 1))])
def test_padding(dtype: str, low: tuple[int, ...], high: tuple[int, ...], interior: tuple[int, ...]) -> None:
    made = program(f"{dtype}[2,3]", lambda x: ptir.PadOp(x, low=low, high=high, interior=interior, pad_value=-7))
    agree(made, [np.arange(6).reshape(2, 3).astype(compile(made).inputs[0].numpy_dtype)], "pad")


@pytest.mark.parametrize("dtype", ["f32", "f64", "si32", "si64"])
@pytest.mark.parametrize(("shape", "axis"), [((4,), 0), ((2, 3), 0), ((2, 3), -1), ((0, 2), 0)])
def test_counting_along_each_axis(dtype: str, shape: tuple[int, ...], axis: int) -> None:
    made = program("f32[2]", lambda x: [ptir.IotaOp(shape=shape, dtype=dtype, axis=axis), ptir.NegOp(x)])
    agree(made, [np.ones(2, np.float32)], "iota")


@pytest.mark.parametrize("to", ["f32", "f64", "si32", "si64", "i1"])
@pytest.mark.parametrize("source", ["f32", "f64", "si32", "si64", "i1"])
def test_casts(source: str, to: str) -> None:
    made = program(f"{source}[13]", lambda x: ptir.CastOp(x, dtype=to))
    edges = [1 << 31, (1 << 31) - 1, -(1 << 31), -(1 << 31) - 1, (1 << 63) - 1, -(1 << 63)]
    floats = [0.0, -0.0, 0.5, -0.9, 1.5, -2.7, 2.0**31, -(2.0**31), 2.0**63, -(2.0**64), np.nan, np.inf, -np.inf]
    dtype = compile(made).inputs[0].numpy_dtype
    values = np.resize(np.array(floats if source[0] == "f" else [0, 1, -1, 3, *edges]).astype(dtype), 13)
    agree(made, [values], f"{source} to {to}")


SPECIAL = [0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -7.25, 1e-9, -1.0, 40.0, np.inf, -np.inf, np.nan]
CONVERTED = (ptir.CastOp, ptir.CompareOp, ptir.StopGradientOp)
FLOAT_OPS = [op for op in RULES if issubclass(op, UnaryOp | BinaryOp) and op not in CONVERTED and F32 in RULES[op][1]]


@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("op", FLOAT_OPS, ids=lambda op: op.name)
def test_special_values(op: Any, dtype: str) -> None:
    count = 1 if issubclass(op, UnaryOp) else 2
    module = program(" ".join([f"{dtype}[169]"] * count), lambda *x: [op(*x)])
    pairs = np.array([(a, c) for a in SPECIAL for c in SPECIAL], "f4" if dtype == "f32" else "f8")
    if dtype == "f64" and F64 not in RULES[op][1]:
        with pytest.raises(MindError, match=f"{op.name} is not allowed in f64"):
            onnx_model(find_function(module, "f"))
    else:
        agree(module, [np.ascontiguousarray(pairs[:, i]) for i in range(count)], op.name)


def test_a_gradient() -> None:
    def loss(x: Any, w: Any) -> Any:
        return ptir.ReduceOp(ptir.TanhOp(product(x, w)), kind="sum", axes=(0, 1), keepdims=False)

    module = grad(program("f32[4,3] f32[3,2]", loss), wrt=(0, 1))
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=s).astype(np.float32) for s in ((4, 3), (3, 2))]
    agree(module, arrays, "gradient", "f_grad")


def product(x: Any, w: Any) -> Any:
    return ptir.DotGeneralOp(x, w, batch_lhs=(), batch_rhs=(), contract_lhs=(1,), contract_rhs=(0,))


def test_constants_and_repeated_results() -> None:
    small = ptir.PtirLiteralAttr.from_values(F32, (2, 2), [1.0, -2.0, 3.0, 0.5])
    large = ptir.PtirLiteralAttr.filled(F32, (20, 20), 2.5)
    module = program("f32[2,2]", lambda x: [x, ptir.ConstantOp(small), ptir.ConstantOp(small), ptir.ConstantOp(large)])
    agree(module, [np.ones((2, 2), np.float32)], "constants")
