"""ptir-sink-filters: which transposes go back to convolutions, which stay prepared, and that both functions are the old one."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from mind_dialect.dominance import walk
from mind_dialect.program import input_names
from mind_dialect.ptir import PtirOp
from mind_dialect.verify import verify
from mind_passes.ptir.sink_filters import prepared_filters, sink_filters
from mind_passes.ptir.split_parameters import split_parameters
from programs import parse
from ptir_evaluator import evaluate, function_of, same_bits

PLAIN = "padding = [[1, 1], [1, 1]] base_dilation = [1, 1] window_dilation = [1, 1] feature_group_count = 1"
SHAPES = {"x": (1, 5, 5, 4), "w": (4, 4, 3, 3), "v": (4, 4, 3, 3), "m": (4, 4)}


def filtered(image: str, weights: str, name: str = "r", batch: str = "1") -> str:
    image_type = f"tensor<{batch}x5x5x4xf32>"
    types = f"({image_type}, tensor<3x3x4x4xf32>) -> {image_type}"
    return f"%{name} = ptir.convolution %{image}, %{weights} strides = [1, 1] {PLAIN} : {types}"


def transposed(weight: str, name: str) -> str:
    return f"%{name} = ptir.transpose %{weight} perm = [2, 3, 1, 0] : tensor<4x4x3x3xf32> -> tensor<3x3x4x4xf32>"


T, U = transposed("w", "t"), transposed("v", "u")
NEGATED = "%n = ptir.neg %v : tensor<4x4x3x3xf32>"
PRODUCT = (
    "%a = ptir.transpose %m perm = [1, 0] : tensor<4x4xf32>\n%d = ptir.dot_general %c, %a batch_lhs = [] batch_rhs = [] "
    "contract_lhs = [3] contract_rhs = [0] : (tensor<1x5x5x4xf32>, tensor<4x4xf32>) -> tensor<1x5x5x4xf32>"
)
AS_IT_IS = "%s = ptir.reshape %w new_shape = [3, 3, 4, 4] : tensor<4x4x3x3xf32> -> tensor<3x3x4x4xf32>"
IMAGE = "%i = ptir.transpose %v perm = [2, 3, 0, 1] : tensor<4x4x3x3xf32> -> tensor<3x3x4x4xf32>"
CASES: dict[str, tuple[list[str], list[str], list[str], list[str]]] = {
    "one filter": ([T, filtered("x", "t")], [], ["transpose", "convolution"], ["x", "w"]),
    "two filters": (
        [T, U, filtered("x", "t", "c"), filtered("c", "u")],
        [], ["transpose", "transpose", "convolution", "convolution"], ["x", "w", "v"],
    ),
    "a filter of two convolutions": (
        [T, filtered("x", "t", "c"), filtered("c", "t")], [], ["transpose", "convolution", "convolution"], ["x", "w"],
    ),
    "one alongside work that stays": (
        [T, NEGATED, transposed("n", "u"), filtered("x", "t", "c"), filtered("c", "u")],
        ["neg", "transpose"], ["transpose", "convolution", "convolution"], ["x", "w", "prepared1"],
    ),
    "a matrix of a product stays": (
        [T, filtered("x", "t", "c"), PRODUCT, "%r = ptir.neg %d : tensor<1x5x5x4xf32>"],
        ["transpose"], ["transpose", "convolution", "dot_general", "neg"], ["x", "w", "prepared1"],
    ),
    "a weight that is needed as it is, too": (
        [T, filtered("x", "t", "c"), AS_IT_IS, filtered("c", "s")],
        [], ["transpose", "convolution", "reshape", "convolution"], ["x", "w"],
    ),
    "an image stays": (
        [IMAGE, T, f"%c = ptir.convolution %i, %t strides = [1, 1] {PLAIN} : (tensor<3x3x4x4xf32>, tensor<3x3x4x4xf32>) "
         "-> tensor<3x3x4x4xf32>", filtered("x", "c")],
        ["transpose", "transpose", "convolution"], ["convolution"], ["x", "prepared0"],
    ),
    "what something else reads stays": (
        [T, "%n = ptir.mul %t, %f : tensor<3x3x4x4xf32>", filtered("x", "t", "c"), filtered("c", "n")],
        ["transpose"], ["mul", "convolution", "convolution"], ["x", "f", "prepared0"],
    ),
}  # fmt: skip
"""What the body is, which ops are still prepared, which ops `@f` has, and its inputs."""


def module_of(lines: list[str], batch: str = "1") -> ModuleOp:
    """The module of a body, split."""
    weights = ", ".join(f"%{n}: tensor<{'x'.join(map(str, SHAPES[n]))}xf32> {{ptir.parameter}}" for n in "wvm")
    image = f"tensor<{batch}x5x5x4xf32>"
    other = ", %f: tensor<3x3x4x4xf32>" if any("%f" in line for line in lines) else ""
    body = "\n    ".join(lines)
    module = parse(f"""module attributes {{ptir.spec_version = "ptir.v0.4"}} {{
  func.func @f(%x: {image}, {weights}{other}) -> {image} {{
    {body}
    func.return %r : {image}
  }}
}}""")
    verify(module)
    return module


def opcodes(module: ModuleOp, name: str) -> list[str]:
    return [op.OPCODE for op in walk(function_of(module, name)) if isinstance(op, PtirOp)]


@pytest.mark.parametrize("name", CASES)
def test_what_is_moved(name: str) -> None:
    lines, prepared, left, names = CASES[name]
    before = module_of(lines)
    after = before.clone()
    func = function_of(after, "f")
    prepare = split_parameters(func)
    assert prepare is not None
    if numbers := prepared_filters(func, prepare):
        sink_filters(func, prepare, numbers)
    verify(after)
    assert opcodes(after, "f") == left
    assert [n for n in input_names(func) if n in names] == names
    assert ("ptir.prepare" in func.attributes) == bool(prepared)
    if prepared:
        assert opcodes(after, "f_prepare") == prepared
    assert str(parse(str(after))) == str(after)
    rng = np.random.default_rng(0)
    given = {n: rng.standard_normal(shape).astype(np.float32) for n, shape in {**SHAPES, "f": (3, 3, 4, 4)}.items()}
    values = dict(given)
    if prepared:
        maker = function_of(after, "f_prepare")
        made = evaluate(maker, [given[n] for n in input_names(maker)])
        values |= dict(zip(input_names(func)[-len(made) :], made, strict=True))
    expected = evaluate(function_of(before, "f"), [given[n] for n in input_names(function_of(before, "f"))])
    found = evaluate(func, [values[n] for n in input_names(func)])
    assert all(map(same_bits, found, expected))


def test_filters_that_are_not_given_stay() -> None:
    module = module_of(CASES["two filters"][0])
    func = function_of(module, "f")
    prepare = split_parameters(func)
    assert prepare is not None
    assert prepared_filters(func, prepare, {"v"}.__contains__) == [1]
    assert prepared_filters(func, prepare) == [0, 1]


def test_open_extents_keep_what_is_prepared() -> None:
    module = module_of([T, filtered("x", "t", batch="?")], batch="?")
    func = function_of(module, "f")
    prepare = split_parameters(func)
    assert prepare is not None
    assert prepared_filters(func, prepare) == []
