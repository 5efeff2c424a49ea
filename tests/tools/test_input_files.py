"""Arrays in files, as arguments of mind-run: every format, every dtype, and what is wrong with files."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

from mind_dialect.errors import MindError
from mind_dialect.ptir.types import DTYPES
from mind_dialect.types import F32, F64, I64
from mind_lowering.ptir_kernels.formats import array_dtype
from mind_runtime import TensorSpec
from mind_runtime.weights import SAFETENSORS
from mind_tools.inputs import read_input
from tool_runs import Result, mind_run

LOSS = """\
func.func @loss(%x: tensor<2x3xf32>, %w: tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>) {
  %0 = mind.mul %x, %w : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  func.return %0, %w : tensor<2x3xf32>, tensor<3xf32>
}
"""
X, W = np.arange(6, dtype="f4").reshape(2, 3), np.array([0.5, np.nan, -np.inf], "f4")


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    """The same two arrays in every format that knows names."""
    np.savez(tmp_path / "a.npz", x=np.asfortranarray(X), w=W.astype(">f4"))
    np.savez_compressed(tmp_path / "b.npz", w=W, x=X)
    (tmp_path / "c.json").write_text(json.dumps({"w": W.tolist(), "x": X.tolist()}))
    return {path.name: str(path) for path in sorted(tmp_path.iterdir())}


def test_all_inputs_are_found_by_name(files: dict[str, str]) -> None:
    literals = mind_run("-", f"x={X.tolist()}", f"w={W.tolist()}", stdin=LOSS)
    assert literals.err == ""
    for path in files.values():
        assert mind_run("-", "--all", path, stdin=LOSS) == literals
        assert mind_run("-", f"x={path}", f"w={path}:w", stdin=LOSS) == literals


def test_what_the_authors_of_safetensors_write(tmp_path: Path) -> None:
    writer = pytest.importorskip("safetensors.numpy")
    writer.save_file({"x": X, "w": W, "layer.0:w": W}, str(tmp_path / "d.safetensors"), metadata={"made": "by them"})
    literals = mind_run("-", f"x={X.tolist()}", f"w={W.tolist()}", stdin=LOSS)
    assert mind_run("-", "--all", tmp_path / "d.safetensors", stdin=LOSS) == literals
    file = tmp_path / "d.safetensors"
    assert mind_run("-", f"x={file}", f"w={file}:layer.0:w", stdin=LOSS) == literals


def test_results_go_into_an_archive_and_come_back(files: dict[str, str], tmp_path: Path) -> None:
    saved = tmp_path / "new" / "results.npz"
    assert mind_run("-", "--all", files["a.npz"], "--save", saved, stdin=LOSS) == Result(0, "", "")
    with np.load(saved) as archive:
        np.testing.assert_array_equal(archive["out0"], X * W)
        assert set(archive.files) == {"out0", "w"}
    again = mind_run("-", f"x={saved}:out0", f"w={saved}", stdin=LOSS)
    assert (again.status, again.err) == (0, "")


def test_results_of_one_name_get_two() -> None:
    two = "tensor<f32>, tensor<f32>"
    text = f"func.func @f(%out1: tensor<f32>) -> ({two}) {{\n  func.return %out1, %out1 : {two}\n}}"
    lines = mind_run("-", "--all", "fill:1", stdin=text).out
    assert "out1: f32" in lines
    assert "out1.1: f32" in lines


def test_a_list_alone_in_json(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("[[1, NaN], [-Infinity, 9223372036854775807]]")
    read = read_input(str(tmp_path / "x.json"), TensorSpec("x", F64, (2, 2)), 0)
    np.testing.assert_array_equal(read, [[1, np.nan], [-np.inf, 2.0**63]])
    (tmp_path / "n.json").write_text("9223372036854775807")
    assert read_input(str(tmp_path / "n.json"), TensorSpec("x", I64, ()), 0) == 2**63 - 1


@pytest.mark.parametrize("name", DTYPES)
def test_every_dtype_of_safetensors(name: str, tmp_path: Path) -> None:
    """Written by hand after the description of the format; the authors' package knows fewer dtypes."""
    word = next((word for word, ours in SAFETENSORS.items() if ours == name), None)
    if word is None:
        assert name in ("si4", "ui4", "cf64"), "the format has no such dtype"
        return
    array = np.array([0, 1, 1, 0], array_dtype(name))
    header = json.dumps({"x": {"dtype": word, "shape": [4], "data_offsets": [3, 3 + array.nbytes]}, "__metadata__": {}}).encode()
    path = tmp_path / "x.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header + b"abc" + array.tobytes())
    read = read_input(str(path), TensorSpec("x", DTYPES[name], (4,)), 0)
    assert read.dtype == array.dtype
    assert read.tobytes() == array.tobytes()


def test_fill() -> None:
    assert mind_run("-", "x=fill:2", "w=fill:-inf", stdin=LOSS).out.endswith("w: f32[3] = [-inf, -inf, -inf]\n")
    for text, code in (("fill:[1, 2]", "E7001"), ("fill:", "E1007"), ("fill:x", "E1005"), ("fill:1e39", "E4005")):
        with pytest.raises(MindError) as caught:
            read_input(text, TensorSpec("x", F32, (2,)), 0)
        assert caught.value.code == code, text


def test_a_dimension_without_a_size_says_how_to_give_it_one() -> None:
    text = 'func.func @f(%x: tensor<?x2xf32, "B,*">) -> tensor<?x2xf32, "B,*"> {\n%y = ptir.neg %x : tensor<?x2xf32, "B,*">\n'
    text += 'func.return %y : tensor<?x2xf32, "B,*">\n}'
    for value in ("random:0", "fill:0"):
        assert "mind-opt --shape-infer=bind=B=8 gives B a size" in mind_run("--lenient", "-", "--all", value, stdin=text).err
    unnamed = mind_run("--lenient", "-", "--all", "fill:0", stdin=text.replace(', "B,*"', ""))
    assert "give a file or a literal" in unnamed.err


@pytest.mark.parametrize("version", [(1, 0), (2, 0)])
def test_every_version_of_npy_that_holds_numbers(version: tuple[int, int], tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    with path.open("wb") as file:
        np.lib.format.write_array(file, X, version)
    np.testing.assert_array_equal(read_input(str(path), TensorSpec("x", F32, (2, 3)), 0), X)


def broken(tmp_path: Path) -> dict[str, tuple[str, str]]:
    """Files that are wrong, each with its code and a part of what is said."""
    np.savez(tmp_path / "a.npz", x=X, w=W, d=X.astype("f8"), t=X.T)
    whole = (tmp_path / "a.npz").read_bytes()
    (tmp_path / "cut.npz").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "text.npz").write_text("no archive")
    with zipfile.ZipFile(tmp_path / "lies.npz", "w") as archive:
        header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }".ljust(117)
        archive.writestr("x.npy", b"\x93NUMPY\x01\x00v\x00" + header + b"\n1234")
    (tmp_path / "open.npy").write_bytes(b"\x93NUMPY\x01\x00v\x00" + b"{'descr': '<f4', 'shape': (2, 3".ljust(117) + b"\n1234")
    (tmp_path / "none.safetensors").write_bytes(b"")
    (tmp_path / "long.safetensors").write_bytes(b"\xff" * 16)
    for name, header in {
        "list": [1],
        "field": {"x": {"dtype": "F32"}},
        "kind": {"x": 3},
        "beyond": {"x": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}},
        "short": {"x": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 4]}},
        "half": {"x": {"dtype": "F16", "shape": [2, 3], "data_offsets": [0, 4]}},
        "huge": {"x": {"dtype": "F32", "shape": [10**30], "data_offsets": [0, 4]}},
    }.items():
        text = json.dumps(header).encode()
        (tmp_path / f"{name}.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + b"1234")
    (tmp_path / "bad.json").write_text("{")
    (tmp_path / "deep.json").write_text("[" * 10**6)
    (tmp_path / "null.json").write_text("[[1, 2, null], [1, 2, 3]]")
    (tmp_path / "words.json").write_text('{"x": "word"}')
    (tmp_path / "twice.json").write_text('{"w": [1], "x": [1], "x": [2]}')
    (tmp_path / "digits.json").write_text("9" * 5000)
    np.save(tmp_path / "x.npy", X)
    return {
        "a.npz:y": ("E7003", "holds no array 'y', it holds x, w, d, t; take one as"),
        "a.npz:d": ("E2001", "holds float64 of shape [2, 3], expected float32 of shape [2, 3]; save it as float32"),
        "a.npz:t": ("E2001", "holds float32 of shape [3, 2]"),
        "cut.npz": ("E7002", "no readable .npz file"),
        "text.npz": ("E7002", "no readable .npz file"),
        "lies.npz": ("E7002", "shorter than its header says"),
        "missing.npz": ("E7002", "No such file"),
        "x.npy:x": ("E7002", "holds one array, which has no name"),
        "open.npy": ("E7002", "no readable .npy file"),
        "none.safetensors": ("E7002", "no readable .safetensors file"),
        "long.safetensors": ("E7002", "shorter than its header says"),
        "list.safetensors": ("E7002", "no readable"),
        "field.safetensors": ("E7002", "malformed"),
        "kind.safetensors": ("E7002", "malformed"),
        "beyond.safetensors": ("E7002", "does not lie in it"),
        "short.safetensors": ("E7002", "does not lie in it"),
        "half.safetensors": ("E2001", "holds f16 of shape [2, 3], expected float32"),
        "huge.safetensors": ("E2001", "expected float32 of shape [2, 3]"),
        "bad.json": ("E7002", "no readable .json file"),
        "deep.json": ("E7002", "no readable .json file"),
        "null.json": ("E1005", "'null' is not a number"),
        "words.json": ("E1005", "is not a number"),
        "digits.json": ("E7002", "no readable .json file"),
        "null.json:x": ("E7003", "it holds none"),
        "words.json:y": ("E7003", "it holds x"),
        "twice.json:x": ("E7002", "it has the key 'x' twice"),
    }


def test_files_that_do_not_fit(tmp_path: Path) -> None:
    for name, (code, message) in broken(tmp_path).items():
        with pytest.raises(MindError) as caught:
            read_input(f"{tmp_path}/{name}", TensorSpec("x", F32, (2, 3)), 0)
        assert caught.value.code == code, (name, caught.value)
        assert message in caught.value.message, name
        assert len(caught.value.message) < 1000
