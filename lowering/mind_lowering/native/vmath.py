"""
Functions of real numbers, in f32 and f64 lanes.

Each is a function of the module, `@mind.exp.v16f32` for example, made on first use: `call` names it and `MATH` makes its body.
This is where polynomials over vectors plug in: a maker in `MATH` gets the lanes and the operands and returns the result. Where
there is none (`LIBRARY`), each lane calls the C library.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .ir import suffix, symbol
from .lanes import Lanes

Maker = Callable[[Lanes, str, Sequence[str]], str]
"""Lanes, `float` or `double`, the operands; the result."""

MATH: dict[str, Maker] = {}
"""By opcode: what computes it in vectors."""

LIBRARY: dict[str, str] = {name: name for name in ("exp", "log", "tanh", "erf", "sin", "cos", "pow", "expm1", "log1p", "fmod")}
"""By opcode: the function of the C library; with an `f` behind it for f32."""

BY_LIBRARY = frozenset(LIBRARY)


def call(lanes: Lanes, opcode: str, type: str, operands: Sequence[str]) -> str:
    """The function `opcode` of operands of `type` in every lane."""
    module, width, of = lanes.function.module, lanes.width, lanes.of(type)
    name = f"mind.{opcode}.{suffix(type, width)}"
    if name not in module.functions:
        names = [f"x{i}" for i in range(len(operands))]
        made = module.function(name, of, [(of, n) for n in names])
        inner = Lanes(made, lanes.host, width, hint=opcode)
        maker = MATH.get(opcode, _by_library(opcode))
        made.ret(maker(inner, type, [f"%{n}" for n in names]))
    arguments = ", ".join(f"{of} {v}" for v in operands)
    return lanes.op(f"call {of} {symbol(name)}({arguments})")


def _by_library(opcode: str) -> Maker:
    def maker(lanes: Lanes, type: str, operands: Sequence[str]) -> str:
        name = LIBRARY[opcode] + ("f" if type == "float" else "")
        found = "poison"
        for lane in range(lanes.width):
            parts = [(type, lanes.extract(type, v, str(lane))) for v in operands]
            result = lanes.function.call(name, type, *parts, hint=opcode)
            if lanes.width == 1:
                return result
            found = lanes.op(f"insertelement {lanes.of(type)} {found}, {type} {result}, i64 {lane}")
        return found

    return maker
