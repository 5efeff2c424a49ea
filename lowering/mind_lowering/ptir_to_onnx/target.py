"""The printing target: bytes, which go to a file or a pipe and to no terminal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO, Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.target import Target

from mind_dialect.errors import error

from ..ptir_to_stablehlo.target import entry_function
from .convert import onnx_model


@dataclass(frozen=True)
class OnnxTarget(Target):
    """
    Write one function as an ONNX model of opset 21, in bytes; give the file by `-o`.

    `function=name` chooses it where the program has several and states no entry.
    """

    name = "mind-onnx"

    function: str | None = None

    def emit_bytes(self, module: ModuleOp) -> bytes:
        """Return the model; raises what `onnx_model` raises, E7003 and E7001 for the function."""
        return onnx_model(entry_function(module, self.function))

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        """Write the model to the bytes beneath a text stream; E7001 for a stream that has none, or is a terminal."""
        buffer: Any = getattr(output, "buffer", None)
        if buffer is None or output.isatty():
            raise error("E7001", "an ONNX model is bytes, not text: write it to a file by mind-opt -t onnx -o FILE", option="-o")
        buffer.write(self.emit_bytes(module))
        output.flush()
