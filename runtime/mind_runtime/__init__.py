"""
Running programs: `compile` for speed, `register_implementations` for xDSL's interpreter.

    program = mind_runtime.compile(module, "loss")
    loss = program(x, w)

`bind` compiles a function and gives it its weights permanently; `output_shapes` says what shapes a function gives.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .binding import bind
from .bound import Bound
from .compilation import clear_cache, compile, output_shapes
from .program import Program
from .signature import TensorSpec
from .specialization import Specialization

if TYPE_CHECKING:
    from xdsl.interpreter import Interpreter

__all__ = [
    "Bound",
    "Program",
    "Specialization",
    "TensorSpec",
    "bind",
    "clear_cache",
    "compile",
    "output_shapes",
    "register_implementations",
]


def register_implementations(interpreter: Interpreter, seed: int = 0) -> None:
    """Teach xDSL's `interpreter` Core IR; see `mind_runtime.interpreted`, imported on first use because it is slow to load."""
    from .interpreted import register_implementations

    register_implementations(interpreter, seed)
