"""The ways of running a program of one result on the host: NumPy, native code, and our ops in xDSL's interpreter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.interpreter import Interpreter

from mind_dialect.program import functions
from mind_runtime import compile, register_implementations

Run = Callable[..., Any]


def interpreted(module: ModuleOp) -> Run:
    """What calls the first function of a module in xDSL's interpreter."""
    interpreter = Interpreter(module)
    register_implementations(interpreter)
    name = next(iter(functions(module))).sym_name.data
    return lambda *given: interpreter.call_op(name, given)[0]


RUNS: dict[str, Callable[[ModuleOp], Run]] = {
    "numpy": lambda module: compile(module, target="numpy"),
    "native": lambda module: compile(module, target="native"),
    "interpreter": interpreted,
}
