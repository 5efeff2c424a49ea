"""Without the package `onnx`, a model is one coded error."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

from mind_dialect import MindError
from mind_tools.frontends import load
from mind_translate.onnx import is_onnx, read_onnx


def test_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    def absent(name: str, *rest: Any) -> Any:
        if name == "onnx":
            raise ModuleNotFoundError("No module named 'onnx'")
        return real(name, *rest)

    real = importlib.import_module
    monkeypatch.setattr("mind_translate.onnx.model.import_module", absent)
    (tmp_path / "m.onnx").write_bytes(bytes([8, 10]))
    for read in (lambda: read_onnx(bytes([8, 10])), lambda: load(tmp_path / "m.onnx")):
        with pytest.raises(MindError, match=r"mind-dialect\[onnx\]") as caught:
            read()
        assert caught.value.code == "E7002"


def test_a_model_is_known_by_its_first_bytes():
    assert is_onnx(bytes([8, 10, 18]))
    assert not is_onnx(b"")
    assert not is_onnx(b"builtin.module {}")
