"""`mind-run` on functions on shapes: values as text, what is printed, what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from xdsl.dialects.builtin import IndexType, f32, i1
from xdsl.dialects.builtin import TensorType as Tensor

from mind_dialect.errors import MindError
from mind_dialect.shape.lattice import UNRANKED, Invalid
from mind_dialect.shape.types import extents_type, shape, size, value_shape, witness
from mind_runtime.interpreted_shape import ValueShape
from mind_tools.mind_run import main
from mind_tools.run_shapes import read_value, shown

PROGRAM = """
func.func @f(%x: tensor<?x4xf32>, %s: !shape.shape) -> (!shape.shape, !shape.size) {
  %a = shape.shape_of %x : tensor<?x4xf32> -> tensor<2xindex>
  %b = shape.broadcast %a, %s : tensor<2xindex>, !shape.shape -> !shape.shape
  %p = "shape.debug_print"(%b) : (!shape.shape) -> !shape.shape
  %n = shape.num_elements %p : !shape.shape -> !shape.size
  func.return %b, %n : !shape.shape, !shape.size
}
shape.function_library @lib {
  shape.func @same(%v: !shape.value_shape) -> !shape.shape {
    %0 = shape.shape_of %v : !shape.value_shape -> !shape.shape
    shape.return %0 : !shape.shape
  }
} mapping {test.exp = @same}
func.func @again(%n: !shape.size) -> !shape.size {
  %0 = func.call @again(%n) : (!shape.size) -> !shape.size
  func.return %0 : !shape.size
}
func.func @index(%n: !shape.size) -> index {
  %0 = shape.size_to_index %n : !shape.size
  func.return %0 : index
}
func.func @plain(%x: tensor<2xf32>) -> tensor<2xf32> {
  func.return %x : tensor<2xf32>
}
"""


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    path = tmp_path / "program.mlir"
    path.write_text(PROGRAM, encoding="utf-8")

    def call(*arguments: str) -> tuple[Any, str, str]:
        with pytest.raises(SystemExit) as ended:
            main([str(path), *arguments])
        captured = capsys.readouterr()
        return ended.value.code, captured.out, captured.err

    return call


def test_results_are_printed_after_what_the_program_prints(run: Any):
    status, out, err = run("--function", "f", "x=[[1,2,3,4],[1,2,3,4]]", "s=[5, 1, 1]")
    assert (status, err) == (0, "")
    assert out.splitlines() == ["[5, 2, 4]", "b: !shape.shape = [5, 2, 4]", "n: !shape.size = 40"]


def test_errors_and_what_is_unknown_are_values(run: Any):
    status, out, _ = run("--function", "f", "x=[[1,2,3,4]]", "s=[5]")
    why = 'invalid "operands could not be broadcast together with shapes (1,4) (5,)"'
    assert (status, out.splitlines()[1:]) == (0, [f"b: !shape.shape = [{why}]", f"n: !shape.size = {why}"])
    status, out, _ = run("--function", "f", "x=[[1,2,3,4]]", "s=[?, 1]")
    assert (status, out.splitlines()[1:]) == (0, ["b: !shape.shape = [?, 4]", "n: !shape.size = ?"])


def test_functions_of_libraries(run: Any):
    assert run("--function", "lib.same", "v=[5, 3]")[:2] == (0, "out0: !shape.shape = [5, 3]\n")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--function", "index", "n=?"), "E9021"),
        (("--function", "index", 'n=invalid "so"'), "E9020"),
        (("--function", "index", "n=-1"), "E1005"),
        (("--function", "index", f"n={2**63}"), "E1005"),
        (("--function", "index"), "E2007"),
        (("--function", "index", "m=1"), "E7003"),
        (("--function", "index", "3"), "E7001"),
        (("--function", "index", "n=1", "n=2"), "E7001"),
        (("--function", "index", "n=1", "--save", "there"), "E7001"),
        (("--function", "index", "n=1", "--memory"), "E7001"),
        (("--function", "lib.nothing",), "E7003"),
        (("--function", "f", "x=[[1,2,3]]", "s=[]"), "E3010"),
        (("--function", "f", "x=[[1,2,3,4]]", "s=[5"), "E1007"),
        (("--function", "f", "x=[[1,2,3,4]]", "s=[-5]"), "E1005"),
        ((), "E7001"),
    ],
)  # fmt: skip
def test_bad_input_is_coded(run: Any, arguments: tuple[str, ...], code: str):
    status, out, err = run(*arguments)
    assert (status, out) == (1, "")
    assert err.startswith(f"error[{code}]"), err


def test_an_unknown_function_is_told_which_there_are(run: Any):
    assert "did you mean lib.same?" in run("--function", "same", "v=[2]")[2]
    assert "expected one of again, f, index, lib.same, plain" in run("--function", "nothing")[2]


def test_a_function_that_calls_itself_for_ever_ends(run: Any):
    status, _, err = run("--function", "again", "n=1")
    assert status == 1
    assert err.startswith("error["), err


def test_other_functions_of_such_a_module_run_as_ever(run: Any):
    status, out, _ = run("--function", "plain", "x=[1, 2]")
    assert (status, out) == (0, "x: f32[2] = [1., 2.]\n")


@pytest.mark.parametrize(
    ("text", "type", "expected"),
    [
        ("3", size, 3), ("?", size, "?"), ("invalid", size, Invalid("")), ('invalid "a b"', size, Invalid("")),
        ("[3, ?]", shape, (3, "?")), ("[]", shape, ()), ("*", shape, UNRANKED), ("[*]", shape, UNRANKED),
        ('[invalid "why"]', shape, Invalid("")), ("true", witness, True), ("-4", IndexType(), -4), ("false", i1, False),
    ],
)  # fmt: skip
def test_values_are_read_and_written(text: str, type: Any, expected: Any):
    found = read_value(text, type, "x", 0)
    assert found == expected
    if text not in ("*", "invalid"):
        assert shown(found, type) == text


def test_lists_tensors_and_value_shapes():
    assert read_value("[3, 4]", extents_type(None), "x", 0).tolist() == [3, 4]
    assert read_value("[[1, 2]]", Tensor(f32, [1, 2]), "x", 0).shape == (1, 2)
    assert read_value("[3, ?]", value_shape, "x", 0) == ValueShape(None, (3, "?"))
    assert read_value('invalid "why"', value_shape, "x", 0) == Invalid("")
    assert shown(ValueShape(None, (3, "?")), value_shape) == "[3, ?]"
    with pytest.raises(MindError, match="E1007"):
        read_value("maybe", witness, "x", 0)
