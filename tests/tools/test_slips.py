"""Common slips: the message says what is missing, at the place where it is missing."""

from __future__ import annotations

import numpy as np
import pytest

from mind_dialect.errors import MindError
from mind_dialect.shape_engine import infer
from tool_runs import mind_opt

F = "func.func @f(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> tensor<2x3xf32> {\n"
INPUTS = "%0 = Input {name=x} : tensor<f32[2, 3]>\n%1 = Input {name=y} : tensor<f32[2, 3]>\n"

MLIR = {
    "%0 = mind.neg(%x) : tensor<2x3xf32>": ("E1007", "2:16", 1, "Neg: operands stand without parentheses, as in mind.neg %x, %y"),
    "%0 = mind.add (%x, %y) : tensor<2x3xf32>": ("E1007", "2:17", 1, "Add: operands stand without parentheses"),
    "%0 = ptir.add(%x, %y) : tensor<2x3xf32>": ("E1007", "2:16", 1, "add: operands stand without parentheses, as in ptir.add"),
    "%0 = mind.neg %x tensor<2x3xf32>": ("E1007", "2:20", None, "Neg: expected ':' and the types of operands and results"),
    "%0 = mind.sum %x axes = [] keepdims = true tensor<2x3xf32>": ("E1007", "2:46", None, "Sum: expected ':' and the types"),
    "%0 = mind.neg %x axis = 1 : tensor<2x3xf32>": ("E4000", "2:20", None, "Neg: unexpected attribute 'axis'"),
    "%0 = mind.constant [1.5] : tensor<1xi32>": ("E4005", "2:23", 3, "element 1.5 of a i32 constant"),
    "%0 = mind.constant [1.0, -1.0e39 ] : tensor<2xf32>": ("E4005", "2:28", 7, "element"),
    "%0 = mind.constant 1.5 : tensor<i32>": ("E4005", "2:22", 3, "element 1.5"),
    "%0 = mind.constant [1, 2] : tensor<3xi32>": ("E3010", "2:22", None, "literal has shape [2], declared is [3]"),
}


@pytest.mark.parametrize("text", MLIR)
def test_slips_in_mlir(text: str) -> None:
    code, place, width, said = MLIR[text]
    result = mind_opt(stdin=f"{F}  {text}\n  func.return %x : tensor<2x3xf32>\n}}")
    assert result.err.startswith(f"error[{code}]: {said}")
    assert f"--> stdin:{place}\n" in result.err
    assert width is None or f" {'^' * width}\n" in result.err


CORE_IR = {
    "%3 = Add (%0, %1) : tensor<f32[2, 3]": ("E1007", "3:21", "a type that lacks its closing `>`"),
    "%3 = Add (%0, %1) : Tensor<f32, [2, 3]": ("E1007", "3:21", "a type that lacks its closing `>`"),
    "%3 = Add (%0, %1) : f32": ("E1007", "3:21", "expected a type like tensor<f32[2, 3]>, found f32"),
    "%3 = Neg %0": ("E1007", "3:10", "expected operands in parentheses, as in Neg (%0), found %0"),
    "%3 = Add %0, %1 : tensor<f32[2, 3]>": ("E1007", "3:10", "expected operands in parentheses, as in Add (%0), found %0"),
    "%3 = add (%0, %1)": ("E4000", "3:6", "unknown opcode add, expected Add"),
    "%3 = MATMUL (%0, %1)": ("E4000", "3:6", "unknown opcode MATMUL, expected MatMul"),
    "%3 = Foo (%0)": ("E4000", "3:6", "unknown opcode Foo, expected one of ["),
    "%3 = Input {name=z} : tensor<f32[2, -1]>": (
        "E3006",
        "3:23",
        "extent -1 at 1 in [2, -1], expected 1 to 2^63 - 1",
    ),
    "%3 = Input {name=z} : tensor<f32[2, 0]>": ("E3006", "3:6", "extent 0 at 1 in [2, 0], expected positive"),
}


@pytest.mark.parametrize("text", CORE_IR)
def test_slips_in_core_ir(text: str) -> None:
    code, place, said = CORE_IR[text]
    result = mind_opt("-f", "core-ir", stdin=f"{INPUTS}{text}\noutputs: %0\n")
    assert f"error[{code}]: {said}" in result.err
    assert f"--> stdin:{place}\n" in result.err


def test_a_wrong_result_type_is_reported_where_it_is_declared() -> None:
    wrong = '  %0 = "mind.neg"(%x) : (tensor<2x3xf32>) -> tensor<6xf32>\n'
    for use in ("func.return %0 : tensor<2x3xf32>", "%1 = mind.neg %0 : tensor<2x3xf32>\n  func.return %1 : tensor<2x3xf32>"):
        result = mind_opt(stdin=f"{F}{wrong}  {use}\n}}")
        assert result.err.startswith("error[E4015]: Neg")
        assert "declared result tensor<6xf32>, inferred tensor<2x3xf32>" in result.err
        assert "--> stdin:2:8\n" in result.err
    chunk = mind_opt("--split-input-file", stdin=f"// -----\n{F}{wrong}  func.return %0 : tensor<2x3xf32>\n}}")
    assert "--> stdin:3:8\n" in chunk.err


@pytest.mark.parametrize(
    "definition",
    [
        "%0 = mind.neg %x : tensor<2x3xf32>",
        "%0 = mind.mul %x, %y : tensor<2x3xf32>",
        '%0 = "mind.div"(%x, %y) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>',
        '%0 = "test.op"() : () -> tensor<6xf32>',
    ],
)
def test_a_wrong_use_is_reported_where_it_is(definition: str) -> None:
    result = mind_opt(stdin=f"{F}  {definition}\n  %1 = mind.neg %0 : tensor<7xf32>\n  func.return %x : tensor<2x3xf32>\n}}")
    assert result.err.startswith("error[E2001]: operand is used with type tensor<7xf32>")
    assert "--> stdin:3:17\n" in result.err


RECURSIVE = """func.func @f(%x: tensor<f32>) -> tensor<f32> {
  %0 = func.call @f(%x) : (tensor<f32>) -> tensor<f32>
  %1 = mind.neg %0 : tensor<f32>
  func.return %1 : tensor<f32>
}"""


@pytest.mark.parametrize("option", ["--autodiff", "--jvp", "--vectorize=size=2"])
def test_no_function_to_transform(option: str) -> None:
    text = RECURSIVE if option == "--autodiff" else RECURSIVE.replace("mind.neg", "ptir.neg")
    result = mind_opt("--lenient", option, stdin=text)
    assert (result.status, result.out) == (1, "")
    assert result.err.startswith(
        "error[E7003]: every function is called by another: ['f']; say which is meant with function=NAME"
    )
    foreign = mind_opt(option, stdin="func.func @g(%x: f32) -> f32 {\n  func.return %x : f32\n}")
    assert (foreign.status, foreign.err) == (0, "")


def test_a_second_gradient_pass_has_nothing_to_do() -> None:
    text = RECURSIVE.replace("func.call @f(%x) : (tensor<f32>) -> tensor<f32>", "mind.exp %x : tensor<f32>")
    once = mind_opt("--autodiff", stdin=text)
    assert mind_opt("--autodiff", "--autodiff", stdin=text) == once
    assert once.status == 0


def test_shape_lib_stands_on_symbol_tables_only() -> None:
    text = """func.func @fn(%arg: !shape.value_shape) -> !shape.shape {
  %0 = shape.shape_of %arg {shape.lib = @fn} : !shape.value_shape -> !shape.shape
  func.return %0 : !shape.shape
}"""
    result = mind_opt(stdin=text)
    assert result.err.startswith("error[E9012]: shape.shape_of")
    assert "stands on shape.shape_of, expected an op that holds symbols, such as a module" in result.err
    assert "--> stdin:2:8\n" in result.err
    on_mind = F + "  %0 = mind.neg %x {shape.lib = @fn} : tensor<2x3xf32>\n  func.return %0 : tensor<2x3xf32>\n}"
    assert mind_opt(stdin=on_mind).err.startswith("error[E9012]: Neg")
    on_function = text.replace(" {shape.lib = @fn}", "").replace(
        "-> !shape.shape {", "-> !shape.shape attributes {shape.lib = @fn} {", 1
    )
    assert mind_opt(stdin=on_function).err.startswith("error[E9012]: func.func")


def test_shapes_of_numpy_integers() -> None:
    shape = np.array([2, 3])
    assert infer("Add", [tuple(shape), (3,)]) == (2, 3)
    assert infer("Sum", [[np.int64(2), np.int8(3)]], axes=[np.uint8(1)], keepdims=False) == (2,)
    assert all(type(n) is int for n in infer("Neg", [tuple(shape)]))
    for wrong in ((2.0, 3), (np.float64(2), 3), (True, 3), (np.bool_(True), 3), ("2", 3), (np.uint64(2**63), 3)):
        with pytest.raises(MindError, match="E4000"):
            infer("Neg", [wrong])
