"""
Every rewrite of `ptir-canonicalize`: programs where it applies, and beside each what must stay as it is.

A program is the arguments and the ops of a function in MLIR text; the last value is returned. `stays` may bring its own
arguments before a `|`.
"""

# ruff: noqa: E501, programs are read better in one line each

from __future__ import annotations

import re
from dataclasses import dataclass

_ARGUMENTS = re.compile(r"%\w+: tensor<[^>]*>")


@dataclass(frozen=True)
class Row:
    """A rule of a table by name, and programs."""

    rule: str
    arguments: str
    fires: tuple[str, ...]
    stays: tuple[str, ...] = ()
    fast: bool = False


def function(arguments: str, body: str) -> str:
    """A module with one function; the type of the last value is what follows the last `->` or `:` of the last line."""
    own, bar, rest = body.partition("|")
    if bar:
        arguments, body = own.strip(), rest
    lines = [line.strip() for line in body.strip().split(";")]
    name, _, right = lines[-1].partition("=")
    result = re.split(r" -> | : ", right)[-1].strip()
    ops = "\n    ".join(lines)
    return f"""module attributes {{ptir.spec_version = "ptir.v0.4"}} {{
  func.func @f({arguments}) -> {result} {{
    {ops}
    func.return {name.strip()} : {result}
  }}
}}
"""


X = "%x: tensor<8xf32>"
XY = "%x: tensor<8xf32>, %y: tensor<8xf32>"
I = "%x: tensor<8xsi8>"  # noqa: E741
C = "%x: tensor<49xcomplex<f32>>"


def const(name: str, value: object, dtype: str = "f32", shape: str = "8x") -> str:
    return f"%{name} = ptir.constant fill {value} : tensor<{shape}{dtype}>"


def binary(op: str, value: object, dtype: str = "f32", *, left: bool = False) -> str:
    """`x op value`, or the other way round."""
    operands = "%c, %x" if left else "%x, %c"
    return f"{const('c', value, dtype)}; %r = ptir.{op} {operands} : tensor<8x{dtype}>"


def integer(text: str, dtype: str = "si8") -> str:
    return f"%x: tensor<8x{dtype}>, %y: tensor<8x{dtype}> | {text}"


ONE_COMPLEX = const("c", "(1.0, 0.0)", "complex<f32>", "49x")
ZERO_COMPLEX = const("c", "(0.0, 0.0)", "complex<f32>", "49x")

ROWS: tuple[Row, ...] = (
    Row(
        "neg_neg",
        X,
        ("%a = ptir.neg %x : tensor<8xf32>; %r = ptir.neg %a : tensor<8xf32>",),
        ("%a = ptir.abs %x : tensor<8xf32>; %r = ptir.neg %a : tensor<8xf32>",),
    ),
    Row(
        "abs_of_sign",
        X,
        (
            "%a = ptir.neg %x : tensor<8xf32>; %r = ptir.abs %a : tensor<8xf32>",
            "%a = ptir.abs %x : tensor<8xf32>; %r = ptir.abs %a : tensor<8xf32>",
            integer("%a = ptir.neg %x : tensor<8xsi8>; %r = ptir.abs %a : tensor<8xsi8>"),
        ),
        (integer("%a = ptir.neg %x : tensor<8xui8>; %r = ptir.abs %a : tensor<8xui8>", "ui8"),),
    ),
    Row(
        "add_zero",
        X,
        (
            binary("add", -0.0),
            binary("add", -0.0, left=True),
            integer(binary("add", 0, "si8")),
            f"{C} | {const('c', '(-0.0, -0.0)', 'complex<f32>', '49x')}; %r = ptir.add %x, %c : tensor<49xcomplex<f32>>",
        ),
        (
            binary("add", 0.0),
            integer(binary("add", 1, "si8")),
            f"{C} | {const('c', '(-0.0, 0.0)', 'complex<f32>', '49x')}; %r = ptir.add %x, %c : tensor<49xcomplex<f32>>",
            "%c = ptir.constant [-0.0, 0.0, -0.0, -0.0, -0.0, -0.0, -0.0, -0.0] : tensor<8xf32>;"
            " %r = ptir.add %x, %c : tensor<8xf32>",
        ),
    ),
    Row(
        "add_neg",
        XY,
        (
            "%a = ptir.neg %y : tensor<8xf32>; %r = ptir.add %x, %a : tensor<8xf32>",
            "%a = ptir.neg %y : tensor<8xf32>; %r = ptir.add %a, %x : tensor<8xf32>",
            integer("%a = ptir.neg %y : tensor<8xsi8>; %r = ptir.add %x, %a : tensor<8xsi8>"),
        ),
        ("%a = ptir.abs %y : tensor<8xf32>; %r = ptir.add %a, %x : tensor<8xf32>",),
    ),
    Row(
        "sub_zero",
        X,
        (
            binary("sub", 0.0),
            integer(binary("sub", 0, "si8")),
            f"{C} | {ZERO_COMPLEX}; %r = ptir.sub %x, %c : tensor<49xcomplex<f32>>",
        ),
        (binary("sub", -0.0), binary("sub", 0.0, left=True)),
    ),
    Row(
        "sub_neg",
        XY,
        ("%a = ptir.neg %y : tensor<8xf32>; %r = ptir.sub %x, %a : tensor<8xf32>",),
        ("%a = ptir.neg %y : tensor<8xf32>; %r = ptir.sub %a, %x : tensor<8xf32>",),
    ),
    Row(
        "sub_from_zero",
        X,
        (binary("sub", -0.0, left=True), integer(binary("sub", 0, "si8", left=True))),
        (binary("sub", 0.0, left=True),),
    ),
    Row(
        "sub_self",
        I,
        ("%r = ptir.sub %x, %x : tensor<8xsi8>",),
        (f"{X} | %r = ptir.sub %x, %x : tensor<8xf32>", f"{XY} | %r = ptir.sub %x, %y : tensor<8xf32>"),
    ),
    Row(
        "mul_one",
        X,
        (binary("mul", 1.0), binary("mul", 1.0, left=True), integer(binary("mul", 1, "si8"))),
        (binary("mul", 1.5), f"{C} | {ONE_COMPLEX}; %r = ptir.mul %x, %c : tensor<49xcomplex<f32>>"),
    ),
    Row("mul_zero", I, (binary("mul", 0, "si8"), binary("mul", 0, "si8", left=True)), (f"{X} | " + binary("mul", 0.0),)),
    Row(
        "mul_minus_one",
        X,
        (binary("mul", -1.0), integer(binary("mul", -1, "si8", left=True))),
        (
            binary("mul", -2.0),
            f"{C} | {const('c', '(-1.0, 0.0)', 'complex<f32>', '49x')}; %r = ptir.mul %x, %c : tensor<49xcomplex<f32>>",
        ),
    ),
    *(
        Row(
            rule,
            X,
            tuple(f"%a = ptir.neg %x : tensor<8xf32>; %r = ptir.{op} %a : tensor<8xf32>" for op in ops),
            (
                *(f"%a = ptir.abs %x : tensor<8xf32>; %r = ptir.{op} %a : tensor<8xf32>" for op in ops),
                "%a = ptir.neg %x : tensor<8xf32>; %r = ptir.exp %a : tensor<8xf32>",
            ),
        )
        for rule, ops in (("odd_function", ("erf", "erf_inv", "tanh", "sin", "cbrt")), ("even_function", ("cos",)))
    ),
    Row(
        "neg_of_scaled",
        X,
        tuple(
            f"{const('c', value)}; %a = ptir.neg %x : tensor<8xf32>; %r = ptir.{op} %a, %c : tensor<8xf32>"
            for op, value in (("mul", 3.0), ("div", 3.0), ("mul", 0.0), ("div", -7.5))
        ),
        (
            f"{XY} | %a = ptir.neg %x : tensor<8xf32>; %r = ptir.mul %a, %y : tensor<8xf32>",
            integer(f"{const('c', 3, 'si8')}; %a = ptir.neg %x : tensor<8xsi8>; %r = ptir.div %a, %c : tensor<8xsi8>"),
        ),
    ),
    Row(
        "div_one",
        X,
        (binary("div", 1.0), integer(binary("div", 1, "si8"))),
        (binary("div", 1.0, left=True), f"{C} | {ONE_COMPLEX}; %r = ptir.div %x, %c : tensor<49xcomplex<f32>>"),
    ),
    Row(
        "div_power_of_two",
        X,
        (
            binary("div", 8.0),
            binary("div", -0.25),
            "%x: tensor<8xf8E4M3FN> | " + binary("div", 4.0, "f8E4M3FN"),
            "%x: tensor<8xf16> | " + binary("div", 1024.0, "f16"),
        ),
        (
            binary("div", 3.0),
            binary("div", 0.0),
            binary("div", "inf"),
            binary("div", "nan"),
            binary("div", "1.0e-45"),
            integer(binary("div", 2, "si8")),
        ),
    ),
    Row(
        "same_operands",
        X,
        (
            "%r = ptir.maximum %x, %x : tensor<8xf32>",
            "%r = ptir.minimum %x, %x : tensor<8xf32>",
            integer("%r = ptir.and %x, %x : tensor<8xsi8>"),
            integer("%r = ptir.or %x, %x : tensor<8xsi8>"),
        ),
        (f"{XY} | %r = ptir.maximum %x, %y : tensor<8xf32>", "%r = ptir.add %x, %x : tensor<8xf32>"),
    ),
    Row(
        "extreme_of_end",
        X,
        (
            f"{const('c', '-inf')}; %r = ptir.maximum %x, %c : tensor<8xf32>",
            f"{const('c', '-inf')}; %r = ptir.maximum %c, %x : tensor<8xf32>",
            f"{const('c', 'inf')}; %r = ptir.minimum %x, %c : tensor<8xf32>",
            integer(f"{const('c', -128, 'si8')}; %r = ptir.maximum %x, %c : tensor<8xsi8>"),
            integer(f"{const('c', 127, 'si8')}; %r = ptir.minimum %c, %x : tensor<8xsi8>"),
            f"%x: tensor<8xui8> | {const('c', 0, 'ui8')}; %r = ptir.maximum %x, %c : tensor<8xui8>",
            f"%x: tensor<8xui8> | {const('c', 255, 'ui8')}; %r = ptir.minimum %x, %c : tensor<8xui8>",
        ),
        (
            f"{const('c', 'inf')}; %r = ptir.maximum %x, %c : tensor<8xf32>",
            f"{const('c', '-3.4028235e38')}; %r = ptir.maximum %x, %c : tensor<8xf32>",
            integer(f"{const('c', -127, 'si8')}; %r = ptir.maximum %x, %c : tensor<8xsi8>"),
            integer(f"{const('c', -128, 'si8')}; %r = ptir.minimum %x, %c : tensor<8xsi8>"),
        ),
    ),
    Row(
        "select_equal",
        "%p: tensor<8xi1>, %x: tensor<8xf32>, %y: tensor<8xf32>",
        ("%r = ptir.select %p, %x, %x : (tensor<8xi1>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>",),
        ("%r = ptir.select %p, %x, %y : (tensor<8xi1>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>",),
    ),
    Row(
        "select_known",
        XY,
        (
            const("p", "true", "i1")
            + "; %r = ptir.select %p, %x, %y : (tensor<8xi1>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>",
            const("p", "false", "i1")
            + "; %r = ptir.select %p, %x, %y : (tensor<8xi1>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>",
        ),
        (
            "%p = ptir.constant [true, false, true, true, true, true, true, true] : tensor<8xi1>;"
            " %r = ptir.select %p, %x, %y : (tensor<8xi1>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>",
        ),
    ),
    Row(
        "select_not",
        "%p: tensor<8xi1>, %x: tensor<8xf32>, %y: tensor<8xf32>",
        (
            "%n = ptir.not %p : tensor<8xi1>;"
            " %r = ptir.select %n, %x, %y : (tensor<8xi1>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>",
        ),
    ),
    Row(
        "select_truths",
        "%p: tensor<8xi1>",
        (f"{const('t', 'true', 'i1')}; {const('f', 'false', 'i1')}; %r = ptir.select %p, %t, %f : tensor<8xi1>",),
        (
            f"{const('t', 'true', 'i1')}; {const('f', 'false', 'i1')}; %r = ptir.select %p, %f, %t : tensor<8xi1>",
            f"{const('t', 1.0)}; {const('f', 0.0)};"
            " %r = ptir.select %p, %t, %f : (tensor<8xi1>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>",
        ),
    ),
    Row(
        "cast_same",
        X,
        ("%r = ptir.cast %x dtype = f32 : tensor<8xf32>",),
        ("%r = ptir.cast %x dtype = f64 : tensor<8xf32> -> tensor<8xf64>",),
    ),
    Row(
        "cast_of_cast",
        X,
        (
            "%a = ptir.cast %x dtype = f64 : tensor<8xf32> -> tensor<8xf64>;"
            " %r = ptir.cast %a dtype = f32 : tensor<8xf64> -> tensor<8xf32>",
            "%a = ptir.cast %x dtype = f64 : tensor<8xf32> -> tensor<8xf64>;"
            " %r = ptir.cast %a dtype = si8 : tensor<8xf64> -> tensor<8xsi8>",
            "%x: tensor<8xui8> | %a = ptir.cast %x dtype = f16 : tensor<8xui8> -> tensor<8xf16>;"
            " %r = ptir.cast %a dtype = si8 : tensor<8xf16> -> tensor<8xsi8>",
            "%x: tensor<2xi1> | %a = ptir.cast %x dtype = bf16 : tensor<2xi1> -> tensor<2xbf16>;"
            " %r = ptir.cast %a dtype = i1 : tensor<2xbf16> -> tensor<2xi1>",
        ),
        (
            "%a = ptir.cast %x dtype = f16 : tensor<8xf32> -> tensor<8xf16>;"
            " %r = ptir.cast %a dtype = f32 : tensor<8xf16> -> tensor<8xf32>",
            "%x: tensor<8xsi32> | %a = ptir.cast %x dtype = f32 : tensor<8xsi32> -> tensor<8xf32>;"
            " %r = ptir.cast %a dtype = si32 : tensor<8xf32> -> tensor<8xsi32>",
            "%x: tensor<8xsi8> | %a = ptir.cast %x dtype = ui8 : tensor<8xsi8> -> tensor<8xui8>;"
            " %r = ptir.cast %a dtype = si8 : tensor<8xui8> -> tensor<8xsi8>",
            "%x: tensor<8xf8E5M2> | %a = ptir.cast %x dtype = f8E4M3FN : tensor<8xf8E5M2> -> tensor<8xf8E4M3FN>;"
            " %r = ptir.cast %a dtype = f32 : tensor<8xf8E4M3FN> -> tensor<8xf32>",
        ),
    ),
    Row(
        "widening_truncate",
        "%x: tensor<8xsi8>",
        (
            "%r = ptir.truncate %x dtype = si32 : tensor<8xsi8> -> tensor<8xsi32>",
            "%x: tensor<8xui8> | %r = ptir.truncate %x dtype = si16 : tensor<8xui8> -> tensor<8xsi16>",
            "%x: tensor<8xui32> | %r = ptir.truncate %x dtype = ui64 : tensor<8xui32> -> tensor<8xui64>",
        ),
        (
            "%r = ptir.truncate %x dtype = ui32 : tensor<8xsi8> -> tensor<8xui32>",
            "%x: tensor<8xui8> | %r = ptir.truncate %x dtype = si8 : tensor<8xui8> -> tensor<8xsi8>",
            "%x: tensor<8xsi64> | %r = ptir.truncate %x dtype = si32 : tensor<8xsi64> -> tensor<8xsi32>",
        ),
    ),
    Row(
        "idempotent",
        X,
        tuple(
            f"%a = ptir.{op} %x : tensor<8xf32>; %r = ptir.{op} %a : tensor<8xf32>"
            for op in ("floor", "ceil", "round", "sign", "stop_gradient")
        ),
        (
            "%a = ptir.floor %x : tensor<8xf32>; %r = ptir.ceil %a : tensor<8xf32>",
            "%x: tensor<8xcomplex<f32>> | %a = ptir.sign %x : tensor<8xcomplex<f32>>; %r = ptir.sign %a : tensor<8xcomplex<f32>>",
            "%a = ptir.exp %x : tensor<8xf32>; %r = ptir.exp %a : tensor<8xf32>",
        ),
    ),
    Row(
        "reduction_of_one",
        "%x: tensor<1x8xf32>",
        (
            "%r = ptir.reduce %x kind = max axes = [0] keepdims = false : tensor<1x8xf32> -> tensor<8xf32>",
            "%r = ptir.reduce %x kind = min axes = [0] keepdims = true : tensor<1x8xf32>",
            "%x: tensor<1x8xsi8> | %r = ptir.reduce %x kind = sum axes = [] keepdims = false : tensor<1x8xsi8>",
            "%r = ptir.reduce %x kind = sum axes = [] keepdims = false : tensor<1x8xf32>",
            "%x: tensor<8x1xsi8> | %r = ptir.reduce %x kind = sum axes = [1] keepdims = false : tensor<8x1xsi8> -> tensor<8xsi8>",
        ),
        (
            "%r = ptir.reduce %x kind = sum axes = [0] keepdims = false : tensor<1x8xf32> -> tensor<8xf32>",
            "%r = ptir.reduce %x kind = max axes = [1] keepdims = false : tensor<1x8xf32> -> tensor<1xf32>",
            "%r = ptir.reduce %x kind = max axes = [0] keepdims = false out_dtype = f64 : tensor<1x8xf32> -> tensor<8xf64>",
        ),
    ),
    Row(
        "reduce_of_reduce",
        "%x: tensor<2x3x4xf32>",
        (
            "%a = ptir.reduce %x kind = max axes = [1] keepdims = false : tensor<2x3x4xf32> -> tensor<2x4xf32>;"
            " %r = ptir.reduce %a kind = max axes = [1] keepdims = false : tensor<2x4xf32> -> tensor<2xf32>",
            "%a = ptir.reduce %x kind = min axes = [0] keepdims = true : tensor<2x3x4xf32> -> tensor<1x3x4xf32>;"
            " %r = ptir.reduce %a kind = min axes = [2] keepdims = true : tensor<1x3x4xf32> -> tensor<1x3x1xf32>",
            "%x: tensor<2x3x4xsi8> | %a = ptir.reduce %x kind = sum axes = [0] keepdims = false : tensor<2x3x4xsi8> -> tensor<3x4xsi8>;"
            " %r = ptir.reduce %a kind = sum axes = [0] keepdims = false : tensor<3x4xsi8> -> tensor<4xsi8>",
        ),
        (
            "%a = ptir.reduce %x kind = sum axes = [1] keepdims = false : tensor<2x3x4xf32> -> tensor<2x4xf32>;"
            " %r = ptir.reduce %a kind = sum axes = [1] keepdims = false : tensor<2x4xf32> -> tensor<2xf32>",
            "%a = ptir.reduce %x kind = max axes = [1] keepdims = false : tensor<2x3x4xf32> -> tensor<2x4xf32>;"
            " %r = ptir.reduce %a kind = min axes = [1] keepdims = false : tensor<2x4xf32> -> tensor<2xf32>",
            "%a = ptir.reduce %x kind = max axes = [1] keepdims = false out_dtype = f16 : tensor<2x3x4xf32> -> tensor<2x4xf16>;"
            " %r = ptir.reduce %a kind = max axes = [1] keepdims = false : tensor<2x4xf16> -> tensor<2xf16>",
        ),
    ),
    Row(
        "transpose_into_dot",
        "%a: tensor<2x3xf32>, %b: tensor<4x3xf32>",
        (
            "%t = ptir.transpose %b perm = [1, 0] : tensor<4x3xf32> -> tensor<3x4xf32>;"
            " %r = ptir.dot_general %a, %t batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0]"
            " : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>",
            "%a: tensor<5x2x3xsi32>, %b: tensor<5x4x3xsi32> |"
            " %s = ptir.transpose %a perm = [0, 2, 1] : tensor<5x2x3xsi32> -> tensor<5x3x2xsi32>;"
            " %t = ptir.transpose %b perm = [2, 0, 1] : tensor<5x4x3xsi32> -> tensor<3x5x4xsi32>;"
            " %r = ptir.dot_general %s, %t batch_lhs = [0] batch_rhs = [1] contract_lhs = [1] contract_rhs = [0]"
            " : (tensor<5x3x2xsi32>, tensor<3x5x4xsi32>) -> tensor<5x2x4xsi32>",
        ),
        (
            "%a: tensor<2x4x3xf32>, %b: tensor<3x5xf32> |"
            " %t = ptir.transpose %a perm = [1, 0, 2] : tensor<2x4x3xf32> -> tensor<4x2x3xf32>;"
            " %r = ptir.dot_general %t, %b batch_lhs = [] batch_rhs = [] contract_lhs = [2] contract_rhs = [0]"
            " : (tensor<4x2x3xf32>, tensor<3x5xf32>) -> tensor<4x2x5xf32>",
        ),
    ),
    Row(
        "unchanged",
        X,
        (
            "%r = ptir.reshape %x new_shape = [-1] : tensor<8xf32>",
            "%r = ptir.broadcast_to %x result_shape = [8] : tensor<8xf32>",
            '%x: tensor<?xf32, "B"> | %r = ptir.broadcast_to %x result_shape = [B] : tensor<?xf32, "B">',
        ),
        (
            "%r = ptir.reshape %x new_shape = [2, 4] : tensor<8xf32> -> tensor<2x4xf32>",
            "%r = ptir.broadcast_to %x result_shape = [1, 8] : tensor<8xf32> -> tensor<1x8xf32>",
            "%x: tensor<?x?xf32> | %r = ptir.reshape %x new_shape = [3, -1] : tensor<?x?xf32> -> tensor<3x?xf32>",
        ),
    ),
    Row(
        "reshape_of_constant",
        X,
        (
            "%c = ptir.constant [1.0, 2.0] : tensor<2xf32>; %r = ptir.reshape %c new_shape = [1, 2] : tensor<2xf32> -> tensor<1x2xf32>",
            f"{const('c', 3.0)}; %r = ptir.reshape %c new_shape = [2, 4] : tensor<8xf32> -> tensor<2x4xf32>",
        ),
    ),
    Row(
        "reshape_of_iota",
        X,
        (
            "%a = ptir.iota shape = [8] dtype = si32 axis = 0 : tensor<8xsi32>;"
            " %r = ptir.reshape %a new_shape = [1, 8, 1] : tensor<8xsi32> -> tensor<1x8x1xsi32>",
            "%a = ptir.iota shape = [2, 1, 4] dtype = f32 axis = 2 : tensor<2x1x4xf32>;"
            " %r = ptir.reshape %a new_shape = [1, 2, 4] : tensor<2x1x4xf32> -> tensor<1x2x4xf32>",
            "%a = ptir.iota shape = [2, 1, 4] dtype = f32 axis = 0 : tensor<2x1x4xf32>;"
            " %r = ptir.reshape %a new_shape = [1, 2, 4] : tensor<2x1x4xf32> -> tensor<1x2x4xf32>",
        ),
        (
            "%a = ptir.iota shape = [8] dtype = si32 axis = 0 : tensor<8xsi32>;"
            " %r = ptir.reshape %a new_shape = [2, 4] : tensor<8xsi32> -> tensor<2x4xsi32>",
        ),
    ),
    Row(
        "reshape_of_reshape",
        X,
        (
            "%a = ptir.reshape %x new_shape = [2, 4] : tensor<8xf32> -> tensor<2x4xf32>;"
            " %r = ptir.reshape %a new_shape = [4, 2] : tensor<2x4xf32> -> tensor<4x2xf32>",
            "%a = ptir.reshape %x new_shape = [2, 4] : tensor<8xf32> -> tensor<2x4xf32>;"
            " %r = ptir.reshape %a new_shape = [8] : tensor<2x4xf32> -> tensor<8xf32>",
            '%x: tensor<?x6xf32, "B,*"> | %a = ptir.reshape %x new_shape = [B, 2, 3] : tensor<?x6xf32, "B,*"> -> tensor<?x2x3xf32, "B,*,*">;'
            ' %r = ptir.reshape %a new_shape = [B, 3, 2] : tensor<?x2x3xf32, "B,*,*"> -> tensor<?x3x2xf32, "B,*,*">',
        ),
        (
            '%x: tensor<?x4xf32, "B,*"> | %a = ptir.reshape %x new_shape = [3, 4] : tensor<?x4xf32, "B,*"> -> tensor<3x4xf32>;'
            " %r = ptir.reshape %a new_shape = [12] : tensor<3x4xf32> -> tensor<12xf32>",
        ),
    ),
    Row(
        "transpose_identity",
        "%x: tensor<2x2xf32>",
        ("%r = ptir.transpose %x perm = [0, -1] : tensor<2x2xf32>",),
        ("%r = ptir.transpose %x perm = [1, 0] : tensor<2x2xf32>",),
    ),
    Row(
        "transpose_of_constant",
        X,
        (
            "%c = ptir.constant [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]] : tensor<2x3xf32>;"
            " %r = ptir.transpose %c perm = [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>",
            "%c = ptir.constant fill 2.0 : tensor<20x30xf32>;"
            " %r = ptir.transpose %c perm = [1, 0] : tensor<20x30xf32> -> tensor<30x20xf32>",
            "%c = ptir.constant [[[1], [2]], [[3], [4]], [[5], [6]]] : tensor<3x2x1xsi16>;"
            " %r = ptir.transpose %c perm = [1, 2, 0] : tensor<3x2x1xsi16> -> tensor<2x1x3xsi16>",
        ),
    ),
    Row(
        "transpose_of_transpose",
        "%x: tensor<2x3x4xf32>",
        (
            "%a = ptir.transpose %x perm = [1, 2, 0] : tensor<2x3x4xf32> -> tensor<3x4x2xf32>;"
            " %r = ptir.transpose %a perm = [1, 0, 2] : tensor<3x4x2xf32> -> tensor<4x3x2xf32>",
            "%a = ptir.transpose %x perm = [1, 2, 0] : tensor<2x3x4xf32> -> tensor<3x4x2xf32>;"
            " %r = ptir.transpose %a perm = [2, 0, 1] : tensor<3x4x2xf32> -> tensor<2x3x4xf32>",
        ),
    ),
    Row(
        "transpose_of_concat",
        "%x: tensor<1x5xf32>, %y: tensor<1x5xf32>",
        (
            "%a = ptir.concat %x, %y axis = 0 : (tensor<1x5xf32>, tensor<1x5xf32>) -> tensor<2x5xf32>;"
            " %r = ptir.transpose %a perm = [1, 0] : tensor<2x5xf32> -> tensor<5x2xf32>",
            "%a = ptir.concat %x, %y axis = -1 : (tensor<1x5xf32>, tensor<1x5xf32>) -> tensor<1x10xf32>;"
            " %r = ptir.transpose %a perm = [1, 0] : tensor<1x10xf32> -> tensor<10x1xf32>",
            "%u: tensor<2x1x3xsi8>, %v: tensor<2x1x3xsi8> |"
            " %a = ptir.concat %u, %v axis = 1 : (tensor<2x1x3xsi8>, tensor<2x1x3xsi8>) -> tensor<2x2x3xsi8>;"
            " %r = ptir.transpose %a perm = [1, 0, 2] : tensor<2x2x3xsi8> -> tensor<2x2x3xsi8>",
        ),
        (
            "%u: tensor<1x2xf32>, %v: tensor<1x2xf32> |"
            " %a = ptir.concat %u, %v axis = 0 : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<2x2xf32>;"
            " %b = ptir.transpose %a perm = [1, 0] : tensor<2x2xf32>;"
            " %r = ptir.add %a, %b : tensor<2x2xf32>",
            "%u: tensor<2x5xf32>, %v: tensor<1x5xf32> |"
            " %a = ptir.concat %u, %v axis = 0 : (tensor<2x5xf32>, tensor<1x5xf32>) -> tensor<3x5xf32>;"
            " %r = ptir.transpose %a perm = [1, 0] : tensor<3x5xf32> -> tensor<5x3xf32>",
            "%u: tensor<1x5xf32> |"
            f" %a = ptir.concat {', '.join(['%u'] * 9)} axis = 0 : ({', '.join(['tensor<1x5xf32>'] * 9)}) -> tensor<9x5xf32>;"
            " %r = ptir.transpose %a perm = [1, 0] : tensor<9x5xf32> -> tensor<5x9xf32>",
        ),
    ),
    Row(
        "reshape_of_broadcast",
        "%x: tensor<5xf32>",
        (
            "%a = ptir.broadcast_to %x result_shape = [1, 5] : tensor<5xf32> -> tensor<1x5xf32>;"
            " %r = ptir.reshape %a new_shape = [5, 1] : tensor<1x5xf32> -> tensor<5x1xf32>",
        ),
        (
            "%a = ptir.broadcast_to %x result_shape = [2, 5] : tensor<5xf32> -> tensor<2x5xf32>;"
            " %r = ptir.reshape %a new_shape = [10] : tensor<2x5xf32> -> tensor<10xf32>",
        ),
    ),
    Row(
        "broadcast_of_constant",
        X,
        (
            "%c = ptir.constant 1.5 : tensor<f32>; %r = ptir.broadcast_to %c result_shape = [2, 8] : tensor<f32> -> tensor<2x8xf32>",
            "%c = ptir.constant -0.0 : tensor<f32>; %r = ptir.broadcast_to %c result_shape = [0] : tensor<f32> -> tensor<0xf32>",
            "%c = ptir.constant nan : tensor<f32>; %r = ptir.broadcast_to %c result_shape = [2] : tensor<f32> -> tensor<2xf32>",
        ),
        (
            "%c = ptir.constant [1.0, 2.0] : tensor<2xf32>;"
            " %r = ptir.broadcast_to %c result_shape = [3, 2] : tensor<2xf32> -> tensor<3x2xf32>",
            '%x: tensor<?xf32, "B"> | %c = ptir.constant 1.5 : tensor<f32>; %r = ptir.broadcast_to %c result_shape = [B]'
            ' : tensor<f32> -> tensor<?xf32, "B">',
        ),
    ),
    Row(
        "broadcast_of_broadcast",
        X,
        (
            "%a = ptir.broadcast_to %x result_shape = [1, 8] : tensor<8xf32> -> tensor<1x8xf32>;"
            " %r = ptir.broadcast_to %a result_shape = [3, 8] : tensor<1x8xf32> -> tensor<3x8xf32>",
        ),
        (
            '%x: tensor<?xf32, "B">, %y: tensor<?xf32, "C"> | %a = ptir.broadcast_to %x result_shape = [C]'
            ' : tensor<?xf32, "B"> -> tensor<?xf32, "C">;'
            ' %r = ptir.broadcast_to %a result_shape = [2, C] : tensor<?xf32, "C"> -> tensor<2x?xf32, "*,C">',
        ),
    ),
    Row(
        "slice_everything",
        X,
        ("%r = ptir.slice %x starts = [0] sizes = [8] : tensor<8xf32>",),
        (
            "%r = ptir.slice %x starts = [0] sizes = [7] : tensor<8xf32> -> tensor<7xf32>",
            '%x: tensor<?xf32, "B"> | %r = ptir.slice %x starts = [0] sizes = [3] : tensor<?xf32, "B"> -> tensor<3xf32>',
        ),
    ),
    Row(
        "slice_of_constant",
        X,
        (
            "%c = ptir.constant [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]] : tensor<2x3xf32>;"
            " %r = ptir.slice %c starts = [0, 1] sizes = [2, 2] : tensor<2x3xf32> -> tensor<2x2xf32>",
            f"{const('c', 3.0)}; %r = ptir.slice %c starts = [2] sizes = [0] : tensor<8xf32> -> tensor<0xf32>",
        ),
    ),
    Row(
        "slice_of_slice",
        X,
        (
            "%a = ptir.slice %x starts = [1] sizes = [6] : tensor<8xf32> -> tensor<6xf32>;"
            " %r = ptir.slice %a starts = [2] sizes = [3] : tensor<6xf32> -> tensor<3xf32>",
        ),
        (
            '%x: tensor<?xf32, "B"> | %a = ptir.slice %x starts = [0] sizes = [3] : tensor<?xf32, "B"> -> tensor<3xf32>;'
            " %r = ptir.slice %a starts = [1] sizes = [1] : tensor<3xf32> -> tensor<1xf32>",
        ),
    ),
    Row(
        "slice_of_concat",
        XY,
        (
            "%a = ptir.concat %x, %y axis = -1 : (tensor<8xf32>, tensor<8xf32>) -> tensor<16xf32>;"
            " %r = ptir.slice %a starts = [8] sizes = [8] : tensor<16xf32> -> tensor<8xf32>",
            "%a = ptir.concat %x, %y axis = 0 : (tensor<8xf32>, tensor<8xf32>) -> tensor<16xf32>;"
            " %r = ptir.slice %a starts = [9] sizes = [3] : tensor<16xf32> -> tensor<3xf32>",
        ),
        (
            "%a = ptir.concat %x, %y axis = 0 : (tensor<8xf32>, tensor<8xf32>) -> tensor<16xf32>;"
            " %r = ptir.slice %a starts = [7] sizes = [2] : tensor<16xf32> -> tensor<2xf32>",
        ),
    ),
    Row(
        "concat_of_one",
        XY,
        (
            "%r = ptir.concat %x axis = 0 : tensor<8xf32>",
            "%x: tensor<8xf32>, %n: tensor<0xf32> | %r = ptir.concat %n, %x axis = 0 : (tensor<0xf32>, tensor<8xf32>) -> tensor<8xf32>",
            "%x: tensor<8xf32>, %n: tensor<0xf32> |"
            " %r = ptir.concat %x, %n, %x axis = 0 : (tensor<8xf32>, tensor<0xf32>, tensor<8xf32>) -> tensor<16xf32>",
        ),
        ("%r = ptir.concat %x, %y axis = 0 : (tensor<8xf32>, tensor<8xf32>) -> tensor<16xf32>",),
    ),
    Row(
        "pad_nothing",
        X,
        (
            "%r = ptir.pad %x low = [0] high = [0] interior = [0] pad_value = 1.0 : f32 : tensor<8xf32>",
            "%x: tensor<1xf32> | %r = ptir.pad %x low = [0] high = [0] interior = [3] pad_value = 1.0 : f32 : tensor<1xf32>",
        ),
        ("%r = ptir.pad %x low = [0] high = [1] interior = [0] pad_value = 1.0 : f32 : tensor<8xf32> -> tensor<9xf32>",),
    ),
    Row(
        "tile_once",
        X,
        ("%r = ptir.tile %x repeats = [1] : tensor<8xf32>",),
        (
            "%r = ptir.tile %x repeats = [2] : tensor<8xf32> -> tensor<16xf32>",
            "%x: tensor<0xf32> | %r = ptir.tile %x repeats = [3] : tensor<0xf32>",
        ),
    ),
    Row(
        "dynamic_slice_everything",
        "%x: tensor<8xf32>, %i: tensor<1xsi32>",
        ("%r = ptir.dynamic_slice %x, %i sizes = [8] : (tensor<8xf32>, tensor<1xsi32>) -> tensor<8xf32>",),
        ("%r = ptir.dynamic_slice %x, %i sizes = [7] : (tensor<8xf32>, tensor<1xsi32>) -> tensor<7xf32>",),
    ),
    Row(
        "dynamic_slice_known",
        "%x: tensor<8x4xf32>",
        (
            "%i = ptir.constant [2, -3] : tensor<2xsi32>;"
            " %r = ptir.dynamic_slice %x, %i sizes = [3, 2] : (tensor<8x4xf32>, tensor<2xsi32>) -> tensor<3x2xf32>",
            "%i = ptir.constant fill 7 : tensor<2xsi64>;"
            " %r = ptir.dynamic_slice %x, %i sizes = [3, 2] : (tensor<8x4xf32>, tensor<2xsi64>) -> tensor<3x2xf32>",
        ),
        (
            "%x: tensor<8x4xf32>, %i: tensor<2xsi32> |"
            " %r = ptir.dynamic_slice %x, %i sizes = [3, 2] : (tensor<8x4xf32>, tensor<2xsi32>) -> tensor<3x2xf32>",
            '%x: tensor<?xf32, "B"> | %i = ptir.constant [1] : tensor<1xsi32>;'
            ' %r = ptir.dynamic_slice %x, %i sizes = [2] : (tensor<?xf32, "B">, tensor<1xsi32>) -> tensor<2xf32>',
        ),
    ),
    Row(
        "update_everything",
        "%x: tensor<8xf32>, %u: tensor<8xf32>, %i: tensor<1xsi32>",
        (
            "%r = ptir.dynamic_update_slice %x, %u, %i sizes = [8] : (tensor<8xf32>, tensor<8xf32>, tensor<1xsi32>) -> tensor<8xf32>",
        ),
        (
            "%x: tensor<8xf32>, %u: tensor<1xf32>, %i: tensor<1xsi32> |"
            " %r = ptir.dynamic_update_slice %x, %u, %i sizes = [1] : (tensor<8xf32>, tensor<1xf32>, tensor<1xsi32>) -> tensor<8xf32>",
        ),
    ),
    Row("not_not", I, ("%a = ptir.not %x : tensor<8xsi8>; %r = ptir.not %a : tensor<8xsi8>",)),
    Row(
        "not_compare",
        XY,
        (
            *(
                integer(
                    f"%a = ptir.compare %x, %y kind = {kind} : (tensor<8xsi8>, tensor<8xsi8>) -> tensor<8xi1>;"
                    " %r = ptir.not %a : tensor<8xi1>"
                )
                for kind in ("less", "less_equal", "equal", "greater_equal", "greater", "not_equal")
            ),
            "%a = ptir.compare %x, %y kind = equal : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1>; %r = ptir.not %a : tensor<8xi1>",
        ),
        (
            "%a = ptir.compare %x, %y kind = less : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1>; %r = ptir.not %a : tensor<8xi1>",
        ),
    ),
    Row(
        "and_ones",
        I,
        (binary("and", -1, "si8"), "%x: tensor<8xui8> | " + binary("and", 255, "ui8", left=True)),
        (binary("and", 1, "si8"),),
    ),
    Row("and_zero", I, (binary("and", 0, "si8"), binary("and", 0, "si8", left=True)), (binary("and", 2, "si8"),)),
    Row(
        "bitwise_zero",
        I,
        (binary("or", 0, "si8"), binary("xor", 0, "si8", left=True), "%x: tensor<8xi1> | " + binary("or", "false", "i1")),
        (binary("or", 1, "si8"),),
    ),
    Row("or_ones", I, (binary("or", -1, "si8"), "%x: tensor<8xi1> | " + binary("or", "true", "i1")), (binary("or", 1, "si8"),)),
    Row("xor_self", I, ("%r = ptir.xor %x, %x : tensor<8xsi8>",), (integer("%r = ptir.xor %x, %y : tensor<8xsi8>"),)),
    Row(
        "compare_self",
        I,
        (
            "%r = ptir.compare %x, %x kind = less_equal : (tensor<8xsi8>, tensor<8xsi8>) -> tensor<8xi1>",
            "%r = ptir.compare %x, %x kind = not_equal : (tensor<8xsi8>, tensor<8xsi8>) -> tensor<8xi1>",
        ),
        (
            "%x: tensor<8xf32> | %r = ptir.compare %x, %x kind = equal : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1>",
            "%x: tensor<?xsi8> | %r = ptir.compare %x, %x kind = equal : (tensor<?xsi8>, tensor<?xsi8>) -> tensor<?xi1>",
        ),
    ),
    Row(
        "shift_nothing",
        I,
        tuple(binary(op, 0, "si8") for op in ("shift_left", "shift_right_arithmetic", "shift_right_logical")),
        (binary("shift_left", 1, "si8"), binary("shift_left", 0, "si8", left=True)),
    ),
    Row(
        "reverse_nothing",
        "%x: tensor<1x8xf32>",
        ("%r = ptir.reverse %x axes = [0] : tensor<1x8xf32>",),
        ("%r = ptir.reverse %x axes = [1] : tensor<1x8xf32>",),
    ),
    Row(
        "reverse_of_reverse",
        "%x: tensor<2x3x4xf32>",
        (
            "%a = ptir.reverse %x axes = [0, 1] : tensor<2x3x4xf32>; %r = ptir.reverse %a axes = [2, -2] : tensor<2x3x4xf32>",
            "%a = ptir.reverse %x axes = [0, 1] : tensor<2x3x4xf32>; %r = ptir.reverse %a axes = [0, 1] : tensor<2x3x4xf32>",
        ),
    ),
    Row(
        "slice_of_unit_stride",
        X,
        (
            "%r = ptir.strided_slice %x starts = [2] limits = [7] strides = [1] : tensor<8xf32> -> tensor<5xf32>",
            "%r = ptir.strided_slice %x starts = [2] limits = [4] strides = [5] : tensor<8xf32> -> tensor<1xf32>",
        ),
        ("%r = ptir.strided_slice %x starts = [2] limits = [7] strides = [2] : tensor<8xf32> -> tensor<3xf32>",),
    ),
    Row(
        "dimension_size_of_static",
        '%x: tensor<?x3xf32, "B,*">',
        ('%r = ptir.dimension_size %x axis = -1 : tensor<?x3xf32, "B,*"> -> tensor<si64>',),
        ('%r = ptir.dimension_size %x axis = 0 : tensor<?x3xf32, "B,*"> -> tensor<si64>',),
    ),
    Row(
        "part_of_complex",
        XY,
        tuple(
            "%z = ptir.complex %x, %y : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xcomplex<f32>>;"
            f" %r = ptir.{part} %z : tensor<8xcomplex<f32>> -> tensor<8xf32>"
            for part in ("real", "imag")
        ),
        (
            "%z: tensor<8xcomplex<f32>> | %r = ptir.real %z : tensor<8xcomplex<f32>> -> tensor<8xf32>",
            "%x: tensor<?xf32>, %y: tensor<3xf32> | %z = ptir.complex %x, %y : (tensor<?xf32>, tensor<3xf32>) -> tensor<3xcomplex<f32>>;"
            " %r = ptir.imag %z : tensor<3xcomplex<f32>> -> tensor<3xf32>",
        ),
    ),
    Row(
        "part_of_conj",
        "%z: tensor<8xcomplex<f32>>",
        tuple(
            f"%a = ptir.conj %z : tensor<8xcomplex<f32>>; %r = ptir.{part} %a : tensor<8xcomplex<f32>> -> tensor<8xf32>"
            for part in ("real", "imag")
        ),
        ("%a = ptir.neg %z : tensor<8xcomplex<f32>>; %r = ptir.imag %a : tensor<8xcomplex<f32>> -> tensor<8xf32>",),
    ),
    Row(
        "part_of_cast",
        "%x: tensor<8xf64>",
        tuple(
            "%a = ptir.cast %x dtype = complex<f32> : tensor<8xf64> -> tensor<8xcomplex<f32>>;"
            f" %r = ptir.{part} %a : tensor<8xcomplex<f32>> -> tensor<8xf32>"
            for part in ("real", "imag")
        ),
        (
            "%z: tensor<8xcomplex<f64>> | %a = ptir.cast %z dtype = complex<f32> : tensor<8xcomplex<f64>> -> tensor<8xcomplex<f32>>;"
            " %r = ptir.imag %a : tensor<8xcomplex<f32>> -> tensor<8xf32>",
            "%x: tensor<?xf64> | %a = ptir.cast %x dtype = complex<f32> : tensor<?xf64> -> tensor<?xcomplex<f32>>;"
            " %r = ptir.imag %a : tensor<?xcomplex<f32>> -> tensor<?xf32>",
        ),
    ),
    Row(
        "complex_of_parts",
        "%z: tensor<8xcomplex<f32>>, %w: tensor<8xcomplex<f32>>",
        (
            "%a = ptir.real %z : tensor<8xcomplex<f32>> -> tensor<8xf32>; %b = ptir.imag %z : tensor<8xcomplex<f32>> -> tensor<8xf32>;"
            " %r = ptir.complex %a, %b : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xcomplex<f32>>",
        ),
        (
            *(
                f"%a = ptir.{first} %z : tensor<8xcomplex<f32>> -> tensor<8xf32>; %b = ptir.{second} %{whole} : tensor<8xcomplex<f32>> -> tensor<8xf32>;"
                " %r = ptir.complex %a, %b : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xcomplex<f32>>"
                for first, second, whole in (("real", "imag", "w"), ("imag", "real", "z"))
            ),
            "%z: tensor<?xcomplex<f32>> | %a = ptir.real %z : tensor<?xcomplex<f32>> -> tensor<3xf32>;"
            " %b = ptir.imag %z : tensor<?xcomplex<f32>> -> tensor<3xf32>;"
            " %r = ptir.complex %a, %b : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xcomplex<f32>>",
        ),
    ),
    Row(
        "conj_of_conj",
        "%z: tensor<8xcomplex<f32>>",
        ("%a = ptir.conj %z : tensor<8xcomplex<f32>>; %r = ptir.conj %a : tensor<8xcomplex<f32>>",),
        (
            "%a = ptir.neg %z : tensor<8xcomplex<f32>>; %r = ptir.conj %a : tensor<8xcomplex<f32>>",
            "%z: tensor<?xcomplex<f32>> | %a = ptir.conj %z : tensor<?xcomplex<f32>> -> tensor<3xcomplex<f32>>;"
            " %r = ptir.conj %a : tensor<3xcomplex<f32>>",
        ),
    ),
    Row(
        "conj_of_complex",
        XY,
        (
            "%a = ptir.complex %x, %y : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xcomplex<f32>>;"
            " %r = ptir.conj %a : tensor<8xcomplex<f32>>",
        ),
    ),
    Row("fast_add_zero", X, (binary("add", 0.0), binary("add", 0.0, left=True)), (binary("add", 1.0),), fast=True),
    Row("fast_sub_zero", X, (binary("sub", -0.0), binary("sub", 0.0, left=True)), (binary("sub", 1.0),), fast=True),
    Row("fast_sub_self", X, ("%r = ptir.sub %x, %x : tensor<8xf32>",), fast=True),
    Row("fast_mul_zero", X, (binary("mul", 0.0), binary("mul", -0.0, left=True)), (binary("mul", 2.0),), fast=True),
    Row(
        "fast_div_constant",
        X,
        (binary("div", 3.0),),
        (binary("div", 0.0), binary("div", "inf"), binary("div", "nan"), binary("div", 3.0, left=True)),
        fast=True,
    ),
)
