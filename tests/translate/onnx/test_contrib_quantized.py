"""Quantized operators of ONNX Runtime, against ONNX Runtime itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mind_dialect.errors import MindError
from mind_translate.onnx import read_onnx
from mind_translate.onnx.contrib_quantized import QUANTIZED
from onnx_nodes import agrees, node_model, normal, whole

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
DOMAIN = "com.microsoft"
F = np.float32


def forms(dtype: Any) -> dict[str, tuple[str, list[Any], dict[str, Any]]]:
    """Nodes with operands of 8 bits."""
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    zero, other, least = dtype(max(low, -3) + 3), dtype(5), dtype(low)
    a, image = whole(low, high + 1, dtype, 4, 6), whole(low, high + 1, dtype, 1, 3, 6, 6)
    b, last, w = a[::-1].copy(), image.transpose(0, 2, 3, 1).copy(), whole(-128, 128, np.int8, 6, 5)
    two = [a, F(0.1), zero, b, F(0.2), other]
    scales, signs = np.abs(normal(5)), whole(-5, 5, np.int8, 5)
    pooled, filters = [F(0.1), zero, F(0.08), other], whole(-100, 100, np.int8, 4, 3, 3, 3)
    window = {"kernel_shape": [3, 2], "strides": [2, 2], "pads": [1, 0, 1, 0]}
    convolved = [F(0.1), zero, filters, F(0.02), np.int8(0), F(0.9), other]
    return {
        "sum": ("QLinearAdd", [*two, F(0.25), zero], {}),
        "sum with a row": ("QLinearAdd", [*two[:3], b[0], *two[4:], F(0.25), zero], {}),
        "product": ("QLinearMul", [*two, F(1.25), zero], {}),
        "sigmoid": ("QLinearSigmoid", [a, F(0.1), zero, F(1 / 256), least], {}),
        "leaky relu": ("QLinearLeakyRelu", [a, F(0.1), zero, F(0.1), other], {"alpha": 0.2}),
        "softmax": ("QLinearSoftmax", [a, F(0.05), zero, F(1 / 256), least], {"axis": -1, "opset_": 13}),
        "softmax along rows": ("QLinearSoftmax", [a, F(0.05), zero, F(1 / 256), least], {"axis": 0, "opset_": 13}),
        "concatenation": ("QLinearConcat", [F(0.3), zero, *two], {"axis": 1}),
        "choice": ("QLinearWhere", [a > 3, *two, F(0.3), zero], {}),
        "means of windows": ("QLinearAveragePool", [image, *pooled], window),
        "means of windows, channels last": ("QLinearAveragePool", [last, *pooled], {**window, "channels_last": 1}),
        "means of images": ("QLinearGlobalAveragePool", [image, *pooled], {"channels_last": 0}),
        "means of images, channels last": ("QLinearGlobalAveragePool", [last, *pooled], {"channels_last": 1}),
        "extremes of windows, channels last": ("NhwcMaxPool", [last], {**window, "pads": [1, 0, 1, 1]}),
        "convolution, channels last": ("QLinearConv", [last, *convolved], {"channels_last": 1, "pads": [1, 1, 1, 1]}),
        "gemm": ("QGemm", [a, F(0.1), zero, w, F(0.2), np.int8(3), whole(-99, 99, np.int32, 5), F(3), other], {}),
        "gemm to floats": ("QGemm", [a, F(0.1), zero, w.T.copy(), scales, signs * np.int8(0)], {"transB": 1, "alpha": 2.0}),
        "gemm of columns": ("QGemm", [a.T.copy(), F(0.1), zero, w, F(0.3), np.int8(2)], {"transA": 1}),
        "product to floats": ("MatMulIntegerToFloat", [a, w, F(0.1), F(0.2), zero, np.int8(3), normal(5)], {}),
        "product to floats, scales of columns": ("MatMulIntegerToFloat", [a, w, F(0.1), scales, zero, signs], {}),
        "product to floats, no zero points": ("MatMulIntegerToFloat", [a, w, F(0.1), F(0.2)], {}),
        "product of floats": ("DynamicQuantizeMatMul", [normal(4, 6), b.T.reshape(6, 4), F(0.1), dtype(3), normal(4)], {}),
        "product of floats, scales of columns": ("DynamicQuantizeMatMul", [normal(2, 4, 6), w, scales, signs], {}),
        "product of positive floats": ("DynamicQuantizeMatMul", [normal(4, 6) + 9, w, F(0.1)], {}),
        "quantized": ("QuantizeLinear", [normal(4, 6) * 30, F(0.3), zero], {}),
        "dequantized": ("DequantizeLinear", [a, np.abs(normal(4)), np.zeros(4, dtype)], {"axis": 0}),
    }


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
@pytest.mark.parametrize("form", forms(np.int8))
def test_values(form: str, dtype: Any):
    """Means may differ by one step, where a sum lies between two."""
    op, given, attributes = forms(dtype)[form]
    agrees(op, given, domain=DOMAIN, tolerance=1e-4, steps=1 if "means" in form else 0, **attributes)


def test_numbers_of_16_bits():
    agrees("QuantizeLinear", [normal(4, 6) * 3000, F(0.3), np.uint16(9)], domain=DOMAIN)
    agrees("DequantizeLinear", [whole(0, 999, np.uint16, 4, 6), F(0.3), np.uint16(9)], domain=DOMAIN)


def test_each_operator_is_tested():
    assert {op for op, *_ in forms(np.int8).values()} == {name.rpartition(".")[2] for name in QUANTIZED}


A = whole(0, 99, np.uint8, 4, 6)
SOFTMAX = [A, F(0.05), np.uint8(3), F(1 / 256), np.uint8(0)]


@pytest.mark.parametrize(
    ("op", "given", "attributes", "code", "words"),
    [
        ("QLinearSoftmax", SOFTMAX, {"axis": 0, "opset_": 12}, "E8008", "a softmax over several axes"),
        ("QLinearConcat", [F(0.3), np.uint8(0), A, F(0.1), np.uint8(0), A], {"axis": 1}, "E2007", "a scale and a zero point"),
        ("QLinearAdd", [A, None, None, A, F(1), None, F(1)], {}, "E2007", "operands, expected 7 to 8"),
        ("QLinearSigmoid", SOFTMAX, {"alpha": 1.0}, "E4000", "no attribute 'alpha'"),
        ("QGemm", [A, F(1), np.uint8(0), A, F(1), np.uint8(0)], {}, "E3", "6"),
    ],
)
def test_what_has_no_form(op: str, given: list[Any], attributes: dict[str, Any], code: str, words: str):
    with pytest.raises(MindError, match=words) as caught:
        read_onnx(node_model(op, given, domain=DOMAIN, **attributes)[0])
    assert caught.value.code.startswith(code)
