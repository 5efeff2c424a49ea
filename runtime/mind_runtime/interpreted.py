"""
Core IR and `xp` in xDSL's own interpreter, op by op, from the kernels of the `numpy` target. Values are NumPy arrays.

    interpreter = Interpreter(module)
    mind_runtime.register_implementations(interpreter)
    (y,) = interpreter.call_op("f", (x,))

Here every intermediate value lives until the function ends, and results may share memory; `compile` is for real work.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from operator import attrgetter
from typing import Any

import numpy as np
from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    ReturnedValues,
    impl,
    impl_terminator,
    register_impls,
)
from xdsl.interpreters.func import FuncFunctions
from xdsl.ir import Operation

from mind_dialect.core import CoreOp
from mind_dialect.types import DType
from mind_lowering.core_to_xp import KERNELS, kernel_call
from mind_lowering.kernels import DTYPE_NAMES, Kernels
from mind_lowering.xp import Argument, CallOp, FreeOp, ReturnOp, argument

from .memory import Need, allocation_error, byte_count, check_need, check_rank, physical_memory
from .program import TensorSpec, admit

_ROOTS = {"xp": np, "k": Kernels(np)}


def function(callee: str) -> Callable[..., Any]:
    """The NumPy function or kernel that `callee` names."""
    root, _, name = callee.partition(".")
    return attrgetter(name)(_ROOTS[root])


def keyword(value: Argument) -> Any:
    """A keyword argument as NumPy wants it."""
    return getattr(np, DTYPE_NAMES[value.name]) if isinstance(value, DType) else value


def run_call(op: Operation, callee: str, arguments: dict[str, Any], values: tuple[Any, ...]) -> tuple[Any, ...]:
    """One call on checked operands; E2001 for a value that is no array of the operand's type, E6004 for too large a result."""
    for i, (value, operand) in enumerate(zip(values, op.operands, strict=True)):
        admit(value, TensorSpec.of(f"{i}", operand.type), f"operand {i} of {op.name}")
    type = op.results[0].type
    check_rank(type)
    check_need(Need(byte_count(type), type), physical_memory())
    try:
        with np.errstate(all="ignore"):
            result = function(callee)(*values, **{name: keyword(value) for name, value in arguments.items()})
    except MemoryError:
        raise allocation_error(type, "out of memory") from None
    return (np.asarray(result),)


def _run_core(_functions: Any, _interpreter: Interpreter, op: CoreOp, values: tuple[Any, ...]) -> tuple[Any, ...]:
    callee, arguments = kernel_call(op)
    return run_call(op, callee, {name: argument(value) for name, value in arguments.items()}, values)


def _run_xp(_functions: Any, _interpreter: Interpreter, op: CallOp, values: tuple[Any, ...]) -> tuple[Any, ...]:
    return run_call(op, op.function, op.values(), values)


def _free(_functions: Any, _interpreter: Interpreter, _op: FreeOp, _values: tuple[Any, ...]) -> tuple[Any, ...]:
    return ()


def _return(_functions: Any, _interpreter: Interpreter, _op: ReturnOp, values: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
    return ReturnedValues(values), ()


MindFunctions = register_impls(
    type(
        "MindFunctions",
        (InterpreterFunctions,),
        {
            **{f"run_{cls.OPCODE}": impl(cls)(_run_core) for cls in KERNELS},
            "run_xp_call": impl(CallOp)(_run_xp),
            "run_xp_free": impl(FreeOp)(_free),
            "run_xp_return": impl_terminator(ReturnOp)(_return),
        },
    )
)
"""The implementations, one per row of the kernel table."""


def register_implementations(interpreter: Interpreter) -> None:
    """
    Teach `interpreter` Core IR and `xp`, and `func` unless it knows that already.

    Values are NumPy arrays of exactly the types of the program. To use other implementations of `func`, register them first.
    """
    interpreter.register_implementations(MindFunctions())
    with suppress(ValueError):  # xDSL's word for "already registered"
        interpreter.register_implementations(FuncFunctions())
