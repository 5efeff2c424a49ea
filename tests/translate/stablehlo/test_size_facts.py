"""Sizes that StableHLO's text bounds and asserts, and JAX's constraints, as declarations; slices and pads by sizes."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from mind_dialect.declared_dims import declarations_of
from mind_dialect.errors import MindError
from mind_dialect.program import functions
from mind_runtime import compile
from stablehlo_programs import program, read


def declared(module: Any, name: str = "main") -> list[str]:
    return [fact.text for f in functions(module) if f.sym_name.data == name for fact in declarations_of(f)]


def asserted(direction: str, number: int, more: str = "", message: str = "") -> str:
    given = f' {{error_message = "{message}"}}' if message else ""
    return program(
        "%x: tensor<?xf32>",
        f"""%n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>
        %c = stablehlo.constant dense<{number}> : tensor<i32>
        {more}
        %p = stablehlo.compare {direction}, %n, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.custom_call @shape_assertion(%p, %n){given} : (tensor<i1>, tensor<i32>) -> ()
        %r = stablehlo.tanh %x : tensor<?xf32>""",
        "tensor<?xf32>",
    )


@pytest.mark.parametrize(
    ("direction", "fact"),
    [("GE", "x_0 >= 3"), ("GT", "x_0 > 3"), ("LE", "x_0 <= 3"), ("LT", "x_0 < 3"), ("EQ", "x_0 == 3"), ("NE", "x_0 != 3")],
)
def test_an_assertion_is_declared_and_checked_at_a_call(direction: str, fact: str) -> None:
    module = read(asserted(direction, 3))
    assert declared(module) == [fact]
    run = compile(module)
    holds = {"GE": np.greater_equal, "GT": np.greater, "LE": np.less_equal, "LT": np.less, "EQ": np.equal, "NE": np.not_equal}
    for n in range(6):
        x = np.zeros(n, np.float32)
        if holds[direction](n, 3):
            np.testing.assert_array_equal(run(x), x)
        else:
            with pytest.raises(MindError) as found:
                run(x)
            assert found.value.code == "E8010"


def test_a_message_names_a_dimension_only_where_it_can() -> None:
    message = "Expected value >= 1 for dimension variable 'N'. More text"
    module = read(asserted("GE", 1, message=message))
    assert declared(module) == ["N >= 1"]
    assert declared(read(asserted("GE", 1, message=message.replace("'N'", "'1 N'")))) == ["x_0 >= 1"]


def test_assertions_that_contradict_each_other_are_refused() -> None:
    again = """%q = stablehlo.compare LT, %n, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.custom_call @shape_assertion(%q, %n) : (tensor<i1>, tensor<i32>) -> ()"""
    with pytest.raises(MindError, match=r"contradicts x_0 < 3") as found:
        compile(read(asserted("GE", 3, again)))
    assert found.value.code == "E8009"


def test_an_assertion_that_is_false_is_refused() -> None:
    text = asserted("GE", 3).replace("tensor<?xf32>", "tensor<2xf32>")
    with pytest.raises(MindError, match="says '2 >= 3', which is false") as found:
        read(text)
    assert found.value.code == "E8010"


BOUNDED = """func.func @f(%x: tensor<?x4xf32, #stablehlo.bounds<BOUNDS>>) -> tensor<?x4xf32, #stablehlo.bounds<BOUNDS>> {
  %0 = stablehlo.tanh %x : tensor<?x4xf32, #stablehlo.bounds<BOUNDS>>
  func.return %0 : tensor<?x4xf32, #stablehlo.bounds<BOUNDS>>
}"""


def test_bounds_of_types_are_declared() -> None:
    module = read(BOUNDED.replace("BOUNDS", "3, ?"))
    assert declared(module, "f") == ["x_0 <= 3"]
    run = compile(module)
    assert run(np.zeros((3, 4), np.float32)).shape == (3, 4)
    with pytest.raises(MindError) as found:
        run(np.zeros((4, 4), np.float32))
    assert found.value.code == "E8010"
    assert declared(read(BOUNDED.replace("BOUNDS", "?, ?")), "f") == []


@pytest.mark.parametrize("bounds", ["3, ?", "3, -9223372036854775808"])
def test_bounds_of_the_long_form_are_declared(bounds: str) -> None:
    long = BOUNDED.replace("stablehlo.bounds<BOUNDS>", f"stablehlo.type_extensions<bounds = [{bounds}]>")
    assert declared(read(long), "f") == ["x_0 <= 3"]


@pytest.mark.parametrize("text", ["bounds = 3, ?", "bounds = [3]", "3, ?", ""])
def test_a_long_form_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(MindError, match="expected 2 bounds, each a size or") as found:
        read(BOUNDED.replace("stablehlo.bounds<BOUNDS>", f"stablehlo.type_extensions<{text}>"))
    assert found.value.code == "E4000"


@pytest.mark.parametrize("bounds", ["3", "3, ?, ?", "-1, ?", "x, ?", "99999999999999999999999, ?", ""])
def test_bounds_that_are_none_are_refused(bounds: str) -> None:
    with pytest.raises(MindError, match="expected 2 bounds, each a size or") as found:
        read(BOUNDED.replace("BOUNDS", bounds))
    assert found.value.code == "E4000"


SIZE = """%n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x3xf32>) -> tensor<i32>
        %n1 = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
        %two = stablehlo.constant dense<2> : tensor<1xi32>
        %zero = stablehlo.constant dense<0> : tensor<1xi32>
        %one = stablehlo.constant dense<1> : tensor<1xi32>
        %three = stablehlo.constant dense<3> : tensor<1xi32>
        %less = stablehlo.subtract %n1, %two : tensor<1xi32>
        %a = stablehlo.concatenate %less, %zero, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
        %b = stablehlo.concatenate %n1, %three, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
        %ones = stablehlo.concatenate %one, %one, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
        %zeros = stablehlo.concatenate %zero, %zero, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
        """


def test_slices_and_pads_by_sizes_are_numpys() -> None:
    last = compile(
        read(
            program(
                "%x: tensor<?x3xf32>",
                SIZE
                + "%r = stablehlo.real_dynamic_slice %x, %a, %b, %ones"
                + " : (tensor<?x3xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x3xf32>",
                "tensor<?x3xf32>",
            )
        )
    )
    doubled = compile(
        read(
            program(
                "%x: tensor<?x3xf32>",
                SIZE
                + "%v = stablehlo.constant dense<7.0> : tensor<f32>\n"
                + "%e = stablehlo.concatenate %n1, %zero, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>\n"
                + "%r = stablehlo.dynamic_pad %x, %v, %zeros, %e, %zeros"
                + " : (tensor<?x3xf32>, tensor<f32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x3xf32>",
                "tensor<?x3xf32>",
            )
        )
    )
    for n in range(5):
        x = np.arange(3 * n, dtype=np.float32).reshape(n, 3)
        np.testing.assert_array_equal(doubled(x), np.concatenate([x, np.full_like(x, 7)]))
        if n >= 2:
            np.testing.assert_array_equal(last(x), x[n - 2 :])
        else:
            with pytest.raises(MindError) as found:
                last(x)
            assert found.value.code == "E4012"


def test_jaxs_constraints_and_names_are_declared() -> None:
    jax: Any = pytest.importorskip("jax")
    export: Any = pytest.importorskip("jax.export")
    constraints = ["T >= 2", "T <= 12", "mod(T, 4) == 0", "B + T <= 14", "B*T >= 8"]
    b, t = export.symbolic_shape("B, T", constraints=constraints)

    def f(x: Any) -> Any:
        halves = x.reshape(x.shape[0], x.shape[1] // 4, 4).sum(axis=2)
        return jax.numpy.concatenate([x[:, :2], jax.numpy.tanh(x), halves, x[:, -2:]], axis=1)

    text = export.export(jax.jit(f))(jax.ShapeDtypeStruct((b, t), jax.numpy.float32)).mlir_module()
    module = read(text)
    assert declared(module) == ["B >= 1", "T >= 1", "T >= 2", "T <= 12", "T % 4 == 0", "B+T <= 14", "B*T >= 8"]
    run = compile(module, function="main")
    for rows, columns in itertools.product((0, 1, 2, 3, 9), range(0, 17)):
        x = np.arange(rows * columns, dtype=np.float32).reshape(rows, columns) / 8
        if rows >= 1 and 2 <= columns <= 12 and columns % 4 == 0 and rows + columns <= 14 and rows * columns >= 8:
            np.testing.assert_allclose(run(x), f(x), rtol=1e-6)
        else:
            with pytest.raises(MindError) as found:
                run(x)
            assert found.value.code == "E8010"


def test_a_function_is_a_quotient_if_it_computes_one() -> None:
    """JAX's functions for sizes are known by name and by what they give; StableHLO's own remainder rounds towards 0."""
    text = """func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
      %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>
      %c = stablehlo.constant dense<4> : tensor<i32>
      %m = func.call @remainder(%n, %c) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      %z = stablehlo.constant dense<0> : tensor<i32>
      %p = stablehlo.compare EQ, %m, %z, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.custom_call @shape_assertion(%p, %m) : (tensor<i1>, tensor<i32>) -> ()
      func.return %x : tensor<?xf32>
    }
    func.func private @remainder(%a: tensor<i32>, %b: tensor<i32>) -> tensor<i32> {
      %r = stablehlo.remainder %a, %b : tensor<i32>
      %z = stablehlo.constant dense<0> : tensor<i32>
      %l = stablehlo.compare LT, %r, %z, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %s = stablehlo.add %r, %b : tensor<i32>
      %m = stablehlo.select %l, %s, %r : tensor<i1>, tensor<i32>
      func.return RESULT : tensor<i32>
    }"""
    assert declared(read(text.replace("RESULT", "%m"))) == ["x_0 % 4 == 0"]
    assert declared(read(text.replace("RESULT", "%r"))) == []
    assert declared(read(text.replace("RESULT", "%m").replace("@remainder", "@other"))) == []
