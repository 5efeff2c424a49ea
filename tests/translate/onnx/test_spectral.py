"""Fourier transforms and their filters, against ONNX Runtime and the package's evaluator; what has no form is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mind_dialect.errors import MindError
from mind_translate.onnx import read_onnx
from onnx_nodes import agrees, node_model, normal

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
WINDOW = np.hanning(16).astype(np.float32)
CLOSE = 1e-4
"""Sums of 128 products in f32."""


@pytest.mark.parametrize("length", [None, 16, 20, 11])
@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("one_sided", [0, 1])
@pytest.mark.parametrize("inverse", [0, 1])
def test_transforms(inverse: int, one_sided: int, parts: int, length: int | None):
    """A one-sided inverse has a real result of `2 (n - 1)` elements."""
    given = [normal(2, 16, parts), None if length is None else np.array(length), np.array(1)]
    options = {"inverse": inverse, "onesided": one_sided}
    agrees("DFT", given, opset=20, known=1, by_package=True, tolerance=CLOSE, **options)
    agrees("DFT", given[:2], opset=17, known=1, by_package=True, tolerance=CLOSE, axis=1, **options)


@pytest.mark.parametrize("one_sided", [0, 1])
@pytest.mark.parametrize("form", [[WINDOW, np.array(16)], [WINDOW], [None, np.array(16)], [None, np.array(13)]], ids=range(4))
def test_transforms_of_frames(form: list[Any], one_sided: int):
    agrees("STFT", [normal(2, 128, 1), np.array(5), *form], opset=17, known=1, tolerance=CLOSE, onesided=one_sided)


def test_transforms_of_complex_frames():
    agrees("STFT", [normal(2, 128, 2), np.array(8), WINDOW], opset=17, known=1, tolerance=CLOSE, onesided=0)


BANKS = [(8, 16, 8192, 0.0, 4096.0), (20, 256, 16000, 20.0, 7600.0), (40, 64, 16000, 0.0, 8000.0), (2, 8, 100, 10.0, 10.0)]


@pytest.mark.parametrize("dtype", [1, 11])
@pytest.mark.parametrize("bank", BANKS, ids=str)
def test_filters_in_mels(bank: tuple[int, int, int, float, float], dtype: int):
    given = [*map(np.array, bank[:3]), *map(np.float32, bank[3:])]
    agrees("MelWeightMatrix", given, opset=17, known=0, output_datatype=dtype)


@pytest.mark.parametrize(
    ("op", "given", "attributes", "code", "words"),
    [
        ("DFT", [normal(2, 16, 3)], {}, "E8008", "use the last axis for real and imaginary parts"),
        ("DFT", [normal(2, 16, 1), np.array(0)], {}, "E8002", "dft_length is 0"),
        ("STFT", [normal(2, 128, 2), np.array(8), WINDOW], {}, "E8008", "one-sided transform of complex"),
        ("STFT", [normal(2, 12, 1), np.array(8), WINDOW], {}, "E8002", "frames of 16 in steps of 8, of 12"),
        ("STFT", [normal(2, 64, 1), np.array(8), WINDOW, np.array(8)], {}, "E8002", "by a window of 16"),
        ("STFT", [normal(2, 64, 1), np.array(0), WINDOW], {}, "E8002", "in steps of 0"),
        ("STFT", [normal(64), np.array(8), WINDOW], {}, "E3002", "a batch of signals"),
        ("MelWeightMatrix", [np.array(8), np.array(16), np.array(100), np.float32(0), np.float32(90)], {}, "E8002", "half of"),
        ("MelWeightMatrix", [np.array(0), np.array(16), np.array(100), np.float32(0), np.float32(9)], {}, "E8002", "0 bins"),
    ],
)
def test_what_does_not_fit(op: str, given: list[Any], attributes: dict[str, Any], code: str, words: str):
    with pytest.raises(MindError, match=words) as caught:
        read_onnx(node_model(op, given, opset=17, known=0 if op == "MelWeightMatrix" else 1, **attributes)[0])
    assert caught.value.code == code
