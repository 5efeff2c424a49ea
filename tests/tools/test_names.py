"""
Names of inputs and functions survive every form, every pass and every target, whatever characters they hold.

One table of kinds of names, one of steps. Each step is run once on a program whose inputs, or functions, have all the names.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects.builtin import BytesAttr, ModuleOp
from xdsl.printer import Printer

from mind_dialect.program import functions, input_names, ssa_name
from mind_dialect.verify import verify
from mind_lowering.core_to_ptir import ConvertMindToPtirPass
from mind_runtime import compile as compile_program
from mind_tools.frontends import parse
from mind_translate.core_ir import from_records, parse_core_ir, print_core_ir, records
from mind_translate.ptir_json import parse_ptir_json, print_ptir_json
from mind_translate.ptir_text import parse_ptir_text, print_ptir_text
from programs import parse as stock_parse
from tool_runs import mind_opt, mind_run

NAMES = {
    "a letter": "x",
    "letter and digits": "x_1",
    "digits of a suffix": "x_0",
    "dots": "w.0",
    "dollar": "$w",
    "a keyword of Python": "class",
    "a builtin of Python": "print",
    "a digit first": "1x",
    "a number": "7",
    "a blank": "the x",
    "blanks alone": "  ",
    "double quote": 'a"b',
    "single quote": "a'b",
    "backslash": "a\\b",
    "escape of a character": "a\\nb",
    "escape of a byte": "\\C3\\A9",
    "end of line": "a\nb",
    "tab": "a\tb",
    "null": "a\0b",
    "terminal escape": "a\x1b[31mb",
    "umlaut": "größe",
    "Chinese": "模型",
    "digit outside ASCII": "a٣",
    "beyond 16 bits": "\U0001f600",
    "line separator": "a\u2028b",
    "byte order mark": "\ufeffa",
    "comma": "a,b",
    "equals": "a=b",
    "colon": "a:b",
    "percent": "%x",
    "at": "@x",
    "hash": "#x",
    "braces": "a{b}",
    "brackets": "a[0](1)<2>",
    "comment": "a//b",
    "separator of chunks": "// -----",
    "dash": "-x",
    "dunder": "__class__",
    "placeholder": "{x} %s {{x}}",
    "end of a docstring": '"""',
    "long": "n" * 300,
}
PTIR = "--convert-mind-to-ptir"
STEPS: dict[str, Sequence[str]] = {
    "pretty": (),
    "generic": ("--print-op-generic",),
    "without properties": ("--print-op-generic", "--print-no-properties"),
    "locations": ("--print-debuginfo",),
    "chunks": ("--split-input-file",),
    "canonicalize": ("--canonicalize",),
    "cse": ("--cse",),
    "inline": ("--mind-inline",),
    "autodiff": ("--autodiff",),
    "autodiff of PTIR": (PTIR, "--autodiff"),
    "cotangent": ("--autodiff=seed=cotangent",),
    "jvp": (PTIR, "--jvp"),
    "vectorize": (PTIR, "--vectorize=size=3"),
    "reify": ("--reify-shapes",),
    "reify as functions": ("--reify-shapes=mode=func",),
    "shape-infer": ("--reify-shapes", "--shape-infer"),
    "convert": (PTIR,),
    "ptir-canonicalize": (PTIR, "--ptir-canonicalize"),
    "ptir-optimize": (PTIR, "--ptir-optimize"),
    "ptir-split-parameters": (PTIR, "--ptir-split-parameters"),
    "plan-buffers": (PTIR, "--plan-buffers"),
    "lower-to-numpy": ("--lower-to-numpy",),
    "lower-to-native": (PTIR, "--lower-to-native"),
    "lower-to-cupy": (PTIR, "--lower-to-cupy"),
    "convert-ptir-to-linalg": (PTIR, "--convert-ptir-to-linalg"),
    "core-ir": ("-t", "core-ir"),
    "ptir-json": (PTIR, "-t", "ptir-json"),
    "ptir-text": (PTIR, "-t", "ptir-text"),
}
FORMS = {"core-ir": "core-ir", "ptir-json": "ptir-json", "ptir-text": "ptir-text"}
"""The steps that print another form than MLIR text."""
NO_INPUT_NAMES = {
    "ptir-json": "the contract's public form has no place for them",
    "ptir-text": "the contract's public form has no place for them",
    "convert-ptir-to-linalg": "mlir-opt refuses attributes of dialects that it does not know; SSA names are kept",
}
"""The steps behind which inputs have no names of their own, and why."""
TARGETS = ("numpy", "native", "cupy", "buffer-plan", "core-ir")


def quoted(name: str) -> str:
    """A string as MLIR writes it."""
    plain = (chr(b) if 0x20 <= b < 0x7F and b not in b'"\\' else f"\\{b:02X}" for b in name.encode())
    return f'"{"".join(plain)}"'


def inputs_program(names: Sequence[str]) -> str:
    """A function of one input per name, which returns each times its place, and their sum."""
    n = len(names)
    arguments = ", ".join(f"%{i}: tensor<2xf32> {{mind.name = {quoted(name)}}}" for i, name in enumerate(names))
    sums = [f"  %s{i} = mind.add %{f's{i - 1}' if i > 1 else 0}, %{i} : tensor<2xf32>" for i in range(1, n)]
    lines = [f"  %r{i} = mind.mul %{i}, %s{n - 1} : tensor<2xf32>" for i in range(n)]
    last = [
        f"  %l = mind.sum %r{n - 1} axes = [] keepdims = false : tensor<2xf32> -> tensor<f32>",
        "  func.return %l : tensor<f32>",
    ]
    return "\n".join([f"func.func @f({arguments}) -> tensor<f32> {{", *sums, *lines, *last, "}"])


def functions_program(names: Sequence[str]) -> str:
    """A function per name."""
    body = """(%x: tensor<2xf32>) -> tensor<f32> {
  %0 = mind.sum %x axes = [] keepdims = false : tensor<2xf32> -> tensor<f32>
  func.return %0 : tensor<f32>
}"""
    return "\n".join(f"func.func @{quoted(name)}{body}" for name in names)


def generic(module: ModuleOp) -> str:
    """The generic form."""
    stream = io.StringIO()
    Printer(stream, print_generic_format=True).print_op(module)
    return stream.getvalue()


def after(step: str, text: str) -> ModuleOp:
    """The module that a step makes of a text, read from what it printed."""
    result = mind_opt(*STEPS[step], stdin=text)
    assert (result.status, result.err) == (0, "")
    return parse(result.out, FORMS.get(step, "mlir"))


@pytest.mark.parametrize("step", STEPS)
def test_inputs_keep_their_names(step: str) -> None:
    names = list(NAMES.values())
    func = next(functions(after(step, inputs_program(names))))
    found = input_names(func)
    if step == "convert-ptir-to-linalg":
        assert {name for name in names if ssa_name(name) and re.search(r"_[0-9]+$", name) is None} <= set(found)
    elif step in NO_INPUT_NAMES:
        assert found == [f"arg{i}" for i in range(len(names))]
    elif step == "ptir-split-parameters":
        assert set(names) <= set(found)
    else:
        assert found[: len(names)] == names


@pytest.mark.parametrize("step", STEPS)
def test_functions_keep_their_names(step: str) -> None:
    names = list(NAMES.values())
    found = [f.sym_name.data for f in functions(after(step, functions_program(names)))]
    assert [name for name in found if name in NAMES.values()] == names


@pytest.mark.parametrize("target", TARGETS)
def test_every_target_prints_programs_of_any_names(target: str) -> None:
    for text in (inputs_program(list(NAMES.values())), functions_program(list(NAMES.values()))):
        result = mind_opt("-t", target, stdin=text)
        assert (result.status, result.err) == (0, "")
        assert result.out


@pytest.mark.parametrize("target", ["numpy", "native"])
def test_inputs_are_given_by_any_name(target: str) -> None:
    names = list(NAMES.values())
    text = inputs_program(names)
    assert [spec.name for spec in compile_program(parse(text), target=target).inputs] == names
    arguments = [f"{name}=[{i}, 1]" for i, name in enumerate(names)]
    result = mind_run("--target", target, "-", "--", *reversed(arguments), stdin=text)
    assert (result.status, result.err) == (0, "")
    n = len(names)
    assert float(result.out.rpartition("= ")[2]) == (n - 1) * sum(range(n)) + n


@pytest.mark.parametrize("name", NAMES.values(), ids=list(NAMES))
def test_functions_are_run_by_any_name(name: str) -> None:
    result = mind_run("-", f"--function={name}", "x=[1, 2]", stdin=functions_program(list(NAMES.values())))
    assert (result.status, result.out) == (0, "out0: f32[] = 3.\n")


def test_records_hold_any_name() -> None:
    for text in (inputs_program(list(NAMES.values())), functions_program(list(NAMES.values()))):
        for func in functions(parse(text)):
            again = from_records(*records(func))
            assert again.sym_name == func.sym_name
            assert input_names(again) == input_names(func)


@settings(max_examples=100)
@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12))
def test_any_text_is_a_name_in_every_form(name: str) -> None:
    text = functions_program([name]).replace("%x: tensor<2xf32>)", f"%x: tensor<2xf32> {{mind.name = {quoted(name)}}})")
    module = parse(text)
    for again in (parse(str(module)), parse(generic(module)), parse_core_ir(print_core_ir(module))):
        (func,) = functions(again)
        assert (func.sym_name.data, input_names(func)) == (name, [name])
    ConvertMindToPtirPass().apply(Context(), module)
    for again in (parse_ptir_json(print_ptir_json(module)), parse_ptir_text(print_ptir_text(module))):
        assert next(functions(again)).sym_name.data == name


def test_names_of_arguments_that_end_like_a_suffix_are_not_mixed_up() -> None:
    text = """func.func @f(%x_0: tensor<f32>, %x: tensor<f32>, %x_7: tensor<f32>) -> tensor<f32> {
  %0 = mind.sub %x_0, %x : tensor<f32>
  %1 = mind.sub %0, %x_7 : tensor<f32>
  func.return %1 : tensor<f32>
}"""
    for again in (text, mind_opt(stdin=text).out, mind_opt("-t", "core-ir", stdin=text).out):
        form = "mlir" if "func.func" in again else "core-ir"
        assert input_names(next(functions(parse(again, form)))) == ["x_0", "x", "x_7"]
    assert mind_run("-", "x=1", "x_7=10", "x_0=100", stdin=text).out == "out0: f32[] = 89.\n"
    assert "unknown input 'y_0'" in mind_run("-", "y_0=1", "x=1", "x_7=10", "x_0=100", stdin=text).err


def test_a_stated_name_goes_before_that_of_an_argument() -> None:
    text = """func.func @f(%a_1: tensor<f32>, %b: tensor<f32> {mind.name = "a_1"}) -> tensor<f32> {
  %0 = mind.sub %a_1, %b : tensor<f32>
  func.return %0 : tensor<f32>
}"""
    found = input_names(next(functions(parse(text))))
    assert found[1] == "a_1"
    assert len(set(found)) == 2
    assert input_names(next(functions(parse(mind_opt(stdin=text).out)))) == found


def test_other_modules_get_no_names() -> None:
    text = "func.func @f(%x_1: f32) -> f32 {\n  func.return %x_1 : f32\n}"
    assert "mind.name" not in mind_opt(stdin=text).out


def test_names_made_unique_are_those_that_are_printed() -> None:
    module = parse(
        "func.func @f(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<f32>) -> tensor<f32> {\n  %0 = mind.neg %a : tensor<f32>\n"
        "  func.return %0 : tensor<f32>\n}"
    )
    (func,) = functions(module)
    for argument in func.body.block.args:
        argument.name_hint = "x"
    assert input_names(func) == ["x", "x_1", "x_2"]
    assert input_names(next(functions(parse(str(module))))) == ["x", "x_1", "x_2"]


def test_stock_xdsl_reads_the_names_that_we_print() -> None:
    printed = mind_opt(stdin=inputs_program(list(NAMES.values()))).out
    module = stock_parse(printed)
    verify(module)
    assert input_names(next(functions(module))) == list(NAMES.values())


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ('{mind.name = "\\FF"}', "E4004", "expected a non-empty string of UTF-8"),
        ('{mind.name = "\\C3"}', "E4004", "expected a non-empty string of UTF-8"),
        ('{mind.name = "\\ED\\A0\\80"}', "E4004", "expected a non-empty string of UTF-8"),
        ('{mind.name = ""}', "E4004", "expected a non-empty string of UTF-8"),
        ("{mind.name = 7}", "E4004", "expected a non-empty string of UTF-8"),
        ('{mind.name = "y"}', "E4004", "name 'y' is given twice"),
    ],
)
def test_what_is_no_name_of_an_input(text: str, code: str, said: str) -> None:
    program = f'func.func @f(%x: tensor<f32> {text}, %y: tensor<f32> {{mind.name = "y"}}) -> tensor<f32> {{\n'
    result = mind_opt(stdin=f"{program}  %0 = mind.neg %x : tensor<f32>\n  func.return %0 : tensor<f32>\n}}")
    assert result.status == 1
    assert f"error[{code}]" in result.err
    assert said in result.err


def test_what_is_no_name_of_a_function() -> None:
    for name, place in ((r'@"\FF"', "0 of this name: [0xFF]"), (r'@"a\C3"', "1 of this name: [0xC3]")):
        result = mind_opt(stdin=f"func.func {name}() {{\n  func.return\n}}")
        assert result.err.startswith(f"error[E1001]: invalid UTF-8 at byte {place}\n --> stdin:1:11\n")
    generic = '"func.func"() <{sym_name = "\\FF", function_type = () -> ()}> ({\n  "func.return"() : () -> ()\n}) : () -> ()'
    assert mind_opt(stdin=generic).err.startswith("error[E4016]")


def test_bytes_that_are_no_text_stay_bytes() -> None:
    (op,) = parse('"test.op"() {a = "\\FF\\00", b = "\\C3\\A9", c = "e\\CC\\81"} : () -> ()').body.block.ops
    assert op.attributes["a"] == BytesAttr(b"\xff\x00")
    assert [op.attributes[k].data for k in "bc"] == ["é", "e\u0301"]
    assert parse(str(op)).body.block.first_op.attributes == op.attributes


def test_the_public_display_form_has_no_quoted_names() -> None:
    text = functions_program(["the f"])
    shown = mind_opt(PTIR, "-t", "ptir-text", stdin=text).out
    assert 'func @"the f" {' in shown
    refused = mind_opt(PTIR, "-t", "ptir-text{strict}", stdin=text)
    assert (refused.status, refused.out) == (1, "")
    assert "error[E4000]: the function name 'the f', expected a name without blanks" in refused.err
    assert parse_ptir_text(shown, strict=False)
    for bad, code in ((shown.replace('"the f"', '"a\\q"'), "E1004"), (shown.replace('"the f"', '""'), "E4000")):
        with pytest.raises(Exception, match=code):
            parse_ptir_text(bad)
    with pytest.raises(Exception, match='E4000: the name "the f", expected a name without quotes'):
        parse_ptir_text(shown, strict=True)
    plain = functions_program(["f"])
    assert "func @f {" in mind_opt(PTIR, "-t", "ptir-text{strict}", stdin=plain).out


def test_ssa_names_are_those_that_the_text_can_hold() -> None:
    held = {kind for kind, name in NAMES.items() if ssa_name(name)}
    assert held == {
        "a letter",
        "letter and digits",
        "digits of a suffix",
        "dots",
        "dollar",
        "a keyword of Python",
        "a builtin of Python",
        "dash",
        "dunder",
        "long",
    }
    for kind in held:
        assert f"%{NAMES[kind].removesuffix('_1').removesuffix('_0')} =" in str(parse(f'%{NAMES[kind]} = "test.op"() : () -> i1'))
