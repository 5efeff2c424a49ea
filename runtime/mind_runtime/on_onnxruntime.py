"""The target `onnx`: a function as an ONNX model, which ONNX Runtime runs on the CPU."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.func import FuncOp

from mind_lowering.ptir_to_onnx import onnx_model

from .translated import Run, TranslatedProgram, refused, required


def require() -> Any:
    """Return the module `onnxruntime`; E6002 without it or without `onnx`."""
    return required("onnx", "onnx", "onnxruntime", install="the packages onnx and onnxruntime: pip install onnx onnxruntime")


def session(data: bytes | str, target: str = "onnx") -> Any:
    """Return a session of ONNX Runtime on the CPU for a model, its bytes or its path; E7004 for one that it does not take."""
    runtime = require()
    options = runtime.SessionOptions()
    options.log_severity_level = 4
    try:
        return runtime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    except Exception as e:
        raise refused(target, e) from None


class OnnxProgram(TranslatedProgram):
    """A function that ONNX Runtime runs."""

    target = "onnx"

    def build(self, func: FuncOp) -> Run:
        """Return a session's run; E8008 for what has no form in ONNX."""
        made = session(onnx_model(func))
        names = [i.name for i in made.get_inputs()]
        return lambda arguments, seed: made.run(None, dict(zip(names, arguments, strict=True)))
