"""Rows with many forms, against ONNX Runtime: convolutions, pools, resizes, recurrent layers, quantised ops, ai.onnx.ml."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mind_dialect.errors import MindError
from mind_runtime import compile
from mind_translate.onnx import read_onnx
from onnx_nodes import agrees, node_model, normal, runtime, whole

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")


CONVOLUTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "strides": {"strides": [2, 3]},
    "pads that differ": {"pads": [0, 2, 1, 3]},
    "dilations": {"dilations": [2, 3], "pads": [1, 0, 0, 2]},
    "same upper": {"auto_pad": "SAME_UPPER", "strides": [2, 2]},
    "same lower": {"auto_pad": "SAME_LOWER", "strides": [2, 3]},
    "valid": {"auto_pad": "VALID", "strides": [3, 2]},
}


@pytest.mark.parametrize("form", CONVOLUTIONS)
@pytest.mark.parametrize("groups", [1, 2, 4])
def test_convolutions(form: str, groups: int):
    agrees("Conv", [normal(2, 4, 9, 10), normal(8, 4 // groups, 3, 2), normal(8)], group=groups, **CONVOLUTIONS[form])


@pytest.mark.parametrize("rank", [1, 3])
def test_convolutions_of_other_ranks(rank: int):
    agrees("Conv", [normal(1, 2, *[6] * rank), normal(3, 2, *[3] * rank)], pads=[1, 0, 2, 1, 0, 1][: 2 * rank])


@pytest.mark.parametrize("p", [1, 2])
def test_normalized_vectors_of_zeros_stay(p: int):
    x = normal(3, 4)
    x[1] = 0
    agrees("LpNormalization", [x], axis=1, p=p)


TRANSPOSED: dict[str, dict[str, Any]] = {
    "plain": {},
    "strides": {"strides": [2, 3]},
    "output padding": {"strides": [2, 3], "output_padding": [1, 2]},
    "pads": {"strides": [2, 2], "pads": [1, 0, 0, 1]},
    "dilations": {"dilations": [2, 2]},
    "output shape": {"strides": [3, 2], "output_shape": [14, 10]},
    "output shape beyond the result": {"strides": [3, 3], "output_shape": [16, 16]},
}


@pytest.mark.parametrize("form", TRANSPOSED)
@pytest.mark.parametrize("groups", [1, 2])
def test_transposed_convolutions(form: str, groups: int):
    agrees("ConvTranspose", [normal(1, 4, 5, 5), normal(4, 3, 3, 2), normal(3 * groups)], group=groups, **TRANSPOSED[form])


POOLS: dict[str, dict[str, Any]] = {
    "plain": {},
    "strides": {"strides": [2, 3]},
    "pads": {"pads": [1, 1, 0, 1], "strides": [2, 1]},
    "ceil": {"ceil_mode": 1, "strides": [3, 3]},
    "ceil and pads": {"ceil_mode": 1, "strides": [2, 3], "pads": [1, 0, 1, 1]},
    "dilations": {"dilations": [2, 3]},
    "dilations and ceil": {"dilations": [2, 1], "ceil_mode": 1, "strides": [2, 2]},
    "same upper": {"auto_pad": "SAME_UPPER", "strides": [2, 2]},
    "same lower": {"auto_pad": "SAME_LOWER", "strides": [2, 2]},
}


@pytest.mark.parametrize("form", POOLS)
def test_max_pools(form: str):
    agrees("MaxPool", [normal(2, 3, 8, 9)], kernel_shape=[3, 2], **POOLS[form])


@pytest.mark.parametrize("form", ["plain", "strides", "pads", "ceil"])
def test_places_of_max_pools(form: str):
    agrees("MaxPool", [normal(2, 3, 8, 9)], 2, kernel_shape=[3, 2], **POOLS[form])


@pytest.mark.parametrize("form", ["plain", "strides", "pads", "dilations"])
def test_places_of_max_pools_by_columns(form: str):
    agrees("MaxPool", [normal(2, 3, 8, 9)], 2, kernel_shape=[3, 2], storage_order=1, **POOLS[form])


@pytest.mark.parametrize("rank", [1, 3])
def test_places_of_max_pools_by_columns_of_other_ranks(rank: int):
    agrees("MaxPool", [normal(2, 3, *(5, 6, 7)[:rank])], 2, kernel_shape=[2] * rank, storage_order=1)


@pytest.mark.parametrize("pads_count", [0, 1])
@pytest.mark.parametrize("form", POOLS)
def test_average_pools(form: str, pads_count: int):
    agrees("AveragePool", [normal(2, 3, 8, 9)], kernel_shape=[3, 2], count_include_pad=pads_count, **POOLS[form])


@pytest.mark.parametrize("p", [1, 2, 3])
@pytest.mark.parametrize("form", ["plain", "strides", "pads"])
def test_lp_pools(form: str, p: int):
    agrees("LpPool", [normal(2, 3, 8, 9)], kernel_shape=[3, 2], p=p, **POOLS[form])


COORDINATES = ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric")


@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("size", [(8, 11), (3, 4), (1, 7)])
def test_resizes(mode: str, coordinates: str, size: tuple[int, int]):
    sizes = np.array([1, 2, *size], np.int64)
    agrees("Resize", [normal(1, 2, 5, 6), None, None, sizes], known=3, mode=mode, coordinate_transformation_mode=coordinates)


@pytest.mark.parametrize("rounding", ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
@pytest.mark.parametrize("scales", [(2, 1.5), (0.7, 0.5), (1, 3)])
def test_nearest_resizes_by_scales(rounding: str, scales: tuple[float, float]):
    factors = np.array([1, 1, *scales], np.float32)
    agrees("Resize", [normal(1, 2, 5, 6), None, factors], known=2, mode="nearest", nearest_mode=rounding)


@pytest.mark.parametrize("rounding", ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
@pytest.mark.parametrize("coordinates", ["half_pixel", "pytorch_half_pixel", "asymmetric"])
def test_nearest_resizes_by_scales_that_f32_rounds(coordinates: str, rounding: str):
    """Extents and elements follow from products and quotients in f32, which are whole where those in f64 are not."""
    modes = {"mode": "nearest", "coordinate_transformation_mode": coordinates, "nearest_mode": rounding}
    for scales in ((0.7, 1.3), (1 / 3, 0.6), (0.2, 0.3), (0.1, 1.7)):
        agrees("Resize", [normal(1, 1, 10, 12), None, np.array([1, 1, *scales], np.float32)], known=2, **modes)


@pytest.mark.parametrize("rounding", ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
@pytest.mark.parametrize("coordinates", [*COORDINATES, "half_pixel_symmetric"])
def test_nearest_resizes_by_sizes_whose_ratio_f32_rounds(coordinates: str, rounding: str):
    modes = {"mode": "nearest", "coordinate_transformation_mode": coordinates, "nearest_mode": rounding}
    for before, after in (((10, 21), (6, 49)), ((15, 3), (5, 1)), ((33, 6), (11, 58)), ((5, 9), (43, 49))):
        agrees("Resize", [normal(1, 1, *before), None, None, np.array([1, 1, *after])], known=3, **modes)


@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("scales", [(2, 1.5), (1.5, 0.5), (0.2, 1.5)])
def test_resizes_of_regions(mode: str, scales: tuple[float, float]):
    """Elements outside of the image are those that a region in f32 reaches."""
    region, scales_of = np.array([0, 0, 0.2, 0.1, 1, 1, 0.8, 1.2], np.float32), np.array([1, 1, *scales], np.float32)
    transform = {"coordinate_transformation_mode": "tf_crop_and_resize", "extrapolation_value": 7.0}
    agrees("Resize", [normal(2, 3, 7, 8), region, scales_of], known=1, opset=19, mode=mode, **transform)


@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_antialiased_resizes(mode: str):
    sizes = np.array([1, 2, 3, 4], np.int64)
    agrees("Resize", [normal(1, 2, 9, 8), None, None, sizes], known=3, mode=mode, antialias=1)


LAYERS = {"RNN": (1, 2), "GRU": (3, 2), "LSTM": (4, 3)}
"""Gates and results of recurrent layers."""


@pytest.mark.parametrize("op", LAYERS)
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("whole_state", [False, True])
def test_recurrent_layers(op: str, direction: str, whole_state: bool):
    """With biases, lengths of sequences and initial states, or with none of them."""
    gates, results = LAYERS[op]
    d = 1 + (direction == "bidirectional")
    given: list[Any] = [normal(5, 3, 4), normal(d, gates * 6, 4), normal(d, gates * 6, 6)]
    if whole_state:
        given += [normal(d, gates * 12), np.array([5, 2, 3], np.int32), normal(d, 3, 6)]
        given += [normal(1 + d, 3, 6)[:d], normal(d, 18)] if op == "LSTM" else []
    agrees(op, given, results, hidden_size=6, direction=direction)


@pytest.mark.parametrize("first", [0, 1])
def test_where_a_gru_resets(first: int):
    given = [normal(5, 3, 4), normal(1, 18, 4), normal(1, 18, 6), normal(1, 36)]
    agrees("GRU", given, 2, hidden_size=6, linear_before_reset=first, clip=0.7)


def test_activations_of_layers():
    given = [normal(5, 3, 4), normal(1, 24, 4), normal(1, 24, 6)]
    agrees("LSTM", given, 3, hidden_size=6, activations=["HardSigmoid", "Softsign", "Relu"], clip=3.0)
    agrees(
        "RNN",
        [normal(5, 3, 4), normal(2, 6, 4), normal(2, 6, 6)],
        2,
        hidden_size=6,
        direction="bidirectional",
        activations=["Relu", "Tanh"],
    )


# Quantised ops; weights of 7 bits, whose products ONNX Runtime sums without saturation under every instruction set


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
@pytest.mark.parametrize("axis", [None, 1])
def test_quantize_and_dequantize(dtype: Any, axis: int | None):
    """Halves included: they go to the even neighbour."""
    count = () if axis is None else (3,)
    scale, zero = np.abs(normal(*count)) + np.float32(0.1), whole(0, 9, dtype, *count)
    x = np.concatenate([normal(2, 3, 4) * 20, np.round(normal(2, 3, 4) * 3) * scale.reshape(-1)[:1] / 2], 2)
    options = {} if axis is None else {"axis": axis}
    agrees("QuantizeLinear", [x.astype(np.float32), scale, zero], **options)
    agrees("DequantizeLinear", [whole(0, 100, dtype, 2, 3, 4), scale, zero], **options)


@pytest.mark.parametrize("zero", [0, 3])
def test_integer_products(zero: int):
    x, w = whole(0, 255, np.uint8, 4, 5), whole(-64, 64, np.int8, 5, 3)
    agrees("MatMulInteger", [x, w, np.uint8(zero)])
    agrees(
        "ConvInteger",
        [whole(0, 255, np.uint8, 1, 2, 6, 6), whole(0, 255, np.uint8, 3, 2, 3, 3), np.uint8(zero)],
        pads=[1, 1, 1, 1],
    )


def test_quantised_products():
    """As 8-bit numbers, which may not differ by one."""
    x, w = whole(0, 255, np.uint8, 4, 5), whole(-64, 64, np.int8, 5, 3)
    scales = (np.float32(0.03), np.uint8(7)), (np.float32(0.05), np.int8(0)), (np.float32(0.9), np.uint8(120))
    agrees("QLinearMatMul", [x, *scales[0], w, *scales[1], *scales[2]])
    image, kernel = whole(0, 255, np.uint8, 1, 2, 6, 6), whole(-64, 64, np.int8, 3, 2, 3, 3)
    given = [image, *scales[0], kernel, *scales[1], *scales[2], whole(-999, 999, np.int32, 3)]
    agrees("QLinearConv", given, strides=[2, 1])


def test_dynamic_quantization():
    agrees("DynamicQuantizeLinear", [normal(3, 4)], 3)


# ai.onnx.ml


@pytest.mark.parametrize("norm", ["MAX", "L1", "L2"])
def test_normalizers(norm: str):
    agrees("Normalizer", [np.abs(normal(3, 4))], domain="ai.onnx.ml", norm=norm)


@pytest.mark.parametrize("transform", ["NONE", "LOGISTIC", "SOFTMAX"])
def test_linear_regressors(transform: str):
    weights, shifts = normal(8).tolist(), normal(2).tolist()
    attributes = {"coefficients": weights, "intercepts": shifts, "targets": 2, "post_transform": transform}
    agrees("LinearRegressor", [normal(3, 4)], domain="ai.onnx.ml", **attributes)


def test_other_rows_of_ml():
    x = normal(3, 4)
    agrees("Binarizer", [x], domain="ai.onnx.ml", threshold=0.2)
    agrees("Scaler", [x], domain="ai.onnx.ml", offset=normal(4).tolist(), scale=[0.5, 2.0, 1.0, -1.0])
    agrees("ArrayFeatureExtractor", [x, np.array([[0, 3]], np.int64)], domain="ai.onnx.ml", known=1)
    missing = np.where(x > 0.3, np.float32(np.nan), x)
    agrees(
        "Imputer", [missing], domain="ai.onnx.ml", imputed_value_floats=[1.0, 2.0, 3.0, 4.0], replaced_value_float=float("nan")
    )
    agrees("FeatureVectorizer", [x, normal(3, 2)], domain="ai.onnx.ml", inputdimensions=[4, 2])
    agrees(
        "LabelEncoder",
        [whole(0, 5, np.int64, 3, 4)],
        domain="ai.onnx.ml",
        keys_int64s=[0, 1, 3],
        values_int64s=[7, 5, 2],
        default_int64=-4,
    )
    agrees("OneHotEncoder", [whole(0, 5, np.int64, 6)], domain="ai.onnx.ml", cats_int64s=[0, 1, 3], zeros=1)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_lengths_of_integers_are_whole(dtype: Any):
    agrees("ReduceL2", [np.array([[8, 8, 8], [1, 2, 3], [-5, -5, -5], [0, 0, 0]], dtype), np.array([1])], known=1)


@pytest.mark.parametrize(
    "array", [np.eye(3, 4) > 0, np.array([0, 1, 2.5], np.float32), np.zeros((2, 0)) > 0, np.array(3)], ids=str
)
def test_places_of_known_elements(array: Any):
    agrees("NonZero", [array], known=0)


@pytest.mark.parametrize("mode", ["SAME_UPPER", "SAME_LOWER"])
@pytest.mark.parametrize("kernel", [(1, 1), (2, 3), (3, 2)])
def test_transposed_convolutions_of_stride_times_the_size(kernel: tuple[int, int], mode: str):
    """Where no filter reaches the end, zeros follow; ONNX Runtime leaves them out, against the specification."""
    x, w = normal(1, 2, 5, 6), normal(2, 3, *kernel)
    text, feeds = node_model("ConvTranspose", [x, w], strides=[3, 2], auto_pad=mode)
    (expected,) = runtime().InferenceSession(text, providers=["CPUExecutionProvider"]).run(None, feeds)
    found = compile(read_onnx(text))(x, w)
    assert found.shape == (1, 3, 15, 12)
    pads = [(0, n - m) for n, m in zip(found.shape, expected.shape, strict=True)]
    np.testing.assert_allclose(found, np.pad(expected, pads), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("op", ["ReduceLogSum", "ReduceLogSumExp"])
def test_logarithms_of_integers_are_refused(op: str):
    with pytest.raises(MindError, match="cast the operand to a float"):
        read_onnx(node_model(op, [whole(0, 9, np.int32, 3, 4)], opset=18)[0])
