"""The target `onnx`: a function as an ONNX model, which ONNX Runtime runs on the CPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.func import FuncOp

from mind_dialect.ptir.types import BF16, read_type
from mind_lowering.ptir_kernels.formats import array_dtype
from mind_lowering.ptir_to_onnx import onnx_model
from mind_lowering.ptir_to_onnx.builder import NUMBERS

from .translated import Run, TranslatedProgram, refused, required

_BF16 = "tensor(bfloat16)"


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
        if not any(spec.dtype is BF16 for spec in (*self.inputs, *self.outputs)):
            return lambda arguments, seed: made.run(None, dict(zip(names, arguments, strict=True)))
        shapes = [read_type(t).shape for t in func.function_type.outputs]
        return lambda arguments, seed: run_bound(made, arguments, shapes)


def run_bound(session: Any, arrays: Sequence[Any], shapes: Sequence[Any]) -> list[Any]:
    """Run a session whose inputs or results, of these shapes, may be bf16: NumPy's arrays hold its bits as unsigned integers."""
    value, binding = require().OrtValue, session.io_binding()
    for given, array in zip(session.get_inputs(), arrays, strict=True):
        if given.type == _BF16:
            bits = np.ascontiguousarray(array).view(np.uint16)
            binding.bind_ortvalue_input(given.name, value.ortvalue_from_numpy_with_onnx_type(bits, NUMBERS[BF16]))
        else:
            binding.bind_cpu_input(given.name, array)
    results: dict[str, Any] = {}
    for made, shape in zip(session.get_outputs(), shapes, strict=True):
        if made.type == _BF16:
            results[made.name] = bits = np.zeros(shape, np.uint16)
            binding.bind_ortvalue_output(made.name, value.ortvalue_from_numpy_with_onnx_type(bits, NUMBERS[BF16]))
        else:
            binding.bind_output(made.name)
    session.run_with_iobinding(binding)
    found = zip(session.get_outputs(), binding.get_outputs(), strict=True)
    return [results[o.name].view(array_dtype("bf16")) if o.name in results else v.numpy() for o, v in found]
