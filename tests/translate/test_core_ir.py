"""Core IR text by example: the published texts, every opcode in both forms, headers and notes, and what is refused where."""

from __future__ import annotations

import re
from dataclasses import replace
from io import BytesIO, StringIO

import pytest
from xdsl.dialects.builtin import FileLineColLoc, ModuleOp
from xdsl.dialects.func import FuncOp

from mind_dialect.core import CORE_OPS, EXTENSION_OPS, CoreOp
from mind_dialect.errors import MindError, MindParseError
from mind_dialect.program import functions
from mind_dialect.verify import failures, verify
from mind_passes.canonicalize import canonicalize
from mind_translate.core_ir import (
    CoreIRTarget,
    CoreOperation,
    FunctionRecords,
    Symbol,
    from_records,
    parse_core_ir,
    print_core_ir,
    read_core_ir,
    records,
    render,
)
from programs import context, parse

# The published examples

REFERENCE = """%0 = Input {name=x} : tensor<f32[2, 3]>
%1 = Input {name=w} : tensor<f32[4, 3, 5]>
%2 = MatMul (%0, %1) : tensor<f32[4, 2, 5]>
%3 = ConstTensor {dtype=f32, shape=(), value=2.0} : tensor<f32[]>
%4 = Mul (%2, %3) : tensor<f32[4, 2, 5]>
outputs: %4"""
REDUCTION = """%0 = Input {name=x} : tensor<f32[4, 5, 6]>
%1 = Sum (%0) {axes=[1], keepdims=False} : tensor<f32[4, 6]>
outputs: %1"""
EBNF = """
%0 = Input() {name: "x"} : Tensor<f32, [2, 3]>
%1 = Input() {name: "y"} : Tensor<f32, [2, 3]>
%2 = BinOp(Mul, %0, %1) : Tensor<f32, [2, 3]>
%3 = BinOp(Add, %0, %2) : Tensor<f32, [2, 3]>
%4 = Sum(%3, [], false) : Tensor<f32, []>
%5 = ConstF32(1.0) : Tensor<f32, []>
%6 = ConstTensor([[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]) : Tensor<f32, [2, 3]>
%7 = BinOp(Mul, %5, %6) : Tensor<f32, [2, 3]>
%8 = %7  # grad for left operand (x) from add
%9 = %7  # grad for right operand (x*y) from add
%10 = BinOp(Mul, %1, %9) : Tensor<f32, [2, 3]>  # dx from mul
%11 = BinOp(Mul, %0, %9) : Tensor<f32, [2, 3]>  # dy from mul
%12 = BinOp(Add, %8, %10) : Tensor<f32, [2, 3]>
outputs: %4, %12, %11
"""
EBNF_PRINTED = """%0 = Input {name=x} : tensor<f32[2, 3]>
%1 = Input {name=y} : tensor<f32[2, 3]>
%2 = Mul (%0, %1) : tensor<f32[2, 3]>
%3 = Add (%0, %2) : tensor<f32[2, 3]>
%4 = Sum (%3) {axes=[], keepdims=false} : tensor<f32[]>
%5 = ConstF32 {value=1.0} : tensor<f32[]>
%6 = ConstTensor {dtype=f32, shape=[2, 3], value=[[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]} : tensor<f32[2, 3]>
%7 = Mul (%5, %6) : tensor<f32[2, 3]>
%8 = Mul (%1, %7) : tensor<f32[2, 3]>
%9 = Mul (%0, %7) : tensor<f32[2, 3]>
%10 = Add (%7, %8) : tensor<f32[2, 3]>
outputs: %4, %10, %9"""


@pytest.mark.parametrize("end", ["", "\n", "\r\n", "\n\n# the end\n"])
def test_the_reference_tools_text(end: str):
    assert print_core_ir(read(REFERENCE + end)) == REFERENCE.replace("shape=()", "shape=[]")
    assert print_core_ir(read(REDUCTION + end)) == REDUCTION.replace("False", "false")


def test_the_grammars_text():
    assert print_core_ir(read(EBNF)) == EBNF_PRINTED


def read(text: str) -> ModuleOp:
    module = parse_core_ir(text)
    verify(module)
    return module


# Every opcode

INPUTS = {
    "x": "f32[2, 3]",
    "y": "f32[3]",
    "i": "i64[4]",
    "m": "f32[3, 4]",
    "im": "f32[1, 5, 5, 2]",
    "k": "f32[3, 3, 2, 1]",
    "g": "f32[1, 3, 3, 1]",
    "o": "f32[1, 3]",
    "s": "f32[]",
    "u": "f32[4, 3]",
}
"""Operands for the rows below: name and type."""

ROWS: dict[str, tuple[str, str, str, str]] = {
    "ConstI64": ("", "value=-7", "-7", "i64[]"),
    "ConstF32": ("", "value=1e-07", "0.0000001", "f32[]"),
    "ConstF64": ("", "value=-inf", "-inf", "f64[]"),
    "ConstTensor": ("", "dtype=f64, shape=[2, 1], value=[[nan], [-0.0]]", "[[nan], [-0.0]], f64, [2, 1]", "f64[2, 1]"),
    "Add": ("x y", "", "", "f32[2, 3]"),
    "Sub": ("x y", "", "", "f32[2, 3]"),
    "Mul": ("x y", "", "", "f32[2, 3]"),
    "Div": ("x y", "", "", "f32[2, 3]"),
    "Sum": ("x", "axes=[1], keepdims=false", "[1], false", "f32[2]"),
    "Mean": ("x", "axes=[0], keepdims=true", "[0], true", "f32[1, 3]"),
    "Reshape": ("x", "new_shape=[3, -1]", "[3, -1]", "f32[3, 2]"),
    "Transpose": ("x", "permutation=[1, 0]", "[1, 0]", "f32[3, 2]"),
    "ExpandDims": ("x", "axes=[0]", "[0]", "f32[1, 2, 3]"),
    "Squeeze": ("o", "axes=[0]", "[0]", "f32[3]"),
    "Index": ("x", "indices=[1, 2]", "[1, 2]", "f32[]"),
    "Slice": ("x", "ends=[2, 3], starts=[0, 1], steps=[1, 2]", "[0:2, 1:3:2]", "f32[2, 1]"),
    "Gather": ("x i", "", "", "f32[4, 3]"),
    "Dot": ("x y", "", "", "f32[2]"),
    "MatMul": ("x m", "", "", "f32[2, 4]"),
    "Conv2d": ("im k", "padding=Custom([[1, 0], [2, 3]]), strides=[1, 2]", "[1, 2], Custom([[1, 0], [2, 3]])", "f32[1, 4, 4, 1]"),
    "Relu": ("x", "", "", "f32[2, 3]"),
    "Neg": ("x", "", "", "f32[2, 3]"),
    "Exp": ("x", "", "", "f32[2, 3]"),
    "Log": ("x", "", "", "f32[2, 3]"),
    "ReluGrad": ("x x", "", "", "f32[2, 3]"),
    "Reciprocal": ("x", "", "", "f32[2, 3]"),
    "BroadcastTo": ("y", "shape=[2, 3]", "[2, 3]", "f32[2, 3]"),
    "ScatterAdd": ("i u", "shape=[5, 3]", "[5, 3]", "f32[5, 3]"),
    "SliceScatter": ("y", "shape=[7], starts=[1], steps=[2]", "[7], [1], [2]", "f32[7]"),
    "IndexScatter": ("s", "indices=[1, 2], shape=[2, 3]", "[2, 3], [1, 2]", "f32[2, 3]"),
    "Conv2dBackwardInput": (
        "g k",
        "padding=Valid, shape=[1, 5, 5, 2], strides=[1, 1]",
        "[1, 5, 5, 2], [1, 1], Valid",
        "f32[1, 5, 5, 2]",
    ),
    "Conv2dBackwardFilter": (
        "im g",
        "padding=Valid, shape=[3, 3, 2, 1], strides=[1, 1]",
        "[3, 3, 2, 1], [1, 1], Valid",
        "f32[3, 3, 2, 1]",
    ),
}
"""Per opcode: operands, attributes of form 1, parameters of form 2, result type."""


def texts(opcode: str) -> tuple[str, str]:
    """A program of one op, in form 1 as printed and in form 2 as the grammar has it."""
    operands, attributes, parameters, result = ROWS[opcode]
    names = list(dict.fromkeys(operands.split()))
    profile = ' {mind.profile="core-v1.1"}'
    one, two = [f"# @main{profile}"], [f"# @main {profile}"]
    for number, name in enumerate(names):
        dtype, extents = INPUTS[name].split("[")
        one.append(f"%{number} = Input {{name={name}}} : tensor<{INPUTS[name]}>")
        two.append(f'%{name} = Input() {{name: "{name}"}} : Tensor<{dtype}, [{extents}>')
    ids = ", ".join(f"%{names.index(n)}" for n in operands.split())
    braces = f" {{{attributes}}}" if attributes else ""
    one.append(f"%{len(names)} = {opcode}{f' ({ids})' if ids else ''}{braces} : tensor<{result}>")
    arguments = ", ".join([*(f"%{n}" for n in operands.split()), *([parameters] if parameters else [])])
    head = f"BinOp({opcode}, " if opcode in ("Add", "Sub", "Mul", "Div") else f"{opcode}("
    dtype, extents = result.split("[")
    two.append(f"%r = {head}{arguments}) : Tensor<{dtype}, [{extents}>")
    return "\n".join([*one, f"outputs: %{len(names)}"]), "\n".join([*two, "outputs: %r"])


@pytest.mark.quick
def test_every_opcode_has_a_row():
    assert list(ROWS) == [op.OPCODE for op in (*CORE_OPS, *EXTENSION_OPS)]


@pytest.mark.parametrize("opcode", ROWS)
def test_both_forms_of_every_opcode(opcode: str):
    one, two = texts(opcode)
    assert print_core_ir(read(one)) == one
    assert print_core_ir(read(two)) == one
    untyped = "\n".join(line if "Input" in line else line.split(" : ")[0] for line in one.split("\n"))
    assert print_core_ir(read(untyped)) == one, "a missing type is inferred"
    assert print_core_ir(parse(str(read(one)))) == one, "through MLIR text"


def test_the_specifications_own_order_of_parameters():
    lists = texts("Slice")[1].replace("[0:2, 1:3:2]", "[0, 1], [2, 3], [1, 2]")
    assert print_core_ir(read(lists)) == texts("Slice")[0]


CUSTOM = "Custom([[0, 0], [0, 0]])"


@pytest.mark.parametrize(
    ("given", "printed"),
    [("Same", "Same"), ('"Valid"', "Valid"), (CUSTOM, CUSTOM), ("[[0, 0], [0, 0]]", CUSTOM), ("((0, 0), (0, 0))", CUSTOM)],
)
def test_spellings_of_padding(given: str, printed: str):
    one = texts("Conv2dBackwardInput")[0]
    text = one.replace("padding=Valid", f"padding={given}")
    assert print_core_ir(parse_core_ir(text)) == one.replace("padding=Valid", f"padding={printed}")


@pytest.mark.parametrize(
    ("python", "ours"), [("(2, 1)", "[2, 1]"), ("(1,)", "[1]"), ("()", "[]"), ("[]", "[]"), ("(1, 0,)", "[1, 0]")]
)
def test_python_spellings_of_lists(python: str, ours: str):
    text = "%0 = Input {{name=x}} : tensor<f32[]>\n%1 = Transpose (%0) {{permutation={}}} : tensor<f32[]>"
    assert print_core_ir(parse_core_ir(text.format(python))) == text.format(ours)


@pytest.mark.parametrize(
    "type", ["tensor<f32[2, 3]>", "Tensor<f32, [2, 3]>", "tensor<f32>[2, 3]", "tensor<f32[2,3]>", "Tensor< f32 ,[ 2 , 3 ] >"]
)
def test_spellings_of_types(type: str):
    assert print_core_ir(read(f"%0 = Input {{name=x}} : {type}")) == "%0 = Input {name=x} : tensor<f32[2, 3]>"


# Values

ELEMENTS = [
    ("f32", "0.1", "0.1"),
    ("f32", "0.10000000149011612", "0.1"),
    ("f32", "16777217", "16777216.0"),
    ("f32", "1e-45", "1e-45"),
    ("f32", "-nan", None),
    ("f32", "1e", None),
    ("f32", "0x10", None),
    ("f32", "nan", "nan"),
    ("f64", "0.1", "0.1"),
    ("f64", ".5", "0.5"),
    ("f64", "5.", "5.0"),
    ("f64", "+1E+2", "100.0"),
    ("f64", "-inf", "-inf"),
    ("i32", "-2147483648", "-2147483648"),
    ("i64", "9223372036854775807", "9223372036854775807"),
]


@pytest.mark.parametrize(("dtype", "given", "printed"), ELEMENTS)
def test_elements(dtype: str, given: str, printed: str | None):
    text = f"%0 = ConstTensor {{dtype={dtype}, shape=[1], value=[GIVEN]}} : tensor<{dtype}[1]>"
    if printed is None:
        with pytest.raises(MindParseError, match="E1005"):
            read(text.replace("GIVEN", given))
    else:
        assert print_core_ir(read(text.replace("GIVEN", given))) == text.replace("GIVEN", printed)


def test_fill_is_stored_once():
    text = "%0 = ConstTensor {dtype=f32, fill=1.0, shape=[100000, 100000]} : tensor<f32[100000, 100000]>"
    assert print_core_ir(read(text)) == text


def test_nans_of_other_bit_patterns_survive():
    text = '%0 = ConstTensor {dtype=f32, shape=[2], value="0x0100C07F0000803F"} : tensor<f32[2]>'
    assert print_core_ir(read(text)) == text
    assert from_records(*records(first(read(text)))).is_structurally_equivalent(first(read(text)))


@pytest.mark.parametrize(
    "name", ["x", "w.0", "true", "nan", "_", "a b", 'say "x"', "back\\slash", "new\nline", "\u00e9\U0001f600", "#", "%0", "1"]
)
def test_names(name: str):
    ops = [CoreOperation(0, "Input", [], {"name": name}, "tensor<f32[]>")]
    func = from_records(ops, [0], name)
    text = print_core_ir(ModuleOp([func.clone()]))
    assert text.isascii()
    again = first(read(text))
    assert again.is_structurally_equivalent(func)
    assert (again.sym_name.data, records(again).operations[0].attributes) == (name, {"name": name})


def first(module: ModuleOp) -> FuncOp:
    func = module.body.block.first_op
    assert isinstance(func, FuncOp)
    return func


# Functions and notes

SECTIONS = """# module {mind.profile="core-v1.1"}

# @f
%0 = Input {name=x} : tensor<f32[2]>
%1 = Log (%0) : tensor<f32[2]>
outputs: %1

# @f_grad {mind.grad_of=@f, mind.grad_wrt=[0], sym_visibility="private"}
%0 = Input {name=x} : tensor<f32[2]>
%1 = Input {mind.cotangent=true, name=seed} : tensor<f32[0]>
outputs: %0

# @empty"""


def test_sections_and_notes_are_lossless():
    module = read(SECTIONS)
    assert print_core_ir(module) == SECTIONS
    assert records(list(module.ops)[1]).attributes == {
        "mind.grad_of": Symbol("f"),
        "mind.grad_wrt": [0],
        "sym_visibility": "private",
    }


def test_a_comment_is_no_header():
    text = f"# see @f\n# @param x is the input\n#@@\n{REDUCTION}"
    assert print_core_ir(read(text)) == print_core_ir(read(REDUCTION))


def test_a_header_is_printed_only_when_needed():
    def header(name: str) -> str:
        return print_core_ir(read(f"# @{name}\n{REDUCTION}")).split("\n")[0]

    assert header("main") == "%0 = Input {name=x} : tensor<f32[4, 5, 6]>"
    assert header("other") == "# @other"
    assert print_core_ir(read("# @main")) == "# @main"


def test_the_notes_of_the_module_hold_for_inference():
    text = "{}%0 = Input {{name=x}} : tensor<f32[2]>\n%1 = Sum(%0, [-1], false)"
    verify(parse_core_ir(text.format('# module {mind.profile="core-v1.1"}\n')))
    verify(parse_core_ir(text.format('# @f {mind.profile="core-v1.1"}\n')))
    with pytest.raises(MindParseError, match="E3004"):
        parse_core_ir(text.format(""))


# Places


def test_ids_need_not_ascend_and_order_is_kept():
    text = (
        "%9 = Input {name=x} : tensor<f32[]>\n%b = Neg (%9) : tensor<f32[]>\n%2 = Exp (%b) : tensor<f32[]>\noutputs: %b, %2, %b"
    )
    module = read(text)
    assert print_core_ir(module).split("\n")[1:] == [
        "%1 = Neg (%0) : tensor<f32[]>",
        "%2 = Exp (%1) : tensor<f32[]>",
        "outputs: %1, %2, %1",
    ]
    assert "%b = mind.neg" in str(module)


def test_ops_know_their_line_and_column():
    module = parse_core_ir("# why\n%0 = Input {name=x} : tensor<f32[]>\n  %1 = Relu (%0) : tensor<i32[]>\n", "file.coreir")
    found = list(failures(module))
    assert [e.code for e in found] == ["E4015"]
    place = found[0].op.location
    assert isinstance(place, FileLineColLoc)
    assert (place.filename.data, place.line.data, place.column.data) == ("file.coreir", 3, 3)


X = "%0 = Input {name=x} : tensor<f32[2]>\n"
MALFORMED: list[tuple[str | bytes, str, int, int]] = [
    ("", "E1007", 1, 1),
    ("\n# nothing\n", "E1007", 3, 1),
    (b"%0 = Input {name=\xff} : tensor<f32[]>", "E1001", 1, 18),
    (b"# \xc3\xa9\n%0 = \xc3", "E1001", 2, 6),
    ("%0 = Neg (%$a)", "E1002", 1, 12),
    ("%0x = Neg (%1)", "E1002", 1, 3),
    ("%0 = ConstI64 {value=1} ; stop", "E1002", 1, 25),
    ("%0 = ConstI64 {value=\u00e9}", "E1002", 1, 22),
    ("// %0", "E1002", 1, 1),
    ('%0 = Input {name="x : tensor<f32[]>', "E1003", 1, 18),
    ('%0 = Input {name="\\q"} : tensor<f32[]>', "E1004", 1, 18),
    ('%0 = Input {name="\\ud800"} : tensor<f32[]>', "E1004", 1, 18),
    ("%0 = ConstI64 {value=0b2}", "E1005", 1, 22),
    ("%0 = ConstI64 {value=1_0}", "E1005", 1, 22),
    ("%0 = ConstF32 {value=1.2.3}", "E1005", 1, 22),
    ("%0 = ConstI64 {value=" + "9" * 5000 + "}", "E1005", 1, 22),
    ("x = Neg (%0)", "E1007", 1, 1),
    ("%0 Neg", "E1007", 1, 4),
    ("%0 = ", "E1007", 1, 5),
    ("%0 = 5", "E1007", 1, 6),
    (X + "%1 = Neg (%0", "E1007", 2, 13),
    (X + "%1 = Neg (%0,)", "E1007", 2, 14),
    (X + "%1 = Neg (%0) : f32", "E1007", 2, 17),
    (X + "%1 = Neg (%0) : tensor<2xf32>", "E1007", 2, 17),
    (X + "%1 = Neg (%0) : tensor<f32[2,,]>", "E1007", 2, 17),
    (X + "%1 = Neg (%0) : tensor<f32[2]> %2", "E1007", 2, 32),
    (X + "%1 = Sum (%0) {axes=1, keepdims=false}", "E1007", 2, 21),
    (X + "%1 = Sum (%0) {axes=[1.5], keepdims=false}", "E1007", 2, 22),
    (X + "%1 = Sum (%0) {axes=[0], keepdims=maybe}", "E1007", 2, 35),
    (X + "%1 = Sum (%0) {axes=[0] keepdims=true}", "E1007", 2, 25),
    (X + "%1 = BinOp(Add %0, %0)", "E1007", 2, 16),
    (X + "outputs %0", "E1007", 2, 9),
    (X + "outputs:", "E1007", 2, 9),
    (X + "outputs: %0,", "E1007", 2, 13),
    (X + "outputs: %0\n%1 = Neg (%0)", "E1007", 3, 1),
    (X + "outputs: %0\noutputs: %0", "E1007", 3, 1),
    (X + "# module {a.b=true}", "E1007", 2, 3),
    ("%0 = Input {name=x}", "E2003", 1, 6),
    ("%0 = Input {name=x} : tensor<bf16[2]>", "E2005", 1, 23),
    ("%0 = ConstTensor {dtype=q8, shape=[], value=1}", "E2005", 1, 25),
    (X + "%1 = Sum(%0, [0], true, 5)", "E2007", 2, 25),
    (X + "%1 = Neg (%0, %0)", "E2007", 2, 6),
    ("%0 = Input {name=x} : tensor<f32[2, ?]>", "E3006", 1, 23),
    ("%0 = Input {name=x} : tensor<f32[-2]>", "E3006", 1, 23),
    ("%0 = Input {name=x} : tensor<f32[9223372036854775808]>", "E3006", 1, 23),
    ("%0 = Input {name=x} : tensor<f32[" + "9" * 5000 + "]>", "E3006", 1, 23),
    ("%0 = Input {name=x} : tensor<f32[0]>", "E3006", 1, 6),
    ("%0 = ConstTensor {dtype=f32, shape=[2, ?], value=1}", "E3006", 1, 36),
    ("%0 = ConstTensor {dtype=f32, shape=[2], value=[[1], [2, 3]]}", "E3010", 1, 47),
    ("%0 = ConstTensor {dtype=f32, shape=[2], value=[1, [2]]}", "E3010", 1, 47),
    ("%0 = ConstTensor {dtype=f32, shape=[2], value=[[1], 2]}", "E3010", 1, 47),
    ("%0 = ConstTensor {dtype=f32, shape=[2, 2], value=[1, 2]}", "E3010", 1, 6),
    ("%0 = ConstTensor {dtype=f32, shape=[2], value=1}", "E3010", 1, 6),
    (X + "%1 = Transpose (%0) {permutation=[1]}", "E3008", 2, 6),
    ("%0 = Foo", "E4000", 1, 6),
    ("%0 = BinOp", "E4000", 1, 6),
    (X + "%1 = BinOp(Pow, %0, %0)", "E4000", 2, 12),
    (X + "%1 = Neg (%0) {axes=[1]}", "E4000", 2, 16),
    (X + "%1 = Sum (%0) {axes=[1]}", "E4000", 2, 6),
    (X + "%1 = Sum (%0) {axes=[1], axes=[1], keepdims=true}", "E4000", 2, 26),
    (X + "%1 = Sum(%0, [1]) {axes=[1], keepdims=true}", "E4000", 2, 20),
    (X + "%1 = Sum (%0) {axes=[9223372036854775808], keepdims=true}", "E4000", 2, 21),
    ("%0 = ConstTensor {value=1}", "E4000", 1, 6),
    ("%0 = ConstTensor {dtype=f32, shape=[]}", "E4000", 1, 6),
    ("%0 = ConstTensor {dtype=f32, shape=[], value=1, fill=1}", "E4000", 1, 6),
    ("%0 = Input {name=x, axes=[1]} : tensor<f32[]>", "E4000", 1, 6),
    ('# @f {mind.profile="core-v2"}', "E4000", 1, 3),
    ("# @f {inline=true}", "E4000", 1, 3),
    ("# @f {a.b=false}", "E4000", 1, 3),
    ('# @""', "E4000", 1, 3),
    ("%0 = Neg (%0)", "E4001", 1, 11),
    ("%0 = Neg (%1)\n%1 = ConstI64(1)", "E4001", 1, 11),
    ("# @f\n" + X + "# @g\n%1 = Neg (%0)", "E4001", 4, 11),
    (X + X.replace("name=x", "name=y"), "E4002", 2, 1),
    (X + "%1 = Neg (%0)\n%1 = Neg (%0)", "E4002", 3, 1),
    ("# @f\n# @f", "E4002", 2, 3),
    (X + "outputs: %0, %1", "E4003", 2, 14),
    ("%0 = Input : tensor<f32[]>", "E4004", 1, 6),
    ('%0 = Input {name=""} : tensor<f32[]>', "E4004", 1, 6),
    (X + X.replace("%0", "%1"), "E4004", 2, 6),
    ("%0 = ConstTensor {dtype=i32, shape=[3], value=[1, 3.5, 2]}", "E4005", 1, 51),
    ("%0 = ConstTensor([1, 1099511627776]) : tensor<i32[2]>", "E4005", 1, 22),
    ("%0 = ConstTensor {dtype=f32, shape=[1], value=[1e39]}", "E4005", 1, 48),
    ("%0 = ConstTensor {dtype=f32, shape=[1], value=[1e400]}", "E4005", 1, 48),
    ("%0 = ConstTensor {dtype=i32, shape=[2], fill=nan}", "E4005", 1, 6),
    ('%0 = ConstTensor {dtype=i32, shape=[2], value="0x00"}', "E4005", 1, 6),
    ("%0 = ConstTensor {dtype=f32, shape=[99999, 99999], value=[1]}", "E3010", 1, 6),
    ("%0 = ConstI64 {value=1.5}", "E4005", 1, 22),
    (X + "%1 = Conv2d (%0, %0) {padding=Custom([[1], [2, 3]]), strides=[1, 1]}", "E4013", 2, 31),
]


LATE = """# @f
%0 = Input {name=x} : tensor<f32[2]>
%1 = Exp (%0) : tensor<f32[2]>
%2 = Input {name=y, test.note=true} : tensor<f32[2]>
%3 = Add (%1, %2) : tensor<f32[2]>
%4 = Input {name=z} : tensor<f32[2]>
%5 = Sub (%4, %3) : tensor<f32[2]>
outputs: %5"""


def test_an_input_behind_an_operation():
    """Read, refused by the verifier, and in front in the canonical form; the values stay those of the text."""
    module = parse_core_ir(LATE, "f.coreir")
    with pytest.raises(MindError, match=r"E4004: Input y stands behind an operation") as e:
        verify(module)
    assert e.value.context["index"] == 1
    expected = """# @f
%0 = Input {name=x} : tensor<f32[2]>
%1 = Input {name=y, test.note=true} : tensor<f32[2]>
%2 = Input {name=z} : tensor<f32[2]>
%3 = Exp (%0) : tensor<f32[2]>
%4 = Add (%3, %1) : tensor<f32[2]>
%5 = Sub (%2, %4) : tensor<f32[2]>
outputs: %5"""
    assert print_core_ir(module) == expected
    (func,) = functions(module)
    canonicalize(func)
    verify(module)
    assert print_core_ir(module) == expected.replace("(%3, %1)", "(%1, %3)")
    assert "mind.late" not in str(module)
    verify(parse_core_ir(expected))


def test_an_input_behind_a_second_name_of_another_is_in_front():
    text = "%0 = Input {name=x} : tensor<f32[]>\n%1 = %0\n%2 = Input {name=y} : tensor<f32[]>\n%3 = Sub (%1, %2)\noutputs: %3"
    verify(parse_core_ir(text))


@pytest.mark.parametrize(("opcode", "expected"), [("Expo", "expected Exp"), ("Tanh", "expected one of ['Input', 'ConstI64',")])
def test_an_unknown_opcode_is_told_what_is_near_or_all_there_are(opcode: str, expected: str):
    with pytest.raises(MindParseError, match=re.escape(f"E4000: unknown opcode {opcode}, {expected}")):
        parse_core_ir(f"%0 = Input {{name=x}} : tensor<f32[]>\n%1 = {opcode} (%0) : tensor<f32[]>\noutputs: %1")


@pytest.mark.parametrize(("text", "code", "line", "column"), MALFORMED, ids=[f"{i}-{row[1]}" for i, row in enumerate(MALFORMED)])
def test_malformed_text(text: str | bytes, code: str, line: int, column: int):
    with pytest.raises(MindParseError) as e:
        parse_core_ir(text, "f.coreir")
    place = e.value.span.get_location()
    assert (e.value.error.code, place.file, place.line, place.col) == (code, "f.coreir", line, column)
    assert str(e.value).startswith(f"f.coreir:{line}:{column}\n")
    assert len(str(e.value)) < 2500


HUGE = "n" * 100_000


@pytest.mark.parametrize(
    "text",
    [
        f"%0 = {HUGE}",
        f"%{HUGE} = Neg (%{HUGE})",
        f"outputs: %{HUGE}",
        f"# @f {{{HUGE}=true}}",
        f"# @{HUGE}\n# @{HUGE}",
        f"%0 = Input {{name=x}} : tensor<{HUGE}[2]>",
        f"%0 = ConstTensor {{dtype={HUGE}, shape=[], value=1}}",
        f"%0 = Input {{name={HUGE}}} : tensor<f32[]>\n%1 = Input {{name={HUGE}}} : tensor<f32[]>",
        f"%0 = ConstI64 {{{HUGE}=1}}",
        f"%0 = Input : tensor<f32[{'1, ' * 100_000}-1]>",
    ],
)
def test_huge_names_are_not_quoted_in_full(text: str):
    with pytest.raises(MindParseError) as e:
        parse_core_ir(text)
    assert len(str(e.value)) < 2500


UNVERIFIED: list[tuple[str, str, int]] = [
    (X + "%1 = Relu (%0, %0) : tensor<f32[2]>", "E2007", 2),
    (X + "%1 = Relu (%0) : tensor<f32[3]>", "E4015", 2),
    (X + "\n%1 = ConstI64(1)\n%2 = Add (%0, %1) : tensor<f32[2]>", "E2004", 4),
    (X + "%1 = Sum (%0) {axes=[1], keepdims=true} : tensor<f32[1]>", "E3004", 2),
    (X + "%1 = Div (%0, %0) : tensor<f32[2]>", "E6003", 2),
    ("%0 = ConstTensor {dtype=f32, shape=[0], value=[]} : tensor<f32[0]>", "E3006", 1),
    ("%0 = ConstTensor {dtype=f32, shape=[2], value=[1, 2]} : tensor<f32[3]>", "E4015", 1),
]


@pytest.mark.parametrize(("text", "code", "line"), UNVERIFIED, ids=[row[1] for row in UNVERIFIED])
def test_ill_typed_text_is_the_verifiers_with_its_line(text: str, code: str, line: int):
    found = list(failures(parse_core_ir(text)))
    assert [e.code for e in found] == [code]
    place = found[0].op.location
    assert isinstance(place, FileLineColLoc)
    assert place.line.data == line


# What the text cannot carry

REFUSED = {
    "another dialect's op": ('func.func @f() {\n %0 = "test.op"() : () -> i32\n func.return\n}', "test.op"),
    "a discardable attribute": ("func.func @f() {\n %0 = mind.const_i64 1 {my.note} : tensor<i64>\n func.return\n}", "my.note"),
    "an argument's attribute": ("func.func @f(%x: tensor<f32> {my.note = 1.0 : f32}) {\n func.return\n}", "my.note"),
    "a result's attribute": (
        "func.func @f(%x: tensor<f32>) -> (tensor<f32> {my.note}) {\n func.return %x : tensor<f32>\n}",
        "result",
    ),
    "a function's attribute": ("func.func @f() attributes {my.note = {}} {\n func.return\n}", "my.note"),
    "a declaration": ("func.func private @f()", "0 blocks"),
    "a nested module": ("builtin.module {\n}", "builtin.module"),
    "a module's name": ("builtin.module @m {\n}", "@m has a name"),
    "an empty module": ("", "without functions"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_the_text_cannot_carry_is_refused(case: str):
    text, named = REFUSED[case]
    module = parse(text) if text else ModuleOp([])
    if case == "a nested module":
        module = ModuleOp([module])
    with pytest.raises(MindError, match=f"E4000.*{named}"):
        print_core_ir(module)


def test_a_signature_that_is_not_that_of_the_block_is_refused():
    func = first(parse_core_ir(X + "outputs: %0"))
    func.properties["function_type"] = first(parse_core_ir(X)).function_type
    with pytest.raises(MindError, match="E4015"):
        records(func)


# Records

T = "tensor<f32[2]>"
RECORDS = FunctionRecords(
    [
        CoreOperation(0, "Input", [], {"name": "x"}, T),
        CoreOperation(1, "ConstTensor", [], {"dtype": "f32", "shape": [2], "value": [1.0, 2.0]}, T),
        CoreOperation(2, "Mul", [0, 1], {}, T),
        CoreOperation(3, "Sum", [2], {"axes": [], "keepdims": False}, "tensor<f32[]>"),
    ],
    [3],
    "f",
    {"mind.grad_of": Symbol("g")},
)


def test_records_by_example():
    func = from_records(*RECORDS)
    verify(ModuleOp([func]))
    assert records(func) == RECORDS
    assert render([RECORDS]).split("\n")[4] == "%3 = Sum (%2) {axes=[], keepdims=false} : tensor<f32[]>"


def changed(i: int, **fields: object) -> FunctionRecords:
    operations = list(RECORDS.operations)
    operations[i] = replace(operations[i], **fields)
    return RECORDS._replace(operations=operations)


BAD_RECORDS = {
    "opcode": (changed(2, opcode="Pow"), "E4000"),
    "unhashable opcode": (changed(2, opcode=["Mul"]), "E4000"),
    "attribute": (changed(2, attributes={"axes": [1]}), "E4000"),
    "missing attribute": (changed(3, attributes={"axes": [1]}), "E4000"),
    "kind of attribute": (changed(3, attributes={"axes": "1", "keepdims": False}), "E4000"),
    "number for truth": (changed(3, attributes={"axes": [], "keepdims": 0}), "E4000"),
    "operand": (changed(1, value_id=9), "E4001"),
    "operands": (changed(2, operands=None), "E4000"),
    "redefinition": (changed(1, value_id=0), "E4002"),
    "output": (RECORDS._replace(outputs=[7]), "E4003"),
    "name": (changed(0, attributes={}), "E4004"),
    "name that is a number": (changed(0, attributes={"name": 5}), "E4004"),
    "element": (changed(1, attributes={"dtype": "i32", "shape": [2], "value": [1.5, 2]}), "E4005"),
    "string element": (changed(1, attributes={"dtype": "i32", "shape": [2], "value": ["1", 2]}), "E4005"),
    "fill": (changed(1, attributes={"dtype": "i32", "shape": [2], "fill": None}), "E4005"),
    "ragged": (changed(1, attributes={"dtype": "i32", "shape": [2], "value": [[1], [2, 3]]}), "E3010"),
    "dtype": (changed(1, attributes={"dtype": 7, "shape": [2], "value": [1, 2]}), "E2005"),
    "shape": (changed(1, attributes={"dtype": "f32", "shape": ["2"], "value": [1, 2]}), "E3006"),
    "shape that is none": (changed(1, attributes={"dtype": "f32", "shape": None, "value": [1, 2]}), "E3006"),
    "type": (changed(2, result_type="f32"), "E1007"),
    "type that is none": (changed(2, result_type=None), "E4000"),
    "note": (RECORDS._replace(attributes={"mind.x": 1.5}), "E4000"),
    "no name": (RECORDS._replace(name=""), "E4000"),
}


@pytest.mark.parametrize("case", BAD_RECORDS)
def test_bad_records_are_coded_errors(case: str):
    bad, code = BAD_RECORDS[case]
    with pytest.raises(MindError) as e:
        from_records(*bad)
    assert e.value.code == code


# The tools' hooks


def test_target_and_frontend():
    module = read_core_ir(BytesIO(REDUCTION.encode()))
    output = StringIO()
    CoreIRTarget().emit(context(), module, output)
    assert output.getvalue() == REDUCTION.replace("False", "false") + "\n"


def test_names_in_the_text_become_names_in_the_ir():
    op = first(parse_core_ir(X + "%loss = Neg (%0)")).body.block.first_op
    assert isinstance(op, CoreOp)
    assert op.results[0].name_hint == "loss"
