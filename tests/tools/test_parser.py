"""The tools' parser: where ops stand, coded errors for malformed text, bounds, floats that survive."""

from __future__ import annotations

import random
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects.builtin import FileLineColLoc
from xdsl.parser import Parser
from xdsl.universe import Universe
from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Input
from xdsl.utils.mlir_lexer import MLIRLexer, MLIRTokenKind

from mind_dialect import mlir_literals
from mind_dialect.errors import CATALOGUE, MindParseError
from mind_dialect.mlir_lexer import CodedLexer
from mind_dialect.mlir_literals import MAX_DENSE_ELEMENTS
from mind_dialect.mlir_parser import _CODES, MindParser


def context() -> Context:
    ctx = Context()
    for name, dialect in Universe.get_multiverse().all_dialects.items():
        ctx.register_dialect(name, dialect)
    return ctx


def parse(text: str | bytes, **options: int):
    return MindParser(context(), text, "t.mlir", **options).parse_module()


def failure(text: str | bytes) -> MindParseError:
    with pytest.raises(MindParseError) as caught:
        parse(text)
    assert set(CATALOGUE[caught.value.error.code].context) <= set(caught.value.error.context)
    return caught.value


F = "func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
END = "\n  func.return %0 : tensor<2xf32>\n}"

# text, code, line and column of the error (None: not pinned), a part of the message
BAD = {
    "neither op nor alias": ("]", "E1007", (1, 1), "expected an op or an alias"),
    "not a program": ("hello world", "E4000", (1, 1), "unknown op 'hello'"),
    "unbalanced": (F + "  func.return %x : tensor<2xf32>\n", "E1007", (3, 1), "expected an op, a block label or '}'"),
    "unterminated string": ('"test.op"() {a = "abc} : () -> ()', "E1003", (1, 18), "unterminated string"),
    "string over two lines": ('"test.op"() {a = "abc\n"} : () -> ()', "E1003", (1, 18), "same line"),
    "escape": ('"test.op"() {a = "ab\\q"} : () -> ()', "E1004", (1, 21), "invalid escape sequence '\\q'"),
    "backslash at the end": ('"test.op"() {a = "ab\\', "E1003", (1, 18), "unterminated"),
    "character": ('"test.op"() {a = ;} : () -> ()', "E1002", (1, 18), "unexpected character: ;"),
    "percent alone": ("% = mind.add", "E1002", (1, 1), "expected a name or number after %"),
    "superscript two": ('"test.op"() {a = ²} : () -> ()', "E1005", (1, 18), "invalid number '²'"),
    "5000 digits": (f'"test.op"() {{a = {"9" * 5000}}} : () -> ()', "E1005", (1, 18), "5000 characters"),
    "5000 hex digits": (f'"test.op"() {{a = 0x{"F" * 5000}}} : () -> ()', "E1005", (1, 18), "5002 characters"),
    "5000 digits in an index": (f'"test.op"(%a#{"9" * 5000}) : (i1) -> ()', "E1005", None, "digits"),
    "5000 digits in a width": (f'"test.op"() : () -> i{"9" * 5000}', "E1005", (1, 21), "too wide"),
    "wide integer": ("%0 = arith.constant 1 : i99999999", "E1005", (1, 25), "too wide"),
    "5000 digits in an extent": (f'"test.op"() : () -> tensor<{"9" * 5000}xf32>', "E1005", (1, 28), "5000 characters"),
    "1e400": ("%0 = arith.constant 1.0e400 : f32", "E4005", (1, 21), "beyond the finite range"),
    "-1e400": ("%0 = arith.constant -1.0e400 : f64", "E4005", (1, 22), "beyond the finite range"),
    "1e39 in f32": ('"test.op"() {a = 1.0e39 : f32} : () -> ()', "E4005", (1, 18), "beyond the finite range"),
    "1e39 in f32, own format": ("%0 = arith.constant 1.0e39 : f32", "E4005", (1, 21), "beyond the finite range"),
    "1e39 in array<f32>": ('"test.op"() {a = array<f32: 1.0e39>} : () -> ()', "E4005", None, "beyond the finite range"),
    "1e39 in bf16": ('"test.op"() {a = 3.4e38 : bf16} : () -> ()', "E4005", (1, 18), "beyond the finite range"),
    "dense 1e39 in f32": ('"test.op"() {a = dense<[1.0, -1.0e39]> : tensor<2xf32>} : () -> ()', "E4005", (1, 30), "-1.0e39"),
    "dense 1e400": ('"test.op"() {a = dense<1.0e400> : tensor<2xf64>} : () -> ()', "E4005", (1, 24), "1.0e400"),
    "dense hex too long": ('"test.op"() {a = dense<0xFFFFFFFFFF> : tensor<2xf32>} : () -> ()', "E4005", (1, 24), ""),
    "dense splat": ('"test.op"() {a = dense<1.0> : tensor<9999999999xf32>} : () -> ()', "E4005", None, "9999999999"),
    "dense splat in hex": ('"test.op"() {a = dense<"0x00000000"> : tensor<9999999999xf32>} : () -> ()', "E4005", None, ""),
    "dense splat of the op's type": ("%0 = arith.constant dense<1.0> : tensor<9999999999xf32>", "E4005", None, "9999999999"),
    "1e400 in a literal": ("%0 = mind.constant [1.0e400] : tensor<1xf64>", "E4005", (1, 21), "beyond the finite range"),
    "2**40 in i32": ("%0 = mind.constant [1099511627776] : tensor<1xi32>", "E4005", (1, 21), "outside"),
    "3.5 in i32": ("%0 = mind.constant [3.5] : tensor<1xi32>", "E4005", (1, 21), "no integer"),
    "unknown op": (F + "  %0 = mind.foo %x : tensor<2xf32>\n}", "E4000", (2, 8), "'mind.foo', expected one of mind.const_i64"),
    "op of another dialect": (F + "  %0 = mind.tanh %x : tensor<2xf32>\n}", "E4000", (2, 8), "expected ptir.tanh"),
    "unknown op of a large dialect": (F + "  %0 = ptir.zzz %x : tensor<2xf32>\n}", "E4000", (2, 8), "ptir.add and "),
    "op without its dialect": (F + "  %0 = exp %x : tensor<2xf32>\n}", "E4000", (2, 8), "expected mind.exp or ptir.exp"),
    "unknown op, generic": (F + '  %0 = "mind.mull"(%x) : () -> ()\n}', "E4000", (2, 9), "expected mind.mul"),
    "unknown dialect": ('"nope.op"() : () -> ()', "E4000", (1, 2), "an op of a registered dialect"),
    "unknown attribute": ('"test.op"() {a = #mind.nope<1>} : () -> ()', "E4000", (1, 19), "'mind.nope' is not registered"),
    "unknown type": ('"test.op"() : () -> !mind.nope', "E4000", (1, 22), "'mind.nope' is not registered"),
    "misspelt type": ('"test.op"() : () -> !shape.sape', "E4000", (1, 22), "expected shape.shape"),
    "type of an unknown dialect": ('"test.op"() : () -> !nope.nope', "E4000", (1, 22), "of a registered dialect"),
    "one type for operands of two": (
        "func.func @f(%x: tensor<2xf32>, %y: tensor<f32>) {\n  %0 = mind.add %x, %y : tensor<2xf32>\n}",
        "E2001",
        (2, 21),
        "or defined with type tensor<f32>; one type is that of all operands and of the result",
    ),
    "no types": (F + "  %0 = mind.neg %x\n  func.return\n}", "E1007", (3, 3), "Neg: expected ':' and the types"),
    "a number for a tensor": (
        "%0 = mind.constant 1.0 : tensor<2xf64>",
        "E3010",
        None,
        "`fill` before a number stores it for all",
    ),
    "dense for a literal": ("%0 = mind.constant dense<1.0> : tensor<2xf64>", "E1007", (1, 20), "expected a number, or a list"),
    "unknown element type": ('"test.op"() : () -> tensor<2xf31>', "E1007", (1, 30), "expected an element type, such as f32"),
    "unknown alias": (
        '"test.op"() {a = #nope} : () -> ()',
        "E4000",
        (1, 18),
        "undefined alias #nope, expected one that the text defines",
    ),
    "unknown property": (F + "  %0 = mind.neg %x axis = 1 : tensor<2xf32>\n}", "E4000", (2, 20), "unexpected attribute 'axis'"),
    "undefined": (
        F + "  %0 = mind.neg %y : tensor<2xf32>\n  func.return %0 : tensor<2xf32>\n}",
        "E4001",
        (2, 17),
        "%y is used but",
    ),
    "undefined, several": (
        F + "  %0 = mind.add %y, %z : tensor<2xf32>\n  func.return %0 : tensor<2xf32>\n}",
        "E4001",
        (2, 17),
        "nor are %z",
    ),
    "redefinition": (F + "  %x = mind.neg %x : tensor<2xf32>\n}", "E4002", (2, 3), "%x is already defined"),
    "redefinition of a result": (
        F + "  %a = mind.neg %x : tensor<2xf32>\n\n  %a = mind.neg %x : tensor<2xf32>\n}",
        "E4002",
        (4, 3),
        "%a is already defined, at line 2",
    ),
    "argument twice": (
        "func.func @f(%x: tensor<f32>, %x: tensor<f32>) {\n  func.return\n}",
        "E4002",
        (1, 31),
        "%x is already defined",
    ),
    "use with another type": (F + "  %0 = mind.neg %x : tensor<3xf32>\n}", "E2001", (2, 17), "tensor<3xf32>"),
    "definition with another type": (
        F + "  %0 = mind.neg %a : tensor<3xf32>\n  %a = mind.neg %x : tensor<2xf32>\n}",
        "E2001",
        (3, 3),
        "%a is defined with type tensor<2xf32>",
    ),
    "operand count": (
        F + '  %0 = "mind.neg"(%x, %x) : (tensor<2xf32>) -> tensor<2xf32>\n}',
        "E2007",
        None,
        "expected 1 operand types",
    ),
    "result count": (F + "  %0:2 = mind.neg %x : tensor<2xf32>\n}", "E2007", (2, 3), "has 1 results"),
    "deep brackets": ('"test.op"() {a = ' + "[" * 10_000 + "]" * 10_000 + "} : () -> ()", "E1007", None, "nested too deeply"),
    "deep regions": ('"test.op"() ({' * 10_000 + "}) : () -> ()" * 10_000, "E1007", None, "nested too deeply"),
    "deep types": ('"test.op"() : () -> ' + "tuple<" * 10_000 + "i1" + ">" * 10_000, "E1007", None, "nested too deeply"),
    "deep literal": ("%0 = mind.constant " + "[" * 10_000 + "1" + "]" * 10_000 + " : tensor<1xf32>", "E3010", None, "shape"),
    "not UTF-8": (
        b'"test.op"() {a = "\xff\xfe\x00\x01\x02"} : () -> ()',
        "E1001",
        (1, 19),
        "offset 18: [0xFF, 0xFE, 0x00, 0x01]",
    ),
    "integer out of range": ('"test.op"() {a = 300 : i8} : () -> ()', None, None, "300"),
    "extent beyond i64": (f"func.func private @f(tensor<2x{1 << 63}xf32>)", "E3006", (1, 31), "expected at most 2^63 - 1"),
    "extent of a memref": (f"func.func private @f(memref<{1 << 63}xf32>)", "E3006", (1, 29), f"extent {1 << 63}"),
    "extent with a name": (f'func.func private @f(tensor<?x{1 << 64}xf32, "N,*">)', "E3006", (1, 31), f"extent {1 << 64}"),
    "null byte": ("func.func\0", "E1002", (1, 10), "unexpected character"),
}


@pytest.mark.parametrize("name", BAD)
def test_malformed_text_is_a_coded_error_at_its_place(name: str) -> None:
    text, code, place, message = BAD[name]
    e = failure(text)
    assert e.error.code == (code or e.error.code), e.error
    assert message.lower() in e.error.message.lower()
    found = e.span.get_location()
    assert found.file == "t.mlir"
    if place is not None:
        assert (found.line, found.col) == place


def test_the_greatest_extent_is_read() -> None:
    assert f"tensor<{(1 << 63) - 1}xf32>" in str(parse(f"func.func private @f(tensor<{(1 << 63) - 1}xf32>)"))


def test_every_message_of_xdsl_that_has_its_own_code_occurs() -> None:
    seen = set()
    for text, *_ in BAD.values():
        try:
            Parser(context(), text).parse_module()
        except ParseError as e:
            seen |= {pattern.pattern for pattern, _, _ in _CODES if pattern.match(e.msg)}
        except Exception:  # what stock xDSL lets through is what our parser is there for
            continue
    assert {pattern.pattern for pattern, _, _ in _CODES} - seen <= {"SSA value used before assignment"}


def test_a_missing_quote_behind_a_million_characters() -> None:
    assert failure('"' + "a" * 1_000_000).error.code == "E1003"


def test_aliases_of_aliases_do_not_explode() -> None:
    lines = ["#a0 = [1, 1]", *(f"#a{i} = [#a{i - 1}, #a{i - 1}]" for i in range(1, 60))]
    e = failure("\n".join([*lines, '"test.op"() {a = #a59} : () -> ()']))
    assert (e.error.code, e.span.get_location().line) == ("E1007", 20)
    assert parse("#a = [1]\n#b = [#a, #a]\n" + '"test.op"() {a = #b} : () -> ()\n' * 50)


def test_dense_literals_share_one_bound() -> None:
    op = f'"test.op"() {{a = dense<1> : tensor<{MAX_DENSE_ELEMENTS // 2 + 1}xi8>}} : () -> ()\n'
    assert parse(op)
    assert failure(op * 2).error.code == "E4005"


def test_ops_know_where_they_stand() -> None:
    text = '\n  func.func @f(%x: tensor<2xf32>) {\n    %0 = mind.neg %x : tensor<2xf32>\n  "test.op"() : () -> () func.return\n}'
    (func,) = parse(text).body.block.ops
    places = {op.name: op.location for op in func.walk()}
    assert all(isinstance(place, FileLineColLoc) for place in places.values())
    assert {name: (p.line.data, p.column.data) for name, p in places.items()} == {
        "func.func": (2, 3),
        "mind.neg": (3, 10),
        "test.op": (4, 3),
        "func.return": (4, 26),
    }
    assert {p.filename.data for p in places.values()} == {"t.mlir"}


def test_a_place_in_the_text_wins_and_offsets_count() -> None:
    (stated, plain) = parse('"test.op"() : () -> () loc("a.py":7:8)\n"test.op"() : () -> ()', line_offset=10).body.block.ops
    assert str(stated.location) == 'loc("a.py":7:8)'
    assert str(plain.location) == 'loc("t.mlir":12:1)'


def test_places_do_not_change_what_is_printed() -> None:
    text = F + "  %0 = mind.neg %x : tensor<2xf32>\n  func.return %0 : tensor<2xf32>\n}"
    assert str(parse(text)) == str(Parser(context(), text).parse_module())


@pytest.mark.parametrize("name", ["nope.op", "mind.nope", "ptir.nope", "shape.unknown", "test.source", "tensor.nope"])
def test_unknown_ops_are_read_in_the_generic_form_where_they_are_allowed(name: str) -> None:
    ctx = context()
    ctx.allow_unregistered = True
    text = (
        f'%a:2 = // = a comment\n"{name}"() {{b = 1 : i8}} : () -> (i1, !shape.size)\n"{name}"(%a#1) ({{}}) : (!shape.size) -> ()'
    )
    module = MindParser(ctx, text).parse_module()
    assert str(module) == str(Parser(ctx, text).parse_module())
    assert str(MindParser(ctx, str(module)).parse_module()) == str(module)
    for refused in (f"{name}", f"%0 = {name} : i1", f"%0 = // x\n {name}"):
        with pytest.raises(MindParseError, match=f"E4000: unknown op '{name}'"):
            MindParser(ctx, refused).parse_module()
    with pytest.raises(MindParseError, match=f"E4000: unknown op '{name}'"):
        parse(f'"{name}"() : () -> ()')


@settings(max_examples=200)
@given(st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=5))
def test_dense_floats_survive_bit_by_bit(bits: list[int]) -> None:
    """Independent oracle: `struct`. NaN payloads too, but for signalling NaNs, which conversion to double quiets."""
    patterns = [b | 0x00400000 if (b & 0x7F800000) == 0x7F800000 and b & 0x7FFFFF else b for b in bits]
    elements = ", ".join(f"0x{b:08X}" for b in patterns)
    (op,) = parse(f'"test.op"() {{a = dense<[{elements}]> : tensor<{len(bits)}xf32>}} : () -> ()').body.block.ops
    assert op.attributes["a"].data.data == struct.pack(f"<{len(bits)}I", *patterns)
    printed = str(op)
    (again,) = parse(printed).body.block.ops
    assert again.attributes["a"] == op.attributes["a"]


@pytest.mark.parametrize("value", ["0x7FC00000", "0xFF800000", "0x7F800000", "-0.000000e+00"])
def test_special_splats_survive_printing(value: str) -> None:
    (op,) = parse(f'"test.op"() {{a = dense<{value}> : tensor<3xf32>}} : () -> ()').body.block.ops
    (again,) = parse(str(op)).body.block.ops
    assert again.attributes["a"] == op.attributes["a"]
    assert len(op.attributes["a"].data.data) == 12


def test_types_are_read_once() -> None:
    text = """func.func @f(%x: tensor<2x?xf32>, %y: tensor<2x?xf32>, %c: tensor<complex<f64>>) {
      %a = "mind.add"(%x, %y) : (tensor<2x?xf32>, tensor<2x?xf32>) -> tensor<2x?xf32>
      %b = "mind.add"(%a, %y) : (tensor<2x?xf32>, tensor<2x?xf32>) -> tensor<2x?xf32>
      return
    }"""
    module = MindParser(context(), text).parse_module()
    func = next(op for op in module.walk() if op.name == "func.func")
    block = func.regions[0].block
    types = {id(v.type) for v in block.args[:2]} | {id(op.results[0].type) for op in block.ops if op.results}
    assert len(types) == 1
    assert str(block.args[0].type) == "tensor<2x?xf32>"
    assert str(block.args[2].type) == "tensor<complex<f64>>"


@pytest.mark.parametrize(
    "type", ["tensor<4xi99999999>", "tensor<4x>", "tensor<99999999999999999999xf32>", "(tensor<f32>) -> tensor"]
)
def test_types_that_are_none_are_refused_every_time(type: str) -> None:
    text = f'func.func @f(%x: tensor<f32>) {{\n  "a.b"(%x) : {type}\n}}'
    for _ in range(2):
        with pytest.raises(MindParseError):
            MindParser(context(), text).parse_module()


FRAGMENTS = (
    *("%x", "%0", "%a-b.c$", "%x#1", "#loc", "#loc1", "#-}", "{-#", "{", "}", "!t", "!a.b<", "^bb0", "^1:", "@f", '@"a b"', "@é"),
    *(
        "tensor<4x",
        "x8xf32>",
        "0x1F",
        "0xZ",
        "007",
        "1.5e-3",
        "1.",
        "12",
        "123456789012345678901",
        "-1",
        "->",
        "- >",
        "...",
    ),
    *(".5", "..", '"a"', '""', '"\\n"', "// to the end\n", "//", "\n", " ", "\t", "\f", "=", "==", "(", ")", "[", "]", "<", ">"),
    *(",", ":", "::", "?", "+", "*", "/", "|", "é", "x_1.y$"),
)
"""Without a quote that nothing closes, for which xDSL takes exponential time."""


def lexed(lexer: MLIRLexer) -> list[tuple[object, ...]]:
    """The tokens of a text, up to its end or to what is none."""
    found: list[tuple[object, ...]] = []
    while not found or found[-1][0] is not MLIRTokenKind.EOF:
        try:
            token = lexer.lex()
        except ParseError as e:
            return [*found, ("refused", e.span.start)]
        found.append((token.kind, token.span.start, token.span.end, token.text, type(token.span)))
    return found


@pytest.mark.parametrize("seed", range(20))
def test_tokens_are_those_of_xdsl(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(100):
        text = "".join(rng.choice(FRAGMENTS) for _ in range(rng.randrange(12)))
        assert lexed(CodedLexer(Input(text, "t"))) == lexed(MLIRLexer(Input(text, "t"))), text


@pytest.mark.parametrize("number", ["0.5", "-1.0e3", "0x7FC00000"])
def test_a_literal_of_one_number_counts_its_elements_each_time(number: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mlir_literals, "MAX_DENSE_ELEMENTS", 24)
    line = f"builtin.module attributes {{a = dense<{number}> : tensor<2x4xf32>}} {{}}\n"
    a, b, c = (op.attributes["a"] for op in parse(line * 3).ops)
    assert a == b == c
    assert failure(line * 4).error.code == "E4005"
