"""
Ops of `arith` and `cf` that lowered shapes need and xDSL's interpreter lacks, on Python numbers of the type's width.

Each is registered alone, so that xDSL's own take over one by one as they come.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, cast

from xdsl.dialects import arith, cf
from xdsl.dialects.builtin import IndexType, IntegerType
from xdsl.interpreter import Interpreter, InterpreterFunctions, impl, register_impls
from xdsl.interpreters.cf import CfFunctions
from xdsl.ir import Attribute, Operation
from xdsl.utils.comparisons import to_signed, to_unsigned

from mind_dialect.errors import brief, error

from .interpreted_shape import failed

Values = tuple[Any, ...]


def _unsigned_quotient(a: int, b: int) -> int:
    return a // b


def _unsigned_rest(a: int, b: int) -> int:
    return a % b


def _ceiling(a: int, b: int) -> int:
    return -(-a // b)


_SIGNED: Mapping[type[Operation], Callable[[int, int], int]] = {
    arith.MaxSIOp: max,
    arith.MinSIOp: min,
    arith.CeilDivSIOp: _ceiling,
}
_UNSIGNED: Mapping[type[Operation], Callable[[int, int], int]] = {
    arith.MaxUIOp: max,
    arith.MinUIOp: min,
    arith.DivUIOp: _unsigned_quotient,
    arith.RemUIOp: _unsigned_rest,
    arith.CeilDivUIOp: _ceiling,
}


def _width(interpreter: Interpreter, op: Operation) -> int:
    type: Attribute = op.results[0].type
    if isinstance(type, IndexType):
        return interpreter.index_bitwidth
    if isinstance(type, IntegerType):
        return cast(Any, type).width.data
    message = f"{op.name} of {brief(type)}, expected an integer or an index"
    raise error("E4000", message, operation=op, given=brief(type), expected="an integer or an index")


def _run_binary(_functions: InterpreterFunctions, interpreter: Interpreter, op: Operation, args: Values) -> Values:
    """E8004 for a division by zero."""
    width, signed = _width(interpreter, op), type(op) in _SIGNED
    read = to_signed if signed else to_unsigned
    function = (_SIGNED if signed else _UNSIGNED)[type(op)]
    a, b = (read(int(value), width) for value in args)
    if b == 0 and function not in (max, min):
        raise error("E8004", f"{op.name}: {a} by 0", operation=op, operands=(a, b))
    return (to_signed(function(a, b), width),)


def _run_assert(_functions: InterpreterFunctions, _interpreter: Interpreter, op: cf.AssertOp, args: Values) -> Values:
    """E9020, or the code that the assertion states, if it does not hold."""
    if not args[0]:
        raise failed(op, op.msg.data)
    return ()


ADDED: Mapping[type[Operation], Any] = {**dict.fromkeys((*_SIGNED, *_UNSIGNED), _run_binary), cf.AssertOp: _run_assert}
"""Implementations that are added where the interpreter has none."""


def register_missing(interpreter: Interpreter) -> None:
    """Teach `interpreter` each op of `ADDED`, and the branches of `cf`, unless it knows it."""
    functions = [type("Added", (InterpreterFunctions,), {"run": impl(op)(run)}) for op, run in ADDED.items()]
    for made in (*(register_impls(f)() for f in functions), CfFunctions()):
        with suppress(ValueError):  # xDSL's word for "already registered"
            interpreter.register_implementations(made)
