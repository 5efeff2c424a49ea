"""`Library`: functions of several modules under one roof, each once, and none confused with another of its name or its text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

import mind_array as ma
from counting import calls
from mind_array.library import Library
from mind_dialect.errors import MindError
from mind_dialect.program import functions
from mind_dialect.verify import verify
from programs import parse

UNARY = "(%x: tensor<f64>) -> tensor<f64>"


def call(name: str, callee: str, rest: str = "") -> str:
    """A private function that returns what another one does."""
    return f"""func.func private @{name}{UNARY}{rest} {{
  %0 = func.call @{callee}(%x) : (tensor<f64>) -> tensor<f64>
  func.return %0 : tensor<f64>
}}"""


def leaf(name: str, op: str = "neg") -> str:
    return f"""func.func private @{name}{UNARY} {{
  %0 = ptir.{op} %x : tensor<f64>
  func.return %0 : tensor<f64>
}}"""


def program(*texts: str) -> ModuleOp:
    return parse('builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {' + "\n".join(texts) + "}")


def added(*texts: str) -> Sequence[FuncOp]:
    return list(functions(program(*texts)))


def test_equal_functions_are_there_once_and_others_get_new_names():
    library = Library()
    first = library.include(added(call("f", "g"), leaf("g")))
    assert first == {"f": "f", "g": "g"}
    assert library.include(added(call("f", "g"), leaf("g"))) == first
    assert library.include(added(leaf("h"), call("f", "g"), leaf("g"))) == {**first, "h": "h"}
    assert list(library.functions) == ["f", "g", "h"]
    assert library.include(added(leaf("f", "exp"))) == {"f": "f_1"}
    assert library.include(added(leaf("f", "tanh"), leaf("f_1"))) == {"f": "f_2", "f_1": "f_1_1"}
    verify(ModuleOp([f.clone() for f in library.functions.values()], {}), lenient=True)


def test_functions_of_the_same_text_that_name_different_functions_are_different():
    library = Library()
    library.include(added(call("e", "f"), call("f", "g"), leaf("g")))
    names = library.include(added(call("e", "f"), call("f", "g"), leaf("g", "exp")))
    assert names == {"e": "e_1", "f": "f_1", "g": "g_1"}
    assert "@f_1(%x)" in str(library.functions["e_1"])
    assert "@g_1(%x)" in str(library.functions["f_1"])
    assert "ptir.exp" in str(library.functions["g_1"])


def _with_rule(gradient: str) -> Any:
    """`f` of a module that calls `g`, whose reverse rule calls `h`: all texts but that of `h` are the same."""
    rule = """func.func private @g_vjp(%x: tensor<f64>, %g: tensor<f64>) -> tensor<f64> {
  %0 = func.call @h(%x) : (tensor<f64>) -> tensor<f64>
  func.return %0 : tensor<f64>
}"""
    function = call("f", "g").replace("private ", "")
    rules = leaf("g").replace(" {\n", " attributes {mind.vjp = @g_vjp} {\n", 1)
    return ma.from_module(program(function, rules, rule, leaf("h", gradient)), "f")


def test_gradients_of_two_modules_follow_the_functions_of_each():
    of_exp, of_sin = _with_rule("exp"), _with_rule("sin")
    gradient = ma.grad(lambda x: of_exp(x) + 10 * of_sin(x))
    np.testing.assert_allclose(np.asarray(gradient(0.5)), np.exp(0.5) + np.sin(0.5), rtol=1e-12)
    np.testing.assert_allclose(np.asarray(ma.jit(gradient)(0.5)), np.exp(0.5) + np.sin(0.5), rtol=1e-12)


def test_a_name_that_is_not_in_the_module_is_an_error_even_if_another_module_has_it():
    module = program(call("f", "g", " attributes {mind.vjp = @elsewhere}"), leaf("g"))
    with pytest.raises(MindError, match=r"E4016: .*@elsewhere is not a function of the module"):
        ma.from_module(module, "f")


def _chain(n: int, last: str) -> Sequence[FuncOp]:
    """Functions that call the next, callers first; `last` is the op of the last."""
    return added(*(call(f"f{i}", f"f{i + 1}") for i in range(n)), leaf(f"f{n}", last))


def _star(n: int, last: str) -> Sequence[FuncOp]:
    return added(*(call(f"f{i}", "g") for i in range(n)), leaf("g", last))


@pytest.mark.parametrize("shape", [_chain, _star])
def test_work_is_linear_in_the_functions_where_all_differ_by_the_last(shape: Any):
    def effort(n: int) -> int:
        library = Library()
        library.include(shape(n, "neg"))
        functions = shape(n, "exp")
        return calls(lambda: library.include(functions))

    assert effort(200) < 2.2 * effort(100)


def test_many_functions_of_one_name_are_numbered_in_linear_time():
    def effort(n: int) -> int:
        """Functions that differ in a constant."""
        texts = [leaf("f").replace("%x :", "%0 :").replace("%0 =", f"%0 = ptir.constant {i}.0 : tensor<f64>\n %1 =", 1)
                 .replace("return %0", "return %1") for i in range(n)]  # fmt: skip
        library, groups = Library(), [added(text) for text in texts]

        def include() -> None:
            for group in groups:
                library.include(group)

        count = calls(include)
        assert list(library.functions) == ["f", *(f"f_{i}" for i in range(1, n))]
        return count

    assert effort(200) < 2.2 * effort(100)
