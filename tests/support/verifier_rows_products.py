"""Rows of products and convolution; see `verifier_rows`."""

from __future__ import annotations

from verifier_rows import Row

VECTORS = "%v: <3xf32>, %x: <2x3xf32>, %y: <3x4xf32>, %u: <4xf32>, %s: <f32>, %d: <3xf64>, %t: <5x2x3xf32>"


def _dot(name: str, a: str, b: str, types: str, good: str, k: tuple[int, int]) -> Row:
    return Row(
        f"dot: {name}",
        "E3003",
        VECTORS,
        f"%0 = mind.dot %{a}, %{b} : {types}",
        good,
        f"{k[0]} and {k[1]}, expected equal",
        {"dimension": "K", "extents": k},
    )


CONTRACTION = [
    _dot("vector, vector", "v", "u", "(<3xf32>, <4xf32>) -> <f32>", "%0 = mind.dot %v, %v : (<3xf32>, <3xf32>) -> <f32>", (3, 4)),
    _dot(
        "matrix, vector",
        "x",
        "u",
        "(<2x3xf32>, <4xf32>) -> <2xf32>",
        "%0 = mind.dot %x, %v : (<2x3xf32>, <3xf32>) -> <2xf32>",
        (3, 4),
    ),
    _dot(
        "vector, matrix",
        "u",
        "y",
        "(<4xf32>, <3x4xf32>) -> <4xf32>",
        "%0 = mind.dot %v, %y : (<3xf32>, <3x4xf32>) -> <4xf32>",
        (4, 3),
    ),
    _dot(
        "matrix, matrix",
        "x",
        "x",
        "(<2x3xf32>, <2x3xf32>) -> <2x3xf32>",
        "%0 = mind.dot %x, %y : (<2x3xf32>, <3x4xf32>) -> <2x4xf32>",
        (3, 2),
    ),
    Row(
        "dot: rank 0",
        "E3002",
        VECTORS,
        "%0 = mind.dot %s, %v : (<f32>, <3xf32>) -> <f32>",
        "%0 = mind.dot %v, %v : (<3xf32>, <3xf32>) -> <f32>",
        "rank 0, expected 1 or 2",
        {"expected": "1 or 2", "actual": 0},
    ),
    Row(
        "dot: rank 3",
        "E3002",
        VECTORS,
        "%0 = mind.dot %v, %t : (<3xf32>, <5x2x3xf32>) -> <f32>",
        "%0 = mind.dot %v, %y : (<3xf32>, <3x4xf32>) -> <4xf32>",
        "rank 3, expected 1 or 2",
    ),
    Row(
        "dot: dtype",
        "E2004",
        VECTORS,
        "%0 = mind.dot %v, %d : (<3xf32>, <3xf64>) -> <f32>",
        "%0 = mind.dot %v, %v : (<3xf32>, <3xf32>) -> <f32>",
        "f32 and f64",
    ),
    Row(
        "matmul: rank",
        "E3002",
        VECTORS,
        "%0 = mind.matmul %x, %v : (<2x3xf32>, <3xf32>) -> <2xf32>",
        "%0 = mind.matmul %x, %y : (<2x3xf32>, <3x4xf32>) -> <2x4xf32>",
        "rank 1, expected at least 2",
        {"actual": 1},
    ),
    Row(
        "matmul: inner dimension",
        "E3003",
        VECTORS,
        "%0 = mind.matmul %y, %x : (<3x4xf32>, <2x3xf32>) -> <3x3xf32>",
        "%0 = mind.matmul %t, %y : (<5x2x3xf32>, <3x4xf32>) -> <5x2x4xf32>",
        "cannot contract [3, 4] with [2, 3]: 4 and 2",
        {"dimension": "K", "extents": (4, 2)},
    ),
    Row(
        "matmul: batch dimensions",
        "E3001",
        "%x: <5x2x3xf32>, %y: <4x3x2xf32>, %z: <4x1x3x2xf32>",
        "%0 = mind.matmul %x, %y : (<5x2x3xf32>, <4x3x2xf32>) -> <5x2x2xf32>",
        "%0 = mind.matmul %x, %z : (<5x2x3xf32>, <4x1x3x2xf32>) -> <4x5x2x2xf32>",
        "5 and 4 at dimension 0",
        {"extents": (5, 4)},
    ),
    Row(
        "matmul: dtype",
        "E2004",
        "%x: <2x2xf32>, %y: <2x2xi64>",
        "%0 = mind.matmul %x, %y : (<2x2xf32>, <2x2xi64>) -> <2x2xf32>",
        "%0 = mind.matmul %y, %y : <2x2xi64>",
        "f32 and i64",
    ),
    Row(
        "matmul: result",
        "E4015",
        VECTORS,
        "%0 = mind.matmul %x, %y : (<2x3xf32>, <3x4xf32>) -> <4x2xf32>",
        "%0 = mind.matmul %x, %y : (<2x3xf32>, <3x4xf32>) -> <2x4xf32>",
        "inferred tensor<2x4xf32>",
    ),
]

IMAGE = "%x: <1x5x6x2xf32>, %w: <3x2x2x4xf32>, %v: <3x2x3x4xf32>, %d: <3x2x2x4xf64>, %y: <2x2x2xf32>"
CONV = "%0 = mind.conv2d %x, %w strides = {} padding = {} : (<1x5x6x2xf32>, <3x2x2x4xf32>) -> {}"
GENERIC_CONV = (
    '%0 = "mind.conv2d"(%x, %w) <{{strides = array<i64: 1, 1>, padding = {}}}> : (<1x5x6x2xf32>, <3x2x2x4xf32>) -> <1x3x5x4xf32>'
)
VALID = CONV.format("[1, 1]", "Valid", "<1x3x5x4xf32>")
CUSTOM = CONV.format("[2, 3]", "[[1, 0], [0, 2]]", "<1x2x3x4xf32>")
EMPTY_IMAGE = "%e = mind.slice %x starts = [0, 0, 0, 0] ends = {} steps = [1, 1, 1, 1] : <1x5x6x2xf32> -> {}\n"
EMPTY_FILTER = "%k = mind.slice %w starts = [0, 0, 0, 0] ends = {} steps = [1, 1, 1, 1] : <3x2x2x4xf32> -> {}\n"

CONVOLUTION = [
    Row(
        "conv2d: rank of the input",
        "E3002",
        IMAGE,
        "%0 = mind.conv2d %y, %w strides = [1, 1] padding = Valid : (<2x2x2xf32>, <3x2x2x4xf32>) -> <1x3x5x4xf32>",
        VALID,
        "rank 3, expected 4",
        {"expected": "4", "actual": 3},
    ),
    Row(
        "conv2d: rank of the filter",
        "E3002",
        IMAGE,
        "%0 = mind.conv2d %x, %y strides = [1, 1] padding = Valid : (<1x5x6x2xf32>, <2x2x2xf32>) -> <1x3x5x4xf32>",
        VALID,
        "rank 3",
    ),
    Row(
        "conv2d: dtype",
        "E2004",
        IMAGE,
        "%0 = mind.conv2d %x, %d strides = [1, 1] padding = Valid : (<1x5x6x2xf32>, <3x2x2x4xf64>) -> <1x3x5x4xf32>",
        VALID,
        "f32 and f64",
    ),
    Row(
        "conv2d: channels",
        "E4009",
        IMAGE,
        "%0 = mind.conv2d %x, %v strides = [1, 1] padding = Valid : (<1x5x6x2xf32>, <3x2x3x4xf32>) -> <1x3x5x4xf32>",
        VALID,
        "Conv2d %5: input has 2 channels, filter has 3",
        {"channels": (2, 3)},
    ),
    *(
        Row(
            f"conv2d: strides {strides}",
            "E4010",
            IMAGE,
            CONV.format(strides, "Valid", "<1x3x5x4xf32>"),
            CONV.format("[2, 2]", "Valid", "<1x2x3x4xf32>"),
            f"strides {strides}, expected two positive numbers",
            {},
        )
        for strides in ("[1]", "[1, 0]", "[-1, 1]", "[1, 1, 1]", "[]")
    ),
    Row(
        "conv2d: name of the padding",
        "E4013",
        IMAGE,
        CONV.format("[1, 1]", "Reflect", "<1x3x5x4xf32>"),
        CONV.format("[1, 1]", "Same", "<1x5x6x4xf32>"),
        "padding Reflect, expected Valid, Same or Custom",
        {"padding": "Reflect"},
    ),
    Row(
        "conv2d: negative padding",
        "E4013",
        IMAGE,
        CONV.format("[2, 3]", "[[1, 0], [0, -1]]", "<1x2x3x4xf32>"),
        CUSTOM,
        "two pairs of non-negative numbers",
        {"padding": ((1, 0), (0, -1))},
    ),
    Row("conv2d: pairs of padding", "E4013", IMAGE, CONV.format("[2, 3]", "[[1, 0]]", "<1x2x3x4xf32>"), CUSTOM, "[[top, bottom]"),
    Row(
        "conv2d: kind of padding",
        "E4013",
        IMAGE,
        GENERIC_CONV.format("1 : i64"),
        GENERIC_CONV.format('"Valid"'),
        "padding 1 : i64, expected Valid",
    ),
    Row(
        "conv2d: digits of padding",
        "E1005",
        IMAGE,
        CONV.format("[2, 3]", f"[[1, {'9' * 5000}], [0, 0]]", "<1x2x3x4xf32>"),
        CUSTOM,
        "digits",
    ),
    Row(
        "conv2d: filter larger than the input",
        "E3006",
        "%x: <1x2x6x2xf32>, %w: <3x2x2x4xf32>",
        "%0 = mind.conv2d %x, %w strides = [1, 1] padding = Valid : (<1x2x6x2xf32>, <3x2x2x4xf32>) -> <1x0x5x4xf32>",
        "%0 = mind.conv2d %x, %w strides = [1, 1] padding = [[0, 1], [0, 0]] : (<1x2x6x2xf32>, <3x2x2x4xf32>) -> <1x1x5x4xf32>",
        "output extent 0 at 1",
        {"shape": (1, 0, 5, 4), "index": 1, "value": 0},
    ),
    Row(
        "conv2d: padding beyond i64",
        "E3006",
        IMAGE,
        CONV.format("[1, 1]", "[[9223372036854775807, 0], [0, 0]]", "<1x9223372036854775810x5x4xf32>"),
        VALID,
        "output extent 9223372036854775810",
    ),
    Row(
        "conv2d: input of extent 0",
        "E3006",
        IMAGE,
        EMPTY_IMAGE.format("[1, 0, 6, 2]", "<1x0x6x2xf32>")
        + "%0 = mind.conv2d %e, %w strides = [1, 1] padding = Same : (<1x0x6x2xf32>, <3x2x2x4xf32>) -> <1x0x6x4xf32>",
        EMPTY_IMAGE.format("[0, 5, 6, 2]", "<0x5x6x2xf32>")
        + "%0 = mind.conv2d %e, %w strides = [1, 1] padding = Same : (<0x5x6x2xf32>, <3x2x2x4xf32>) -> <0x5x6x4xf32>",
        "output extent 0 at 1",
    ),
    Row(
        "conv2d: filter of extent 0",
        "E3006",
        IMAGE,
        EMPTY_FILTER.format("[0, 2, 2, 4]", "<0x2x2x4xf32>")
        + "%0 = mind.conv2d %x, %k strides = [1, 1] padding = Valid : (<1x5x6x2xf32>, <0x2x2x4xf32>) -> <1x6x5x4xf32>",
        EMPTY_FILTER.format("[3, 2, 2, 0]", "<3x2x2x0xf32>")
        + "%0 = mind.conv2d %x, %k strides = [1, 1] padding = Valid : (<1x5x6x2xf32>, <3x2x2x0xf32>) -> <1x3x5x0xf32>",
        "extent 0 at 0",
    ),
    Row(
        "conv2d: result",
        "E4015",
        IMAGE,
        CONV.format("[2, 2]", "Same", "<1x2x3x4xf32>"),
        CONV.format("[2, 2]", "Same", "<1x3x3x4xf32>"),
        "inferred tensor<1x3x3x4xf32>",
    ),
]
