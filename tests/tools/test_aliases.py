"""Aliases in any order, and locations in every form that MLIR prints."""

from __future__ import annotations

import itertools

import pytest
from xdsl.dialects.builtin import FileLineColLoc, FusedLoc, NameLoc, StringAttr

from mind_dialect.errors import MindParseError
from mind_tools.frontends import parse
from tool_runs import mind_opt

DEFINITIONS = (
    "#a = [#b, 1 : i8]",
    "#b = 7 : i32",
    "!t = tensor<2x!e>",
    "!e = f32",
    '#loc1 = loc("f.mlir":1:2)',
    "#loc2 = loc(fused[#loc1])",
)
OP = '%0 = "test.op"() {x = #a, y = !e} : () -> !t loc(#loc2)'
EXPECTED = 'x = [7 : i32, 1 : i8], y = f32} : () -> tensor<2xf32> loc(fused["f.mlir":1:2])'


@pytest.mark.parametrize("place", range(len(DEFINITIONS) + 1))
def test_definitions_stand_anywhere(place: int) -> None:
    for order in itertools.islice(itertools.permutations(DEFINITIONS), 0, None, 37):
        text = "\n".join([*order[:place], OP, *order[place:]])
        result = mind_opt("--print-debuginfo", stdin=text)
        assert (result.status, result.err) == (0, "")
        assert EXPECTED in result.out


def test_definitions_of_one_line_and_in_pieces() -> None:
    text = f"{OP} #b = // why\n 7 : i32 #a=[#b,1 : i8] !e = f32 !t = tensor<2x!e>\n#loc2\n=\nloc(fused[#loc1]) " + DEFINITIONS[4]
    assert EXPECTED in mind_opt("--print-debuginfo", stdin=text).out


@pytest.mark.parametrize(
    ("text", "code", "place", "said"),
    [
        ("#a = #b\n#b = #a\nX #a", "E1007", (2, 6), "the alias #a is defined by itself: #a -> #b -> #a"),
        ("X #a\n#a = [#a]", "E1007", (2, 7), "the alias #a is defined by itself: #a -> #a"),
        ("X #a\n#a = #b\n#b = [1, #b]", "E1007", (3, 10), "the alias #b is defined by itself"),
        ("X #a\n#a = 1\n#a = 2", "E1007", None, "re-declaration of alias '#a'"),
        ("#a = 1\nX #a\n#a = 2", "E1007", None, "re-declaration of alias '#a'"),
        ("X #name\n#nam = 1", "E4000", (1, 18), "undefined alias #name, expected #nam"),
        ('X #a\n"test.op"() ({\n#a = 1\n}) : () -> ()', "E4000", (1, 18), "undefined alias #a"),
        ("X #a\n// #a = 1", "E4000", (1, 18), "undefined alias #a"),
        ('X [#a, "\\0A#a = 1"]', "E4000", (1, 19), "undefined alias #a"),
        ("X #a\n!a = i1", "E4000", (1, 18), "undefined alias #a"),
        ("X #a\n#a = ;", "E1002", (2, 6), "unexpected character"),
        ("X #a\n;\n#a = 1", "E1002", (2, 1), "unexpected character"),
        ("X #a\n#a =", "E1007", None, "attribute expected"),
        ("X 1 loc(#a)\n#a = 1", "E1007", None, ""),
    ],
)
def test_what_is_no_definition(text: str, code: str, place: tuple[int, int] | None, said: str) -> None:
    whole = "\n".join(f'"test.op"() {{a = {line[2:]}}} : () -> ()' if line[:2] == "X " else line for line in text.split("\n"))
    with pytest.raises(MindParseError) as caught:
        parse(whole)
    assert caught.value.error.code == code
    assert said in caught.value.error.message
    found = caught.value.span.get_location()
    assert place is None or (found.line, found.col) == place


def test_a_chain_of_definitions_ahead_is_read_or_refused() -> None:
    def chain(length: int) -> str:
        lines = [f"#a{i} = [#a{i + 1}]" for i in range(length)]
        return "\n".join(['"test.op"() {a = #a0} : () -> ()', *lines, f"#a{length} = 1"])

    assert parse(chain(200))
    with pytest.raises(MindParseError, match="E1007: nested too deeply"):
        parse(chain(20_000))


def test_aliases_ahead_of_aliases_do_not_explode() -> None:
    lines = [f"#a{i} = [#a{i - 1}, #a{i - 1}]" for i in range(59, 0, -1)]
    with pytest.raises(MindParseError, match="E1007: aliases expand to more"):
        parse("\n".join(['"test.op"() {a = #a59} : () -> ()', *lines, "#a0 = [1, 1]"]))


LOCATIONS = {
    '"f.mlir":1:2': '"f.mlir":1:2',
    '"f.mlir":1:2 to :5': '"f.mlir":1:2',
    '"f.mlir":1:2 to 3:4': '"f.mlir":1:2',
    '"name"': '"name"',
    '"name"("f.mlir":1:2 to 3:4)': '"name"("f.mlir":1:2)',
    'callsite("f" at "g.mlir":3:4 to :5)': 'callsite("f" at "g.mlir":3:4)',
    'fused["a", "f.mlir":1:2 to :5]': 'fused["a", "f.mlir":1:2]',
    'fused<"cse">["a"]': 'fused<"cse">["a"]',
    "fused<#test>[unknown]": "fused<7 : i8>[unknown]",
    "unknown": "unknown",
    "#l": 'fused<"x">["a"]',
}


@pytest.mark.parametrize("text", LOCATIONS)
def test_every_form_of_a_location(text: str) -> None:
    program = f"""func.func @f(%x: tensor<2xf32> loc({text})) -> tensor<2xf32> {{
  %0 = mind.neg %x : tensor<2xf32> loc({text})
  func.return %0 : tensor<2xf32> loc({text})
}} loc({text})
#l = loc(fused<"x">["a"])
#test = 7 : i8"""
    result = mind_opt("--print-debuginfo", stdin=program)
    assert (result.status, result.err) == (0, "")
    assert result.out.count(f"loc({LOCATIONS[text]})") == (5 if text == "unknown" else 4)  # the module's own
    assert mind_opt("--print-debuginfo", stdin=result.out).out == result.out


@pytest.mark.parametrize(
    "text", ['"f":1', '"f":1:2 to', '"f":1:2 to 3', '"f":1:2 to :', "fused", "fused<1>", "fused<1[unknown]", "nope"]
)
def test_what_is_no_location(text: str) -> None:
    assert mind_opt(stdin=f'"test.op"() : () -> () loc({text})').err.startswith("error[E1007]")


def test_locations_are_those_of_xdsl() -> None:
    ops = parse('"test.op"() : () -> () loc("a"("f":1:2 to 3:4))\n"test.op"() : () -> () loc(fused<"x">["a"])').body.block.ops
    named, fused = (op.location for op in ops)
    assert isinstance(named, NameLoc)
    assert isinstance(named.location, FileLineColLoc)
    assert isinstance(fused, FusedLoc)
    assert fused.metadata == StringAttr("x")
