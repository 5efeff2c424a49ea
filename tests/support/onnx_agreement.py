"""Whether ONNX Runtime computes of an exported model what the NumPy target computes of the program."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cupy_agreement import close
from mind_lowering.conversion import check_program_legality
from mind_lowering.ptir_to_onnx import onnx_model
from mind_lowering.ptir_to_onnx.convert import expand, specification
from mind_runtime import compile
from mind_runtime.compilation import find_function
from mind_runtime.on_onnxruntime import run_bound
from mind_translate.onnx import read_onnx


def is_exported(module: Any) -> bool:
    """Whether a program of PTIR has a form in ONNX."""
    expand(copy := module.clone())
    return check_program_legality(copy, specification()).is_legal


def run(data: bytes, arrays: list[np.ndarray[Any, Any]], shapes: Any = None) -> list[Any]:
    """What ONNX Runtime computes, bound by position, after the full check."""
    onnx: Any = pytest.importorskip("onnx", reason="onnx is not installed")
    ort: Any = pytest.importorskip("onnxruntime", reason="ONNX Runtime is not installed")
    onnx.checker.check_model(onnx.load_from_string(data), full_check=True)
    session = ort.InferenceSession(data, providers=["CPUExecutionProvider"])
    if shapes is not None and any("bfloat16" in each.type for each in (*session.get_inputs(), *session.get_outputs())):
        return run_bound(session, arrays, shapes)
    return session.run(None, {i.name: a for i, a in zip(session.get_inputs(), arrays, strict=True)})


def agree(module: Any, arrays: list[np.ndarray[Any, Any]], name: str, function: str = "f") -> None:
    """ONNX Runtime and our reader's program give what the NumPy target gives."""
    func = find_function(module, function)
    data = onnx_model(func)
    assert onnx_model(func) == data
    expected = compile(module, function)(*arrays)
    wanted = expected if isinstance(expected, tuple) else (expected,)
    back = compile(read_onnx(data))(*arrays)
    for results in (run(data, arrays, [np.shape(y) for y in wanted]), back if isinstance(back, tuple) else (back,)):
        assert len(results) == len(wanted)
        for found, y in zip(results, wanted, strict=True):
            close(np.asarray(found), np.asarray(y), name)
