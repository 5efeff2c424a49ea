"""`--verify-diagnostics`: comments that say which diagnostics a text leads to, met and not met."""

from __future__ import annotations

import re

import pytest

from tool_runs import mind_opt

GOOD = "func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {\n  func.return %x : tensor<2xf32>\n}\n"
BAD = """func.func @f(%x: tensor<2x3xf32>, %y: tensor<4xf32>) -> tensor<2x3xf32> {
  ABOVE
  %0 = mind.add %x, %y : (tensor<2x3xf32>, tensor<4xf32>) -> tensor<2x3xf32> // SAME
  // BELOW

  func.return %0 : tensor<2x3xf32>
}
"""


def bad(above: str = "", same: str = "", below: str = "") -> str:
    return BAD.replace("ABOVE", f"// {above}").replace("SAME", same).replace("BELOW", below)


MET = {
    "on the line": bad(same="expected-error {{cannot broadcast [2, 3] with [4]}}"),
    "the code": bad(same="expected-error {{E3001}}"),
    "code and message": bad(same="expected-error {{E3001: Add %0: cannot}}"),
    "a line below": bad("expected-error@+1 {{broadcast}}"),
    "a line above": bad(below="expected-error@-1 {{broadcast}}"),
    "below": bad("expected-error@below {{broadcast}}"),
    "above": bad(below="expected-error@above {{broadcast}}"),
    "blanks": bad("expected-error  @+1   {{broadcast}}  "),
    "regular expression": bad("expected-error-re@+1 {{Add %{{[0-9]+}}: cannot broadcast {{.*}} dimension 1}}"),
    "characters of regular expressions": bad("expected-error@+1 {{[2, 3]}}"),
    "a note": bad("expected-note@+1 {{ShapeError}}", "expected-error {{broadcast}}"),
    "any text": bad(same="expected-error {{}}"),
    "nothing to expect": GOOD,
    "two below": bad("expected-note@below {{ShapeError}}\n  // expected-error@below {{broadcast}}"),
    "two above": bad(below="expected-note@above {{ShapeError}}\n  // expected-error@above {{broadcast}}"),
    "a parse error": "// expected-error@+1 {{expected an op or an alias}}\n]",
    "a name": "func.func @f() {\n  // expected-error@+1 {{unknown op 'nope'}}\n  nope\n}",
}


@pytest.mark.parametrize("text", MET.values(), ids=list(MET))
def test_comments_that_are_met(text: str) -> None:
    result = mind_opt("--verify-diagnostics", stdin=text)
    assert (result.status, result.err) == (0, "")
    assert ("builtin.module" in result.out) == (text == GOOD)


NOT_MET = {
    "another text": (
        bad(same="expected-error {{bradcast}}"),
        ["E3001", "E7005"],
        "the expected error 'bradcast' on line 3 was",
    ),
    "another line": (bad("expected-error {{broadcast}}"), ["E3001", "E7005"], "on line 2 was not produced"),
    "another kind": (bad(same="expected-warning {{broadcast}}"), ["E3001", "E7005"], "the expected warning 'broadcast'"),
    "remark": (bad(same="expected-remark {{broadcast}}"), ["E3001", "E7005"], "the expected remark"),
    "twice": (bad("expected-error@+1 {{broadcast}}", "expected-error {{broadcast}}"), ["E7005"], "on line 3 was not produced"),
    "another note": (bad("expected-note@+1 {{TypeError}}", "expected-error {{broadcast}}"), ["E7005"], "the expected note"),
    "nothing said": (bad(), ["E3001"], "unexpected: no comment expects it on that line"),
    "nothing wrong": (GOOD + "// expected-error@-1 {{x}}", ["E7005"], "the expected error 'x' on line 3 was not produced"),
    "unknown line": (bad(same="expected-error@unknown {{broadcast}}"), ["E3001", "E7005"], "without a line was not produced"),
    "below at the end": (GOOD + "// expected-error@below {{x}}", ["E7005"], "without a line was not produced"),
    "a pattern as text": (bad(same="expected-error {{broadcast.*}}"), ["E3001", "E7005"], "was not produced"),
    "a parse error elsewhere": ("// expected-error {{expected an op}}\n]", ["E1007", "E7005"], "on line 1"),
    "one of two": (bad(same="expected-error {{broadcast}}") + "// expected-error {{x}}", ["E7005"], "on line 8"),
}


@pytest.mark.parametrize("name", NOT_MET)
def test_comments_that_are_not_met(name: str) -> None:
    text, codes, said = NOT_MET[name]
    result = mind_opt("--verify-diagnostics", stdin=text)
    assert result.status == 1
    assert re.findall(r"^error\[(\w+)\]", result.err, re.MULTILINE) == codes
    assert said in result.err


@pytest.mark.parametrize(
    "comment",
    [
        "expected-error {{broadcast}",
        "expected-error {broadcast}",
        "expected-error broadcast",
        "expected-error@1 {{broadcast}}",
        "expected-error@+ {{broadcast}}",
        "expected-error@over {{broadcast}}",
        "expected-error {{broadcast}} and more",
        "expected-error-re {{{{(}}}}",
    ],
)
def test_comments_that_cannot_be_read(comment: str) -> None:
    result = mind_opt("--verify-diagnostics", stdin=bad(same=comment))
    assert result.status == 1
    assert result.err.startswith("error[E7005]: cannot read ")
    assert "--> stdin:3:" in result.err


def test_each_chunk_is_compared_by_itself() -> None:
    met = bad("expected-error@+1 {{broadcast}}")
    result = mind_opt("--verify-diagnostics", "--split-input-file", stdin=f"{met}// -----\n{GOOD}// -----\n{met}")
    assert (result.status, result.err) == (0, "")
    assert result.out.count("func.func") == 1
    result = mind_opt("--verify-diagnostics", "--split-input-file", stdin=f"{met}// -----\n{GOOD}// -----\n{bad()}")
    assert result.status == 1
    assert "--> stdin:15:8" in result.err
    result = mind_opt("--verify-diagnostics", "--split-input-file", stdin=f"{met}// -----\n// expected-error {{{{x}}}}\n")
    assert "--> stdin:9:4" in result.err
    assert "on line 9 was not produced" in result.err


def test_several_errors_at_once() -> None:
    wrong_axis = "%1 = mind.sum %x axes = [5] keepdims = false : tensor<2x3xf32> -> tensor<f32>"
    text = bad("expected-error@+1 {{broadcast}}", below=f"\n  // expected-error@below {{{{E3004}}}}\n  {wrong_axis}")
    assert mind_opt("--verify-diagnostics", "--verify-all", stdin=text).status == 0
    first_only = mind_opt("--verify-diagnostics", stdin=text)
    assert re.findall(r"^error\[(\w+)\]", first_only.err, re.MULTILINE) == ["E7005"]


NEG = """func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> { // HERE
  %0 = mind.neg %x : tensor<2xf32>
  func.return %0 : tensor<2xf32>
}"""


def test_errors_of_passes() -> None:
    assert "--> stdin:1:1" in mind_opt("--autodiff=wrt=q", stdin=NEG).err
    for comment, status in (("expected-error {{wrt=q names no value}}", 0), ("expected-error@+1 {{wrt=q}}", 1), ("", 1)):
        text = NEG.replace("HERE", comment)
        assert mind_opt("--verify-diagnostics", "--autodiff=wrt=q", stdin=text).status == status


def test_errors_without_a_line_are_expected_at_none() -> None:
    text = "// expected-error@unknown {{E7004: pass}}\n" + NEG
    assert mind_opt("--verify-diagnostics", "--mlir-opt=executable=no-such-program", stdin=text).status == 0
    assert mind_opt("--verify-diagnostics", "--mlir-opt=executable=no-such-program", stdin=NEG).status == 1


def test_a_text_that_is_not_utf8_is_compared_too() -> None:
    assert mind_opt("--verify-diagnostics", stdin=b"// expected-error@+1 {{invalid UTF-8}}\n\xff").status == 0
    assert mind_opt("--verify-diagnostics", stdin=b"\xff").status == 1


def test_comments_of_core_ir() -> None:
    text = "%0 = Input {name=x} : tensor<f32[2]>\n# expected-error@+1 {{unknown opcode}}\n%1 = Foo (%0)\noutputs: %1\n"
    assert mind_opt("-f", "core-ir", "--verify-diagnostics", stdin=text).status == 0
    assert mind_opt("-f", "core-ir", "--verify-diagnostics", stdin=text.replace("+1", "+2")).status == 1
