"""
Functions of real numbers, in f32 and f64 lanes.

`call` puts the instructions of a function where they are wanted. A maker in `MATH` gets the lanes and the operands and returns
the result.

    reals.py            arithmetic whose roundings are known, polynomials, tables, scaling by powers of two
    exponentials.py     exp, expm1, logistic, tanh (f64)     logarithms.py   log, log1p          bounded.py   tanh (f32), erf
    trigonometric.py    sin, cos                             powers.py       pow                 inverse.py        erf_inv
    angles.py           atan2                gamma.py         lgamma             quotients.py       shares of a total
    remainders.py       fmod                 coefficients.py  numbers

Errors are at most 2 units in the last place in f32, 3 in f64 (pow, erf_inv and lgamma in f64, erf_inv in f32: 4), for all
operands; fmod is exact. Results do not depend on the number of lanes. `cbrt` is left to the C library, by functions of the
module, `@mind.cbrt.v8f64` for example, made on first use.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from mind_dialect.ptir.scalars import SCALARS

from ..ir import suffix, symbol
from ..lanes import Lanes
from . import angles, bounded, exponentials, gamma, inverse, logarithms, powers, quotients, remainders, trigonometric
from .reals import Reals

Maker = Callable[[Lanes, str, Sequence[str]], str]
"""Lanes, `float` or `double`, the operands; the result."""


def _of(body: Callable[..., str]) -> Maker:
    return lambda lanes, type, operands: body(Reals(lanes, type), *operands)


def _tanh(v: Reals, x: str) -> str:
    return exponentials.tanh(v, x) if v.double else bounded.tanh(v, x)


def _erf_inv(v: Reals, x: str) -> str:
    one = v.c(1)
    return inverse.erf_inv(v, x, logarithms.log(v, v.mul(v.sub(one, x), v.add(one, x))))


NOT_ABOVE_ONE = "exp_not_above_one"
"""The exponential of operands that are known to be 0, less or NaN: the same bits in fewer instructions."""
SCORE = "exp_of_score"
"""The exponential of such operands, 0 where it is below `e^-87` in f32 or `e^-708` in f64."""
SHARE = "share"
"""The quotient of an operand from 0 to 1 by one from 1 to `quotients.MOST_TOTAL` that many lanes share."""

MATH: dict[str, Maker] = {
    "exp": _of(exponentials.exp),
    NOT_ABOVE_ONE: _of(exponentials.exp_not_above_one),
    SCORE: _of(exponentials.exp_of_score),
    SHARE: _of(quotients.share),
    "log": _of(logarithms.log),
    "tanh": _of(_tanh),
    "erf": _of(bounded.erf),
    "erf_inv": _of(_erf_inv),
    "lgamma": _of(partial(gamma.lgamma, log=logarithms.log)),
    "sin": _of(trigonometric.sin),
    "cos": _of(trigonometric.cos),
    "atan2": _of(angles.atan2),
    "pow": _of(powers.power),
    "expm1": _of(exponentials.expm1),
    "log1p": _of(logarithms.log1p),
    "logistic": _of(exponentials.logistic),
    "fmod": _of(remainders.fmod),
}
"""By opcode: what computes it in vectors."""

BY_LIBRARY = frozenset(opcode for opcode, row in SCALARS.items() if row.library)
"""Opcodes that are calls of the C library's function of that name; with an `f` behind it for f32."""


INLINED = 32
"""So many bodies of functions of real numbers are emitted in one kernel; those after them are calls."""


def call(lanes: Lanes, opcode: str, type: str, operands: Sequence[str]) -> str:
    """
    Emit the function `opcode` of operands of `type`, `float` or `double`, in every lane.

    Its body is emitted in place, but in a kernel that has many of them already: its constants would stay in registers all through
    a long block, for which register allocation takes time quadratic in its length.
    """
    if opcode not in BY_LIBRARY:
        lanes.function.inlined += 1
        if lanes.function.inlined <= INLINED:
            return MATH[opcode](lanes, type, operands)
    module, width, of = lanes.function.module, lanes.width, lanes.of(type)
    name = f"mind.{opcode}.{suffix(type, width)}"
    if name not in module.functions:
        names = [f"x{i}" for i in range(len(operands))]
        made = module.function(name, of, [(of, n) for n in names])
        inner = Lanes(made, lanes.host, width, hint=opcode)
        maker = MATH[opcode] if opcode in MATH else _by_library(opcode)
        made.ret(maker(inner, type, [f"%{n}" for n in names]))
    arguments = ", ".join(f"{of} {v}" for v in operands)
    return lanes.op(f"call {of} {symbol(name)}({arguments})")


def _by_library(opcode: str) -> Maker:
    def maker(lanes: Lanes, type: str, operands: Sequence[str]) -> str:
        name = opcode + ("f" if type == "float" else "")
        found = "poison"
        operands = [lanes.settled(type, v) for v in operands]  # where subnormal numbers count as 0, the library's cbrt is wrong
        for lane in range(lanes.width):
            parts = [(type, lanes.extract(type, v, str(lane))) for v in operands]
            result = lanes.function.call(name, type, *parts, hint=opcode)
            if lanes.width == 1:
                return result
            found = lanes.op(f"insertelement {lanes.of(type)} {found}, {type} {result}, i64 {lane}")
        return found

    return maker
