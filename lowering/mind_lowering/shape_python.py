"""
Shape functions as readable Python: from the shapes of the inputs to those of the results, or an error with NumPy's wording.

    def f_shapes(x, w):
        # x: (B, 4), w: (4, N)
        if len(x) != 2 or x[1] != 4:
            raise misfit('input x', x, '(B, 4)')
        ...
        return ((B, N),)

What the lattice knows of a value is written in its place, and a constraint that it proves not at all. Names of programs become
plain identifiers; in messages they are escaped. Programs without shape functions are reified first, in a copy.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import IO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.target import Target

from mind_dialect.shape import FuncOp
from mind_dialect.verify import verify
from mind_passes.shape.reify import reify_module

from .python_names import PythonNames
from .shape_python_ops import ROWS
from .shape_python_text import NAMES
from .shape_python_writer import ShapeSource, ShapeWriter, open_inputs

__all__ = ["ShapePythonTarget", "ShapeSource", "open_inputs", "print_shape_functions", "shape_source"]


def shape_source(func: FuncOp, scope: PythonNames | None = None, *, checked: bool = False) -> ShapeSource:
    """
    Return a verified shape function as Python; E9020 for what cannot succeed, E6003 for what Python cannot say.

    With `checked` it takes the inputs of `open_inputs` alone, whose ranks and sizes that are numbers callers have compared.
    """
    return ShapeWriter(func, (scope or PythonNames()).identifier(func.sym_name.data), ROWS, checked=checked).source()


def print_shape_functions(module: ModuleOp) -> str:
    """Every shape function of a module as Python that runs as it stands; without any, those of its programs."""
    functions = [op for op in module.walk() if isinstance(op, FuncOp) and not op.is_declaration]
    if not functions:
        module = module.clone()
        functions = reify_module(module)
    scope = PythonNames()
    for name in NAMES:
        scope.identifier(name)
    texts = [shape_source(f, scope).text for f in functions]
    used = [name for name in NAMES if any(re.search(rf"\b{name}\(", text) for text in texts)]
    imports = f"from mind_lowering.shape_functions import {', '.join(sorted(used))}\n" if used else ""
    return "\n".join(["# Shape functions, made by the target mind-shape-python.\n" + imports, *texts])


@dataclass(frozen=True)
class ShapePythonTarget(Target):
    """Print shape functions as Python."""

    name = "mind-shape-python"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        verify(module)
        output.write(print_shape_functions(module))
