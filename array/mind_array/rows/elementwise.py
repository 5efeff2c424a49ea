"""Elementwise functions of one op: their rows are a class of op, a ufunc and a category."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mind_dialect import ptir
from mind_dialect.ptir import PtirOp
from mind_dialect.ptir.legal import LEGAL
from mind_lowering.ptir_kernels.table import NATIVE
from mind_lowering.ptir_kernels.ufuncs import UFUNCS

from ..array import Array, wrap
from ..dtypes import CATEGORIES, STANDARD, kind_of, ptir_dtype
from ..emit import emit, quietly
from ..operands import one, together
from ..table import NONE, PIECEWISE, SMOOTH, Derivative, Row, register
from ..trace import ACTIVE, TracedArray

Binary = Callable[[Any, Any], Array]
Unary = Callable[[Any], Array]
_SCALARS_OF: dict[str, tuple[type, ...]] = {
    "b": (bool,),
    "i": (int,),
    "u": (int,),
    "f": (float, int),
    "c": (complex, float, int),
}
"""Python numbers that NumPy takes with arrays of a kind and keeps the dtype; of integers those that fit every dtype."""


def fast_dtypes(op: type[PtirOp], category: str, key: str | None = None) -> frozenset[Any]:
    """The dtypes of a category for which the kernel of an op is the ufunc itself."""
    name = key or op.OPCODE
    legal = next(iter(LEGAL[name].values()))
    return frozenset(
        d
        for d in STANDARD.values()
        if ptir_dtype(d) in legal and ptir_dtype(d).name in NATIVE and kind_of(d) in CATEGORIES[category]
    )


def _named(function: Any, name: str, doc: str, module: str = "mind_array") -> Any:
    function.__name__ = function.__qualname__ = name
    function.__doc__, function.__module__ = doc, module
    return function


def unary(
    name: str,
    op: type[PtirOp],
    category: str,
    doc: str,
    *,
    numpy: tuple[str, ...] = (),
    derivative: Derivative = SMOOTH,
    domain: tuple[float, float] = (-2.0, 2.0),
    integers: bool = False,
    standard: bool = True,
    module: str = "",
    complex_form: Callable[[Array], Array] | None = None,
) -> Unary:
    """
    Add the row of an op of one operand.

    `integers`: the function is the identity on them. `complex_form` gives the result of complex numbers in place of the op.
    """
    ufunc: Any = getattr(np, UFUNCS[op.OPCODE]) if op.OPCODE in UFUNCS else None
    fast = fast_dtypes(op, category) if ufunc is not None else frozenset[Any]()
    if complex_form is not None:
        fast = frozenset(d for d in fast if kind_of(d) != "c")

    def function(x: Any, /) -> Array:
        if type(x) is Array and x.ndarray.dtype in fast and ACTIVE.get() is None:
            return wrap(quietly(ufunc, x.ndarray))  # pyright: ignore
        array = one(name, category, x)
        if integers and kind_of(array.dtype) in "iu":
            return array
        if complex_form is not None and kind_of(array.dtype) == "c":
            return complex_form(array)
        return _kept_weak(emit(op, array), array)

    names = numpy or (UFUNCS.get(op.OPCODE, name),)
    register(
        Row(name, _named(function, name, doc), module, standard, names, category, 1, derivative, domain, ufunc=ufunc, fast=fast)
    )
    return function


def binary(
    name: str,
    op: type[PtirOp],
    category: str,
    doc: str,
    *,
    numpy: tuple[str, ...] = (),
    derivative: Derivative = SMOOTH,
    domain: tuple[float, float] = (-2.0, 2.0),
    kind: str | None = None,
    fast: frozenset[Any] | None = None,
    general: Callable[[list[Array]], Array | None] | None = None,
) -> Binary:
    """Add the row of an op of two operands. `general` may give the result for dtypes that the op does not take."""
    key = f"{op.OPCODE} {kind}" if kind else op.OPCODE
    ufunc_name = UFUNCS.get(kind or op.OPCODE, "divide" if op is ptir.DivOp else None)
    ufunc: Any = getattr(np, ufunc_name) if ufunc_name else None
    quick = frozenset[Any]() if ufunc is None else fast_dtypes(op, category, key) if fast is None else fast
    properties = {"kind": kind} if kind else {}
    scalars = {d: _SCALARS_OF[kind_of(d)] for d in quick}

    def function(x1: Any, x2: Any, /) -> Array:
        if type(x1) is Array and ACTIVE.get() is None:
            a = x1.ndarray
            if type(x2) is Array:
                b = x2.ndarray
                if a.dtype is b.dtype and a.dtype in quick and (a.shape == b.shape or _fits(a.shape, b.shape)):
                    return wrap(quietly(ufunc, a, b))  # pyright: ignore
            elif type(x2) in scalars.get(a.dtype, ()) and (a.dtype.kind not in "iu" or 0 <= x2 < 128):
                return wrap(quietly(ufunc, a, x2))  # pyright: ignore
        operands = together(name, category, x1, x2)
        if general is not None and (found := general(operands)) is not None:
            return _kept_weak(found, *operands)
        return _kept_weak(emit(op, *operands, **properties), *operands)

    names = numpy or (ufunc_name or name,)
    register(Row(name, _named(function, name, doc), "", True, names, category, 2, derivative, domain, ufunc=ufunc, fast=quick))
    return function


def _fits(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    """Return whether two shapes broadcast."""
    return all(m == n or m == 1 or n == 1 for m, n in zip(reversed(a), reversed(b), strict=False))


def _kept_weak(result: Array, *operands: Array) -> Array:
    """A result of weak operands is weak."""
    if type(result) is TracedArray and all(x.weak for x in operands):
        result.weak = result.dtype == operands[0].dtype
    return result


negative = unary("negative", ptir.NegOp, "numeric", "Return `-x`; integers wrap.")
sqrt = unary("sqrt", ptir.SqrtOp, "floating", "Return the square root; NaN below 0.", domain=(0.5, 3.0))
sin = unary("sin", ptir.SinOp, "floating", "Return the sine, of radians.")
cos = unary("cos", ptir.CosOp, "floating", "Return the cosine, of radians.")
exp = unary("exp", ptir.ExpOp, "floating", "Return `e ** x`.")
log = unary("log", ptir.LogOp, "floating", "Return the natural logarithm.", domain=(0.5, 3.0))
reciprocal = unary("reciprocal", ptir.ReciprocalOp, "floating", "Return `1 / x`.", domain=(0.5, 3.0))
bitwise_invert = unary(
    *("bitwise_invert", ptir.NotOp, "integer or bool", "Return `x` with every bit flipped."),
    numpy=("invert", "bitwise_not"),
    derivative=NONE,
)
logical_not = unary("logical_not", ptir.NotOp, "bool", "Return whether `x` is False.", numpy=("logical_not",), derivative=NONE)
floor = unary("floor", ptir.FloorOp, "real", "Return the greatest whole number not above `x`.", derivative=NONE, integers=True)
ceil = unary("ceil", ptir.CeilOp, "real", "Return the least whole number not below `x`.", derivative=NONE, integers=True)

add = binary("add", ptir.AddOp, "numeric", "Return `x1 + x2`; integers wrap.")
subtract = binary("subtract", ptir.SubOp, "numeric", "Return `x1 - x2`; integers wrap.")
multiply = binary("multiply", ptir.MulOp, "numeric", "Return `x1 * x2`; integers wrap.")
divide = binary("divide", ptir.DivOp, "floating", "Return `x1 / x2`.", numpy=("divide", "true_divide"), domain=(0.5, 3.0))
maximum = binary("maximum", ptir.MaximumOp, "real", "Return the greater of each two; NaN if either is.", derivative=PIECEWISE)
minimum = binary("minimum", ptir.MinimumOp, "real", "Return the less of each two; NaN if either is.", derivative=PIECEWISE)
bitwise_and = binary("bitwise_and", ptir.AndOp, "integer or bool", "Return `x1 & x2`, bit by bit.", derivative=NONE)
bitwise_or = binary("bitwise_or", ptir.OrOp, "integer or bool", "Return `x1 | x2`, bit by bit.", derivative=NONE)
bitwise_xor = binary("bitwise_xor", ptir.XorOp, "integer or bool", "Return `x1 ^ x2`, bit by bit.", derivative=NONE)
_EITHER = "Return whether `x1`, `x2` or both are True."
logical_and = binary(
    "logical_and", ptir.AndOp, "bool", "Return whether `x1` and `x2` are True.", numpy=("logical_and",), derivative=NONE
)
logical_or = binary("logical_or", ptir.OrOp, "bool", _EITHER, numpy=("logical_or",), derivative=NONE)
logical_xor = binary(
    "logical_xor", ptir.XorOp, "bool", "Return whether one of `x1` and `x2` is True.", numpy=("logical_xor",), derivative=NONE
)
_SHIFT = "Return `x1 << x2`, wrapping; 0 for amounts outside 0 to the width."
bitwise_left_shift = binary("bitwise_left_shift", ptir.ShiftLeftOp, "integer", _SHIFT, numpy=("left_shift",), derivative=NONE)


def _logical_shift(operands: list[Array]) -> Array | None:
    unsigned = kind_of(operands[0].dtype) == "u"
    return emit(ptir.ShiftRightLogicalOp, *operands) if unsigned else None


bitwise_right_shift = binary(
    *("bitwise_right_shift", ptir.ShiftRightArithmeticOp, "integer"),
    "Return `x1 >> x2`; the sign of signed integers is kept.",
    numpy=("right_shift",),
    derivative=NONE,
    general=_logical_shift,
)


def _comparison(name: str, category: str, doc: str) -> Binary:
    return binary(name, ptir.CompareOp, category, doc, kind=name, derivative=NONE)


less = _comparison("less", "real", "Return `x1 < x2`.")
less_equal = _comparison("less_equal", "real", "Return `x1 <= x2`.")
greater = _comparison("greater", "real", "Return `x1 > x2`.")
greater_equal = _comparison("greater_equal", "real", "Return `x1 >= x2`.")
equal = _comparison("equal", "all", "Return `x1 == x2`; NaN equals nothing.")
not_equal = _comparison("not_equal", "all", "Return `x1 != x2`; NaN differs from everything.")
