"""
One row per rule of the Core IR and shapes chapters: a program that breaks the rule, and beside it one that just keeps it.

Programs are bodies of one function in MLIR text; `<2x3xf32>` stands for `tensor<2x3xf32>`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Row:
    """`bad` must give the error `code` with `says` in its message and `context` in its context; `good` must verify."""

    name: str
    code: str
    args: str
    bad: str
    good: str
    says: str
    context: dict[str, Any] = field(default_factory=dict)
    good_args: str | None = None
    profile: str | None = None


def types(text: str) -> str:
    """`<2x3xf32>` to `tensor<2x3xf32>`."""
    return re.sub(r"(?<![\w.#])<(?=[\d?fib])", "tensor<", text)


def program(args: str, body: str, profile: str | None = None) -> str:
    """A module of one function `@f` that returns nothing."""
    attributes = f' attributes {{mind.profile = "{profile}"}}' if profile else ""
    return types(f"func.func @f({args}){attributes} {{\n{body}\nfunc.return\n}}")


A23 = "%x: <2x3xf32>"
A234 = "%x: <2x3x4xf32>"
EMPTY = "%e = mind.slice %x starts = [0, 0] ends = [0, 3] steps = [1, 1] : <2x3xf32> -> <0x3xf32>\n"

CONSTANTS = [
    Row(
        "const_i64: dtype", "E4015", "", "%0 = mind.const_i64 1 : <i32>", "%0 = mind.const_i64 1 : <i64>", "inferred tensor<i64>"
    ),
    Row(
        "const_f32: rank 0",
        "E4015",
        "",
        "%0 = mind.const_f32 1 : <1xf32>",
        "%0 = mind.const_f32 1 : <f32>",
        "inferred tensor<f32>",
    ),
    Row(
        "const_f64: dtype", "E4015", "", "%0 = mind.const_f64 1 : <f32>", "%0 = mind.const_f64 1 : <f64>", "inferred tensor<f64>"
    ),
    Row(
        "const_i64: value is an integer",
        "E4005",
        "",
        "%0 = mind.const_i64 1.5 : <i64>",
        "%0 = mind.const_i64 -1 : <i64>",
        "1.5 of a i64 constant is no integer",
        {"dtype": "i64"},
    ),
    Row(
        "const_i64: above i64",
        "E4005",
        "",
        "%0 = mind.const_i64 9223372036854775808 : <i64>",
        "%0 = mind.const_i64 9223372036854775807 : <i64>",
        "outside -2^63 .. 2^63 - 1",
    ),
    Row(
        "const_i64: below i64",
        "E4005",
        "",
        "%0 = mind.const_i64 -9223372036854775809 : <i64>",
        "%0 = mind.const_i64 -9223372036854775808 : <i64>",
        "outside -2^63 .. 2^63 - 1",
    ),
    Row(
        "const_f32: beyond f32",
        "E4005",
        "",
        "%0 = mind.const_f32 1.0e39 : <f32>",
        "%0 = mind.const_f32 3.4e38 : <f32>",
        "beyond the finite range",
        {"dtype": "f32"},
    ),
    Row(
        "const_f32: beyond f64",
        "E4005",
        "",
        "%0 = mind.const_f32 1.0e400 : <f32>",
        "%0 = mind.const_f32 inf : <f32>",
        "beyond the finite range",
    ),
    Row(
        "const_f64: beyond f64",
        "E4005",
        "",
        "%0 = mind.const_f64 -1.0e400 : <f64>",
        "%0 = mind.const_f64 -1.7e308 : <f64>",
        "beyond the finite range",
    ),
    Row(
        "const_f32: kind of value",
        "E4005",
        "",
        '%0 = "mind.const_f32"() <{value = 1.0 : f64}> : () -> <f32>',
        '%0 = "mind.const_f32"() <{value = 1.0 : f32}> : () -> <f32>',
        "expected a number of type f32",
        {"dtype": "f32"},
    ),
    Row(
        "const_i64: a value",
        "E4000",
        "",
        '%0 = "mind.const_i64"() : () -> <i64>',
        '%0 = "mind.const_i64"() <{value = 1 : i64}> : () -> <i64>',
        "has attributes [], expected ['value']",
        {"given": []},
    ),
    Row(
        "constant: digits",
        "E1005",
        "",
        f"%0 = mind.constant [{'9' * 5000}] : <1xi64>",
        f"%0 = mind.constant [{'9' * 18}] : <1xi64>",
        "too many digits",
    ),
    Row(
        "constant: 3.5 in i32",
        "E4005",
        "",
        "%0 = mind.constant [1, 3.5] : <2xi32>",
        "%0 = mind.constant [1, 3.5] : <2xf32>",
        "3.5 of a i32 constant is no integer",
        {"dtype": "i32", "issue": "is no integer"},
    ),
    Row(
        "constant: 2^40 in i32",
        "E4005",
        "",
        "%0 = mind.constant [1099511627776] : <1xi32>",
        "%0 = mind.constant [1099511627776] : <1xi64>",
        "1099511627776 of a i32 constant is outside -2^31",
    ),
    Row(
        "constant: 2^31 in i32",
        "E4005",
        "",
        "%0 = mind.constant fill 2147483648 : <2xi32>",
        "%0 = mind.constant fill 2147483647 : <2xi32>",
        "outside -2^31",
    ),
    Row(
        "constant: 1e39 in f32",
        "E4005",
        "",
        "%0 = mind.constant [1.0e39] : <1xf32>",
        "%0 = mind.constant [1.0e39] : <1xf64>",
        "beyond the finite range",
    ),
    Row(
        "constant: element count of a row",
        "E3010",
        "",
        "%0 = mind.constant [1, 2] : <3xi32>",
        "%0 = mind.constant [1, 2, 3] : <3xi32>",
        "shape [2], declared is [3]",
        {"declared": (3,), "inferred": (2,)},
    ),
    Row(
        "constant: a scalar is no tensor",
        "E3010",
        "",
        "%0 = mind.constant 1 : <1xi32>",
        "%0 = mind.constant 1 : <i32>",
        "shape [], declared is [1]",
    ),
    Row(
        "constant: ragged",
        "E3010",
        "",
        "%0 = mind.constant [[1], [2, 3]] : <2x2xi32>",
        "%0 = mind.constant [[1, 2], [3, 4]] : <2x2xi32>",
        "ragged",
    ),
    Row(
        "constant: ragged in depth",
        "E3010",
        "",
        "%0 = mind.constant [[1, 2], 3] : <2x2xi32>",
        "%0 = mind.constant [[1], [3]] : <2x1xi32>",
        "ragged",
    ),
    Row(
        "constant: bytes",
        "E4005",
        "",
        '%0 = mind.constant "0x00000000" : <2xi32>',
        '%0 = mind.constant "0x00000000" : <1xi32>',
        "shape [2] requires 2 elements, found 1",
    ),
    Row(
        "constant: part of an element",
        "E4005",
        "",
        '%0 = mind.constant "0x000000" : <1xi32>',
        '%0 = mind.constant "0xFFFFFFFF" : <1xi32>',
        "3 bytes, expected a multiple of 4",
    ),
    Row(
        "constant: hex",
        "E4005",
        "",
        '%0 = mind.constant "0xZZ" : <1xi32>',
        '%0 = mind.constant "0x0000803f" : <1xf32>',
        "hex digits",
    ),
    Row(
        "constant: size",
        "E4005",
        "",
        '%0 = mind.constant "0x0000000000000000" : <9999999999xi32>',
        "%0 = mind.constant fill 0 : <9999999999xi32>",
        "9999999999 elements, at most",
    ),
    Row(
        "constant: declared extent 0",
        "E3006",
        "",
        "%0 = mind.constant fill 1.0 : <2x0xf32>",
        "%0 = mind.constant fill 1.0 : <2x1xf32>",
        "extent 0 at 1 in [2, 0]",
        {"shape": (2, 0), "index": 1, "value": 0},
    ),
    Row(
        "constant: no elements",
        "E3006",
        "",
        '%0 = mind.constant "0x" : <0xf32>',
        "%0 = mind.constant [0.0] : <1xf32>",
        "extent 0 at 0",
    ),
    Row(
        "constant: dynamic",
        "E3006",
        "",
        "%0 = mind.constant fill 1.0 : <?xf32>",
        "%0 = mind.constant fill 1.0 : <7xf32>",
        "extent ? at 0",
        {"value": "?"},
    ),
    Row(
        "constant: dtype",
        "E2005",
        "",
        "%0 = mind.constant [1.0] : <1xbf16>",
        "%0 = mind.constant [1.0] : <1xf64>",
        "one of ['i32', 'i64', 'f32', 'f64'], found bf16",
        {"dtype": "bf16", "supported": ["i32", "i64", "f32", "f64"]},
    ),
    Row(
        "constant: kind of value",
        "E4005",
        "",
        '%0 = "mind.constant"() <{value = dense<1.0> : <2xf32>}> : () -> <2xf32>',
        '%0 = "mind.constant"() <{value = #mind.literal<fill 1.0 : <2xf32>>}> : () -> <2xf32>',
        "expected a literal",
    ),
    Row(
        "constant: declared result",
        "E4015",
        "",
        '%0 = "mind.constant"() <{value = #mind.literal<[1, 2] : <2xi32>>}> : () -> <3xi32>',
        '%0 = "mind.constant"() <{value = #mind.literal<[1, 2] : <2xi32>>}> : () -> <2xi32>',
        "declared result tensor<3xi32>, inferred tensor<2xi32>",
        {"declared": "tensor<3xi32>", "inferred": "tensor<2xi32>"},
    ),
]
