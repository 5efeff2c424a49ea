"""Messages call a value by the name that it has in the text that the reader wrote, whatever became of its op since."""

from __future__ import annotations

import pytest

import mind_runtime
from mind_dialect.build import exp, program, variable
from mind_dialect.core import AddOp
from mind_dialect.errors import MindError
from mind_dialect.names import known_name, named_values, note_names, noted_names, shown_op, shown_value
from mind_dialect.program import functions
from mind_dialect.verify import failures, verify
from mind_passes.canonicalize import canonicalize
from mind_passes.functional import grad
from mind_tools.frontends import parse

ROWS = [
    ("%0 = mind.add %x, %y : (tensor<2x3xf32>, tensor<4xf32>) -> tensor<2x3xf32>", "Add %0: cannot broadcast"),
    ("%17 = mind.add %x, %y : (tensor<2x3xf32>, tensor<4xf32>) -> tensor<2x3xf32>", "Add %17: cannot broadcast"),
    ("%sum = mind.add %x, %y : (tensor<2x3xf32>, tensor<4xf32>) -> tensor<2x3xf32>", "Add %sum: cannot broadcast"),
    ("%h_1 = mind.add %x, %y : (tensor<2x3xf32>, tensor<4xf32>) -> tensor<2x3xf32>", "Add %h_1: cannot broadcast"),
    (
        "%h_1 = mind.neg %x : tensor<2x3xf32>\n%h_3 = mind.neg %h_1 : (tensor<2x3xf32>) -> tensor<3xf32>",
        "Neg %h_3: declared result",
    ),
    ('%a:2 = "mind.neg"(%x) : (tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>)', "Neg %a: expects 1 result"),
    ('%a, %b = "mind.neg"(%x) : (tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>)', "Neg %a: expects 1 result"),
    ('"mind.add"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>', "Add %2: expects 2 operands"),
    ("mind.neg %x : tensor<2x3xf32>\n%0 = mind.neg %x : (tensor<2x3xf32>) -> tensor<4xf32>", "Neg %0: declared result"),
]


def written(*lines: str) -> str:
    body = "\n".join(lines)
    return f"func.func @f(%x: tensor<2x3xf32>, %y: tensor<4xf32>) {{\n{body}\nfunc.return\n}}"


@pytest.mark.parametrize(("line", "message"), ROWS)
def test_an_op_is_called_by_the_name_of_its_result(line: str, message: str):
    with pytest.raises(MindError) as e:
        verify(parse(written(line)))
    assert e.value.message.startswith(message)
    assert e.value.op is not None
    with pytest.raises(MindError) as again:
        e.value.op.check()  # type: ignore[attr-defined]
    assert again.value.message == e.value.message, "the op itself and the walk over the module agree"


def test_a_value_used_too_early_is_called_by_its_name():
    text = written("%9 = mind.neg %4 : tensor<2x3xf32>", "%4 = mind.neg %x : tensor<2x3xf32>")
    (found,) = failures(parse(text))
    assert found.message == "Neg %9 uses %4 before its definition, which is Neg %4"


def test_copies_and_what_takes_the_place_of_an_op_keep_its_name():
    module = parse(
        """func.func @f(%x: tensor<2xf32>, %w: tensor<1x1x1x1xf32>) -> tensor<f32> {
  %5 = mind.neg %x : tensor<2xf32>
  %3 = mind.add %x, %5 : tensor<2xf32>
  %l_7 = mind.sum %3 axes = [] keepdims = false : tensor<2xf32> -> tensor<f32>
  func.return %l_7 : tensor<f32>
}"""
    )
    (func,) = functions(module.clone())
    canonicalize(func)
    ops = list(func.body.block.ops)
    assert [op.name for op in ops] == ["mind.sub", "mind.sum", "func.return"]
    assert [op.place() for op in ops[:2]] == ["Sub %3", "Sum %l_7"]  # type: ignore[attr-defined]


def test_a_derivative_that_does_not_exist_is_reported_by_the_name_in_the_text():
    text = """func.func @f(%x: tensor<f32>) -> tensor<f32> attributes {mind.profile = "core-v1.1"} {
  %unused = mind.exp %x : tensor<f32>
  %n = mind.neg %x : tensor<f32>
  %13 = mind.div %n, %x : tensor<f32>
  func.return %13 : tensor<f32>
}"""
    with pytest.raises(MindError, match=r"E5001: Div %13: cannot be differentiated"):
        grad(parse(text))


def test_an_error_of_a_run_is_reported_by_the_name_in_the_text():
    import numpy as np

    text = "%4 = Input {name=x} : tensor<f32[3]>\n%2 = Input {name=i} : tensor<i32[1]>\n%9 = Gather (%4, %2)\noutputs: %9"
    gather = mind_runtime.compile(parse(text, "core-ir"))
    with pytest.raises(MindError, match=r"E6001: Gather %9: "):
        gather(np.zeros(3, np.float32), np.array([3], np.int32))


def test_names_of_core_ir_text_are_those_of_the_text():
    text = "%7 = Input {name=x} : tensor<f32[2, 3]>\n%a = Neg (%7)\n%5 = Add (%a, %7) : tensor<f32[4]>\noutputs: %5"
    with pytest.raises(MindError, match=r"E4015: Add %5: declared result"):
        verify(parse(text, "core-ir"))


def test_an_alias_in_core_ir_text_does_not_rename_a_value():
    text = "%0 = Input {name=x} : tensor<f32[2]>\n%1 = Neg (%0) : tensor<f32[3]>\n%8 = %1\noutputs: %8"
    with pytest.raises(MindError, match=r"E4015: Neg %1: declared result"):
        verify(parse(text, "core-ir"))


def test_what_no_text_names_is_called_by_its_hint_or_its_value_id():
    x = variable("x", "f32", (2,))
    (func,) = functions(program("f", exp(exp(x))))
    first, second, _ = func.body.block.ops
    assert [noted_names(op) for op in (first, second)] == [(), ()]
    assert (known_name(first.results[0]), shown_op("Exp", second)) == (None, "Exp %2")
    second.results[0].name_hint = "e"
    assert (known_name(second.results[0]), shown_op("Exp", second)) == ("%e", "Exp %e")
    loose = AddOp(first.results[0], first.results[0])
    assert (loose.place(), shown_value(loose.result)) == ("Add", "a value of no block")
    assert shown_value(func.body.block.args[0]) == "%0"


def test_a_location_that_the_text_states_names_nothing():
    """Several ops may share it."""
    line = "%0 = mind.neg %x : tensor<2x3xf32> loc(#l)\n%1 = mind.neg %0 : tensor<2x3xf32> loc(#l)"
    module = parse(f'#l = loc("a":1:2)\n{written(line)}')
    (func,) = functions(module)
    assert [op.place() for op in list(func.body.block.ops)[:2]] == ["Neg %2", "Neg %3"]  # type: ignore[attr-defined]


def test_no_names_are_no_note():
    (func,) = functions(parse(written("mind.neg %x : tensor<2x3xf32>")))
    op = func.body.block.ops.first
    assert op is not None
    note_names(op.location, [])
    assert noted_names(op) == ()


def test_values_of_one_hint_that_no_text_names_are_told_apart_as_in_print():
    x = variable("x", "f32", (2,))
    (func,) = functions(program("f", exp(exp(exp(exp(x))))))
    hints = ["h", None, "h", "h"]
    ops = list(func.body.block.ops)[:-1]
    for op, hint in zip(ops, hints, strict=True):
        op.results[0].name_hint = hint
    assert named_values(func.body.block) == {"h": [ops[0].results[0]], "h_1": [ops[2].results[0]], "h_2": [ops[3].results[0]]}
    shown = str(func)
    assert all(f"%{name} = mind.exp" in shown for name in ("h", "h_1", "h_2"))


def test_a_name_of_the_text_gives_way_to_a_hint_that_is_another():
    """As after a pass that has put another value in the place of the op."""
    (func,) = functions(
        parse(
            written(
                "%h_4 = mind.neg %x : tensor<2x3xf32>", "%k = mind.neg %x : tensor<2x3xf32>", "%7 = mind.neg %x : tensor<2x3xf32>"
            )
        )
    )
    first, second, third = (op.results[0] for op in list(func.body.block.ops)[:-1])
    assert named_values(func.body.block) == {"h_4": [first], "k": [second]}
    second.name_hint, third.name_hint = "other", "z"
    assert named_values(func.body.block) == {"h_4": [first], "other": [second], "z": [third]}
    first.name_hint = None
    assert named_values(func.body.block) == {"other": [second], "z": [third]}


def test_a_result_without_a_name_hides_none_behind_it():
    """Neither one of the same op nor one of an op before."""
    text = """func.func @f(%x: tensor<4xf32>) {
      %0, %r = ptir.top_k %x k = 2 axis = 0 largest = true : tensor<4xf32> -> (tensor<2xf32>, tensor<2xsi32>)
      %1 = ptir.neg %x : tensor<4xf32>
      %n = ptir.neg %1 : tensor<4xf32>
      func.return
    }"""
    (func,) = functions(parse(text, lenient=True))
    top, _, neg, _ = func.body.block.ops
    assert named_values(func.body.block) == {"r": [top.results[1]], "n": [neg.results[0]]}
