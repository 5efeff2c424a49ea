"""Which array function an elementwise op is, wherever a dtype is native to the array namespace. Light: imports nothing."""

from __future__ import annotations

UFUNCS: dict[str, str] = {
    "neg": "negative",
    "abs": "absolute",
    "exp": "exp",
    "log": "log",
    "tanh": "tanh",
    "reciprocal": "reciprocal",
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "maximum": "maximum",
    "minimum": "minimum",
    "sqrt": "sqrt",
    "sin": "sin",
    "cos": "cos",
    "floor": "floor",
    "ceil": "ceil",
    "round": "rint",
    "expm1": "expm1",
    "log1p": "log1p",
    "pow": "power",
    "not": "invert",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "shift_left": "left_shift",
    "less": "less",
    "less_equal": "less_equal",
    "equal": "equal",
    "greater_equal": "greater_equal",
    "greater": "greater",
    "not_equal": "not_equal",
}
"""By opcode, for `compare` by kind: the function `xp.NAME`, and the kernel `k.NAME` which takes every dtype."""
