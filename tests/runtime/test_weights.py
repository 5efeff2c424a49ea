"""Weights in files: mapped, checked before they are read, all that does not fit in one error, nothing outside of the folder."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mind_dialect.errors import MindError
from mind_runtime import bind
from mind_runtime.weights import Wanted, load_weights, read_weights
from mind_tools.frontends import parse

TEXT = """module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @main(%w: tensor<2x3xf32> {mind.name = "layer.w", ptir.parameter},
                  %b: tensor<3xf32> {mind.name = "layer.b", ptir.parameter},
                  %x: tensor<2x3xf32>) -> tensor<2x3xf32> {
    %0 = ptir.mul %x, %w : tensor<2x3xf32>
    %1 = ptir.broadcast_to %b result_shape = [2, 3] : tensor<3xf32> -> tensor<2x3xf32>
    %2 = ptir.add %0, %1 : tensor<2x3xf32>
    func.return %2 : tensor<2x3xf32>
  }
}"""
W, B = np.arange(6, dtype=np.float32).reshape(2, 3), np.array([1, 2, 3], np.float32)
DTYPES = {"float32": "F32", "float16": "F16", "int64": "I64", "bool": "BOOL", "float64": "F64"}


def write(path: Path, **arrays: np.ndarray) -> Path:
    """Write a safetensors file as its format is described."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    data = b""
    for name, array in arrays.items():
        end = len(data) + array.nbytes
        header[name] = {"dtype": DTYPES[array.dtype.name], "shape": list(array.shape), "data_offsets": [len(data), end]}
        data += array.tobytes()
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    return path


def sharded(folder: Path, file: str = "two.safetensors") -> Path:
    write(folder / "one.safetensors", w=W)
    write(folder / "two.safetensors", b=B)
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"w": "one.safetensors", "b": file}}), encoding="utf-8")
    return index


def npz(path: Path, save: Callable[..., None] = np.savez) -> Path:
    save(path, w=W, b=B)
    return path


FORMS: dict[str, Callable[[Path], Path]] = {
    "safetensors": lambda folder: write(folder / "m.safetensors", w=W, b=B),
    "a folder": lambda folder: write(folder / "m.safetensors", w=W, b=B).parent,
    "an index": sharded,
    "npz": lambda folder: npz(folder / "m.npz"),
    "compressed npz": lambda folder: npz(folder / "m.npz", np.savez_compressed),
}
WANTED = {"w": Wanted("f32", (2, 3)), "b": Wanted("f32", (3,))}


@pytest.mark.parametrize("form", FORMS)
def test_forms(form: str, tmp_path: Path) -> None:
    module = parse(TEXT)
    weights = load_weights(FORMS[form](tmp_path), module, rename={r"^layer\.": ""})
    assert list(weights) == ["layer.w", "layer.b"]
    np.testing.assert_array_equal(bind(module, weights)(np.ones((2, 3), np.float32)), W + B)


@pytest.mark.parametrize("form", ["safetensors", "an index"])
def test_arrays_are_mapped(form: str, tmp_path: Path) -> None:
    found = read_weights(FORMS[form](tmp_path), WANTED)["w"]
    base: Any = found
    while not isinstance(base, np.memmap):
        base = base.base
    assert not found.flags.writeable


def test_floats_are_widened_and_nothing_else_is_cast(tmp_path: Path) -> None:
    path = write(tmp_path / "m.safetensors", w=W.astype(np.float16), b=B)
    np.testing.assert_array_equal(read_weights(path, WANTED)["w"], W)
    with pytest.raises(MindError) as caught:
        read_weights(path, {"w": Wanted("f16", (2, 3)), "b": Wanted("f16", (3,))})
    assert caught.value.code == "E2001"


def test_everything_that_does_not_fit_is_listed(tmp_path: Path) -> None:
    path = write(tmp_path / "m.safetensors", w=W.T.copy(), b=B.astype(np.int64), other=B)
    with pytest.raises(MindError) as caught:
        read_weights(path, {**WANTED, "c": Wanted("f32", ())})
    assert caught.value.code == "E7003"
    lines = caught.value.context["diagnostics"]
    assert [any(word in line for line in lines) for word in ("'c'", "'other'", "shape [3, 2]", "si64")] == [True] * 4
    with pytest.raises(MindError) as caught:
        read_weights(path, WANTED, ignore=lambda name: name == "other")
    assert caught.value.code == "E3003"
    assert len(caught.value.context["diagnostics"]) == 2


@pytest.mark.parametrize("file", ["../two.safetensors", "/etc/passwd", "a/b", "..", "", "a\\b", "C:x"])
def test_an_index_names_nothing_outside_of_its_folder(file: str, tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    write(tmp_path / "two.safetensors", b=B)
    with pytest.raises(MindError, match="expected the plain name of a file") as caught:
        read_weights(sharded(tmp_path / "inner", file), WANTED)
    assert caught.value.code == "E7002"


def test_a_link_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    index = sharded(tmp_path / "inner", "link.safetensors")
    write(tmp_path / "secret.safetensors", b=B)
    os.symlink(tmp_path / "secret.safetensors", tmp_path / "inner" / "link.safetensors")
    with pytest.raises(MindError, match="a link out of its folder"):
        read_weights(index, WANTED)


BROKEN: dict[str, bytes] = {
    "nothing": b"",
    "a length beyond the file": (1 << 62).to_bytes(8, "little"),
    "no JSON": (2).to_bytes(8, "little") + b"{]",
    "no object": (2).to_bytes(8, "little") + b"[]",
    "deep JSON": (40000).to_bytes(8, "little") + b"[" * 40000,
}


@pytest.mark.parametrize("case", BROKEN)
@pytest.mark.parametrize("suffix", ["safetensors", "npz", "index.json"])
def test_damaged_files_are_coded_errors(case: str, suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"m.{suffix}"
    path.write_bytes(BROKEN[case])
    with pytest.raises(MindError) as caught:
        read_weights(path, WANTED)
    assert caught.value.code == "E7002"


@pytest.mark.parametrize("offsets", [[0, 8], [0, 1 << 40], [8, 0], [-8, 16], [0], "ab", [0.0, 24.0]])
def test_offsets_that_do_not_fit(offsets: Any, tmp_path: Path) -> None:
    header = json.dumps({"w": {"dtype": "F32", "shape": [2, 3], "data_offsets": offsets}}).encode()
    (tmp_path / "m.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + W.tobytes())
    with pytest.raises(MindError) as caught:
        read_weights(tmp_path / "m.safetensors", {"w": WANTED["w"]})
    assert caught.value.code == "E7002"


def test_pickles_are_not_read(tmp_path: Path) -> None:
    np.savez(tmp_path / "m.npz", w=np.array([{}], dtype=object), b=B)
    with pytest.raises(MindError) as caught:
        read_weights(tmp_path / "m.npz", WANTED)
    assert caught.value.code == "E7002"


def test_a_folder_without_weights_or_with_several(tmp_path: Path) -> None:
    for expected in ("holds no", "several files"):
        with pytest.raises(MindError, match=expected):
            read_weights(tmp_path, WANTED)
        for name in ("a", "b"):
            write(tmp_path / f"{name}.safetensors", w=W)


def test_empty_tensors_and_truths(tmp_path: Path) -> None:
    path = write(tmp_path / "m.safetensors", e=np.zeros((0, 3), np.float32), t=np.array([True, False]))
    found = read_weights(path, {"e": Wanted("f32", (0, 3)), "t": Wanted("i1", (2,))})
    assert found["e"].shape == (0, 3)
    assert found["t"].tolist() == [True, False]
    data = path.read_bytes()
    path.write_bytes(data[:-1] + b"\x07")
    with pytest.raises(MindError, match="not a boolean"):
        read_weights(path, {"e": Wanted("f32", (0, 3)), "t": Wanted("i1", (2,))})


def test_written_files_have_the_format_of_the_library(tmp_path: Path) -> None:
    library = pytest.importorskip("safetensors.numpy", reason="the extra `models` is not installed")
    library.save_file({"w": W, "b": B}, tmp_path / "m.safetensors")
    assert math.isclose(float(read_weights(tmp_path / "m.safetensors", WANTED)["w"].sum()), float(W.sum()))
