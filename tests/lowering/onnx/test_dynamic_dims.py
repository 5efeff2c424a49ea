"""Exported models with named dimensions, run by ONNX Runtime at every small size, and dimensions that are read back."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from mind_dialect.errors import MindError
from mind_dialect.program import functions
from mind_dialect.ptir.types import read_type
from mind_lowering.ptir_to_onnx import onnx_model
from mind_runtime import compile
from mind_runtime.compilation import find_function
from mind_tools.frontends import parse
from mind_translate.onnx import read_onnx
from onnx_agreement import agree, run

onnx: Any = pytest.importorskip("onnx", reason="onnx is not installed")
pytest.importorskip("onnxruntime", reason="ONNX Runtime is not installed")

HEAD = 'builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {\n'
X = '%x: tensor<?x6xf32, "B,*">, %y: tensor<?x6xf32, "T,*">'
BT = 'tensor<?x6xf32, "B+T,*">'


def program(body: str, result: str, facts: str = "", arguments: str = X) -> str:
    attributes = f" attributes {{mind.dims = [{facts}]}}" if facts else ""
    return f"{HEAD}func.func @f({arguments}) -> {result}{attributes} {{\n{body}\nfunc.return %r : {result}\n}}\n}}"


CASES = {
    "joined": (f'%r = ptir.concat %x, %y axis = 0 : (tensor<?x6xf32, "B,*">, tensor<?x6xf32, "T,*">) -> {BT}', BT, ""),
    "heads": (
        '%h = ptir.reshape %x new_shape = [B, 2, 3] : tensor<?x6xf32, "B,*"> -> tensor<?x2x3xf32, "B,*,*">\n'
        '%t = ptir.transpose %h perm = [1, 0, 2] : tensor<?x2x3xf32, "B,*,*"> -> tensor<2x?x3xf32, "*,B,*">\n'
        '%r = ptir.exp %t : tensor<2x?x3xf32, "*,B,*">',
        'tensor<2x?x3xf32, "*,B,*">',
        "",
    ),
    "scores": (
        "%s = ptir.dot_general %x, %y batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [1]"
        ' : (tensor<?x6xf32, "B,*">, tensor<?x6xf32, "T,*">) -> tensor<?x?xf32, "B,T">\n'
        '%e = ptir.tanh %s : tensor<?x?xf32, "B,T">\n'
        '%z = ptir.reduce %e kind = sum axes = [1] keepdims = true : tensor<?x?xf32, "B,T"> -> tensor<?x1xf32, "B,*">\n'
        '%w = ptir.broadcast_to %z result_shape = [B, T] : tensor<?x1xf32, "B,*"> -> tensor<?x?xf32, "B,T">\n'
        '%r = ptir.add %e, %w : tensor<?x?xf32, "B,T">',
        'tensor<?x?xf32, "B,T">',
        "",
    ),
    "last rows": (
        '%r = ptir.slice %x starts = ["B-2", 0] sizes = [2, 6] : tensor<?x6xf32, "B,*"> -> tensor<2x6xf32>',
        "tensor<2x6xf32>",
        '"B >= 2"',
    ),
    "every second": (
        "%r = ptir.strided_slice %x starts = [0, 0] limits = [B, 6] strides = [2, 3]"
        ' : tensor<?x6xf32, "B,*"> -> tensor<?x2xf32, "B ceildiv 2,*">',
        'tensor<?x2xf32, "B ceildiv 2,*">',
        "",
    ),
    "flat": (
        '%r = ptir.reshape %x new_shape = ["6*B"] : tensor<?x6xf32, "B,*"> -> tensor<?xf32, "6*B">',
        'tensor<?xf32, "6*B">',
        "",
    ),
    "padded": (
        "%r = ptir.pad %x low = [T, 0] high = [1, 0] interior = [0, 0] pad_value = 1.5 : f32"
        ' : tensor<?x6xf32, "B,*"> -> tensor<?x6xf32, "B+T+1,*">',
        'tensor<?x6xf32, "B+T+1,*">',
        "",
    ),
    "declared equal": (
        '%r = ptir.add %x, %y : (tensor<?x6xf32, "B,*">, tensor<?x6xf32, "T,*">) -> tensor<?x6xf32, "B,*">',
        'tensor<?x6xf32, "B,*">',
        '"B == T"',
    ),
    "mean": (
        '%0 = ptir.reduce %x kind = sum axes = [0] keepdims = false : tensor<?x6xf32, "B,*"> -> tensor<6xf32>\n'
        '%1 = ptir.dimension_size %x axis = 0 : tensor<?x6xf32, "B,*"> -> tensor<si64>\n'
        "%2 = ptir.cast %1 dtype = f32 : tensor<si64> -> tensor<f32>\n"
        "%3 = ptir.broadcast_to %2 result_shape = [6] : tensor<f32> -> tensor<6xf32>\n"
        "%r = ptir.div %0, %3 : tensor<6xf32>",
        "tensor<6xf32>",
        '"B >= 1"',
    ),
}


def holds(facts: str, b: int, t: int) -> bool:
    return {"": True, '"B >= 2"': b >= 2, '"B >= 1"': b >= 1, '"B == T"': b == t}[facts]


@pytest.mark.parametrize("name", CASES)
def test_models_give_what_programs_give(name: str) -> None:
    body, result, facts = CASES[name]
    module = parse(program(body, result, facts))
    data, compiled = onnx_model(find_function(module, "f")), compile(module)
    assert onnx_model(find_function(module, "f")) == data
    rng = np.random.default_rng(1)
    for b, t in itertools.product(range(4), repeat=2):
        if holds(facts, b, t):
            arrays = [rng.normal(size=(n, 6)).astype(np.float32) for n in (b, t)]
            (found,) = run(data, arrays)
            np.testing.assert_allclose(found, compiled(*arrays), rtol=1e-5, atol=1e-6)
    graph = onnx.load_from_string(data).graph
    assert graph.input[0].type.tensor_type.shape.dim[0].dim_param == "B"
    assert graph.doc_string == (f"facts not exported: {facts.strip(chr(34))}" if facts else "")


@pytest.mark.parametrize("name", ["joined", "heads", "scores", "flat", "mean"])
def test_models_are_read_back(name: str) -> None:
    body, result, facts = CASES[name]
    for b, t in ((1, 1), (2, 3)):
        agree(parse(program(body, result, facts)), [np.ones((n, 6), np.float32) for n in (b, t)], name)


def test_expressions_are_dim_params_and_read_back() -> None:
    data = onnx_model(find_function(parse(program(*CASES["joined"])), "f"))
    assert onnx.load_from_string(data).graph.output[0].type.tensor_type.shape.dim[0].dim_param == "B+T"
    (func,) = functions(read_onnx(data))
    assert str(read_type(func.function_type.outputs.data[0])) == "f32[B+T, 6]"


@pytest.mark.parametrize(
    ("body", "result", "why"),
    [
        (CASES["declared equal"][0], CASES["declared equal"][1], "declare facts in mind.dims that exclude this"),
        (CASES["last rows"][0], CASES["last rows"][1], "declare facts in mind.dims that exclude this"),
        (
            '%r = ptir.sort %x axis = 0 descending = false : tensor<?x6xf32, "B,*">',
            'tensor<?x6xf32, "B,*">',
            "on dynamic dimensions",
        ),
    ],
)
def test_what_sizes_may_break_is_refused(body: str, result: str, why: str) -> None:
    with pytest.raises(MindError, match=why) as found:
        onnx_model(find_function(parse(program(body, result)), "f"))
    assert found.value.code == "E8008"


def model(*shapes: tuple[Any, ...]) -> bytes:
    helper, proto = onnx.helper, onnx.TensorProto
    inputs = [helper.make_tensor_value_info(f"x{i}", proto.FLOAT, shape) for i, shape in enumerate(shapes)]
    nodes = [helper.make_node("Exp", [f"x{i}"], [f"y{i}"]) for i in range(len(shapes))]
    outputs = [helper.make_tensor_value_info(f"y{i}", proto.FLOAT, None) for i in range(len(shapes))]
    made = helper.make_model(helper.make_graph(nodes, "main", inputs, outputs), opset_imports=[helper.make_opsetid("", 21)])
    return made.SerializeToString()


@pytest.mark.parametrize(
    ("shapes", "dims"),
    [
        ([("B", "T")], ["B,T"]),
        ([("B", "2*B")], ["B,2*B"]),
        ([("T // 2", "T")], ["T floordiv 2,T"]),
        ([("past + T",), ("T",)], ["T+past", "T"]),
        ([("2*B",)], ["2*B"]),
        ([("Max(a, b)", "a"), ("b",)], ["max(a,b),a", "b"]),
        ([("B*T",)], ["x0_0"]),
        ([("a/b", "seq len")], ["a_b,seq_len"]),
        ([("", "unk__12")], ["x0_0,unk__12"]),
    ],
)
def test_dim_params_are_names_and_expressions(shapes: list[tuple[Any, ...]], dims: list[str]) -> None:
    (func,) = functions(read_onnx(model(*shapes)))
    found = [",".join(map(str, read_type(t).shape)) for t in func.function_type.inputs.data]
    assert found == dims


def test_sizes_are_given_to_names_in_expressions() -> None:
    (func,) = functions(read_onnx(model(("B", "2*B")), dims={"B": 3}))
    assert read_type(func.function_type.inputs.data[0]).shape == (3, 6)
    compiled = compile(read_onnx(model(("B", "2*B"))))
    assert compiled(np.zeros((2, 4), np.float32)).shape == (2, 4)
    with pytest.raises(MindError) as found:
        compiled(np.zeros((2, 3), np.float32))
    assert found.value.code == "E8001"
