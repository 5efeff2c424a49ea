"""
One C++ expression per elementwise op: the result in a register, given the registers of the operands.

The functions that the expressions call are in `mind.cuh`. f16 and bf16 are computed in f32 and rounded after each op. The table
is closed by a test against `FUSIBLE`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from mind_dialect import ptir
from mind_dialect.elements import Number
from mind_dialect.ptir import PtirOp
from mind_dialect.ptir.scalars import SCALARS
from mind_dialect.ptir.types import DTYPES, Kind, PtirDType

from .unsupported import Unsupported

STORED: dict[PtirDType, str] = {
    DTYPES["i1"]: "bool",
    **{DTYPES[f"{sign}i{bits}"]: f"mind::{sign}i{bits}" for sign in "su" for bits in (8, 16, 32, 64)},
    DTYPES["f16"]: "mind::f16",
    DTYPES["bf16"]: "mind::bf16",
    DTYPES["f32"]: "float",
    DTYPES["f64"]: "double",
}
"""Types in memory of the elements that kernels work on."""

NARROW = (DTYPES["f16"], DTYPES["bf16"])
"""Floats that are computed in f32."""


def register(dtype: PtirDType) -> str:
    """The C++ type of a value of `dtype` in a register; Unsupported for dtypes without one."""
    stored = in_memory(dtype)
    return "float" if dtype in NARROW else stored


def in_memory(dtype: PtirDType) -> str:
    """The C++ type of an element of `dtype` in memory; Unsupported for dtypes without one."""
    if dtype not in STORED:
        raise Unsupported(f"{dtype} in a kernel")
    return STORED[dtype]


def literal(dtype: PtirDType, value: Number) -> str:
    """
    A number as a C++ expression of the register type.

    >>> literal(DTYPES["f32"], 0.5), literal(DTYPES["f64"], float("-inf")), literal(DTYPES["si8"], -3)
    ('0.5f', '__longlong_as_double((long long)0xfff0000000000000ull)', 'mind::si8(-3)')
    """
    type = register(dtype)
    if dtype.kind is Kind.BOOL:
        return "true" if value else "false"
    if dtype.kind is not Kind.FLOAT:
        number = int(value.real)
        suffix = "ull" if dtype.kind is Kind.UNSIGNED and dtype.bits == 64 else "ll" if dtype.bits == 64 else ""
        if number == -(1 << 63):
            return f"{type}(-{(1 << 63) - 1}ll - 1)"
        if dtype.name == "si32" and number == -(1 << 31):
            return f"{type}(-{(1 << 31) - 1} - 1)"
        return f"{type}({number}{'u' if dtype.name == 'ui32' else suffix})"
    number = float(value.real)
    if not math.isfinite(number):
        sign = math.copysign(1, number) < 0
        quiet = number != number
        if type == "float":
            return f"__uint_as_float({(0x7FC00000 if quiet else 0x7F800000) | sign << 31:#x}u)"
        return f"__longlong_as_double((long long){(0x7FF8 if quiet else 0x7FF0) << 48 | sign << 63:#x}ull)"
    return repr(number) + ("f" if type == "float" else "")


Operands = Sequence[str]
Emitter = Callable[[PtirOp, Operands], str]


def _call(name: str) -> Emitter:
    return lambda op, v: f"mind::{name}({', '.join(v)})"


_TESTS = {"less": "<", "less_equal": "<=", "equal": "==", "greater_equal": ">=", "greater": ">", "not_equal": "!="}


def _compare(op: PtirOp, v: Operands) -> str:
    return f"{v[0]} {_TESTS[op.values()['kind']]} {v[1]}"


def _cast(op: PtirOp, v: Operands) -> str:
    return cast(v[0], op.operand_spec(0).dtype, op.result_spec().dtype)


def cast(x: str, source: PtirDType, target: PtirDType) -> str:
    """`x` of dtype `source` as `target`, in registers."""
    if source is target:
        return x
    of, to = register(source), register(target)
    if target in NARROW:
        return f"mind::cast_narrow<{STORED[target]}>({x})"
    return f"mind::cast<{to}>({x})" if of != to or target.kind is Kind.BOOL else x


def _bitcast(op: PtirOp, v: Operands) -> str:
    target, source = (in_memory(spec.dtype) for spec in (op.result_spec(), op.operand_spec(0)))
    return f"mind::bitcast<{target}, {source}>({v[0]})"


def _truncate(op: PtirOp, v: Operands) -> str:
    return f"{register(op.result_spec().dtype)}({v[0]})"


EMITTERS: dict[type[PtirOp], Emitter] = {
    **{op: _call(SCALARS[op.OPCODE].cuda or op.OPCODE) for op in ptir.FUSIBLE if issubclass(op, PtirOp) and op.OPCODE in SCALARS},
    ptir.CompareOp: _compare,
    ptir.SelectOp: lambda op, v: f"{v[0]} ? {v[1]} : {v[2]}",
    ptir.CastOp: _cast,
    ptir.BitcastOp: _bitcast,
    ptir.TruncateOp: _truncate,
    ptir.StopGradientOp: lambda op, v: v[0],
    ptir.ClampOp: _call("clamp"),
}
"""The emitter of every elementwise op."""

EXACT: frozenset[type[PtirOp]] = frozenset(
    {
        ptir.RoundAwayOp,
        *(ptir.NegOp, ptir.AbsOp, ptir.MaximumOp, ptir.MinimumOp, ptir.CompareOp, ptir.SelectOp, ptir.CastOp),
        *(ptir.StopGradientOp, ptir.ClampOp, ptir.SignOp, ptir.BitcastOp, ptir.TruncateOp),
    }
)
"""Ops whose results need no rounding to their dtype."""


def emit(op: PtirOp, operands: Operands) -> str:
    """The result of an op of `EMITTERS`, as its dtype holds it."""
    found, dtype = EMITTERS[type(op)](op, operands), op.result_spec().dtype
    return f"mind::rounded<{STORED[dtype]}>({found})" if dtype in NARROW and type(op) not in EXACT else found


def divides_integers(op: PtirOp) -> bool:
    """Return whether an op fails where its second operand is 0."""
    return isinstance(op, ptir.DivOp | ptir.RemainderOp) and op.operand_spec(0).dtype.kind in (Kind.SIGNED, Kind.UNSIGNED)
