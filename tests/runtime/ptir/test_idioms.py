"""What the lowering takes from before a broadcast still has the shape from after it."""

from __future__ import annotations

import numpy as np
import pytest

from mind_runtime import compile
from programs import parse
from ptir_evaluator import evaluate, function_of

UNIT_AXES = [
    (
        "neg of a scalar",
        "",
        "%b = mind.broadcast_to %s shape = [1, 1] : <f32> -> <1x1xf32>\n%y = mind.neg %b : <1x1xf32>",
        (1, 1),
    ),
    (
        "sum of scalars",
        "",
        "%a = mind.broadcast_to %s shape = [1] : <f32> -> <1xf32>\n"
        "%b = mind.broadcast_to %s shape = [1, 1] : <f32> -> <1x1xf32>\n"
        "%y = mind.add %a, %b : (<1xf32>, <1x1xf32>) -> <1x1xf32>",
        (1, 1),
    ),
    (
        "product of matrices",
        ", %m: <2x3xf32>, %n: <3x2xf32>",
        "%a = mind.broadcast_to %m shape = [1, 2, 3] : <2x3xf32> -> <1x2x3xf32>\n"
        "%b = mind.broadcast_to %n shape = [1, 3, 2] : <3x2xf32> -> <1x3x2xf32>\n"
        "%y = mind.matmul %a, %b : (<1x2x3xf32>, <1x3x2xf32>) -> <1x2x2xf32>",
        (1, 2, 2),
    ),
]


@pytest.mark.parametrize(("inputs", "body", "shape"), [row[1:] for row in UNIT_AXES], ids=[row[0] for row in UNIT_AXES])
def test_axes_of_extent_1_are_kept(inputs: str, body: str, shape: tuple[int, ...]):
    result = "<" + "x".join(map(str, shape)) + "xf32>"
    text = f"func.func @f(%s: <f32>{inputs}) -> {result} {{\n{body}\nfunc.return %y : {result}\n}}".replace("<", "tensor<")
    program = compile(parse(text))
    arguments = [np.ones(spec.shape, np.float32) for spec in program.inputs]
    assert program(*arguments).shape == shape


@pytest.mark.parametrize("kind", ["sum", "prod", "max", "min"])
@pytest.mark.parametrize("source", ["%x", "%c"])
@pytest.mark.parametrize("rows", [0, 3, 2000])
def test_reductions_take_all_elements_of_what_repeats(rows: int, source: str, kind: str):
    given = "4xf64" if source == "%x" else "f64"
    module = parse(f"""module attributes {{ptir.spec_version = "ptir.v0.4"}} {{
  func.func @f(%x: tensor<4xf64>) -> tensor<4xf64> {{
    %c = ptir.constant 1.25 : tensor<f64>
    %b = ptir.broadcast_to {source} result_shape = [{rows}, 4] : tensor<{given}> -> tensor<{rows}x4xf64>
    %r = ptir.reduce %b kind = {kind} axes = [0] keepdims = false : tensor<{rows}x4xf64> -> tensor<4xf64>
    func.return %r : tensor<4xf64>
  }}
}}""")
    x = np.array([0.5, 1, 1.001, -1])
    full = np.broadcast_to(x if source == "%x" else 1.25, (rows, 4))
    start = {"sum": 0, "prod": 1, "max": -np.inf, "min": np.inf}[kind]
    with np.errstate(over="ignore"):
        expected = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}[kind].reduce(full, 0, initial=start)
        np.testing.assert_array_equal(compile(module)(x), expected)


def product(batch: int, left: int, right: int, dtype: str) -> str:
    """A program of one product that contracts axis `left` of lhs and `right` of rhs, counted from the end."""
    sizes = [2, 1][:batch]
    lhs, rhs = [*sizes, 3, 4], [*sizes, 4, 5]
    lhs, rhs = lhs if left == -1 else [*sizes, 4, 3], rhs if right == -2 else [*sizes, 5, 4]
    types = [f"tensor<{'x'.join(map(str, s))}x{dtype}>" for s in (lhs, rhs, [*sizes, 3, 5])]
    axes = list(range(batch))
    return f"""module attributes {{ptir.spec_version = "ptir.v0.4"}} {{
  func.func @f(%x: {types[0]}, %y: {types[1]}) -> {types[2]} {{
    %r = ptir.dot_general %x, %y batch_lhs = {axes} batch_rhs = {axes} contract_lhs = [{left}] contract_rhs = [{right}]
      : ({types[0]}, {types[1]}) -> {types[2]}
    func.return %r : {types[2]}
  }}
}}"""


@pytest.mark.parametrize("dtype", ["f32", "f64", "complex<f32>", "si32", "f16"])
@pytest.mark.parametrize("right", [-2, -1])
@pytest.mark.parametrize("left", [-1, -2])
@pytest.mark.parametrize("batch", [0, 1, 2])
def test_products_of_matrices_in_either_order_are_the_librarys(batch: int, left: int, right: int, dtype: str):
    module = parse(product(batch, left, right, dtype))
    program = compile(module)
    plain = dtype in ("f32", "f64", "complex<f32>")
    assert ("xp.matmul" in program.source, "k.dot_general" in program.source) == (plain, not plain)
    assert program.source.count("k.transpose") == plain * ((left == -2) + (right == -1))
    rng = np.random.default_rng(0)
    arguments = [rng.integers(-4, 5, spec.shape).astype(spec.numpy_dtype) for spec in program.inputs]
    (expected,) = evaluate(function_of(module), arguments)
    np.testing.assert_array_equal(program(*arguments), expected)
    x, y = (a.swapaxes(-1, -2) if turned else a for a, turned in zip(arguments, (left == -2, right == -1), strict=True))
    np.testing.assert_array_equal(expected, np.matmul(x, y))
