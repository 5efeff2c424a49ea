"""
From PTIR to ONNX: one function as the bytes of a model, for ONNX Runtime and other readers. The extra `onnx` writes it.

    from mind_lowering.ptir_to_onnx import onnx_model
    data = onnx_model(func)

Every op has a rule or a stated reason (`rules.RULES`, `rules.REFUSED`).
"""

from .convert import OPSET, onnx_model
from .rules import REFUSED, RULES
from .target import OnnxTarget

__all__ = ["OPSET", "REFUSED", "RULES", "OnnxTarget", "onnx_model"]
