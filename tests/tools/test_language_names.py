"""Names of a text: what belongs together, in whole programs and in the middle of an edit."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mind_dialect.program import functions
from mind_tools.frontends import parse, parse_mlir
from mind_tools.language.names import Names

ROOT = Path(__file__).parents[2]
TEXT = """builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @main(%w: tensor<3xf32> {mind.name = "w"}, %x: tensor<2x3xf32>) -> tensor<3xf32> {
    %0 = ptir.broadcast_to %w result_shape = [2, 3] : tensor<3xf32> -> tensor<2x3xf32>  // %0 is no use
    %1:2 = "test.op"(%x) ({
    ^bb0(%i: i32):
      %9 = "test.use"(%i, %0) : (i32, tensor<2x3xf32>) -> i32
      "test.yield"(%9) : (i32) -> ()
    }) {text = "%0"} : (tensor<2x3xf32>) -> (i32, i64)
    %3 = ptir.mul %x, %0 : tensor<2x3xf32>
    %4 = "test.k"(%1#1) : (i64) -> i32
    func.return %w : tensor<3xf32>
  }
  func.func private @other(%w: tensor<3xf32>) -> tensor<3xf32> {
    %0 = func.call @main(%w, %w) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    cf.br ^bb1(%0 : tensor<3xf32>)
  ^bb1(%a: tensor<3xf32>):
    scf.for %i = %lb to %ub step %s iter_args(%c = %a) -> (tensor<3xf32>) {
      scf.yield %c : tensor<3xf32>
    }
    %p, %q = "test.two"() : () -> (i32, i32)
    "test.use"(%q) : (i32) -> ()
    func.return %a : tensor<3xf32>
  }
}
"""


def table(names: Names) -> list[tuple[str, int, list[int]]]:
    """Each definition with its line and those of its uses, from 1."""
    found = sorted(names.definitions, key=lambda d: d.token.start)
    return [(d.name, names.place(d.token.start)[0] + 1, [names.place(u.start)[0] + 1 for u in d.uses]) for d in found]


def test_names_are_looked_up_in_regions_up_to_the_function():
    assert table(Names(TEXT)) == [
        ("@main", 2, [14]),
        ("%w", 2, [3, 11]),
        ("%x", 2, [4, 9]),
        ("%0", 3, [6, 9]),
        ("%1", 4, [10]),
        ("^bb0", 5, []),
        ("%i", 5, [6]),
        ("%9", 6, [7]),
        ("%3", 9, []),
        ("%4", 10, []),
        ("@other", 13, []),
        ("%w", 13, [14, 14]),
        ("%0", 14, [15]),
        ("^bb1", 16, [15]),
        ("%a", 16, [17, 22]),
        ("%i", 17, []),
        ("%c", 17, [18]),
        ("%p", 20, []),
        ("%q", 20, [21]),
    ]


def test_results_know_their_op_and_number():
    heads = {
        d.name: (d.head and d.head.text, d.result) for d in Names(TEXT).definitions if d.name in {"%1", "%3", "%p", "%q", "%w"}
    }
    assert heads == {
        "%1": ('"test.op"', 0),
        "%3": ("ptir.mul", 0),
        "%p": ('"test.two"', 0),
        "%q": ('"test.two"', 1),
        "%w": (None, 0),
    }


def test_core_ir_numbers_values_anew_in_each_function():
    first = "# @f, the first\n%0 = Input {name=x} : tensor<f32[2]>\n%1 = Neg (%0)\noutputs: %1\n"
    names = Names(first + "# @g\n%0 = Input {name=y}\noutputs: %0\n", "core-ir")
    assert table(names) == [("@f", 1, []), ("%0", 2, [3]), ("%1", 3, [4]), ("@g", 5, []), ("%0", 6, [7])]
    assert [f.name for f in names.functions] == ["@f", "@g"]


PROGRAMS = sorted([*(ROOT / "tests" / "filecheck" / "examples").glob("*.mlir"), *(ROOT / "examples").glob("*.coreir")])


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda p: p.name)
def test_a_whole_program_has_no_name_that_means_nothing(path: Path):
    """The independent count is that of the parser: as many uses of values as operands, as many functions."""
    text, form = path.read_text(encoding="utf-8"), "core-ir" if path.suffix == ".coreir" else "mlir"
    names = Names(text, form)
    module = parse_mlir(text, path.name) if form == "mlir" else parse(text, form, path.name)
    assert [f.name[1:] for f in names.functions] == [f.sym_name.data for f in functions(module)]
    unknown = [t.text for t in names.tokens if t.kind == "name" and t.text[0] == "%" and t.start not in names.of]
    assert not unknown
    uses = sum(len(d.uses) for d in names.definitions if d.name[0] == "%")
    assert uses == sum(len(op.operands) for op in module.walk())


def test_examples_are_there():
    assert len(PROGRAMS) >= 3


@given(st.integers(0, len(TEXT)), st.integers(0, 40), st.text('%@^(){}=:,"/ \nabc#0', max_size=8))
def test_an_edit_never_fails(start: int, length: int, typed: str):
    text = TEXT[:start] + typed + TEXT[start + length :]
    names = Names(text)
    for definition in names.definitions:
        for token in (definition.token, *definition.uses):
            assert text[token.start : token.end] == definition.name == token.text
            assert names.offset(*names.place(token.start)) == token.start
    names.scope_at(start)
    names.at(start)


def test_places_are_found_at_both_ends_of_a_name():
    names = Names(TEXT)
    start = TEXT.index("%x: ")
    for offset in (start, start + 1, start + 2):
        found = names.at(offset)
        assert found is not None
        assert found.text == "%x"
    assert names.at(TEXT.index("attributes") - 1) is not None
    assert Names("").at(0) is None
    assert Names("  \n ").at(3) is None


def test_ten_thousand_ops_take_time_in_proportion():
    """Counted, not timed: each token is looked at a bounded number of times."""
    body = "".join(f"    %v{i + 1} = ptir.neg %v{i} : tensor<f32>\n" for i in range(10_000))
    names = Names(f"func.func @f(%v0: tensor<f32>) {{\n{body}  func.return %v10000 : tensor<f32>\n}}\n")
    assert len(names.definitions) == 10_002
    assert all(len(d.uses) == 1 for d in names.definitions if d.name[0] == "%")
