"""
The ops of PTIR as functions: `ma.ptir.OPCODE(*arrays, **properties)`, for programs that mean one op and nothing around it.

Operands have the dtypes and shapes that the op wants: nothing is promoted, broadcast or wrapped. Properties are those of the op;
dtypes are given as any dtype. Ops with regions are functions of `mind_array` instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mind_dialect.ptir import OPS_BY_OPCODE, PtirOp
from mind_dialect.ptir_shapes import same_shape

from .dtypes import as_dtype, ptir_dtype
from .emit import SHAPELESS, emit
from .faults import ArrayAttributeError, fault, in_user_terms
from .kinds import is_numpy, is_sequence
from .operands import array_of

WITHOUT_FUNCTION: dict[str, str] = {
    "constant": "asarray and full make constants",
    "cond": "ma.cond",
    "while": "ma.while_loop",
    "scan": "ma.scan and ma.fori_loop",
    "yield": "it ends a region",
    "fusion": "the optimiser makes it",
    "custom_call": "its result types are not inferred; register a function and use mind_array.calls",
    "rng_uniform": "ma.random.uniform takes a key",
    "rng_normal": "ma.random.normal takes a key",
}
"""Opcodes that have no function here, with what there is instead."""
_DTYPES = ("dtype", "accum_dtype", "out_dtype", "output_dtype", "indices_dtype")
_functions: dict[str, Callable[..., Any]] = {}


def _function(opcode: str, cls: type[PtirOp]) -> Callable[..., Any]:
    def function(*arrays: Any, **properties: Any) -> Any:
        given = {name: _property(name, value) for name, value in properties.items() if value is not None}
        operands = [array_of(x, opcode) for x in arrays]
        if cls in SHAPELESS:  # their kernels would broadcast
            with in_user_terms():
                same_shape(*(x.spec.shape for x in operands))
        return emit(cls, *operands, **given)

    function.__name__, function.__doc__ = opcode, cls.__doc__
    return function


def _property(name: str, value: Any) -> Any:
    if name in _DTYPES:
        return ptir_dtype(as_dtype(value))
    if is_numpy(value):
        return value.item()
    return _plain(value)


def _plain(value: Any) -> Any:
    """Lists as tuples, and names of dimensions as plain text, so that properties can be hashed."""
    if is_sequence(value):
        return tuple([_plain(v) for v in value])
    return str(value) if isinstance(value, str) else value


def __getattr__(name: str) -> Callable[..., Any]:
    """The function of an opcode, with or without an underscore behind it; E7003 for an unknown one."""
    opcode = name.removesuffix("_")
    cls = OPS_BY_OPCODE.get(opcode)
    if cls is None or opcode in WITHOUT_FUNCTION:
        known = [n for n in OPS_BY_OPCODE if n not in WITHOUT_FUNCTION]
        hint = f"; {WITHOUT_FUNCTION[opcode]}" if opcode in WITHOUT_FUNCTION else f", expected one of {known}"
        raise fault("E7003", f"ma.ptir has no function {name!r}{hint}", kind=ArrayAttributeError, name=name, known=known)
    return _functions.setdefault(opcode, _function(opcode, cls))


def __dir__() -> list[str]:
    return sorted(n for n in OPS_BY_OPCODE if n not in WITHOUT_FUNCTION)
