"""What is wrong with a text, by example: a code and the place, in the display form and in snippets."""

from __future__ import annotations

import pytest

from mind_dialect.errors import MindError, MindParseError
from mind_translate.ptir_text import bind, parse_display, parse_ptir_text, parse_snippet
from mind_translate.ptir_text.cursor import PtirTextCursor
from mind_translate.ptir_text.rust import read_rust
from ptir_texts import DISPLAY, SNIPPET

DISPLAY_ROWS = [
    ("program @main", "programme @main", "E1007", 1, "expected `program @entry (spec_version"),
    ("func @main {", "func main {", "E1007", 2, "expected `func @name {`"),
    ("params:", "parameters:", "E1007", 3, "one of params:, body:, hints:, results:"),
    ("    body:\n", "    results:\n", "E1007", 7, "expected `:`"),
    ("%0 : tensor<F32 x 2x3>", "%0 : tensor<F32 2x3>", "E1007", 4, "a type like tensor<F32 x 2x3>"),
    ("%0 : tensor<F32 x 2x3>", "%0 : tensor<F24 x 2x3>", "E2005", 4, "found 'F24'"),
    ("%0 : tensor<F32 x 2x3>", "%0 : tensor<F32 x 2x>", "E1007", 4, "dimensions like 2x?Bx3"),
    ("%0 : tensor<F32 x 2x3>", "%0 : tensor<F32 x ?>", "E1007", 4, "dimensions like 2x?Bx3"),
    ("%0 : tensor<F32 x 2x3>", "%0 : tensor<F32 x -2>", "E1007", 4, "dimensions like"),
    ("%0 : tensor<F32 x 2x3>", f"%0 : tensor<F32 x {2**63}>", "E8002", 4, "2^63 - 1"),
    ("%0 : tensor<F32 x 2x3>", f"%0 : tensor<F32 x {'9' * 5000}>", "E1005", 4, "5000 digits"),
    ("%0 : tensor<F32 x 2x3>", f"%0 : tensor<F32 x {2**32}x{2**31}>", "E3006", 4, "more than 2^63 - 1 bytes"),
    ("%0 : tensor<F32 x 2x3>", "%0 : " + "tuple<" * 33, "E1007", 4, "nested more than 32"),
    ("%0 : tensor<F32 x 2x3>", "%x : tensor<F32 x 2x3>", "E1007", 4, "a value %0 to"),
    ("%0 : tensor<F32 x 2x3>", "%99999999999 : tensor<F32 x 2x3>", "E1007", 4, "a value %0 to"),
    ("%1 : tensor<I1", "%0 : tensor<I1", "E4002", 2, "%0 is defined again"),
    ("kind: Sum", "kind: Mean", "E4000", 7, "Reduce.kind: expected one of"),
    ("kind: Sum, ", "", "E4000", 7, "Reduce: the field 'kind' is missing"),
    ("kind: Sum", "kind: Sum, kind: Max", "E4000", 7, "'kind' is given twice"),
    ("axes: [1]", "axes: [2]", "E3004", 7, "reduce: axis 2 is out of range"),
    ("axes: [1]", "axes: 1", "E4000", 7, "Reduce.axes: expected a list, found 1"),
    ("axes: [1]", "axes: [1", "E1007", 7, "`]`"),
    ("axes: [1]", "axes: [1e999]", "E4005", 7, "beyond the range of f64"),
    ("axes: [1]", "axes: [1.5]", "E4000", 7, "Reduce.axes[0]: expected an integer, found 1.5"),
    ("axes: [1]", "axes: " + "[" * 200, "E1007", 7, "nested more than 100"),
    ("Some(F32)", "Some(F32, F32)", "E1007", 7, "Some holds 2 values"),
    ("Some(F32)", "Some(Si32)", "E4015", 7, "reduce: declared result"),
    ("ReduceSpec", "ArgMaxSpec", "E4000", 7, "expected ReduceSpec, found 'ArgMaxSpec'"),
    ("Reduce(", "Reducer(", "E4000", 7, "found 'Reducer'"),
    ("(%0) -> tensor<F32 x 2>", "(%0) -> tensor<F32 x 3>", "E4015", 7, "reduce: declared result"),
    ("(%0) -> tensor<F32 x 2>", "(%7) -> tensor<F32 x 2>", "E4001", 7, "%7, which is not defined here"),
    ("(%0) -> tensor<F32 x 2>", "(%0) tensor<F32 x 2>", "E1007", 7, "`->`"),
    ("(%0) -> tensor<F32 x 2>", "(literal(dtype=F32, shape=[])) -> tensor<F32 x 2>", "E4000", 7, "a literal operand"),
    ("(%0) -> tensor<F32 x 2>\n", "(%0) -> tensor<F32 x 2> x\n", "E1007", 7, "the end of the line, found x"),
    ("false_region: RegionId(0)", "false_region: RegionId(1)", "E2002", 8, "region 1 is not defined"),
    ("false_region: RegionId(0)", "false_region: RegionId(-1)", "E8002", 8, "false_region: found -1"),
    ("I64(1)", "I64(true)", "E4000", 9, "CustomCall.attrs.n.value: expected an integer, found true"),
    ("I64(1)", "U8(1)", "E4000", 9, "CustomCall.attrs.n: "),
    ('"n": ', "n: ", "E1007", 9, "a key in quotes"),
    ('{"n": ', '{"n: ', "E1003", 9, "unterminated string"),
    ('"a.b.v1"', '"a\\qb"', "E1004", 9, "unknown escape"),
    ('"a.b.v1"', '"\\u{d800}"', "E1004", 9, "unknown escape"),
    ("%4[1]", "%4[2]", "E2001", 10, "element 2 of %4, which is a tuple of 2"),
    ("%4[1]", "%4[-1]", "E8002", 10, "element -1"),
    ("%4[1]", "%4[x]", "E1007", 10, "an integer, found x"),
    ("%4[1]", "%0[1]", "E2001", 10, "no tuple"),
    ("      %2 : tensor<F32 x 2>", "      %6 : tensor<F32 x 2>", "E4003", 2, "result 0 is %6"),
    ("      %2 : tensor<F32 x 2>", "      %2 : tensor<F32 x 3>", "E4015", 2, "declared tensor<F32 x 3>"),
    ("region ^r0", "region ^0", "E1007", 14, "`region ^r0 {`"),
    ("%arg0", "%arg1", "E1007", 16, "expected %arg0, found %arg1"),
    ("%res0", "%0", "E1007", 20, "expected %res0, found %0"),
    ("%res0 : tensor<F32 x 2x3>", "%res0 : tensor<F32 x 2>", "E4015", 14, "declared tensor<F32 x 2>"),
    ("  }\n}\n", "  }\n", "E1007", 22, "expected `}`, found the end of the text"),
    ("  }\n}\n", "  }\n}\nx\n", "E1007", 23, "the end of the text, found x"),
    ("@main (", "@other (", "E2002", 1, "the entry 'other' is not a function"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "code", "line", "message"), DISPLAY_ROWS, ids=range(len(DISPLAY_ROWS)))
def test_display_errors(old: str, new: str, code: str, line: int, message: str):
    assert old in DISPLAY
    with pytest.raises(MindParseError) as raised:
        parse_display(DISPLAY.replace(old, new, 1), "d.ptir")
    assert raised.value.error.code == code, raised.value
    assert message in raised.value.error.message
    assert raised.value.span.get_location().line == line
    str(raised.value).encode()


def test_the_display_base_is_right():
    parse_display(DISPLAY, strict=True)


def test_hints_that_do_not_end():
    with pytest.raises(MindParseError, match="E1007"):
        parse_display(DISPLAY.replace("    results:\n", "    hints:\n      fused_hint {\n", 1)[:900])


SNIPPET_ROWS = [
    ("func @f", "fun @f", "E1007", 1, "`func @name(...)"),
    ("@f(", "@(", "E1007", 1, "the name of the function"),
    ("(%x: tensor", "(%x tensor", "E1007", 1, "`:`"),
    ("tensor<f32, 2x3>", "tensor<f24, 2x3>", "E2005", 1, "unknown dtype f24"),
    ("tensor<f32, 2x3>", "tensor<f32, 2x?>", "E1007", 1, "a type like"),
    ("tensor<f32, 2x3>", "tensor<f32, 2x>", "E1005", 1, ""),
    ("tensor<f32, 2x3>", f"tensor<f32, {2**63}>", "E8002", 1, "2^63 - 1"),
    ("tensor<f32, 2x3>", f"tensor<f32, {2**40}x{2**40}>", "E3006", 1, "bytes"),
    ("tensor<f32, 2x3>", "(tensor<f32>)", "E2001", 1, "a value is a tensor"),
    ("tensor<f32, 2x3>", "(" * 40, "E1007", 1, "nested more than 32"),
    ("-> tensor<f32, 2> {", "-> tensor<f32, 3> {", "E4015", 5, "declares results"),
    ("-> tensor<f32, 2> {", "-> (tensor<f32, 2>, tensor<f32, 2>) {", "E4015", 5, "declares results"),
    ("-> tensor<f32, 2> {", "{", "E1007", 1, "`->`"),
    ("reduce_sum(", "reduce_min(", "E4000", 2, "unknown op reduce_min"),
    ("reduce_sum(%x)", "reduce_sum(%z)", "E4001", 2, "%z is used before"),
    ("reduce_sum(%x)", "reduce_sum(1.0)", "E1007", 2, "a value %name"),
    ("reduce_sum(%x)", "reduce_sum(%x[0])", "E2001", 2, "element 0 of a value that is not a tuple"),
    ("reduce_sum(%x)", "reduce_sum()", "E2007", 2, "reduce: expects 1 operands, found 0"),
    (" axes[1]", "", "E4000", 2, "reduce_sum lacks axes"),
    ("axes[1]", "axes[1] axes[1]", "E4000", 2, "is given twice"),
    ("axes[1]", "axis[1]", "E4000", 2, "is unknown"),
    ("axes[1]", "axes[2]", "E3004", 2, "reduce: axis 2"),
    ("axes[1]", "axes[1", "E1007", 2, ""),
    ("axes[1]", f"axes[{2**70}]", "E8002", 2, "2^63"),
    ("axes[1]", f"axes[{'9' * 5000}]", "E1005", 2, "5000 digits"),
    ("keepdims[false]", "keepdims[0]", "E1007", 2, "true or false"),
    ("%n = add", "%m = add", "E4002", 3, "%m is defined again"),
    ("%n = add", "%n add", "E1007", 3, "`=`"),
    ("add %m, %m -> tensor<f32, 2>", "add %m, %m -> tensor<f32, 3>", "E4015", 3, "add: declared result"),
    ("add %m, %m ->", "add %m, %x ->", "E3002", 3, "add: shapes"),
    ("  return %n\n", "", "E1007", 4, "expected `return`"),
    ("return %n", "return", "E1007", 4, "a value %name"),
    ("return %n", "return %n\n  return %n", "E1007", 5, "`}` after return"),
    ("}\n", "", "E1007", 5, "`}`"),
    ("}\n", "}\nx", "E1007", 5, "the end of the text"),
    ("f32, 2x3", "{{dtype}}, 2x3", "E2002", 1, "'{{dtype}}' is not bound"),
    ("f32, 2x3", "{{f32, 2x3", "E2002", 1, "'{{' is not bound"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "code", "line", "message"), SNIPPET_ROWS, ids=range(len(SNIPPET_ROWS)))
def test_snippet_errors(old: str, new: str, code: str, line: int, message: str):
    assert old in SNIPPET
    with pytest.raises(MindParseError) as raised:
        parse_snippet(SNIPPET.replace(old, new, 1), None, "s.ptir")
    assert raised.value.error.code == code, raised.value
    assert message in raised.value.error.message
    assert raised.value.span.get_location().line == line
    str(raised.value).encode()


@pytest.mark.parametrize("value", ["a\nb", "{{b}}", [1, "x"], [True]], ids=str)
def test_bindings_that_are_none(value):
    with pytest.raises(MindError, match="E4000: a is bound to"):
        bind("{{a}}", {"a": value})


def test_bindings_are_filled_in_once():
    assert bind("{{ a }}{{b}}", {"a": "}}", "b": True}) == "}}true"


@pytest.mark.parametrize("parse", [parse_display, parse_snippet, parse_ptir_text])
def test_odd_texts(parse):
    for text in ("", "\n\n", "\0", "func", "program", "func @f() -> ", "// only a comment", "\ud800", "func @f(\ud800"):
        with pytest.raises(MindParseError):
            parse(text)
    with pytest.raises(MindParseError, match="E1001"):
        parse(b"func @f\xff")


@pytest.mark.parametrize(
    "text",
    [piece * 100_000 for piece in ('"', '"\\', "[", "a(", "x{", "tensor<", "---", "%%%")],
    ids=lambda t: t[:8],
)  # fmt: skip
def test_long_lines_cost_linear_time(text: str):
    """Whatever stands on it, a line is read once."""
    with pytest.raises(MindParseError):
        parse_display(DISPLAY.replace("Reduce(ReduceSpec", text, 1))
    with pytest.raises(MindParseError):
        parse_snippet(SNIPPET.replace("reduce_sum(%x)", text, 1))


def node(text: str):
    cursor = PtirTextCursor(text, "t")
    cursor.enter(0, len(text))
    found = read_rust(cursor)
    cursor.done()
    return found


def test_rust_values():
    assert node("A { b: [1, -2,], c: (1, 2), d: None, e: Some(B(X)), f: {} }") == {
        "b": [1, -2], "c": [1, 2], "d": None, "e": {"B": "X"}, "f": {}
    }  # fmt: skip
    assert node('Dynamic(DimSymbol("B"))') == {"Dynamic": "B"}
    assert node("Complex { re: -inf, im: 1e-7 }") == {"Complex": {"re": "-Infinity", "im": 1e-7}}
    assert node("F64Array([])") == {"kind": "F64Array", "value": []}
    assert node(r'"\"\\\n\r\t\0\'\u{e9}"') == "\"\\\n\r\t\0'é"
