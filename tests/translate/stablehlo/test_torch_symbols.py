"""Symbols and bindings of torch-mlir as names, expressions and declarations; what is no binding is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mind_dialect.declared_dims import declarations_of
from mind_dialect.errors import MindError, MindParseError
from mind_dialect.program import functions
from mind_runtime import compile
from stablehlo_programs import read

TEXT = """func.func @f(%x: tensor<?x4xf32>, %y: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %s0 = "torch.symbolic_int"() <{symbol_name = "T", min_val = MIN : i64, max_val = MAX : i64}> : () -> !torch.int
  %s1 = "torch.symbolic_int"() <{symbol_name = "B", min_val = 2 : i64, max_val = 9223372036854775807 : i64}> : () -> !torch.int
  "torch.bind_symbolic_shape"(%x, %s0) <{shape_expressions = affine_map<()[s0] -> (s0, 4)>}> : (tensor<?x4xf32>, !torch.int) -> ()
  "torch.bind_symbolic_shape"(%y, %s1, %s0) <{shape_expressions = affine_map<()[s0, s1] -> (MAP, 4)>}>
      : (tensor<?x4xf32>, !torch.int, !torch.int) -> ()
  %0 = stablehlo.concatenate %x, %y, dim = 0 : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  "torch.bind_symbolic_shape"(%0, %s1, %s0) <{shape_expressions = affine_map<()[s0, s1] -> (s1 + MAP, 4)>}>
      : (tensor<?x4xf32>, !torch.int, !torch.int) -> ()
  func.return %0 : tensor<?x4xf32>
}"""


def text(least: int = 2, most: int = 2**63 - 1, map: str = "s0 * 2 + s1") -> str:
    return TEXT.replace("MIN", str(least)).replace("MAX", str(most)).replace("MAP", map)


PRETTY = """func.func @f(%x: tensor<?x4xf32>, %y: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %s0 = torch.symbolic_int "T" {min_val = MIN, max_val = MAX} : !torch.int
  %s1 = torch.symbolic_int "B" {min_val = 2, max_val = 9223372036854775807} : !torch.int
  torch.bind_symbolic_shape %x, [%s0], affine_map<()[s0] -> (s0, 4)> : tensor<?x4xf32>
  torch.bind_symbolic_shape %y, [%s1, %s0], affine_map<()[s0, s1] -> (MAP, 4)> : tensor<?x4xf32>
  %0 = stablehlo.concatenate %x, %y, dim = 0 : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  torch.bind_symbolic_shape %0, [%s1, %s0], affine_map<()[s0, s1] -> (s1 + MAP, 4)> : tensor<?x4xf32>
  func.return %0 : tensor<?x4xf32>
}"""


@pytest.mark.parametrize("map", ["s0 * 2 + s1", "s1 floordiv 2"])
def test_the_pretty_form_says_what_the_generic_form_says(map: str) -> None:
    pretty = PRETTY.replace("MIN", "3").replace("MAX", "1024").replace("MAP", map)
    assert str(read(pretty)) == str(read(text(3, 1024, map)))
    assert [fact.text for f in functions(read(pretty)) for fact in declarations_of(f)] == ["T >= 3", "T <= 1024"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"T" {min', "T {min", "E1007: string literal expected"),
        ("%x, [%s0], affine", "%x, %s0, affine", r"E1007: '\[' expected"),
        ("[%s0], affine_map<()[s0] -> (s0, 4)>", "[%s0]", "E1007: expected ','"),
        ("%x, [%s0]", "%x, [%none]", "E4001: %none is used but not defined"),
        (" : !torch.int", "", "E1007: expected ':'"),
    ],
)
def test_a_pretty_form_that_is_none_is_refused(old: str, new: str, message: str) -> None:
    with pytest.raises(MindParseError, match=message):
        read(PRETTY.replace("MIN", "2").replace("MAX", "8").replace("MAP", "s0").replace(old, new, 1))


def types(module: Any) -> list[str]:
    (f,) = functions(module)
    return [str(t) for t in (*f.function_type.inputs.data, *f.function_type.outputs.data)]


def test_bindings_name_dimensions() -> None:
    module = read(text())
    assert types(module) == [
        'tensor<?x4xf32, "T,*">',
        'tensor<?x4xf32, "2*B+T,*">',
        'tensor<?x4xf32, "2*B+2*T,*">',
    ]
    run = compile(module)
    assert run(np.zeros((3, 4), np.float32), np.zeros((7, 4), np.float32)).shape == (10, 4)
    with pytest.raises(MindError) as found:
        run(np.zeros((3, 4), np.float32), np.zeros((6, 4), np.float32))
    assert found.value.code == "E8001"


@pytest.mark.parametrize(
    ("map", "dim"),
    [("s1 floordiv 2", "T floordiv 2"), ("s1 ceildiv 8", "T ceildiv 8"), ("s1 mod 8", "T mod 8"), ("s1", "T")],
)
def test_expressions_of_maps(map: str, dim: str) -> None:
    assert types(read(text(map=map)))[1] == f'tensor<?x4xf32, "{dim},*">'


@pytest.mark.parametrize(
    ("least", "most", "facts"),
    [(2, 2**63 - 1, []), (0, 1024, ["T <= 1024"]), (3, 8, ["T >= 3", "T <= 8"]), (4, 4, ["T >= 4", "T <= 4"])],
)
def test_ranges_are_declared(least: int, most: int, facts: list[str]) -> None:
    (f,) = functions(read(text(least, most)))
    assert [fact.text for fact in declarations_of(f)] == facts


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("(MAP, 4)", "(s0, s1, 4)", "a binding of"),
        ("(MAP, 4)", "(s0, 5)", "a binding of"),
        ("()[s0, s1] -> (MAP, 4)", "(d0)[s0, s1] -> (d0, 4)", "a map of 2 symbols"),
        ("()[s0, s1] -> (MAP, 4)", "()[s0] -> (s0, 4)", "a map of 2 symbols"),
        ("(MAP, 4)", "(s0 floordiv 0, 4)", "divided by positive numbers only"),
        ('symbol_name = "B"', 'symbol_name = "1 B"', "a symbol called 1 B"),
    ],
)
def test_what_is_no_binding_is_refused(old: str, new: str, message: str) -> None:
    with pytest.raises(MindError, match=message) as found:
        read(TEXT.replace(old, new).replace("MIN", "2").replace("MAX", "99").replace("MAP", "s0"))
    assert found.value.code == "E4000"
