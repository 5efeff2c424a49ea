"""Exported models run by ONNX Runtime: integers at their edges, NaN in orders, windows, loops and branches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from xdsl.context import Context

from mind_dialect import ptir
from mind_dialect.errors import MindError
from mind_lowering.ptir_to_onnx import onnx_model
from mind_passes.functional import grad
from mind_passes.fusion.fuse import PtirFusePass
from mind_runtime import compile
from mind_runtime.compilation import find_function
from onnx_agreement import agree
from ptir_forms import program

pytest.importorskip("onnx", reason="onnx is not installed")
pytest.importorskip("onnxruntime", reason="ONNX Runtime is not installed")

ARRAYS: dict[str, Any] = {"f32": np.float32, "f64": np.float64, "si32": np.int32, "si64": np.int64, "i1": np.bool_}
SHIFTS = [ptir.ShiftLeftOp, ptir.ShiftRightArithmeticOp, ptir.ShiftRightLogicalOp]


@pytest.mark.parametrize("dtype", ["si32", "si64"])
@pytest.mark.parametrize("op", [ptir.DivOp, ptir.RemainderOp], ids=lambda op: op.name)
def test_divisions_of_integers(op: Any, dtype: str) -> None:
    least = np.iinfo(ARRAYS[dtype]).min
    left, right = np.array([(a, c) for a in (least, -7, -1, 0, 5, -(least + 1)) for c in (least, -3, -1, 1, 2)], ARRAYS[dtype]).T
    agree(program(f"{dtype}[30] {dtype}[30]", op), [left.copy(), right.copy()], op.name)


@pytest.mark.parametrize("dtype", ["si32", "si64"])
@pytest.mark.parametrize("op", SHIFTS, ids=lambda op: op.name)
def test_shifts_by_any_amount(op: Any, dtype: str) -> None:
    info = np.iinfo(ARRAYS[dtype])
    amounts = (-1, 0, 1, 5, info.bits - 1, info.bits, info.max, info.min)
    left, right = np.array([(a, c) for a in (info.min, -77, -1, 0, 1, 99, info.max) for c in amounts], ARRAYS[dtype]).T
    agree(program(f"{dtype}[56] {dtype}[56]", op), [left.copy(), right.copy()], op.name)


def test_truncation_keeps_the_low_bits() -> None:
    values = np.array([0, -1, 1 << 31, (1 << 40) + 5, -(1 << 63), (1 << 63) - 1], np.int64)
    agree(program("si64[6]", lambda x: ptir.TruncateOp(x, dtype="si32")), [values], "truncate")


def sample(dtype: str, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Few values, so that many are equal; floats with NaN, infinities and both zeros."""
    pool = [3, -2, 0, 1, 3, -5] if dtype[0] != "f" else [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, -2.0, 1.5]
    return np.random.default_rng(0).choice(np.array(pool, ARRAYS[dtype]), shape)


@pytest.mark.parametrize("dtype", ["f32", "f64", "si32", "si64"])
@pytest.mark.parametrize("downwards", [False, True])
def test_orders_with_nan_and_equal_elements(dtype: str, downwards: bool) -> None:
    x = sample(dtype, (3, 40))
    agree(program(f"{dtype}[3,40]", lambda x: ptir.SortOp(x, axis=-1, descending=downwards)), [x], "sort")
    for k in (0, 1, 7, 40):
        options: dict[str, Any] = {"k": k, "axis": 1, "largest": downwards, "indices_dtype": "si64"}
        made = program(f"{dtype}[3,40]", lambda x, options=options: list(ptir.TopKOp(x, **options).results))
        agree(made, [x], "top_k")
    for op in (ptir.ArgMaxOp, ptir.ArgMinOp):
        made = program(f"{dtype}[3,40]", lambda x, op=op: op(x, axis=0, keepdims=downwards, output_dtype="si32"))
        agree(made, [x], op.name)


@pytest.mark.parametrize("dtype", ["f32", "f64", "si32", "si64"])
@pytest.mark.parametrize("kind", ["max", "min"])
def test_extrema_with_nan(kind: str, dtype: str) -> None:
    x = sample(dtype, (9, 50))
    for axes in ((0,), (1,), (0, 1)):
        agree(program(f"{dtype}[9,50]", lambda x, a=axes: ptir.ReduceOp(x, kind=kind, axes=a, keepdims=False)), [x], kind)
    agree(program(f"{dtype}[9,50]", lambda x: ptir.CumulativeOp(x, kind=kind, axis=1, exclusive=False, reverse=True)), [x], kind)


@pytest.mark.parametrize("dtype", ["f32", "f64", "si32", "si64"])
@pytest.mark.parametrize("kind", ["sum", "prod", "max", "min"])
def test_reductions_of_nothing(kind: str, dtype: str) -> None:
    made = program(f"{dtype}[3,0]", lambda x: ptir.ReduceOp(x, kind=kind, axes=(1,), keepdims=False))
    agree(made, [np.ones((3, 0), ARRAYS[dtype])], kind)


WINDOWS = [
    {"window_dims": (1, 3, 2), "strides": (1, 2, 1), "padding": ((0, 0), (1, 1), (0, 1)), "window_dilation": (1, 1, 2)},
    {"window_dims": (2, 2, 1), "strides": (1, 3, 1), "padding": ((1, 0), (0, 2), (0, 0)), "window_dilation": (1, 2, 1)},
]


@pytest.mark.parametrize("dtype", ["f32", "f64", "si32", "si64"])
@pytest.mark.parametrize("window", WINDOWS, ids=["plain", "dilated"])
@pytest.mark.parametrize("kind", ["sum", "max", "min"])
def test_windows(kind: str, window: dict[str, Any], dtype: str) -> None:
    x = sample("si32", (2, 7, 5)).astype(ARRAYS[dtype]) if kind == "sum" else sample(dtype, (2, 7, 5))
    for holes in ((1, 1, 1), (1, 2, 3)):
        made = program(f"{dtype}[2,7,5]", lambda x, h=holes: ptir.ReduceWindowOp(x, kind=kind, base_dilation=h, **window))
        agree(made, [x], kind)
    if kind != "sum":
        made = program(f"{dtype}[2,7,5]", lambda x: ptir.WindowArgOp(x, kind=kind, output_dtype="si32", **window))
        agree(made, [x], f"window_arg {kind}")


def test_dilated_images_and_patches() -> None:
    rng = np.random.default_rng(0)
    image, kernel = rng.normal(size=(2, 5, 4, 3)).astype(np.float32), rng.normal(size=(2, 2, 3, 6)).astype(np.float32)
    conv: dict[str, Any] = {"strides": (1, 2), "padding": ((1, 0), (0, 1)), "window_dilation": (1, 1), "feature_group_count": 1}
    made = program("f32[2,5,4,3] f32[2,2,3,6]", lambda x, w: ptir.ConvolutionOp(x, w, base_dilation=(2, 3), **conv))
    agree(made, [image, kernel], "convolution")


@pytest.mark.parametrize("kind", ["and", "or", "xor"])
def test_reductions_of_truth_values(kind: str) -> None:
    x = np.random.default_rng(0).integers(0, 2, (4, 5)).astype(np.bool_)
    for axes in ((1,), (0, 1)):
        agree(program("i1[4,5]", lambda x, a=axes: ptir.ReduceOp(x, kind=kind, axes=a, keepdims=True)), [x], kind)
    with pytest.raises(MindError, match=r"E8008: .*no operator of ONNX combines bits"):
        onnx_model(find_function(program("si32[4]", lambda x: ptir.ReduceOp(x, kind=kind, axes=(0,), keepdims=False)), "f"))


@pytest.mark.parametrize("start", [-3, 0, 1, 2, 9])
def test_slices_at_places_that_are_clamped(start: int) -> None:
    x, update = np.arange(20, dtype=np.float32).reshape(5, 4), -np.ones((2, 4), np.float32)
    places = np.array([start, start], np.int32)
    agree(program("f32[5,4] si32[2]", lambda x, s: ptir.DynamicSliceOp(x, s, sizes=(2, 3))), [x, places], "slice")
    made = program("f32[5,4] f32[2,4] si32[2]", lambda x, u, s: ptir.DynamicUpdateSliceOp(x, u, s, sizes=(2, 4)))
    agree(made, [x, update, places], "update")


def test_branches_capture_their_arguments() -> None:
    def made(p: Any, x: Any, y: Any) -> Any:
        inner = ptir.CondOp(p, x, y, true=lambda a, c: [ptir.AddOp(a, c), a], false=lambda a, c: [ptir.SubOp(a, c), c])
        return list(inner.results)

    x, y = np.array([1.0, 2.0], np.float32), np.array([5.0, -1.0], np.float32)
    for p in (True, False):
        agree(program("i1[] f32[2] f32[2]", made), [np.array(p), x, y], "cond")


def scalar(value: float) -> Any:
    return ptir.ConstantOp(ptir.PtirLiteralAttr.from_values(ptir.types.F32, (), [value]))


@pytest.mark.parametrize("first", [0.5, 3.0, 200.0])
def test_loops_that_ask_before_each_iteration(first: float) -> None:
    def made(x: Any) -> Any:
        def test(v: Any) -> Any:
            doubled = ptir.AddOp(v, v)
            return [ptir.CompareOp(doubled, scalar(100.0), kind="less"), doubled]

        return ptir.WhileOp(x, cond=test, body=lambda v: [ptir.MulOp(v, v)]).results[0]

    agree(program("f32[]", made), [np.array(first, np.float32)], "while")


@pytest.mark.parametrize("length", [0, 1, 6])
def test_scans_stack_what_they_yield(length: int) -> None:
    def made(x: Any, xs: Any) -> Any:
        def body(c: Any, row: Any) -> Any:
            total = ptir.AddOp(c, ptir.MulOp(row, c))
            return [total, ptir.NegOp(total), row]

        return list(ptir.ScanOp(x, xs, carry_count=1, scan_output_count=2, body=body).results)

    rows = np.linspace(-1, 1, length * 2).reshape(length, 2).astype(np.float32)
    agree(program(f"f32[2] f32[{length},2]", made), [np.array([1.0, -2.0], np.float32), rows], "scan")


def test_the_gradient_of_a_scan() -> None:
    def loss(x: Any, xs: Any) -> Any:
        def body(c: Any, row: Any) -> Any:
            return [ptir.TanhOp(ptir.AddOp(c, row))]

        last = ptir.ScanOp(x, xs, carry_count=1, scan_output_count=0, body=body).results[0]
        return ptir.ReduceOp(last, kind="sum", axes=(0,), keepdims=False)

    arrays = [np.array([1.0, -2.0], np.float32), np.linspace(-1, 1, 10).reshape(5, 2).astype(np.float32)]
    agree(grad(program("f32[2] f32[5,2]", loss), wrt=(0, 1)), arrays, "gradient", "f_grad")


def test_a_fusion_is_its_body() -> None:
    module = program("f32[4]", lambda x: ptir.MulOp(ptir.ExpOp(x), ptir.NegOp(x)))
    PtirFusePass().apply(Context(), module)
    assert [op for op in module.walk() if isinstance(op, ptir.FusionOp)]
    agree(module, [np.linspace(-1, 1, 4).astype(np.float32)], "fusion")


def test_the_same_bytes_for_the_same_loop() -> None:
    module = program("f32[2] f32[3,2]", lambda x, xs: list(
        ptir.ScanOp(x, xs, carry_count=1, scan_output_count=0, body=lambda c, r: [ptir.AddOp(c, r)]).results))  # fmt: skip
    assert onnx_model(find_function(module, "f")) == onnx_model(find_function(module.clone(), "f"))
    assert compile(module, "f").name == "f"
