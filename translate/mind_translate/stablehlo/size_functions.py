"""
The functions by which JAX computes quotients and remainders of sizes, which it writes into each program.

They are private, of scalars, and have the names of JAX's own functions, which a user's function may have, too. So their ops are
run on small numbers, and a function is a quotient only if it gives what rounding down gives.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation, SSAValue

from mind_dialect.errors import MindError
from mind_dialect.extents import Extent, floordiv, mod

from .foreign import ForeignOp, name_of

QUOTIENTS: Mapping[str, tuple[Callable[[Extent, Extent], Extent], ...]] = {
    "divmod": (floordiv, mod),
    "floor_divide": (floordiv,),
    "remainder": (mod,),
}
"""Results of each for the last two arguments: quotients and remainders of rounding down."""
_NUMBERED = re.compile(r"_\d+$")
_DIVIDENDS, _DIVISORS = range(-9, 10), (1, 2, 3, 4, 7)
_MOST_OPS = 64
_COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "EQ": int.__eq__,
    "NE": int.__ne__,
    "LT": int.__lt__,
    "LE": int.__le__,
    "GT": int.__gt__,
    "GE": int.__ge__,
}


class _NoNumberError(Exception):
    """An op that is not run on numbers."""


def quotients(functions: Mapping[str, FuncOp]) -> dict[str, str]:
    """Return the functions of a module that are `QUOTIENTS`, by name."""
    found: dict[str, str] = {}
    for name, f in functions.items():
        base = _NUMBERED.sub("", name)
        if base in QUOTIENTS and _is_quotient(f, base, functions):
            found[name] = base
    return found


def _is_quotient(f: FuncOp, base: str, functions: Mapping[str, FuncOp]) -> bool:
    """Return whether a function gives what it should of small numbers."""
    if f.sym_visibility is None or f.sym_visibility.data != "private" or len(f.function_type.inputs) < 2:
        return False
    others = [5] * (len(f.function_type.inputs) - 2)
    try:
        for a in _DIVIDENDS:
            for b in _DIVISORS:
                wanted = {"divmod": [a // b, a % b], "floor_divide": [a // b], "remainder": [a % b]}[base]
                if _run(f, [*others, a, b], functions, 0) != wanted:
                    return False
    except (_NoNumberError, MindError, ZeroDivisionError):
        return False
    return True


def _run(f: FuncOp, arguments: Sequence[int], functions: Mapping[str, FuncOp], depth: int) -> list[int]:
    """Run a function of scalars."""
    if depth > 4 or len(f.body.blocks) != 1 or len(f.body.block.args) != len(arguments):
        raise _NoNumberError
    block = f.body.block
    env: dict[SSAValue, int] = dict(zip(block.args, arguments, strict=True))
    for i, op in enumerate(block.ops):
        if i > _MOST_OPS:
            raise _NoNumberError
        operands = [_value(env, v) for v in op.operands]
        if op is block.last_op:
            return operands
        results = _called(op, operands, functions, depth) if isinstance(op, CallOp) else [_result(op, operands)]
        env.update(zip(op.results, results, strict=True))
    raise _NoNumberError


def _value(env: Mapping[SSAValue, int], value: SSAValue) -> int:
    if value not in env:
        raise _NoNumberError
    return env[value]


def _called(op: CallOp, operands: Sequence[int], functions: Mapping[str, FuncOp], depth: int) -> list[int]:
    callee = functions.get(op.callee.root_reference.data)
    if callee is None:
        raise _NoNumberError
    results = _run(callee, operands, functions, depth + 1)
    if len(results) != len(op.results):
        raise _NoNumberError
    return results


def _result(op: Operation, x: Sequence[int]) -> int:
    """The result of one op of scalars."""
    name = name_of(op).partition(".")[2]
    match name, len(x):
        case "constant", 0:
            return _constant(op)
        case "convert", 1:
            return x[0]
        case "sign", 1:
            return (x[0] > 0) - (x[0] < 0)
        case "add", 2:
            return x[0] + x[1]
        case "subtract", 2:
            return x[0] - x[1]
        case "divide", 2:
            return abs(x[0]) // abs(x[1]) * (1 if (x[0] < 0) == (x[1] < 0) else -1)
        case "remainder", 2:
            return abs(x[0]) % abs(x[1]) * (-1 if x[0] < 0 else 1)
        case "and", 2:
            return x[0] & x[1]
        case "select", 3:
            return x[1] if x[0] else x[2]
        case "compare", 2:
            direction = ForeignOp(op, (), ()).word("comparison_direction", tuple(_COMPARISONS))
            return int(_COMPARISONS[direction](x[0], x[1]))
        case _:
            raise _NoNumberError


def _constant(op: Operation) -> int:
    value: Any = {**op.attributes, **op.properties}.get("value")
    numbers = (
        list(cast("DenseIntOrFPElementsAttr[Any]", value).get_values()) if isinstance(value, DenseIntOrFPElementsAttr) else []
    )
    if len(numbers) != 1:
        raise _NoNumberError
    return int(numbers[0])
