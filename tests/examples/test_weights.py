"""Weights from safetensors files: what was written is read, every float under every name; damaged files are coded errors."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mind_dialect.errors import MindError
from models import gpt2, mobilenet_v2, resnet34
from models.weights import Spec, load_safetensors, numpy_dtype, random_weights, save_safetensors

pytest.importorskip("safetensors", reason="the extra `models` is not installed (make test-all installs it)")
TINY = gpt2.Config(vocabulary=20, context=8, width=64, layers=2, heads=1, kv_heads=1)


def same(found: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> None:
    """The same names in the same order, dtypes and bits."""
    assert list(found) == list(expected)
    for name, values in expected.items():
        assert found[name].dtype == values.dtype
        np.testing.assert_array_equal(found[name], values, strict=True)


@pytest.mark.parametrize("module", [resnet34, mobilenet_v2], ids=["ResNet34", "MobileNetV2"])
def test_image_weights_round_trip(tmp_path: Path, module: Any) -> None:
    weights = module.random_weights(module.SMALL, 3)
    save_safetensors(tmp_path / "w.safetensors", weights)
    same(module.load_safetensors(tmp_path / "w.safetensors", module.SMALL), weights)


def test_gpt2_round_trips_with_its_sizes(tmp_path: Path) -> None:
    weights = gpt2.random_weights(TINY, 3)
    save_safetensors(tmp_path / "w.safetensors", weights)
    config, found = gpt2.load_safetensors(tmp_path / "w.safetensors")
    assert config == TINY
    same(found, weights)


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_narrow_floats_are_widened_exactly_or_kept(tmp_path: Path, dtype: str) -> None:
    pytest.importorskip("ml_dtypes", reason="the extra `models` is not installed")
    narrow = random_weights({"a": Spec(dtype, (5, 7)), "b": Spec(dtype, (7,))}, 1)
    save_safetensors(tmp_path / "w.safetensors", narrow)
    kept = load_safetensors(tmp_path / "w.safetensors", {"a": Spec(dtype, (5, 7)), "b": Spec(dtype, (7,))})
    same(kept, narrow)
    wide = load_safetensors(tmp_path / "w.safetensors", {"a": Spec("f32", (5, 7)), "b": Spec("f32", (7,))})
    assert {a.dtype for a in wide.values()} == {np.dtype(np.float32)}
    same({n: a.astype(numpy_dtype(dtype)) for n, a in wide.items()}, narrow)


@pytest.mark.parametrize("prefix", ["", "transformer."])
@pytest.mark.parametrize("tied", [True, False])
def test_a_published_checkpoint_is_read(tmp_path: Path, prefix: str, tied: bool) -> None:
    """Its names are written out here by hand for one layer, so that the table of names has something to agree with."""
    weights = gpt2.random_weights(TINY, 3)
    head = weights.pop("lm_head")
    held = {gpt2.published_name(name, prefix): values for name, values in weights.items()}
    parts = ("ln_1.weight", "ln_1.bias", "attn.c_attn.weight", "attn.c_attn.bias", "attn.c_proj.weight", "attn.c_proj.bias")
    parts += ("ln_2.weight", "ln_2.bias", "mlp.c_fc.weight", "mlp.c_fc.bias", "mlp.c_proj.weight", "mlp.c_proj.bias")
    outside = ("wte.weight", "wpe.weight", "ln_f.weight", "ln_f.bias")
    assert set(held) == {f"{prefix}{n}" for n in (*outside, *(f"h.{i}.{part}" for i in range(2) for part in parts))}
    assert held[f"{prefix}h.1.attn.c_attn.weight"].shape == (64, 192)
    held |= {f"{prefix}h.0.attn.bias": np.ones((1, 1, 8, 8), np.float32)}
    if not tied:
        held["lm_head.weight"] = np.ascontiguousarray(head.T)
    save_safetensors(tmp_path / "w.safetensors", held)
    config, found = gpt2.load_safetensors(tmp_path / "w.safetensors")
    assert config.gelu == "tanh"
    assert (config.layers, config.heads) == (2, 1)
    same(found, {**weights, "lm_head": weights["tok_embeddings.weight"].T if tied else head})


def written(path: Path, header: bytes, data: bytes = b"", length: int | None = None) -> Path:
    """A file of the format's parts: the header's length, the header, the data."""
    path.write_bytes(struct.pack("<Q", len(header) if length is None else length) + header + data)
    return path


def tensor(dtype: str = "F32", shape: tuple[int, ...] = (2,), end: int = 8) -> bytes:
    """A header of one tensor `a`."""
    return json.dumps({"a": {"dtype": dtype, "shape": shape, "data_offsets": [0, end]}}).encode()


DAMAGED = {
    "an empty file": ("E7002", b"", b"", 0),
    "a header longer than the file": ("E7002", tensor(), bytes(8), 1 << 40),
    "a header of the greatest length": ("E7002", tensor(), bytes(8), (1 << 64) - 1),
    "a header that is no JSON": ("E7002", b"{" * 100, b"", None),
    "data cut short": ("E7002", tensor(), bytes(7), None),
    "data too long": ("E7002", tensor(), bytes(9), None),
    "offsets that do not fit the shape": ("E7002", tensor(shape=(3,)), bytes(8), None),
    "a size that overflows": ("E7002", tensor(shape=(1 << 62, 1 << 62)), bytes(8), None),
    "an unknown dtype": ("E7002", tensor("F31"), bytes(8), None),
    "another dtype": ("E2001", tensor("I32"), bytes(8), None),
    "a wider dtype": ("E2001", tensor("F64", (2,), 16), bytes(16), None),
    "another shape": ("E3003", tensor(shape=(1, 2)), bytes(8), None),
    "another name": ("E7003", tensor().replace(b'"a"', b'"b"'), bytes(8), None),
    "nothing": ("E7003", b"{}", b"", None),
}


@pytest.mark.parametrize("case", DAMAGED)
def test_unusable_files_are_coded_errors(tmp_path: Path, case: str) -> None:
    code, header, data, length = DAMAGED[case]
    path = written(tmp_path / "w.safetensors", header, data, length)
    with pytest.raises(MindError) as caught:
        load_safetensors(path, {"a": Spec("f32", (2,))})
    assert caught.value.code == code
    assert len(str(caught.value)) < 1000


def test_the_undamaged_file_is_read(tmp_path: Path) -> None:
    path = written(tmp_path / "w.safetensors", tensor(), struct.pack("<ff", 1.5, -2.0))
    same(load_safetensors(path, {"a": Spec("f32", (2,))}), {"a": np.array([1.5, -2.0], np.float32)})


def test_a_tensor_nobody_asked_for_is_an_error(tmp_path: Path) -> None:
    path = written(tmp_path / "w.safetensors", tensor(), bytes(8))
    with pytest.raises(MindError, match="E7003") as caught:
        load_safetensors(path, {})
    assert caught.value.context["name"] == "a"


@pytest.mark.parametrize("path", ["absent.safetensors", "."])
def test_what_is_no_file_is_a_coded_error(tmp_path: Path, path: str) -> None:
    with pytest.raises(MindError, match="E7002"):
        load_safetensors(tmp_path / path, {})


@pytest.mark.parametrize(
    ("held", "code"),
    [
        ({"a": (2, 2)}, "E7003"),
        ({"tok_embeddings.weight": (2,), "pos_embeddings": (2, 2)}, "E3002"),
        ({"tok_embeddings.weight": (2, 64), "pos_embeddings": (2, 64)}, "E7001"),
        ({"tok_embeddings.weight": (2, 64), "pos_embeddings": (2, 64), f"blocks.{10**30}.x": (1,)}, "E7003"),
        ({"tok_embeddings.weight": (2, 65), "pos_embeddings": (2, 64), "blocks.0.x": (1,)}, "E7003"),
    ],
)
def test_what_is_no_gpt2_is_a_coded_error(tmp_path: Path, held: dict[str, tuple[int, ...]], code: str) -> None:
    save_safetensors(tmp_path / "w.safetensors", {n: np.zeros(shape, np.float32) for n, shape in held.items()})
    with pytest.raises(MindError) as caught:
        gpt2.load_safetensors(tmp_path / "w.safetensors")
    assert caught.value.code == code


def test_weights_that_are_no_floats_are_refused() -> None:
    with pytest.raises(MindError, match="E2005"):
        random_weights({"a": Spec("si32", (2,))})
