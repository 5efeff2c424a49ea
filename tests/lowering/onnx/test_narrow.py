"""Exported models in narrow dtypes, and integers beyond what floats hold, run by ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mind_dialect import ptir
from mind_dialect.errors import MindError
from mind_lowering.ptir_kernels.formats import array_dtype
from mind_lowering.ptir_to_onnx import onnx_model
from mind_passes.functional import grad
from mind_runtime import compile
from mind_runtime.compilation import find_function
from mind_translate.onnx import read_onnx
from onnx_agreement import agree, is_exported
from ptir_batching_rows import ROWS
from ptir_forms import program

onnx: Any = pytest.importorskip("onnx", reason="onnx is not installed")
pytest.importorskip("onnxruntime", reason="ONNX Runtime is not installed")

NARROW = ["si8", "ui8", "si16", "ui16", "ui32", "f16", "bf16"]
DTYPES = [*NARROW, "f32", "f64", "si32", "si64", "i1"]


WIDE = {"f16": "f32", "bf16": "f32", "ui32": "si64"}


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_a_row_that_is_exported_in_a_wide_dtype_is_in_its_narrow_ones(row: Any) -> None:
    """`test_op_rows` runs what is exported; here, nothing is left out silently."""
    legal = {d.name: d for d in row.legal()}
    for name in NARROW:
        wide = WIDE.get(name, "si32")
        if name in legal and wide in legal and is_exported(row.module(legal[wide])):
            assert is_exported(row.module(legal[name])), name


def numbers(dtype: str, *shape: int) -> Any:
    rng = np.random.default_rng(0)
    if dtype[0] in "fb":
        return rng.normal(size=shape).astype(array_dtype(dtype))
    return rng.integers(-(2**62), 2**62, shape).astype(array_dtype(dtype))


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axes", [(0,), (1,), (2,), (0, 2), (0, 1, 2), ()], ids=str)
@pytest.mark.parametrize("kind", ["sum", "prod"])
@pytest.mark.parametrize("dtype", ["si32", "si64", "si8", "ui16", "ui32"])
def test_integer_reductions_wrap(dtype: str, kind: str, axes: tuple[int, ...], keepdims: bool) -> None:
    """Beyond 2^53, and beyond the dtype, where ONNX Runtime's own reductions round and saturate."""
    made = program(f"{dtype}[5,4,7]", lambda x: ptir.ReduceOp(x, kind=kind, axes=axes, keepdims=keepdims))
    agree(made, [numbers(dtype, 5, 4, 7)], f"{kind} {dtype}")


def test_sums_of_named_dimensions_wrap() -> None:
    made = program("si64[B,4]", lambda x: [ptir.ReduceOp(x, kind="sum", axes=(0,), keepdims=True), ptir.NegOp(x)])
    for n in (0, 1, 6):
        agree(made, [numbers("si64", n, 4)], f"B={n}")
    product = program("si64[B,4]", lambda x: ptir.ReduceOp(x, kind="prod", axes=(0,), keepdims=True))
    with pytest.raises(MindError, match=r"E8008: .*prod in si64 along dynamic dimensions"):
        onnx_model(find_function(product, "f"))


def test_ragged_products_of_integers_wrap() -> None:
    given: dict[str, Any] = {"kind": "rows"}
    made = program("si64[6,3] si64[2,3,4] si64[2]", lambda x, w, n: ptir.RaggedDotOp(x, w, n, **given))
    agree(made, [numbers("si64", 6, 3), numbers("si64", 2, 3, 4), np.array([2, 3])], "ragged")


@pytest.mark.parametrize("to", DTYPES)
@pytest.mark.parametrize("source", DTYPES)
@pytest.mark.filterwarnings("ignore:(overflow|invalid value):RuntimeWarning")
def test_conversions(source: str, to: str) -> None:
    edges = [0, 1, -1, 127, 128, -129, 255, 256, 32768, -32769, 65535, 65520, 2**31, -(2**31) - 1, 2**32, 2**63 - 1]
    halves = [0.5, -0.9, 254.7, 1 + 2.0**-11 + 2.0**-40, 1 + 2.0**-8 - 2.0**-40, 65519.9999999, np.nan, np.inf, -np.inf]
    floats = source[0] in "fb"
    values = np.array([*edges, *halves], np.float64) if floats else np.resize(np.array(edges, np.int64), len(edges) + 9)
    made = program(f"{source}[{len(values)}]", lambda x: ptir.CastOp(x, dtype=to))
    agree(made, [values.astype(array_dtype(source))], f"{source} to {to}")


@pytest.mark.parametrize("dtype", NARROW)
def test_moves_stay_narrow(dtype: str) -> None:
    """No cast around what only moves elements, and the signature has the narrow dtype."""

    def made(x: Any) -> Any:
        turned = ptir.TransposeOp(ptir.ReshapeOp(x, new_shape=(4, 3)), perm=(1, 0))
        return ptir.ConcatOp(ptir.SliceOp(turned, starts=(0, 1), sizes=(3, 2)), ptir.ReverseOp(turned, axes=(0,)), axis=1)

    module = program(f"{dtype}[3,4]", made)
    model = onnx.load_from_string(onnx_model(find_function(module, "f")))
    assert "Cast" not in {node.op_type for node in model.graph.node}
    agree(module, [numbers(dtype, 3, 4)], dtype)


@pytest.mark.parametrize("index", ["si32", "si64"])
@pytest.mark.parametrize("dtype", ["f16", "bf16", "si8", "f32"])
def test_rows_of_a_table(dtype: str, index: str) -> None:
    made = program(f"{dtype}[5,2] {index}[3]", lambda t, i: ptir.TakeOp(t, i))
    agree(made, [numbers(dtype, 5, 2), np.array([4, 0, 2]).astype(array_dtype(index))], f"{dtype} at {index}")


@pytest.mark.parametrize("dtype", NARROW)
def test_constants(dtype: str) -> None:
    from mind_dialect.ptir.types import DTYPES as ALL

    small = ptir.PtirLiteralAttr.from_values(ALL[dtype], (2,), [1, 3])
    large = ptir.PtirLiteralAttr.filled(ALL[dtype], (20, 20), 2)
    module = program(f"{dtype}[2]", lambda x: [ptir.AddOp(x, ptir.ConstantOp(small)), ptir.ConstantOp(large)])
    agree(module, [np.ones(2).astype(array_dtype(dtype))], dtype)


def test_loops_carry_narrow_numbers() -> None:
    def made(x: Any, xs: Any) -> Any:
        body: Any = lambda c, row: [ptir.AddOp(c, row), ptir.MulOp(c, row)]  # noqa: E731
        return list(ptir.ScanOp(x, xs, carry_count=1, scan_output_count=1, body=body).results)

    for n in (0, 3):
        rows = np.array([[50, -50], [3, 4], [-7, 9]], np.int8)[:n]
        agree(program(f"si8[2] si8[{n},2]", made), [np.array([100, -100], np.int8), rows], "scan")


@pytest.mark.parametrize("axis", [None, 1])
def test_quantised_programs(axis: int | None) -> None:
    """Quantise, multiply in integers of 8 bits with sums in 32, and back."""
    along = "[3]" if axis == 1 else "[]"

    def made(x: Any, w: Any, s: Any, z: Any) -> Any:
        q = ptir.QuantizeOp(x, s, z, output_dtype="si8", axis=axis)
        product: Any = ptir.DotGeneralOp(
            q, w, batch_lhs=(), batch_rhs=(), contract_lhs=(1,), contract_rhs=(0,), accum_dtype="si32", out_dtype="si32"
        )
        return [product, ptir.DequantizeOp(q, s, z, output_dtype="f32", axis=axis), q]

    module = program(f"f32[4,3] si8[3,2] f32{along} si8{along}", made)
    rng = np.random.default_rng(0)
    shape = (3,) if axis == 1 else ()
    arrays = [rng.normal(size=(4, 3)).astype(np.float32), rng.integers(-128, 128, (3, 2)).astype(np.int8)]
    scales = np.asarray(np.full(shape, 0.013), np.float32)
    agree(module, [*arrays, scales, np.asarray(np.full(shape, -3), np.int8)], "quantised")


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_a_layer_and_its_gradient_in_16_bits(dtype: str) -> None:
    def loss(x: Any, w: Any, b: Any) -> Any:
        h = ptir.DotGeneralOp(x, w, batch_lhs=(), batch_rhs=(), contract_lhs=(1,), contract_rhs=(0,))
        y = ptir.LogisticOp(ptir.AddOp(h, ptir.BroadcastToOp(b, result_shape=(4, 2))))
        return ptir.ReduceOp(y, kind="sum", axes=(0, 1), keepdims=False)

    module = grad(program(f"{dtype}[4,3] {dtype}[3,2] {dtype}[2]", loss), wrt=(0, 1, 2))
    agree(module, [numbers(dtype, *s) for s in ((4, 3), (3, 2), (2,))], dtype, "f_grad")


@pytest.mark.parametrize("dtype", ["ui64", "si4", "ui4", "fp8_e4m3", "fp8_e5m2", "cf32"])
def test_what_has_no_wider_dtype_is_refused(dtype: str) -> None:
    with pytest.raises(MindError, match="E8008"):
        onnx_model(find_function(program(f"{dtype}[4] {dtype}[4]", lambda x, y: ptir.AddOp(x, y)), "f"))


def test_a_stated_narrow_accumulator_is_refused() -> None:
    """It rounds after each addition, which no operator does."""
    given: dict[str, Any] = {"axes": (0,), "keepdims": False, "accum_dtype": "f16"}
    with pytest.raises(MindError, match=r"E8008: .*ptir.reduce is not allowed in f16"):
        onnx_model(find_function(program("f16[4]", lambda x: ptir.ReduceOp(x, kind="sum", **given)), "f"))


@pytest.mark.parametrize("dtype", NARROW)
def test_the_executor_takes_and_gives_narrow_arrays(dtype: str) -> None:
    module = program(f"{dtype}[3] f32[3]", lambda x, y: [ptir.AddOp(x, x), y, ptir.CastOp(x, dtype="f32")])
    x, y = numbers(dtype, 3), np.ones(3, np.float32)
    for found, wanted in zip(compile(module, target="onnx")(x, y), compile(module)(x, y), strict=True):
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)


def test_narrow_models_are_read_back_with_their_signature() -> None:
    module = read_onnx(onnx_model(find_function(program("si8[N,2] si8[N,2]", lambda x, y: ptir.MulOp(x, y)), "f")))
    (result,) = compile(module).outputs
    assert (str(result.dtype), result.shape[1]) == ("si8", 2)
