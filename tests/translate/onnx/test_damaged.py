"""Damaged and oversized files of models: a coded error, whatever the damage, or a program that was read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mind_dialect.errors import MindError
from mind_tools.frontends import load
from mind_translate.onnx import read_onnx
from mind_translate.onnx.model import MAX_BYTES

onnx = pytest.importorskip("onnx")
h: Any = onnx.helper
FLOAT = onnx.TensorProto.FLOAT


def whole() -> bytes:
    """Two layers with a named dimension, an initialiser and attributes."""
    w = onnx.numpy_helper.from_array(np.ones((3, 4), np.float32), "w")
    nodes = [h.make_node("MatMul", ["x", "w"], ["t"]), h.make_node("Softmax", ["t"], ["y"], axis=-1)]
    x, y = (h.make_tensor_value_info(name, FLOAT, ["B", n]) for name, n in (("x", 3), ("y", 4)))
    graph = h.make_graph(nodes, "g", [x], [y], [w])
    return h.make_model(graph, opset_imports=[h.make_opsetid("", 18)]).SerializeToString()


def code_of(data: bytes) -> str | None:
    """The code of the error; None for what was read. Anything else is raised."""
    try:
        read_onnx(data, "m.onnx")
    except MindError as e:
        return e.code
    return None


def test_every_beginning_of_a_model_is_refused() -> None:
    data = whole()
    codes = [code_of(data[:end]) for end in range(len(data))]
    assert None not in codes[: len(data) - 40], "what has no graph is no model"
    assert codes.count("E1007") > len(data) // 2
    assert code_of(data) is None


def test_changed_bytes_are_read_or_refused() -> None:
    data, rng = whole(), np.random.default_rng(7)
    found = set()
    for _ in range(400):
        changed = bytearray(data)
        changed[rng.integers(len(data))] = rng.integers(256)
        found.add(code_of(bytes(changed)))
    assert {None, "E1007", "E2002"} <= found


def test_a_file_beyond_2_gib_is_not_read(tmp_path: Path) -> None:
    """It is a hole: no byte of it is on the disk."""
    path = tmp_path / "large.onnx"
    with path.open("wb") as f:
        f.truncate(MAX_BYTES + 1)
    with pytest.raises(MindError, match="save the tensors as external data") as caught:
        load(path)
    assert caught.value.code == "E7002"


@pytest.mark.parametrize(
    ("stated", "code"),
    [
        ({"offset": "8"}, "E4005"),
        ({"offset": "99999999999"}, "E4005"),
        ({"length": "8"}, "E4005"),
        ({"offset": "-4"}, "E4005"),
        ({"offset": "x"}, "E4005"),
        ({"location": "/etc/hostname"}, "E7002"),
        ({"location": "."}, "E7002"),
        ({"location": ""}, "E7002"),
        ({"location": "a\x00b"}, "E7002"),
    ],
    ids=str,
)
def test_external_data_that_does_not_fit(stated: dict[str, str], code: str, tmp_path: Path) -> None:
    (tmp_path / "w.bin").write_bytes(bytes(3 * 4 * 4))
    model = onnx.ModelProto.FromString(whole())
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    for key, value in {"location": "w.bin", **stated}.items():
        entry = tensor.external_data.add()
        entry.key, entry.value = key, value
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(MindError, match="'w'") as caught:
        load(tmp_path / "m.onnx")
    assert caught.value.code == code


@pytest.mark.parametrize("damage", ["nothing", "text", "half", "end", "absent"])
def test_exported_programs_of_pytorch(damage: str, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    from mind_bridges.torch import load as load_exported

    path = tmp_path / "m.pt2"
    if damage != "absent":
        torch.export.save(torch.export.export(torch.nn.Linear(3, 2), (torch.ones(1, 3),)), path)
        data = path.read_bytes()
        path.write_bytes({"nothing": b"", "text": b"hello", "half": data[: len(data) // 2], "end": data[:-30]}[damage])
    with pytest.raises(MindError, match=r"m\.pt2") as caught:
        load_exported(path)
    assert caught.value.code == "E7002"
