"""Rows of the extension ops; see `verifier_rows`."""

from __future__ import annotations

from verifier_rows import Row

PAIR = "%g: <2xf32>, %x: <2xf32>, %y: <3xf32>, %z: <1x2xf32>, %d: <2xf64>, %i: <2xi32>, %s: <f32>"
SCATTER = "%i: <2xi64>, %u: <2x4xf32>, %f: <2xf32>, %v: <3x4xf32>"
PAD = "%0 = mind.slice_scatter %g shape = {} starts = {} steps = {} : <2xf32> -> {}"
BACK = "%g: <1x3x5x4xf32>, %x: <1x5x6x2xf32>, %w: <3x2x2x4xf32>, %d: <3x2x2x4xf64>"
BACK_INPUT = (
    "%0 = mind.conv2d_backward_input %g, %w shape = {} strides = [1, 1] padding = {} : (<1x3x5x4xf32>, <3x2x2x4xf32>) -> {}"
)
BACK_FILTER = (
    "%0 = mind.conv2d_backward_filter %x, %g shape = {} strides = [1, 1] padding = {} : (<1x5x6x2xf32>, <1x3x5x4xf32>) -> {}"
)
GOOD_INPUT = BACK_INPUT.format("[1, 5, 6, 2]", "Valid", "<1x5x6x2xf32>")
GOOD_FILTER = BACK_FILTER.format("[3, 2, 2, 4]", "Valid", "<3x2x2x4xf32>")

GRADIENT = [
    Row(
        "relu_grad: no broadcasting",
        "E3001",
        PAIR,
        "%0 = mind.relu_grad %g, %y : (<2xf32>, <3xf32>) -> <3xf32>",
        "%0 = mind.relu_grad %g, %x : <2xf32>",
        "gradient has shape [2], expected [3]",
        {"dimension": 0, "extents": (2, 3)},
    ),
    Row(
        "relu_grad: rank",
        "E3002",
        PAIR,
        "%0 = mind.relu_grad %g, %z : (<2xf32>, <1x2xf32>) -> <1x2xf32>",
        "%0 = mind.relu_grad %z, %z : <1x2xf32>",
        "rank 1, expected 2 for the gradient",
    ),
    Row(
        "relu_grad: dtype",
        "E2004",
        PAIR,
        "%0 = mind.relu_grad %g, %d : (<2xf32>, <2xf64>) -> <2xf64>",
        "%0 = mind.relu_grad %d, %d : <2xf64>",
        "f32 and f64",
    ),
    Row(
        "relu_grad: floats only",
        "E2005",
        PAIR,
        "%0 = mind.relu_grad %i, %i : <2xi32>",
        "%0 = mind.relu_grad %g, %x : <2xf32>",
        "found i32",
    ),
    Row(
        "broadcast_to: only 1 is stretched",
        "E3001",
        PAIR,
        "%0 = mind.broadcast_to %y shape = [2, 2] : <3xf32> -> <2x2xf32>",
        "%0 = mind.broadcast_to %y shape = [2, 3] : <3xf32> -> <2x3xf32>",
        "3 and 2 at dimension 1",
        {"dimension": 1},
    ),
    Row(
        "broadcast_to: target of smaller rank",
        "E3002",
        PAIR,
        "%0 = mind.broadcast_to %z shape = [2] : <1x2xf32> -> <2xf32>",
        "%0 = mind.broadcast_to %z shape = [7, 2] : <1x2xf32> -> <7x2xf32>",
        "rank 2, expected at most 1",
    ),
    Row(
        "broadcast_to: negative",
        "E3006",
        PAIR,
        "%0 = mind.broadcast_to %s shape = [-1] : <f32> -> <1xf32>",
        "%0 = mind.broadcast_to %s shape = [0] : <f32> -> <0xf32>",
        "extent -1 at 0 in [-1], expected non-negative",
    ),
    Row(
        "scatter_add: index dtype",
        "E4011",
        SCATTER,
        "%0 = mind.scatter_add %f, %u shape = [9, 4] : (<2xf32>, <2x4xf32>) -> <9x4xf32>",
        "%0 = mind.scatter_add %i, %u shape = [9, 4] : (<2xi64>, <2x4xf32>) -> <9x4xf32>",
        "indices have dtype f32",
    ),
    Row(
        "scatter_add: rank of the result",
        "E3002",
        SCATTER,
        "%0 = mind.scatter_add %i, %f shape = [] : (<2xi64>, <2xf32>) -> <f32>",
        "%0 = mind.scatter_add %i, %f shape = [1] : (<2xi64>, <2xf32>) -> <1xf32>",
        "rank 0, expected at least 1",
    ),
    Row(
        "scatter_add: updates",
        "E3001",
        SCATTER,
        "%0 = mind.scatter_add %i, %v shape = [9, 4] : (<2xi64>, <3x4xf32>) -> <9x4xf32>",
        "%0 = mind.scatter_add %i, %u shape = [0, 4] : (<2xi64>, <2x4xf32>) -> <0x4xf32>",
        "updates has shape [3, 4], expected [2, 4]",
    ),
    Row(
        "scatter_add: negative",
        "E3006",
        SCATTER,
        "%0 = mind.scatter_add %i, %u shape = [-9, 4] : (<2xi64>, <2x4xf32>) -> <9x4xf32>",
        "%0 = mind.scatter_add %i, %u shape = [1, 4] : (<2xi64>, <2x4xf32>) -> <1x4xf32>",
        "extent -9 at 0",
    ),
    Row(
        "slice_scatter: lengths",
        "E4007",
        PAIR,
        PAD.format("[5, 5]", "[1]", "[2]", "<5x5xf32>"),
        PAD.format("[5]", "[1]", "[2]", "<5xf32>"),
        "expected 2 each",
        {"lengths": (1, 1, 1)},
    ),
    Row(
        "slice_scatter: step",
        "E4008",
        PAIR,
        PAD.format("[5]", "[1]", "[0]", "<5xf32>"),
        PAD.format("[5]", "[1]", "[3]", "<5xf32>"),
        "step 0",
    ),
    Row(
        "slice_scatter: bounds",
        "E4012",
        PAIR,
        PAD.format("[5]", "[1]", "[4]", "<5xf32>"),
        PAD.format("[6]", "[1]", "[4]", "<6xf32>"),
        "updates reach from 1 to 5 at dimension 0 of extent 5",
    ),
    Row(
        "slice_scatter: negative start",
        "E4012",
        PAIR,
        PAD.format("[5]", "[-1]", "[1]", "<5xf32>"),
        PAD.format("[5]", "[0]", "[1]", "<5xf32>"),
        "updates reach from -1",
    ),
    Row(
        "index_scatter: length",
        "E4006",
        PAIR,
        "%0 = mind.index_scatter %s shape = [3, 4] indices = [1] : <f32> -> <3x4xf32>",
        "%0 = mind.index_scatter %s shape = [3, 4] indices = [1, 2] : <f32> -> <3x4xf32>",
        "1 indices for rank 2",
    ),
    Row(
        "index_scatter: the update is a scalar",
        "E3002",
        PAIR,
        "%0 = mind.index_scatter %g shape = [3] indices = [1] : <2xf32> -> <3xf32>",
        "%0 = mind.index_scatter %s shape = [3] indices = [1] : <f32> -> <3xf32>",
        "rank 1, expected 0 for the update",
    ),
    Row(
        "conv2d_backward_input: gradient",
        "E3001",
        BACK,
        BACK_INPUT.format("[1, 5, 6, 2]", "Same", "<1x5x6x2xf32>"),
        GOOD_INPUT,
        "gradient has shape [1, 3, 5, 4], expected [1, 5, 6, 4]",
    ),
    Row(
        "conv2d_backward_input: channels",
        "E4009",
        BACK,
        BACK_INPUT.format("[1, 5, 6, 3]", "Valid", "<1x5x6x3xf32>"),
        GOOD_INPUT,
        "3 channels",
    ),
    Row(
        "conv2d_backward_input: rank",
        "E3002",
        BACK,
        BACK_INPUT.format("[5, 6, 2]", "Valid", "<5x6x2xf32>"),
        GOOD_INPUT,
        "rank 3, expected 4",
    ),
    Row(
        "conv2d_backward_filter: gradient",
        "E3001",
        BACK,
        BACK_FILTER.format("[3, 2, 2, 5]", "Valid", "<3x2x2x5xf32>"),
        GOOD_FILTER,
        "gradient has shape [1, 3, 5, 4], expected [1, 3, 5, 5]",
    ),
    Row(
        "conv2d_backward_filter: padding",
        "E4013",
        BACK,
        BACK_FILTER.format("[3, 2, 2, 4]", "Full", "<3x2x2x4xf32>"),
        GOOD_FILTER,
        "padding Full",
    ),
    Row(
        "conv2d_backward_filter: negative",
        "E3006",
        BACK,
        BACK_FILTER.format("[3, 2, 2, -4]", "Valid", "<3x2x2x4xf32>"),
        GOOD_FILTER,
        "extent -4",
    ),
]
