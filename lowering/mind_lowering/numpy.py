"""The target `mind-numpy`: functions lowered to the `xp` dialect, as Python over an array namespace `xp`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import IO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.utils.target import Target

from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.program import functions
from mind_dialect.verify import verify
from mind_passes.callees import calls_in
from mind_passes.inline import inlined

from .core_to_ptir import converted, is_core
from .ptir_to_xp import Lowered, lowered_function
from .python_names import PythonNames
from .xp import ReturnOp
from .xp.python import PythonSource, python_source

HEADER = """\
# Python over an array namespace, made by the target mind-numpy.
import numpy as xp

from mind_lowering.kernels import Kernels

k = Kernels(xp)
"""


def is_lowered(func: FuncOp) -> bool:
    """Return whether `func` is in the `xp` dialect already."""
    return len(func.body.blocks) == 1 and isinstance(func.body.block.last_op, ReturnOp)


def lowered(func: FuncOp, donate: Collection[int] = ()) -> Lowered:
    """
    `func`, verified; a lowered copy of it if it is Core IR or PTIR, calls put in place. Its module stays as it is.

    The origins of the lowered ops are ops of `func` and of the functions that it calls, which are verified too.
    """
    verify(func)
    if is_lowered(func):
        return Lowered(func, list(func.body.block.walk()))
    if calls_in(func):
        whole = inlined(func)
        for callee in whole.callees:
            verify(callee)
        result = _lowered(whole.func, donate)
        return Lowered(result.func, [op if op is None else whole.origins.get(op, op) for op in result.origins])
    return _lowered(func, donate)


def _lowered(func: FuncOp, donate: Collection[int]) -> Lowered:
    """As `lowered`, of a verified function without calls."""
    if not is_core(func):
        return lowered_function(func, donate)
    made = converted(func)
    result = lowered_function(made.func, donate)
    sources = dict(zip(made.func.body.block.ops, made.origins, strict=False))
    ending, core_ending = made.func.body.block.last_op, func.body.block.last_op
    if ending is not None and core_ending is not None:
        sources[ending] = core_ending
    return Lowered(result.func, [None if op is None else sources.get(op) for op in result.origins])


def print_module(module: ModuleOp) -> str:
    """Every function of a module as Python that runs as it stands; Core IR and PTIR are lowered first, in a copy."""
    scope = PythonNames()
    parts: Sequence[PythonSource] = [python_source(lowered(func).func, scope) for func in functions(module)]
    return "\n".join([HEADER, *(f"{s.printed_constants()}\n{s.text}" for s in parts)])


@dataclass(frozen=True)
class NumpyTarget(Target):
    """Print Python over an array namespace."""

    name = "mind-numpy"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        output.write(print_module(module))
