"""Rows of elementwise ops and reductions; see `verifier_rows`."""

from __future__ import annotations

from typing import Any

from verifier_rows import A23, A234, EMPTY, Row

SUM = "mind.sum %x axes = {} keepdims = {} : <2x3x4xf32> -> {}"


def _binary(op: str, code: str) -> list[Row]:
    bad_types = "%x: <2x3xf32>, %y: <2x3xf64>, %z: <2x4xf32>, %s: <3x1xf32>, %e: <1x3xf32>"
    good = f"%0 = mind.{op} %x, %x : <2x3xf32>"
    return [
        Row(
            f"{op}: one dtype",
            "E2004",
            bad_types,
            f"%0 = mind.{op} %x, %y : (<2x3xf32>, <2x3xf64>) -> <2x3xf32>",
            good,
            f"{code} %5: operands of dtypes f32 and f64",
            {"op": f"{code} %5", "lhs": "f32", "rhs": "f64"},
        ),
        Row(
            f"{op}: broadcast",
            "E3001",
            bad_types,
            f"%0 = mind.{op} %x, %z : (<2x3xf32>, <2x4xf32>) -> <2x3xf32>",
            f"%0 = mind.{op} %x, %e : (<2x3xf32>, <1x3xf32>) -> <2x3xf32>",
            "3 and 4 at dimension 1",
            {"shapes": ((2, 3), (2, 4)), "dimension": 1, "extents": (3, 4)},
        ),
        Row(
            f"{op}: leftmost dimension that fails",
            "E3001",
            "%x: <2x3x5xf32>, %y: <4x5xf32>, %z: <9x4x6xf32>, %s: <3x1xf32>",
            f"%0 = mind.{op} %x, %z : (<2x3x5xf32>, <9x4x6xf32>) -> <2x3x5xf32>",
            f"%0 = mind.{op} %x, %s : (<2x3x5xf32>, <3x1xf32>) -> <2x3x5xf32>",
            "2 and 9 at dimension 0",
            {"dimension": 0},
        ),
        Row(
            f"{op}: dimension counted in the aligned shapes",
            "E3001",
            "%x: <2x3x5xf32>, %y: <4x5xf32>, %s: <3x1xf32>",
            f"%0 = mind.{op} %x, %y : (<2x3x5xf32>, <4x5xf32>) -> <2x3x5xf32>",
            f"%0 = mind.{op} %s, %x : (<3x1xf32>, <2x3x5xf32>) -> <2x3x5xf32>",
            "3 and 4 at dimension 1",
            {"dimension": 1},
        ),
        Row(
            f"{op}: 0 is no 1",
            "E3001",
            A23,
            EMPTY + f"%0 = mind.{op} %x, %e : (<2x3xf32>, <0x3xf32>) -> <2x3xf32>",
            EMPTY + f"%o = mind.const_f32 1.0 : <f32>\n%0 = mind.{op} %o, %e : (<f32>, <0x3xf32>) -> <0x3xf32>",
            "2 and 0 at dimension 0",
        ),
        Row(
            f"{op}: result shape",
            "E4015",
            A23,
            f"%0 = mind.{op} %x, %x : (<2x3xf32>, <2x3xf32>) -> <3x2xf32>",
            good,
            "declared result tensor<3x2xf32>, inferred tensor<2x3xf32>",
        ),
        Row(
            f"{op}: result dtype", "E4015", A23, f"%0 = mind.{op} %x, %x : (<2x3xf32>, <2x3xf32>) -> <2x3xf64>", good, "inferred"
        ),
        Row(
            f"{op}: arity",
            "E2007",
            A23,
            f"%0 = mind.{op} %x : <2x3xf32>",
            good,
            "expects 2 operands, found 1",
            {"expected": 2, "actual": 1},
        ),
        Row(
            f"{op}: results",
            "E2007",
            A23,
            f'%0, %1 = "mind.{op}"(%x, %x) : (<2x3xf32>, <2x3xf32>) -> (<2x3xf32>, <2x3xf32>)',
            good,
            "expects 1 result, found 2",
        ),
        Row(
            f"{op}: no attributes",
            "E4000",
            A23,
            f'%0 = "mind.{op}"(%x, %x) <{{axes = array<i64>}}> : (<2x3xf32>, <2x3xf32>) -> <2x3xf32>',
            good,
            "has attributes ['axes'], expected []",
        ),
    ]


ELEMENTWISE = [
    *_binary("add", "Add"),
    *_binary("sub", "Sub"),
    *_binary("mul", "Mul"),
    Row(
        "div: profile",
        "E6003",
        A23,
        "%0 = mind.div %x, %x : <2x3xf32>",
        "%0 = mind.sub %x, %x : <2x3xf32>",
        "Div %1: is not part of core-v1",
        {"op": "Div %1", "backend": "core-v1"},
    ),
    Row(
        "div: dtype",
        "E2004",
        "%x: <2xf32>, %y: <2xi32>",
        "%0 = mind.div %x, %y : (<2xf32>, <2xi32>) -> <2xf32>",
        "%0 = mind.div %y, %y : <2xi32>",
        "dtypes f32 and i32",
        profile="core-v1.1",
    ),
    Row(
        "div: broadcast",
        "E3001",
        "%x: <2xf32>, %y: <3xf32>",
        "%0 = mind.div %x, %y : (<2xf32>, <3xf32>) -> <2xf32>",
        "%0 = mind.div %x, %x : <2xf32>",
        "2 and 3 at dimension 0",
        profile="core-v1.1",
    ),
    *(
        Row(
            f"{op}: floats only",
            "E2005",
            "%i: <2xi32>, %x: <f64>",
            f"%0 = mind.{op} %i : <2xi32>",
            f"%0 = mind.{op} %x : <f64>",
            "takes dtypes ['f32', 'f64'], found i32",
            {"dtype": "i32", "supported": ["f32", "f64"]},
        )
        for op in ("relu", "exp", "log", "reciprocal")
    ),
    *(
        Row(
            f"{op}: result is the operand's type",
            "E4015",
            "%x: <2xf32>",
            f"%0 = mind.{op} %x : <2xf32> -> <1xf32>",
            f"%0 = mind.{op} %x : <2xf32>",
            "inferred tensor<2xf32>",
        )
        for op in ("relu", "neg", "exp", "log", "reciprocal")
    ),
    *(
        Row(
            f"{op}: arity",
            "E2007",
            "%x: <2xf32>",
            f"%0 = mind.{op} %x, %x : <2xf32>",
            f"%0 = mind.{op} %x : <2xf32>",
            "expects 1 operands, found 2",
        )
        for op in ("relu", "neg", "exp", "log", "reciprocal")
    ),
    Row(
        "neg: any numeric dtype",
        "E2005",
        "%x: <2xf16>, %c: i1",
        "%t = arith.constant true\n%0 = mind.neg %x : <2xf16>",
        "%0 = mind.neg %x : <2xi32>",
        "found f16",
        {"op": "Neg %3"},
        good_args="%x: <2xi32>",
    ),
]


def _reduction(op: str, code: str) -> list[Row]:
    text = SUM.replace("sum", op)

    def row(name: str, error: str, axes: str, result: str, good: tuple[str, str, str], says: str, **kwargs: Any) -> Row:
        bad = "%0 = " + text.format(axes, "false", result)
        return Row(f"{op}: {name}", error, A234, bad, "%0 = " + text.format(*good), says, **kwargs)

    return [
        row(
            "axis range",
            "E3004",
            "[3]",
            "<2x3xf32>",
            ("[2]", "false", "<2x3xf32>"),
            f"{code} %1: axis 3 is out of range for rank 3",
            context={"axis": 3, "rank": 3},
        ),
        row(
            "no negative axes",
            "E3004",
            "[-1]",
            "<2x3xf32>",
            ("[0, 1, 2]", "false", "<f32>"),
            "axis -1 is out of range",
            context={"axis": -1},
        ),
        row(
            "duplicate axis",
            "E3005",
            "[1, 0, 1]",
            "<4xf32>",
            ("[1, 0]", "false", "<4xf32>"),
            "axis 1 is given twice in [1, 0, 1]",
            context={"axes": (1, 0, 1), "duplicate": 1},
        ),
        row("keepdims drops", "E4015", "[1]", "<2x1x4xf32>", ("[1]", "false", "<2x4xf32>"), "inferred tensor<2x4xf32>"),
        row("keepdims keeps", "E4015", "[1]", "<2x1x4xf32>", ("[1]", "true", "<2x1x4xf32>"), "declared result"),
        row("no axes reduce to rank 0", "E4015", "[]", "<2x3x4xf32>", ("[]", "false", "<f32>"), "inferred tensor<f32>"),
        row(
            "no axes reduce to rank 0 even with keepdims",
            "E4015",
            "[]",
            "<1x1x1xf32>",
            ("[]", "true", "<f32>"),
            "inferred tensor<f32>",
        ),
        row("dtype kept", "E4015", "[]", "<f64>", ("[]", "false", "<f32>"), "inferred tensor<f32>"),
        row(
            "axis from the end (1.1)",
            "E3004",
            "[-4]",
            "<f32>",
            ("[-3]", "false", "<3x4xf32>"),
            "expected -3 <= axis < 3",
            profile="core-v1.1",
        ),
        row(
            "duplicate after resolving (1.1)",
            "E3005",
            "[2, -1]",
            "<2x3xf32>",
            ("[-2, -1]", "false", "<2xf32>"),
            "axis 2 is given twice",
            context={"duplicate": 2},
            profile="core-v1.1",
        ),
        Row(
            f"{op}: keepdims is given",
            "E4000",
            A23,
            f'%0 = "mind.{op}"(%x) <{{axes = array<i64>}}> : (<2x3xf32>) -> <f32>',
            f'%0 = "mind.{op}"(%x) <{{axes = array<i64>, keepdims = true}}> : (<2x3xf32>) -> <f32>',
            "expected ['axes', 'keepdims']",
            {"expected": ["axes", "keepdims"]},
        ),
        Row(
            f"{op}: kind of keepdims",
            "E4000",
            A23,
            f'%0 = "mind.{op}"(%x) <{{axes = array<i64>, keepdims = 1 : i64}}> : (<2x3xf32>) -> <f32>',
            f'%0 = "mind.{op}"(%x) <{{axes = array<i64>, keepdims = false}}> : (<2x3xf32>) -> <f32>',
            "expected true or false",
        ),
        Row(
            f"{op}: kind of axes",
            "E4000",
            A23,
            f'%0 = "mind.{op}"(%x) <{{axes = [0], keepdims = true}}> : (<2x3xf32>) -> <1x3xf32>',
            f'%0 = "mind.{op}"(%x) <{{axes = array<i64: 0>, keepdims = true}}> : (<2x3xf32>) -> <1x3xf32>',
            "expected a list of i64",
        ),
        Row(
            f"{op}: width of axes",
            "E4000",
            A23,
            f'%0 = "mind.{op}"(%x) <{{axes = array<i32: 0>, keepdims = true}}> : (<2x3xf32>) -> <1x3xf32>',
            f'%0 = "mind.{op}"(%x) <{{axes = array<i64: 1>, keepdims = true}}> : (<2x3xf32>) -> <2x1xf32>',
            "expected a list of i64",
        ),
        Row(
            f"{op}: misspelt attribute",
            "E4000",
            A23,
            f"%0 = mind.{op} %x axis = [0] keepdims = true : <2x3xf32> -> <1x3xf32>",
            f"%0 = mind.{op} %x axes = [0] keepdims = true : <2x3xf32> -> <1x3xf32>",
            "unexpected attribute 'axis'",
            {"given": "axis"},
        ),
    ]


REDUCTIONS = [
    *_reduction("sum", "Sum"),
    *_reduction("mean", "Mean"),
    Row(
        "mean: over no elements",
        "E3006",
        A23,
        EMPTY + "%0 = mind.mean %e axes = [0] keepdims = false : <0x3xf32> -> <3xf32>",
        EMPTY + "%0 = mind.mean %e axes = [1] keepdims = false : <0x3xf32> -> <0xf32>",
        "mean over no elements",
        {"shape": (0, 3), "index": 0, "value": 0},
    ),
    Row(
        "mean: over no elements at all",
        "E3006",
        A23,
        EMPTY + "%0 = mind.mean %e axes = [] keepdims = false : <0x3xf32> -> <f32>",
        EMPTY + "%0 = mind.sum %e axes = [] keepdims = false : <0x3xf32> -> <f32>",
        "mean over no elements",
    ),
]
