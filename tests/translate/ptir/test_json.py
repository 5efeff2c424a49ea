"""The JSON form by example: the published one, every op there and back, tuples, regions, literals, versions."""

from __future__ import annotations

import json
import math
from io import BytesIO, StringIO

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr
from xdsl.dialects.func import FuncOp

import mind_array as ma
from closed_tables import expect_rows
from mind_dialect.errors import MindError, MindParseError
from mind_dialect.ptir import (
    ArgMaxOp,
    ClampOp,
    ConstantOp,
    DotGeneralOp,
    FusionOp,
    IotaOp,
    LayerNormOp,
    PadOp,
    PtirLiteralAttr,
    PtirOp,
    QuantizeOp,
    ReduceOp,
    SortOp,
)
from mind_dialect.ptir.types import ALL, F32, SI32, read_type
from mind_dialect.ptir_program import VERSION_ATTRIBUTE
from mind_dialect.verify import verify
from mind_passes.functional import vjp
from mind_passes.fusion.defuse import defuse
from mind_passes.fusion.fuse import fuse
from mind_translate.ptir.rows import WITHOUT_ROW
from mind_translate.ptir_json import PtirJsonTarget, parse_ptir_json, print_ptir_json, read_ptir_json
from mind_translate.ptir_text import parse_display, print_ptir_text
from models import gpt2, mobilenet_v2, resnet34
from programs import context, parse
from ptir_programs import ACCEPTED, SAYABLE, can_say, function, has_negative_axis, module_of, regions_module, row_module
from ptir_rows import Row, literal

F32_2x3 = {"Tensor": {"dtype": "F32", "shape": {"dims": [{"Static": 2}, {"Static": 3}]}}}
SCALAR = {"Tensor": {"dtype": "F32", "shape": {"dims": []}}}


def program(body, parameters=(F32_2x3,), results=(), result_ids=(), regions=(), **rest):
    """A program of one function as nodes; parameters are %0, %1 and on."""
    ids = list(range(len(parameters)))
    main = {"name": "main", "parameters": [*parameters], "parameter_ids": ids, "results": [*results], "body": [*body]}
    functions = [{**main, "hints": [], "result_ids": [*result_ids]}]
    return {"spec_version": "ptir.v0.4", "entry": "main", "functions": functions, "regions": [*regions], **rest}


def instruction(id, op, *operands, output=F32_2x3):
    return {"id": id, "op": op, "operands": [{"Value": o} if isinstance(o, int) else o for o in operands], "output": output}


def read(node, **options) -> ModuleOp:
    return parse_ptir_json(json.dumps(node), **options)


def ops(module: ModuleOp) -> list[str]:
    return [line.strip() for line in str(module).splitlines()[2:-2]]


PUBLISHED = """
{"spec_version":"ptir.v0.4","entry":"main","functions":[{"name":"main",
 "parameters":[{"Tensor":{"dtype":"F32","shape":{"dims":[{"Static":2},{"Dynamic":"B"}]}}}],"parameter_ids":[0],
 "results":[{"Tensor":{"dtype":"F32","shape":{"dims":[{"Static":1},{"Static":1}]}}}],
 "body":[{"id":1,"op":"StopGradient","operands":[{"Value":0}],"output":{"Tensor":{"dtype":"F32","shape":{"dims":[{"Static":2},{"Dynamic":"B"}]}}}},
         {"id":3,"op":{"Reduce":{"kind":"Sum","axes":[0,1],"keepdims":true,"accum_dtype":null,"out_dtype":"F32"}},"operands":[{"Value":1}],
          "output":{"Tensor":{"dtype":"F32","shape":{"dims":[{"Static":1},{"Static":1}]}}}},
         {"id":2,"op":{"ElementwiseBinary":"Add"},
          "operands":[{"Value":3},
                      {"Literal":{"spec":{"dtype":"F32","shape":{"dims":[{"Static":1},{"Static":1}]}},"bytes":[0,0,128,63]}}],
          "output":{"Tensor":{"dtype":"F32","shape":{"dims":[{"Static":1},{"Static":1}]}}}}],
 "hints":[],"result_ids":[2]}],
 "regions":[{"id":0,"parameters":[],"body":[],"results":[]}]}
"""
"""The guide's example of the form, its gaps filled in."""


def test_the_published_example():
    module = parse_ptir_json(PUBLISHED)
    verify(module)
    assert (
        str(module)
        == """builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @main(%0: tensor<2x?xf32, "*,B">) -> tensor<1x1xf32> {
    %1 = ptir.stop_gradient %0 : tensor<2x?xf32, "*,B">
    %2 = ptir.reduce %1 kind = sum axes = [0, 1] keepdims = true out_dtype = f32 : tensor<2x?xf32, "*,B"> -> tensor<1x1xf32>
    %3 = ptir.constant [[1.0]] : tensor<1x1xf32>
    %4 = ptir.add %2, %3 : tensor<1x1xf32>
    func.return %4 : tensor<1x1xf32>
  }
}"""
    )


# Every op


def there_and_back(row: Row) -> None:
    """A program is the same after it was printed and read; an axis counted from the end is counted from 0 then."""
    module = row_module(row)
    text = print_ptir_json(module)
    again = parse_ptir_json(text)
    assert print_ptir_json(again) == text
    if not has_negative_axis(row):
        assert str(again) == str(module)


@pytest.mark.parametrize("row", SAYABLE, ids=str)
def test_every_op_there_and_back(row: Row):
    there_and_back(row)


@pytest.mark.quick
def test_every_op_with_accepted_rows_has_one_that_json_can_say():
    wanted = {row.op for row in ACCEPTED} - set(WITHOUT_ROW)
    expect_rows("SAYABLE of tests/support/ptir_programs.py", {row.op for row in SAYABLE}, wanted)


@pytest.mark.parametrize("row", [row for row in ACCEPTED if not can_say(row)], ids=str)
def test_a_dimension_that_is_no_size_or_name_is_refused(row: Row):
    with pytest.raises(
        MindError,
        match=r"E8001: .* a dynamic dimension without a name|E4000: .* (an expression|the bound N,|extension)",
    ) as raised:
        print_ptir_json(row_module(row), strict=True)
    advice = {"E8001": 'name it in the type, as in tensor<?x4xf32, "B,*">', "E4000": "give it a size"}
    assert advice[raised.value.code] in str(raised.value) or "extension" in str(raised.value)
    assert raised.value.op is not None


def has_names_only(row: Row) -> bool:
    module = row_module(row)
    return not any("?" in read_type(v.type).shape for op in module.walk() for v in (*op.operands, *op.results))


EXPRESSIVE = [row for row in ACCEPTED if not can_say(row) and has_names_only(row) and row.op not in WITHOUT_ROW]


@pytest.mark.parametrize("row", EXPRESSIVE, ids=str)
def test_the_extended_form_says_expressions(row: Row):
    there_and_back(row)


DECLARED = """builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @f(%x: tensor<?x3xf32, "P+T,*">, %p: tensor<?xf32, "P">) -> tensor<?x3xf32, "T,*">
      attributes {mind.dims = ["T in 1..1024", "P % 8 == 0"]} {
    %0 = ptir.slice %x starts = [P, 0] sizes = [T, 3] : tensor<?x3xf32, "P+T,*"> -> tensor<?x3xf32, "T,*">
    func.return %0 : tensor<?x3xf32, "T,*">
  }
}"""

PLAIN = """builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @f(%x: tensor<?xf32, "T">) -> tensor<?xf32, "T"> attributes {mind.dims = ["T in 1..1024"]} {
    func.return %x : tensor<?xf32, "T">
  }
}"""


def test_declarations_and_bounds_go_through_the_extended_form():
    module = parse(DECLARED)
    text = print_ptir_json(module)
    assert '"dims": ["T in 1..1024", "P % 8 == 0"]' in text
    assert '"starts": [{"Dynamic": "P"}, 0], "sizes": [{"Dynamic": "T"}, 3]' in text
    assert '{"Dynamic": "P+T"}' in text
    again = parse_ptir_json(text)
    assert print_ptir_json(again) == text
    assert again.is_structurally_equivalent(module)
    assert str(parse_ptir_json(text.replace('"Dynamic": "P+T"', '"Dynamic": "T + P"'))) == str(again)


EXTENDED = {
    "declaration": (
        lambda: print_ptir_json(parse(DECLARED)),
        "functions[0].parameters: the dimension P+T, an expression of names",
    ),
    "bounds": (lambda: print_ptir_json(parse(DECLARED)).replace("P+T", "N"), "functions[0].body[0]: slice: the bound P,"),
    "declarations": (lambda: print_ptir_json(parse(PLAIN)), "functions[0].dims: declares sizes, which this form cannot express"),
}


@pytest.mark.parametrize("case", EXTENDED)
def test_strict_reading_refuses_what_the_extended_form_adds(case: str):
    text, message = EXTENDED[case]
    with pytest.raises(MindParseError) as e:
        parse_ptir_json(text(), strict=True)
    assert e.value.error.code == "E4000"
    assert message in str(e.value)


@pytest.mark.parametrize(
    ("old", "new", "code", "where"),
    [
        ("T in 1..1024", "T is 3", "E4000", "functions[0].dims"),
        ("T in 1..1024", "Q in 1..3", "E8001", "functions[0].dims"),
        ('"P % 8 == 0"', '"T == 0"', "E8009", "functions[0].dims"),
        ('"Dynamic": "P+T"', '"Dynamic": "P+"', "E8002", "functions[0].parameters[0]"),
        ('"Dynamic": "P+T"', '"Dynamic": "P floordiv T"', "E8002", "functions[0].parameters[0]"),
        ('{"Dynamic": "P"}, 0]', '{"Dynamic": "P"}, "P"]', "E4000", "functions[0].body[0].op.Slice.starts"),
    ],
)
def test_what_the_extended_form_gets_wrong_is_named(old: str, new: str, code: str, where: str):
    text = print_ptir_json(parse(DECLARED))
    assert old in text
    with pytest.raises(MindParseError) as e:
        parse_ptir_json(text.replace(old, new))
    assert (e.value.error.code, where in str(e.value)) == (code, True)


DOT = {"batch_lhs": (-3,), "batch_rhs": (0,), "contract_lhs": (-1,), "contract_rhs": (-2,)}
FROM_THE_END = [
    (ReduceOp, "f32[2,3,4]", {"kind": "sum", "axes": (-1, 0), "keepdims": False}, {"axes": [2, 0]}),
    (ArgMaxOp, "f32[2,3]", {"axis": -1, "keepdims": True, "output_dtype": "si32"}, {"axis": 1}),
    (IotaOp, "", {"shape": (2, 3, 4), "dtype": "si8", "axis": -2}, {"axis": 1}),
    (DotGeneralOp, "f32[5,2,3] f32[5,3,4]", DOT, {"batch_lhs": [0], "contract_lhs": [2], "contract_rhs": [1]}),
    (QuantizeOp, "f32[2,3] f32[3] si8[3]", {"output_dtype": "si8", "axis": -1}, {"axis": 1}),
    (SortOp, "f32[2,3]", {"axis": -2, "descending": True}, {"axis": 0}),
]


@pytest.mark.parametrize(("op", "operands", "properties", "expected"), FROM_THE_END, ids=lambda v: getattr(v, "OPCODE", ""))
def test_negative_axes_are_written_from_0(op, operands, properties, expected):
    module = module_of(function(operands, lambda *a: [op(*a, **properties)]))
    (payload,) = json.loads(print_ptir_json(module))["functions"][0]["body"][0]["op"].values()
    assert {key: payload[key] for key in expected} == expected


def test_negative_axes_are_read():
    reduce = {"Reduce": {"kind": "Max", "axes": [-1], "keepdims": True}}
    output = {"Tensor": {"dtype": "F32", "shape": {"dims": [{"Static": 2}, {"Static": 1}]}}}
    module = read(program([instruction(1, reduce, 0, output=output)]))
    assert "axes = [-1]" in ops(module)[0]


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("dtype", ["f32", "f64", "bf16"])
def test_layer_norm_is_written_as_what_it_consists_of(axis: int, dtype: str):
    rank = "[3,4]"
    module = module_of(
        function(
            f"{dtype}{rank} {dtype}[{3 + axis}] {dtype}[{3 + axis}]",
            lambda *a: [LayerNormOp(*a, epsilon=1e-3, feature_axis=axis - 2)],
        )
    )
    before = str(module)
    again = parse_ptir_json(print_ptir_json(module, strict=True))
    verify(again)
    assert str(module) == before, "the module itself is left alone"
    rng = np.random.default_rng(7)
    x, gamma, beta = rng.normal(size=(3, 4)), rng.normal(size=3 + axis), rng.normal(size=3 + axis)
    laid = [v.reshape(-1, 1) if axis == 0 else v for v in (gamma, beta)]
    centred = x - x.mean(axis, keepdims=True)
    expected = centred / np.sqrt((centred**2).mean(axis, keepdims=True) + 1e-3) * laid[0] + laid[1]
    np.testing.assert_allclose(evaluate(again, x, gamma, beta), expected, rtol=1e-6)


def test_layer_norm_along_a_dynamic_dimension():
    module = module_of(function("f32[2,N] f32[N] f32[N]", lambda *a: [LayerNormOp(*a, epsilon=0.0, feature_axis=1)]))
    again = parse_ptir_json(print_ptir_json(module))
    verify(again)
    assert "LayerNorm" not in print_ptir_json(module)


def test_clamp_is_written_as_what_it_consists_of():
    module = module_of(function("si8[3] si8[3] si8[3]", lambda *a: [ClampOp(*a)]))
    again = parse_ptir_json(print_ptir_json(module))
    assert [line.split()[2] for line in ops(again)[:2]] == ["ptir.maximum", "ptir.minimum"]
    x, lo, hi = np.array([-5, 0, 5]), np.array([-1, -1, 9]), np.array([1, 1, 7])
    assert evaluate(again, x, lo, hi).tolist() == [-1, 0, 7]


def evaluate(module: ModuleOp, *arguments: np.ndarray) -> np.ndarray:
    """The result of a function in f64 or int64, by rules of NumPy that know nothing of the dialect's kernels."""
    (func,) = [op for op in module.body.block.ops if isinstance(op, FuncOp)]
    env = dict(zip(func.body.block.args, arguments, strict=True))
    last = None
    for op in func.body.block.ops:
        if not isinstance(op, PtirOp):
            break
        a = [env[v] for v in op.operands]
        p = op.values()
        match op.OPCODE:
            case "constant":
                last = np.array(p["value"].item())
            case "reduce":
                assert p["kind"] == "sum"
                last = a[0].sum(axis=p["axes"], keepdims=p["keepdims"])
            case "broadcast_to":
                last = np.broadcast_to(a[0], p["result_shape"])
            case "reshape":
                last = a[0].reshape(p["new_shape"])
            case "cast":
                last = a[0]
            case "rsqrt":
                last = 1 / np.sqrt(a[0])
            case _:
                names = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}
                last = {**names, "maximum": np.maximum, "minimum": np.minimum}[op.OPCODE](*a)
        env[op.results[0]] = last
    assert last is not None
    return last


# Regions and tuples


def test_regions_there_and_back():
    module = regions_module()
    verify(module)
    text = print_ptir_json(module)
    again = parse_ptir_json(text)
    verify(again)
    assert again.is_structurally_equivalent(module)
    assert print_ptir_json(again) == text
    assert [r["id"] for r in json.loads(text)["regions"]] == list(range(8))


COND = {"Cond": {"true_region": 0, "false_region": 1}}
PRED = {"Tensor": {"dtype": "I1", "shape": {"dims": []}}}


def region(id, *body, parameters=(F32_2x3,), results=(F32_2x3,)):
    return {"id": id, "parameters": [*parameters], "body": [*body], "results": [*results]}


NEG = {"ElementwiseUnary": "Neg"}


def test_a_region_that_several_ops_use_is_copied():
    same = {"Cond": {"true_region": 0, "false_region": 0}}
    node = program(
        [instruction(2, same, 0, 1), instruction(3, same, 0, 2)],
        (PRED, F32_2x3),
        (F32_2x3,),
        (3,),
        [region(0, instruction(9, NEG, 0))],
    )
    module = read(node)
    verify(module)
    assert str(module).count("ptir.neg") == 4


@pytest.mark.parametrize(
    ("yielded", "expected"),
    [("%a", 1), ("%b", 0), ("%a, %b", 2), ("%b, %c", 0), ("%c, %b", 2), ("%c, %c", 2), ("%b", 1)],
    ids=str,
)
def test_a_region_ends_in_what_it_yields(yielded: str, expected: int):
    """Copies are added where the last ops are not, in order, what is yielded: the form has no other way to name them."""
    names = yielded.split(", ")
    last = "" if yielded == "%b" and expected == 0 else "%c = ptir.abs %b : tensor<2xf32>"
    types = ", ".join(["tensor<2xf32>"] * len(names))
    result = f"({types})" if len(names) > 1 else types
    values = ", ".join([f"%r{i}" for i in range(len(names))])
    block = f"""{{
      ^bb0(%a: tensor<2xf32>):
        %b = ptir.neg %a : tensor<2xf32>
        {last}
        ptir.yield {yielded} : {types}
      }}"""
    module = parse(f"""module attributes {{ptir.spec_version = "ptir.v0.4"}} {{
      func.func @main(%p: tensor<i1>, %x: tensor<2xf32>) -> {result} {{
        {values} = ptir.cond %p, %x : (tensor<i1>, tensor<2xf32>) -> {result} true {block} false {block}
        func.return {values} : {types}
      }}
    }}""")
    again = parse_ptir_json(print_ptir_json(module))
    verify(again)
    assert str(again).count("ptir.reshape") == 2 * expected
    assert print_ptir_json(again) == print_ptir_json(parse_ptir_json(print_ptir_json(again)))
    if not expected:
        assert again.is_structurally_equivalent(module)


TOP = {"TopK": {"k": 2, "axis": -1, "largest": True, "indices_dtype": "Si32"}}
VALUES = {"Tensor": {"dtype": "F32", "shape": {"dims": [{"Static": 2}, {"Static": 2}]}}}
INDICES = {"Tensor": {"dtype": "Si32", "shape": {"dims": [{"Static": 2}, {"Static": 2}]}}}


def element(tuple, index):
    return {"TupleElement": {"tuple": tuple, "index": index}}


def test_tuple_elements_are_results():
    pair = {"Tuple": [VALUES, INDICES]}
    body = [instruction(1, TOP, 0, output=pair), instruction(2, "StopGradient", element(1, 1), output=INDICES)]
    module = read(program(body, results=(pair, INDICES), result_ids=(1, 2)))
    verify(module)
    assert ops(module)[1] == "%3 = ptir.stop_gradient %2 : tensor<2x2xsi32>"
    assert ops(module)[2].startswith("func.return %1, %2, %3")
    again = json.loads(print_ptir_json(module))["functions"][0]
    assert again["results"] == [pair, INDICES]
    assert again["result_ids"] == [1, 2]
    assert again["body"][1]["operands"] == [element(1, 1)]


def test_one_element_as_a_result_is_copied():
    module = parse("""module attributes {ptir.spec_version = "ptir.v0.4"} {
      func.func @main(%x: tensor<5xf32>) -> (tensor<2xsi32>, tensor<2xf32>) {
        %v, %i = ptir.top_k %x k = 2 axis = 0 largest = true indices_dtype = si32
          : tensor<5xf32> -> (tensor<2xf32>, tensor<2xsi32>)
        func.return %i, %v : tensor<2xsi32>, tensor<2xf32>
      }
    }""")
    again = parse_ptir_json(print_ptir_json(module))
    verify(again)
    assert str(again).count("ptir.reshape") == 2
    assert "func.return %3, %4 : tensor<2xsi32>, tensor<2xf32>" in str(again)


def test_nested_tuples_are_flattened_by_path():
    nested = {"Tuple": [{"Tuple": [SCALAR, F32_2x3]}, INDICES]}
    body = [
        instruction(7, "StopGradient", element(3, 1), output=INDICES),
        instruction(8, {"CustomCall": {"target": "a.b.v1"}}, element(3, 0), output={"Tuple": []}),
    ]
    node = program(body, parameters=(nested,), results=(nested,), result_ids=(3,))
    node["functions"][0]["parameter_ids"] = [3]
    module = read(node)
    assert "(%0: tensor<f32>, %1: tensor<2x3xf32>, %2: tensor<2x2xsi32>)" in str(module)
    assert ops(module)[0].startswith("%3 = ptir.stop_gradient %2")
    assert '%0, %1 target = "a.b.v1"' in ops(module)[1]
    assert ops(module)[2].startswith("func.return %0, %1, %2")


# Literals


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_literals_of_every_dtype(dtype):
    """The bytes are those that struct and the dtype's definition give, whatever they hold."""
    limit = 2 if dtype.bits == 1 else 16 if dtype.bits == 4 else 256
    data = bytes([(37 * i + 11) % limit for i in range(6 * dtype.size)])
    module = module_of(function("", lambda: [ConstantOp(PtirLiteralAttr.from_bytes(dtype, (2, 3), data))]))
    text = print_ptir_json(module)
    assert json.loads(text)["functions"][0]["body"][0]["op"]["Constant"]["bytes"] == list(data)
    assert str(parse_ptir_json(text)) == str(module)


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        ({"Float": "Infinity"}, "inf : f32"),
        ({"Float": "-Infinity"}, "-inf : f32"),
        ({"Float": "NaN"}, "nan : f32"),
        ({"Float": -0.0}, "-0.0 : f32"),
        ({"Float": 3}, "3.0 : f32"),
        ({"Float": 0.15625}, "0.15625 : f32"),
        ({"Signed": -2}, "-2.0 : f32"),
    ],
    ids=str,
)
def test_pad_values(node, expected):
    pad = {"Pad": {"low": [0, 0], "high": [1, 0], "interior": [0, 0], "pad_value": node}}
    output = {"Tensor": {"dtype": "F32", "shape": {"dims": [{"Static": 3}, {"Static": 3}]}}}
    module = read(program([instruction(1, pad, 0, output=output)]))
    assert f"pad_value = {expected}" in ops(module)[0]
    again = json.loads(print_ptir_json(module))["functions"][0]["body"][0]["op"]["Pad"]["pad_value"]
    if "Float" in node:
        assert repr(again) == repr(node).replace("3}", "3.0}")
    assert str(read(json.loads(print_ptir_json(module)))) == str(module)


@pytest.mark.parametrize(
    ("dtype", "value", "node"),
    [
        ("i1", True, {"I1": True}),
        ("si64", -(2**63), {"Signed": -(2**63)}),
        ("ui64", 2**64 - 1, {"Unsigned": 2**64 - 1}),
        ("bf16", 1.5, {"Float": 1.5}),
        ("cf32", complex(math.inf, -0.5), {"Complex": {"re": "Infinity", "im": -0.5}}),
    ],
    ids=str,
)
def test_pad_values_of_every_family(dtype, value, node):
    pads = {"low": (1,), "high": (0,), "interior": (0,), "pad_value": literal(f"{dtype}[]", value)}
    module = module_of(function(f"{dtype}[2]", lambda x: [PadOp(x, **pads)]))
    text = print_ptir_json(module)
    assert json.loads(text)["functions"][0]["body"][0]["op"]["Pad"]["pad_value"] == node
    assert str(parse_ptir_json(text)) == str(module)


def test_fills():
    """Many equal elements are a fill once they are read; a fill is written out, up to a limit."""
    fill = PtirLiteralAttr.filled(F32, (10, 20), 2.5)
    module = module_of(function("", lambda: [ConstantOp(fill)]))
    text = print_ptir_json(module)
    assert text.count("0, 0, 32, 64") == 200
    assert str(parse_ptir_json(text)) == str(module)
    dense = module_of(function("", lambda: [ConstantOp(PtirLiteralAttr.from_values(SI32, (200,), [7] * 200))]))
    assert "fill 7 : tensor<200xsi32>" in str(parse_ptir_json(print_ptir_json(dense)))
    huge = module_of(function("", lambda: [ConstantOp(PtirLiteralAttr.filled(F32, (1 << 40,), 0.0))]))
    with pytest.raises(MindError, match=r"E4005.*a fill of 1099511627776 elements"):
        print_ptir_json(huge)


def test_attributes_of_custom_calls():
    attrs = {
        "i": {"kind": "I64", "value": -3},
        "f": {"kind": "F64", "value": "-Infinity"},
        "b": {"kind": "Bool", "value": True},
        "s": {"kind": "String", "value": 'a "b"'},
        "is": {"kind": "I64Array", "value": [1, 2]},
        "fs": {"kind": "F64Array", "value": [0.5, "NaN"]},
        "bs": {"kind": "BoolArray", "value": [False]},
        "ss": {"kind": "StringArray", "value": ["x", ""]},
        "none": {"kind": "I64Array", "value": []},
    }
    call = {"CustomCall": {"target": "a.b.v1", "attrs": attrs}}
    module = read(program([instruction(1, call, 0)]))
    text = print_ptir_json(module)
    assert json.loads(text)["functions"][0]["body"][0]["op"]["CustomCall"]["attrs"] == attrs
    assert str(parse_ptir_json(text)) == str(module)


# The program as a whole


def test_versions():
    node = program([])
    del node["spec_version"]
    with pytest.raises(MindParseError, match=r"E8006: spec_version is nothing, expected 'ptir.v0.4'"):
        read(node)
    assert "ptir.v0.4" in str(read(node, lenient=True))
    for wrong in ("ptir.v0.5", "", "\ud800", None, 4, ["ptir.v0.4"]):
        for lenient in (False, True):
            with pytest.raises(MindParseError, match="E8006: spec_version: "):
                read({**node, "spec_version": wrong}, lenient=lenient)


def test_a_module_states_its_version():
    module = row_module(SAYABLE[0])
    del module.attributes[VERSION_ATTRIBUTE]
    with pytest.raises(MindError, match="E8006"):
        print_ptir_json(module)
    assert '"spec_version": "ptir.v0.4"' in print_ptir_json(module, lenient=True)
    module.attributes[VERSION_ATTRIBUTE] = StringAttr("ptir.v0.3")
    with pytest.raises(MindError, match="E8006"):
        print_ptir_json(module, lenient=True)


def test_strict_refuses_kinds_beyond_the_contract():
    module = module_of(function("f32[3]", lambda x: [ReduceOp(x, kind="prod", axes=(0,), keepdims=False)]))
    text = print_ptir_json(module)
    assert '"kind": "Prod"' in text
    assert str(parse_ptir_json(text)) == str(module)
    with pytest.raises(MindError, match="E4000: reduce of kind prod is an extension, refused by strict"):
        print_ptir_json(module, strict=True)
    with pytest.raises(MindParseError, match="reduce of kind prod is an extension, refused by strict"):
        parse_ptir_json(text, strict=True)


def test_strict_replaces_fusions_by_their_ops():
    forward = ma.trace(lambda x: ma.nn.max_pool(ma.tanh(x), 3, stride=2, padding=1), ma.spec((2, 7, 8, 3)))
    gradient = vjp(forward)
    fuse(gradient)
    before = str(gradient)
    assert before.count("ptir.fusion") > 1
    text = print_ptir_json(gradient, strict=True)
    assert str(gradient) == before
    defuse(gradient)
    assert text == print_ptir_json(gradient, strict=True)
    assert '"fusion"' not in text
    parse_ptir_json(text, strict=True)


def test_strict_refuses_extensions():
    for row in SAYABLE:
        module = row_module(row)
        if row.op is FusionOp:
            continue  # they are replaced by their ops
        text = print_ptir_json(module)
        (given,) = {op.extension for op in module.walk() if isinstance(op, row.op)}
        if given is None:
            assert print_ptir_json(module, strict=True) == text
            parse_ptir_json(text, strict=True)
            continue
        with pytest.raises(MindError, match=f"E4000: {given} is an extension, refused by strict"):
            print_ptir_json(module, strict=True)
        with pytest.raises(MindParseError, match=rf"E4000: functions\[0\].body\[0\].op: {given} is an extension"):
            parse_ptir_json(text, strict=True)


def test_the_entry():
    functions = [function("", lambda: [ConstantOp(literal("f32[]", 1.0))], name) for name in ("a", "b", "main")]
    module = module_of(*functions)
    assert '"entry": "main"' in print_ptir_json(module)
    module.attributes["ptir.entry"] = SymbolRefAttr("b")
    again = parse_ptir_json(print_ptir_json(module))
    assert again.attributes == module.attributes
    module.attributes["ptir.entry"] = SymbolRefAttr("c")
    with pytest.raises(MindError, match="E2002"):
        print_ptir_json(module)
    functions[2].detach()
    del module.attributes["ptir.entry"]
    assert '"entry": "a"' in print_ptir_json(module)


def test_hints_are_kept_as_advice():
    node = program([instruction(1, NEG, 0)])
    node["functions"][0]["hints"] = [{"id": 0, "kind": "ElementwiseDag"}]
    module = read(node)
    verify(module)
    (func,) = module.body.block.ops
    assert json.loads(func.attributes["ptir.hints"].data) == node["functions"][0]["hints"]
    assert '"hints": []' in print_ptir_json(module)
    del node["functions"][0]["hints"]
    read(node)


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        ("func.func @f() { func.return }\n func.func private @g()", "E4000", "@g is not one block"),
        ("func.func @f(%x: tensor<f32>) -> tensor<f32> { %y = mind.neg %x : tensor<f32>\n func.return %y : tensor<f32> }",
         "E4000", "mind.neg is not an op of ptir"),
        ('"test.op"() : () -> ()', "E4000", "the module holds test.op"),
        ("", "E4000", "the module holds no function"),
        ("func.func @f(%x: tensor<f32>) { %y = ptir.neg %x : tensor<f32> -> tensor<f64>\n func.return }",
         "E4015", "neg %y: declared"),
        ("func.func @f(%x: i32) { func.return }", "E2001", "expected a tensor"),
    ],
)  # fmt: skip
def test_what_is_no_program_of_ptir(body: str, code: str, message: str):
    module = parse(f'module attributes {{ptir.spec_version = "ptir.v0.4"}} {{ {body} }}')
    with pytest.raises(MindError, match=f"{code}: .*{message}"):
        print_ptir_json(module)


def test_the_tools_ends():
    out = StringIO()
    module = regions_module()
    PtirJsonTarget().emit(context(), module, out)
    assert out.getvalue() == print_ptir_json(module)
    assert read_ptir_json(BytesIO(out.getvalue().encode())).is_structurally_equivalent(module)
    sqrt = next(row_module(row) for row in SAYABLE if row.op.OPCODE == "sqrt")
    with pytest.raises(MindError, match="E4000"):
        PtirJsonTarget(strict=True).emit(context(), sqrt, out)


MODELS = {
    "gpt2 full": lambda: gpt2.program(gpt2.SMALL, length=3),
    "gpt2 prefill": lambda: gpt2.program(gpt2.SMALL, "prefill", length=3, capacity=16),
    "gpt2 decode": lambda: gpt2.program(gpt2.SMALL, "decode", capacity=16),
    "resnet34": lambda: resnet34.program(resnet34.SMALL),
    "mobilenet_v2": lambda: mobilenet_v2.program(mobilenet_v2.SMALL),
}


@pytest.mark.parametrize("name", MODELS)
def test_models_there_and_back(name: str):
    """All but the names of the inputs, for which the forms have no place, and the counting of axes from the end."""
    module = MODELS[name]()
    for op in module.walk():
        op.properties.pop("arg_attrs", None)
        if isinstance(op, ReduceOp):
            rank = len(op.operand_spec(0).shape)
            op.properties["axes"] = op.CODECS["axes"].attribute([a % rank for a in op.values()["axes"]])
    for again in (parse_ptir_json(print_ptir_json(module, strict=True)), parse_display(print_ptir_text(module, strict=True))):
        verify(again)
        assert again.is_structurally_equivalent(module)
